//! Which of many kinds of lines come more or less often than usual, by more than chance.
//!
//! Every test is conditional on how often a kind came in all, and asks how likely chance alone would
//! have divided its lines so between the usual time and the time of interest:
//!
//! - *Counts on both sides*: the binomial tail, which is the exact comparison of two Poisson rates
//!   (Przyborowski and Wilenski, *Homogeneity of results in testing samples from Poisson series*,
//!   Biometrika 1940).
//! - *Never before*, and *stays away*: that all lines but one fall into the time since the first one, or
//!   until the last one. The time in which nothing came carries more information than the counts of two periods of
//!   which one holds the change somewhere inside.
//!
//! Lines come in bursts: counts are divided by their dispersion (batch means), and rare lines of one
//! second count once. Many kinds are tested, of which some differ by chance: of those called different, at
//! most 1 % are so by chance alone in the mean (Benjamini and Hochberg, *Controlling the false discovery
//! rate*, 1995). Kinds that are too rare to differ in any case are not counted among the tested (Tarone,
//! *A modified Bonferroni method for discrete data*, 1990).

use std::borrow::Cow;

use eog_core::{Timestamp, Window};

use crate::intervals::Intervals;
use crate::recorded::recorded_seconds;
use crate::stats::median;

/// The share of kinds called different that may be so by chance (in the mean).
const FALSE_DISCOVERIES: f64 = 0.01;

/// A rate that differs by a smaller factor is not worth reporting, however surely it differs: the factor by
/// which rates of requests differ elsewhere.
const FACTOR: f64 = 1.5;

/// Kinds that come less often than this in every second are counted by seconds.
const RARE: f64 = 0.2;

/// Into how many parts of the usual time counts are cut to see how they scatter, at most. Batch means
/// commonly take 10 to 30 (Law and Kelton, *Simulation Modeling and Analysis*).
const BATCHES: usize = 12;

/// Fewest usual lines from which scatter is estimated.
const FEW: usize = 9;

/// Kinds with fewer expected lines say nothing of the volume of all.
const TYPICAL: f64 = 5.0;

/// Fewest kinds from which a common volume is estimated.
const KINDS: usize = 4;

/// A kind that stays away since before the time of interest is no news: by a usual level of doubt.
const AWAY_BEFORE: f64 = 0.05;

/// What is compared with what.
#[derive(Clone, Debug)]
pub struct ComparedTimes<'a> {
    /// The usual time.
    pub before: Intervals,
    /// The time of interest.
    pub after: Window,
    /// Until when lines were surely recorded: a line that does not come later says nothing.
    pub until: Timestamp,
    /// When nothing was recorded.
    pub holes: &'a [Window],
}

/// How the rate of a kind of lines changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RateChange {
    /// It never came in the usual time.
    New,
    /// It comes more often.
    Risen,
    /// It comes less often.
    Fallen,
    /// It came regularly and stays away since an instant, the time of the last line.
    Vanished(Timestamp),
}

impl RateChange {
    /// Whether there are more lines than usual.
    pub fn is_more(self) -> bool {
        matches!(self, Self::New | Self::Risen)
    }
}

/// What is found of one kind of lines.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct LineRate {
    /// How many lines came; of what vanished since the last one, which is none.
    pub observed: usize,
    /// How many were to be expected at the usual rate in that time.
    pub expected: f64,
    /// How often chance would give so great a difference.
    pub chance: f64,
    /// What changed, by more than chance.
    pub change: Option<RateChange>,
}

impl LineRate {
    /// Whether it is new, or at least half more frequent, by chance or not.
    pub fn is_more(&self) -> bool {
        self.observed as f64 > FACTOR * self.expected
    }

    /// By how many lines it differs from the usual: for ordering.
    pub fn surplus(&self) -> f64 {
        (self.observed as f64 - self.expected).abs()
    }
}

/// Compares each of some kinds of lines, given by their times in order, with its own usual rate.
///
/// With `of_all`, kinds must also differ from what all of them do: when requests double, so does every
/// line that a request writes. The common volume is the median of the ratios of all frequent kinds
/// (Anders and Huber, *Differential expression analysis for sequence count data*, 2010).
///
/// ```
/// use eog_core::{Timestamp, Window};
/// use eog_evidence::{ComparedTimes, RateChange, line_rates};
/// let second = |s: i64| Timestamp::from_second(s).unwrap();
/// let compared = ComparedTimes {
///     before: Window::new(second(0), second(1800))?.into(),
///     after: Window::new(second(1800), second(3600))?,
///     until: second(3600),
///     holes: &[],
/// };
/// let heartbeat: Vec<_> = (0..70).map(|n| second(30 * n)).collect();
/// let rates = line_rates(&[&heartbeat], &compared, false);
/// assert_eq!(rates[0].change, Some(RateChange::Vanished(second(2070))));
/// assert_eq!((rates[0].observed, rates[0].expected), (0, 51.0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn line_rates(
    kinds: &[&[Timestamp]],
    compared: &ComparedTimes<'_>,
    of_all: bool,
) -> Vec<LineRate> {
    let scale = Scale::new(compared);
    let counted: Vec<Kind<'_>> = kinds.iter().map(|times| Kind::of(times, compared)).collect();
    let volume = if of_all { common_volume(&counted, &scale) } else { None };
    let mut rates: Vec<LineRate> =
        counted.iter().map(|kind| kind.judge(&scale, volume.unwrap_or(1.0))).collect();
    let testable = counted.iter().filter(|kind| kind.can_differ(&scale)).count();
    let limit = discovery_limit(rates.iter().map(|rate| rate.chance), testable);
    for rate in &mut rates {
        rate.change = rate.change.filter(|_| rate.chance <= limit);
    }
    rates
}

/// Whether enough kinds, given by their times in order, are frequent to show what all of them do.
pub fn have_common_volume(kinds: &[&[Timestamp]], compared: &ComparedTimes<'_>) -> bool {
    let counted: Vec<Kind<'_>> = kinds.iter().map(|times| Kind::of(times, compared)).collect();
    common_volume(&counted, &Scale::new(compared)).is_some()
}

/// The greatest chance that still counts, of so many tested (Benjamini and Hochberg 1995).
pub(crate) fn discovery_limit(chances: impl Iterator<Item = f64>, tested: usize) -> f64 {
    let mut sorted: Vec<f64> = chances.collect();
    sorted.sort_by(f64::total_cmp);
    let allowed = |place: usize| (place + 1) as f64 / tested.max(1) as f64 * FALSE_DISCOVERIES;
    let last = sorted.iter().enumerate().rev().find(|(place, chance)| **chance <= allowed(*place));
    last.map_or(-1.0, |(_, chance)| *chance)
}

/// By which factor all kinds together come more often, where enough of them are frequent.
fn common_volume(kinds: &[Kind<'_>], scale: &Scale<'_>) -> Option<f64> {
    let ratios = kinds.iter().filter_map(|kind| {
        let expected = kind.before.len() as f64 * scale.ratio();
        (expected >= TYPICAL).then(|| (kind.after.len() as f64 + 0.5) / (expected + 0.5))
    });
    let ratios: Vec<f64> = ratios.collect();
    if ratios.len() < KINDS {
        return None;
    }
    median(ratios)
}

/// Both periods as one line of recorded seconds.
struct Scale<'a> {
    compared: &'a ComparedTimes<'a>,
    before: f64,
    after: f64,
    /// To the end of what was surely recorded.
    until: f64,
}

impl<'a> Scale<'a> {
    fn new(compared: &'a ComparedTimes<'a>) -> Self {
        let length = |window: Window| recorded_seconds(window, compared.holes).max(1.0);
        let before = compared.before.iter().map(length).sum();
        let after = length(compared.after);
        let mut scale = Self { compared, before, after, until: before + after };
        scale.until = scale.place(compared.until.min(compared.after.end()), 1.0);
        scale
    }

    fn ratio(&self) -> f64 {
        self.after / self.before
    }

    /// The recorded seconds until an instant, those of interest counted `volume` times.
    fn place(&self, at: Timestamp, volume: f64) -> f64 {
        let within = |part: Window| {
            let window = Window::new(part.start(), at.min(part.end())).ok();
            window.map_or(0.0, |window| recorded_seconds(window, self.compared.holes))
        };
        let after = self.compared.after;
        // A usual time that is given may lie after the time of interest.
        if self.compared.before.contains(at) || at < after.start() {
            return self.compared.before.iter().map(within).sum::<f64>().min(self.before);
        }
        self.before + volume * within(after).min(self.after)
    }

    /// The dispersion while lines come: from the first to the last.
    fn while_it_comes(&self, times: &[Timestamp]) -> f64 {
        match (times.first(), times.last()) {
            (Some(first), Some(last)) if times.len() >= FEW => {
                self.overdispersion(times, (self.place(*first, 1.0), self.place(*last, 1.0)))
            }
            _ => 1.0,
        }
    }

    /// How much more the counts of equal parts of a time scatter than those of a Poisson process: Pearson's
    /// statistic by its degrees of freedom, at least 1. What is beyond 1 counts more by twice its own
    /// relative standard error, since few parts estimate it badly.
    fn overdispersion(&self, times: &[Timestamp], (from, to): (f64, f64)) -> f64 {
        let parts = times.len().isqrt().min(BATCHES);
        let length = (to - from) / parts as f64;
        if parts < 3 || length <= 0.0 {
            return 1.0;
        }
        let end = |part: usize| match part == parts {
            true => times.len(),
            false => times.partition_point(|at| self.place(*at, 1.0) < from + length * part as f64),
        };
        let ends: Vec<usize> =
            (0..=parts).map(|part| if part == 0 { 0 } else { end(part) }).collect();
        let mean = times.len() as f64 / parts as f64;
        let square = |pair: &[usize]| match *pair {
            [from, to] => (to as f64 - from as f64 - mean) * (to as f64 - from as f64 - mean),
            _ => 0.0,
        };
        let squares: f64 = ends.windows(2).map(square).sum();
        let freedom = (parts - 1) as f64;
        let beyond = (squares / mean / freedom - 1.0).max(0.0);
        1.0 + beyond * (1.0 + 2.0 * (2.0 / freedom).sqrt())
    }
}

/// The lines of one kind in both periods.
struct Kind<'a> {
    before: Cow<'a, [Timestamp]>,
    after: &'a [Timestamp],
}

impl<'a> Kind<'a> {
    fn of(times: &'a [Timestamp], compared: &ComparedTimes<'_>) -> Self {
        let within = |window: Window| {
            let start = times.partition_point(|at| *at < window.start());
            let end = times.partition_point(|at| *at < window.end());
            times.get(start..end).unwrap_or_default()
        };
        let mut parts = compared.before.iter().map(within);
        let first = parts.next().unwrap_or_default();
        let before = parts.fold(Cow::Borrowed(first), |mut all, part| {
            all.to_mut().extend_from_slice(part);
            all
        });
        Self { before, after: within(compared.after) }
    }

    /// Whether lines so many can differ by more than chance, however they are divided.
    fn can_differ(&self, scale: &Scale<'_>) -> bool {
        let all = (self.before.len() + self.after.len()) as f64;
        let share = scale.after / (scale.after + scale.before);
        let least = libm::pow(share, all).min(libm::pow(1.0 - share, all));
        least <= FALSE_DISCOVERIES
    }

    fn judge(&self, scale: &Scale<'_>, volume: f64) -> LineRate {
        let (old, new) = (self.before.len() as f64, self.after.len() as f64);
        let expected = old * scale.ratio();
        let usual = LineRate { observed: self.after.len(), expected, chance: 1.0, change: None };
        if self.after.is_empty() && self.before.is_empty() {
            return usual;
        }
        if self.before.is_empty() {
            let chance = self.chance_of_news(scale, 1.0).max(self.chance_of_news(scale, volume));
            return LineRate { chance, change: Some(RateChange::New), ..usual };
        }
        let dispersion = self.dispersion(scale);
        let counts = self.counts(scale, dispersion);
        let chance = |after: f64| {
            let by = |volume: f64| {
                let share = volume * after / (scale.before + volume * after);
                two_sided(counts.1, counts.0 + counts.1, share)
            };
            by(1.0).max(by(volume))
        };
        let is_over = new > FACTOR * expected && new > FACTOR * volume * expected;
        let change = Some(RateChange::Risen);
        let risen = LineRate { chance: chance(scale.after), change, ..usual };
        if is_over && risen.chance <= FALSE_DISCOVERIES {
            return risen;
        }
        if let Some(vanished) = self.vanished(scale, volume, dispersion) {
            // Both tests were tried.
            return LineRate { chance: (2.0 * vanished.chance).min(1.0), ..vanished };
        }
        // What does not come when nothing is recorded is not missed.
        let recorded = scale.until - scale.before;
        let expected = old * recorded / scale.before;
        let is_under = new * FACTOR < expected && new * FACTOR < volume * expected;
        match (is_over, is_under) {
            (true, _) => risen,
            (_, true) => {
                let change = Some(RateChange::Fallen);
                LineRate { expected, chance: chance(recorded), change, ..usual }
            }
            _ => usual,
        }
    }

    /// How many independent happenings there were in both periods.
    fn counts(&self, scale: &Scale<'_>, dispersion: f64) -> (f64, f64) {
        let (before, after) = (happenings(&self.before), happenings(self.after));
        let rate = (before / scale.before).max(after / scale.after);
        let (before, after) = match rate < RARE {
            true => (before, after),
            false => (self.before.len() as f64, self.after.len() as f64),
        };
        (before / dispersion, after / dispersion)
    }

    /// How counts scatter in the usual time or, where it has too few lines, while they come later.
    fn dispersion(&self, scale: &Scale<'_>) -> f64 {
        match (self.before.len() >= FEW, self.after.len() >= FEW) {
            (true, _) => scale.overdispersion(&self.before, (0.0, scale.before)),
            (false, true) => scale.while_it_comes(self.after),
            _ => 1.0,
        }
    }

    /// How often chance would let so much time pass before the first line.
    fn chance_of_news(&self, scale: &Scale<'_>, volume: f64) -> f64 {
        let Some(first) = self.after.first() else { return 1.0 };
        let end = scale.before + volume * scale.after;
        let since = (end - scale.place(*first, volume)) / end;
        let happenings = happenings(self.after) / scale.while_it_comes(self.after);
        libm::pow(since, (happenings - 1.0).max(0.0))
    }

    /// Whether it was there regularly, and then stayed away for longer than chance gives.
    fn vanished(&self, scale: &Scale<'_>, volume: f64, dispersion: f64) -> Option<LineRate> {
        let (last, end) = (*self.after.last().or(self.before.last())?, scale.compared.until);
        let happened = |times: &[Timestamp]| happenings(times) / dispersion;
        let chance = |volume: f64| {
            let whole = scale.before + volume * (scale.until - scale.before);
            let count = happened(&self.before) + happened(self.after);
            libm::pow(scale.place(last, volume) / whole, (count - 1.0).max(0.0))
        };
        let chance = chance(1.0).max(chance(volume));
        if chance > FALSE_DISCOVERIES {
            return None;
        }
        let last_usual = scale.place(*self.before.last()?, 1.0) / scale.before;
        let away = libm::pow(last_usual, (happened(&self.before) - 1.0).max(0.0));
        if self.after.is_empty() && away <= AWAY_BEFORE {
            return None;
        }
        let from = last.max(scale.compared.after.start());
        let silent = recorded_seconds(Window::new(from, end).ok()?, scale.compared.holes);
        let expected = self.before.len() as f64 * silent / scale.before;
        let change = Some(RateChange::Vanished(last));
        Some(LineRate { observed: 0, expected, chance, change })
    }
}

/// In how many seconds at least one line came.
fn happenings(times: &[Timestamp]) -> f64 {
    times.chunk_by(|a, b| a.as_second() == b.as_second()).count() as f64
}

/// How often chance divides `all` at least so unevenly that `part` of them fall into a share of the time:
/// twice the smaller binomial tail.
pub(crate) fn two_sided(part: f64, all: f64, share: f64) -> f64 {
    let rest = all - part;
    let tail = match part >= share * all {
        true => upper_tail(part, all, share),
        false => upper_tail(rest, all, 1.0 - share),
    };
    (2.0 * tail).min(1.0)
}

/// The chance of at least `part` of `all`, each with a probability. Counts need not be whole, since
/// they were divided by their dispersion.
fn upper_tail(part: f64, all: f64, probability: f64) -> f64 {
    if part <= 0.0 || probability >= 1.0 {
        return 1.0;
    }
    if probability <= 0.0 {
        return 0.0;
    }
    let choose =
        libm::lgamma(all + 1.0) - libm::lgamma(part + 1.0) - libm::lgamma(all - part + 1.0);
    let first =
        choose + part * libm::log(probability) + (all - part) * libm::log(1.0 - probability);
    let odds = probability / (1.0 - probability);
    let (mut term, mut sum, mut count) = (1.0, 1.0, part);
    // Terms fall at least geometrically from the mean on.
    while count < all && term > 1e-12 * sum {
        term *= (all - count).max(0.0) / (count + 1.0) * odds;
        sum += term;
        count += 1.0;
    }
    (libm::exp(first) * sum).min(1.0)
}

#[cfg(test)]
mod tests;
