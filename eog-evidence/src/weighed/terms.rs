//! The terms of the sum, and their weights.

use std::sync::LazyLock;

use serde::Deserialize;

use super::numbers::Numbers;

/// The weights as they are shipped.
pub(super) const SHIPPED: &str = include_str!("weights.toml");

/// A term: its name, and its value from the numbers of a packet.
pub(super) struct Term {
    pub(super) name: &'static str,
    value: fn(&Numbers) -> f64,
}

/// Weights and thresholds, in thousandths of natural log-odds.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weights {
    /// The version of the table.
    pub(super) version: u32,
    pub(super) decision: Thresholds,
    #[serde(rename = "term")]
    pub(super) terms: Vec<Weight>,
}

/// From what on something is decided.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Thresholds {
    /// Log-odds from which on an entity is an origin.
    pub(super) origin: i32,
    /// The same where what explains an alert ends.
    pub(super) dead_end: i32,
    /// Harm from which on an entity does worse, in thousandths of a logarithm.
    pub(super) harm: i32,
}

/// The weight of one term.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Weight {
    pub(super) name: String,
    pub(super) weight: i32,
    pub(super) meaning: String,
}

/// The shipped weights. They are part of the program, and a test reads them.
pub(super) static WEIGHTS: LazyLock<Weights> =
    LazyLock::new(|| toml::from_str(SHIPPED).unwrap_or_else(|_| Weights::none()));

impl Weights {
    fn none() -> Self {
        let decision = Thresholds { origin: i32::MAX, dead_end: i32::MAX, harm: i32::MAX };
        Self { version: 0, decision, terms: Vec::new() }
    }
}

/// What a size of twenty times the usual is divided by to be 1: about its logarithm.
const TWENTYFOLD: f64 = 3.0;
const FIFTYFOLD: f64 = 4.0;

/// All terms, in the order of `weights.toml`.
pub(super) const TERMS: [Term; 25] = [
    Term { name: "excess", value: |n| (n.harm() - n.upstream).clamp(-1.0, 2.0) },
    Term { name: "own harm", value: |n| unit(n.harm(), TWENTYFOLD) },
    Term { name: "attributed share", value: |n| n.attributed },
    Term { name: "unexplained remainder", value: |n| n.remainder.unwrap_or(0.0) },
    Term { name: "contribution bound", value: |n| is(n.bound.is_some_and(|bound| bound < 0.1)) },
    Term { name: "critical path", value: |n| n.critical_path },
    Term { name: "failing at the end", value: |n| n.failing },
    Term { name: "failed before", value: |n| n.failed },
    Term { name: "exhaustion", value: |n| is(n.exhausted) },
    Term { name: "error lines", value: |n| unit(n.error_lines, TWENTYFOLD) },
    Term { name: "first errors", value: |n| unit(n.first_errors, FIFTYFOLD) },
    Term { name: "change", value: |n| n.change },
    Term { name: "alert alone", value: |n| is(n.has_alert && n.harm() < 0.1) },
    Term { name: "saturation", value: |n| unit(n.saturation, FIFTYFOLD) },
    Term { name: "contention", value: |n| is(n.contention) },
    Term { name: "holds up callers", value: |n| is(n.holds_up) },
    Term { name: "ends requests", value: |n| unit(n.ends_requests, TWENTYFOLD) },
    Term { name: "source of demand", value: |n| unit(n.sends_more, 2.0) },
    Term { name: "upstream harm", value: |n| unit(n.upstream, TWENTYFOLD) },
    Term { name: "explained share", value: Numbers::explained },
    Term { name: "first to deviate", value: |n| is(n.is_first_to_deviate) },
    Term { name: "reaches no alert", value: |n| is(!n.is_within_reach()) },
    Term { name: "reach", value: reach },
    Term { name: "distance", value: distance },
    Term { name: "as usual", value: as_usual },
];

/// What each term adds, by its place, in thousandths.
pub(super) fn contributions(numbers: &Numbers) -> Vec<i32> {
    let weights = WEIGHTS.terms.iter();
    TERMS
        .iter()
        .zip(weights)
        .map(|(term, weight)| {
            let value = (term.value)(numbers).clamp(-2.0, 2.0);
            // Whole thousandths, so that the sum does not depend on its order.
            (f64::from(weight.weight) * value).round() as i32
        })
        .collect()
}

/// The values of all terms, in their order.
pub(super) fn values(numbers: &Numbers) -> Vec<f64> {
    TERMS.iter().map(|term| (term.value)(numbers)).collect()
}

fn unit(size: f64, whole: f64) -> f64 {
    (size / whole).clamp(0.0, 1.0)
}

fn is(so: bool) -> f64 {
    f64::from(u8::from(so))
}

fn reach(n: &Numbers) -> f64 {
    let share = |reach: eog_core::contract::Reach| {
        f64::from(reach.reached) / f64::from(reach.alerting.max(1))
    };
    n.reach.map_or(0.0, share)
}

fn distance(n: &Numbers) -> f64 {
    let hops = n.reach.and_then(|reach| reach.hops);
    hops.map_or(0.0, |hops| 1.0 / f64::from(hops.max(1)))
}

/// Nothing of its golden signals shifted, and nothing else speaks of it.
fn as_usual(n: &Numbers) -> f64 {
    let is_blamed =
        n.ends_requests >= 0.2 || n.remainder.unwrap_or(0.0) >= 0.3 || n.attributed >= 0.3;
    is(n.as_usual > 0 && n.harm() < 0.1 && !is_blamed)
}
