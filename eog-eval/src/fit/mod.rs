//! Fits the weights of the evidence policy, and judges them on systems that they were not fitted on.
//!
//! `eog eval fit DIR…`: each folder is one system of incident bundles with truths, as
//! [`suite`](crate::suite) reads it.

mod instances;
mod logit;

use std::collections::BTreeSet;
use std::fmt::{self, Write as _};
use std::path::PathBuf;

use eog_evidence::{Bundle, Weights};
use serde::Serialize;

use crate::error::EvalError;
use crate::ranking::Ranking;
use crate::repeated::Interval;
use instances::{Incident, System};
use logit::{Shrinkage, fit, sum};

/// What a fit found.
#[derive(Clone, Debug, Serialize)]
pub struct Fitted {
    /// Every term with its shipped weight and the one fitted on all systems, in thousandths.
    pub weights: Vec<FittedWeight>,
    /// Every system: what the weights fitted on all others score on it.
    pub systems: Vec<LeftOut>,
}

/// A weight before and after.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FittedWeight {
    /// The term.
    pub term: &'static str,
    /// As it is shipped, in thousandths.
    pub shipped: i32,
    /// As it fits all systems, in thousandths.
    pub fitted: i32,
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
}

/// Fits on these folders.
///
/// # Errors
/// [`EvalError`] when a folder holds no case, or a case cannot be read.
pub fn evaluate(dirs: &[PathBuf], prior: &Prior) -> Result<Fitted, EvalError> {
    let systems = dirs.iter().map(|dir| System::read(dir)).collect::<Result<Vec<_>, _>>()?;
    let table = Weights::shipped();
    let shipped: Vec<f64> = table.terms().map(|(_, weight)| f64::from(weight) / 1e3).collect();
    let fitted_on = |systems: &[&System]| {
        let incidents = systems.iter().map(|system| system.incidents.len()).sum();
        let (towards, shrinkage) = prior.of(incidents);
        fit(systems, &towards, shrinkage)
    };
    let all: Vec<&System> = systems.iter().collect();
    let weights = table.terms().zip(fitted_on(&all)).map(|((term, shipped), fitted)| {
        FittedWeight { term, shipped, fitted: (fitted * 1e3).round() as i32 }
    });
    let left_out = systems.iter().enumerate().map(|(left_out, system)| {
        let others = all.iter().copied().enumerate().filter(|(place, _)| *place != left_out);
        let others: Vec<&System> = others.map(|(_, other)| other).collect();
        let weights = fitted_on(&others);
        let excess = only("excess");
        let top1 = |weights: &[f64]| -> Vec<f64> {
            system.incidents.iter().map(|it| ranked(it, weights).hit_at(1, &it.causes)).collect()
        };
        let (own, floor) = (top1(&weights), top1(&excess));
        let gains: Vec<f64> = own.iter().zip(floor).map(|(own, floor)| own - floor).collect();
        LeftOut {
            system: system.name.clone(),
            incidents: system.incidents.len(),
            shipped: hits(system, &shipped),
            others: hits(system, &weights),
            excess: hits(system, &excess),
            gain: Interval::bootstrap(&gains),
        }
    });
    Ok(Fitted { weights: weights.collect(), systems: left_out.collect() })
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

    /// The fitted weights in the form of `weights.toml`, with the shipped meanings and thresholds.
    pub fn to_toml(&self) -> String {
        let mut text = Weights::shipped_toml().to_owned();
        for weight in &self.weights {
            let (old, new) = (
                format!("name = \"{}\"\nweight = {}\n", weight.term, weight.shipped),
                format!("name = \"{}\"\nweight = {}\n", weight.term, weight.fitted),
            );
            text = text.replace(&old, &new);
        }
        text
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
        writeln!(text, "\n{:28} {:>8} {:>8}", "term", "shipped", "fitted")?;
        for weight in &self.weights {
            writeln!(text, "{:28} {:>8} {:>8}", weight.term, weight.shipped, weight.fitted)?;
        }
        f.write_str(&text)
    }
}
