//! The entries of a ledger one by one, for a replay: which entity was judged, what was seen and
//! answered, who was notified, what changed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::diagnosis::ForkTaken;
use eog_core::ledger::{Look, Observation, RecordedAnswer};
use eog_core::{EntityId, Entry, EvidenceId, Label, Ledger, LocalContext};

use crate::clean::clean_up_to;
use crate::entries::{Described, one};
use crate::page::plain;

/// Characters kept of one text of a step.
const MAX_TEXT: usize = 600;

/// One entry of a ledger, whichever controller wrote it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Step {
    /// The number of the entry.
    pub seq: u64,
    /// What it records.
    pub kind: StepKind,
    /// The evaluated entity.
    pub entity: Option<EntityId>,
    /// The entry in one line.
    pub words: String,
    /// How it came about, beyond the answer.
    pub trail: Trail,
    /// The evidence that was shown, in its order.
    pub saw: Vec<EvidenceId>,
    /// What the context left out, in its words.
    pub omitted: Vec<String>,
    /// What came back.
    pub answer: Answer,
    /// What is believed of the entity from then on, if it was evaluated.
    pub belief: Option<Believed>,
    /// What was believed of it before.
    pub before: Option<Label>,
    /// The entities notified of the belief.
    pub notified: Vec<EntityId>,
}

/// What an entry records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepKind {
    /// The whole input.
    Opened,
    /// An entity was evaluated.
    Looked,
    /// An observation.
    Observed,
    /// A fork.
    Forked,
    /// Other entries of a controller.
    Other,
}

/// How a step came about. What a machine does not record stays empty.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Trail {
    /// Why the entity was evaluated.
    pub why: String,
    /// The entry that this one grew from: in a search over a tree its parent, in Explanations over
    /// Graphs the one that made the entity active.
    pub grew_from: Option<u64>,
    /// The entities to be evaluated because of it.
    pub queued: Vec<EntityId>,
    /// What the answer changed, in words.
    pub changed: String,
    /// What it did to the tree, if the machine grows one.
    pub grown: Vec<Grown>,
}

/// A node of a tree that an entry made, or what it changed of one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Grown {
    /// The node.
    pub node: String,
    /// The one that it stands below, if the entry made it.
    pub below: Option<String>,
    /// The score that it got from 0 to 1000, if it got one.
    pub score: Option<u16>,
    /// Its new state in a word, such as `pruned`, if it changed.
    pub fate: Option<&'static str>,
}

impl Grown {
    /// A node without any changes.
    pub fn at(node: &impl ToString) -> Self {
        Self { node: node.to_string(), below: None, score: None, fate: None }
    }
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Answer {
    /// No policy was called.
    None,
    /// A decision.
    Decided,
    /// The decision of an earlier entry, since nothing had changed.
    Remembered(u64),
    /// No decision; the reason.
    Failed(String),
}

/// A belief, as a step shows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Believed {
    /// The label.
    pub label: Label,
    /// Why.
    pub summary: String,
    /// The rule that gave the label, if one did.
    pub rule: Option<String>,
    /// What it cites.
    pub cited: Vec<EvidenceId>,
    /// Its claims, from cause to effect.
    pub claims: Vec<(EntityId, EntityId)>,
}

/// The entries of a ledger as steps.
///
/// ```
/// use eog_core::{Case, Config, Controller, Input, Output, Topology, Window};
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let mut controller = Controller::new(Config::default(), case);
/// while let Output::Append(entry) = controller.poll() {
///     controller.handle(Input::Appended(entry.seq))?;
/// }
/// let steps = eog_report::steps(controller.ledger());
/// assert_eq!(steps[0].kind, eog_report::StepKind::Opened);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn steps<B: Described>(ledger: &Ledger<B>) -> Vec<Step> {
    let forks = ForkTaken::all(ledger);
    let mut forks = forks.iter();
    let mut labels: BTreeMap<EntityId, Label> = BTreeMap::new();
    let mut nodes: BTreeMap<String, u64> = BTreeMap::new();
    let step = |entry: &Arc<Entry<B>>| {
        let words = clean_up_to(&plain(&one(entry, &mut forks)), MAX_TEXT);
        let mut step = bare(entry, words);
        if let Some(look) = entry.body.look() {
            let context = look.context.and_then(|record| ledger.context(&record.digest));
            fill(&mut step, context, &look);
            step.before = labels.insert(look.entity.clone(), look.belief.label);
        }
        for grown in &step.trail.grown {
            let Some(below) = &grown.below else { continue };
            step.trail.grew_from = step.trail.grew_from.or(nodes.get(below).copied());
            nodes.insert(grown.node.clone(), step.seq);
        }
        step
    };
    ledger.entries().iter().map(step).collect()
}

/// An entry alone as a step, to watch a ledger grow: what was believed before is left out,
/// and what was shown where an earlier entry holds it.
pub fn step<B: Described>(entry: &Entry<B>) -> Step {
    let words = clean_up_to(&plain(&one(entry, &mut std::iter::empty())), MAX_TEXT);
    let mut step = bare(entry, words);
    if let Some(look) = entry.body.look() {
        fill(&mut step, look.context.and_then(|record| record.body.as_ref()), &look);
    }
    step
}

fn bare<B: Described>(entry: &Entry<B>, words: String) -> Step {
    let body = &entry.body;
    let (kind, entity) = if let Some(look) = body.look() {
        (StepKind::Looked, Some(look.entity.clone()))
    } else if body.opening().is_some() {
        (StepKind::Opened, None)
    } else if body.fork().is_some() {
        (StepKind::Forked, None)
    } else if let Some(observation) = body.observation() {
        (StepKind::Observed, about(observation))
    } else {
        (StepKind::Other, None)
    };
    Step {
        seq: entry.seq,
        kind,
        entity,
        words,
        trail: body.trail(),
        saw: Vec::new(),
        omitted: Vec::new(),
        answer: Answer::None,
        belief: None,
        before: None,
        notified: Vec::new(),
    }
}

fn about(observation: &Observation) -> Option<EntityId> {
    match observation {
        Observation::Anomaly(anomaly) => Some(anomaly.entity.clone()),
        Observation::NewEvidence(entity) => Some(entity.clone()),
        _ => None,
    }
}

fn fill(step: &mut Step, context: Option<&LocalContext>, look: &Look<'_>) {
    if let Some(context) = context {
        step.saw = context.findings.iter().map(|finding| finding.id().clone()).collect();
        step.omitted = context.omitted.iter().map(|it| clean_up_to(it, MAX_TEXT)).collect();
    }
    step.answer = match look.answer {
        RecordedAnswer::Decided(_) => Answer::Decided,
        RecordedAnswer::Remembered { entry } => Answer::Remembered(*entry),
        RecordedAnswer::Failed(failure) => {
            Answer::Failed(clean_up_to(&failure.to_string(), MAX_TEXT))
        }
    };
    let belief = look.belief;
    let claims: BTreeSet<(EntityId, EntityId)> =
        belief.claims.iter().map(|claim| (claim.cause.clone(), claim.effect.clone())).collect();
    step.belief = Some(Believed {
        label: belief.label,
        summary: clean_up_to(&belief.summary, MAX_TEXT),
        rule: belief.rule.as_deref().map(|rule| clean_up_to(rule, MAX_TEXT)),
        cited: belief.cited().into_iter().collect(),
        claims: claims.into_iter().collect(),
    });
    step.notified = look.notified.to_vec();
}
