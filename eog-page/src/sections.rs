//! The parts of the page that are text: they can be read, printed and searched without a script.

mod part;

use std::collections::BTreeSet;

use eog_core::{Diagnosis, EntityId, EvidenceKind};
use eog_report::clean::clean_up_to;
use eog_report::document::{Document, Place};
use eog_report::{Report, Role, Step, document, narrate, words};
use serde::Serialize;

use crate::Charts;
use crate::data::{Findings, cited};
use crate::texts::{MAX_TEXT, kind};
use part::Part;

/// Names of a list that can be long.
pub(super) const MAX_NAMES: usize = 40;
/// Most rows of evidence.
const MAX_EVIDENCE: usize = 5_000;

/// The data of the template.
#[derive(Serialize)]
pub(crate) struct Sections {
    name: String,
    about: Vec<String>,
    confidence: String,
    verdict: String,
    verdict_parts: Vec<Part>,
    hypotheses: Vec<Part>,
    gaps: Vec<Part>,
    charts_note: String,
    has_charts: bool,
    not_evaluated: Vec<String>,
    coverage: Vec<Covered>,
    evidence: Vec<Evidence>,
    evidence_more: usize,
    /// Whether there is so much evidence that rows out of sight are not laid out.
    many: bool,
    cost: Vec<String>,
    steps: usize,
}

#[derive(Serialize)]
struct Covered {
    kind: &'static str,
    entities: usize,
    of: usize,
}

#[derive(Serialize)]
struct Evidence {
    row: usize,
    id: String,
    kind: &'static str,
    entity: String,
    when: String,
    text: String,
    query: String,
}

/// All sections of a report.
pub(crate) fn sections(
    report: &Report,
    steps: &[Step],
    charts: &Charts,
    findings: &Findings,
) -> Sections {
    let diagnosis = &report.diagnosis;
    let document = document(report);
    let (evidence, evidence_more) = evidence(report);
    let at = |place| part::parts(&document, place, findings);
    Sections {
        name: shown(document.name),
        about: document.about.iter().map(|line| shown(line)).collect(),
        confidence: diagnosis.conclusion.confidence.to_string(),
        verdict: shown(&narrate(diagnosis).summary),
        verdict_parts: at(Place::Verdict),
        hypotheses: at(Place::Hypotheses),
        gaps: at(Place::Gaps),
        charts_note: charts_note(charts),
        has_charts: matches!(charts, Charts::Read { charts, .. } if !charts.is_empty()),
        not_evaluated: not_evaluated(report, steps),
        coverage: coverage(diagnosis),
        many: evidence.len() > 200,
        evidence,
        evidence_more,
        cost: cost(&document, diagnosis),
        steps: steps.len(),
    }
}

/// Untrusted text on one line, cut. The template escapes markup beyond that.
pub(super) fn shown(text: &str) -> String {
    clean_up_to(text, MAX_TEXT)
}

fn charts_note(charts: &Charts) -> String {
    match charts {
        Charts::NoSource => {
            "No charts, because the page was written without the bundle or snapshot. eog report \
             LEDGER PATH --html FILE, where PATH is the bundle or snapshot, writes the page with \
             charts."
                .to_owned()
        }
        Charts::Read { charts, without: 0 } if charts.is_empty() => {
            "No finding cites a measured series.".to_owned()
        }
        Charts::Read { without: 0, .. } => String::new(),
        Charts::Read { without, .. } => {
            let measurements =
                words::count(*without, "cited measurement is", "cited measurements are");
            format!("{measurements} not drawn: no single series, or too many charts.")
        }
    }
}

/// Entities that were not evaluated, and evidence that was missing.
fn not_evaluated(report: &Report, steps: &[Step]) -> Vec<String> {
    let diagnosis = &report.diagnosis;
    let mut lines = Vec::new();
    let mut list = |what: &str, names: Vec<&EntityId>| {
        if names.is_empty() {
            return;
        }
        let more = match names.len().saturating_sub(MAX_NAMES) {
            0 => String::new(),
            more => format!(" and {more} more"),
        };
        let count = words::count(names.len(), "entity", "entities");
        let names = words::list(names.into_iter().take(MAX_NAMES));
        lines.push(clean_up_to(&format!("{count} {what}: {names}{more}"), 4 * MAX_TEXT));
    };
    let all = diagnosis.topology.entities();
    list(
        "not evaluated",
        all.filter(|entity| Role::of(diagnosis, entity) == Role::Unvisited).collect(),
    );
    let judged = || diagnosis.beliefs.keys();
    list(
        "evaluated without any evidence on record",
        judged().filter(|entity| diagnosis.judged_with(entity).next().is_none()).collect(),
    );
    let omitted: BTreeSet<String> = steps
        .iter()
        .filter_map(|step| Some((step.entity.as_ref()?, &step.omitted)))
        .flat_map(|(entity, omitted)| {
            omitted.iter().map(move |it| shown(&format!("{entity}: {it}")))
        })
        .collect();
    lines.extend(omitted.into_iter().take(MAX_NAMES));
    lines
}

/// Which kind of evidence exists for how many of the evaluated entities.
fn coverage(diagnosis: &Diagnosis) -> Vec<Covered> {
    let kinds = [
        ("changes", EvidenceKind::Change),
        ("alerts", EvidenceKind::Alert),
        ("metrics", EvidenceKind::Metric),
        ("traces", EvidenceKind::Span),
        ("logs", EvidenceKind::Log),
        ("events", EvidenceKind::Event),
    ];
    let of = diagnosis.beliefs.len();
    let covered = |(kind, wanted): (&'static str, EvidenceKind)| {
        let has = |entity: &&EntityId| diagnosis.judged_with(entity).any(|it| it.kind == wanted);
        Covered { kind, entities: diagnosis.beliefs.keys().filter(has).count(), of }
    };
    kinds.into_iter().map(covered).collect()
}

fn evidence(report: &Report) -> (Vec<Evidence>, usize) {
    let cited = cited(report);
    let more = cited.len().saturating_sub(MAX_EVIDENCE);
    let row = |(row, finding): (usize, &eog_core::Finding)| Evidence {
        row,
        id: finding.id().to_string(),
        kind: kind(finding.kind),
        entity: shown(finding.entity.as_str()),
        when: words::time(&finding.time),
        text: shown(&words::finding(finding)),
        query: shown(&report.query(finding)),
    };
    (cited.into_iter().take(MAX_EVIDENCE).enumerate().map(row).collect(), more)
}

fn cost(document: &Document<'_>, diagnosis: &Diagnosis) -> Vec<String> {
    let policy = diagnosis.policy.as_ref().map(|policy| format!("policy: {policy}"));
    document.cost.iter().cloned().chain(policy).map(|line| shown(&line)).collect()
}
