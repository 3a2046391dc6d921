//! Settings that are changed one at a time, and which profiles use them.

use std::fmt;
use std::num::NonZeroU32;

use eog_core::Budget;
use eog_core::controller::Checks;

use super::{
    Backup, Evaluation, Expansion, Exploration, Incoherent, Lanes, Pruning, SearchConfig,
    Selection, count,
};

/// Most bytes of a text for planning roles.
pub const MAX_PROMPT: usize = 4096;

macro_rules! settings {
    ($($(#[$of:meta])* $setting:ident $name:literal,)*) => {
        /// A setting that some profiles use and others do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Setting {
            $($(#[$of])* $setting,)*
        }

        impl Setting {
            /// All of them.
            pub const ALL: [Self; [$($name),*].len()] = [$(Self::$setting),*];
        }

        impl fmt::Display for Setting {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.pad(match self {
                    $(Self::$setting => $name,)*
                })
            }
        }
    };
}

settings! {
    /// [`SearchConfig::with_accept`].
    Accept "accept",
    /// [`SearchConfig::with_depth`].
    Depth "depth",
    /// [`SearchConfig::with_branch`].
    Branch "branch",
    /// [`SearchConfig::with_nodes`].
    Nodes "nodes",
    /// [`SearchConfig::with_scores_of_planner`].
    Evaluator "evaluator",
    /// [`SearchConfig::with_exploration`].
    Exploration "exploration",
    /// [`SearchConfig::with_rescore`].
    Rescore "rescore",
    /// [`SearchConfig::with_backup`].
    Backup "backup",
    /// [`SearchConfig::with_siblings`].
    Siblings "siblings",
    /// [`SearchConfig::with_sampling_apart`].
    Sampling "sampling",
    /// [`SearchConfig::with_random`].
    Random "random",
    /// [`SearchConfig::with_patience`].
    Patience "patience",
    /// [`SearchConfig::with_lanes`].
    Lanes "lanes",
    /// [`SearchConfig::with_shown`].
    Shown "shown",
}

/// Settings of every profile.
impl SearchConfig {
    /// With the name of the policy, for later readers. Decides nothing.
    #[must_use]
    pub fn with_policy(self, policy: Option<String>) -> Self {
        Self { policy, ..self }
    }

    /// With another number of rounds, plans or steps; 0 counts as 1, as it does below.
    #[must_use]
    pub fn with_rounds(mut self, rounds: u32) -> Self {
        self.stop.rounds = count(rounds);
        self
    }

    /// With so much at a time. A chain has one step at a time, whatever is set.
    #[must_use]
    pub fn with_width(self, width: NonZeroU32) -> Self {
        Self { width, ..self }
    }

    /// With a budget.
    #[must_use]
    pub fn with_budget(self, budget: Budget) -> Self {
        Self { budget, ..self }
    }

    /// With a text for planning roles, beside the case: what is to be found, or what is known. Rules do not read it.
    ///
    /// # Errors
    /// [`Incoherent::Prompt`] where it is empty or longer than [`MAX_PROMPT`] bytes.
    pub fn with_initial_prompt(self, prompt: impl Into<String>) -> Result<Self, Incoherent> {
        Self { initial_prompt: Some(prompt.into()), ..self }.checked()
    }

    /// With other checks of decisions.
    #[must_use]
    pub fn with_checks(self, checks: Checks) -> Self {
        Self { checks, ..self }
    }
}

/// Settings of some profiles alone.
///
/// ```
/// use eog_search::{Incoherent, Profile, SearchConfig, Setting};
/// assert!(SearchConfig::lats().with_depth(4).is_ok());
/// let idle = Incoherent::Idle { setting: Setting::Depth, profile: Profile::React };
/// assert_eq!(SearchConfig::react().with_depth(4), Err(idle.clone()));
/// assert_eq!(
///     idle.to_string(),
///     "the setting `depth` has no effect with react; it has with lats, bfs, beam, hypotheses"
/// );
/// ```
impl SearchConfig {
    /// Whether a setting has an effect.
    pub fn uses(&self, setting: Setting) -> bool {
        match setting {
            Setting::Accept => self.selection != Selection::Linear,
            Setting::Depth => matches!(
                self.expansion,
                Expansion::Actions { .. }
                    | Expansion::Planned { .. }
                    | Expansion::Hypotheses { .. }
            ),
            Setting::Branch => self.branch().is_some(),
            Setting::Nodes => matches!(self.expansion, Expansion::Planned { .. }),
            // A beam needs an evaluator.
            Setting::Evaluator => {
                matches!(self.expansion, Expansion::Planned { .. }) && self.survivors().is_none()
            }
            Setting::Exploration => {
                matches!(self.selection, Selection::Ucb(_) | Selection::PendingMaxUcb { .. })
            }
            Setting::Rescore => self.rescores().is_some(),
            Setting::Backup => self.backup != Backup::None,
            Setting::Siblings => self.shows_siblings().is_some(),
            Setting::Sampling => matches!(self.expansion, Expansion::Actions { .. }),
            Setting::Random | Setting::Patience => self.is_random().is_some(),
            Setting::Lanes => matches!(self.expansion, Expansion::Hypotheses { .. }),
            Setting::Shown => self.shown().is_some(),
        }
    }

    /// With another score from which a result is accepted, or a goal complete.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] in a chain, where nothing is scored, and [`Incoherent::Score`] above 1000.
    pub fn with_accept(mut self, accept: u16) -> Result<Self, Incoherent> {
        self.is_used(Setting::Accept)?;
        self.stop.accept = accept;
        self.checked()
    }

    /// With another depth of the tree, or of a trajectory.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where rounds limit it: with goals and in a chain.
    pub fn with_depth(mut self, most: u32) -> Result<Self, Incoherent> {
        match &mut self.expansion {
            Expansion::Actions { depth, .. }
            | Expansion::Planned { depth, .. }
            | Expansion::Hypotheses { depth, .. } => *depth = count(most),
            Expansion::Goals { .. } | Expansion::Chain { .. } => {
                return Err(self.idle(Setting::Depth));
            }
        }
        Ok(self)
    }

    /// With another number of children (LATS, hypotheses), survivors of a level (beam) or open paths of a goal
    /// (TreeSeeker).
    ///
    /// # Errors
    /// [`Incoherent::Idle`] breadth-first and in a chain, which have none of these.
    pub fn with_branch(mut self, branch: u32) -> Result<Self, Incoherent> {
        match (&mut self.expansion, &mut self.pruning) {
            (
                Expansion::Actions { count: most, .. }
                | Expansion::Hypotheses { children: most, .. }
                | Expansion::Goals { paths: most, .. },
                _,
            ) => *most = count(branch),
            (_, Pruning::Flagged { beam: Some(beam) }) => *beam = count(branch),
            _ => return Err(self.idle(Setting::Branch)),
        }
        Ok(self)
    }

    /// With another number of nodes, the root included.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where no planner adds nodes.
    pub fn with_nodes(mut self, most: u32) -> Result<Self, Incoherent> {
        match &mut self.expansion {
            Expansion::Planned { nodes, .. } => *nodes = count(most),
            _ => return Err(self.idle(Setting::Nodes)),
        }
        Ok(self)
    }

    /// Without an evaluator: the planner scores each task that it gives, and the score counts once the node has run.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where there is no planner, and with a beam, which needs an evaluator.
    pub fn with_scores_of_planner(mut self) -> Result<Self, Incoherent> {
        self.is_used(Setting::Evaluator)?;
        self.evaluation = Evaluation::Planner;
        self.checked()
    }

    /// With another factor of exploration.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where nothing is selected by bounds, and [`Incoherent::ChangingExploration`] for
    /// hypotheses with one that changes over the rounds.
    pub fn with_exploration(mut self, exploration: Exploration) -> Result<Self, Incoherent> {
        match (&mut self.selection, exploration) {
            (Selection::Ucb(before), _) => *before = exploration,
            (Selection::PendingMaxUcb { c }, Exploration::Fixed(fixed)) => *c = fixed,
            (Selection::PendingMaxUcb { .. }, Exploration::Linear(..)) => {
                return Err(Incoherent::ChangingExploration);
            }
            _ => return Err(self.idle(Setting::Exploration)),
        }
        Ok(self)
    }

    /// Whether hypotheses get another score when findings came in.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where there are no hypotheses.
    pub fn with_rescore(mut self, again: bool) -> Result<Self, Incoherent> {
        match &mut self.evaluation {
            Evaluation::Evidence { rescore, .. } => *rescore = again,
            _ => return Err(self.idle(Setting::Rescore)),
        }
        Ok(self)
    }

    /// With the mean or the maximum of what stands below a node (LATS, hypotheses).
    ///
    /// ```
    /// use eog_search::{Backup, SearchConfig};
    /// assert!(SearchConfig::lats().with_backup(Backup::Max).is_ok());
    /// assert!(SearchConfig::beam().with_backup(Backup::Max).is_err());
    /// ```
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where nothing is backed up; another one where a selection needs what is.
    pub fn with_backup(self, backup: Backup) -> Result<Self, Incoherent> {
        self.is_used(Setting::Backup)?;
        Self { backup, ..self }.checked()
    }

    /// Whether roles that propose hypotheses see sibling hypotheses.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where there are no hypotheses.
    pub fn with_siblings(mut self, seen: bool) -> Result<Self, Incoherent> {
        match &mut self.expansion {
            Expansion::Hypotheses { siblings, .. } => *siblings = seen,
            _ => return Err(self.idle(Setting::Siblings)),
        }
        Ok(self)
    }

    /// Whether each action of an expansion is drawn by a question of its own.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where none are proposed at leaves.
    pub fn with_sampling_apart(mut self, drawn: bool) -> Result<Self, Incoherent> {
        match &mut self.expansion {
            Expansion::Actions { apart, .. } => *apart = drawn,
            _ => return Err(self.idle(Setting::Sampling)),
        }
        Ok(self)
    }

    /// With moves on goals drawn at random from a seed, or not.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where there are no goals.
    pub fn with_random(mut self, seed: Option<u64>) -> Result<Self, Incoherent> {
        match &mut self.selection {
            Selection::Textual { random, .. } => *random = seed,
            _ => return Err(self.idle(Setting::Random)),
        }
        Ok(self)
    }

    /// With other numbers of selections without progress after which a path may and must go back.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where there are no goals, and [`Incoherent::Goals`] if it may only after it must.
    pub fn with_patience(mut self, first: u32, last: u32) -> Result<Self, Incoherent> {
        match &mut self.selection {
            Selection::Textual { may, must, .. } => (*may, *must) = (count(first), count(last)),
            _ => return Err(self.idle(Setting::Patience)),
        }
        self.checked()
    }

    /// With other limits of specialists.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where there are none.
    pub fn with_lanes(mut self, limits: Lanes) -> Result<Self, Incoherent> {
        match &mut self.expansion {
            Expansion::Hypotheses { lanes, .. } => *lanes = limits,
            _ => return Err(self.idle(Setting::Lanes)),
        }
        Ok(self)
    }

    /// With so many bytes of what a chain saw shown to its agent.
    ///
    /// # Errors
    /// [`Incoherent::Idle`] where there is no chain.
    pub fn with_shown(mut self, bytes: u32) -> Result<Self, Incoherent> {
        match &mut self.expansion {
            Expansion::Chain { shown, .. } => *shown = count(bytes),
            _ => return Err(self.idle(Setting::Shown)),
        }
        Ok(self)
    }

    fn is_used(&self, setting: Setting) -> Result<(), Incoherent> {
        if self.uses(setting) { Ok(()) } else { Err(self.idle(setting)) }
    }

    fn idle(&self, setting: Setting) -> Incoherent {
        Incoherent::Idle { setting, profile: self.profile() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::Profile;

    fn changed(config: SearchConfig, setting: Setting) -> Result<SearchConfig, Incoherent> {
        match setting {
            Setting::Accept => config.with_accept(777),
            Setting::Depth => config.with_depth(17),
            Setting::Branch => config.with_branch(17),
            Setting::Exploration => config.with_exploration(Exploration::Fixed(17)),
            Setting::Rescore => config.with_rescore(false),
            Setting::Backup => match config.backup() {
                Backup::Mean => config.with_backup(Backup::Max),
                _ => config.with_backup(Backup::Mean),
            },
            Setting::Siblings => config.with_siblings(false),
            Setting::Sampling => config.with_sampling_apart(true),
            Setting::Random => config.with_random(Some(17)),
            Setting::Nodes => config.with_nodes(17),
            Setting::Evaluator => config.with_scores_of_planner(),
            Setting::Patience => config.with_patience(3, 17),
            Setting::Lanes => config.with_lanes(Lanes { retries: 17, ..Lanes::default() }),
            Setting::Shown => config.with_shown(17),
        }
    }

    #[test]
    fn a_setting_has_an_effect_or_is_refused() {
        for (profile, setting) in
            Profile::ALL.into_iter().flat_map(|it| Setting::ALL.map(|setting| (it, setting)))
        {
            let before = profile.config();
            match changed(before.clone(), setting) {
                Ok(after) => {
                    assert!(before.uses(setting), "{setting}, {profile:?}");
                    assert_ne!(after, before, "{setting}, {profile:?}");
                    assert_eq!(after.profile(), profile, "{setting}");
                }
                Err(error) => {
                    assert!(!before.uses(setting), "{setting}, {profile:?}: {error}");
                    assert_eq!(error, Incoherent::Idle { setting, profile });
                }
            }
        }
    }

    #[test]
    fn what_cannot_be_is_refused_instead_of_changed() {
        assert_eq!(SearchConfig::lats().with_accept(1001), Err(Incoherent::Score(1001)));
        assert_eq!(SearchConfig::treeseeker().with_patience(9, 8), Err(Incoherent::Goals));
        let changing = SearchConfig::hypotheses().with_exploration(Exploration::ADAPTIVE);
        assert_eq!(changing, Err(Incoherent::ChangingExploration));
        assert_eq!(SearchConfig::lats().with_backup(Backup::None), Err(Incoherent::Bounds));
    }
}
