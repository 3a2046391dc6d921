//! The relations of the operational graph. All are read "source *relation* target".

/// A service calls another: failures travel from callee to caller.
pub const CALLS: &str = "calls";
/// A workload names a service as host: failures travel from the service to the workload.
pub const USES: &str = "uses";
/// A workload or pod serves a service: effects travel from the workload to the service.
pub const BACKS: &str = "backs";
/// An owner made an object: configuration travels from the owner down.
pub const OWNS: &str = "owns";
/// A workload mounts or reads a ConfigMap, Secret or volume claim, a claim its volume: effects
/// travel to the one that mounts.
pub const MOUNTS: &str = "mounts";
/// A pod runs on a node: effects travel from the node to the pod.
pub const RUNS_ON: &str = "runs_on";
/// An autoscaler sets the replicas of a workload: effects travel to the workload.
pub const SCALES: &str = "scales";
/// An ingress routes to a service: failures travel from the service to the ingress.
pub const ROUTES: &str = "routes";
/// A policy restricts the traffic of pods, or a quota how many there can be: effects travel
/// to the workload.
pub const RESTRICTS: &str = "restricts";
/// A fault experiment aims at a workload: effects travel to the workload.
pub const INJECTS: &str = "injects";
/// A producer of messages feeds a consumer, or a workload makes the load of a service that
/// serves nobody: load and effects travel to the target.
pub const SENDS_LOAD: &str = "sends_load";

/// All of them.
pub const ALL: [&str; 11] =
    [CALLS, USES, BACKS, OWNS, MOUNTS, RUNS_ON, SCALES, ROUTES, RESTRICTS, INJECTS, SENDS_LOAD];
