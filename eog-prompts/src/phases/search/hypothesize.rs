//! What may have caused an incident: hypotheses, at first or below another one.

use std::collections::BTreeSet;

use eog_core::EntityId;
use eog_search::Action;
use eog_search::ask::{HypothesizeAsk, Tested};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::{Detail, FoundLine, LeadLine, Named, TestedLine, Writer};
use super::{empty, kept};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::NeighbourLine;

/// Says what may have caused an incident.
#[derive(Clone, Copy, Debug)]
pub struct Hypothesize;

/// What was suspected and found so far.
#[derive(Clone, Debug, Serialize)]
pub struct HypothesizeInput {
    #[serde(flatten)]
    incident: IncidentLines,
    /// The hypotheses on the way to the one that is expanded, itself last; empty at first.
    path: Vec<TestedLine>,
    /// Every other one.
    others: Vec<TestedLine>,
    /// What the last evaluation found missing.
    gaps: Vec<String>,
    /// Where the case says to start, if nothing is suspected yet.
    seeds: Vec<LeadLine>,
    /// Who stands around the entity of the last hypothesis.
    neighbours: Vec<NeighbourLine>,
    known: Vec<FoundLine>,
    more_known: usize,
    at_most: u32,
    #[serde(skip)]
    named: Named,
    /// Suspected on the way.
    #[serde(skip)]
    above: Vec<EntityId>,
}

impl HypothesizeInput {
    /// The input for a question of a search.
    pub fn new(ask: &HypothesizeAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let path: Vec<TestedLine> = ask.path.iter().map(|it| writer.tested(it)).collect();
        let others = ask.others.iter().map(|it| writer.tested(it)).collect();
        let above: Vec<&EntityId> = ask.path.iter().map(|it| it.seen.action.entity()).collect();
        let (known, _, more_known) = writer.known(&ask.known, &above);
        let seen: Vec<_> = ask.path.iter().map(|it| it.seen.clone()).collect();
        let (seeds, neighbours) = match above.last() {
            None => (writer.seeds(), Vec::new()),
            Some(last) => (Vec::new(), writer.neighbours(last, &seen)),
        };
        Self {
            incident: writer.incident(),
            path,
            others,
            gaps: ask.gaps.iter().map(|gap| kept(gap)).collect(),
            seeds,
            neighbours,
            known,
            more_known,
            at_most: ask.at_most,
            named: writer.named(),
            above: ask.path.iter().map(entity).collect(),
        }
    }

    fn hypothesis(&self, told: &Suspicion) -> Result<Action, String> {
        let entity = self.named.resolve(&told.entity)?;
        if self.above.contains(&entity) {
            let name = &told.entity;
            return Err(format!("{name} is suspected on the way here already; name another"));
        }
        Ok(Action::test(entity, kept(&told.focus), kept(&told.why)))
    }
}

fn entity(tested: &Tested) -> EntityId {
    tested.seen.action.entity().clone()
}

/// Hypotheses.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct HypothesizeAnswer {
    /// most plausible first; empty if nothing is left to suspect
    pub hypotheses: Vec<Suspicion>,
}

/// One hypothesis.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Suspicion {
    /// name of the entity in which the cause is suspected
    pub entity: String,
    /// what the specialists are to find out, in one or two sentences
    pub focus: String,
    /// why it is plausible, in one sentence
    pub why: String,
}

impl HypothesizeAnswer {
    /// The hypotheses of an answer without problems.
    pub fn actions(&self, input: &HypothesizeInput) -> Vec<Action> {
        self.hypotheses.iter().filter_map(|told| input.hypothesis(told).ok()).collect()
    }
}

impl Phase for Hypothesize {
    const NAME: &'static str = "search_hypothesize";
    type Input = HypothesizeInput;
    type Answer = HypothesizeAnswer;

    fn problems(input: &HypothesizeInput, answer: &HypothesizeAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        let given = answer.hypotheses.len();
        if given > input.at_most as usize {
            let most = input.at_most;
            problems.push(format!("hypotheses: {given} are more than {most}; keep the best"));
        }
        if given == 0 && input.path.is_empty() {
            problems.push("hypotheses: there is none; suspect at least one entity".to_owned());
        }
        let mut before = BTreeSet::new();
        for (at, told) in answer.hypotheses.iter().enumerate() {
            let place = format!("hypotheses[{at}]");
            match input.hypothesis(told) {
                Err(reason) => problems.push(format!("{place}: {reason}")),
                Ok(action) if !before.insert(action.call.clone()) => {
                    problems.push(format!("{place}: it is the same as one before"));
                }
                Ok(_) => {}
            }
            for (field, text) in [("focus", &told.focus), ("why", &told.why)] {
                empty(&format!("{place}.{field}"), text, &mut problems);
            }
        }
        problems
    }

    /// One hypothesis that cannot be investigated says nothing against the others.
    fn without_refused(
        input: &HypothesizeInput,
        answer: &HypothesizeAnswer,
    ) -> Option<HypothesizeAnswer> {
        let mut hypotheses: Vec<Suspicion> = Vec::new();
        for told in &answer.hypotheses {
            let alone = HypothesizeAnswer { hypotheses: vec![told.clone()] };
            if !hypotheses.contains(told) && Self::problems(input, &alone).is_empty() {
                hypotheses.push(told.clone());
            }
        }
        hypotheses.truncate(input.at_most as usize);
        (!hypotheses.is_empty()).then_some(HypothesizeAnswer { hypotheses })
    }
}
