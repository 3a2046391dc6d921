//! The controller that investigates, with which policy, within which limits.

use std::fmt;
use std::num::NonZeroU32;

use eog::{Budget, Config, LinearConfig};
use eog_search::{Backup, Exploration, Incoherent, Profile, SQRT_2, SearchConfig};
use eog_session::controllers::{AnySettings, ControllerName};
use serde::{Serialize, Serializer};

use super::{CONTROLLERS, Settings};
use crate::error::EvalError;

/// The judge's shares of errors in the table by errors.
pub(super) const RATES: [f64; 5] = [0.05, 0.1, 0.2, 0.3, 0.4];

/// How many questions are allowed in the table by questions.
pub(super) const BUDGETS: [u64; 5] = [10, 20, 40, 80, 160];

/// The controller that investigates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// A controller with its default settings.
    Chosen(ControllerName),
    /// A controller with one choice changed, by the name of the change.
    Changed(&'static str),
}

type Change = (&'static str, fn() -> Result<AnySettings, Incoherent>);

/// By controller, the choices that are changed one at a time.
const CHANGES: [(ControllerName, &[Change]); 6] = [
    (
        ControllerName::Eog,
        &[(
            "eog, without messages",
            || Ok(Config { broadcast: false, ..Config::default() }.into()),
        )],
    ),
    (
        ControllerName::Search(Profile::TreeSeeker),
        &[("treeseeker, moves by lot", || into(SearchConfig::treeseeker().with_random(Some(0))))],
    ),
    (
        ControllerName::Search(Profile::Lats),
        &[
            ("lats, C = 0", || lats(Exploration::Fixed(0))),
            ("lats, C = 2.83", || lats(Exploration::Fixed(2 * SQRT_2))),
            ("lats, C from 2.0 to 0.5", || lats(Exploration::ADAPTIVE)),
            ("lats, maximum instead of mean", || {
                into(SearchConfig::lats().with_backup(Backup::Max))
            }),
            ("lats, width 8", || Ok(SearchConfig::lats().with_width(width(8)).into())),
        ],
    ),
    (
        ControllerName::Search(Profile::Beam),
        &[
            ("beam, K = 1", || into(SearchConfig::beam().with_branch(1))),
            ("beam, K = 5", || into(SearchConfig::beam().with_branch(5))),
        ],
    ),
    (
        ControllerName::Search(Profile::Hypotheses),
        &[
            ("hypotheses, first scores kept", || {
                into(SearchConfig::hypotheses().with_rescore(false))
            }),
            ("hypotheses, mean instead of maximum", || {
                into(SearchConfig::hypotheses().with_backup(Backup::Mean))
            }),
            ("hypotheses, siblings unseen", || {
                into(SearchConfig::hypotheses().with_siblings(false))
            }),
            ("hypotheses, C = 0", || hypotheses(0)),
            ("hypotheses, C = 1", || hypotheses(1 << 32)),
            ("hypotheses, 24 rounds, depth 8", || {
                into(SearchConfig::hypotheses().with_rounds(24).with_depth(8))
            }),
            ("hypotheses, width 1", || Ok(SearchConfig::hypotheses().with_width(width(1)).into())),
        ],
    ),
    (
        ControllerName::Search(Profile::React),
        &[("react, 4,000 bytes shown", || into(SearchConfig::react().with_shown(4_000)))],
    ),
];

fn into(config: Result<SearchConfig, Incoherent>) -> Result<AnySettings, Incoherent> {
    config.map(Into::into)
}

fn lats(exploration: Exploration) -> Result<AnySettings, Incoherent> {
    into(SearchConfig::lats().with_exploration(exploration))
}

fn hypotheses(c: u64) -> Result<AnySettings, Incoherent> {
    into(SearchConfig::hypotheses().with_exploration(Exploration::Fixed(c)))
}

fn width(tasks: u32) -> NonZeroU32 {
    NonZeroU32::new(tasks).unwrap_or(NonZeroU32::MIN)
}

impl Contender {
    /// Those of the table of ablations, each controller with its defaults first.
    pub(super) fn ablations() -> impl Iterator<Item = Self> {
        CHANGES.into_iter().flat_map(|(name, changes)| {
            let changed = changes.iter().map(|(change, _)| Self::Changed(change));
            std::iter::once(Self::Chosen(name)).chain(changed)
        })
    }

    fn settings(self) -> Result<AnySettings, EvalError> {
        let unfit = |error: Incoherent| EvalError::Setting { reason: error.to_string() };
        let mut changes = CHANGES.into_iter().flat_map(|(_, changes)| changes);
        match self {
            Self::Chosen(ControllerName::Linear) => Ok(LinearConfig::default().into()),
            Self::Chosen(name) => Ok(match name.profile() {
                Some(profile) => profile.config().into(),
                None => Config::default().into(),
            }),
            Self::Changed(name) => match changes.find(|(change, _)| *change == name) {
                Some((_, settings)) => settings().map_err(unfit),
                None => Err(EvalError::Setting { reason: format!("there is no change {name}") }),
            },
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Chosen(name) => name.name(),
            Self::Changed(name) => name,
        })
    }
}

impl Serialize for Contender {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A controller, how often its judge errs, and how much it may ask.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// The controller that investigates.
    pub contender: Contender,
    /// The judge's share of errors.
    pub wrong: f64,
    /// Most questions to the judge, where another limit than the default is set.
    pub most: Option<u64>,
}

impl Condition {
    /// A controller with its defaults.
    pub fn usual(controller: ControllerName, wrong: f64) -> Self {
        Self { contender: Contender::Chosen(controller), wrong, most: None }
    }

    /// Everything that is compared, each once.
    pub(super) fn of(settings: &Settings) -> Vec<Self> {
        let Settings { wrong, tables, .. } = settings;
        let mut all: Vec<Self> = Vec::new();
        let mut add = |condition: Self| {
            if !all.contains(&condition) {
                all.push(condition);
            }
        };
        for wrong in [0.0, *wrong] {
            CONTROLLERS.into_iter().for_each(|it| add(Self::usual(it, wrong)));
            if tables.ablations {
                let changed = |contender| Self { contender, wrong, most: None };
                Contender::ablations().map(changed).for_each(&mut add);
            }
            if tables.by_calls {
                for controller in CONTROLLERS {
                    let within = |most| Self { most: Some(most), ..Self::usual(controller, wrong) };
                    BUDGETS.map(within).into_iter().for_each(&mut add);
                }
            }
        }
        if tables.by_errors {
            for controller in CONTROLLERS {
                RATES.map(|rate| Self::usual(controller, rate)).into_iter().for_each(&mut add);
            }
        }
        all
    }

    pub(super) fn settings(&self) -> Result<AnySettings, EvalError> {
        let settings = self.contender.settings()?;
        let Some(most) = self.most else { return Ok(settings) };
        let budget = Budget { hops: Some(most), ..settings.budget() };
        Ok(match settings {
            AnySettings::Eog(config) => Config { budget, ..*config }.into(),
            AnySettings::Linear(config) => LinearConfig { budget, ..*config }.into(),
            AnySettings::Search(config) => config.with_budget(budget).into(),
        })
    }
}
