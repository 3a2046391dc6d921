//! `get_context_contract`: local evidence about one entity, as the controller sees it.

use eog_core::{LocalContext, Window};
use serde::Deserialize;

use super::query::TimeRange;
use super::tool::Tool;
use super::{ToolError, Toolbox, entities};
use crate::context::{ContextQuery, DEPS_PER_PAGE, MAX_TOKENS};

/// One page of local evidence about an entity: what the context contract gives to the controller,
/// since both call [`SnapshotContext::read`](crate::SnapshotContext::read).
///
/// ```
/// use std::sync::Arc;
/// use eog_sre::{ReadOptions, Snapshot, tools::Toolbox};
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("alerts"))?;
/// let alert = r#"[{"labels": {"alertname": "HighErrorRate", "service_name": "cart",
///     "namespace": "shop"}, "state": "firing", "activeAt": "2026-01-01T10:00:00Z"}]"#;
/// std::fs::write(directory.path().join("alerts/alerts_at_2026-01-01T10-01-00.json"), alert)?;
/// let snapshot = Snapshot::open(directory.path(), &ReadOptions::default())?;
/// let toolbox = Toolbox::new(Arc::new(snapshot));
/// let page = toolbox.call("get_context_contract", serde_json::json!({"entity": "cart"}))?;
/// assert_eq!(page["findings"][0]["content"]["kind"], "alert");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetContextContract {
    /// The full name of an entity such as `shop/Service/cart`, or the end of its name if that is
    /// unique.
    pub entity: String,
    /// The window under investigation. A missing end is taken from the window that an
    /// investigation would derive from the alerts.
    pub window: Option<TimeRange>,
    /// Page number, starting at 1; 0 returns all pages at once. The findings about the entity come
    /// first, strongest first, then changes and events of its dependencies.
    pub page: u32,
    /// Number of dependencies on one page: 3 by default.
    pub deps_per_page: usize,
    /// Approximate number of tokens for the findings of a page, estimated at three bytes of JSON
    /// per token: 8000 by default. Notes on effects are added to page 1 beyond this limit.
    pub max_tokens: usize,
}

impl Default for GetContextContract {
    fn default() -> Self {
        Self {
            entity: String::new(),
            window: None,
            page: 1,
            deps_per_page: DEPS_PER_PAGE,
            max_tokens: MAX_TOKENS,
        }
    }
}

/// The window of the arguments, its missing ends taken from the window of the investigation.
pub(super) fn window(
    usual: impl Fn() -> Result<Window, String>,
    wanted: Option<TimeRange>,
) -> Result<Window, ToolError> {
    let wrong = |reason: String| ToolError::argument("window", reason, "give START/END");
    let TimeRange { start, end } = wanted.unwrap_or_default();
    let (start, end) = match (start, end) {
        (Some(start), Some(end)) => (start, end),
        (start, end) => {
            let usual = usual().map_err(wrong)?;
            (start.unwrap_or(usual.start()), end.unwrap_or(usual.end()))
        }
    };
    Window::new(start, end).map_err(|error| {
        let usual = usual().map(|usual| format!("the investigation's window is {usual}"));
        ToolError::argument("window", error.to_string(), usual.unwrap_or_default())
    })
}

impl Tool for GetContextContract {
    const NAME: &'static str = "get_context_contract";
    const SUMMARY: &'static str = "Local evidence about one entity, strongest first";
    const DESCRIPTION: &'static str = "\
Returns everything that bears on one entity in a window: its changes, failures, alerts, shifts in
traces, metrics and logs, and notes on which changes elsewhere can have affected it. Later pages
hold weaker findings, then changes and events of its dependencies. `omitted` says what is left for
other pages.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"entity": "shop/Service/cart"}"#,
        r#"{"entity": "Service/cart", "window": "2026-01-01T10:00:00Z/2026-01-01T10:30:00Z", "page": 2}"#,
    ];
    type Answer = LocalContext;

    fn run(&self, toolbox: &Toolbox) -> Result<LocalContext, ToolError> {
        let context = toolbox.context();
        if self.entity.trim().is_empty() {
            let hint = "give one such as shop/Service/cart; build_topology lists all of them";
            return Err(ToolError::argument("entity", "is missing", hint));
        }
        for (name, value) in
            [("deps_per_page", self.deps_per_page), ("max_tokens", self.max_tokens)]
        {
            if value == 0 {
                return Err(ToolError::argument(
                    name,
                    "must be at least 1",
                    "leave it out for the default",
                ));
            }
        }
        let known = entities::known(context.snapshot(), context.graph());
        let entity = entities::one(&known, &self.entity)?;
        let usual = || {
            let none = "the recording does not suggest a window";
            context.usual_window().ok_or_else(|| none.to_owned())
        };
        Ok(context.read(&ContextQuery {
            page: self.page,
            deps_per_page: self.deps_per_page,
            max_tokens: self.max_tokens,
            ..ContextQuery::new(entity.clone(), window(usual, self.window)?)
        }))
    }
}
