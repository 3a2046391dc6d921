//! The tools of a snapshot, each for one specialist.

use eog::{BoxFuture, Failure};
#[cfg(feature = "mcp")]
use eog_mcp_client::fits;
use eog_search::ask::CallAsk;
use eog_search::tools::{bounded_lines, checked, lines_of_json};
use eog_search::{Specialist, ToolAnswer, ToolFailure, ToolSpec, Toolset};
use eog_sre::tools::{ToolError, ToolInfo, Toolbox, tools};

/// The tools over a snapshot ([`Toolbox`]), each offered to one specialist. Their answers lead to entities whose
/// findings can then be recorded; they are no findings themselves.
#[derive(Clone, Debug)]
pub struct SreTools {
    toolbox: Toolbox,
}

impl SreTools {
    /// The tools over a snapshot.
    pub fn new(toolbox: Toolbox) -> Self {
        Self { toolbox }
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

fn spec(info: &ToolInfo) -> ToolSpec {
    let examples = info.examples.iter().take(2).map(|example| format!("\nsuch as {example}"));
    let description = format!("{}{}", info.summary, examples.collect::<String>());
    ToolSpec::new(info.name, description).with_schema(info.args_schema(), fits)
}

impl Toolset for SreTools {
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec> {
        let names = names(agent);
        let known = tools();
        let of = |name: &&str| known.iter().find(|info| info.name == *name).map(spec);
        names.iter().filter_map(of).collect()
    }

    fn call<'a>(&'a self, ask: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            let (name, arguments) = checked(&self.tools(ask.agent), &ask.call)?;
            let toolbox = self.toolbox.clone();
            let tool = name.clone();
            // A first call indexes the whole snapshot.
            let called =
                tokio::task::spawn_blocking(move || toolbox.call(&tool, arguments.into_json()));
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
