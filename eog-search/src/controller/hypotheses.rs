//! Hypotheses: select one of those pending, let specialists investigate it, weigh the evidence, weigh the
//! other hypotheses again, expand.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use eog_core::contract::{Failure, LocalContext};
use eog_core::{Digest, EntityId, EvidenceId};

use super::SearchController;
use super::lane::{Brief, Lane};
use super::slot::Task;
use crate::arithmetic::{ln, pending_bound};
use crate::ask::{HypothesizeAsk, Known, Tested, WeighAsk};
use crate::body::{Action, End, Hypothesis, Investigated, Purpose, Scored, SearchBody, Verdict};
use crate::config::{Backup, Expansion};
use crate::id::{NodeId, Place};
use crate::lane::{Came, LaneEnd, Specialist, StoredFinding, Turn, kept};
#[cfg(feature = "planted-faults")]
use crate::planted::{PlantedFault, is_planted};
use crate::tree::{Ix, Phase};

/// The state of a search by hypotheses beside its tree.
#[derive(Clone, Debug, Default)]
pub(super) struct Trials {
    /// Rounds under way, by number.
    open: BTreeMap<u32, Trial>,
    /// Every finding that was recorded, oldest first.
    findings: Vec<StoredFinding>,
    /// Which these are.
    ids: BTreeSet<EvidenceId>,
    /// Of each entity, what was recorded, with what its contexts had beside findings.
    gathered: BTreeMap<EntityId, LocalContext>,
    /// The last score of each hypothesis.
    verdicts: BTreeMap<Ix, Weighed>,
    /// Hypotheses that get another score.
    again: BTreeSet<Ix>,
    /// Hypotheses that would have been expanded, had the search not ended: a fork may go on.
    held_back: Vec<(Ix, u32)>,
}

/// A round under way.
#[derive(Clone, Copy, Debug)]
struct Trial {
    node: Ix,
    /// Specialists whose lanes are not committed yet.
    lanes: usize,
    /// Other hypotheses whose scores are not committed yet.
    weighs: usize,
}

/// The last score of a hypothesis.
#[derive(Clone, Debug)]
struct Weighed {
    verdict: Option<Verdict>,
    /// How many findings were known when it was asked for.
    known: usize,
    /// Whether a later score failed.
    stale: bool,
}

impl SearchController {
    /// Every finding that specialists recorded, oldest first, each with who recorded it for which
    /// hypothesis, and the call that gave it.
    pub fn findings(&self) -> &[StoredFinding] {
        &self.trials.findings
    }

    /// The last score of a hypothesis with reasoning, evidence and gaps, and whether it is stale: a later
    /// one failed.
    pub fn weighed(&self, node: &NodeId) -> Option<(&Verdict, bool)> {
        let weighed = self.trials.verdicts.get(&self.tree.find(node)?)?;
        Some((weighed.verdict.as_ref()?, weighed.stale))
    }

    /// Begins the next round, if there is one. With nothing under way, says why there is none.
    pub(super) fn select_pending(&mut self, c: u64) -> Option<Task> {
        if self.tree.len() == 1 && self.begun == 0 && !self.is_planned {
            self.is_planned = true;
            return Some(Task::Hypothesize { node: Ix::ROOT, round: 0 });
        }
        let is_idle = self.slots.is_empty() && self.trials.open.is_empty();
        if self.begun >= self.config.stop().rounds.get() {
            self.end = is_idle.then_some(End::Rounds);
            return None;
        }
        // A round for each three of the width, so that one is chosen by what those before it showed.
        let all = Specialist::ALL.len();
        if self.trials.open.len() >= (self.config.width().get() as usize).div_ceil(all) {
            return None;
        }
        let Some(node) = self.pending(c) else {
            self.end = is_idle.then_some(End::Exhausted);
            return None;
        };
        self.begun += 1;
        let round = self.begun;
        self.tree.begin(node);
        self.tree.node_mut(node).phase = Phase::Running;
        let agents = self.tree.node(node).action().and_then(|action| action.hypothesis());
        let agents = agents.map(Hypothesis::agents).unwrap_or_default();
        self.trials.open.insert(round, Trial { node, lanes: agents.len(), weighs: 0 });
        let mut tasks = agents.into_iter().map(|agent| Task::Lane { node, round, agent });
        let first = tasks.next();
        self.follow_ups.extend(tasks);
        first
    }

    /// The pending hypothesis with the highest bound: the first ones before all others; of equal ones the
    /// shallower, then by path.
    fn pending(&self, c: u64) -> Option<Ix> {
        #[cfg(feature = "planted-faults")]
        let c = if is_planted(PlantedFault::NeverExplores) { 0 } else { c };
        let best = self.backed_up();
        let around = ln(1 + self.tree.node(Ix::ROOT).seen());
        let pending = |ix: &Ix| self.tree.node(*ix).phase == Phase::Pending;
        self.tree.indexes().filter(pending).min_by_key(|ix| {
            let parent = self.tree.parent(*ix).unwrap_or(Ix::ROOT);
            let below = self.tree.node(parent).seen();
            let bound = match parent {
                Ix::ROOT => u128::MAX,
                _ => pending_bound(best.get(&parent).copied().unwrap_or(0), below, around, c),
            };
            (Reverse(bound), self.tree.node(*ix).depth(), self.tree.id(*ix))
        })
    }

    /// Of each node what the scores of its own and of what stands below it amount to, where there are any:
    /// the highest, or their mean rounded down.
    fn backed_up(&self) -> BTreeMap<Ix, u16> {
        // Of each node the highest, the sum and the number of scores.
        let mut scores: BTreeMap<Ix, (u16, u64, u64)> = BTreeMap::new();
        let all: Vec<Ix> = self.tree.indexes().collect();
        // Children stand after their parents.
        for ix in all.into_iter().rev() {
            if let Some(own) = self.tree.node(ix).score().filter(|_| self.counts(ix)) {
                add(scores.entry(ix).or_default(), (own, u64::from(own), 1));
            }
            #[cfg(feature = "planted-faults")]
            if is_planted(PlantedFault::IgnoresBelow) {
                continue;
            }
            if let (Some(parent), Some(of)) = (self.tree.parent(ix), scores.get(&ix).copied()) {
                add(scores.entry(parent).or_default(), of);
            }
        }
        let is_mean = self.config.backup() == Backup::Mean;
        let mean = |(highest, sum, number): (u16, u64, u64)| match sum.checked_div(number) {
            Some(mean) if is_mean => u16::try_from(mean).unwrap_or(highest),
            _ => highest,
        };
        scores.into_iter().map(|(ix, of)| (ix, mean(of))).collect()
    }

    pub(super) fn lane(&self, node: Ix, agent: Specialist) -> Option<Lane> {
        let Expansion::Hypotheses { lanes: limits, .. } = self.config.expansion() else {
            return None;
        };
        let hypothesis = Arc::clone(self.tree.node(node).action()?);
        let mut path = self.tested_on_the_way(node);
        path.pop();
        let known = Arc::new(self.known_findings());
        let scene = Arc::clone(&self.scene);
        Some(Lane::new(Brief { scene, agent, hypothesis, path, known, limits }))
    }

    pub(super) fn known_findings(&self) -> Vec<Known> {
        let known =
            |stored: &StoredFinding| Known { agent: stored.agent, finding: stored.finding.clone() };
        self.trials.findings.iter().map(known).collect()
    }

    /// What was recorded of an entity.
    pub(super) fn gathered(&self, entity: &EntityId) -> LocalContext {
        self.trials.gathered.get(entity).cloned().unwrap_or_default()
    }

    fn tested(&self, ix: Ix) -> Option<Tested> {
        let seen = self.seen(&self.way_to(ix)).pop()?;
        let verdict = self.trials.verdicts.get(&ix).and_then(|weighed| weighed.verdict.clone());
        Some(Tested { seen, verdict })
    }

    fn tested_on_the_way(&self, ix: Ix) -> Vec<Tested> {
        self.tree.path(ix).into_iter().filter_map(|ix| self.tested(ix)).collect()
    }

    fn tested_besides(&self, ix: Ix, only: impl Fn(Ix) -> bool) -> Vec<Tested> {
        let path = self.tree.up_from(ix);
        let besides = self.tree.indexes().skip(1).filter(|other| !path.contains(other));
        besides.filter(|other| only(*other)).filter_map(|other| self.tested(other)).collect()
    }

    pub(super) fn hypothesize(&self, node: Ix) -> Arc<HypothesizeAsk> {
        let gaps = self.trials.verdicts.get(&node).and_then(|weighed| weighed.verdict.as_ref());
        Arc::new(HypothesizeAsk {
            scene: Arc::clone(&self.scene),
            path: self.tested_on_the_way(node),
            others: self.tested_besides(node, |_| self.config.shows_siblings() == Some(true)),
            gaps: gaps.map(|verdict| verdict.gaps.clone()).unwrap_or_default(),
            known: self.known_findings(),
            at_most: self.most_below(node),
        })
    }

    fn most_below(&self, node: Ix) -> u32 {
        match self.config.expansion() {
            Expansion::Hypotheses { initial, .. } if node == Ix::ROOT => initial.get(),
            Expansion::Hypotheses { children, .. } => children.get(),
            _ => 0,
        }
    }

    pub(super) fn weigh(&self, node: Ix) -> Arc<WeighAsk> {
        let was_evaluated = |ix: Ix| self.tree.node(ix).entry().is_some();
        Arc::new(WeighAsk {
            scene: Arc::clone(&self.scene),
            path: self.tested_on_the_way(node),
            others: self.tested_besides(node, was_evaluated),
            known: self.known_findings(),
            accept: self.config.stop().accept,
        })
    }

    /// Hypotheses came, at the root or below one that was investigated.
    pub(super) fn commit_hypotheses(
        &mut self,
        node: Ix,
        round: u32,
        result: Result<Vec<Action>, Failure>,
    ) {
        let most = self.most_below(node) as usize;
        let (taken, count) = self.record_proposed(
            (node, round, most),
            (result, Vec::new()),
            Action::unfit_for_specialists,
        );
        for action in taken {
            self.tree.add(node, action);
        }
        if count.is_none() && node == Ix::ROOT {
            self.end = Some(End::PlannerFailed);
        }
    }

    /// The lane of a specialist has ended: its findings are known from now on.
    pub(super) fn commit_lane(
        &mut self,
        (node, round, agent): (Ix, u32, Specialist),
        turns: Vec<Turn>,
        end: LaneEnd,
    ) {
        let entry = self.ledger.next_seq();
        self.store(node, agent, entry, &turns);
        let id = self.tree.id(node);
        let investigated = Investigated { node: id, round, agent, turns, end };
        self.ledger.append(SearchBody::Investigated(Box::new(investigated)));
        let Some(trial) = self.trials.open.get_mut(&round) else { return };
        trial.lanes -= 1;
        if trial.lanes == 0 {
            self.follow_ups.push_back(Task::Examine { node, round, again: false });
        }
    }

    /// The entity of a hypothesis of which no specialist saw anything, since the source failed. Nothing
    /// is judged from that: the source is asked once more, as for any evaluation.
    pub(super) fn unseen(&self, node: Ix) -> Option<EntityId> {
        let id = self.tree.id(node);
        let lanes = self.ledger.entries().iter().filter_map(|entry| match &entry.body {
            SearchBody::Investigated(lane) if lane.node == id => Some(lane),
            _ => None,
        });
        let came = lanes.flat_map(|lane| &lane.turns).filter_map(|turn| match turn {
            Turn::Acted(acts) => Some(&acts.came),
            _ => None,
        });
        let is_dead = |failures: &[Failure]| failures.iter().all(|it| it.kind.is_context());
        let mut failed = false;
        for came in came {
            match came {
                Came::Answered(_) | Came::Recorded { .. } => return None,
                Came::Failed(failures) => failed |= is_dead(failures),
                Came::Refused(_) | Came::Finished => {}
            }
        }
        let entity = self.tree.node(node).action().filter(|_| failed)?.entity();
        (!self.trials.gathered.contains_key(entity)).then(|| entity.clone())
    }

    /// Takes what a lane recorded into the store of findings.
    fn store(&mut self, node: Ix, agent: Specialist, entry: u64, turns: &[Turn]) {
        let recorded: BTreeSet<&EvidenceId> = turns
            .iter()
            .filter_map(|turn| match turn {
                Turn::Acted(acts) => Some(&acts.came),
                _ => None,
            })
            .flat_map(|came| match came {
                Came::Recorded { findings, .. } => &findings[..],
                _ => &[],
            })
            .collect();
        let id = self.tree.id(node);
        let mut stored: BTreeSet<EvidenceId> = BTreeSet::new();
        let calls = turns.iter().filter(|turn| turn.is_call());
        for (call, turn) in (1..).zip(calls) {
            let Turn::Acted(acts) = turn else { continue };
            let Came::Answered(answer) = &acts.came else { continue };
            let Some(evidence) = &answer.evidence else { continue };
            let is_recorded = |id: &EvidenceId| recorded.contains(id);
            for finding in &evidence.context.findings {
                if is_recorded(finding.id()) && stored.insert(finding.id().clone()) {
                    self.trials.ids.insert(finding.id().clone());
                    self.trials.findings.push(StoredFinding {
                        finding: finding.clone(),
                        agent,
                        node: id.clone(),
                        entry,
                        call,
                        made: acts.action.call.clone(),
                    });
                }
            }
            let context = evidence.context.clone();
            let context = kept(context, |finding| is_recorded(finding.id()));
            let gathered = self.trials.gathered.entry(evidence.entity.clone()).or_default();
            let together = std::mem::take(gathered).followed_by(context);
            // Further pages are asked for by specialists, if at all.
            *gathered = LocalContext { pages_left: 0, ..together };
        }
    }

    /// A hypothesis was judged by what specialists found.
    pub(super) fn commit_examined(&mut self, (node, round, again): (Ix, u32, bool), failed: bool) {
        if failed && !again {
            self.tree.node_mut(node).phase = Phase::Failed;
            return self.weigh_others(node, round);
        }
        self.follow_ups.push_back(Task::Weigh { node, round, again });
    }

    /// A hypothesis has a score, or the call failed.
    pub(super) fn commit_weighed(
        &mut self,
        (node, round, again): (Ix, u32, bool),
        known: usize,
        failures: Vec<Failure>,
        verdict: Option<Verdict>,
    ) {
        let purpose = if again { Purpose::Again } else { Purpose::Evidence };
        let at = Place::node(self.tree.id(node));
        let scored = Scored { at, purpose, round: Some(round), failures, verdict: verdict.clone() };
        self.ledger.append(SearchBody::Scored(Box::new(scored)));
        match (&verdict, again) {
            (Some(verdict), _) => {
                self.tree.node_mut(node).phase = Phase::Scored;
                self.tree.judge(node, verdict);
            }
            (None, false) => self.tree.node_mut(node).phase = Phase::EvalFailed,
            // The score before stands.
            (None, true) => {}
        }
        if again {
            self.trials.again.remove(&node);
        }
        let before = self.trials.verdicts.remove(&node);
        let weighed = match verdict {
            Some(verdict) => Weighed { verdict: Some(verdict), known, stale: false },
            None => {
                let before = before.and_then(|before| before.verdict);
                Weighed { stale: before.is_some(), verdict: before, known }
            }
        };
        self.trials.verdicts.insert(node, weighed);
        match again {
            false => self.weigh_others(node, round),
            true => {
                let Some(trial) = self.trials.open.get_mut(&round) else { return };
                trial.weighs -= 1;
                if trial.weighs == 0 {
                    self.finish_trial(round);
                }
            }
        }
    }

    /// Findings came in since other hypotheses had their scores: each gets another one, and another decision if
    /// there is more to judge it by.
    fn weigh_others(&mut self, node: Ix, round: u32) {
        let found = self.trials.ids.len();
        let others = self.trials.verdicts.iter().filter(|(ix, weighed)| {
            let has_score = self.tree.node(**ix).phase == Phase::Scored;
            // Another round may be about to do it.
            let waits = self.trials.again.contains(*ix);
            **ix != node && has_score && weighed.known < found && !waits
        });
        let mut others: Vec<Ix> = others.map(|(ix, _)| *ix).collect();
        others.sort_by_cached_key(|ix| self.tree.id(*ix));
        if self.config.rescores() != Some(true) {
            others.clear();
        }
        #[cfg(feature = "planted-faults")]
        if is_planted(PlantedFault::KeepsScores) {
            others.clear();
        }
        if let Some(trial) = self.trials.open.get_mut(&round) {
            trial.weighs = others.len();
        }
        if others.is_empty() {
            return self.finish_trial(round);
        }
        for node in others {
            self.trials.again.insert(node);
            let examine = Task::Examine { node, round, again: true };
            self.follow_ups.push_back(match self.is_judged_by(&examine, node) {
                true => Task::Weigh { node, round, again: true },
                false => examine,
            });
        }
    }

    /// Whether the last decision on a hypothesis was made by all that is known now.
    fn is_judged_by(&self, examine: &Task, node: Ix) -> bool {
        let look = self.tree.node(node).entry().and_then(|entry| self.looked(entry));
        let packet = self.packet_of(examine, node);
        look.and_then(|look| look.packet) == Some(Digest::of(&*packet))
    }

    /// A round is over: the search ends, or its hypothesis is expanded.
    fn finish_trial(&mut self, round: u32) {
        let Some(Trial { node, .. }) = self.trials.open.remove(&round) else { return };
        self.tree.back_up(node, 0);
        self.tree.finish(node);
        let best = self.best_so_far().and_then(|best| best.score);
        if best >= Some(self.config.stop().accept) {
            self.end = Some(End::Accepted);
        }
        if !self.can_expand(node) {
            return;
        }
        match self.end.is_some() || self.begun >= self.config.stop().rounds.get() {
            true => self.trials.held_back.push((node, round)),
            false => self.follow_ups.push_back(Task::Hypothesize { node, round }),
        }
    }

    fn can_expand(&self, node: Ix) -> bool {
        let Expansion::Hypotheses { depth, above, .. } = self.config.expansion() else {
            return false;
        };
        #[cfg(feature = "planted-faults")]
        let above = above - u16::from(is_planted(PlantedFault::ExpandsAtGate));
        let it = self.tree.node(node);
        self.counts(node) && it.score() > Some(above) && it.depth() < depth.get()
    }

    /// A fork goes on: what was not expanded for want of rounds can be expanded now.
    pub(super) fn expand_held_back(&mut self) {
        if self.begun >= self.config.stop().rounds.get() {
            return;
        }
        for (node, round) in std::mem::take(&mut self.trials.held_back) {
            if self.can_expand(node) {
                self.follow_ups.push_back(Task::Hypothesize { node, round });
            }
        }
    }

    /// How many findings there are.
    pub(super) fn count_findings(&self) -> usize {
        self.trials.ids.len()
    }
}

fn add(above: &mut (u16, u64, u64), of: (u16, u64, u64)) {
    *above = (above.0.max(of.0), above.1 + of.1, above.2 + of.2);
}
