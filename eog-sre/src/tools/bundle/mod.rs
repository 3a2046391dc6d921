//! The tools over an incident bundle, as far as it records what they ask for: their names, their arguments and
//! the form of their answers are those over a snapshot.
//!
//! A bundle holds no dumps, no objects and no counters, so tools about these go with a snapshot alone. Rows
//! have the columns that the files of a bundle have.

mod context;
mod logs;
mod metrics;
mod records;
mod topology;

use std::collections::BTreeSet;

use eog_core::EntityId;
use eog_evidence::{Bundle, BundleContext, Incident};
use serde::Serialize;
use serde_json::{Map, Value};

use super::query::{Cell, near};
use super::tool::{cannot_write, read, write};
use super::{
    AlertSummary, BuildTopology, EventAnalysis, GetContextContract, GetMetricAnomalies,
    LogAnalysis, MetricAnalysis, SpecChangeAnalysis, TableQuery, Tool, ToolError, TopologyAnalysis,
    tools,
};

/// A bundle, ready for calls of tools by name.
///
/// ```
/// use eog_evidence::{BundleContext, BundleWriter, Manifest};
/// use eog_sre::tools::BundleToolbox;
/// let bundle = BundleWriter::new(Manifest::new("quiet")).to_bundle();
/// let (incident, context) = (bundle.incident(), BundleContext::new(bundle));
/// let toolbox = BundleToolbox::new(&incident, &context);
/// let page = toolbox.call_text("event_analysis", serde_json::json!({"group_by": "reason"}))?;
/// assert!(page.contains("\"total\": 0"), "{page}");
/// let error = toolbox.call_text("get_k8_spec", serde_json::json!({})).unwrap_err().to_string();
/// assert!(error.contains("goes with a snapshot"), "{error}");
/// # Ok::<(), eog_sre::tools::ToolError>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub struct BundleToolbox<'b> {
    incident: &'b Incident,
    context: &'b BundleContext,
}

impl<'b> BundleToolbox<'b> {
    /// The tools over a bundle of which this is the incident.
    pub fn new(incident: &'b Incident, context: &'b BundleContext) -> Self {
        Self { incident, context }
    }

    /// The names of the tools that bundles answer.
    pub fn names() -> impl Iterator<Item = &'static str> {
        TOOLS.iter().map(|tool| tool.name)
    }

    /// What a tool can be asked of a bundle; nothing if bundles do not answer it.
    ///
    /// ```
    /// use eog_sre::tools::BundleToolbox;
    /// assert_eq!(BundleToolbox::arguments("get_context_contract"), Some(&["entity", "window", "page"][..]));
    /// assert_eq!(BundleToolbox::arguments("get_k8_spec"), None);
    /// ```
    pub fn arguments(name: &str) -> Option<&'static [&'static str]> {
        find(name).map(|tool| tool.arguments)
    }

    /// Runs a tool by name and returns its answer as indented JSON, with the fields in documented order. The answer
    /// has the form that the tool has over snapshots; rows may have other columns.
    ///
    /// # Errors
    /// [`ToolError`] for an unknown tool, one that goes with a snapshot, and invalid arguments.
    pub fn call_text(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        let (tool, arguments) = self.checked(name, arguments)?;
        (tool.to_text)(self, arguments)
    }

    /// Runs a tool by name.
    ///
    /// # Errors
    /// As for [`BundleToolbox::call_text`].
    pub fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        let (tool, arguments) = self.checked(name, arguments)?;
        (tool.to_value)(self, arguments)
    }

    /// A tool by name, and arguments that it takes.
    fn checked(&self, name: &str, arguments: Value) -> Result<(&'static Known, Value), ToolError> {
        let tool = find(name).ok_or_else(|| no_tool(name))?;
        let arguments = match arguments {
            Value::Null => Map::new(),
            Value::Object(arguments) => arguments,
            _ => return Err(invalid(tool.name, "expected an object".to_owned())),
        };
        let takes = |given: &String| tool.arguments.contains(&given.as_str());
        if let Some(other) = arguments.keys().find(|given| !takes(given)) {
            let known = tool.arguments.join(", ");
            let reason = format!("{other} goes with a snapshot; of a bundle: {known}");
            return Err(invalid(tool.name, reason));
        }
        Ok((tool, Value::Object(arguments)))
    }

    pub(super) fn bundle(&self) -> &'b Bundle {
        self.context.bundle()
    }

    /// Every entity that the bundle speaks of.
    fn entities(&self) -> BTreeSet<&'b EntityId> {
        let alerted = self.incident.anomalies.iter().map(|alert| &alert.entity);
        let changed = self.incident.changes.iter().map(|change| &change.entity);
        let declared = self.incident.topology.entities();
        declared.chain(self.bundle().recorded()).chain(alerted).chain(changed).collect()
    }
}

/// A tool that bundles answer, too.
trait BundleTool: Tool {
    /// What can be asked, of that what the tool takes over snapshots.
    const ARGUMENTS: &'static [&'static str];

    /// Answers the query. Other arguments than those above are not given.
    ///
    /// # Errors
    /// [`ToolError::Argument`] when an argument cannot be used.
    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<Self::Answer, ToolError>;
}

/// A tool by name.
struct Known {
    name: &'static str,
    arguments: &'static [&'static str],
    to_value: fn(&BundleToolbox<'_>, Value) -> Result<Value, ToolError>,
    to_text: fn(&BundleToolbox<'_>, Value) -> Result<String, ToolError>,
}

impl Known {
    const fn of<T: BundleTool>() -> Self {
        Self {
            name: T::NAME,
            arguments: T::ARGUMENTS,
            to_value: |toolbox, arguments| {
                let answer = read::<T>(arguments)?.of_bundle(toolbox)?;
                serde_json::to_value(answer).map_err(cannot_write::<T>)
            },
            to_text: |toolbox, arguments| write::<T>(&read::<T>(arguments)?.of_bundle(toolbox)?),
        }
    }
}

/// In the order of the tools over snapshots.
static TOOLS: &[Known] = &[
    Known::of::<GetContextContract>(),
    Known::of::<TableQuery<AlertSummary>>(),
    Known::of::<TableQuery<EventAnalysis>>(),
    Known::of::<GetMetricAnomalies>(),
    Known::of::<MetricAnalysis>(),
    Known::of::<LogAnalysis>(),
    Known::of::<TableQuery<SpecChangeAnalysis>>(),
    Known::of::<BuildTopology>(),
    Known::of::<TopologyAnalysis>(),
];

fn find(name: &str) -> Option<&'static Known> {
    TOOLS.iter().find(|tool| tool.name == name)
}

fn invalid(tool: &str, reason: String) -> ToolError {
    ToolError::Arguments { tool: tool.to_owned(), reason }
}

fn no_tool(name: &str) -> ToolError {
    match tools().iter().find(|tool| tool.name == name) {
        Some(tool) => ToolError::OfSnapshots {
            tool: tool.name.to_owned(),
            bundles: BundleToolbox::names().collect::<Vec<_>>().join(", "),
        },
        None => ToolError::UnknownTool {
            name: eog_evidence::shorten(name, 100),
            hint: near(name, BundleToolbox::names().collect::<Vec<_>>().into_iter(), "tools"),
        },
    }
}

/// A kind, a signal or a role as JSON writes it.
fn word(value: &impl Serialize) -> Cell<'static> {
    match serde_json::to_value(value) {
        Ok(Value::String(word)) => Cell::Text(word.into()),
        _ => Cell::Nothing,
    }
}

#[cfg(test)]
mod tests;
