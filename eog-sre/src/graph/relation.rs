//! The relations of the operational graph, all read as "source *relation* target".

/// A service calls another: failures travel from callee to caller.
pub const CALLS: &str = "calls";
/// A workload names a service as a host: failures travel from the service to the workload.
pub const USES: &str = "uses";
/// A workload or pod serves a service: effects travel from the workload to the service.
pub const BACKS: &str = "backs";
/// An owner created an object: configuration travels from the owner down.
pub const OWNS: &str = "owns";
/// A workload mounts or reads a ConfigMap, Secret or volume claim, or a claim mounts its volume:
/// effects travel to the one that mounts.
pub const MOUNTS: &str = "mounts";
/// A pod runs on a node: effects travel from the node to the pod.
pub const RUNS_ON: &str = "runs_on";
/// An autoscaler sets the replicas of a workload: effects travel to the workload.
pub const SCALES: &str = "scales";
/// An ingress routes to a service: failures travel from the service to the ingress.
pub const ROUTES: &str = "routes";
/// A policy restricts the traffic of pods, or a quota or limit range what may run: effects travel to
/// the workload or the namespace.
pub const RESTRICTS: &str = "restricts";
/// A namespace holds a workload, where something acts on the whole namespace (effects travel to the
/// workload) or where an alert speaks of it (effects travel to the namespace).
pub const CONTAINS: &str = "contains";
/// A fault experiment targets a workload: effects travel to the workload.
pub const INJECTS: &str = "injects";
/// A producer sends messages to a consumer, or a workload generates the load of a service that
/// serves no requests: load and effects travel to the target.
pub const SENDS_LOAD: &str = "sends_load";

/// A workload takes the place of pods of lower priority: effects travel to whose pods are removed.
pub const PREEMPTS: &str = "preempts";
/// An issuer signs a certificate, which fills a Secret: effects travel from issuer to Secret.
pub const ISSUES: &str = "issues";

/// All relations.
pub const ALL: [&str; 14] = [
    CALLS, USES, BACKS, OWNS, MOUNTS, RUNS_ON, SCALES, ROUTES, RESTRICTS, CONTAINS, INJECTS,
    SENDS_LOAD, PREEMPTS, ISSUES,
];
