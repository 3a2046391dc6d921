//! Repeating a ledger: the task whose turn it is gets what its entry records.

use eog_core::contract::Failure;
use eog_core::ledger::RecordedAnswer;
use eog_core::ledger::RestoreError;
use eog_core::machine::{Machine as _, Ticket};
use eog_core::{Entry, Usage};

use super::SearchController;
use crate::ask::{Answer, Role};
use crate::body::{Action, Drawn, Investigated, Looked, PlanTry, Proposed, SearchBody};
use crate::lane::{Acts, Came, FINISH, RECORD_FINDING, Turn};
use crate::seek::Try;

type Reply = Result<Answer, Failure>;

impl SearchController {
    /// Derives a recorded entry again.
    pub(super) fn derive(&mut self, entry: &Entry<SearchBody>) -> Result<(), RestoreError> {
        let seq = entry.seq;
        match &entry.body {
            SearchBody::SearchOpened(_) => {
                return Err(RestoreError::differs(seq, "a step of the search", "an opening"));
            }
            SearchBody::Forked(forked) => self.depart(forked.as_ref().clone()),
            SearchBody::Ended(_) => self.record_end(),
            SearchBody::Steered(steered) if steered.tries.is_empty() => self.draw(),
            body => {
                for reply in self.replies(seq, body)? {
                    self.give(seq, reply)?;
                }
            }
        }
        Ok(())
    }

    /// Gives the oldest task an answer.
    fn give(&mut self, seq: u64, reply: Reply) -> Result<(), RestoreError> {
        let ticket = Ticket::new(self.next_ticket);
        let Some(slot) = self.slots.front_mut().filter(|_| self.end.is_none()) else {
            return Err(RestoreError::differs(seq, "the end of the search", "a further step"));
        };
        if slot.hand_out(ticket).is_none() {
            return Err(RestoreError::differs(seq, "no further answer", "an answer"));
        }
        self.next_ticket += 1;
        let taken = self.take(ticket, reply, Usage::default());
        taken.map_err(|error| RestoreError::differs(seq, "an answer that fits", error))
    }

    /// What came back for the questions that an entry answers, oldest first.
    fn replies(&self, seq: u64, body: &SearchBody) -> Result<Vec<Reply>, RestoreError> {
        let owned = |action: &std::sync::Arc<Action>| action.as_ref().clone();
        Ok(match body {
            SearchBody::Proposed(proposed) if !proposed.drawn.is_empty() => draws(proposed),
            SearchBody::Proposed(proposed) => match (&proposed.actions, &proposed.failure) {
                (Some(actions), _) => {
                    vec![Ok(Answer::Actions(actions.iter().map(owned).collect()))]
                }
                (None, failure) => vec![Err(recorded(failure.as_ref()))],
            },
            SearchBody::Acted(acted) | SearchBody::Stepped(acted) => match &acted.failure {
                Some(failure) => vec![Err(failure.clone())],
                None => vec![Ok(Answer::Action(acted.action.as_ref().map(owned)))],
            },
            SearchBody::Looked(looked) => self.look_replies(seq, looked)?,
            SearchBody::Scored(scored) => {
                after(&scored.failures, scored.verdict.clone().map(Answer::Verdict))
            }
            SearchBody::Planned(planned) => {
                let reply = |tried: &PlanTry| match tried {
                    PlanTry::Applied(actions) | PlanTry::Refused { actions, .. } => {
                        Ok(Answer::Plan(actions.clone()))
                    }
                    PlanTry::Failed(failure) => Err(failure.clone()),
                };
                planned.tries.iter().map(reply).collect()
            }
            SearchBody::Investigated(investigated) => lane_replies(investigated),
            SearchBody::Reflected(reflected) => match &reflected.text {
                Some(text) => vec![Ok(Answer::Reflection(text.clone()))],
                None => vec![Err(recorded(reflected.failure.as_ref()))],
            },
            SearchBody::Decomposed(it) => {
                it.tries.iter().map(|it| tried(it, Answer::Goals)).collect()
            }
            SearchBody::Steered(it) => {
                it.tries.iter().map(|it| tried(it, Answer::Steering)).collect()
            }
            SearchBody::Progressed(it) => {
                after(&it.failures, it.progress.clone().map(Answer::Progress))
            }
            SearchBody::Reacted(it) => {
                let action = it.action.as_ref().map(|action| Answer::Chain((**action).clone()));
                after(&it.failures, action)
            }
            SearchBody::Called(it) => tool_replies(&it.came),
            SearchBody::Used(it) => tool_replies(&it.came),
            SearchBody::Compacted(it) => after(&it.failures, it.text.clone().map(Answer::Summary)),
            SearchBody::SearchOpened(_) | SearchBody::Ended(_) | SearchBody::Forked(_) => {
                Vec::new()
            }
        })
    }

    fn look_replies(&self, seq: u64, looked: &Looked) -> Result<Vec<Reply>, RestoreError> {
        let mut replies = Vec::new();
        let asks_for_context = self.slots.front().and_then(super::slot::Slot::asks);
        let asks_for_context = !matches!(asks_for_context, Some(Role::Decide(_)));
        if let Some(record) = looked.context.as_ref().filter(|_| asks_for_context) {
            let context = record.body.as_ref().or_else(|| self.ledger.context(&record.digest));
            let missing = || RestoreError::differs(seq, "a recorded context", record.digest);
            replies.push(Ok(Answer::Context(context.cloned().ok_or_else(missing)?)));
        }
        match &looked.answer {
            RecordedAnswer::Decided(decision) => {
                replies.push(Ok(Answer::Decision(decision.clone())));
            }
            RecordedAnswer::Failed(failure) => replies.push(Err(failure.clone())),
            RecordedAnswer::Remembered { .. } => {}
        }
        Ok(replies)
    }
}

/// What each draw of actions gave.
fn draws(proposed: &Proposed) -> Vec<Reply> {
    let mut actions = proposed.actions.iter().flatten();
    let draw = |drawn: &Drawn| match &drawn.failure {
        Some(failure) => Err(failure.clone()),
        None => {
            let own = actions.by_ref().take(drawn.actions as usize);
            Ok(Answer::Actions(own.map(|action| action.as_ref().clone()).collect()))
        }
    };
    proposed.drawn.iter().map(draw).collect()
}

/// What a tool answered, after how many failures.
fn tool_replies(came: &Came) -> Vec<Reply> {
    match came {
        Came::Answered(answer) => vec![Ok(Answer::Tool(Ok(answer.clone())))],
        Came::Refused(reason) => vec![Ok(Answer::Tool(Err(reason.clone())))],
        Came::Failed(failures) => failures.iter().cloned().map(Err).collect(),
        Came::Recorded { .. } | Came::Finished => Vec::new(),
    }
}

/// What came back in a lane: an action each time, and what its tool answered.
fn lane_replies(investigated: &Investigated) -> Vec<Reply> {
    let mut replies = Vec::new();
    for turn in &investigated.turns {
        match turn {
            Turn::Acted(Acts { action, came }) => {
                replies.push(Ok(Answer::Lane(action.clone())));
                let is_own = [RECORD_FINDING, FINISH].contains(&action.call.tool.as_str());
                match came {
                    Came::Answered(answer) => replies.push(Ok(Answer::Tool(Ok(answer.clone())))),
                    Came::Refused(reason) if !is_own => {
                        replies.push(Ok(Answer::Tool(Err(reason.clone()))));
                    }
                    Came::Failed(failures) => {
                        replies.extend(failures.iter().cloned().map(Err));
                    }
                    Came::Refused(_) | Came::Recorded { .. } | Came::Finished => {}
                }
            }
            Turn::Failed(failure) => replies.push(Err(failure.clone())),
            Turn::Message(_) | Turn::Closed(_) => {}
        }
    }
    replies
}

/// The failures, and what followed them.
fn after(failures: &[Failure], answer: Option<Answer>) -> Vec<Reply> {
    failures.iter().cloned().map(Err).chain(answer.map(Ok)).collect()
}

fn tried<T: Clone>(tried: &Try<T>, answer: fn(T) -> Answer) -> Reply {
    match tried {
        Try::Applied(given) | Try::Refused { answer: given, .. } => Ok(answer(given.clone())),
        Try::Failed(failure) => Err(failure.clone()),
    }
}

fn recorded(failure: Option<&Failure>) -> Failure {
    failure.cloned().unwrap_or_else(|| Failure::policy("not recorded"))
}
