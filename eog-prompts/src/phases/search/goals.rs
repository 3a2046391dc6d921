//! Goals with their paths, as lines.

use eog_core::EvidenceId;
use eog_evidence::mask_text;
use eog_search::ask::{GoalView, PathView, Status};
use eog_search::{Approach, Candidate, Fact, NodeId, TreeMem};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::path::{Detail, Named};
use super::{empty, kept};
use crate::phases::lines::cut;

/// A goal with its paths.
#[derive(Clone, Debug, Serialize)]
pub(super) struct GoalLine {
    goal: u32,
    status: &'static str,
    ratio: u16,
    about: String,
    question: String,
    needs: Vec<u32>,
    summary: String,
    paths: Vec<PathLine>,
}

/// A path of a goal.
#[derive(Clone, Debug, Serialize)]
pub(super) struct PathLine {
    path: String,
    status: &'static str,
    /// Whether it made a step in this round.
    ran: bool,
    /// Whether it may go back.
    may_return: bool,
    selected: u32,
    start: String,
    approach: String,
    success: String,
    summary: String,
    memory: Vec<MemoryLine>,
    given_up: Vec<MemoryLine>,
    /// The entities of its last steps.
    recent: Vec<String>,
}

/// What is kept at a node of a path.
#[derive(Clone, Debug, Serialize)]
struct MemoryLine {
    node: String,
    progress: String,
    uncertainty: String,
    conflicts: Vec<String>,
    failures: Vec<String>,
}

/// A fact.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FactLine {
    number: u32,
    text: String,
    values: Vec<String>,
}

/// What may be the answer.
#[derive(Clone, Debug, Serialize)]
pub(super) struct CandidateLine {
    entity: String,
    because: String,
}

/// Writes goals.
pub(super) struct Goals<'a> {
    pub(super) detail: Detail,
    /// The paths that made a step.
    pub(super) ran: &'a [NodeId],
    /// The paths that may go back.
    pub(super) may_return: &'a [NodeId],
}

impl Goals<'_> {
    fn text(&self, text: &str) -> String {
        cut(&mask_text(text), Some(self.detail.text))
    }

    pub(super) fn goal(&self, goal: &GoalView) -> GoalLine {
        GoalLine {
            goal: goal.goal,
            status: status(goal.status),
            ratio: goal.ratio,
            about: goal.about.to_string(),
            question: self.text(&goal.question),
            needs: goal.needs.clone(),
            summary: self.text(&goal.summary),
            paths: goal.paths.iter().map(|path| self.path(path)).collect(),
        }
    }

    pub(super) fn path(&self, path: &PathView) -> PathLine {
        let memory = |kept: &[(NodeId, TreeMem)]| kept.iter().map(|it| self.memory(it)).collect();
        PathLine {
            path: path.path.to_string(),
            status: status(path.status),
            ran: self.ran.contains(&path.path),
            may_return: self.may_return.contains(&path.path),
            selected: path.selected,
            start: path.approach.start.to_string(),
            approach: self.text(&path.approach.approach),
            success: self.text(&path.approach.success),
            summary: self.text(&path.summary),
            memory: memory(&path.memory),
            given_up: memory(&path.given_up),
            recent: path.recent.iter().map(|seen| seen.action.entity().to_string()).collect(),
        }
    }

    fn memory(&self, (node, memory): &(NodeId, TreeMem)) -> MemoryLine {
        let texts = |all: &[String]| all.iter().map(|text| self.text(text)).collect();
        MemoryLine {
            node: node.to_string(),
            progress: self.text(&memory.progress),
            uncertainty: self.text(&memory.uncertainty),
            conflicts: texts(&memory.conflicts),
            failures: texts(&memory.failures),
        }
    }

    pub(super) fn facts(&self, facts: &[Fact]) -> Vec<FactLine> {
        let line = |fact: &Fact| FactLine {
            number: fact.number,
            text: self.text(&fact.text),
            values: fact.values.iter().map(|value| self.text(value)).collect(),
        };
        facts.iter().map(line).collect()
    }

    pub(super) fn candidates(&self, candidates: &[Candidate]) -> Vec<CandidateLine> {
        let line = |candidate: &Candidate| CandidateLine {
            entity: candidate.entity.to_string(),
            because: self.text(&candidate.because),
        };
        candidates.iter().map(line).collect()
    }
}

fn status(status: Status) -> &'static str {
    match status {
        Status::Waiting => "waiting",
        Status::Open => "open",
        Status::Complete => "complete",
        Status::Closed => "closed",
    }
}

/// A way to reach a goal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedApproach {
    /// name of the entity that it starts from
    pub start: String,
    /// how it goes about it, in one sentence
    pub approach: String,
    /// what success is, in one sentence
    pub success: String,
}

impl StatedApproach {
    pub(super) fn approach(&self, named: &Named) -> Result<Approach, String> {
        let start = named.resolve(&self.start)?;
        Ok(Approach { start, approach: kept(&self.approach), success: kept(&self.success) })
    }

    pub(super) fn problems(&self, place: &str, named: &Named, problems: &mut Vec<String>) {
        if let Err(reason) = self.approach(named) {
            problems.push(format!("{place}.start: {reason}"));
        }
        empty(&format!("{place}.approach"), &self.approach, problems);
        empty(&format!("{place}.success"), &self.success, problems);
    }
}

/// A path by name.
pub(super) fn path_id(name: &str) -> Result<NodeId, String> {
    let id: Option<NodeId> = name.trim().parse().ok();
    id.ok_or_else(|| format!("{:?} is no path; paths are named as 1.2", kept(name)))
}

/// The finding of a number.
pub(super) fn finding(ids: &[EvidenceId], number: u32) -> Result<&EvidenceId, String> {
    let at = usize::try_from(number).ok().and_then(|number| number.checked_sub(1));
    at.and_then(|at| ids.get(at)).ok_or_else(|| format!("no evidence has the number {number}"))
}
