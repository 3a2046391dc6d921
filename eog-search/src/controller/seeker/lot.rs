//! Moves that are drawn at random, to compare signals in words with.

use eog_core::Digest;

use super::super::SearchController;
use super::number;
use crate::config::Selection;
use crate::seek::{Move, MoveKind};

impl SearchController {
    /// Whether moves are about to be drawn.
    pub(in crate::controller) fn has_to_draw(&self) -> bool {
        self.quest.draws && self.end.is_none()
    }

    /// Draws the moves of the round at random, once all before is stored.
    pub(in crate::controller) fn draw(&mut self) {
        let Selection::Textual { random: Some(seed), .. } = self.config.selection() else { return };
        if !std::mem::take(&mut self.quest.draws) {
            return;
        }
        let moves: Vec<Move> =
            self.active().into_iter().map(|goal| self.drawn(seed, goal)).collect();
        self.make_moves(Vec::new(), Some(moves));
        self.fill();
    }

    /// A fork: moves that were about to be drawn are asked for, or the other way round.
    pub(in crate::controller) fn turn_again(&mut self) {
        if self.quest.draws {
            self.quest.draws = false;
            self.quest.turn = None;
            self.begun -= 1;
        }
    }

    /// A move that is drawn uniformly among the kinds that are admissible, then among paths.
    fn drawn(&self, seed: u64, goal: usize) -> Move {
        let number = number(goal);
        let draw = |purpose: &str, at: usize, limit: usize| {
            let digest = Digest::of(&(seed, self.begun, number, purpose, at)).to_string();
            let bits = u64::from_str_radix(digest.get(..15).unwrap_or("0"), 16).unwrap_or(0);
            usize::try_from(bits % limit.max(1) as u64).unwrap_or(0)
        };
        let (open, back) = (self.open(goal), self.may_return(goal));
        let mut kinds = vec![MoveKind::Exploit];
        kinds.extend((open.len() >= 2).then_some(MoveKind::Explore));
        kinds.extend((!back.is_empty()).then_some(MoveKind::Backtrack));
        let kind = kinds.swap_remove(draw("kind", 0, kinds.len()));
        let (mut from, most) = match kind {
            MoveKind::Exploit => (open, 1),
            MoveKind::Explore => {
                let most = 2 + draw("how many", 0, open.len() - 1);
                (open, most)
            }
            MoveKind::Backtrack => (back, 1),
        };
        let mut chosen = Vec::new();
        for at in 0..most {
            chosen.push(from.remove(draw("path", at, from.len())));
        }
        chosen.sort_unstable();
        let paths = chosen.into_iter().map(|path| self.path_id(goal, path)).collect();
        Move { goal: number, kind, paths, signals: Vec::new() }
    }
}
