//! The topology of a bundle, and what surrounds one entity.

use super::{BundleTool, BundleToolbox};
use crate::tools::{BuildTopology, ToolError, TopologyAnalysis, TopologyPage, TopologyView};

impl BundleTool for BuildTopology {
    const ARGUMENTS: &'static [&'static str] =
        &["entity", "namespaces", "kinds", "relations", "counts_only", "limit", "offset"];

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<TopologyPage, ToolError> {
        self.of(&toolbox.incident.topology, || toolbox.entities(), &[])
    }
}

impl BundleTool for TopologyAnalysis {
    const ARGUMENTS: &'static [&'static str] =
        &["entity", "mode", "hops", "direction", "relations", "limit", "offset"];

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<TopologyView, ToolError> {
        self.of(&toolbox.incident.topology, || toolbox.entities())
    }
}
