//! What may have caused an incident: hypotheses, at first or below another one.

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::EntityId;
use eog_search::ask::HypothesizeAsk;
use eog_search::{Action, CauseKind, Specialist};
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
    /// The hypotheses on the way to the expanded one, itself last; empty at first.
    path: Vec<TestedLine>,
    /// Every other one.
    others: Vec<TestedLine>,
    /// What the last evaluation found missing.
    gaps: Vec<String>,
    /// Where the case says to start, if nothing is suspected yet.
    seeds: Vec<LeadLine>,
    /// The neighbours of the entity of the last hypothesis.
    neighbours: Vec<NeighbourLine>,
    known: Vec<FoundLine>,
    more_known: usize,
    at_most: u32,
    #[serde(skip)]
    named: Named,
    /// Suspected on the way.
    #[serde(skip)]
    above: Vec<Arc<Action>>,
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
            above: ask.path.iter().map(|it| Arc::clone(&it.seen.action)).collect(),
        }
    }

    fn hypothesis(&self, suspicion: &Suspicion) -> Result<Action, String> {
        let entity = self.named.resolve(&suspicion.entity)?;
        let mut action = Action::test(entity, kept(&suspicion.focus), kept(&suspicion.why));
        if let Some(kind) = suspicion.kind {
            action = action.of_kind(kind.into());
        }
        for one in &suspicion.specialists {
            action = action.asking(one.who.into(), kept(&one.focus));
        }
        let kind = action.hypothesis().and_then(|it| it.kind);
        let suspects = |above: &Action| {
            let other = above.hypothesis().and_then(|it| it.kind);
            above.entity() == action.entity() && (kind.is_none() || kind == other)
        };
        if self.above.iter().any(|above| suspects(above)) {
            let name = &suspicion.entity;
            return Err(format!(
                "{name} is suspected on the way here already; name another entity or kind"
            ));
        }
        Ok(action)
    }
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
    /// kind of cause; null if open
    #[serde(default)]
    pub kind: Option<KindWord>,
    /// who investigates it; empty: all three, by the focus
    #[serde(default)]
    pub specialists: Vec<StatedAssignment>,
    /// why it is plausible, in one sentence
    pub why: String,
}

/// What one specialist is to find out.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedAssignment {
    /// which
    pub who: SpecialistWord,
    /// what it is to find out, in one sentence
    pub focus: String,
}

/// A specialist.
#[derive(
    Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "snake_case")]
pub enum SpecialistWord {
    /// measured series and alerts
    Metrics,
    /// log lines, events, changes
    Logs,
    /// traced requests
    Traces,
}

impl From<SpecialistWord> for Specialist {
    fn from(word: SpecialistWord) -> Self {
        match word {
            SpecialistWord::Metrics => Self::Metrics,
            SpecialistWord::Logs => Self::Logs,
            SpecialistWord::Traces => Self::Traces,
        }
    }
}

/// A kind of cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum KindWord {
    /// something was changed
    Change,
    /// a resource ran out
    Exhaustion,
    /// more to do than usual
    Load,
    /// something that it relies on failed
    Dependency,
    /// what lies between two entities failed
    Network,
    /// wrong data
    Data,
    /// a machine or a part of one failed
    Hardware,
    /// none of these
    Other,
}

impl From<KindWord> for CauseKind {
    fn from(word: KindWord) -> Self {
        match word {
            KindWord::Change => Self::Change,
            KindWord::Exhaustion => Self::Exhaustion,
            KindWord::Load => Self::Load,
            KindWord::Dependency => Self::Dependency,
            KindWord::Network => Self::Network,
            KindWord::Data => Self::Data,
            KindWord::Hardware => Self::Hardware,
            KindWord::Other => Self::Other,
        }
    }
}

impl HypothesizeAnswer {
    /// The hypotheses of an answer without problems.
    pub fn actions(&self, input: &HypothesizeInput) -> Vec<Action> {
        self.hypotheses.iter().filter_map(|suspicion| input.hypothesis(suspicion).ok()).collect()
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
        let mut before: Vec<Action> = Vec::new();
        for (at, suspicion) in answer.hypotheses.iter().enumerate() {
            let place = format!("hypotheses[{at}]");
            match input.hypothesis(suspicion) {
                Err(reason) => problems.push(format!("{place}: {reason}")),
                Ok(action) if before.iter().any(|other| other.is_same(&action)) => {
                    problems.push(format!("{place}: it is the same as one before"));
                }
                Ok(action) => before.push(action),
            }
            let mut named = BTreeSet::new();
            for (at, one) in suspicion.specialists.iter().enumerate() {
                if !named.insert(one.who) {
                    problems.push(format!("{place}.specialists[{at}]: it is named twice"));
                }
                let field = format!("{place}.specialists[{at}].focus");
                empty(&field, &one.focus, &mut problems);
            }
            for (field, text) in [("focus", &suspicion.focus), ("why", &suspicion.why)] {
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
        for suspicion in &answer.hypotheses {
            let alone = HypothesizeAnswer { hypotheses: vec![suspicion.clone()] };
            let mut with = HypothesizeAnswer { hypotheses: hypotheses.clone() };
            with.hypotheses.push(suspicion.clone());
            let actions = with.actions(input);
            let is_new = actions
                .split_last()
                .is_some_and(|(last, before)| !before.iter().any(|other| other.is_same(last)));
            if is_new && Self::problems(input, &alone).is_empty() {
                hypotheses.push(suspicion.clone());
            }
        }
        hypotheses.truncate(input.at_most as usize);
        (!hypotheses.is_empty()).then_some(HypothesizeAnswer { hypotheses })
    }
}
