//! Wording that is used in more than one place: times, findings, causes, endings, costs.
//!
//! Texts from telemetry come through as they are; [`clean`](crate::clean::clean) makes them
//! harmless.

mod fork;
mod recovery;

use std::fmt::Display;

use eog_core::belief::ClaimEdge;
use eog_core::contract::Alternative;
use eog_core::controller::ChangeCause;
use eog_core::diagnosis::{
    Confidence, Doubt, OriginGroup, Ranked, RuledOut, SharedChange, Unnamed,
};
use eog_core::evidence::{EvidenceTime, Verdict};
use eog_core::incident::Unusable;
use eog_core::ledger::Refusal;
use eog_core::{
    BudgetKind, Conclusion, Diagnosis, EntityId, EvidenceKind, Finding, Label, Spent, Timestamp,
    Window,
};

use crate::clean::clean_to;

pub use self::fork::fork;
pub use self::recovery::prediction;

/// Entities shown as next suspects.
const MAX_NEXT: usize = 5;
/// Characters of what was found of each.
const MAX_SUSPECT: usize = 140;

/// `1 alert`, `2 alerts`.
///
/// ```
/// use eog_report::words::count;
/// assert_eq!(count(1_u64, "alert", "alerts"), "1 alert");
/// assert_eq!(count(0_usize, "entity", "entities"), "0 entities");
/// ```
pub fn count<N: Copy + Display + PartialEq + From<u8>>(number: N, one: &str, many: &str) -> String {
    let noun = if number == N::from(1) { one } else { many };
    format!("{number} {noun}")
}

/// Entities by name, separated by commas.
pub fn list<'e>(entities: impl IntoIterator<Item = &'e EntityId>) -> String {
    entities.into_iter().map(EntityId::as_str).collect::<Vec<_>>().join(", ")
}

/// How much of a source could not be used, and why.
///
/// ```
/// use eog_core::incident::Unusable;
/// use eog_report::words::unusable;
/// let reason = "line 2, column time: \"yesterday\" is not like 2026-01-01T10:00:00Z";
/// let metrics = Unusable {
///     source: "metrics.csv".into(),
///     records: 400,
///     unusable: 3,
///     reason: reason.into(),
/// };
/// let share = "metrics.csv: 3 of 400 records (below 1 %) could not be used";
/// assert_eq!(unusable(&metrics), format!("{share}: {reason}"));
/// ```
pub fn unusable(of: &Unusable) -> String {
    let Unusable { source, records, unusable, reason } = of;
    let percent = match u128::from(*unusable) * 100 / u128::from(*records).max(1) {
        0 => "below 1".to_owned(),
        percent => percent.to_string(),
    };
    let records = count(*records, "record", "records");
    format!("{source}: {unusable} of {records} ({percent} %) could not be used: {reason}")
}

/// An instant to the second, in UTC.
pub fn instant(at: Timestamp) -> String {
    at.strftime("%Y-%m-%d %H:%M:%SZ").to_string()
}

/// A window; the date is said once when it is the same.
pub fn window(window: &Window) -> String {
    let end =
        if window.start().strftime("%F").to_string() == window.end().strftime("%F").to_string() {
            window.end().strftime("%H:%M:%SZ").to_string()
        } else {
            instant(window.end())
        };
    format!("{} to {end}", instant(window.start()))
}

/// When a finding holds.
pub fn time(time: &EvidenceTime) -> String {
    match time {
        EvidenceTime::At(at) => instant(*at),
        EvidenceTime::During(during) => window(during),
    }
}

/// A finding in one line: for a change the values before and after, else its excerpt.
pub fn finding(finding: &Finding) -> String {
    match &finding.change {
        Some(change) if finding.kind == EvidenceKind::Change => {
            let old = change.old.as_deref().unwrap_or("(absent)");
            let new = change.new.as_deref().unwrap_or("(removed)");
            format!("{} changed from {old} to {new}", change.path)
        }
        _ => match finding.verdict() {
            Some(Verdict::Cause) => {
                format!("operator input, the cause: {}", finding.excerpt)
            }
            Some(Verdict::NotCause) => {
                format!("operator input, not the cause: {}", finding.excerpt)
            }
            None => finding.excerpt.clone(),
        },
    }
}

/// The query that gives a finding again, with its source in front unless it says so itself.
pub fn query(source: &str, query: &str) -> String {
    if query.starts_with(source) { query.to_owned() } else { format!("{source}: {query}") }
}

/// Thousandths of natural log-odds, as a weight with its sign: `+1.4`.
pub fn log_odds(thousandths: i32) -> String {
    format!("{:+.1}", f64::from(thousandths) / 1e3)
}

/// How strongly evidence speaks for a suspect, for a list of several.
pub fn score(ranked: &Ranked) -> String {
    match (ranked.probability, ranked.score.log_odds) {
        (Some(probability), Some(log_odds)) => {
            format!("{}, log-odds {}", percent(probability), self::log_odds(log_odds))
        }
        (_, Some(log_odds)) => format!("log-odds {}", self::log_odds(log_odds)),
        (_, None) => format!("score {}", ranked.score.total()),
    }
}

/// A probability in thousandths: `37 %`.
pub fn percent(thousandths: u16) -> String {
    format!("{} %", (u32::from(thousandths) + 5) / 10)
}

/// How sure a group of origins is: `highly likely, 93 %`. The probability of a confirmed group is left out.
pub fn confidence(group: &OriginGroup) -> String {
    let open = if group.open_changes.is_empty() { "" } else { "; which of its changes is open" };
    match group.probability.filter(|_| group.confidence != Confidence::Confirmed) {
        Some(probability) => format!("{}, {}{open}", group.confidence, percent(probability)),
        None => format!("{}{open}", group.confidence),
    }
}

/// States that no origin was found, and whether anything is wrong at all.
pub fn inconclusive(diagnosis: &Diagnosis) -> &'static str {
    match diagnosis.is_quiet() {
        true => {
            "nothing is wrong by what was measured: no entity with an alert does worse than usual"
        }
        false => "no origin was found that explains an alert",
    }
}

/// That a cause is one change in several places, in one line; nothing where it is not.
pub fn shared_change(group: &OriginGroup) -> Option<String> {
    let SharedChange { what, places, first, last } = group.shared_change.as_ref()?;
    let when = Window::new(*first, *last).map_or_else(|_| instant(*first), |it| window(&it));
    Some(format!("one change in {} places, {when}: {what}", places.len()))
}

/// The meaning of a label for its entity: `is a symptom`.
pub fn said_of(label: Label) -> &'static str {
    match label {
        Label::Healthy => "is healthy",
        Label::Symptom => "is a symptom",
        Label::Origin => "is an origin",
        Label::Defer => "was deferred",
    }
}

/// States that there are no candidates although no origin was found: every evaluated entity is
/// healthy.
pub fn no_candidates(diagnosis: &Diagnosis) -> String {
    match diagnosis.conclusion.ranking.len() {
        0 => "There are no candidates.".to_owned(),
        1 => "There are no candidates: the only evaluated entity is healthy.".to_owned(),
        2 => "There are no candidates: both evaluated entities are healthy.".to_owned(),
        judged => {
            format!("There are no candidates: all {judged} evaluated entities are healthy.")
        }
    }
}

/// The next suspects, should the named causes be wrong: the first few, each with what was found. Empty if every cause
/// is confirmed.
pub fn next_suspects(diagnosis: &Diagnosis) -> Vec<String> {
    let is_open = diagnosis.conclusion.confidence != Confidence::Confirmed;
    let next = diagnosis.next_suspects().filter(|_| is_open).take(MAX_NEXT);
    let suspects = next.filter_map(|ranked| {
        let belief = diagnosis.belief(&ranked.entity)?;
        let score = score(ranked);
        Some(clean_to(&format!("{} ({score}): {}", ranked.entity, belief.summary), MAX_SUSPECT))
    });
    suspects.collect()
}

/// The heading of a group of the frontier: groups outside the smallest cover are not
/// shown as if they were needed.
pub fn cause(conclusion: &Conclusion, group: &OriginGroup) -> &'static str {
    let position = conclusion.frontier.iter().position(|other| other == group);
    let is_outside = group.doubts.iter().any(|it| matches!(it, Doubt::OutsideOfTopology { .. }));
    match (position.is_some_and(|p| conclusion.cover.contains(&p)), group.mutual) {
        (true, false) if is_outside => "Root cause outside of the topology",
        (false, false) if is_outside => "Also possible, outside of the topology",
        (true, false) => "Root cause",
        (true, true) => "Root causes that explain each other",
        (false, false) => "Also possible",
        (false, true) => "Also possible, explaining each other",
    }
}

/// Why a change on record is not named.
pub fn ruled_out(reason: &RuledOut) -> String {
    match reason {
        RuledOut::AfterHarm { entity, harm } => {
            format!("made after the harm began on {entity} at {harm}")
        }
        RuledOut::AnotherFits { change } => {
            format!("another change of the same entity fits the onset better ({change})")
        }
        RuledOut::NeverLookedAt => "not evaluated".to_owned(),
        RuledOut::Lost { rule, why } => match rule {
            Some(rule) => format!("considered as {rule} and rejected: {why}"),
            None => format!("considered and rejected: {why}"),
        },
        RuledOut::FitsAsWell => {
            "fits as well as the change that is cited: reverting one of them would decide"
                .to_owned()
        }
        RuledOut::Uncited => "named for other evidence".to_owned(),
        RuledOut::ReachesNothing => "its effects reach no alert".to_owned(),
        RuledOut::ChangedTooOften => "its label changed too often".to_owned(),
        RuledOut::Outweighed => "others with stronger evidence explain the same alerts".to_owned(),
        RuledOut::Derived => "another origin explains it".to_owned(),
        RuledOut::Judged { label, summary } => format!("judged {label}: {summary}"),
        _ => "not named".to_owned(),
    }
}

/// Another explanation that a policy left open for an entity, without its cause there.
pub fn alternative(entity: &EntityId, other: &Alternative) -> String {
    let Alternative { summary, lost, .. } = other;
    let summary = summary.trim_end_matches('.');
    let against = if lost.is_empty() { String::new() } else { format!("; against it: {lost}") };
    format!("instead of {entity}: {summary}{against}")
}

/// Why an entity with severe evidence is not named.
pub fn unnamed(unnamed: &Unnamed) -> String {
    let Unnamed { label, rule, summary, lost, .. } = unnamed;
    let by = rule.as_ref().map(|rule| format!(" by {rule}")).unwrap_or_default();
    // The summary of a rule begins with its name.
    let named = rule.as_ref().and_then(|rule| summary.strip_prefix(rule)?.strip_prefix(": "));
    let summary = named.unwrap_or(summary);
    let mut words = format!("judged {label}{by}: {summary}");
    for lost in lost.iter().take(1) {
        let rule = lost.rule.as_deref().unwrap_or("an origin");
        words.push_str(&format!("; considered as {rule} and rejected: {}", lost.lost));
    }
    words
}

/// A refusal that the author of a policy should see. Proposals of entities that were visited or
/// wait already are common.
pub fn refusal(refusal: &Refusal) -> Option<String> {
    let edge = |edge: &ClaimEdge| format!("{} explains {}", edge.cause, edge.effect);
    Some(match refusal {
        Refusal::OriginWithoutLocalEvidence => {
            "labelled origin without citing evidence of its own; recorded as defer".to_owned()
        }
        Refusal::TextCut => "a text longer than 2,000 characters was truncated".to_owned(),
        Refusal::UnknownEvidence(id) => format!("evidence {id} is unknown; ignored"),
        Refusal::ClaimWithoutEvidence(claim) => {
            format!("claim \"{}\" cites no known evidence; ignored", edge(claim))
        }
        Refusal::ClaimBetweenOthers(claim) => {
            format!("claim \"{}\" is about two other entities; ignored", edge(claim))
        }
        Refusal::ClaimOnItself(claim) => {
            format!("claim \"{}\" explains an entity by itself; ignored", edge(claim))
        }
        Refusal::ClaimOnUnknownEntity(claim) => {
            format!("claim \"{}\" names an unknown entity; ignored", edge(claim))
        }
        Refusal::ClaimAgainstTime(claim) => {
            format!("claim \"{}\" has its effect before its cause; ignored", edge(claim))
        }
        Refusal::ClaimBeyondEntityCap(claim) => {
            format!("claim \"{}\" would exceed the limit of entities; ignored", edge(claim))
        }
        Refusal::ProposalUnknown(entity) => {
            format!("the proposed entity {entity} is unknown; ignored")
        }
        _ => return None,
    })
}

/// What an evaluation changed.
pub fn change(change: Option<ChangeCause>) -> &'static str {
    match change {
        Some(ChangeCause::First) => "first belief",
        Some(ChangeCause::Signature) => "belief changed",
        Some(ChangeCause::NewEvidence) => "new evidence cited",
        Some(ChangeCause::Measures) => "weights changed",
        Some(ChangeCause::Text) => "wording changed",
        None => "unchanged",
    }
}

/// The name of a budget.
pub fn budget(which: BudgetKind) -> String {
    format!("{which} budget")
}

/// The cost of an investigation.
pub fn spent(spent: &Spent) -> String {
    let mut parts = vec![
        count(spent.evaluations, "evaluation", "evaluations"),
        count(spent.hops, "policy call", "policy calls"),
    ];
    if spent.remembered > 0 {
        parts.push(format!("{} answered from memory", spent.remembered));
    }
    if spent.failures > 0 {
        parts.push(count(spent.failures, "failure", "failures"));
    }
    let usage = &spent.usage;
    if usage.model_calls > 0 {
        parts.push(count(usage.model_calls, "model call", "model calls"));
    }
    if usage.tokens_in > 0 || usage.tokens_out > 0 {
        parts.push(format!("{} tokens in, {} out", usage.tokens_in, usage.tokens_out));
    }
    if usage.cost_micro_usd > 0 {
        parts.push(money(usage.cost_micro_usd));
    }
    parts.join(", ")
}

/// Millionths of a US dollar as dollars, to the hundredth of a cent, rounded up.
pub fn money(micro_usd: u64) -> String {
    let parts = micro_usd.div_ceil(100);
    format!("{}.{:04} USD", parts / 10_000, parts % 10_000)
}

#[cfg(test)]
mod tests {
    use eog_core::{EntityId, Label};

    use super::*;

    #[test]
    fn an_alternative_says_what_speaks_against_it() {
        let web = EntityId::new("web").unwrap();
        let mut other = Alternative {
            label: Label::Symptom,
            rule: None,
            cause: Some(EntityId::new("db").unwrap()),
            summary: "It answers late.".into(),
            lost: "Its latency is as usual.".into(),
            evidence: Vec::new(),
        };
        let words = "instead of web: It answers late; against it: Its latency is as usual.";
        assert_eq!(alternative(&web, &other), words);
        (other.cause, other.lost) = (None, String::new());
        assert_eq!(alternative(&web, &other), "instead of web: It answers late");
    }

    #[test]
    fn the_rule_that_judged_is_named_once() {
        let line = |rule: Option<&str>, summary: &str| {
            unnamed(&Unnamed {
                entity: EntityId::new("db").unwrap(),
                label: Label::Symptom,
                rule: rule.map(str::to_owned),
                summary: summary.to_owned(),
                lost: Vec::new(),
            })
        };
        for (rule, summary, words) in [
            (Some("own failure"), "own failure: it stopped", "by own failure: it stopped"),
            (Some("own failure"), "own failures: two", "by own failure: own failures: two"),
            (Some("own failure"), "it stopped", "by own failure: it stopped"),
            (None, "own failure: it stopped", "own failure: it stopped"),
        ] {
            let by = if rule.is_some() { " " } else { ": " };
            assert_eq!(line(rule, summary), format!("judged symptom{by}{words}"));
        }
    }

    #[test]
    fn money_is_never_rounded_down() {
        for (micro_usd, words) in [
            (1, "0.0001 USD"),
            (250, "0.0003 USD"),
            (1_234_500, "1.2345 USD"),
            (u64::MAX, "18446744073709.5517 USD"),
        ] {
            assert_eq!(money(micro_usd), words);
        }
    }
}
