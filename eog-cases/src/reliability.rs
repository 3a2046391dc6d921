//! What each word of confidence, and each probability, was worth in this installation.

use eog::Confidence;
use serde::Serialize;

use crate::grade::Grade;
use crate::index::Row;

/// A word is judged from so many cases on.
pub const MIN_CASES: usize = 30;

/// Bins of the reliability curve.
const BINS: usize = 10;

/// What conclusions were worth.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Reliability {
    /// How many cases there are.
    pub cases: usize,
    /// How many have each grade, best first.
    pub grades: Vec<(Grade, usize)>,
    /// Each word that names a cause, the surest first.
    pub words: Vec<WordKept>,
    /// What probabilities were worth, lowest first; bins without a case are left out.
    pub curve: Vec<Bin>,
}

/// A word of confidence, and how often it was right.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct WordKept {
    /// The word.
    pub said: Confidence,
    /// The share of right conclusions that it promises.
    pub promised: f64,
    /// How often it was said.
    pub said_times: usize,
    /// How often it was right.
    pub right: usize,
    /// The interval of 95 % of the share that is right (Wilson 1927).
    pub interval: (f64, f64),
    /// Whether it keeps its promise; nothing with fewer than [`MIN_CASES`] cases.
    pub keeps: Option<bool>,
}

/// Conclusions whose probability lies between two bounds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
#[non_exhaustive]
pub struct Bin {
    /// From this probability on.
    pub from: f64,
    /// Up to this one.
    pub to: f64,
    /// How many there are.
    pub cases: usize,
    /// Their mean probability.
    pub said: f64,
    /// The share that was right.
    pub right: f64,
}

/// The share of right conclusions that a word promises: `highly likely` is said from a probability of nine tenths on; `confirmed`
/// promises more; `likely`, that it is rather so than not.
fn promise(said: Confidence) -> f64 {
    match said {
        Confidence::Confirmed => 0.95,
        Confidence::HighlyLikely => 0.9,
        Confidence::Likely => 0.5,
        Confidence::Inconclusive => 0.0,
    }
}

impl Reliability {
    /// That of all cases.
    pub fn of(rows: &[Row]) -> Self {
        let count = |grade| rows.iter().filter(|row| row.grade == grade).count();
        let words = [Confidence::Confirmed, Confidence::HighlyLikely, Confidence::Likely];
        Self {
            cases: rows.len(),
            grades: Grade::ALL.map(|grade| (grade, count(grade))).to_vec(),
            words: words.map(|said| WordKept::of(said, rows)).to_vec(),
            curve: (0..BINS).filter_map(|bin| Bin::of(bin, rows)).collect(),
        }
    }

    /// The words that do not keep their promise.
    pub fn broken(&self) -> impl Iterator<Item = &WordKept> {
        self.words.iter().filter(|word| word.keeps == Some(false))
    }
}

impl WordKept {
    fn of(said: Confidence, rows: &[Row]) -> Self {
        let outcomes = rows.iter().filter(|row| row.said == said).filter_map(|row| row.right);
        let outcomes: Vec<bool> = outcomes.collect();
        let (all, right) = (outcomes.len(), outcomes.iter().filter(|right| **right).count());
        let (interval, promised) = (wilson(right as f64 / all.max(1) as f64, all), promise(said));
        // It is broken where even the upper end of the interval lies below what is promised.
        let keeps = (all >= MIN_CASES).then_some(interval.1 >= promised);
        Self { said, promised, said_times: all, right, interval, keeps }
    }
}

impl Bin {
    fn of(bin: usize, rows: &[Row]) -> Option<Self> {
        let in_bin = |probability: u16| (usize::from(probability) * BINS / 1_000).min(BINS - 1);
        let inside = rows.iter().filter_map(|row| Some((row.probability?, row.right?)));
        let inside: Vec<(u16, bool)> = inside.filter(|(said, _)| in_bin(*said) == bin).collect();
        let cases = inside.len();
        let mean = |sum: f64| sum / cases as f64;
        (cases > 0).then(|| Self {
            from: bin as f64 / BINS as f64,
            to: (bin + 1) as f64 / BINS as f64,
            cases,
            said: mean(inside.iter().map(|(said, _)| f64::from(*said) / 1e3).sum()),
            right: mean(inside.iter().filter(|(_, right)| *right).count() as f64),
        })
    }
}

/// Wilson's score interval of 95 % for a share of so many.
pub fn wilson(share: f64, all: usize) -> (f64, f64) {
    if all == 0 {
        return (0.0, 1.0);
    }
    let (z, n) = (1.959_963_984_540_054_f64, all as f64);
    let centre = (share + z * z / (2.0 * n)) / (1.0 + z * z / n);
    let spread = z / (1.0 + z * z / n) * (share * (1.0 - share) / n + z * z / (4.0 * n * n)).sqrt();
    ((centre - spread).max(0.0), (centre + spread).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::tests::case;

    fn rows(said: Confidence, probability: u16, right: usize, all: usize) -> Vec<Row> {
        let row = |number: usize| Row {
            said,
            probability: Some(probability),
            right: Some(number < right),
            ..Row::of(&case("a"))
        };
        (0..all).map(row).collect()
    }

    #[test]
    fn a_word_that_is_wrong_too_often_is_found() {
        let of = |right, all| {
            let all = rows(Confidence::HighlyLikely, 950, right, all);
            Reliability::of(&all).words[1]
        };
        assert_eq!(of(29, 29).keeps, None, "too few");
        assert_eq!(of(30, 30).keeps, Some(true));
        assert_eq!(of(27, 32).keeps, Some(true), "within the interval");
        assert_eq!(of(15, 32).keeps, Some(false));
        let (low, high) = of(15, 32).interval;
        assert!((0.30..0.32).contains(&low) && (0.63..0.65).contains(&high), "{low} {high}");
    }

    #[test]
    fn the_curve_has_what_was_said_beside_what_was_right() {
        let all = [
            rows(Confidence::Likely, 550, 1, 2),
            rows(Confidence::HighlyLikely, 1_000, 3, 4),
            rows(Confidence::HighlyLikely, 900, 0, 0),
        ];
        let curve = Reliability::of(&all.concat()).curve;
        let seen: Vec<_> = curve.iter().map(|bin| (bin.from, bin.cases, bin.right)).collect();
        assert_eq!(seen, [(0.5, 2, 0.5), (0.9, 4, 0.75)]);
        assert!((curve[1].said - 1.0).abs() < 1e-9);
    }
}
