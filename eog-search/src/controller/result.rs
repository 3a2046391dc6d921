//! The result: what follows from the best way through the tree.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::belief::Label;
use eog_core::ledger::RecordedAnswer;
use eog_core::machine::Judgements;

use super::SearchController;
use super::rounds::by_score;
use crate::ask::Seen;
use crate::body::{Action, Looked, SearchBody};
use crate::config::Selection;
use crate::id::Place;
use crate::tree::{Ix, Phase};

/// The best node or trajectory.
#[derive(Clone, Debug)]
pub(super) struct Best {
    pub(super) at: Place,
    /// `None` without scores.
    pub(super) score: Option<u16>,
    /// The entries of the evaluations on the way.
    pub(super) looks: Vec<u64>,
}

/// One step of a way: the action, and the entry that records its outcome.
#[derive(Clone, Debug)]
pub(super) struct Done {
    pub(super) action: Arc<Action>,
    pub(super) entry: Option<u64>,
}

impl SearchController {
    /// What was done on the way to a node.
    pub(super) fn way_to(&self, ix: Ix) -> Vec<Done> {
        let done = |ix: Ix| {
            let node = self.tree.node(ix);
            let action = node.action().filter(|action| action.is_step())?;
            Some(Done { action: Arc::clone(action), entry: node.entry() })
        };
        self.tree.path(ix).into_iter().filter_map(done).collect()
    }

    /// The evaluation that an entry records.
    pub(super) fn looked(&self, entry: u64) -> Option<&Looked> {
        match &self.ledger.entry(entry)?.body {
            SearchBody::Looked(looked) => Some(looked),
            _ => None,
        }
    }

    /// The same way as roles see it.
    pub(super) fn seen(&self, way: &[Done]) -> Vec<Seen> {
        let entry = |seq: u64| self.ledger.entry(seq).cloned();
        way.iter()
            .map(|done| {
                let look = done.entry.and_then(|seq| self.looked(seq));
                let digest = look.and_then(|look| Some(look.context.as_ref()?.digest));
                let decided = look.and_then(|look| match &look.answer {
                    RecordedAnswer::Remembered { entry } => Some(*entry),
                    _ => None,
                });
                Seen {
                    action: Arc::clone(&done.action),
                    entry: done.entry.and_then(entry),
                    context: digest
                        .and_then(|digest| self.ledger.entry_of_context(&digest).cloned()),
                    decided: decided.and_then(entry),
                }
            })
            .collect()
    }

    /// The best there is: the best trajectory; else the node that the planner chose, or the highest
    /// score that is not pruned. Of equal ones the path decides, with levels the depth before it.
    pub(super) fn best_so_far(&self) -> Option<Best> {
        if matches!(self.config.selection(), Selection::Ucb(_)) {
            return self.best.clone();
        }
        if matches!(self.config.selection(), Selection::Textual { .. }) {
            return self.answer().map(|(at, score, looks)| Best { at, score: Some(score), looks });
        }
        if self.config.selection() == Selection::Linear {
            let (last, looks) = self.looks_of_conclusion()?;
            return Some(Best { at: Place::node(self.tree.id(last)), score: None, looks });
        }
        let counting = || self.tree.indexes().filter(|ix| self.counts(*ix));
        // A planner who goes deeper finds no more than what the node above it was: the longer way holds more
        // that explains. Hypotheses are investigated each by itself.
        let is_level = self.config.selection() == Selection::Level;
        let depth = |ix: &Ix| is_level.then(|| Reverse(self.tree.node(*ix).depth()));
        let best =
            || counting().min_by_key(|ix| (by_score(self, *ix).0, depth(ix), self.tree.id(*ix)));
        let best = self.chosen.or_else(best)?;
        Some(Best {
            at: Place::node(self.tree.id(best)),
            score: Some(self.tree.node(best).score()?),
            looks: self.looks(best),
        })
    }

    /// Whether a node has a score that counts.
    pub(super) fn counts(&self, ix: Ix) -> bool {
        let node = self.tree.node(ix);
        let has_run = matches!(node.phase, Phase::Scored | Phase::Solution);
        has_run && node.score().is_some()
    }

    fn looks(&self, ix: Ix) -> Vec<u64> {
        self.way_to(ix).iter().filter_map(|done| done.entry).collect()
    }

    /// Every evaluation, oldest first.
    fn all_looks(&self) -> Vec<u64> {
        let entries = self.ledger.entries().iter().map(|entry| entry.seq);
        entries.filter(|seq| self.looked(*seq).is_some()).collect()
    }

    /// The evaluations that found symptoms, by path.
    pub(super) fn symptoms(&self) -> Vec<u64> {
        let is_symptom = |look: &Looked| look.belief.label == Label::Symptom;
        let is_symptom = |entry: &u64| self.looked(*entry).is_some_and(is_symptom);
        if matches!(self.config.selection(), Selection::Textual { .. }) {
            return self.looks_of_paths().into_iter().filter(is_symptom).collect();
        }
        let mut counting: Vec<Ix> = self.tree.indexes().filter(|ix| self.counts(*ix)).collect();
        counting.sort_by_cached_key(|ix| self.tree.id(*ix));
        let looks = counting.into_iter().filter_map(|ix| self.tree.node(ix).entry());
        looks.filter(is_symptom).collect()
    }

    /// What was found in every evaluation, for a ranking where no way is the best.
    pub(super) fn evaluated(&self) -> Judgements {
        let mut judged = self.blank.clone();
        let mut held = BTreeSet::new();
        for look in self.all_looks() {
            self.adopt(&mut judged, look, &mut held, true);
        }
        judged
    }

    /// What is believed by the result: the evaluations on the best way; then, each if it explains alerts that nothing
    /// explained before, of hypotheses and goals those that found symptoms, wherever they stand, of goals those that
    /// lead to other origins, on whichever path they were found, and best score first those on the way to each
    /// further node whose score is accepted.
    pub(super) fn judged(&self) -> Judgements {
        let mut judged = self.blank.clone();
        let mut held = BTreeSet::new();
        for look in self.best_so_far().into_iter().flat_map(|best| best.looks) {
            self.adopt(&mut judged, look, &mut held, true);
        }
        let accept = self.config.stop().accept;
        let is_accepted = |ix: &Ix| self.counts(*ix) && self.tree.node(*ix).score() >= Some(accept);
        let mut accepted: Vec<Ix> = self.tree.indexes().filter(is_accepted).collect();
        accepted.sort_by_cached_key(|ix| by_score(self, *ix));
        let mut unexplained = judged.conclusion().unexplained.len();
        let adds_symptoms = matches!(
            self.config.selection(),
            Selection::PendingMaxUcb { .. } | Selection::Textual { .. }
        );
        // An origin may be suspected at once, and what joins it to the alerts be found elsewhere.
        let symptoms = adds_symptoms.then(|| self.symptoms());
        let accepted = accepted.into_iter().map(|ix| self.looks(ix));
        for looks in symptoms.into_iter().chain(self.other_answers()).chain(accepted) {
            if unexplained == 0 {
                break;
            }
            let (mut with, mut holds) = (judged.clone(), held.clone());
            for look in looks {
                self.adopt(&mut with, look, &mut holds, false);
            }
            let left = with.conclusion().unexplained.len();
            if left < unexplained {
                (judged, held, unexplained) = (with, holds, left);
            }
        }
        judged
    }

    fn adopt(
        &self,
        judged: &mut Judgements,
        entry: u64,
        held: &mut BTreeSet<eog_core::EntityId>,
        again: bool,
    ) {
        let Some(look) = self.looked(entry) else { return };
        if let Some(context) =
            look.context.as_ref().and_then(|record| self.ledger.context(&record.digest))
        {
            judged.learn(&look.entity, context, entry);
        }
        if !held.insert(look.entity.clone()) && !again {
            return;
        }
        let decided = |entry: u64| match &self.looked(entry)?.answer {
            RecordedAnswer::Decided(decision) => Some(decision),
            _ => None,
        };
        match &look.answer {
            RecordedAnswer::Failed(failure) => {
                judged.fail(&look.entity, failure);
            }
            RecordedAnswer::Decided(decision) => {
                judged.adopt(&look.entity, &look.belief, &decision.scores);
            }
            RecordedAnswer::Remembered { entry } => {
                let scores = decided(*entry).map_or(&[][..], |decision| &decision.scores);
                judged.adopt(&look.entity, &look.belief, scores);
            }
        }
    }
}
