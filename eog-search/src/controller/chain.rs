//! A chain: one agent that acts, sees what comes of it, and acts again (ReAct, Yao et al. 2022, with the plan,
//! the phases and the forced end of appendix A of the EoG paper).

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::EntityId;
use eog_core::belief::Label;
use eog_core::contract::Failure;
use eog_evidence::shorten;

use super::SearchController;
use super::result::Done;
use super::slot::Task;
use crate::ask::{CompactAsk, ReactAsk};
use crate::body::{Action, Call, End, Looked, RefusedAction, SearchBody};
use crate::chain::{
    Called, ChainAction, ChainCame, ChainStep, Compacted, Deed, MAX_PLAN, PlanEdit, PlanStatus,
    PlanStep, Reacted, RefusedDeed,
};
use crate::config::Expansion;
use crate::id::{NodeId, Place};
use crate::lane::{Came, ToolCall};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::tree::{Ix, Phase};

/// The state of a chain beside its tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Chain {
    plan: Vec<PlanStep>,
    /// Every step so far that did something or was refused.
    steps: Vec<Step>,
    /// So many of them, from the first on, are in the summary.
    summarised: usize,
    summary: String,
    /// The causes that the agent named, once it concluded.
    causes: Option<BTreeSet<EntityId>>,
    /// The agent was asked to conclude, and answered.
    is_forced: bool,
}

/// A step, and what it takes to show it.
#[derive(Clone, Debug)]
struct Step {
    number: u32,
    action: Arc<ChainAction>,
    refused: Vec<(String, RefusedDeed)>,
    made: Made,
    bytes: usize,
}

#[derive(Clone, Debug)]
enum Made {
    /// The node of an evaluation, once it has come.
    Look(Ix),
    /// The entry of a call, once it has come.
    Call(Option<u64>),
    NotDone(RefusedAction),
}

impl SearchController {
    /// The plan of a chain, with the steps that are settled.
    pub fn plan_of_chain(&self) -> &[PlanStep] {
        &self.chain.plan
    }

    /// The causes that the agent of a chain named, if it concluded.
    pub fn concluded(&self) -> Option<&BTreeSet<EntityId>> {
        self.chain.causes.as_ref()
    }

    /// The next step, if there is one; a summary before it where too much was seen.
    pub(super) fn select_link(&mut self) -> Option<Task> {
        if !self.slots.is_empty() || self.end.is_some() {
            return None;
        }
        let rounds = self.config.stop().rounds.get();
        if self.begun >= rounds && self.chain.is_forced {
            self.end = Some(End::Rounds);
            return None;
        }
        if let Some(through) = self.overflow() {
            return Some(Task::Compact { through });
        }
        if self.begun >= rounds {
            return Some(Task::React { step: rounds.saturating_add(1) });
        }
        self.begun += 1;
        Some(Task::React { step: self.begun })
    }

    /// A fork goes on with a chain that had ended.
    pub(super) fn take_up_chain(&mut self) {
        self.chain.causes = None;
        self.chain.is_forced = false;
    }

    /// How many of the first steps have to become a summary: so many that the others take half of what may be
    /// shown, but never the last step.
    fn overflow(&self) -> Option<usize> {
        let Expansion::Chain { shown, .. } = self.config.expansion() else { return None };
        let most = shown.get() as usize;
        let left = &self.chain.steps[self.chain.summarised..];
        let mut total =
            left.iter().map(|step| step.bytes).sum::<usize>() + self.chain.summary.len();
        if total <= most || left.len() < 2 {
            return None;
        }
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::ForgetsNewest) {
            return Some(self.chain.steps.len());
        }
        let mut through = self.chain.summarised;
        for step in &left[..left.len() - 1] {
            total -= step.bytes;
            through += 1;
            if total <= most / 2 {
                break;
            }
        }
        Some(through)
    }

    pub(super) fn react_ask(&self, step: u32) -> Arc<ReactAsk> {
        let rounds = self.config.stop().rounds.get();
        let from = self.chain.summarised;
        #[cfg(feature = "planted-faults")]
        let from = if is_planted(PlantedFault::ShowsAgain) { 0 } else { from };
        Arc::new(ReactAsk {
            scene: Arc::clone(&self.scene),
            plan: self.chain.plan.clone(),
            summary: self.chain.summary.clone(),
            steps: self.shown_steps(from, self.chain.steps.len()),
            left: rounds.saturating_add(1).saturating_sub(step),
        })
    }

    pub(super) fn compact_ask(&self, through: usize) -> Arc<CompactAsk> {
        Arc::new(CompactAsk {
            scene: Arc::clone(&self.scene),
            summary: self.chain.summary.clone(),
            steps: self.shown_steps(self.chain.summarised, through),
            at_most: self.most_of_summary(),
        })
    }

    /// A quarter of what may be shown.
    fn most_of_summary(&self) -> u32 {
        match self.config.expansion() {
            Expansion::Chain { shown, .. } => (shown.get() / 4).max(1),
            _ => u32::MAX,
        }
    }

    fn shown_steps(&self, from: usize, to: usize) -> Vec<ChainStep> {
        let steps = self.chain.steps.get(from..to).unwrap_or_default();
        let shown = |step: &Step| {
            let came = match &step.made {
                Made::Look(node) => {
                    let action = self.tree.node(*node).action()?;
                    let done =
                        Done { action: Arc::clone(action), entry: self.tree.node(*node).entry() };
                    ChainCame::Looked(self.seen(&[done]).pop()?)
                }
                Made::Call(entry) => match &self.ledger.entry((*entry)?)?.body {
                    SearchBody::Called(called) => ChainCame::Called(called.came.clone()),
                    _ => return None,
                },
                Made::NotDone(why) => ChainCame::Refused(*why),
            };
            let (action, refused) = (Arc::clone(&step.action), step.refused.clone());
            Some(ChainStep { number: step.number, action, refused, came })
        };
        steps.iter().filter_map(shown).collect()
    }

    /// The entities that the agent evaluated and that are not in the summary.
    pub(super) fn remembered_looks(&self) -> Vec<EntityId> {
        let steps = &self.chain.steps[self.chain.summarised..];
        let entity = |step: &Step| match &step.made {
            Made::Look(node) => Some(self.tree.node(*node).action()?.entity().clone()),
            _ => None,
        };
        steps.iter().filter_map(entity).collect()
    }

    /// The agent acted, or gave no answer.
    pub(super) fn commit_reacted(
        &mut self,
        number: u32,
        failures: Vec<Failure>,
        action: Option<ChainAction>,
    ) {
        let forced = number > self.config.stop().rounds.get();
        #[cfg(feature = "planted-faults")]
        let forced = forced && !is_planted(PlantedFault::GoesOn);
        self.chain.is_forced |= forced;
        let Some(action) = action.map(Arc::new) else {
            let (action, refused, not_done) = (None, Vec::new(), None);
            let reacted = Reacted { step: number, failures, action, refused, not_done };
            self.ledger.append(SearchBody::Reacted(Box::new(reacted)));
            self.end = Some(End::Unanswered);
            return;
        };
        let mut refused = self.edit_plan(&action.plan);
        if let Some(step) = action.step
            && let Some(why) = self.unsettled(step).err()
        {
            refused.push(("step".to_owned(), why));
        }
        if let Deed::Conclude { causes, .. } = &action.deed {
            let named = self.named(causes, &mut refused);
            self.chain.causes = Some(named);
            self.end = Some(End::Concluded);
        }
        let is_doing = !forced && self.end.is_none();
        let not_done = match &action.deed {
            Deed::Look(entity) if is_doing && !self.known.is_known(entity) => {
                Some(RefusedAction::UnknownEntity)
            }
            Deed::Look(_) | Deed::Call(_) if forced => Some(RefusedAction::TooMany),
            _ => None,
        };
        let reacted = Reacted {
            step: number,
            failures,
            action: Some(Arc::clone(&action)),
            refused: refused.clone(),
            not_done,
        };
        let bytes = bytes_of(&*action);
        self.ledger.append(SearchBody::Reacted(Box::new(reacted)));
        if self.end.is_some() || forced {
            return;
        }
        let made = match (not_done, &action.deed) {
            (Some(why), _) => Made::NotDone(why),
            (None, Deed::Look(entity)) => {
                let look = Action::look(entity.clone(), action.thought.clone());
                let node = self.tree.add(Ix::ROOT, Arc::new(look));
                self.follow_ups.push_back(Task::Glance { node });
                Made::Look(node)
            }
            (None, Deed::Call(call)) => {
                let about = self.about(call);
                let call = Call::Use { about, call: call.clone() };
                let node = self
                    .tree
                    .add(Ix::ROOT, Arc::new(Action { thought: action.thought.clone(), call }));
                self.follow_ups.push_back(Task::Use { node, step: number });
                Made::Call(None)
            }
            (None, Deed::Conclude { .. }) => return,
        };
        self.chain.steps.push(Step { number, action, refused, made, bytes });
    }

    /// The plan with its changes; which of them do not count, and why.
    fn edit_plan(&mut self, edits: &[PlanEdit]) -> Vec<(String, RefusedDeed)> {
        let mut refused = Vec::new();
        for (at, edit) in (1..).zip(edits) {
            let why = match edit {
                PlanEdit::Add(_) if self.chain.plan.len() >= MAX_PLAN => Err(RefusedDeed::TooMany),
                PlanEdit::Add(text) => {
                    let number = u32::try_from(self.chain.plan.len() + 1).unwrap_or(u32::MAX);
                    let (text, status) = (text.clone(), PlanStatus::Open);
                    self.chain.plan.push(PlanStep { number, text, status });
                    Ok(())
                }
                PlanEdit::Done(step) => self.settle_plan(*step, PlanStatus::Done),
                PlanEdit::Withdraw(step) => self.settle_plan(*step, PlanStatus::Withdrawn),
            };
            if let Err(why) = why {
                refused.push((format!("plan {at}"), why));
            }
        }
        refused
    }

    /// A step of the plan that is still open, by position.
    fn unsettled(&self, step: u32) -> Result<usize, RefusedDeed> {
        let at = (step as usize).checked_sub(1).ok_or(RefusedDeed::UnknownStep)?;
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::SettlesTwice) && at < self.chain.plan.len() {
            return Ok(at);
        }
        match self.chain.plan.get(at).ok_or(RefusedDeed::UnknownStep)?.status {
            PlanStatus::Open => Ok(at),
            PlanStatus::Done | PlanStatus::Withdrawn => Err(RefusedDeed::SettledStep),
        }
    }

    fn settle_plan(&mut self, step: u32, status: PlanStatus) -> Result<(), RefusedDeed> {
        let at = self.unsettled(step)?;
        self.chain.plan[at].status = status;
        Ok(())
    }

    /// The named causes that are valid: the last evaluation of each found an origin.
    fn named(
        &self,
        causes: &[EntityId],
        refused: &mut Vec<(String, RefusedDeed)>,
    ) -> BTreeSet<EntityId> {
        let mut named = BTreeSet::new();
        for (at, cause) in (1..).zip(causes) {
            let last = self.links().into_iter().rev().find(|look| look.entity == *cause);
            #[cfg(feature = "planted-faults")]
            if last.is_none() && is_planted(PlantedFault::NamesUnseen) {
                named.insert(cause.clone());
                continue;
            }
            let why = match last {
                None => Some(RefusedDeed::NotLookedAt),
                Some(look) if look.belief.label != Label::Origin => Some(RefusedDeed::NoOrigin),
                Some(_) => None,
            };
            match why {
                Some(why) => refused.push((format!("cause {at}"), why)),
                None => {
                    named.insert(cause.clone());
                }
            }
        }
        named
    }

    /// The entity that a call names; else the one that was evaluated last, or the first seed.
    fn about(&self, call: &ToolCall) -> EntityId {
        let arguments: serde_json::Value =
            serde_json::from_str(&call.arguments).unwrap_or_default();
        let named = arguments.get("entity").and_then(|it| EntityId::new(it.as_str()?).ok());
        let last = || self.links().last().map(|look| look.entity.clone());
        let first = || self.scene.seeds.first().map(|seed| seed.entity.clone());
        let named = named.or_else(last).or_else(first);
        named.unwrap_or_else(|| Place::node(NodeId::root()).key().clone())
    }

    /// Every evaluation of the chain, oldest first.
    fn links(&self) -> Vec<&Looked> {
        self.looks_of_chain().into_iter().filter_map(|entry| self.looked(entry)).collect()
    }

    fn looks_of_chain(&self) -> Vec<u64> {
        let entry = |step: &Step| match &step.made {
            Made::Look(node) => self.tree.node(*node).entry(),
            _ => None,
        };
        self.chain.steps.iter().filter_map(entry).collect()
    }

    /// The evaluations that the result rests on: all of them, but those of origins that the conclusion does not
    /// name.
    pub(super) fn looks_of_conclusion(&self) -> Option<(Ix, Vec<u64>)> {
        let mut looks = self.looks_of_chain();
        if let Some(causes) = &self.chain.causes {
            looks.retain(|entry| {
                self.looked(*entry).is_some_and(|look| {
                    look.belief.label != Label::Origin || causes.contains(&look.entity)
                })
            });
        }
        let last = self.tree.indexes().filter(|ix| self.tree.node(*ix).entry().is_some()).last();
        Some((last?, looks))
    }

    /// An evaluation of the chain has come.
    pub(super) fn commit_glance(&mut self, node: Ix, entry: u64, failed: bool) {
        self.tree.node_mut(node).phase = if failed { Phase::Failed } else { Phase::Scored };
        let bytes = self.looked(entry).map_or(0, |look| {
            let context = look.context.as_ref().and_then(|it| self.ledger.context(&it.digest));
            context.map_or(0, bytes_of) + bytes_of(&look.belief)
        });
        if let Some(step) = self.chain.steps.last_mut() {
            step.bytes += bytes;
        }
    }

    /// A call of the chain was answered, or not.
    pub(super) fn commit_used(&mut self, node: Ix, number: u32, came: Came) {
        let entry = self.ledger.next_seq();
        self.learn_from(&came, entry);
        let answered = matches!(came, Came::Answered(_));
        let it = self.tree.node_mut(node);
        it.phase = if answered { Phase::Scored } else { Phase::Failed };
        it.set_entry(entry);
        let Some(Call::Use { call, .. }) = it.action().map(|action| action.call.clone()) else {
            return;
        };
        let bytes = bytes_of(&came);
        let called = Called { step: number, call, came };
        self.ledger.append(SearchBody::Called(Box::new(called)));
        if let Some(step) = self.chain.steps.last_mut() {
            step.made = Made::Call(Some(entry));
            step.bytes += bytes;
        }
    }

    /// The oldest steps became a summary; where the call failed they are forgotten.
    pub(super) fn commit_compacted(
        &mut self,
        through: usize,
        failures: Vec<Failure>,
        text: Option<String>,
    ) {
        let most = self.most_of_summary() as usize;
        #[cfg(feature = "planted-faults")]
        let most = if is_planted(PlantedFault::KeepsLongSummaries) { usize::MAX } else { most };
        let number = through.checked_sub(1).and_then(|at| self.chain.steps.get(at));
        let number = number.map_or(0, |step| step.number);
        self.chain.summary = match &text {
            // One more character marks that something was cut.
            Some(text) => shorten(text, most.saturating_sub(1)),
            None => self.chain.summary.clone(),
        };
        self.chain.summarised = through;
        let compacted = Compacted { through: number, failures, text };
        self.ledger.append(SearchBody::Compacted(Box::new(compacted)));
    }
}

/// How much there is to show.
fn bytes_of(shown: &impl serde::Serialize) -> usize {
    serde_json::to_string(shown).map_or(0, |text| text.len())
}
