//! The topology of a bundle, and what surrounds one entity.

use serde::Deserialize;

use super::{BundleTool, BundleToolbox};
use crate::tools::{BuildTopology, Tool, ToolError, TopologyAnalysis, TopologyPage, TopologyView};

/// `build_topology`.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Whole(BuildTopology);

impl BundleTool for Whole {
    const NAME: &'static str = BuildTopology::NAME;
    const ARGUMENTS: &'static [&'static [&'static str]] =
        &[&["entity", "namespaces", "kinds", "relations", "counts_only", "limit", "offset"]];
    type Answer = TopologyPage;

    fn ask(&self, toolbox: &BundleToolbox<'_>) -> Result<TopologyPage, ToolError> {
        self.0.of(&toolbox.incident.topology, || toolbox.entities(), &[])
    }
}

/// `topology_analysis`.
#[derive(Deserialize)]
#[serde(transparent)]
pub(super) struct Around(TopologyAnalysis);

impl BundleTool for Around {
    const NAME: &'static str = TopologyAnalysis::NAME;
    const ARGUMENTS: &'static [&'static [&'static str]] =
        &[&["entity", "mode", "hops", "direction", "relations", "limit", "offset"]];
    type Answer = TopologyView;

    fn ask(&self, toolbox: &BundleToolbox<'_>) -> Result<TopologyView, ToolError> {
        self.0.of(&toolbox.incident.topology, || toolbox.entities())
    }
}
