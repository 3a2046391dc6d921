//! Where to look next: several entities, best first.

use eog_core::EntityId;
use eog_search::Action;
use eog_search::ask::ProposeAsk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::{Detail, LeadLine, LookLine, Named, Writer};
use super::{empty, kept};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::NeighbourLine;

/// Proposes what to look at after a path.
#[derive(Clone, Copy, Debug)]
pub struct Propose;

/// A path, and what stands around its end.
#[derive(Clone, Debug, Serialize)]
pub struct ProposeInput {
    #[serde(flatten)]
    incident: IncidentLines,
    path: Vec<LookLine>,
    /// Where the case says to start, if nothing was looked at yet.
    seeds: Vec<LeadLine>,
    neighbours: Vec<NeighbourLine>,
    at_most: u32,
    /// What earlier attempts taught.
    lessons: Vec<String>,
    #[serde(skip)]
    named: Named,
    #[serde(skip)]
    done: Vec<EntityId>,
}

impl ProposeInput {
    /// The input for a question of a search.
    pub fn new(ask: &ProposeAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let path = writer.path(&ask.path);
        let (seeds, neighbours) = match ask.path.last() {
            None => (writer.seeds(), Vec::new()),
            Some(last) => (Vec::new(), writer.neighbours(last.action.entity(), &ask.path)),
        };
        Self {
            incident: writer.incident(),
            path,
            seeds,
            neighbours,
            at_most: ask.at_most,
            lessons: ask.reflections.iter().map(|text| kept(text)).collect(),
            named: writer.named(),
            done: ask.path.iter().map(|seen| seen.action.entity().clone()).collect(),
        }
    }

    /// The look at an entity that an answer names.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn look(&self, name: &str, why: &str) -> Result<Action, String> {
        let entity = self.named.resolve(name)?;
        if self.done.contains(&entity) {
            return Err(format!("{name} is on the path already; name another entity"));
        }
        Ok(Action::look(entity, kept(why)))
    }
}

/// Where to look.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposeAnswer {
    /// best first; empty if nothing is left to look at
    pub looks: Vec<ProposedLook>,
}

/// A look at one entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProposedLook {
    /// its name
    pub entity: String,
    /// what could be found there, in one sentence
    pub why: String,
}

impl ProposeAnswer {
    /// The actions of an answer without problems.
    pub fn actions(&self, input: &ProposeInput) -> Vec<Action> {
        self.looks.iter().filter_map(|it| input.look(&it.entity, &it.why).ok()).collect()
    }
}

impl Phase for Propose {
    const NAME: &'static str = "search_propose";
    type Input = ProposeInput;
    type Answer = ProposeAnswer;

    fn problems(input: &ProposeInput, answer: &ProposeAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if answer.looks.len() > input.at_most as usize {
            let (given, most) = (answer.looks.len(), input.at_most);
            problems.push(format!("looks: {given} are more than {most}; keep the best"));
        }
        let mut before: Vec<EntityId> = Vec::new();
        for (at, look) in answer.looks.iter().enumerate() {
            let place = format!("looks[{at}]");
            match input.look(&look.entity, &look.why) {
                Err(reason) => problems.push(format!("{place}: {reason}")),
                Ok(action) if before.contains(action.entity()) => {
                    problems.push(format!("{place}: {} is named twice", look.entity));
                }
                Ok(action) => before.push(action.entity().clone()),
            }
            empty(&format!("{place}.why"), &look.why, &mut problems);
        }
        problems
    }

    /// One look that cannot be made says nothing against the others.
    fn without_refused(input: &ProposeInput, answer: &ProposeAnswer) -> Option<ProposeAnswer> {
        let mut looks: Vec<ProposedLook> = Vec::new();
        for look in &answer.looks {
            let alone = ProposeAnswer { looks: vec![look.clone()] };
            let is_new = looks.iter().all(|other| other.entity != look.entity);
            if is_new && Self::problems(input, &alone).is_empty() {
                looks.push(look.clone());
            }
        }
        looks.truncate(input.at_most as usize);
        (!looks.is_empty()).then_some(ProposeAnswer { looks })
    }
}
