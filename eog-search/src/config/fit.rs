//! Which strategies fit each other.

use super::change::MAX_PROMPT;
use super::{
    Backup, Evaluation, Expansion, Profile, Pruning, SearchConfig, Selection, Setting, Stop,
};

/// Strategies that do not fit each other, and settings that do not fit a profile.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Incoherent {
    /// Selection by bounds needs rewards, and what yields them.
    #[error(
        "selection by upper confidence bounds needs the expansion `actions`, the evaluation `reward` and the \
         backup `mean` or `max`"
    )]
    Bounds,
    /// Levels need a planner.
    #[error(
        "selection by level needs the expansion `planned`, the evaluation `judge` or `planner` and no backup"
    )]
    Levels,
    /// Hypotheses need an evaluator of evidence.
    #[error(
        "selection among pending hypotheses needs the expansion `hypotheses`, the evaluation `evidence`, the \
         backup `mean` or `max`, and no pruning"
    )]
    Hypotheses,
    /// Goals are chosen by signals in words and judged by ratios.
    #[error(
        "the selection `textual` goes with the expansion `goals`, the evaluation `ratio`, no backup and no \
         pruning, and `may` is at most `must`"
    )]
    Goals,
    /// A chain has nothing to select, score or prune.
    #[error(
        "the selection `linear` goes with the expansion `chain`, the evaluation `none`, no backup and no pruning"
    )]
    Chain,
    /// Only what was not visited can be set aside, and visits are counted by bounds alone.
    #[error("this pruning does not fit the selection")]
    Pruning,
    /// A beam compares nodes by what an evaluator says.
    #[error("a beam needs the evaluation `judge`")]
    BeamWithoutEvaluator,
    /// Hypotheses explore by one factor in all rounds.
    #[error("selection among pending hypotheses has one factor of exploration for all rounds")]
    ChangingExploration,
    /// A setting that this profile does not use.
    #[error(
        "the setting `{setting}` has no effect with {}; it has with {}",
        .profile.name(),
        users_of(*.setting)
    )]
    Idle {
        /// The setting.
        setting: Setting,
        /// The profile.
        profile: Profile,
    },
    /// A text for planning roles that says nothing, or too much.
    #[error("an initial prompt has 1 to {MAX_PROMPT} bytes that are not all blank, not {0}")]
    Prompt(usize),
    /// Scores go from 0 to 1000.
    #[error("scores go from 0 to 1000, not to {0}")]
    Score(u16),
}

fn users_of(setting: Setting) -> String {
    let users = Profile::ALL.into_iter().filter(|profile| profile.config().uses(setting));
    users.map(Profile::name).collect::<Vec<_>>().join(", ")
}

impl SearchConfig {
    /// Any strategies that fit each other.
    ///
    /// # Errors
    /// [`Incoherent`] says which do not.
    pub fn new(
        selection: Selection,
        expansion: Expansion,
        evaluation: Evaluation,
        backup: Backup,
        pruning: Pruning,
        stop: Stop,
    ) -> Result<Self, Incoherent> {
        let rest = Self::bfs();
        Self { selection, expansion, evaluation, backup, pruning, stop, ..rest }.checked()
    }

    pub(super) fn checked(self) -> Result<Self, Incoherent> {
        let Self { selection, expansion, evaluation, backup, pruning, stop, .. } = &self;
        let below = match pruning {
            Pruning::Unvisited { below } => *below,
            Pruning::None | Pruning::Flagged { .. } => 0,
        };
        let above = match expansion {
            Expansion::Hypotheses { above, .. } => *above,
            _ => 0,
        };
        if let Some(score) = [stop.accept, below, above].into_iter().find(|score| *score > 1000) {
            return Err(Incoherent::Score(score));
        }
        if let Some(prompt) = self.initial_prompt()
            && (prompt.trim().is_empty() || prompt.len() > MAX_PROMPT)
        {
            return Err(Incoherent::Prompt(prompt.len()));
        }
        match (selection, expansion, evaluation, backup) {
            (
                Selection::Ucb(_),
                Expansion::Actions { .. },
                Evaluation::Reward { .. },
                Backup::Mean | Backup::Max,
            )
            | (
                Selection::Level,
                Expansion::Planned { .. },
                Evaluation::Judge { .. } | Evaluation::Planner,
                Backup::None,
            )
            | (
                Selection::PendingMaxUcb { .. },
                Expansion::Hypotheses { .. },
                Evaluation::Evidence { .. },
                Backup::Mean | Backup::Max,
            ) => {}
            (
                Selection::Textual { may, must, .. },
                Expansion::Goals { .. },
                Evaluation::Ratio { .. },
                Backup::None,
            ) if may <= must => {}
            (Selection::Linear, Expansion::Chain { .. }, Evaluation::None, Backup::None) => {}
            (Selection::Linear, ..) => return Err(Incoherent::Chain),
            (Selection::Textual { .. }, ..) => return Err(Incoherent::Goals),
            (Selection::PendingMaxUcb { .. }, ..) => return Err(Incoherent::Hypotheses),
            (Selection::Ucb(_), ..) => return Err(Incoherent::Bounds),
            (Selection::Level, ..) => return Err(Incoherent::Levels),
        }
        match (selection, pruning, evaluation) {
            (_, Pruning::None, _)
            | (Selection::Ucb(_), Pruning::Unvisited { .. }, _)
            | (Selection::Level, Pruning::Flagged { beam: None }, _)
            | (Selection::Level, Pruning::Flagged { beam: Some(_) }, Evaluation::Judge { .. }) => {
                Ok(self)
            }
            (Selection::Level, Pruning::Flagged { .. }, _) => Err(Incoherent::BeamWithoutEvaluator),
            (Selection::PendingMaxUcb { .. }, ..) => Err(Incoherent::Hypotheses),
            (Selection::Textual { .. }, ..) => Err(Incoherent::Goals),
            (Selection::Linear, ..) => Err(Incoherent::Chain),
            _ => Err(Incoherent::Pruning),
        }
    }
}
