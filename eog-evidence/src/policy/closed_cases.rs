//! Closed cases as a prior: what was observed of their causes speaks for an entity of which the same is observed.

use eog_core::Window;
use eog_core::contract::Term as WeighedTerm;
use serde::Deserialize;

use super::explain::MAX_QUOTE;
use super::weights::WeightsError;
use crate::likeness::{CLOSED_CASES, MIN_LIKENESS, Observations, Rarity};
use crate::text::shorten;

/// The greatest weight, in thousandths of natural log-odds: history alone decides nothing.
const MAX_WEIGHT: i32 = 1_000;
/// The value is the mean likeness of so many nearest cases, those that are missing with 0.
const COUNTED: usize = 3;

/// Closed cases, and what likeness to their causes weighs.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ClosedCases {
    /// In thousandths of natural log-odds.
    pub(super) weight: i32,
    #[serde(rename = "case", default)]
    pub(super) cases: Vec<Precedent>,
    #[serde(skip)]
    rarity: Rarity,
}

/// A closed case with a known cause.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Precedent {
    /// What it is called.
    pub name: String,
    /// What was true, in a few words.
    pub truth: String,
    /// When it was. It says nothing of an incident of the same time, which may be itself.
    pub window: Window,
    /// What was observed of its causes.
    pub observed: Observations,
}

impl ClosedCases {
    /// These cases, with a weight in thousandths of natural log-odds.
    pub fn new(weight: i32, cases: Vec<Precedent>) -> Self {
        let rarity = Rarity::of(cases.iter().map(|case| &case.observed));
        Self { weight, cases, rarity }
    }

    /// What was read, made usable.
    pub(super) fn checked(self) -> Result<Self, WeightsError> {
        if !(0..=MAX_WEIGHT).contains(&self.weight) {
            return Err(WeightsError::Prior { value: self.weight, most: MAX_WEIGHT });
        }
        Ok(Self::new(self.weight, self.cases))
    }

    /// What the nearest cases add for an entity of which this was observed; nothing where none is alike.
    pub(super) fn weigh(&self, window: Window, seen: &Observations) -> Option<WeighedTerm> {
        let others = self.cases.iter().filter(|case| !overlap(case.window, window));
        let compared = others.map(|case| (self.rarity.compare(seen, &case.observed).0, case));
        let mut alike: Vec<(f64, &Precedent)> =
            compared.filter(|(likeness, _)| *likeness >= MIN_LIKENESS).collect();
        alike.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.name.cmp(&b.1.name)));
        let (likeness, nearest) = *alike.first()?;
        let sum: f64 = alike.iter().take(COUNTED).map(|(likeness, _)| likeness).sum();
        let log_odds = (f64::from(self.weight) * sum / COUNTED as f64).round() as i32;
        let text = format!(
            "{:.0} % like the closed case {}: it was {}",
            likeness * 100.0,
            nearest.name,
            nearest.truth
        );
        let text = shorten(&text, MAX_QUOTE);
        let name = CLOSED_CASES.to_owned();
        (log_odds != 0).then(|| WeighedTerm { name, log_odds, text, evidence: Vec::new() })
    }
}

fn overlap(a: Window, b: Window) -> bool {
    a.start() <= b.end() && b.start() <= a.end()
}
