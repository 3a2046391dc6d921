//! Fits the weights of the evidence policy, and judges them on systems that they were not fitted on.
//!
//! `eog eval fit DIR…`: each folder is one system of incident bundles with truths, as
//! [`suite`](crate::suite) reads it.

mod instances;
mod logit;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::PathBuf;
use std::sync::Arc;

use eog_evidence::{Bundle, Weights};
use serde::Serialize;

use crate::error::EvalError;
use crate::generated::Kind;
use crate::ranking::Ranking;
use crate::repeated::Interval;
use crate::suite::Progress;
use instances::{Incident, System};
use logit::{Shrinkage, fit, sum};

/// What a fit found.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// Every term with its weight before and the one fitted on all systems, in thousandths.
    pub weights: Vec<FittedWeight>,
    /// Every system: what the weights fitted on all others score on it.
    pub systems: Vec<LeftOut>,
    /// What the fitted weights do: to the systems that they were fitted on, to those that were kept apart, and to generated ones.
    pub effects: Vec<Effect>,
    /// The table with the fitted weights.
    #[serde(skip)]
    pub table: Weights,
}

/// A weight before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedWeight {
    /// The term.
    pub term: &'static str,
    /// In the table of the prior, or else as it is shipped, in thousandths.
    pub before: i32,
    /// As it fits all systems, in thousandths.
    pub fitted: i32,
}

/// What fitted weights do to the ranking of a system's incidents.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Effect {
    /// The system.
    pub system: String,
    /// Whether the weights were fitted on it.
    pub is_fitted: bool,
    /// How many of its incidents have a cause among its entities.
    pub incidents: usize,
    /// By the weights before.
    pub before: Hits,
    /// By the fitted weights.
    pub after: Hits,
    /// `after` minus `before` in top-1: the interval that holds 95 % of 2,000 bootstrap samples of incidents.
    pub change: Interval,
}

/// What the fitted weights are tried on, beside the systems that they are fitted on.
#[derive(Clone, Copy, Debug, Default)]
pub struct Tried<'a> {
    /// Further systems.
    pub held: &'a [PathBuf],
    /// Incidents of each kind of generated system.
    pub generated: u64,
}

/// What rankings score on a system that was left out.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LeftOut {
    /// The system.
    pub system: String,
    /// How many of its incidents have a cause among its entities.
    pub incidents: usize,
    /// By the weights as they are shipped.
    pub shipped: Hits,
    /// By weights fitted on the other systems alone.
    pub others: Hits,
    /// By own harm minus the worst upstream, and nothing else.
    pub excess: Hits,
    /// `others` minus `excess` in top-1: the interval that holds 95 % of 2,000 bootstrap samples of incidents.
    pub gain: Interval,
}

/// Shares of incidents with a cause in first place, and among the first three; ties count by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Hits {
    /// In first place.
    pub top1: f64,
    /// Among the first three.
    pub top3: f64,
}

/// What weights are drawn to by the L2 penalty of a fit, each keeping its sign.
#[derive(Clone, Debug)]
pub enum Prior {
    /// One unit, with the sign that a term has by its meaning. The shipped weights were fitted on data that may be among the
    /// folders, so that drawing to them would let a system that is left out in by the back door.
    Units {
        /// The strength of the penalty.
        strength: f64,
    },
    /// The weights of a table, that count as much as so many incidents: fewer incidents move them little, more move them
    /// as far as their evidence goes.
    Table {
        /// The table.
        weights: Weights,
        /// How many incidents it counts as.
        incidents: f64,
    },
}

impl Prior {
    /// Weights of the prior in natural log-odds, and the strength of the penalty for so many incidents.
    fn of(&self, incidents: usize) -> (Vec<f64>, Shrinkage) {
        match self {
            Self::Units { strength } => {
                let shipped = Weights::shipped();
                let units = shipped.terms().map(|(_, weight)| f64::from(weight.signum()));
                (units.collect(), Shrinkage(*strength))
            }
            Self::Table { weights, incidents: counts } => {
                let weights = weights.terms().map(|(_, weight)| f64::from(weight) / 1e3);
                (weights.collect(), Shrinkage(counts / incidents.max(1) as f64))
            }
        }
    }

    /// The weights that a fit is compared with, and that it takes the place of.
    fn table(&self) -> Arc<Weights> {
        match self {
            Self::Units { .. } => Weights::shipped(),
            Self::Table { weights, .. } => Arc::new(weights.clone()),
        }
    }
}

/// Fits on these folders, and tries the result.
///
/// # Errors
/// [`EvalError`] when a folder holds no case, or a case cannot be read.
pub fn evaluate(
    dirs: &[PathBuf],
    prior: &Prior,
    tried: Tried<'_>,
    progress: &mut Progress<'_>,
) -> Result<Fitted, EvalError> {
    let all = dirs.len() + tried.held.len() + Kind::ALL.len() * usize::from(tried.generated > 0);
    let mut begun = 0;
    let mut tell = |name: &str| {
        progress(begun, all, name);
        begun += 1;
    };
    let mut read = |dir: &PathBuf| {
        tell(&dir.display().to_string());
        System::read(dir)
    };
    let systems = dirs.iter().map(&mut read).collect::<Result<Vec<_>, _>>()?;
    let held = tried.held.iter().map(&mut read).collect::<Result<Vec<_>, _>>()?;
    let kinds = Kind::ALL.iter().filter(|_| tried.generated > 0);
    let generated = kinds.map(|kind| {
        tell(kind.name());
        System::generated(*kind, tried.generated)
    });
    let generated = generated.collect::<Result<Vec<_>, _>>()?;
    let shipped = in_log_odds(&Weights::shipped());
    let fitted_on = |systems: &[&System]| {
        let incidents = systems.iter().map(|system| system.incidents.len()).sum();
        let (towards, shrinkage) = prior.of(incidents);
        fit(systems, &towards, shrinkage)
    };
    let all: Vec<&System> = systems.iter().collect();
    let before = prior.table();
    let rounded = fitted_on(&all).into_iter().map(|weight| (weight * 1e3).round() as i32);
    let rounded: Vec<i32> = rounded.collect();
    let table = before.reweighed(&rounded).map_err(|error| EvalError::Case {
        case: "the fitted weights".to_owned(),
        reason: error.to_string(),
    })?;
    let weights = before.terms().zip(&rounded);
    let weights =
        weights.map(|((term, before), fitted)| FittedWeight { term, before, fitted: *fitted });
    let (old, new) = (in_log_odds(&before), in_log_odds(&table));
    let effect = |(system, is_fitted): (&System, bool)| Effect {
        system: system.name.clone(),
        is_fitted,
        incidents: system.incidents.len(),
        before: hits(system, &old),
        after: hits(system, &new),
        change: gain(system, &new, &old),
    };
    let seen = systems.iter().map(|system| (system, true));
    let unseen = held.iter().chain(&generated).map(|system| (system, false));
    let effects = seen.chain(unseen).map(effect).collect();
    let left_out = systems.iter().enumerate().map(|(left_out, system)| {
        let others = all.iter().copied().enumerate().filter(|(place, _)| *place != left_out);
        let others: Vec<&System> = others.map(|(_, other)| other).collect();
        let weights = fitted_on(&others);
        let excess = only("excess");
        LeftOut {
            system: system.name.clone(),
            incidents: system.incidents.len(),
            shipped: hits(system, &shipped),
            others: hits(system, &weights),
            excess: hits(system, &excess),
            gain: gain(system, &weights, &excess),
        }
    });
    let systems = left_out.collect();
    Ok(Fitted { weights: weights.collect(), systems, effects, table })
}

fn in_log_odds(table: &Weights) -> Vec<f64> {
    table.terms().map(|(_, weight)| f64::from(weight) / 1e3).collect()
}

/// What some weights score more than others in top-1.
fn gain(system: &System, weights: &[f64], others: &[f64]) -> Interval {
    let top1 = |it: &Incident, weights: &[f64]| ranked(it, weights).hit_at(1, &it.causes);
    let gains = system.incidents.iter().map(|it| top1(it, weights) - top1(it, others));
    Interval::bootstrap(&gains.collect::<Vec<_>>())
}

/// Weights that count one term alone.
fn only(name: &str) -> Vec<f64> {
    let table = Weights::shipped();
    table.terms().map(|(term, _)| if term == name { 1.0 } else { 0.0 }).collect()
}

fn ranked(incident: &Incident, weights: &[f64]) -> Ranking {
    let scored = incident.entities.iter().zip(&incident.values);
    Ranking::by_score(scored.map(|(entity, values)| {
        // Rounded as the policy does, so that ties are ties.
        (entity.clone(), (sum(weights, values) * 1e3).round())
    }))
}

/// The entities of an incident by own harm minus the worst upstream, the floor that one subtraction sets.
pub(crate) fn excess_ranking(name: &str, bundle: Bundle) -> Result<Ranking, EvalError> {
    Ok(ranked(&Incident::of(name, bundle, BTreeSet::new())?, &only("excess")))
}

fn hits(system: &System, weights: &[f64]) -> Hits {
    let all = system.incidents.len().max(1) as f64;
    let mean = |k| {
        let hit = |it: &Incident| ranked(it, weights).hit_at(k, &it.causes);
        system.incidents.iter().map(hit).sum::<f64>() / all
    };
    Hits { top1: mean(1), top3: mean(3) }
}

impl Fitted {
    /// The systems as CSV.
    pub fn to_csv(&self) -> String {
        let head = "system,incidents,shipped_top1,shipped_top3,others_top1,others_top3,excess_top1,excess_top3\n";
        let rows = self.systems.iter().map(|it| {
            let Hits { top1: a, top3: b } = it.shipped;
            let Hits { top1: c, top3: d } = it.others;
            let Hits { top1: e, top3: f } = it.excess;
            format!("{},{},{a:.4},{b:.4},{c:.4},{d:.4},{e:.4},{f:.4}\n", it.system, it.incidents)
        });
        head.to_owned() + &rows.collect::<String>()
    }
}

impl fmt::Display for Hits {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:.3}/{:.3}", self.top1, self.top3)
    }
}

impl fmt::Display for Fitted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut text =
            String::from("Top-1/top-3 of each system, by weights that were not fitted on it\n\n");
        writeln!(
            text,
            "{:28} {:>5} {:>13} {:>13} {:>13}  gain over excess",
            "system", "n", "shipped", "others", "excess alone"
        )?;
        for it in &self.systems {
            writeln!(
                text,
                "{:28} {:>5} {:>13} {:>13} {:>13}  {:+.3} [{:+.3}, {:+.3}]",
                it.system,
                it.incidents,
                it.shipped.to_string(),
                it.others.to_string(),
                it.excess.to_string(),
                it.others.top1 - it.excess.top1,
                it.gain.low,
                it.gain.high
            )?;
        }
        let mean = |of: fn(&LeftOut) -> f64| {
            self.systems.iter().map(of).sum::<f64>() / self.systems.len().max(1) as f64
        };
        writeln!(
            text,
            "{:28} {:>5} {:>13.3} {:>13.3} {:>13.3}",
            "mean, top-1",
            "",
            mean(|it| it.shipped.top1),
            mean(|it| it.others.top1),
            mean(|it| it.excess.top1)
        )?;
        text += "\nWhat the fitted weights do: top-1/top-3 by ranking alone. (*) fitted on it\n\n";
        writeln!(
            text,
            "{:28} {:>5} {:>13} {:>13}  change in top-1",
            "system", "n", "before", "fitted"
        )?;
        for it in &self.effects {
            let system = format!("{}{}", it.system, if it.is_fitted { " (*)" } else { "" });
            let (before, after) = (it.before.to_string(), it.after.to_string());
            writeln!(
                text,
                "{system:28} {:>5} {before:>13} {after:>13}  {:+.3} [{:+.3}, {:+.3}]",
                it.incidents,
                it.after.top1 - it.before.top1,
                it.change.low,
                it.change.high
            )?;
        }
        writeln!(text, "\n{:28} {:>8} {:>8} {:>8}", "term", "before", "fitted", "change")?;
        for FittedWeight { term, before, fitted } in &self.weights {
            let change = match fitted - before {
                0 => String::new(),
                change => format!("{change:+}"),
            };
            let line = format!("{term:28} {before:>8} {fitted:>8} {change:>8}");
            writeln!(text, "{}", line.trim_end())?;
        }
        f.write_str(&text)
    }
}
