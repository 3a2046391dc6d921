//! The tools over an incident bundle: the names and arguments that they have over a snapshot, as far as a
//! bundle records what they ask for.
//!
//! A bundle holds no dumps, no objects and no counters, so what tells of these goes with a snapshot alone. Rows
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
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::query::{Cell, near};
use super::{ToolError, tools};
use context::Context;
use logs::Logs;
use metrics::{Anomalies, Metrics};
use records::{Alerts, Changes, Events};
use topology::{Around, Whole};

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

    /// Runs a tool by name and returns its answer as indented JSON, with the fields in documented order.
    ///
    /// # Errors
    /// [`ToolError`] for an unknown tool, one that goes with a snapshot, and invalid arguments.
    pub fn call_text(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        let tool = TOOLS.iter().find(|tool| tool.name == name).ok_or_else(|| no_tool(name))?;
        let arguments = match arguments {
            Value::Null => Map::new(),
            Value::Object(arguments) => arguments,
            _ => return Err(invalid(tool.name, "expected an object".to_owned())),
        };
        if let Some(other) = arguments.keys().find(|given| !tool.takes(given)) {
            let known = tool.arguments.concat().join(", ");
            let reason = format!("{other} goes with a snapshot; of a bundle: {known}");
            return Err(invalid(tool.name, reason));
        }
        (tool.run)(self, Value::Object(arguments))
    }

    fn bundle(&self) -> &'b Bundle {
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

/// A question to a bundle.
trait BundleTool: DeserializeOwned {
    /// The name of the tool over snapshots.
    const NAME: &'static str;
    /// What can be asked, of that what the tool takes over snapshots.
    const ARGUMENTS: &'static [&'static [&'static str]];
    /// The answer.
    type Answer: Serialize;

    /// # Errors
    /// [`ToolError::Argument`] when an argument cannot be used.
    fn ask(&self, toolbox: &BundleToolbox<'_>) -> Result<Self::Answer, ToolError>;
}

/// A tool by name.
struct Known {
    name: &'static str,
    arguments: &'static [&'static [&'static str]],
    run: fn(&BundleToolbox<'_>, Value) -> Result<String, ToolError>,
}

impl Known {
    const fn of<T: BundleTool>() -> Self {
        Self { name: T::NAME, arguments: T::ARGUMENTS, run: answer::<T> }
    }

    fn takes(&self, argument: &str) -> bool {
        self.arguments.iter().any(|some| some.contains(&argument))
    }
}

/// In the order of the tools over snapshots.
static TOOLS: &[Known] = &[
    Known::of::<Context>(),
    Known::of::<Alerts>(),
    Known::of::<Events>(),
    Known::of::<Anomalies>(),
    Known::of::<Metrics>(),
    Known::of::<Logs>(),
    Known::of::<Changes>(),
    Known::of::<Whole>(),
    Known::of::<Around>(),
];

fn answer<T: BundleTool>(
    toolbox: &BundleToolbox<'_>,
    arguments: Value,
) -> Result<String, ToolError> {
    let tool: T =
        serde_json::from_value(arguments).map_err(|error| ToolError::arguments(T::NAME, &error))?;
    serde_json::to_string_pretty(&tool.ask(toolbox)?)
        .map_err(|error| ToolError::Answer { tool: T::NAME.to_owned(), reason: error.to_string() })
}

fn invalid(tool: &str, reason: String) -> ToolError {
    ToolError::Arguments { tool: tool.to_owned(), reason }
}

fn no_tool(name: &str) -> ToolError {
    match tools().iter().find(|tool| tool.name == name) {
        Some(tool) => {
            let known: Vec<&str> = BundleToolbox::names().collect();
            let reason = format!(
                "it goes with a snapshot, and this is a bundle; bundles answer {}",
                known.join(", ")
            );
            invalid(tool.name, reason)
        }
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
