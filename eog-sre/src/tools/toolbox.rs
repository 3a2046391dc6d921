//! All tools over one snapshot.

use std::sync::{Arc, OnceLock};

use super::signals::Signals;
use crate::context::SnapshotContext;
use crate::graph::OperationalGraph;
use crate::snapshot::Snapshot;

/// A snapshot and its graph, ready for calls.
///
/// It gives access to what it holds ([`snapshot`](Self::snapshot), [`graph`](Self::graph)), answers
/// queries with typed arguments ([`ask`](Self::ask)), and runs tools by name
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
    /// Prepares a snapshot for calls, in time proportional to its size.
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
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read::ReadOptions;

    #[test]
    fn context_and_tools_share_one_index_of_the_spans() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir(directory.path().join("alerts")).unwrap();
        std::fs::write(directory.path().join("alerts/alerts_at_1.json"), "[]").unwrap();
        let snapshot = Snapshot::open(directory.path(), &ReadOptions::default()).unwrap();
        let toolbox = Toolbox::new(Arc::new(snapshot));
        toolbox.context();
        let spans = toolbox.signals().spans(toolbox.snapshot(), toolbox.graph());
        assert_eq!(Arc::strong_count(spans), 2);
    }
}
