//! Ledgers as text: one line per entry, for test output.

use eog::controller::{ActivationRecord, ChangeCause, EntryBody, Evaluation, Outcome};
use eog::ledger::{Observation, Opened, RecordedAnswer};
use eog::{Claim, EntityId, Entry, EvidenceId, Ledger};

/// Longest excerpt of free text in a line, in characters.
const MAX_TEXT: usize = 80;

/// A ledger as text, one line per entry, without hashes.
///
/// The form is for people and may change; a test that wants to compare a run against a stored
/// text can, within one version.
///
/// ```
/// use eog::Config;
/// use eog_testkit::{MemoryContext, healthy, policy_fn, render, run, seeded, topology};
/// let case = seeded(topology("S1 calls S2"), ["S1"]);
/// let run = run(Config::default(), case, &MemoryContext::default(), &policy_fn(healthy));
/// assert_eq!(
///     render(run.ledger()),
///     "#0 opened: 2 entities, 1 edges, 0 alerts, starts at S1\n\
///      #1 S1 visit 1 (Seed #0): healthy \"S1 operates normally\" | changed: first | notified S2 | \
///      warned Uncited\n"
/// );
/// ```
pub fn render(ledger: &Ledger) -> String {
    ledger.entries().iter().map(|entry| render_entry(entry) + "\n").collect()
}

/// One entry as one line, without a line end.
pub fn render_entry(entry: &Entry) -> String {
    let body = match &entry.body {
        EntryBody::Opened(opened) => self::opened(opened),
        EntryBody::Evaluated(evaluation) => evaluated(evaluation),
        EntryBody::Observed(observed) => {
            let mut parts = vec![format!("observed: {}", observation(&observed.observation))];
            parts.extend(activations(&observed.activations));
            parts.join(" | ")
        }
        EntryBody::Halted(cause) => format!("halted: {cause:?}").to_lowercase(),
        EntryBody::Resumed => "resumed".to_owned(),
        EntryBody::Forked(forked) => match &forked.changes.policy {
            Some(policy) => format!("forked: {policy} judges from here on"),
            None => "forked".to_owned(),
        },
        other => format!("{other:?}"),
    };
    format!("#{} {body}", entry.seq)
}

fn opened(opened: &Opened) -> String {
    let case = &opened.case;
    format!(
        "opened: {} entities, {} edges, {} alerts, starts at {}",
        case.topology.entities().len(),
        case.topology.edges().len(),
        case.anomalies.len(),
        names(case.seeds.iter().map(|seed| &seed.entity))
    )
}

fn evaluated(evaluation: &Evaluation) -> String {
    let Evaluation { entity, visit, reason, activated_by, outcome, .. } = evaluation;
    let mut parts = vec![format!(
        "{entity} visit {visit} ({reason} #{activated_by}): {} {}",
        outcome.belief.label,
        quoted(&outcome.belief.summary)
    )];
    match &evaluation.answer {
        RecordedAnswer::Decided(_) => {}
        RecordedAnswer::Remembered { entry } => parts.push(format!("remembered from #{entry}")),
        RecordedAnswer::Failed(failure) => {
            parts.push(format!("failed: {}", quoted(&failure.to_string())));
        }
    }
    parts.extend(self::outcome(outcome));
    if !evaluation.refusals.is_empty() {
        parts.push(format!("refused {}", debug_list(&evaluation.refusals)));
    }
    if !evaluation.warnings.is_empty() {
        parts.push(format!("warned {}", debug_list(&evaluation.warnings)));
    }
    parts.extend(activations(&evaluation.activations));
    parts.join(" | ")
}

fn outcome(outcome: &Outcome) -> Vec<String> {
    let mut parts = Vec::new();
    let belief = &outcome.belief;
    if !belief.claims.is_empty() {
        let claims: Vec<String> = belief.claims.iter().map(claim).collect();
        parts.push(format!("claims {}", claims.join(", ")));
    }
    if !belief.evidence.is_empty() {
        let ids: Vec<&str> = belief.evidence.iter().map(EvidenceId::as_str).collect();
        parts.push(format!("cites {}", ids.join(", ")));
    }
    if let Some(change) = outcome.change {
        parts.push(format!("changed: {}", cause(change)));
    }
    if outcome.flips > 0 {
        parts.push(format!("flips {}", outcome.flips));
    }
    if outcome.damped {
        parts.push("damped".to_owned());
    }
    if outcome.stale {
        parts.push("stale".to_owned());
    }
    if !outcome.broadcast_to.is_empty() {
        parts.push(format!("notified {}", names(&outcome.broadcast_to)));
    }
    parts
}

fn activations(records: &[ActivationRecord]) -> Option<String> {
    let shown: Vec<String> = records
        .iter()
        .map(|record| match record.refused {
            None => format!("{} ({})", record.entity, record.reason),
            Some(refused) => format!("not {} ({}: {refused:?})", record.entity, record.reason),
        })
        .collect();
    (!shown.is_empty()).then(|| format!("activates {}", shown.join(", ")))
}

fn observation(observation: &Observation) -> String {
    match observation {
        Observation::Anomaly(anomaly) => {
            format!("alert {} on {} at {}", anomaly.name, anomaly.entity, anomaly.onset)
        }
        Observation::EdgeAdded(edge) => {
            format!("new edge {} {} {}", edge.source, edge.relation, edge.target)
        }
        Observation::EdgeRemoved(edge) => {
            format!("removed edge {} {} {}", edge.source, edge.relation, edge.target)
        }
        Observation::NewEvidence(entity) => format!("new evidence on {entity}"),
        other => format!("{other:?}"),
    }
}

fn claim(claim: &Claim) -> String {
    format!("{} → {}", claim.cause, claim.effect)
}

fn cause(change: ChangeCause) -> &'static str {
    match change {
        ChangeCause::First => "first",
        ChangeCause::Signature => "signature",
        ChangeCause::NewEvidence => "new evidence",
        ChangeCause::Measures => "numbers",
        ChangeCause::Text => "text",
    }
}

fn names<'a>(entities: impl IntoIterator<Item = &'a EntityId>) -> String {
    let names: Vec<&str> = entities.into_iter().map(EntityId::as_str).collect();
    names.join(", ")
}

fn debug_list(items: &[impl std::fmt::Debug]) -> String {
    let shown: Vec<String> = items.iter().map(|item| format!("{item:?}")).collect();
    shown.join(", ")
}

/// Free text in quotes: on one line, and not too long.
fn quoted(text: &str) -> String {
    let mut short: String = text.chars().take(MAX_TEXT).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    format!("{short:?}")
}
