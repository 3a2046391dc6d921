//! Lanes: the sub-machine of a specialist. Its steps wait in its slot, and become one entry.

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::EvidenceId;
use eog_core::contract::Failure;

use crate::ask::{CallAsk, Known, LaneAsk, Role, Scene, Tested};
use crate::body::Action;
use crate::config::Lanes;
use crate::lane::{
    Acts, CUT_SHORT, Came, FINISH, FinishArguments, LaneAction, LaneEnd, RECORD_FINDING,
    RecordArguments, RefusedFinding, Specialist, ToolAnswer, Turn, WRAP_UP,
};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};

/// What a lane begins with. Nothing that is committed later is known to it.
#[derive(Clone, Debug)]
pub(super) struct Brief {
    pub(super) scene: Arc<Scene>,
    pub(super) agent: Specialist,
    pub(super) hypothesis: Arc<Action>,
    pub(super) path: Vec<Tested>,
    pub(super) known: Arc<Vec<Known>>,
    pub(super) limits: Lanes,
}

/// A lane under way.
#[derive(Clone, Debug)]
pub(super) struct Lane {
    brief: Brief,
    turns: Vec<Turn>,
    /// What the specialist does, while its tool is asked.
    doing: Option<LaneAction>,
    /// How often that tool failed.
    failures: Vec<Failure>,
    /// Everything recorded so far.
    recorded: BTreeSet<EvidenceId>,
}

/// What follows in a lane.
#[derive(Debug)]
pub(super) enum Next {
    Ask(Role),
    End(Vec<Turn>, LaneEnd),
}

impl Lane {
    pub(super) fn new(brief: Brief) -> Self {
        let (turns, failures) = (Vec::new(), Vec::new());
        Self { brief, turns, doing: None, failures, recorded: BTreeSet::new() }
    }

    /// From the beginning.
    pub(super) fn again(&self) -> Self {
        Self::new(self.brief.clone())
    }

    /// Sees what was recorded meanwhile.
    #[cfg(feature = "planted-faults")]
    pub(super) fn share(&mut self, known: Vec<Known>) {
        self.brief.known = Arc::new(known);
    }

    /// How many calls the specialist made.
    fn calls(&self) -> u32 {
        u32::try_from(self.turns.iter().filter(|turn| turn.is_call()).count()).unwrap_or(u32::MAX)
    }

    /// The question for the next action.
    pub(super) fn question(&self) -> Role {
        let Brief { scene, agent, hypothesis, path, known, limits } = self.brief.clone();
        let left = limits.most.get().saturating_sub(self.calls());
        let turns = self.turns.clone();
        Role::Investigate(Arc::new(LaneAsk { scene, agent, hypothesis, path, known, turns, left }))
    }

    /// The specialist acts, or its call failed.
    pub(super) fn acts(&mut self, result: Result<LaneAction, Failure>) -> Next {
        let action = match result {
            Ok(action) => action,
            Err(failure) => {
                self.turns.push(Turn::Failed(failure.as_recorded()));
                let failed = |turn: &&Turn| matches!(turn, Turn::Failed(_));
                let calls = self.turns.iter().rev().filter(|turn| turn.is_call());
                let in_a_row = calls.take_while(failed).count();
                return match in_a_row > self.brief.limits.retries as usize {
                    true => self.end(LaneEnd::Failed),
                    false => self.go_on(),
                };
            }
        };
        let came = match action.call.tool.as_str() {
            FINISH => match serde_json::from_str::<FinishArguments>(&action.call.arguments) {
                Ok(_) => {
                    self.turns.push(Turn::Acted(Acts { action, came: Came::Finished }));
                    return self.end(LaneEnd::Finished);
                }
                Err(error) => Came::Refused(format!("{FINISH}: {error}")),
            },
            RECORD_FINDING => match serde_json::from_str(&action.call.arguments) {
                Ok(arguments) => self.record(&arguments),
                Err(error) => Came::Refused(format!("{RECORD_FINDING}: {error}")),
            },
            _ => {
                let Brief { scene, agent, .. } = &self.brief;
                let (scene, agent, call) = (Arc::clone(scene), *agent, action.call.clone());
                self.doing = Some(action);
                self.failures.clear();
                return Next::Ask(Role::Call(Arc::new(CallAsk { scene, agent, call })));
            }
        };
        self.turns.push(Turn::Acted(Acts { action, came }));
        self.go_on()
    }

    /// The tool answers, refuses or fails.
    pub(super) fn answered(
        &mut self,
        ask: Arc<CallAsk>,
        result: Result<Result<ToolAnswer, String>, Failure>,
    ) -> Next {
        let came = match result {
            Ok(Ok(answer)) => Came::Answered(answer),
            Ok(Err(reason)) => Came::Refused(reason),
            Err(failure) => {
                self.failures.push(failure.as_recorded());
                if self.failures.len() <= self.brief.limits.retries as usize {
                    return Next::Ask(Role::Call(ask));
                }
                Came::Failed(std::mem::take(&mut self.failures))
            }
        };
        if let Some(action) = self.doing.take() {
            self.turns.push(Turn::Acted(Acts { action, came }));
        }
        self.go_on()
    }

    /// A finding is recorded if the answer that it is to stand in, one of this lane, holds it.
    fn record(&mut self, arguments: &RecordArguments) -> Came {
        let number = usize::try_from(arguments.call).unwrap_or(usize::MAX);
        let mut calls = self.turns.iter().filter(|turn| turn.is_call());
        let turn = number.checked_sub(1).and_then(|before| calls.nth(before));
        let Some(Turn::Acted(Acts { came: Came::Answered(answer), .. })) = turn else {
            return Came::Refused(format!(
                "{RECORD_FINDING}: call {} of this investigation has no answer",
                arguments.call
            ));
        };
        let held = answer.evidence.iter().flat_map(|evidence| &evidence.context.findings);
        let held: Vec<EvidenceId> = held.map(|finding| finding.id().clone()).collect();
        let (mut findings, mut refused) = (Vec::new(), Vec::new());
        for id in &arguments.findings {
            #[cfg(feature = "planted-faults")]
            if is_planted(PlantedFault::QuotesOthers)
                && let Some(other) =
                    self.brief.known.iter().find(|it| it.finding.id().as_str() == id)
            {
                findings.push(other.finding.id().clone());
                continue;
            }
            match held.iter().find(|held| held.as_str() == id) {
                None => {
                    let id = id.chars().take(80).collect();
                    refused.push((id, RefusedFinding::NotInAnswer));
                }
                Some(id) if !self.recorded.insert(id.clone()) => {
                    refused.push((id.to_string(), RefusedFinding::Repeated));
                }
                Some(id) => findings.push(id.clone()),
            }
        }
        Came::Recorded { findings, refused }
    }

    fn go_on(&mut self) -> Next {
        let (calls, limits) = (self.calls(), self.brief.limits);
        #[cfg(feature = "planted-faults")]
        let calls = calls - u32::from(is_planted(PlantedFault::CountsLate) && calls > 0);
        if calls >= limits.most.get() {
            self.turns.push(Turn::Closed(CUT_SHORT.to_owned()));
            return self.end(LaneEnd::CutShort);
        }
        let is_asked = self.turns.iter().any(|turn| matches!(turn, Turn::Message(_)));
        if calls >= limits.wrap_up.get() && !is_asked {
            self.turns.push(Turn::Message(WRAP_UP.to_owned()));
        }
        Next::Ask(self.question())
    }

    fn end(&mut self, end: LaneEnd) -> Next {
        Next::End(std::mem::take(&mut self.turns), end)
    }
}
