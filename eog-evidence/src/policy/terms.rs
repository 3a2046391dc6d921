//! The terms of the sum.

use super::numbers::{Numbers, in_harm};
use super::observation::{Observation, Trouble};
use super::weights::Weights;
use crate::text::rounded;

/// A term of the sum.
pub(super) struct Term {
    pub(super) name: &'static str,
    /// Its value from the numbers of a packet.
    value: fn(&Numbers) -> f64,
    /// How much of it one observation has: the finding with the most is cited for it.
    pub(super) of: fn(&Observation<'_>) -> f64,
    /// What it says in words, where no finding says it.
    pub(super) words: fn(&Numbers) -> Option<String>,
}

/// A term that findings say.
const fn said(
    name: &'static str,
    value: fn(&Numbers) -> f64,
    of: fn(&Observation<'_>) -> f64,
) -> Term {
    Term { name, value, of, words: |_| None }
}

/// A term that compares an entity with others.
const fn compared(
    name: &'static str,
    value: fn(&Numbers) -> f64,
    words: fn(&Numbers) -> Option<String>,
) -> Term {
    Term { name, value, of: |_| 0.0, words }
}

/// What a size of twenty times the usual is divided by to be 1: about its logarithm.
const TWENTYFOLD: f64 = 3.0;
const FIFTYFOLD: f64 = 4.0;

/// The name of the term for changes.
const CHANGE: &str = "change";

/// All terms, in the order of `weights.toml`.
pub(super) const TERMS: [Term; 23] = {
    use Observation as O;
    [
        compared("excess", |n| (n.harm() - n.upstream).clamp(-1.0, 2.0), |n| Some(excess(n))),
        said("own harm", |n| unit(n.harm(), TWENTYFOLD), in_harm),
        compared(
            "attributed share",
            |n| n.attributed,
            |n| Some(format!("a caller attributes {} of its harm to it", percent(n.attributed))),
        ),
        said(
            "unexplained remainder",
            |n| n.remainder.unwrap_or(0.0),
            |what| match what {
                O::Remainder(share) => *share,
                _ => 0.0,
            },
        ),
        said(
            "contribution bound",
            |n| is(n.bound.is_some_and(|bound| bound < 0.1)),
            |what| is(matches!(what, O::ContributionBound(_))),
        ),
        said(
            "critical path",
            |n| n.critical_path,
            |what| match what {
                O::CriticalPath(_, share) => *share,
                _ => 0.0,
            },
        ),
        said("failing at the end", |n| n.failing, |what| is(matches!(what, O::Failure { .. }))),
        said(
            "error lines",
            |n| unit(n.error_lines, TWENTYFOLD),
            |what| match what {
                O::ErrorLines { callee: None, size } => *size,
                _ => 0.0,
            },
        ),
        said(
            "first errors",
            |n| unit(n.first_errors, FIFTYFOLD),
            |what| match what {
                O::FirstErrors(size) => *size,
                _ => 0.0,
            },
        ),
        said(CHANGE, |n| n.change, |what| is(*what == O::Change)),
        said(
            "words of a change",
            |n| unit(n.change_words, TWENTYFOLD),
            |what| match what {
                O::ChangeWords(size) => *size,
                _ => 0.0,
            },
        ),
        said("alert alone", |n| is(n.has_alert && n.harm() < 0.1), |what| is(*what == O::Alert)),
        said(
            "saturation",
            |n| unit(n.saturation, FIFTYFOLD),
            |what| match what {
                O::Worse(Trouble::Saturation, size) => *size,
                _ => 0.0,
            },
        ),
        said("contention", |n| is(n.contention), |what| is(*what == O::Contention)),
        said("holds up callers", |n| is(n.holds_up), |what| is(*what == O::HoldsUpCallers)),
        said(
            "ends requests",
            |n| unit(n.ends_requests, TWENTYFOLD),
            |what| match what {
                O::EndsRequests(size) => *size,
                _ => 0.0,
            },
        ),
        said(
            "source of demand",
            |n| unit(n.source_of_demand(), 2.0),
            |what| match what {
                O::SendsMore(size) | O::MoreLoad(size) => *size,
                _ => 0.0,
            },
        ),
        said("explained share", Numbers::explained, |what| match what {
            O::Share(_, share) => *share,
            _ => 0.0,
        }),
        said("early deviation", |n| is(n.deviates_early), |what| is(*what == O::EarlyDeviation)),
        compared("reaches no alert", |n| is(!n.is_within_reach()), |_| None),
        compared("reach", reach, |n| {
            if n.has_impact && n.reach.is_none_or(|reach| reach.reached == 0) {
                return Some("its load reaches an entity with an alert".to_owned());
            }
            let reach = n.reach?;
            Some(format!(
                "its effects reach {} of {} entities with alerts",
                reach.reached, reach.alerting
            ))
        }),
        compared("distance", distance, |n| match n.reach?.hops? {
            0 => Some("it has an alert itself".to_owned()),
            1 => Some("one hop from an alert".to_owned()),
            hops => Some(format!("{hops} hops from an alert")),
        }),
        said("as usual", as_usual, |what| is(matches!(what, O::AsUsual(..)))),
    ]
};

/// "own harm 12 × the usual, worst upstream 1.1 ×".
fn excess(n: &Numbers) -> String {
    format!("own harm {} the usual, worst upstream {}", times(n.harm()), times(n.upstream))
}

/// A logarithm of a ratio as "12 ×".
fn times(size: f64) -> String {
    format!("{} ×", rounded(libm::exp(size)))
}

fn percent(share: f64) -> String {
    format!("{} %", rounded(share * 100.0))
}

/// What each term adds, by its place, in thousandths.
pub(super) fn contributions(weights: &Weights, numbers: &Numbers) -> Vec<i32> {
    TERMS
        .iter()
        .zip(&weights.terms)
        .map(|(term, weight)| {
            let value = (term.value)(numbers).clamp(-2.0, 2.0);
            // Whole thousandths, so that the sum does not depend on its order.
            (f64::from(weight.weight) * value).round() as i32
        })
        .collect()
}

/// What a change adds that lies so near to what follows it, in thousandths.
pub(super) fn weight_of_change(weights: &Weights, near: f64) -> i32 {
    let weight = weights.terms.iter().find(|weight| weight.name == CHANGE);
    weight.map_or(0, |weight| (f64::from(weight.weight) * near).round() as i32)
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
    let by_effects = n.reach.map_or(0.0, share);
    // Load travels against the direction of effects.
    if by_effects == 0.0 { is(n.has_impact) } else { by_effects }
}

fn distance(n: &Numbers) -> f64 {
    let hops = n.reach.and_then(|reach| reach.hops);
    hops.map_or(0.5 * is(n.has_impact), |hops| 1.0 / f64::from(hops.max(1)))
}

/// Nothing of its golden signals shifted, and nothing else speaks of it.
fn as_usual(n: &Numbers) -> f64 {
    let shares = [n.remainder.unwrap_or(0.0), n.attributed, n.critical_path];
    let is_blamed = n.ends_requests >= 0.2 || shares.iter().any(|share| *share >= 0.3);
    is(n.as_usual > 0 && n.harm() < 0.1 && !is_blamed)
}
