//! Which tools there are, and calls by name.

use serde_json::Value;

use super::query::near;
use super::tool::ToolInfo;
use super::{
    AlertAnalysis, AlertSummary, BuildTopology, EventAnalysis, GetContextContract, GetK8Spec,
    GetMetricAnomalies, GetTraceErrorTree, LogAnalysis, MetricAnalysis, SpecChangeAnalysis,
    TableQuery, ToolError, Toolbox, TopologyAnalysis,
};

/// All tools, in the order in which an investigation would use them.
static TOOLS: &[ToolInfo] = &[
    ToolInfo::of::<GetContextContract>(),
    ToolInfo::of::<TableQuery<AlertSummary>>(),
    ToolInfo::of::<TableQuery<AlertAnalysis>>(),
    ToolInfo::of::<TableQuery<EventAnalysis>>(),
    ToolInfo::of::<GetTraceErrorTree>(),
    ToolInfo::of::<GetMetricAnomalies>(),
    ToolInfo::of::<MetricAnalysis>(),
    ToolInfo::of::<LogAnalysis>(),
    ToolInfo::of::<TableQuery<SpecChangeAnalysis>>(),
    ToolInfo::of::<GetK8Spec>(),
    ToolInfo::of::<BuildTopology>(),
    ToolInfo::of::<TopologyAnalysis>(),
];

/// All tools, in the order in which an investigation would use them.
///
/// ```
/// assert!(eog_sre::tools::tools().iter().any(|tool| tool.name == "event_analysis"));
/// ```
pub fn tools() -> &'static [ToolInfo] {
    TOOLS
}

/// Calls by name.
impl Toolbox {
    /// Runs a tool by name; null means no arguments.
    ///
    /// # Errors
    /// [`ToolError`] for an unknown tool, and for invalid arguments.
    pub fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        (find(name)?.to_value)(self, arguments)
    }

    /// Runs a tool by name and returns its answer as indented JSON, with the fields in documented
    /// order.
    ///
    /// # Errors
    /// As for [`Toolbox::call`].
    pub fn call_text(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        (find(name)?.to_text)(self, arguments)
    }
}

fn find(name: &str) -> Result<&'static ToolInfo, ToolError> {
    tools().iter().find(|tool| tool.name == name).ok_or_else(|| ToolError::UnknownTool {
        name: eog_evidence::shorten(name, 100),
        hint: near(name, tools().iter().map(|tool| tool.name), "tools"),
    })
}
