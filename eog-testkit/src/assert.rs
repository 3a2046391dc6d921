//! Assertions on ledgers and conclusions.

use std::collections::BTreeSet;

use eog::belief::ClaimEdge;
use eog::contract::FailureKind;
use eog::controller::{EntryBody, Evaluation};
use eog::ledger::{Observation, RecordedAnswer, Refusal, Warning};
use eog::{
    Claim, Conclusion, Confidence, Controller, EntityId, Finished, Label, Ledger, StopReason,
    Topology,
};

use crate::bounds::check_bounds;
use crate::names::entity;
use crate::render::{render, render_entry};

/// What has a ledger to assert on: a [`Ledger`], a [`Controller`], a [`Finished`] run.
pub trait Asserted {
    /// The ledger.
    fn ledger(&self) -> &Ledger;
}

/// What also has a conclusion: a [`Controller`], a [`Finished`] run.
pub trait Concluded: Asserted {
    /// Frontier, coverage, cover, ranking.
    fn conclusion(&self) -> Conclusion;
}

/// Begins a chain of assertions. Each panics, at the line of the test, with the ledger lines it
/// is about.
///
/// ```should_panic
/// use eog::{Config, Label};
/// use eog_testkit::{MemoryContext, assert_that, healthy, policy_fn, run, seeded, topology};
/// let case = seeded(topology("S1 calls S2"), ["S1"]);
/// let run = run(Config::default(), case, &MemoryContext::default(), &policy_fn(healthy));
/// assert_that(&run).evaluated(["S1"]).ends_with_label("S1", Label::Origin);
/// // S1 should end as origin, but is healthy
/// // #1 S1 visit 1 (Seed #0): healthy "S1 operates normally" | …
/// ```
#[must_use = "call an assertion on it"]
pub fn assert_that<T: Asserted + ?Sized>(subject: &T) -> Assertion<'_, T> {
    Assertion { subject }
}

/// A chain of assertions; see [`assert_that`].
///
/// Entities are given by name. Every method panics when it does not hold.
#[derive(Debug)]
pub struct Assertion<'a, T: ?Sized> {
    subject: &'a T,
}

impl<'a, T: Asserted + ?Sized> Assertion<'a, T> {
    /// Exactly these entities were evaluated, in this order.
    #[track_caller]
    pub fn evaluated<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let expected: Vec<&str> = names.into_iter().collect();
        let found: Vec<&str> = self.evaluations().map(|e| e.entity.as_str()).collect();
        let message =
            format!("evaluations should be {}, but are {}", expected.join(" "), found.join(" "));
        self.holds(found == expected, &[], &message)
    }

    /// This entity was never evaluated.
    #[track_caller]
    pub fn not_evaluated(self, name: &str) -> Self {
        self.evaluated_times(name, 0)
    }

    /// This entity was evaluated so many times.
    #[track_caller]
    pub fn evaluated_times(self, name: &str, times: usize) -> Self {
        let found = self.of(name).count();
        let message = format!("{name} should be evaluated {times} times, but was {found} times");
        self.holds(found == times, &[name], &message)
    }

    /// The last evaluation of this entity left it with this label.
    #[track_caller]
    pub fn ends_with_label(self, name: &str, label: Label) -> Self {
        let found = self.of(name).last().map(|e| e.outcome.belief.label);
        let found = found.map_or("was never evaluated".to_owned(), |found| format!("is {found}"));
        let message = format!("{name} should end as {label}, but {found}");
        self.holds(found == format!("is {label}"), &[name], &message)
    }

    /// Some evaluation of this entity changed its label from one to the other.
    #[track_caller]
    pub fn revised(self, name: &str, from: Label, to: Label) -> Self {
        let labels: Vec<Label> = self.of(name).map(|e| e.outcome.belief.label).collect();
        let found = labels.windows(2).any(|pair| *pair == [from, to]);
        let message = format!(
            "{name} should be revised from {from} to {to}, but its labels are [{}]",
            listed(&labels)
        );
        self.holds(found, &[name], &message)
    }

    /// A claim "`cause` explains `effect`" is live at the end.
    #[track_caller]
    pub fn claims(self, cause: &str, effect: &str) -> Self {
        let (live, message) = self.live(cause, effect, "be");
        self.holds(live, &[cause, effect], &message)
    }

    /// No claim "`cause` explains `effect`" is live at the end; there may have been one before.
    #[track_caller]
    pub fn does_not_claim(self, cause: &str, effect: &str) -> Self {
        let (live, message) = self.live(cause, effect, "not be");
        self.holds(!live, &[cause, effect], &message)
    }

    /// A claim joined these two, in either direction, while no declared edge did.
    #[track_caller]
    pub fn discovered(self, one: &str, other: &str) -> Self {
        let pair = BTreeSet::from([entity(one), entity(other)]);
        let is_pair =
            |claim: &Claim| BTreeSet::from([claim.cause.clone(), claim.effect.clone()]) == pair;
        let mut declared = Topology::default();
        let mut reason = "no claim joins them";
        for entry in self.subject.ledger().entries() {
            match &entry.body {
                EntryBody::Opened(opened) => declared = opened.case.topology.clone(),
                EntryBody::Observed(observed) => match &observed.observation {
                    Observation::EdgeAdded(edge) => _ = declared.add_edge(edge.clone()),
                    Observation::EdgeRemoved(edge) => _ = declared.remove_edge(edge),
                    _ => {}
                },
                EntryBody::Evaluated(e) if e.outcome.belief.claims.iter().any(is_pair) => {
                    let joined = declared
                        .edges_at(&entity(one))
                        .any(|edge| pair.contains(&edge.source) && pair.contains(&edge.target));
                    if !joined {
                        return self;
                    }
                    reason = "a declared edge joins them already";
                }
                _ => {}
            }
        }
        let message = format!("{one} and {other} should be discovered as joined, but {reason}");
        self.holds(false, &[one, other], &message)
    }

    /// Some evaluation of this entity refused this part of the decision.
    #[track_caller]
    pub fn refused(self, name: &str, refusal: &Refusal) -> Self {
        let found: Vec<&Refusal> = self.of(name).flat_map(|e| &e.refusals).collect();
        let message = format!("on {name}, {refusal:?} should be refused, but are {found:?}");
        self.holds(found.contains(&refusal), &[name], &message)
    }

    /// Some evaluation of this entity was accepted with this warning.
    #[track_caller]
    pub fn warned(self, name: &str, warning: &Warning) -> Self {
        let found: Vec<&Warning> = self.of(name).flat_map(|e| &e.warnings).collect();
        let message = format!("{name} should have the warning {warning:?}, but has {found:?}");
        self.holds(found.contains(&warning), &[name], &message)
    }

    /// Some evaluation of this entity failed.
    #[track_caller]
    pub fn failed(self, name: &str) -> Self {
        let failed = self.failures(name).next().is_some();
        self.holds(failed, &[name], &format!("an evaluation of {name} should fail, but none did"))
    }

    /// Some evaluation of this entity failed in this way, with a message that holds this text.
    #[track_caller]
    pub fn failed_with(self, name: &str, kind: FailureKind, text: &str) -> Self {
        let found: Vec<(FailureKind, &str)> = self.failures(name).collect();
        let message = format!(
            "an evaluation of {name} should fail with {kind:?} and {text:?}, but the failures are \
             {found:?}"
        );
        let is_meant = found.iter().any(|(k, message)| *k == kind && message.contains(text));
        self.holds(is_meant, &[name], &message)
    }

    /// The chain of hashes holds, the ledger begins with its input, and evaluations are numbered
    /// without gaps.
    #[track_caller]
    pub fn is_intact(self) -> Self {
        let ledger = self.subject.ledger();
        if let Err(error) = ledger.verify() {
            return self.holds(false, &[], &format!("the ledger should be intact, but {error}"));
        }
        let opens = |entry: &eog::Entry| matches!(entry.body, EntryBody::Opened(_));
        let first = ledger.entries().first().is_some_and(|entry| opens(entry));
        let once = ledger.entries().iter().filter(|entry| opens(entry)).count() == 1;
        let message = "the ledger should begin with its input, and hold it once, but does not";
        let this = self.holds(first && once, &[], message);
        let numbers: Vec<u64> = this.evaluations().map(|e| e.number).collect();
        let message =
            format!("evaluations should be numbered from 1, but the numbers are {numbers:?}");
        let gapless = (1..).zip(&numbers).all(|(expected, number)| expected == *number);
        this.holds(gapless, &[], &message)
    }

    /// Every bound that the algorithm states holds; see [`assert_bounds`](crate::assert_bounds).
    #[track_caller]
    pub fn keeps_its_bounds(self) -> Self {
        let Err(broken) = check_bounds(self.subject.ledger()) else { return self };
        let about: Vec<&str> = broken.entity.iter().map(EntityId::as_str).collect();
        self.holds(false, &about, &broken.to_string())
    }

    fn evaluations(&self) -> impl Iterator<Item = &'a Evaluation> + use<'a, T> {
        self.subject.ledger().evaluations()
    }

    fn of(&self, name: &str) -> impl Iterator<Item = &'a Evaluation> + use<'a, T> {
        let name = name.to_owned();
        self.evaluations().filter(move |evaluation| evaluation.entity.as_str() == name)
    }

    fn failures(&self, name: &str) -> impl Iterator<Item = (FailureKind, &'a str)> + use<'a, T> {
        self.of(name).filter_map(|evaluation| match &evaluation.answer {
            RecordedAnswer::Failed(failure) => Some((failure.kind, failure.message.as_str())),
            RecordedAnswer::Decided(_) | RecordedAnswer::Remembered { .. } => None,
        })
    }

    /// Whether a claim is live, and what to say when it should (not) be.
    fn live(&self, cause: &str, effect: &str, should: &str) -> (bool, String) {
        let mut owners = BTreeSet::new();
        let mut live = BTreeSet::new();
        let newest_first: Vec<&Evaluation> = self.evaluations().collect();
        for evaluation in newest_first.into_iter().rev() {
            if owners.insert(&evaluation.entity) {
                live.extend(evaluation.outcome.belief.claims.iter().map(Claim::edge));
            }
        }
        let meant = ClaimEdge { cause: entity(cause), effect: entity(effect) };
        let shown: Vec<String> =
            live.iter().map(|edge| format!("{} → {}", edge.cause, edge.effect)).collect();
        let message = format!(
            "the claim {cause} → {effect} should {should} live, but the live claims are [{}]",
            shown.join(", ")
        );
        (live.contains(&meant), message)
    }

    /// Panics with the ledger lines of these entities; of all when there are none.
    #[track_caller]
    fn holds(self, condition: bool, about: &[&str], message: &str) -> Self {
        if condition {
            return self;
        }
        let ledger = self.subject.ledger();
        let is_meant = |entry: &eog::Entry| {
            entry.evaluation().is_some_and(|e| about.contains(&e.entity.as_str()))
        };
        let of_these: Vec<String> = ledger
            .entries()
            .iter()
            .filter(|entry| is_meant(entry))
            .map(|entry| render_entry(entry))
            .collect();
        let lines = if of_these.is_empty() { render(ledger) } else { of_these.join("\n") };
        panic!("{message}\n{lines}");
    }
}

impl<T: Concluded + ?Sized> Assertion<'_, T> {
    /// The origins of the frontier are exactly these, in any order.
    #[track_caller]
    pub fn frontier<'n>(self, names: impl IntoIterator<Item = &'n str>) -> Self {
        let expected: BTreeSet<EntityId> = names.into_iter().map(entity).collect();
        let conclusion = self.subject.conclusion();
        let found: BTreeSet<EntityId> =
            conclusion.frontier.into_iter().flat_map(|group| group.origins).collect();
        let message =
            format!("the frontier should be [{}], but is [{}]", listed(&expected), listed(&found));
        self.holds(found == expected, &[], &message)
    }

    /// The conclusion as a whole is this sure.
    #[track_caller]
    pub fn confidence(self, confidence: Confidence) -> Self {
        let conclusion = self.subject.conclusion();
        let found = conclusion.confidence;
        let doubts: Vec<String> =
            conclusion.frontier.iter().flat_map(|g| &g.doubts).map(ToString::to_string).collect();
        let message = format!(
            "the confidence should be {confidence}, but is {found} (doubts: [{}])",
            doubts.join("; ")
        );
        self.holds(found == confidence, &[], &message)
    }
}

impl Assertion<'_, Finished> {
    /// The run ended because nothing was active any more.
    #[track_caller]
    pub fn converged(self) -> Self {
        let stop = self.subject.stop;
        let converged = matches!(stop, StopReason::Converged { .. });
        self.holds(converged, &[], &format!("the run should converge, but ended with {stop:?}"))
    }

    /// The run ended for this reason.
    #[track_caller]
    pub fn stopped(self, reason: StopReason) -> Self {
        let stop = self.subject.stop;
        let message = format!("the run should end with {reason:?}, but ended with {stop:?}");
        self.holds(stop == reason, &[], &message)
    }
}

fn listed(items: impl IntoIterator<Item = impl ToString>) -> String {
    let names: Vec<String> = items.into_iter().map(|item| item.to_string()).collect();
    names.join(", ")
}

impl Asserted for Ledger {
    fn ledger(&self) -> &Ledger {
        self
    }
}

impl Asserted for Controller {
    fn ledger(&self) -> &Ledger {
        self.ledger()
    }
}

impl Asserted for Finished {
    fn ledger(&self) -> &Ledger {
        self.ledger()
    }
}

impl Concluded for Controller {
    fn conclusion(&self) -> Conclusion {
        self.conclusion()
    }
}

impl Concluded for Finished {
    fn conclusion(&self) -> Conclusion {
        self.conclusion()
    }
}
