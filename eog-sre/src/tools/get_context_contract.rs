//! `get_context_contract`: the local evidence on one entity, as the controller sees it.

use eog_core::{LocalContext, Window};
use serde::Deserialize;

use super::query::TimeRange;
use super::tool::Tool;
use super::{ToolError, Toolbox, entities};
use crate::context::{ContextQuery, DEPS_PER_PAGE, MAX_TOKENS, SnapshotContext};

/// One page of the local evidence on an entity. It is what the context contract gives to the
/// controller: both are [`SnapshotContext::read`].
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
    /// The entity, such as `shop/Service/cart`, or an end of its name that no other has.
    pub entity: String,
    /// The window under investigation. An end that is missing is that of the window which an
    /// investigation would choose from the alerts.
    pub window: Option<TimeRange>,
    /// Which page, counted from 1; 0 is all pages at once. First come the findings on the entity,
    /// strongest first, then changes and events of what it depends on.
    pub page: u32,
    /// How many dependencies share a page: 3 unless given.
    pub deps_per_page: usize,
    /// About how many tokens the findings of a page may have, estimated as three bytes of JSON for
    /// each: 8000 unless given. Notes about effects come on top of page 1.
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
fn window(context: &SnapshotContext, wanted: Option<TimeRange>) -> Result<Window, ToolError> {
    let TimeRange { start, end } = wanted.unwrap_or_default();
    let usual = context.usual_window();
    let start = start.or_else(|| usual.map(|usual| usual.start()));
    let end = end.or_else(|| usual.map(|usual| usual.end()));
    let (Some(start), Some(end)) = (start, end) else {
        let reason = "nothing was recorded that tells a window";
        return Err(ToolError::argument("window", reason, "give START/END"));
    };
    Window::new(start, end).map_err(|error| {
        let hint = usual.map(|usual| format!("the investigation's window is {usual}"));
        ToolError::argument("window", error.to_string(), hint.unwrap_or_default())
    })
}

impl Tool for GetContextContract {
    const NAME: &'static str = "get_context_contract";
    const SUMMARY: &'static str = "The local evidence on one entity, strongest first";
    const DESCRIPTION: &'static str = "\
Gives everything that bears on one entity in a window: its changes, failures, alerts, shifts in
traces, metrics and logs, and notes which change elsewhere can have reached it. Further pages hold
weaker findings, then changes and events of what it depends on. `omitted` says what is left for
other pages.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"entity": "shop/Service/cart"}"#,
        r#"{"entity": "Service/cart", "window": "2026-01-01T10:00:00Z/2026-01-01T10:30:00Z", "page": 2}"#,
    ];
    type Answer = LocalContext;

    fn run(&self, toolbox: &Toolbox) -> Result<LocalContext, ToolError> {
        let context = toolbox.context();
        if self.entity.trim().is_empty() {
            let hint = "give one such as shop/Service/cart; build_topology lists all";
            return Err(ToolError::argument("entity", "an entity is needed", hint));
        }
        for (name, value) in
            [("deps_per_page", self.deps_per_page), ("max_tokens", self.max_tokens)]
        {
            if value == 0 {
                return Err(ToolError::argument(name, "0 is too few", "leave it out or give more"));
            }
        }
        let known = entities::known(context.snapshot(), context.graph());
        let entity = entities::one(&known, &self.entity)?;
        Ok(context.read(&ContextQuery {
            page: self.page,
            deps_per_page: self.deps_per_page,
            max_tokens: self.max_tokens,
            ..ContextQuery::new(entity.clone(), window(context, self.window)?)
        }))
    }
}
