//! The case file: what stands out in an incident as a whole.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};

use eog_core::contract::{Coverage, Reach};
use eog_core::incident::CaseFile;
use eog_core::{
    Anomaly, Case, EntityId, EvidenceId, EvidenceKind, Finding, LocalContext, Timestamp,
};

use crate::incident::Incident;
use crate::policy::{Standout, standout};
use crate::signs::is_real_change;
use crate::text::counted;

/// Most alerts of a case file.
const MAX_ALERTS: usize = 30;

/// Most findings of each kind: changes, failures, deviations, lines, and what entities do to others.
const MAX_OF: [(Standout, usize, &str); 5] = [
    (Standout::Change, 16, "change"),
    (Standout::Failure, 12, "failure"),
    (Standout::Deviation, 20, "deviation"),
    (Standout::Lines, 10, "log pattern"),
    (Standout::Effect, 6, "effect"),
];

/// Most entities that are listed as silent.
const MAX_SILENT: usize = 20;

/// Most entities that are listed for findings that were left out.
const MAX_ELSEWHERE: usize = 20;

/// Most findings of one kind and one entity, changes apart.
const MAX_OF_ENTITY: usize = 3;

/// Draws up the case file of an incident from the first pages of contexts, each with its entity, of as many as there are at hand: the changes
/// nearest before the last alert, the strongest deviations, failures, new lines, each with or without a path to an alert.
/// Bounded, and the same for the same contexts in any order.
///
/// ```
/// use eog_core::{Anomaly, Case, Topology, Window};
/// use eog_evidence::{Incident, case_file};
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// assert!(case_file(&case, &Incident::default(), []).findings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn case_file(
    case: &Case,
    incident: &Incident,
    contexts: impl IntoIterator<Item = (EntityId, LocalContext)>,
) -> CaseFile {
    let last = case.anomalies.iter().flat_map(Anomaly::onsets).max();
    let mut found: BTreeMap<EvidenceId, (Standout, f64, Finding)> = BTreeMap::new();
    let mut recorded: BTreeSet<EvidenceKind> = BTreeSet::new();
    let mut add = |finding: Finding| {
        let Some((kind, strength)) = standout(&finding) else { return };
        let strength = match kind {
            // The later, the nearer to the last alert; what came after it explains none.
            Standout::Change if last.is_some_and(|last| finding.time.start() > last) => return,
            Standout::Change => finding.time.start().as_second() as f64,
            _ => strength,
        };
        found.entry(finding.id().clone()).or_insert((kind, strength, finding));
    };
    let changes = incident
        .changes
        .iter()
        .filter(|change| is_real_change(change) && !incident.consequences.contains(change.id()));
    changes.chain(&incident.failures).cloned().for_each(&mut add);
    let mut silent: BTreeSet<EntityId> = BTreeSet::new();
    for (entity, context) in contexts {
        if is_silent(&context) {
            silent.insert(entity);
        }
        recorded.extend(context.coverage.iter().flat_map(|coverage| coverage.own.iter().copied()));
        recorded.extend(context.findings.iter().map(|finding| finding.kind));
        context.findings.into_iter().for_each(&mut add);
    }
    let mut file = CaseFile::default();
    if silent.len() > MAX_SILENT {
        let more = silent.len() - MAX_SILENT;
        file.omitted.push(format!("{more} more of which nothing was recorded"));
    }
    file.silent = silent.into_iter().take(MAX_SILENT).collect();
    let mut elsewhere: Vec<EntityId> = Vec::new();
    for (kind, most, name) in MAX_OF {
        let mut of_kind: Vec<(f64, Finding)> = Vec::new();
        for (_, strength, finding) in found.values().filter(|(other, ..)| *other == kind) {
            of_kind.push((*strength, finding.clone()));
        }
        of_kind.sort_by(|(a, one), (b, other)| {
            b.total_cmp(a).then_with(|| (&one.entity, one.id()).cmp(&(&other.entity, other.id())))
        });
        let all = of_kind.len();
        let before = file.findings.len();
        let mut of_entity: BTreeMap<EntityId, usize> = BTreeMap::new();
        for (_, finding) in of_kind {
            let count = of_entity.entry(finding.entity.clone()).or_default();
            let fits = kind == Standout::Change || *count < MAX_OF_ENTITY;
            if fits && file.findings.len() < before + most {
                *count += 1;
                file.findings.push(finding);
            } else {
                elsewhere.push(finding.entity.clone());
            }
        }
        let left = all - (file.findings.len() - before);
        if left > 0 {
            file.omitted.push(format!("{}, weaker or earlier", counted(left, name)));
        }
    }
    let mut listed: BTreeSet<&EntityId> = file.findings.iter().map(|it| &it.entity).collect();
    let mut others: Vec<EntityId> = Vec::new();
    others.extend(elsewhere.iter().filter(|entity| listed.insert(entity)).cloned());
    if others.len() > MAX_ELSEWHERE {
        let more = others.len() - MAX_ELSEWHERE;
        file.omitted.push(format!("{more} more entities"));
        others.truncate(MAX_ELSEWHERE);
    }
    file.elsewhere = others;
    file.findings
        .sort_by_key(|finding| (began(finding), finding.entity.clone(), finding.id().clone()));
    let alerting: BTreeSet<&EntityId> = case.anomalies.iter().map(|alert| &alert.entity).collect();
    let entities: BTreeSet<&EntityId> = file.findings.iter().map(|it| &it.entity).collect();
    let hops = |entity: &EntityId| Reach::of(&case.topology, &alerting, entity).hops;
    file.hops = entities.into_iter().filter_map(|it| Some((it.clone(), hops(it)?))).collect();
    file.alerts = case.anomalies.clone();
    file.alerts.sort_by(|a, b| (a.onset, &a.entity, &a.name).cmp(&(b.onset, &b.entity, &b.name)));
    if file.alerts.len() > MAX_ALERTS {
        let more = file.alerts.len() - MAX_ALERTS;
        file.alerts.truncate(MAX_ALERTS);
        file.omitted.push(format!("{} later", counted(more, "alert")));
    }
    if !recorded.is_empty() {
        use EvidenceKind::{Change, Event, Log, Metric, Span};
        if !incident.changes.is_empty() {
            recorded.insert(Change);
        }
        let kinds = [Change, Event, Metric, Log, Span].into_iter();
        file.unrecorded = kinds.filter(|kind| !recorded.contains(kind)).collect();
    }
    file
}

/// Entities whose contexts are read for a case file, at most `most`: those with alerts, changes or failures, then all recorded or
/// declared, by name.
pub fn entities_of_case_file(case: &Case, incident: &Incident, most: usize) -> Vec<EntityId> {
    let alerting = case.anomalies.iter().map(|alert| &alert.entity);
    let struck = incident.changes.iter().chain(&incident.failures).map(|finding| &finding.entity);
    let others = incident.recorded.iter().chain(incident.topology.entities());
    let mut seen: BTreeSet<&EntityId> = BTreeSet::new();
    let all = alerting.chain(struck).chain(others);
    all.filter(|entity| seen.insert(entity)).take(most).cloned().collect()
}

/// Whether a source that records coverage says that nothing was recorded of an entity.
fn is_silent(context: &LocalContext) -> bool {
    use EvidenceKind::{Log, Metric, Span};
    let measured = |kind: &EvidenceKind| matches!(kind, Metric | Log | Span);
    let is_measured = |coverage: &Coverage| coverage.own.iter().any(measured);
    context.findings.is_empty() && context.coverage.as_ref().is_some_and(|it| !is_measured(it))
}

fn began(finding: &Finding) -> (Timestamp, Reverse<bool>) {
    let at = finding.onset.map_or(finding.time.start(), |onset| onset.earliest());
    (at, Reverse(finding.kind == EvidenceKind::Change))
}

#[cfg(test)]
mod tests {
    use eog_core::evidence::{EvidenceTime, FindingContent, Quantity, Signal, Trend};
    use eog_core::incident::EffectDirection;
    use eog_core::{EntityId, Topology, Window};

    use super::*;

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn slower(entity: &str, observed: f64, second: i64) -> Finding {
        finding(entity, EvidenceKind::Metric, Signal::Latency, second, Some(observed))
    }

    fn finding(
        entity: &str,
        kind: EvidenceKind,
        signal: Signal,
        second: i64,
        observed: Option<f64>,
    ) -> Finding {
        let unit = "ms".to_owned();
        let quantity = |observed| Quantity { observed, baseline: Some(10.0), unit: unit.clone() };
        Finding::new(FindingContent {
            trend: Trend::Rising,
            quantity: observed.map(quantity),
            excerpt: format!("{entity} at {second}"),
            ..FindingContent::new(id(entity), kind, signal, EvidenceTime::At(at(second)))
        })
    }

    /// `web` calls `db`; an alert on `web` at 1,000.
    fn case() -> Case {
        let mut topology = Topology::default();
        topology.connect(&id("web"), "calls", &id("db"), EffectDirection::TargetToSource);
        let alert = Anomaly::new("Slow", id("web"), Signal::Latency, at(1_000));
        let window = Window::new(at(0), at(2_000)).unwrap();
        Case::from_anomalies(topology, window, vec![alert])
    }

    fn context(findings: Vec<Finding>) -> (EntityId, LocalContext) {
        (id("db"), LocalContext { findings, ..LocalContext::default() })
    }

    #[test]
    fn entities_without_records_are_listed() {
        let coverage = |own: &[EvidenceKind]| {
            Some(Coverage { own: own.to_vec(), others: vec![EvidenceKind::Log] })
        };
        let quiet = |own: &[EvidenceKind]| LocalContext {
            coverage: coverage(own),
            ..LocalContext::default()
        };
        let contexts = [
            (id("node"), quiet(&[EvidenceKind::Event])),
            (id("web"), quiet(&[EvidenceKind::Metric])),
            // A source without coverage says nothing.
            (id("db"), LocalContext::default()),
        ];
        let file = case_file(&case(), &Incident::default(), contexts);
        assert_eq!(file.silent, [id("node")]);
    }

    #[test]
    fn what_stands_out_anywhere_is_listed_in_order_of_time() {
        let change = finding("lone", EvidenceKind::Change, Signal::Configuration, 900, None);
        let late = finding("db", EvidenceKind::Change, Signal::Configuration, 1_500, None);
        let incident = Incident { changes: vec![late, change.clone()], ..Incident::default() };
        let steady = {
            let content = slower("db", 10.0, 10).content().clone();
            Finding::new(FindingContent { trend: Trend::Steady, ..content })
        };
        let contexts = [
            context(vec![slower("db", 400.0, 950), steady]),
            context(vec![slower("lone", 20.0, 800)]),
        ];
        let file = case_file(&case(), &incident, contexts.clone());
        let listed: Vec<&str> = file.findings.iter().map(|it| it.excerpt.as_str()).collect();
        // What was changed after the last alert, and what is as usual, are left out.
        assert_eq!(listed, ["lone at 800", "lone at 900", "db at 950"]);
        assert_eq!(file.hops, [(id("db"), 1)].into(), "no path leads from what stands alone");
        assert_eq!(file.alerts.len(), 1);
        let [a, b] = contexts;
        assert_eq!(
            case_file(&case(), &incident, [b, a]),
            file,
            "the order of contexts is no matter"
        );
    }

    #[test]
    fn it_is_bounded_and_says_what_it_leaves_out() {
        let many = (0..50).flat_map(|entity| {
            (0..5).map(move |nth| {
                slower(&format!("e{entity}"), 20.0 + f64::from(nth), 100 + i64::from(nth))
            })
        });
        let file = case_file(&case(), &Incident::default(), [context(many.collect())]);
        assert_eq!(file.findings.len(), 20);
        assert_eq!(file.omitted, ["230 deviations, weaker or earlier", "10 more entities"]);
        let first = file.findings[0].entity.clone();
        let of_first = file.findings.iter().filter(|it| it.entity == first).count();
        assert!(of_first <= MAX_OF_ENTITY, "one entity does not fill it");
        // What does not fit is found at the entities that have it: 30 of 50 are not shown.
        assert_eq!(file.elsewhere.len(), MAX_ELSEWHERE);
        let is_shown = |entity: &EntityId| file.findings.iter().any(|it| it.entity == *entity);
        assert!(!file.elsewhere.iter().any(is_shown));
        assert!(file.named().any(|entity| *entity == file.elsewhere[0]), "it may be named");
    }
}
