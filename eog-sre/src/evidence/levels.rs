//! What a status says of limits: quotas that are used up, autoscalers at their maximum, budgets that
//! allow nothing, certificates that expired.

use eog_core::Timestamp;
use eog_core::evidence::{Quantity, Signal};
use serde_json::Value;

use crate::json::{condition, list, moment, since, text, word};
use crate::names;
use crate::quantity::quantity;

/// How far a metric may exceed its target before an autoscaler acts, as a factor: the default of
/// `--horizontal-pod-autoscaler-tolerance`.
const TOLERANCE: f64 = 1.1;

/// Something that holds of an object at a time.
pub(super) struct Level {
    /// What distinguishes it from other levels of its object.
    pub(super) field: &'static str,
    pub(super) signal: Signal,
    pub(super) said: String,
    pub(super) quantity: Option<Quantity>,
    /// When it began, if the status says so.
    pub(super) since: Option<Timestamp>,
}

impl Level {
    fn new(field: &'static str, signal: Signal, said: String) -> Self {
        Self { field, signal, said, quantity: None, since: None }
    }
}

/// What an object of this kind is at the limit of, as of a dump.
pub(super) fn levels(kind: &str, object: &Value, seen: Timestamp) -> Option<Level> {
    match kind {
        "ResourceQuota" => {
            let mut level = Level::new("used", Signal::Saturation, used_up(object)?);
            level.quantity = Some(whole());
            Some(level)
        }
        "HorizontalPodAutoscaler" => at_maximum(object),
        "PodDisruptionBudget" => allows_nothing(object),
        "Pod" => evicted(object),
        "Certificate" => expired(object, seen),
        _ => None,
    }
}

/// The first resource of a quota of which nothing is left, as readable text.
pub(crate) fn used_up(quota: &Value) -> Option<String> {
    let hard = quota.pointer("/status/hard")?.as_object()?;
    let used = quota.pointer("/status/used")?;
    let full = hard.iter().find(|(name, hard)| {
        let left = quantity(hard).zip(used.get(name.as_str()).and_then(quantity));
        // A limit of none at all forbids a kind of object and is not used up.
        left.is_some_and(|(hard, used)| hard > 0.0 && used >= hard)
    });
    full.map(|(name, hard)| format!("all of {name} is used: {}", plain(hard)))
}

/// An autoscaler that runs as many replicas as it may, and wants more.
fn at_maximum(object: &Value) -> Option<Level> {
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_f64);
    let most = number("/spec/maxReplicas")?;
    let limited = condition(object, "ScalingLimited").filter(|condition| {
        word(condition, "/status") == "True" && word(condition, "/reason") == "TooManyReplicas"
    });
    let wants = limited.is_some() || exceeds_target(object);
    if !wants || number("/status/currentReplicas").unwrap_or(0.0) < most {
        return None;
    }
    let fixed = number("/spec/minReplicas").unwrap_or(1.0) >= most;
    let fixed = if fixed { "; minReplicas equals maxReplicas: it can never scale" } else { "" };
    let said = format!("at its limit of {most} replicas, and wants more{fixed}");
    let mut level = Level::new("currentReplicas", Signal::Saturation, said);
    level.quantity = Some(whole());
    level.since = limited.and_then(since);
    Some(level)
}

/// Whether a metric of an autoscaler exceeds its target by more than is tolerated.
fn exceeds_target(object: &Value) -> bool {
    let exceeds = |current: Option<f64>, target: Option<f64>| {
        current.zip(target).is_some_and(|(current, target)| current > target * TOLERANCE)
    };
    let number = |pointer: &str| object.pointer(pointer).and_then(Value::as_f64);
    let mut pairs = list(object, "/spec/metrics").zip(list(object, "/status/currentMetrics"));
    let by_list = pairs.any(|(target, current)| {
        ["resource", "containerResource", "pods", "object", "external"].iter().any(|source| {
            ["averageUtilization", "averageValue", "value"].iter().any(|field| {
                let at = |of: &Value, part: &str| {
                    of.pointer(&format!("/{source}/{part}/{field}")).and_then(quantity)
                };
                exceeds(at(current, "current"), at(target, "target"))
            })
        })
    });
    by_list
        || exceeds(
            number("/status/currentCPUUtilizationPercentage"),
            number("/spec/targetCPUUtilizationPercentage"),
        )
}

/// A disruption budget that allows no eviction. Evictions wait, and so do drains of nodes.
fn allows_nothing(object: &Value) -> Option<Level> {
    let number = |field: &str| object.pointer("/status")?.get(field)?.as_u64();
    let (healthy, needed) = (number("currentHealthy")?, number("desiredHealthy")?);
    let of = number("expectedPods").filter(|of| *of > 0)?;
    let never = if needed >= of { "; it never allows any" } else { "" };
    let said =
        format!("allows no disruption: {healthy} of {of} pods healthy, {needed} needed{never}");
    let level = Level::new("disruptionsAllowed", Signal::Other, said);
    (number("disruptionsAllowed")? == 0).then_some(level)
}

/// A pod that its node evicted.
fn evicted(object: &Value) -> Option<Level> {
    let status = object.get("status").filter(|status| word(status, "/reason") == "Evicted")?;
    let said = format!("Evicted: {}", word(status, "/message"));
    let mut level = Level::new("reason", Signal::Exhaustion, said);
    level.since = condition(object, "DisruptionTarget").and_then(since);
    Some(level)
}

/// A certificate that is past its end, though nothing was changed.
fn expired(object: &Value, seen: Timestamp) -> Option<Level> {
    let end = moment(object, "/status/notAfter").filter(|end| *end <= seen)?;
    let said = format!("the certificate expired at {end}");
    let mut level = Level::new("notAfter", Signal::Availability, said);
    level.since = Some(end);
    Some(level)
}

/// Whether a text says that a node lacked something, so that it evicted pods.
pub(super) fn blames_node(message: &str) -> bool {
    message.contains("The node was low on resource") || message.contains("The node had condition")
}

/// The node that a pod ran on, as an entity.
pub(super) fn node_of(object: &Value) -> Option<eog_core::EntityId> {
    names::entity("", "Node", text(object, "/spec/nodeName")?)
}

fn whole() -> Quantity {
    Quantity { observed: 1.0, baseline: None, unit: "ratio".into() }
}

/// A value without the quotes of a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
