//! Goals with alternative paths.

use eog_search::Goal;
use eog_search::ask::DecomposeAsk;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goals::StatedApproach;
use super::path::{Detail, LeadLine, Named, Writer};
use super::{empty, kept};
use crate::Phase;
use crate::phases::frame::IncidentLines;
use crate::phases::lines::NeighbourLine;

/// Sets goals.
#[derive(Clone, Copy, Debug)]
pub struct Decompose;

/// An incident, and what stands around the places to start from.
#[derive(Clone, Debug, Serialize)]
pub struct DecomposeInput {
    #[serde(flatten)]
    incident: IncidentLines,
    seeds: Vec<LeadLine>,
    around: Vec<AroundLine>,
    goals: u32,
    paths: u32,
    /// Why the answer before was refused; empty if none was.
    refused: String,
    #[serde(skip)]
    named: Named,
}

/// The neighbours of an entity.
#[derive(Clone, Debug, Serialize)]
struct AroundLine {
    entity: String,
    neighbours: Vec<NeighbourLine>,
}

impl DecomposeInput {
    /// The input for a question of a search.
    pub fn new(ask: &DecomposeAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let around = ask.scene.seeds.iter().map(|seed| AroundLine {
            entity: seed.entity.to_string(),
            neighbours: writer.neighbours(&seed.entity, &[]),
        });
        let around = around.collect();
        Self {
            incident: writer.incident(),
            seeds: writer.seeds(),
            around,
            goals: ask.goals,
            paths: ask.paths,
            refused: ask.refused.as_deref().map(kept).unwrap_or_default(),
            named: writer.named(),
        }
    }
}

/// Goals.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct DecomposeAnswer {
    /// in the order in which they are numbered, from 1
    pub goals: Vec<StatedGoal>,
}

/// One goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedGoal {
    /// name of the entity that it is about
    pub about: String,
    /// what is to be found out, in one sentence
    pub question: String,
    /// numbers of goals without whose result it cannot start; mostly none
    pub needs: Vec<u32>,
    /// alternative ways to reach it: one success is enough
    pub paths: Vec<StatedApproach>,
}

impl DecomposeAnswer {
    /// The goals of an answer without problems.
    pub fn goals(&self, input: &DecomposeInput) -> Vec<Goal> {
        let goal = |stated: &StatedGoal| {
            Some(Goal {
                about: input.named.resolve(&stated.about).ok()?,
                question: kept(&stated.question),
                needs: stated.needs.clone(),
                paths: stated
                    .paths
                    .iter()
                    .filter_map(|it| it.approach(&input.named).ok())
                    .collect(),
            })
        };
        self.goals.iter().filter_map(goal).collect()
    }
}

impl Phase for Decompose {
    const NAME: &'static str = "search_decompose";
    type Input = DecomposeInput;
    type Answer = DecomposeAnswer;

    /// Whether goals wait for each other in a circle is for the controller to say.
    fn problems(input: &DecomposeInput, answer: &DecomposeAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        let (given, most) = (answer.goals.len(), input.goals);
        if given > most as usize {
            problems.push(format!("goals: {given} are more than {most}; keep the best"));
        }
        if given == 0 {
            problems.push("goals: there is none; set at least one".to_owned());
        }
        for (at, goal) in answer.goals.iter().enumerate() {
            let place = format!("goals[{at}]");
            if let Err(reason) = input.named.resolve(&goal.about) {
                problems.push(format!("{place}.about: {reason}"));
            }
            empty(&format!("{place}.question"), &goal.question, &mut problems);
            let (paths, most) = (goal.paths.len(), input.paths);
            if paths == 0 || paths > most as usize {
                problems.push(format!("{place}.paths: {paths} paths; give 1 to {most}"));
            }
            for (number, path) in goal.paths.iter().enumerate() {
                path.problems(&format!("{place}.paths[{number}]"), &input.named, &mut problems);
            }
        }
        problems
    }
}
