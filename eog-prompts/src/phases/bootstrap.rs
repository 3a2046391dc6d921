//! Where to start, by the strength of the causal evidence.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::evidence::Signal;
use eog_core::{Anomaly, EntityId, EvidenceKind, Finding, Topology};
use eog_evidence::{demand_path, effect_path, shorten};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alerts::{is_golden, position};
use super::filter::{ItemLine, Scope};
use crate::Phase;

/// At most this many entities to start from are taken of a model; alerting entities come on top.
pub(crate) const MAX_CANDIDATES: usize = 10;

/// The phase that chooses the entities to start from.
#[derive(Clone, Copy, Debug)]
pub struct ChooseSeeds;

/// The input for choosing the start: alerts, and what the filters kept.
#[derive(Clone, Debug, Serialize)]
pub struct SeedsInput {
    pub(crate) scope: Scope,
    pub(crate) changes: Vec<ItemLine>,
    pub(crate) events: Vec<ItemLine>,
    pub(crate) left_out: Vec<String>,
    pub(crate) most: usize,
    #[serde(skip)]
    pub(crate) facts: SeedFacts,
}

/// What answers are checked against.
#[derive(Clone, Debug, Default)]
pub(crate) struct SeedFacts {
    pub(crate) topology: Topology,
    /// For each change shown the finding itself and those it stands for.
    pub(crate) changes: Vec<Vec<Finding>>,
    /// The same for events.
    pub(crate) events: Vec<Vec<Finding>>,
}

/// The chosen start.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SeedsAnswer {
    /// Where to start, the strongest first.
    pub candidates: Vec<Candidate>,
    /// What was set aside: alerts without * that explain nothing, changes and events that have a way
    /// to an alert.
    pub ignored: Vec<Ignored>,
    /// One or two sentences.
    pub reasoning: String,
}

/// An entity to start from.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Candidate {
    /// Its name, exactly as it is written above.
    pub entity: String,
    /// How strong the evidence is.
    pub strength: Strength,
    /// The changes and events that it rests on, such as "C1" or "E2"; none for "alert_alone".
    pub evidence: Vec<String>,
    /// The alerts that it can explain by way of effects or load, such as "A1".
    pub explains: Vec<String>,
    /// One sentence. Name entities; do not write "A1" or "C1".
    pub reason: String,
}

/// Something set aside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Ignored {
    /// Its number, such as "A2", "C1" or "E2".
    pub item: String,
    /// Why, in a few words.
    pub reason: String,
}

/// How strong the evidence for a candidate is, the strongest first.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum Strength {
    /// It was changed before an alert that it can explain.
    ChangeBeforeAlert,
    /// It failed.
    FailureEvent,
    /// Something was changed that has a way to it.
    RelatedChange,
    /// It has an alert and nothing else.
    AlertAlone,
}

impl Strength {
    /// For people.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Self::ChangeBeforeAlert => "changed before the alert",
            Self::FailureEvent => "failed",
            Self::RelatedChange => "near a change",
            Self::AlertAlone => "alert alone",
        }
    }
}

impl SeedsInput {
    /// The findings behind a number such as `C1`: the one shown and those it stands for.
    pub(crate) fn findings(&self, id: &str) -> Option<&[Finding]> {
        let of =
            |letter, lists: &'_ [Vec<Finding>]| position(letter, id).filter(|at| *at < lists.len());
        if let Some(at) = of("C", &self.facts.changes) {
            return self.facts.changes.get(at).map(Vec::as_slice);
        }
        let at = of("E", &self.facts.events)?;
        self.facts.events.get(at).map(Vec::as_slice)
    }

    fn knows(&self, entity: &EntityId) -> bool {
        self.facts.topology.contains(entity)
            || self.scope.alerts.shown().iter().any(|alert| alert.entity == *entity)
            || self.all_findings().any(|finding| finding.entity == *entity)
    }

    fn all_findings(&self) -> impl Iterator<Item = &Finding> {
        self.facts.changes.iter().chain(&self.facts.events).flatten()
    }

    /// Whether effects of an entity, or the load that its changed demand sends, reach another.
    fn reaches(&self, from: &EntityId, to: &EntityId, by_demand: bool) -> bool {
        effect_path(&self.facts.topology, from, to).is_some()
            || (by_demand && demand_path(&self.facts.topology, from, to).is_some())
    }
}

impl Phase for ChooseSeeds {
    const NAME: &'static str = "bootstrap";
    type Input = SeedsInput;
    type Answer = SeedsAnswer;

    fn problems(input: &SeedsInput, answer: &SeedsAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        let count = answer.candidates.len();
        if count == 0 {
            problems.push("candidates: name at least one entity".to_owned());
        }
        if count > input.most {
            problems.push(format!("candidates: {count} are named; keep the best {}", input.most));
        }
        let mut first_named: BTreeMap<&str, usize> = BTreeMap::new();
        for (at, candidate) in answer.candidates.iter().enumerate() {
            let place = format!("candidates[{at}]");
            if let Some(first) = first_named.insert(&candidate.entity, at) {
                let name = shorten(&candidate.entity, 80);
                problems.push(format!("{place}: {name} is candidates[{first}] already"));
            }
            let found = Check { input, candidate }.problems();
            problems.extend(found.into_iter().map(|problem| format!("{place}: {problem}")));
        }
        if !answer.candidates.is_sorted_by_key(|candidate| candidate.strength) {
            let order = "change_before_alert, failure_event, related_change, alert_alone";
            problems.push(format!("candidates: order them by strength: {order}"));
        }
        problems.extend(ignored_problems(input, answer));
        problems
    }
}

/// One candidate under examination.
struct Check<'a> {
    input: &'a SeedsInput,
    candidate: &'a Candidate,
}

impl Check<'_> {
    fn problems(&self) -> Vec<String> {
        let name = shorten(&self.candidate.entity, 80);
        let entity = EntityId::new(self.candidate.entity.as_str()).ok();
        let Some(entity) = entity.filter(|entity| self.input.knows(entity)) else {
            return vec![format!("{name:?} is no known entity; write a name from the data")];
        };
        let mut problems = Vec::new();
        let (cited, unknown) = self.cited();
        problems.extend(unknown);
        let mut explained: Vec<&Anomaly> = Vec::new();
        for id in &self.candidate.explains {
            match self.input.scope.alerts.find(id) {
                Some(alert) => explained.push(alert),
                None => problems.push(self.input.scope.alerts.unknown(id)),
            }
        }
        if self.candidate.explains.is_empty() {
            problems
                .push(format!("{name} explains no alert; a start without a way to one is none"));
        }
        let by_demand = cited
            .iter()
            .any(|finding| finding.entity == entity && finding.signal == Signal::Demand);
        for alert in &explained {
            if !self.input.reaches(&entity, &alert.entity, by_demand) {
                problems.push(format!(
                    "no effects travel from {name} to {}; leave that alert or the candidate out",
                    alert.entity
                ));
            }
        }
        problems.extend(self.strength_problem(&entity, &cited, &explained));
        problems
    }

    /// The findings that are cited, and words for what is not known.
    fn cited(&self) -> (Vec<&Finding>, Vec<String>) {
        let (mut cited, mut unknown) = (Vec::new(), Vec::new());
        for id in &self.candidate.evidence {
            match self.input.findings(id) {
                Some(findings) => cited.extend(findings),
                None => unknown.push(format!(
                    "there is no {:?}; changes are C1 to C{}, events E1 to E{}",
                    shorten(id, 20),
                    self.input.changes.len(),
                    self.input.events.len()
                )),
            }
        }
        (cited, unknown)
    }

    /// What the claimed strength lacks.
    fn strength_problem(
        &self,
        entity: &EntityId,
        cited: &[&Finding],
        explained: &[&Anomaly],
    ) -> Option<String> {
        let own = |change: bool| {
            let wanted = move |finding: &&&Finding| {
                finding.entity == *entity && (finding.kind == EvidenceKind::Change) == change
            };
            cited.iter().filter(wanted)
        };
        let precedes = |finding: &Finding| {
            let at = finding.time.start();
            explained.iter().any(|alert| alert.onsets().any(|onset| onset > at))
        };
        // A fault that is injected into something is a change of that, too.
        let injected = || {
            cited.iter().filter(|finding| {
                let is_experiment = finding.signal == Signal::Experiment;
                is_experiment && self.input.reaches(&finding.entity, entity, false)
            })
        };
        let related = |finding: &&Finding| {
            let by_demand = finding.signal == Signal::Demand;
            finding.kind == EvidenceKind::Change
                && self.input.reaches(&finding.entity, entity, by_demand)
        };
        let lacking = match self.candidate.strength {
            Strength::ChangeBeforeAlert
                if !own(true).chain(injected()).any(|finding| precedes(finding)) =>
            {
                "a cited change of its own, or a fault injected into it, before an alert that it explains"
            }
            Strength::FailureEvent if own(false).next().is_none() => "a cited event of its own",
            Strength::RelatedChange if !cited.iter().any(related) => {
                "a cited change whose effects reach it"
            }
            Strength::AlertAlone if explained.iter().all(|alert| alert.entity != *entity) => {
                "an alert of its own among those it explains"
            }
            _ => return None,
        };
        let strength = serde_json::to_value(self.candidate.strength).unwrap_or_default();
        Some(format!("strength {strength} asks for {lacking}"))
    }
}

fn ignored_problems(input: &SeedsInput, answer: &SeedsAnswer) -> Vec<String> {
    let explained: BTreeSet<&str> = answer
        .candidates
        .iter()
        .flat_map(|candidate| candidate.explains.iter().map(|id| id.trim()))
        .collect();
    let mut problems = Vec::new();
    for ignored in &answer.ignored {
        let id = shorten(&ignored.item, 20);
        match input.scope.alerts.find(&ignored.item) {
            Some(alert) if is_golden(alert.signal) => {
                problems
                    .push(format!("ignored: {id} is of a leading signal and must be explained"));
            }
            Some(_) if explained.contains(ignored.item.trim()) => {
                problems.push(format!("ignored: {id} is explained by a candidate"));
            }
            Some(_) => {}
            None if input.findings(&ignored.item).is_none() => {
                problems.push(format!("ignored: there is no {id:?}"));
            }
            None => {}
        }
    }
    problems
}
