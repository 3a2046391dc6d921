//! The rule *failing callee*.

use eog_core::evidence::{PeerRole, Signal};
use eog_core::{Decision, EntityId, EvidenceKind, Finding, Label};

use crate::policy::answer::{claim, decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::load::claim_exhausted_callees;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "failing callee",
    when: "errors or latency of calls to another entity",
    decides: "`symptom`; callee → itself, at most two",
    nature: Nature::Other,
    propose: |facts| Explanation::possible(propose(facts)),
};

/// At most this many failing callees are claimed.
const MAX_CLAIMED: usize = 2;

/// Slow callees count when calls to them take longer by at least this share of what the slowest
/// adds.
const LATENCY_SHARE: f64 = 0.5;

/// Failing callees count when at least this share of what fails elsewhere fails there.
const ERROR_SHARE: f64 = 0.5;

/// Who has less than a tenth of what is lost cannot have made it.
const MINOR: f64 = 0.1;

/// A callee, and the findings that calls to it fail or are slow.
type Callee<'a> = (&'a EntityId, Vec<&'a Finding>);

/// **Failing callee.** Calls to another entity fail or are slow: that entity explains it, unless
/// it says that this entity is its cause, or it was exhausted by this entity's load.
///
/// Of several, those that call themselves origin come first, then symptoms, then the order of the
/// evidence. A callee that found itself healthy is passed over.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let exhausted = facts.exhausted_callees();
    let mut callees = facts.failing_callees();
    callees.retain(|(callee, _)| !facts.blames_me(callee) && !exhausted.contains(callee));
    callees.retain(|(callee, _)| facts.label_of(callee) != Some(Label::Healthy));
    // How much of its harm a callee accounts for says more than that it is slow, or that others are a little slower.
    if facts.is_kept(Signal::Latency) {
        let longest = callees.iter().map(added_time).fold(0.0, f64::max);
        let is_open = |callee: &Callee<'_>| {
            !facts.is_accounted(callee.0, Signal::Latency)
                && added_time(callee) >= LATENCY_SHARE * longest
        };
        callees.retain(|callee| !is_merely_slow(callee) || is_open(callee));
    }
    if is_about_time_alone(facts) {
        callees.retain(|(callee, _)| !has_none_of_it(callee, facts));
    }
    leave_those_of_the_same_kind(&mut callees, facts);
    leave_those_that_account_for_it(&mut callees, facts);
    callees.sort_by_key(|(callee, _)| facts.standing(callee));
    callees.truncate(MAX_CLAIMED);
    let (_, first) = callees.first()?;

    let names: Vec<&str> = callees.iter().map(|(callee, _)| callee.as_str()).collect();
    let seen = first.first().map_or_else(String::new, |finding| quote(finding));
    let summary = format!("failing callee: calls to {} fail: {seen}", names.join(" and "));
    let alerts = facts.harms.iter().filter(|harm| harm.peer.is_none()).take(2);
    let cited = callees.iter().flat_map(|(_, findings)| findings.iter().take(2));
    let mut decision = decide(Label::Symptom, &summary, cited.chain(alerts).copied());
    for (callee, findings) in &callees {
        let condition = facts.message(callee).map_or_else(
            || "it fails or is slow to answer".to_owned(),
            |belief| crate::text::shorten(&belief.summary, 160),
        );
        let observed = findings.first().map_or_else(String::new, |finding| quote(finding));
        let ids = findings.iter().map(|finding| finding.id());
        decision = decision.claiming(claim((callee, facts.entity), condition, observed, ids));
        rate(&mut decision, callee, 500);
    }
    rate(&mut decision, facts.entity, 100);
    Some(claim_exhausted_callees(decision, facts))
}

/// Whether the books are kept of time alone: no alert that the entity's effects reach speaks of failures.
fn is_about_time_alone(facts: &Facts<'_>) -> bool {
    let of_failures = |note: &&Finding| note.signal == Signal::Errors;
    let notes = facts.shares.iter().chain(&facts.remainders).chain(&facts.parts);
    let alerted = facts.alerted().any(|kind| matches!(kind, Signal::Errors | Signal::Availability));
    facts.is_kept(Signal::Latency) && !alerted && !notes.copied().any(|note| of_failures(&note))
}

/// Whether a callee is known to add next to nothing to the time that is lost.
fn has_none_of_it(callee: &EntityId, facts: &Facts<'_>) -> bool {
    let mut shares = facts.sharers_of(callee, Signal::Latency).peekable();
    shares.peek().is_some() && shares.all(|share| share < MINOR)
}

fn is_merely_slow((_, findings): &Callee<'_>) -> bool {
    findings.iter().all(|finding| finding.signal == Signal::Latency)
}

/// Leaves out callees that are merely slow when calls to others fail and alerts here are about
/// errors, and those whose calls fail when alerts here are about latency alone and others are slow.
fn leave_those_of_the_same_kind(callees: &mut Vec<Callee<'_>>, facts: &Facts<'_>) {
    let alerts = |signal| {
        let mut own = facts.harms.iter().filter(|harm| harm.kind == EvidenceKind::Alert);
        own.any(|alert| alert.signal == signal)
    };
    let slow = |(_, findings): &Callee<'_>| {
        findings.iter().any(|finding| finding.signal == Signal::Latency)
    };
    let failing = |(_, findings): &Callee<'_>| {
        findings.iter().any(|finding| finding.signal != Signal::Latency)
    };
    if alerts(Signal::Errors) && callees.iter().any(failing) {
        callees.retain(failing);
    } else if alerts(Signal::Latency) && callees.iter().any(slow) {
        callees.retain(slow);
        // Time adds up along calls: what takes most of it explains most.
        let longest = callees.iter().map(added_time).fold(0.0, f64::max);
        callees.retain(|callee| added_time(callee) >= LATENCY_SHARE * longest);
    }
}

/// Leaves out callees of which far fewer calls fail than of those to others; and where a change
/// elsewhere has a path here, those of which far fewer calls fail than of the requests here.
fn leave_those_that_account_for_it(callees: &mut Vec<Callee<'_>>, facts: &Facts<'_>) {
    let served = facts.harms.iter().filter(|harm| role(harm) != Some(PeerRole::Callee));
    let own = served.filter_map(|harm| error_ratio(harm)).fold(0.0, f64::max);
    let since = facts.harms.iter().map(|harm| harm.time.start()).min();
    let changed = facts.routes.iter().any(|route| since.is_some_and(|at| route.time.start() <= at));
    let ratio_of = |(_, findings): &Callee<'_>| {
        let ratios = findings.iter().filter_map(|finding| error_ratio(finding));
        ratios.max_by(f64::total_cmp)
    };
    let most = callees.iter().filter_map(&ratio_of).fold(0.0, f64::max);
    let least = if changed { most.max(own) } else { most };
    callees.retain(|callee| ratio_of(callee).is_none_or(|ratio| ratio >= ERROR_SHARE * least));
    // Where failures are only counted on both sides, a few calls do not explain many requests.
    let own = facts.harms.iter().filter(|harm| harm.peer.is_none());
    let own = own.filter_map(|harm| more_failures(harm)).fold(0.0, f64::max);
    let counted = |(_, findings): &Callee<'_>| {
        let counts = findings.iter().map(|finding| more_failures(finding));
        counts.collect::<Option<Vec<f64>>>().map(|all| all.into_iter().fold(0.0, f64::max))
    };
    callees.retain(|callee| counted(callee).is_none_or(|count| count >= ERROR_SHARE * own));
}

/// How many more failures than usual a metric counts in a step.
fn more_failures(finding: &Finding) -> Option<f64> {
    let counts = finding.kind == EvidenceKind::Metric && finding.signal == Signal::Errors;
    let quantity =
        finding.quantity.as_ref().filter(|quantity| counts && quantity.unit != "ratio")?;
    Some(quantity.observed - quantity.baseline?)
}

/// The share of failed requests that a finding measures.
fn error_ratio(finding: &Finding) -> Option<f64> {
    let ratio = finding.quantity.as_ref().filter(|quantity| quantity.unit == "ratio")?;
    (finding.signal == Signal::Errors).then_some(ratio.observed)
}

/// The most that calls to a callee take longer than before.
fn added_time((_, findings): &Callee<'_>) -> f64 {
    let slow = findings.iter().filter(|finding| finding.signal == Signal::Latency);
    let added = slow.filter_map(|finding| {
        let quantity = finding.quantity.as_ref()?;
        Some(quantity.observed - quantity.baseline?)
    });
    added.fold(0.0, f64::max)
}
