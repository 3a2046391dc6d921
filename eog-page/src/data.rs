//! The data of the drawings and of the replay. Texts and names are stored once and referred to by
//! number; times are milliseconds since 1970.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::EvidenceTime;
use eog_core::incident::Onset;
use eog_core::{Diagnosis, EntityId, EvidenceId, EvidenceKind, Finding, Label, Timestamp};
use eog_evidence::Chart;
use eog_report::clean::clean_up_to;
use eog_report::{Answer, Believed, Graph, Report, Role, Step, StepKind, words};
use serde::Serialize;

use crate::Charts;
use crate::texts::{MAX_TEXT, Texts, kind};

/// Relations of the topology that a page holds at most: of more only those of entities that were
/// involved or evaluated.
const MAX_RELATIONS: usize = 20_000;
/// Findings that were seen and are not cited, which the replay shows at most.
const MAX_SEEN: usize = 4_000;
/// Most marks of one kind on the time axis.
const MAX_MARKS: usize = 400;

/// All of it. The scripts read these names.
#[derive(Serialize)]
pub(crate) struct Data {
    texts: Texts,
    window: (i64, i64),
    nodes: Vec<Node>,
    arrows: Vec<Arrow>,
    relations: Vec<(u32, u32, u32)>,
    marks: Vec<Mark>,
    /// Changes beyond those on the time axis.
    unmarked: usize,
    charts: Vec<Drawn>,
    findings: Vec<Shown>,
    steps: Vec<Entry>,
}

#[derive(Serialize)]
struct Node {
    name: u32,
    role: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    alerts: Vec<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cited: Vec<u32>,
    /// Whether the causal graph draws it, rather than the topology alone.
    drawn: bool,
}

#[derive(Serialize)]
struct Arrow {
    from: u32,
    to: u32,
    because: u32,
    seen: u32,
    causal: bool,
}

#[derive(Serialize)]
struct Mark {
    kind: &'static str,
    name: u32,
    from: i64,
    to: i64,
    text: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    finding: Option<u32>,
}

#[derive(Serialize)]
struct Drawn {
    finding: u32,
    name: u32,
    metric: u32,
    unit: u32,
    at: Vec<i64>,
    values: Vec<f64>,
    /// The median of the baseline, and how far a point may lie from it.
    #[serde(skip_serializing_if = "Option::is_none")]
    usual: Option<(f64, f64)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    onset: Option<(i64, i64)>,
}

#[derive(Serialize)]
struct Shown {
    id: String,
    name: u32,
    kind: &'static str,
    text: u32,
    cited: bool,
}

#[derive(Serialize)]
struct Entry {
    seq: u64,
    kind: &'static str,
    words: u32,
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    from: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    changed: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    saw: Vec<u32>,
    /// How many more it saw for which this page has no room.
    #[serde(skip_serializing_if = "is_zero")]
    unshown: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    answer: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    before: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    summary: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rule: Option<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    cited: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    claims: Vec<(u32, u32)>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    notified: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    queued: Vec<u32>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    grown: Vec<Grown>,
}

/// A node of a tree that an entry made, or what it changed of one.
#[derive(Serialize)]
pub(crate) struct Grown {
    node: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    below: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    score: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    fate: Option<&'static str>,
}

/// What an entry did to a tree. Names of nodes are digits and dots.
pub(crate) fn grown(step: &Step) -> Vec<Grown> {
    let one = |grown: &eog_report::Grown| Grown {
        node: clean_up_to(&grown.node, MAX_TEXT),
        below: grown.below.as_deref().map(|below| clean_up_to(below, MAX_TEXT)),
        score: grown.score,
        fate: grown.fate,
    };
    step.trail.grown.iter().map(one).collect()
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "what serde calls")]
fn is_zero(count: &usize) -> bool {
    *count == 0
}

/// The findings that a page shows: the cited ones come first, in the order of its evidence section.
pub(crate) struct Findings {
    cited: usize,
    places: BTreeMap<EvidenceId, u32>,
}

impl Findings {
    /// The position of a cited finding, which names its row.
    pub(crate) fn place(&self, id: &EvidenceId) -> Option<u32> {
        self.places.get(id).copied().filter(|place| (*place as usize) < self.cited)
    }

    fn places<'i>(&self, ids: impl IntoIterator<Item = &'i EvidenceId>) -> Vec<u32> {
        ids.into_iter().filter_map(|id| self.places.get(id).copied()).collect()
    }
}

/// The findings that a report cites, in the order of time.
pub(crate) fn cited(report: &Report) -> Vec<&Finding> {
    let mut cited = report.evidence();
    cited.sort_by(|a, b| {
        (a.time.start(), &a.entity, a.id()).cmp(&(b.time.start(), &b.entity, b.id()))
    });
    cited
}

/// The cited measurements, first of the entities involved.
pub(crate) fn measured(report: &Report) -> Vec<&Finding> {
    let diagnosis = &report.diagnosis;
    let on_path: BTreeSet<&EntityId> =
        diagnosis.causal.iter().flat_map(|claim| [&claim.cause, &claim.effect]).collect();
    let rank = |finding: &Finding| match diagnosis.cause_of(&finding.entity) {
        Some(_) => 0,
        None if on_path.contains(&finding.entity) => 1,
        None => 2,
    };
    let is_measured =
        |finding: &&Finding| matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span);
    let mut measured: Vec<&Finding> = cited(report).into_iter().filter(is_measured).collect();
    measured.sort_by_key(|finding| rank(finding));
    measured
}

/// The data, and the position of each finding in it.
pub(crate) fn data(report: &Report, steps: &[Step], charts: &Charts) -> (Data, Findings) {
    let diagnosis = &report.diagnosis;
    let mut texts = Texts::default();
    let (findings, shown) = findings(report, steps, &mut texts);
    let (nodes, places) = nodes(diagnosis, &findings, &mut texts);
    let data = Data {
        window: (milli(diagnosis.window.start()), milli(diagnosis.window.end())),
        arrows: arrows(diagnosis, &places, &mut texts),
        relations: relations(diagnosis, &places, &mut texts),
        nodes,
        marks: marks(report, &findings, &mut texts),
        unmarked: diagnosis.considered.len().saturating_sub(MAX_MARKS),
        charts: drawn(charts, &findings, &mut texts),
        findings: shown,
        steps: steps.iter().map(|step| entry(step, &findings, &mut texts)).collect(),
        texts,
    };
    (data, findings)
}

fn findings(report: &Report, steps: &[Step], texts: &mut Texts) -> (Findings, Vec<Shown>) {
    let diagnosis = &report.diagnosis;
    let cited = cited(report);
    let known: BTreeSet<&EvidenceId> = cited.iter().map(|finding| finding.id()).collect();
    let mut seen: Vec<&EvidenceId> = Vec::new();
    let mut met: BTreeSet<&EvidenceId> = BTreeSet::new();
    let ids = steps
        .iter()
        .flat_map(|step| step.belief.iter().flat_map(|belief| &belief.cited).chain(&step.saw));
    for id in ids {
        if !known.contains(id) && met.insert(id) {
            seen.push(id);
        }
    }
    seen.truncate(MAX_SEEN);
    let others = seen.into_iter().filter_map(|id| diagnosis.findings.get(id));
    let count = cited.len();
    let mut places = BTreeMap::new();
    let mut shown = Vec::new();
    for finding in cited.into_iter().chain(others) {
        places.insert(finding.id().clone(), shown.len().try_into().unwrap_or(u32::MAX));
        shown.push(Shown {
            id: finding.id().to_string(),
            name: texts.name(&finding.entity),
            kind: kind(finding.kind),
            text: texts.number(&words::finding(finding)),
            cited: shown.len() < count,
        });
    }
    (Findings { cited: count, places }, shown)
}

type Places = BTreeMap<EntityId, u32>;

fn nodes(diagnosis: &Diagnosis, findings: &Findings, texts: &mut Texts) -> (Vec<Node>, Places) {
    let graph = Graph::of(diagnosis);
    let mut places = Places::new();
    let mut nodes = Vec::new();
    let alerts: BTreeMap<&EntityId, &[&str]> =
        graph.nodes.iter().map(|node| (node.entity, node.alerts.as_slice())).collect();
    let all: BTreeSet<&EntityId> = alerts
        .keys()
        .copied()
        .chain(diagnosis.beliefs.keys())
        .chain(diagnosis.topology.entities())
        .collect();
    for entity in all {
        places.insert(entity.clone(), nodes.len().try_into().unwrap_or(u32::MAX));
        let belief = diagnosis.belief(entity);
        let own = alerts.get(entity);
        nodes.push(Node {
            name: texts.name(entity),
            role: Role::of(diagnosis, entity).to_string(),
            alerts: own.into_iter().flat_map(|all| all.iter()).map(|it| texts.number(it)).collect(),
            summary: belief.map(|belief| texts.number(&belief.summary)),
            cited: belief.map(|belief| findings.places(&belief.cited())).unwrap_or_default(),
            drawn: own.is_some(),
        });
    }
    (nodes, places)
}

fn arrows(diagnosis: &Diagnosis, places: &Places, texts: &mut Texts) -> Vec<Arrow> {
    let graph = Graph::of(diagnosis);
    let arrows = graph.arrows.iter().filter_map(|arrow| {
        Some(Arrow {
            from: *places.get(&arrow.claim.cause)?,
            to: *places.get(&arrow.claim.effect)?,
            because: texts.number(&arrow.claim.condition),
            seen: texts.number(&arrow.claim.observed),
            causal: arrow.is_causal,
        })
    });
    arrows.collect()
}

fn relations(diagnosis: &Diagnosis, places: &Places, texts: &mut Texts) -> Vec<(u32, u32, u32)> {
    let is_many = diagnosis.topology.edges().len() > MAX_RELATIONS;
    let edges = diagnosis.topology.edges().filter(|edge| {
        let known = |entity| diagnosis.beliefs.contains_key(entity);
        !is_many || (known(&edge.source) && known(&edge.target))
    });
    let numbered = edges.filter_map(|edge| {
        let ends = (*places.get(&edge.source)?, *places.get(&edge.target)?);
        Some((ends.0, ends.1, texts.number(&edge.relation)))
    });
    numbered.take(MAX_RELATIONS).collect()
}

/// What is on the time axis: alerts; changes on record; onsets that were measured; the moments of the
/// narrative.
fn marks(report: &Report, findings: &Findings, texts: &mut Texts) -> Vec<Mark> {
    let diagnosis = &report.diagnosis;
    let mut marks = Vec::new();
    for anomaly in diagnosis.anomalies.iter().take(MAX_MARKS) {
        let (name, text) = (texts.name(&anomaly.entity), texts.number(&anomaly.name));
        for onset in anomaly.onsets().take(20) {
            let from = milli(onset);
            let to = anomaly.last_seen.map_or(from, milli).max(from);
            marks.push(Mark { kind: "alert", name, from, to, text, finding: None });
        }
    }
    let cited = cited(report);
    let changes = cited.iter().filter(|finding| finding.kind == EvidenceKind::Change);
    for finding in changes.take(MAX_MARKS) {
        marks.push(of_finding("change", finding, findings, texts));
    }
    // Of too many those nearest to the alerts.
    for considered in diagnosis.considered.iter().rev().take(MAX_MARKS) {
        let change = &considered.change;
        let known = change.finding.as_ref().and_then(|id| findings.place(id));
        if known.is_some() {
            continue;
        }
        marks.push(Mark {
            kind: "change",
            name: texts.name(&change.entity),
            from: milli(change.made.earliest()),
            to: milli(change.made.latest()),
            text: texts.number(&change.what),
            finding: None,
        });
    }
    let dated = cited.iter().filter_map(|finding| Some((finding, finding.onset?)));
    for (finding, onset) in dated.take(MAX_MARKS) {
        let (from, to) = span(onset);
        marks.push(Mark { from, to, ..of_finding("onset", finding, findings, texts) });
    }
    let events = cited.iter().filter(|finding| {
        matches!(finding.kind, EvidenceKind::Event | EvidenceKind::Log) && finding.onset.is_none()
    });
    for finding in events.take(MAX_MARKS) {
        marks.push(of_finding("event", finding, findings, texts));
    }
    marks
}

fn of_finding(
    kind: &'static str,
    finding: &Finding,
    findings: &Findings,
    texts: &mut Texts,
) -> Mark {
    let from = milli(finding.time.start());
    let to = match finding.time {
        EvidenceTime::At(_) => from,
        EvidenceTime::During(window) => milli(window.end()),
    };
    Mark {
        kind,
        name: texts.name(&finding.entity),
        from,
        to,
        text: texts.number(&words::finding(finding)),
        finding: findings.place(finding.id()),
    }
}

fn drawn(charts: &Charts, findings: &Findings, texts: &mut Texts) -> Vec<Drawn> {
    let Charts::Read { charts, .. } = charts else { return Vec::new() };
    let drawn = charts.iter().filter_map(|(finding, chart)| {
        let Chart { entity, metric, unit, points, usual, .. } = chart;
        Some(Drawn {
            finding: findings.place(finding.id())?,
            name: texts.name(entity),
            metric: texts.number(metric),
            unit: texts.number(unit),
            at: points.iter().map(|point| milli(point.0)).collect(),
            values: points.iter().map(|point| point.1).collect(),
            usual: usual.map(|band| (band.centre, band.limit)),
            onset: finding.onset.map(span),
        })
    });
    drawn.collect()
}

fn entry(step: &Step, findings: &Findings, texts: &mut Texts) -> Entry {
    let some = |text: &str, texts: &mut Texts| (!text.is_empty()).then(|| texts.number(text));
    let belief = step.belief.as_ref();
    let saw = findings.places(&step.saw);
    Entry {
        seq: step.seq,
        kind: match step.kind {
            StepKind::Opened => "opened",
            StepKind::Looked => "looked",
            StepKind::Observed => "observed",
            StepKind::Forked => "forked",
            StepKind::Other => "other",
        },
        // The words of an evaluation repeat the other fields.
        words: texts.number(if belief.is_some() { "" } else { &step.words }),
        name: step.entity.as_ref().map(|entity| texts.name(entity)),
        why: some(&step.trail.why, texts),
        from: step.trail.grew_from,
        changed: some(&step.trail.changed, texts),
        unshown: step.saw.len() - saw.len(),
        saw,
        answer: match &step.answer {
            Answer::None | Answer::Decided => None,
            Answer::Remembered(entry) => {
                Some(texts.number(&format!("unchanged packet: the answer of entry {entry}")))
            }
            Answer::Failed(reason) => Some(texts.number(&format!("failed: {reason}"))),
        },
        label: belief.map(|belief| belief.label.to_string()),
        before: step.before.as_ref().map(Label::to_string),
        summary: belief.map(|belief| texts.number(&belief.summary)),
        rule: belief.and_then(|belief| belief.rule.as_ref()).map(|rule| texts.number(rule)),
        cited: belief.map(|belief| findings.places(&belief.cited)).unwrap_or_default(),
        claims: belief.map(|belief| claims(belief, texts)).unwrap_or_default(),
        notified: texts.names(&step.notified),
        queued: texts.names(&step.trail.queued),
        grown: grown(step),
    }
}

fn claims(belief: &Believed, texts: &mut Texts) -> Vec<(u32, u32)> {
    belief.claims.iter().map(|(cause, effect)| (texts.name(cause), texts.name(effect))).collect()
}

fn span(onset: Onset) -> (i64, i64) {
    (milli(onset.earliest()), milli(onset.latest()))
}

fn milli(at: Timestamp) -> i64 {
    at.as_millisecond()
}
