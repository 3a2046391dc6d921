//! The parts of the page that are text: they can be read, printed and searched without a script.

use std::collections::BTreeSet;

use eog_core::diagnosis::OriginGroup;
use eog_core::{Confidence, Diagnosis, EntityId, EvidenceKind, StopReason};
use eog_report::clean::clean_up_to;
use eog_report::{Author, Report, Role, Step, words};
use serde::Serialize;

use crate::Charts;
use crate::data::{Findings, cited};
use crate::texts::{MAX_TEXT, kind};

/// Names of a list that can be long.
const MAX_NAMES: usize = 40;
/// Rows of a table that can be long.
const MAX_ROWS: usize = 1_000;
/// Rows of evidence.
const MAX_EVIDENCE: usize = 5_000;

/// What the template writes.
#[derive(Serialize)]
pub(crate) struct Sections {
    name: String,
    about: String,
    confidence: String,
    verdict: String,
    against: Vec<String>,
    told: Option<Told>,
    causes: Vec<Cause>,
    ranking: Vec<Suspect>,
    /// What would show that the causes that are named are the causes.
    sure: Vec<String>,
    /// Whom to look at next, should the causes that are named not be it.
    next: Vec<String>,
    /// Closed incidents like it.
    similar: Vec<String>,
    /// Why the ranking is empty although no origin was found.
    no_candidates: String,
    charts_note: String,
    has_charts: bool,
    considered: Vec<Lost>,
    considered_more: usize,
    alerts: Vec<Alerted>,
    unlooked: Vec<String>,
    coverage: Vec<Covered>,
    notes: Vec<String>,
    evidence: Vec<Evidence>,
    evidence_more: usize,
    /// Whether there is so much evidence that rows out of sight are not laid out.
    many: bool,
    cost: Vec<String>,
    steps: usize,
}

#[derive(Serialize)]
struct Told {
    by: String,
    text: String,
}

#[derive(Serialize)]
struct Cause {
    heading: String,
    confidence: String,
    entities: String,
    why: Vec<String>,
    /// The largest weights of evidence, in words.
    weights: Vec<String>,
    evidence: Vec<Link>,
}

#[derive(Serialize)]
struct Link {
    row: u32,
    id: String,
    when: String,
    text: String,
}

#[derive(Serialize)]
struct Suspect {
    entity: String,
    score: String,
}

#[derive(Serialize)]
struct Lost {
    what: String,
    change: String,
    when: String,
    why: String,
}

#[derive(Serialize)]
struct Alerted {
    name: String,
    entity: String,
    since: String,
    by: String,
    explained: bool,
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
    let (considered, considered_more) = considered(report);
    let (evidence, evidence_more) = evidence(report);
    Sections {
        name: shown(&report.name),
        about: about(report),
        confidence: diagnosis.conclusion.confidence.to_string(),
        verdict: verdict(report),
        against: against(report),
        told: told(report),
        causes: diagnosis.causes().map(|group| cause(report, group, findings)).collect(),
        ranking: ranking(diagnosis),
        sure: report.predictions().iter().take(MAX_NAMES).map(|line| shown(line)).collect(),
        next: words::next_suspects(diagnosis).iter().map(|next| shown(next)).collect(),
        similar: report.similar_in_words().map(|line| shown(&line)).collect(),
        no_candidates: no_candidates(diagnosis),
        charts_note: charts_note(charts),
        has_charts: matches!(charts, Charts::Read { charts, .. } if !charts.is_empty()),
        considered,
        considered_more,
        alerts: alerts(report),
        unlooked: unlooked(report, steps),
        coverage: coverage(diagnosis),
        notes: report.notes().iter().take(MAX_ROWS).map(|note| shown(note)).collect(),
        many: evidence.len() > 200,
        evidence,
        evidence_more,
        cost: cost(report),
        steps: steps.len(),
    }
}

/// Untrusted text on one line, cut. The template escapes markup beyond that.
fn shown(text: &str) -> String {
    clean_up_to(text, MAX_TEXT)
}

fn about(report: &Report) -> String {
    let Diagnosis { topology, anomalies, window, forks, .. } = &report.diagnosis;
    let mut about = format!(
        "{}, {}, window {}",
        words::count(topology.entities().len(), "entity", "entities"),
        words::count(anomalies.len(), "alert", "alerts"),
        words::window(window)
    );
    for fork in forks {
        about.push_str(&format!("; forked {}", words::fork(fork)));
    }
    shown(&about)
}

/// The result in one sentence.
fn verdict(report: &Report) -> String {
    let diagnosis = &report.diagnosis;
    let needed = |group: &&OriginGroup| is_needed(diagnosis, group);
    let named: Vec<String> =
        diagnosis.causes().filter(needed).map(|it| named(report, it)).collect();
    if named.is_empty() {
        let first = diagnosis.candidates().next();
        let suspect =
            first.map_or_else(String::new, |first| format!("; the best guess is {}", first.entity));
        let words = words::inconclusive(diagnosis);
        return shown(&format!("Inconclusive: {words}{suspect}."));
    }
    let explained = report.alerts().iter().filter(|alert| !alert.explained_by.is_empty()).count();
    let all = words::count(diagnosis.anomalies.len(), "alert", "alerts");
    let explains = match (explained, diagnosis.anomalies.len()) {
        (1, 1) => "the alert".to_owned(),
        (2, 2) => "both alerts".to_owned(),
        (some, many) if some == many => format!("all {all}"),
        (some, _) => format!("{some} of {all}"),
    };
    let confidence = diagnosis.conclusion.confidence;
    let what = if named.len() == 1 { "root cause" } else { "root causes" };
    let text = format!("{confidence} {what}: {}; this explains {explains}.", named.join("; and "));
    let mut letters = text.chars();
    let first = letters.next().map(|first| first.to_uppercase().collect::<String>());
    shown(&(first.unwrap_or_default() + letters.as_str()))
}

fn is_needed(diagnosis: &Diagnosis, group: &OriginGroup) -> bool {
    let conclusion = &diagnosis.conclusion;
    let place = conclusion.frontier.iter().position(|other| other == group);
    place.is_some_and(|place| conclusion.cover.contains(&place))
}

fn named(report: &Report, group: &OriginGroup) -> String {
    let names = words::list(&group.origins);
    if let Some(shared) = words::shared_change(group) {
        return format!("{shared} ({names})");
    }
    let factors = report.narrative.entities.iter();
    let mut factors = factors.filter(|it| group.origins.contains(&it.name));
    match factors.find_map(|it| Some((it.what_changed.as_ref()?, it.when?))) {
        Some((what, when)) => format!("{names}, where {what} ({})", words::time(&when)),
        None => names,
    }
}

/// What speaks against the verdict, or limits what it rests on.
fn against(report: &Report) -> Vec<String> {
    let diagnosis = &report.diagnosis;
    let mut against: Vec<String> = Vec::new();
    for group in diagnosis.causes() {
        let names = words::list(&group.origins);
        against.extend(group.doubts.iter().map(|doubt| format!("{names}: {doubt}")));
    }
    let count =
        |number: usize, what: &str| format!("{} {what}", words::count(number, "alert", "alerts"));
    let conclusion = &diagnosis.conclusion;
    if !conclusion.unexplained.is_empty() {
        against
            .push(count(conclusion.unexplained.len(), "not explained by any cause that was found"));
    }
    if !conclusion.unexplained_onsets.is_empty() {
        let onsets = words::count(conclusion.unexplained_onsets.len(), "onset", "onsets");
        against.push(format!("{onsets} of alerts not explained"));
    }
    if report.is_running {
        against.push("still running; this is the result so far".to_owned());
    } else if !matches!(report.stop, StopReason::Converged { .. }) {
        against.push(report.stop.to_string());
    }
    let failures = diagnosis.failures.len();
    if failures > 0 {
        against.push(format!("{} failed", words::count(failures, "evaluation", "evaluations")));
    }
    against.extend(report.unusable());
    against.extend(
        report.weights_against().map(|(entity, it)| format!("{entity}: {}", it.in_words())),
    );
    against.iter().take(MAX_NAMES).map(|line| shown(line)).collect()
}

fn told(report: &Report) -> Option<Told> {
    let (by, text) = match &report.narrative.author {
        Author::Rules => return None,
        Author::Model { name } => (format!("Summary by {name}"), &report.narrative.summary),
        Author::RulesAfterFailure { failure } => ("No summary by a model".to_owned(), failure),
    };
    Some(Told { by: shown(&by), text: clean_up_to(text, 4 * MAX_TEXT) })
}

fn cause(report: &Report, group: &OriginGroup, findings: &Findings) -> Cause {
    let diagnosis = &report.diagnosis;
    let beliefs = || group.origins.iter().filter_map(|origin| diagnosis.belief(origin));
    let cited = beliefs().flat_map(|belief| diagnosis.cited(belief));
    let evidence = cited.filter_map(|finding| {
        Some(Link {
            row: findings.place(finding.id())?,
            id: finding.id().to_string(),
            when: words::time(&finding.time),
            text: shown(&words::finding(finding)),
        })
    });
    let weights = group.origins.iter().flat_map(|origin| report.weights(origin));
    Cause {
        heading: report.heading(group).to_owned(),
        confidence: words::confidence(group),
        entities: shown(&words::list(&group.origins)),
        why: words::shared_change(group)
            .into_iter()
            .chain(beliefs().map(|belief| belief.summary.clone()))
            .map(|line| shown(&line))
            .collect(),
        weights: weights.map(|weight| shown(&weight.in_words())).collect(),
        evidence: evidence.take(MAX_NAMES).collect(),
    }
}

/// Whom most speaks for, where nothing was found.
fn ranking(diagnosis: &Diagnosis) -> Vec<Suspect> {
    if diagnosis.conclusion.confidence != Confidence::Inconclusive {
        return Vec::new();
    }
    let ranked = diagnosis.candidates().take(10);
    ranked
        .map(|ranked| Suspect {
            entity: shown(ranked.entity.as_str()),
            score: words::score(ranked),
        })
        .collect()
}

/// That there are no candidates, where an origin is missing.
fn no_candidates(diagnosis: &Diagnosis) -> String {
    match diagnosis.is_diagnosed() || diagnosis.candidates().next().is_some() {
        true => String::new(),
        false => words::no_candidates(diagnosis),
    }
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

/// What was considered and is not named, and how many more there are.
fn considered(report: &Report) -> (Vec<Lost>, usize) {
    let diagnosis = &report.diagnosis;
    let alternatives = report.alternatives().map(|(entity, it)| Lost {
        what: shown(it.cause.as_ref().map_or("", EntityId::as_str)),
        change: String::new(),
        when: String::new(),
        why: shown(&words::alternative(entity, it)),
    });
    let told: BTreeSet<&EntityId> =
        diagnosis.considered.iter().map(|it| &it.change.entity).collect();
    let changes = diagnosis.considered.iter().map(|it| Lost {
        what: shown(it.change.entity.as_str()),
        change: shown(&it.change.what),
        when: it.change.made.to_string(),
        why: shown(&words::ruled_out(&it.reason)),
    });
    let others = diagnosis.unnamed.iter().filter(|it| !told.contains(&it.entity)).map(|it| {
        let line = words::unnamed(it);
        let name = it.entity.as_str();
        let why = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&line);
        Lost { what: shown(name), change: String::new(), when: String::new(), why: shown(why) }
    });
    let mut all: Vec<Lost> = alternatives.chain(changes).chain(others).collect();
    let more = all.len().saturating_sub(MAX_ROWS);
    all.truncate(MAX_ROWS);
    (all, more)
}

fn alerts(report: &Report) -> Vec<Alerted> {
    let alerts = report.alerts();
    let row = |alert: &eog_report::Alert<'_>| {
        let mut by = words::list(alert.explained_by.iter().copied());
        if alert.began_before {
            by.push_str("; its earlier onset is not explained");
        }
        Alerted {
            name: shown(&alert.anomaly.name),
            entity: shown(alert.anomaly.entity.as_str()),
            since: words::instant(alert.anomaly.onset),
            explained: !alert.explained_by.is_empty(),
            by: shown(&by),
        }
    };
    alerts.iter().take(MAX_ROWS).map(row).collect()
}

/// Entities that were not evaluated, and evidence that was missing.
fn unlooked(report: &Report, steps: &[Step]) -> Vec<String> {
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
    lines.extend(report.narrative.left_out.iter().map(|line| shown(line)));
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

/// Of how many of those that were looked at there is which kind of evidence.
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

fn cost(report: &Report) -> Vec<String> {
    let mut lines = vec![report.cost()];
    lines.extend(report.run.and_then(|run| run.in_words()));
    if let Some(policy) = &report.diagnosis.policy {
        lines.push(format!("policy: {policy}"));
    }
    lines.iter().map(|line| shown(line)).collect()
}
