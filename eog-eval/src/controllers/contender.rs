//! Who is compared with whom, under which conditions.

use std::fmt;

use serde::Serialize;

use super::ablation::Ablation;
use super::eog_run::{EogRun, Profile};
use super::linear::LinearLoop;
use super::order::Exploration;
use super::scene::{Outcome, Scene};
use super::search::TreeSearch;
use super::told::ToldLoop;
use crate::error::EvalError;

/// A controller.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Contender {
    /// The controller of `eog investigate`.
    Eog(EogRun),
    /// A linear loop.
    Linear(LinearLoop),
    /// A tree search.
    Search(TreeSearch),
    /// A tree search with one choice changed.
    Ablated(Ablation),
    /// A loop that was told the algorithm.
    Told(ToldLoop),
}

impl Contender {
    /// The controller with the recommended rules.
    pub const EOG: Self = Self::Eog(EogRun { profile: Profile::Default, messages: true });

    /// The linear loop with its default assumptions.
    pub fn linear() -> Self {
        Self::Linear(LinearLoop::default())
    }

    pub(super) fn investigate(&self, scene: &Scene<'_>) -> Result<Outcome, EvalError> {
        match self {
            Self::Eog(eog) => eog.investigate(scene),
            Self::Linear(linear) => linear.investigate(scene),
            Self::Search(search) => search.investigate(scene),
            Self::Ablated(ablation) => ablation.investigate(scene),
            Self::Told(told) => told.investigate(scene),
        }
    }
}

impl fmt::Display for Contender {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self {
            Self::Eog(eog) => eog.to_string(),
            Self::Linear(linear) => linear.to_string(),
            Self::Search(search) => search.to_string(),
            Self::Ablated(ablation) => ablation.to_string(),
            Self::Told(told) => told.to_string(),
        };
        f.pad(&name)
    }
}

/// A controller, how often its judge errs, and the order in which it looks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Condition {
    /// The controller.
    pub contender: Contender,
    /// The oracle's share of wrong answers where the inbox says nothing.
    pub wrong: f64,
    /// The order.
    pub order: Exploration,
    /// Whether the oracle repeats its errors, in addition to what the settings say of it.
    pub stubborn: bool,
    /// Most questions to the judge, if they are limited.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub budget: Option<u64>,
}

impl Condition {
    /// A controller at a rate of errors, in the order of the alerts.
    pub fn usual(contender: Contender, wrong: f64) -> Self {
        Self { contender, wrong, order: Exploration::Usual, stubborn: false, budget: None }
    }

    /// The conditions of all tables, each once, with this rate of errors where a table has only one.
    pub fn all(wrong: f64) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let tables = [against_loops(wrong), told(wrong), orders(wrong)];
        let messages = messages(wrong)
            .into_iter()
            .flat_map(|row| row.profiles.into_iter().flatten().chain([row.linear]));
        let second_looks = second_looks(wrong).into_iter().flatten();
        for condition in tables.into_iter().flatten().chain(messages).chain(second_looks) {
            if !all.contains(&condition) {
                all.push(condition);
            }
        }
        all
    }
}

/// The shape of the paper's table 2.
pub(super) fn against_loops(wrong: f64) -> Vec<Condition> {
    let eog = EogRun::ALL.map(Contender::Eog);
    let search = TreeSearch::ALL.map(Contender::Search);
    let linear = LinearLoop::ALL.map(Contender::Linear);
    eog.into_iter()
        .chain(search)
        .chain(linear)
        .map(|contender| Condition::usual(contender, wrong))
        .collect()
}

/// The shape of the paper's table 3: EoG, then the loop that slips more and more often.
pub(super) fn told(wrong: f64) -> Vec<Condition> {
    let loops = [0.0, 0.02, 0.05, 0.1, 0.2].map(|slips| ToldLoop { slips, ..ToldLoop::default() });
    let contenders = std::iter::once(Contender::EOG).chain(loops.map(Contender::Told));
    contenders.map(|contender| Condition::usual(contender, wrong)).collect()
}

/// By rate of errors, with errors that another question may undo and with stubborn ones: the
/// recommended rules and the paper's.
pub(super) fn second_looks(wrong: f64) -> Vec<[Condition; 2]> {
    let profiles = [Profile::Default, Profile::Paper];
    let pair = |rate, stubborn| {
        profiles.map(|profile| {
            let contender = Contender::Eog(EogRun { profile, messages: true });
            Condition { stubborn, ..Condition::usual(contender, rate) }
        })
    };
    let rates = rates(wrong);
    let all = [false, true].map(|stubborn| rates.iter().map(move |&rate| pair(rate, stubborn)));
    all.into_iter().flatten().collect()
}

/// The rates of errors of tables that have several.
fn rates(wrong: f64) -> Vec<f64> {
    let mut rates = [&RATES[..], &[wrong]].concat();
    rates.sort_by(f64::total_cmp);
    rates.dedup();
    rates
}

/// One row of the table of messages: a rate of errors.
pub(super) struct AtRate {
    pub(super) wrong: f64,
    /// By profile, without messages and with them.
    pub(super) profiles: [[Condition; 2]; 2],
    pub(super) linear: Condition,
}

/// The shape of the paper's table 4.
pub(super) fn messages(wrong: f64) -> Vec<AtRate> {
    let pair = |profile, rate| {
        [false, true]
            .map(|messages| Condition::usual(Contender::Eog(EogRun { profile, messages }), rate))
    };
    let row = |wrong| AtRate {
        wrong,
        profiles: [pair(Profile::Default, wrong), pair(Profile::Paper, wrong)],
        linear: Condition::usual(Contender::linear(), wrong),
    };
    rates(wrong).into_iter().map(row).collect()
}

/// The shape of the paper's figure 2(c): by controller, every order.
pub(super) fn orders(wrong: f64) -> Vec<Condition> {
    let paper = Contender::Eog(EogRun { profile: Profile::Paper, messages: true });
    [Contender::EOG, paper, Contender::linear()]
        .into_iter()
        .flat_map(|contender| {
            Exploration::ALL.map(|order| Condition { order, ..Condition::usual(contender, wrong) })
        })
        .collect()
}

/// The controllers that users can choose, each with its default values.
pub(super) fn chosen() -> Vec<Contender> {
    let search = TreeSearch::ALL.into_iter().filter(|it| *it != TreeSearch::TreeSeekerByLot);
    let linear = std::iter::once(Contender::linear());
    std::iter::once(Contender::EOG).chain(search.map(Contender::Search)).chain(linear).collect()
}

/// The rates of errors of a curve.
pub(crate) const RATES: [f64; 5] = [0.05, 0.1, 0.2, 0.3, 0.4];

/// How many questions a curve allows.
pub(crate) const BUDGETS: [u64; 5] = [10, 20, 40, 80, 160];

impl Condition {
    /// Every controller at every rate of errors from 5 to 40 %.
    pub fn by_errors() -> Vec<Self> {
        let at = |contender| RATES.map(|rate| Self::usual(contender, rate));
        chosen().into_iter().flat_map(at).collect()
    }

    /// Every controller with 10 to 160 questions.
    pub fn by_calls(wrong: f64) -> Vec<Self> {
        let with = |contender| {
            BUDGETS.map(|most| Self { budget: Some(most), ..Self::usual(contender, wrong) })
        };
        chosen().into_iter().flat_map(with).collect()
    }

    /// EoG with and without messages, and tree searches with one choice changed.
    pub fn ablations(wrong: f64) -> Vec<Self> {
        let eog = [true, false]
            .map(|messages| Contender::Eog(EogRun { profile: Profile::Default, messages }));
        let lots = [TreeSearch::TreeSeeker, TreeSearch::TreeSeekerByLot].map(Contender::Search);
        let others = Ablation::ALL.map(Contender::Ablated);
        let all = eog.into_iter().chain(lots).chain(others);
        all.map(|contender| Self::usual(contender, wrong)).collect()
    }
}
