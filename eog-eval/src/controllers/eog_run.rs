//! The controller of `eog investigate`.

use std::fmt;

use eog::Config;
use eog::controller::{Order, Wake};
use serde::Serialize;

use super::order::Exploration;
use super::scene::{Outcome, Scene};
use crate::error::EvalError;
use crate::plain::try_run;

/// Which rules the controller has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Profile {
    /// The recommended ones.
    Default,
    /// The recommended ones, but that a broadcast wakes all neighbours, as in the paper.
    WakingAll,
    /// Algorithm 1 of the paper.
    Paper,
}

/// An ordinary investigation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct EogRun {
    /// The rules.
    pub profile: Profile,
    /// Whether beliefs are broadcast.
    pub messages: bool,
}

impl EogRun {
    /// Those of the first table.
    pub(super) const ALL: [Self; 5] = [
        Self { profile: Profile::Default, messages: true },
        Self { profile: Profile::WakingAll, messages: true },
        Self { profile: Profile::Paper, messages: true },
        Self { profile: Profile::Default, messages: false },
        Self { profile: Profile::Paper, messages: false },
    ];

    fn config(self) -> Config {
        let rules = match self.profile {
            Profile::Default => Config::default(),
            Profile::WakingAll => Config { wake: Wake::All, ..Config::default() },
            Profile::Paper => Config::paper(),
        };
        Config { broadcast: self.messages, ..rules }
    }

    /// Starts at the alerts, in the order to be tried. After that the controller has rules of its
    /// own, of which only a random order is a change.
    pub(super) fn investigate(self, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
        let mut config = self.config();
        if scene.order == Exploration::Random {
            config.order = Order::Permuted { seed: scene.stream("order").bits() };
        }
        config.budget.hops = scene.budget.or(config.budget.hops);
        let ended = try_run(config, scene.case(), scene.truth, scene.oracle)
            .map_err(|error| EvalError::Setting { reason: error.to_string() })?;
        Ok(Outcome::of(&ended, ended.spent().hops))
    }
}

impl fmt::Display for EogRun {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let profile = match self.profile {
            Profile::Default => "EoG, default",
            Profile::WakingAll => "EoG, default, waking all",
            Profile::Paper => "EoG, paper",
        };
        write!(f, "{profile}{}", if self.messages { "" } else { ", without messages" })
    }
}
