//! Steps of the paths that were chosen, each an evaluation.

use std::sync::Arc;

use eog_core::contract::Failure;
use eog_core::evidence::Finding;

use super::super::SearchController;
use super::super::slot::Task;
use crate::body::{Acted, Action, Call, RefusedAction, SearchBody};
use crate::id::Place;
use crate::tree::{Ix, Phase, PrunedBy};

impl SearchController {
    /// The next step of a path was chosen, or the call failed.
    pub(in crate::controller) fn commit_next_step(
        &mut self,
        (goal, path): (usize, usize),
        result: Result<Option<Action>, Failure>,
    ) {
        let tip = self.quest.goals[goal].paths[path].tip;
        let (action, failure) = match result {
            Ok(action) => (action.map(Arc::new), None),
            Err(failure) => (None, Some(failure)),
        };
        let way = self.way_to(tip);
        let is_sibling = |action: &Action| {
            let mut children = self.tree.children(tip);
            children.any(|it| self.tree.node(it).action().is_some_and(|it| it.call == action.call))
        };
        let refused = action.as_ref().and_then(|action| match &action.call {
            Call::Look(_) | Call::Use { .. } if is_sibling(action) => {
                Some(RefusedAction::EqualSibling)
            }
            Call::Look(_) | Call::Use { .. } => self.refused(&way, action),
            _ => Some(RefusedAction::NoLook),
        });
        let failed = failure.is_some();
        let at = Place::node(self.tree.id(tip));
        let acted = Acted { at, action: action.clone(), failure, refused };
        self.ledger.append(SearchBody::Stepped(Box::new(acted)));
        match action {
            Some(action) if refused.is_none() => {
                let node = self.tree.add(tip, action);
                self.quest.goals[goal].paths[path].tip = node;
                self.follow_ups.push_back(Task::Stride { node, goal, path });
            }
            None if !failed => {
                self.close_path(goal, path, PrunedBy::Blocked);
                self.end_step();
            }
            _ => self.end_step(),
        }
    }

    /// The step of a path was made. A failed evaluation leads nowhere.
    pub(in crate::controller) fn commit_stride(
        &mut self,
        (node, goal, path): (Ix, usize, usize),
        entry: u64,
        failed: bool,
    ) {
        if failed {
            self.tree.node_mut(node).phase = Phase::Failed;
            let parent = self.tree.parent(node).unwrap_or(Ix::ROOT);
            self.quest.goals[goal].paths[path].tip = parent;
            return self.end_step();
        }
        self.tree.node_mut(node).phase = Phase::Scored;
        let Some(look) = self.looked(entry) else { return };
        let (entity, cited) = (look.entity.clone(), look.belief.evidence.clone());
        let context = look.context.as_ref().and_then(|it| self.ledger.context(&it.digest));
        let shown: Vec<Finding> = context.map(|it| it.findings.clone()).unwrap_or_default();
        self.quest.found.extend(shown.into_iter().map(|it| (it.id().clone(), it)));
        self.quest.latest.insert(entity, (node, entry));
        let mut fresh = false;
        for id in cited {
            fresh |= self.quest.cited.insert(id);
        }
        if let Some(turn) = &mut self.quest.turn {
            turn.ran.insert((goal, path), fresh);
        }
        self.end_step();
    }

    /// The step of a path was a call of a tool: the role that chooses the next step reads its answer.
    pub(in crate::controller) fn commit_call(
        &mut self,
        node: Ix,
        (goal, path): (usize, usize),
        failed: bool,
    ) {
        self.tree.node_mut(node).phase = if failed { Phase::Failed } else { Phase::Scored };
        if failed {
            let parent = self.tree.parent(node).unwrap_or(Ix::ROOT);
            self.quest.goals[goal].paths[path].tip = parent;
        }
        self.end_step();
    }

    fn end_step(&mut self) {
        let Some(turn) = &mut self.quest.turn else { return };
        turn.waiting -= 1;
        if turn.waiting == 0 {
            self.follow_ups.push_back(Task::Progress);
        }
    }
}
