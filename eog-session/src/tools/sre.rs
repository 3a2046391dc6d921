//! The tools of a snapshot or a bundle, each for one specialist.

use eog::{BoxFuture, Failure};
#[cfg(feature = "mcp")]
use eog_mcp_client::fits;
use eog_search::ask::CallAsk;
use eog_search::tools::{bounded_lines, checked, lines_of_json};
use eog_search::{Specialist, ToolAnswer, ToolFailure, ToolSpec, Toolset};
use eog_sre::tools::{BundleToolbox, ToolError, ToolInfo, Toolbox, tools};
use serde_json::{Map, Value};

use crate::source::OfBundle;

/// The tools over a snapshot ([`Toolbox`]) or a bundle ([`BundleToolbox`]), each offered to one specialist. Their
/// answers lead to entities whose findings can then be recorded; they are no findings themselves.
#[derive(Clone, Debug)]
pub struct SreTools {
    over: Over,
}

/// What the tools read.
#[derive(Clone, Debug)]
enum Over {
    Snapshot(Toolbox),
    Bundle(OfBundle),
}

impl SreTools {
    /// The tools over a snapshot.
    pub fn new(toolbox: Toolbox) -> Self {
        Self { over: Over::Snapshot(toolbox) }
    }

    /// The tools that bundles answer, too, with the arguments that these take.
    pub fn of_bundle(bundle: OfBundle) -> Self {
        Self { over: Over::Bundle(bundle) }
    }

    /// A tool as it is offered; nothing if there is none over what is read.
    fn spec(&self, name: &str) -> Option<ToolSpec> {
        let info = tools().iter().find(|info| info.name == name)?;
        match &self.over {
            Over::Snapshot(_) => Some(spec(info, None)),
            Over::Bundle(_) => Some(spec(info, Some(BundleToolbox::arguments(name)?))),
        }
    }
}

impl Over {
    fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        match self {
            Self::Snapshot(toolbox) => toolbox.call(name, arguments),
            Self::Bundle(bundle) => bundle.tools().call(name, arguments),
        }
    }
}

/// What each specialist, or the agent of a chain, is offered. The context, the neighbours and the alerts are tools of the contract.
fn names(agent: Specialist) -> &'static [&'static str] {
    match agent {
        Specialist::Metrics => &["get_metric_anomalies", "metric_analysis", "alert_summary"],
        Specialist::Logs => {
            &["log_analysis", "event_analysis", "k8s_spec_change_analysis", "get_k8_spec"]
        }
        Specialist::Traces => &["get_trace_error_tree", "topology_analysis"],
        Specialist::Generalist => &[
            "get_metric_anomalies",
            "metric_analysis",
            "alert_summary",
            "alert_analysis",
            "log_analysis",
            "event_analysis",
            "k8s_spec_change_analysis",
            "get_k8_spec",
            "get_trace_error_tree",
            "topology_analysis",
        ],
    }
}

/// Only models, which such a build does not have, call tools with arguments of their own; the tools check them, too.
#[cfg(not(feature = "mcp"))]
fn fits(_schema: &serde_json::Value, _given: &serde_json::Value) -> Result<(), String> {
    Ok(())
}

/// A tool, with no other arguments than these.
fn spec(info: &ToolInfo, only: Option<&[&str]>) -> ToolSpec {
    let mut schema = info.args_schema();
    if let (Some(only), Some(arguments)) = (only, schema["properties"].as_object_mut()) {
        arguments.retain(|name, _| only.contains(&name.as_str()));
    }
    let is_taken = |example: &&&str| {
        let given = serde_json::from_str::<Map<String, Value>>(example).unwrap_or_default();
        given.keys().all(|name| schema["properties"].get(name).is_some())
    };
    let examples = info.examples.iter().filter(is_taken).take(2);
    let examples = examples.map(|example| format!("\nsuch as {example}"));
    let description = format!("{}{}", info.summary, examples.collect::<String>());
    ToolSpec::new(info.name, description).with_schema(schema, fits)
}

impl Toolset for SreTools {
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec> {
        names(agent).iter().filter_map(|name| self.spec(name)).collect()
    }

    fn call<'a>(&'a self, ask: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            let (name, arguments) = checked(&self.tools(ask.agent), &ask.call)?;
            let over = self.over.clone();
            let tool = name.clone();
            // A first call indexes a whole snapshot.
            let called =
                tokio::task::spawn_blocking(move || over.call(&tool, arguments.into_json()));
            match called.await {
                Ok(Ok(answer)) => Ok(bounded_lines(lines_of_json(&answer)).into()),
                Ok(Err(error @ ToolError::Answer { .. })) => {
                    Err(Failure::context(error.to_string()).into())
                }
                Ok(Err(error)) => Err(ToolFailure::Refused(format!("{name}: {error}"))),
                Err(error) => Err(Failure::context(format!("{name}: {error}")).into()),
            }
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_offered_is_a_tool() {
        let all =
            [Specialist::Metrics, Specialist::Logs, Specialist::Traces, Specialist::Generalist];
        for name in all.into_iter().flat_map(names) {
            assert!(tools().iter().any(|info| info.name == *name), "{name}");
        }
    }
}
