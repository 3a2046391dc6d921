//! Which paths go on, and which go back.

use eog_search::ask::SteerAsk;
use eog_search::{Move, MoveKind, Signal, Steering};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goals::{CandidateLine, FactLine, GoalLine, Goals, path_id};
use super::path::{Detail, EvaluationLine, Writer};
use super::{empty, kept};
use crate::Phase;
use crate::phases::frame::IncidentLines;

/// Chooses a move on each active goal.
#[derive(Clone, Copy, Debug)]
pub struct Steer;

/// Goals, and what is known.
#[derive(Clone, Debug, Serialize)]
pub struct SteerInput {
    #[serde(flatten)]
    incident: IncidentLines,
    goals: Vec<GoalLine>,
    /// The last evaluation of each entity.
    path: Vec<EvaluationLine>,
    facts: Vec<FactLine>,
    candidates: Vec<CandidateLine>,
    active: Vec<u32>,
    /// Why the answer before was refused; empty if none was.
    refused: String,
}

impl SteerInput {
    /// The input for a question of a search.
    pub fn new(ask: &SteerAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let goals = Goals { detail, ran: &[], may_return: &ask.may_return };
        Self {
            incident: writer.incident(),
            goals: ask.goals.iter().map(|goal| goals.goal(goal)).collect(),
            path: writer.path(&ask.seen),
            facts: goals.facts(&ask.facts),
            candidates: goals.candidates(&ask.candidates),
            active: ask.active.clone(),
            refused: ask.refused.as_deref().map(kept).unwrap_or_default(),
        }
    }
}

/// What is done with a goal.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MoveWord {
    /// one path goes on
    Exploit,
    /// several paths go on at once
    Explore,
    /// a path goes back to where it last made progress
    Backtrack,
}

/// Moves.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct SteerAnswer {
    /// whether the candidates answer all goals, as evidence shows; moves do not count then
    pub finished: bool,
    /// one for each active goal
    pub moves: Vec<StatedMove>,
}

/// A move on a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedMove {
    /// number of the goal
    pub goal: u32,
    /// what
    pub kind: MoveWord,
    /// the paths that it is about, such as 1.2
    pub paths: Vec<String>,
    /// what speaks for and against each of these paths
    pub signals: Vec<StatedSignal>,
}

/// What speaks for and against a path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedSignal {
    /// the path
    pub path: String,
    /// what it is worth so far, in a few words
    pub value: String,
    /// what is not known of it, in a few words
    pub uncertainty: String,
    /// what may be wasted on it, in a few words
    pub risk: String,
}

impl SteerAnswer {
    /// The moves of an answer without problems.
    pub fn steering(&self) -> Steering {
        let signal = |stated: &StatedSignal| {
            Some(Signal {
                path: path_id(&stated.path).ok()?,
                value: kept(&stated.value),
                uncertainty: kept(&stated.uncertainty),
                risk: kept(&stated.risk),
            })
        };
        let each = |stated: &StatedMove| Move {
            goal: stated.goal,
            kind: match stated.kind {
                MoveWord::Exploit => MoveKind::Exploit,
                MoveWord::Explore => MoveKind::Explore,
                MoveWord::Backtrack => MoveKind::Backtrack,
            },
            paths: stated.paths.iter().filter_map(|path| path_id(path).ok()).collect(),
            signals: stated.signals.iter().filter_map(signal).collect(),
        };
        Steering { finished: self.finished, moves: self.moves.iter().map(each).collect() }
    }
}

impl Phase for Steer {
    const NAME: &'static str = "search_steer";
    type Input = SteerInput;
    type Answer = SteerAnswer;

    /// Which moves are admissible is for the controller to say: it records those that are not, and asks once more.
    fn problems(_input: &SteerInput, answer: &SteerAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if answer.finished {
            return problems;
        }
        for (at, stated) in answer.moves.iter().enumerate() {
            let place = format!("moves[{at}]");
            let signals = stated.signals.iter().map(|signal| &signal.path);
            for path in stated.paths.iter().chain(signals) {
                if let Err(reason) = path_id(path) {
                    problems.push(format!("{place}: {reason}"));
                }
            }
            for (number, signal) in stated.signals.iter().enumerate() {
                let StatedSignal { value, uncertainty, risk, .. } = signal;
                for (field, text) in
                    [("value", value), ("uncertainty", uncertainty), ("risk", risk)]
                {
                    empty(&format!("{place}.signals[{number}].{field}"), text, &mut problems);
                }
            }
        }
        problems
    }
}
