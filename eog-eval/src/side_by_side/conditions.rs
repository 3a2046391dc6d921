//! Who investigates, judged by whom, within which limits.

use std::fmt;

use eog::{Budget, Config, LinearConfig};
use eog_search::{Incoherent, Profile, SearchConfig};
use eog_session::controllers::{AnySettings, ControllerName};
use serde::{Serialize, Serializer};

use super::{CONTROLLERS, Settings};
use crate::controllers::{Ablation, BUDGETS, RATES};
use crate::error::EvalError;

/// Who investigates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Contender {
    /// A controller with its default settings.
    Chosen(ControllerName),
    /// `eog` without messages.
    NoMessages,
    /// `treeseeker` with moves drawn by lot.
    ByLot,
    /// A tree search with one choice changed.
    Changed(Ablation),
}

impl Contender {
    /// Those of the table of ablations, each controller with its defaults first.
    pub(super) fn ablations() -> Vec<Self> {
        let mut all = vec![
            Self::Chosen(ControllerName::Eog),
            Self::NoMessages,
            Self::Chosen(Profile::TreeSeeker.into()),
            Self::ByLot,
        ];
        all.extend(Ablation::ALL.map(|it| match it.defaults() {
            Some(profile) => Self::Chosen(profile.into()),
            None => Self::Changed(it),
        }));
        all
    }

    fn settings(self) -> Result<AnySettings, EvalError> {
        Ok(match self {
            Self::Chosen(ControllerName::Linear) => LinearConfig::default().into(),
            Self::Chosen(name) => match name.profile() {
                Some(profile) => profile.config().into(),
                None => Config::default().into(),
            },
            Self::NoMessages => Config { broadcast: false, ..Config::default() }.into(),
            Self::ByLot => {
                let config = SearchConfig::treeseeker().with_random(Some(0));
                let unfit = |error: Incoherent| EvalError::Setting { reason: error.to_string() };
                config.map_err(unfit)?.into()
            }
            Self::Changed(ablation) => ablation.config()?.into(),
        })
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Chosen(name) => f.pad(name.name()),
            Self::NoMessages => f.pad("eog, without messages"),
            Self::ByLot => f.pad("treeseeker, moves by lot"),
            Self::Changed(ablation) => ablation.fmt(f),
        }
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
    /// Who investigates.
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
                Contender::ablations().into_iter().map(changed).for_each(&mut add);
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
