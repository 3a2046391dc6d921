//! What came of a round.

use eog_core::EvidenceId;
use eog_search::ask::ProgressAsk;
use eog_search::{
    Candidate, FactChange, GoalProgress, PathReport, PlanChange, Progress as SearchProgress,
    TreeMem,
};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::goals::{CandidateLine, FactLine, GoalLine, Goals, StatedApproach, finding, path_id};
use super::path::{Detail, EvaluationLine, Named, Writer};
use super::{empty, kept, score};
use crate::Phase;
use crate::phases::frame::IncidentLines;

/// Takes stock of a round.
#[derive(Clone, Copy, Debug)]
pub struct TakeStock;

/// Goals, and what was evaluated.
#[derive(Clone, Debug, Serialize)]
pub struct ProgressInput {
    #[serde(flatten)]
    incident: IncidentLines,
    goals: Vec<GoalLine>,
    /// The last evaluation of each entity.
    path: Vec<EvaluationLine>,
    facts: Vec<FactLine>,
    candidates: Vec<CandidateLine>,
    ran: Vec<String>,
    paths: u32,
    accept: u16,
    #[serde(skip)]
    named: Named,
    /// The ids behind the numbers of findings.
    #[serde(skip)]
    ids: Vec<EvidenceId>,
}

impl ProgressInput {
    /// The input for a question of a search.
    pub fn new(ask: &ProgressAsk, detail: Detail) -> Self {
        let mut writer = Writer::new(&ask.scene, detail);
        let goals = Goals { detail, ran: &ask.ran, may_return: &[] };
        Self {
            incident: writer.incident(),
            goals: ask.goals.iter().map(|goal| goals.goal(goal)).collect(),
            path: writer.path(&ask.seen),
            facts: goals.facts(&ask.facts),
            candidates: goals.candidates(&ask.candidates),
            ran: ask.ran.iter().map(ToString::to_string).collect(),
            paths: ask.paths,
            accept: ask.accept,
            ids: writer.ids().to_vec(),
            named: writer.named(),
        }
    }
}

/// What came of a round.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct ProgressAnswer {
    /// new facts, and facts that take the place of others
    pub facts: Vec<StatedFact>,
    /// what may be the cause, best first: all that counts now
    pub candidates: Vec<StatedCandidate>,
    /// how far goals are
    pub goals: Vec<StatedRatio>,
    /// what each path that made a step came to
    pub paths: Vec<StatedPath>,
    /// other paths in place of blocked ones, and further ones
    pub rewrite: Vec<StatedRewrite>,
}

/// A fact.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedFact {
    /// number of the fact whose place it takes; else null
    pub revises: Option<u32>,
    /// one sentence
    pub text: String,
    /// number of the evidence that it rests on
    pub evidence: u32,
    /// the exact values, each as it stands in the evidence
    pub values: Vec<String>,
}

/// What may be the cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedCandidate {
    /// name of an entity that was looked at
    pub entity: String,
    /// why, in one sentence
    pub because: String,
}

/// How far a goal is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedRatio {
    /// number of the goal
    pub goal: u32,
    /// from 0 to 1000
    pub ratio: u16,
    /// what is known over all its paths, in one sentence
    pub summary: String,
}

/// What a path came to.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedPath {
    /// a path that made a step
    pub path: String,
    /// what it came to so far, in one sentence
    pub summary: String,
    /// numbers of the evidence that matters
    pub evidence: Vec<u32>,
    /// what is not known; empty if nothing
    pub uncertainty: String,
    /// what contradicts itself
    pub conflicts: Vec<String>,
    /// how far it is, in a few words
    pub progress: String,
    /// signs that it leads nowhere
    pub failures: Vec<String>,
}

/// What is done to the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum RewriteWord {
    /// another path in place of one
    Replace,
    /// a further path
    Add,
}

/// Another path.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedRewrite {
    /// what
    pub change: RewriteWord,
    /// replace: the path; else empty
    pub path: String,
    /// add: number of the goal; else null
    pub goal: Option<u32>,
    /// the other or further path
    pub way: StatedApproach,
}

impl StatedRewrite {
    fn change(&self, named: &Named) -> Result<PlanChange, String> {
        let approach = self.way.approach(named)?;
        match (self.change, self.goal) {
            (RewriteWord::Replace, _) => {
                Ok(PlanChange::Rewrite { path: path_id(&self.path)?, approach })
            }
            (RewriteWord::Add, Some(goal)) => Ok(PlanChange::Add { goal, approach }),
            (RewriteWord::Add, None) => Err("goal: it is null; give its number".to_owned()),
        }
    }
}

impl ProgressAnswer {
    /// What an answer without problems says.
    pub fn progress(&self, input: &ProgressInput) -> SearchProgress {
        let id = |number: &u32| finding(&input.ids, *number).ok().cloned();
        let texts = |all: &[String]| all.iter().map(|text| kept(text)).collect();
        let fact = |stated: &StatedFact| {
            Some(FactChange {
                revises: stated.revises,
                text: kept(&stated.text),
                finding: id(&stated.evidence)?,
                values: texts(&stated.values),
            })
        };
        let candidate = |stated: &StatedCandidate| {
            let entity = input.named.resolve(&stated.entity).ok()?;
            Some(Candidate { entity, because: kept(&stated.because) })
        };
        let goal = |stated: &StatedRatio| GoalProgress {
            goal: stated.goal,
            ratio: stated.ratio,
            summary: kept(&stated.summary),
        };
        let path = |stated: &StatedPath| {
            Some(PathReport {
                path: path_id(&stated.path).ok()?,
                summary: kept(&stated.summary),
                memory: TreeMem {
                    evidence: stated.evidence.iter().filter_map(id).collect(),
                    uncertainty: kept(&stated.uncertainty),
                    conflicts: texts(&stated.conflicts),
                    progress: kept(&stated.progress),
                    failures: texts(&stated.failures),
                },
            })
        };
        SearchProgress {
            facts: self.facts.iter().filter_map(fact).collect(),
            candidates: self.candidates.iter().filter_map(candidate).collect(),
            goals: self.goals.iter().map(goal).collect(),
            paths: self.paths.iter().filter_map(path).collect(),
            plan: self.rewrite.iter().filter_map(|it| it.change(&input.named).ok()).collect(),
        }
    }
}

impl Phase for TakeStock {
    const NAME: &'static str = "search_progress";
    type Input = ProgressInput;
    type Answer = ProgressAnswer;

    /// Whether values stand in their evidence, and which goals and paths there are, is for the controller to say:
    /// it records what does not count.
    fn problems(input: &ProgressInput, answer: &ProgressAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        for (at, fact) in answer.facts.iter().enumerate() {
            if let Err(reason) = finding(&input.ids, fact.evidence) {
                problems.push(format!("facts[{at}].evidence: {reason}"));
            }
            empty(&format!("facts[{at}].text"), &fact.text, &mut problems);
        }
        for (at, candidate) in answer.candidates.iter().enumerate() {
            if let Err(reason) = input.named.resolve(&candidate.entity) {
                problems.push(format!("candidates[{at}].entity: {reason}"));
            }
        }
        for (at, goal) in answer.goals.iter().enumerate() {
            score(&format!("goals[{at}].ratio"), goal.ratio, &mut problems);
        }
        for (at, path) in answer.paths.iter().enumerate() {
            if let Err(reason) = path_id(&path.path) {
                problems.push(format!("paths[{at}].path: {reason}"));
            }
            for number in &path.evidence {
                if let Err(reason) = finding(&input.ids, *number) {
                    problems.push(format!("paths[{at}].evidence: {reason}"));
                }
            }
        }
        for (at, change) in answer.rewrite.iter().enumerate() {
            if let Err(reason) = change.change(&input.named) {
                problems.push(format!("rewrite[{at}]: {reason}"));
            }
        }
        problems
    }

    /// One part that cannot be used says nothing against the others.
    fn without_refused(input: &ProgressInput, answer: &ProgressAnswer) -> Option<ProgressAnswer> {
        let nothing = ProgressAnswer {
            facts: Vec::new(),
            candidates: Vec::new(),
            goals: Vec::new(),
            paths: Vec::new(),
            rewrite: Vec::new(),
        };
        let is_usable = |part: ProgressAnswer| Self::problems(input, &part).is_empty();
        let mut left = answer.clone();
        left.facts
            .retain(|it| is_usable(ProgressAnswer { facts: vec![it.clone()], ..nothing.clone() }));
        left.candidates.retain(|it| {
            is_usable(ProgressAnswer { candidates: vec![it.clone()], ..nothing.clone() })
        });
        left.goals
            .retain(|it| is_usable(ProgressAnswer { goals: vec![it.clone()], ..nothing.clone() }));
        left.paths
            .retain(|it| is_usable(ProgressAnswer { paths: vec![it.clone()], ..nothing.clone() }));
        left.rewrite.retain(|it| {
            is_usable(ProgressAnswer { rewrite: vec![it.clone()], ..nothing.clone() })
        });
        (left != nothing).then_some(left)
    }
}
