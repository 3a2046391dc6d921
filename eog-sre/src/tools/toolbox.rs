//! All tools over one snapshot.

use std::sync::{Arc, OnceLock};

use eog_core::LocalContext;
use serde_json::Value;

use super::info::{Tool, ToolInfo, tools};
use super::query::near;
use super::signals::Signals;
use super::{
    AlertAnalysis, AlertSummary, BuildTopology, EventAnalysis, GetContextContract, GetK8Spec, Page,
    SpecChangeAnalysis, SpecHistory, ToolError, TopologyAnalysis, TopologyPage, TopologyView,
};
use crate::context::SnapshotContext;
use crate::graph::OperationalGraph;
use crate::snapshot::Snapshot;

/// A snapshot and its graph, ready for calls.
///
/// Three kinds of methods: what it holds ([`snapshot`](Self::snapshot), [`graph`](Self::graph)),
/// one method for each tool with typed arguments, and calls by name
/// ([`call`](Self::call), [`call_text`](Self::call_text)).
///
/// ```
/// use std::sync::Arc;
/// use eog_sre::{ReadOptions, Snapshot, tools::Toolbox};
/// # let directory = tempfile::tempdir()?;
/// # std::fs::create_dir(directory.path().join("alerts"))?;
/// # std::fs::write(directory.path().join("alerts/alerts_at_1.json"), "[]")?;
/// let snapshot = Snapshot::open(directory.path(), &ReadOptions::default())?;
/// let toolbox = Toolbox::new(Arc::new(snapshot));
/// let page = toolbox.call("event_analysis", serde_json::json!({"filters": {"type": "Warning"}}))?;
/// assert_eq!(page["total"], 0);
/// let error = toolbox.call("event_analysis", serde_json::json!({"filter": {}})).unwrap_err();
/// assert!(error.to_string().contains("did you mean filters?"), "{error}");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct Toolbox {
    snapshot: Arc<Snapshot>,
    graph: Arc<OperationalGraph>,
    signals: Arc<Signals>,
    /// Made when it is first asked for, and shared by all copies of the toolbox.
    context: Arc<OnceLock<SnapshotContext>>,
}

impl Toolbox {
    /// Prepares a snapshot for calls. Work in proportion to the snapshot's size.
    pub fn new(snapshot: Arc<Snapshot>) -> Self {
        let graph = Arc::new(snapshot.graph());
        Self { snapshot, graph, signals: Arc::default(), context: Arc::default() }
    }

    /// The snapshot.
    pub fn snapshot(&self) -> &Snapshot {
        &self.snapshot
    }

    /// The operational graph of the snapshot.
    pub fn graph(&self) -> &OperationalGraph {
        &self.graph
    }

    /// What the tools about traces, metrics and logs keep between calls.
    pub(crate) fn signals(&self) -> &Signals {
        &self.signals
    }

    /// The context contract over the snapshot. The first call indexes the whole snapshot.
    pub fn context(&self) -> &SnapshotContext {
        self.context.get_or_init(|| {
            let spans = Arc::clone(self.signals.spans(&self.snapshot, &self.graph));
            SnapshotContext::with_spans(self.snapshot.clone(), self.graph.clone(), spans)
        })
    }

    /// Runs a tool by name; null stands for no arguments.
    ///
    /// # Errors
    /// [`ToolError`] for an unknown tool, and for arguments that do not fit or cannot be used.
    pub fn call(&self, name: &str, arguments: Value) -> Result<Value, ToolError> {
        (find(name)?.to_value)(self, arguments)
    }

    /// Runs a tool by name and gives its answer as indented JSON, the fields in the order in which
    /// they are documented.
    ///
    /// # Errors
    /// As for [`Toolbox::call`].
    pub fn call_text(&self, name: &str, arguments: Value) -> Result<String, ToolError> {
        (find(name)?.to_text)(self, arguments)
    }

    /// The alerts, one row for each alert and entity; see [`alert_summary`](super::alert_summary()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn alert_summary(&self, arguments: &AlertSummary) -> Result<Page, ToolError> {
        arguments.run(self)
    }

    /// Every alert in every dump; see [`alert_analysis`](super::alert_analysis()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn alert_analysis(&self, arguments: &AlertAnalysis) -> Result<Page, ToolError> {
        arguments.run(self)
    }

    /// The events of the cluster; see [`event_analysis`](super::event_analysis()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn event_analysis(&self, arguments: &EventAnalysis) -> Result<Page, ToolError> {
        arguments.run(self)
    }

    /// The local evidence on one entity; see
    /// [`get_context_contract`](super::get_context_contract()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn get_context_contract(
        &self,
        arguments: &GetContextContract,
    ) -> Result<LocalContext, ToolError> {
        arguments.run(self)
    }

    /// What changed in objects; see [`k8s_spec_change_analysis`](super::k8s_spec_change_analysis()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn k8s_spec_change_analysis(
        &self,
        arguments: &SpecChangeAnalysis,
    ) -> Result<Page, ToolError> {
        arguments.run(self)
    }

    /// The states of one object; see [`get_k8_spec`](super::get_k8_spec()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn get_k8_spec(&self, arguments: &GetK8Spec) -> Result<SpecHistory, ToolError> {
        arguments.run(self)
    }

    /// The operational graph; see [`build_topology`](super::build_topology()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn build_topology(&self, arguments: &BuildTopology) -> Result<TopologyPage, ToolError> {
        arguments.run(self)
    }

    /// What stands around one entity; see [`topology_analysis`](super::topology_analysis()).
    ///
    /// # Errors
    /// [`ToolError::Argument`].
    pub fn topology_analysis(
        &self,
        arguments: &TopologyAnalysis,
    ) -> Result<TopologyView, ToolError> {
        arguments.run(self)
    }
}

fn find(name: &str) -> Result<&'static ToolInfo, ToolError> {
    tools().iter().find(|tool| tool.name == name).ok_or_else(|| ToolError::UnknownTool {
        name: eog_evidence::shorten(name, 100),
        hint: near(name, tools().iter().map(|tool| tool.name), "tools"),
    })
}
