//! Measured series and the periods that are compared.

use eog_core::evidence::{Peer, Signal};
use eog_core::{EntityId, EvidenceKind, Timestamp, Window};
use jiff::SignedDuration;

use crate::effect_map::ABOUT_AS_NEAR;
use crate::intervals::Intervals;

/// A measured series of one entity.
///
/// ```
/// use eog_core::{EntityId, EvidenceKind};
/// use eog_core::evidence::Signal;
/// use eog_evidence::Series;
/// let series = Series {
///     entity: EntityId::new("cart")?,
///     kind: EvidenceKind::Metric,
///     metric: "requests".into(),
///     signal: Signal::Traffic,
///     unit: "1/s".into(),
///     peer: None,
///     points: vec![("2026-01-01T10:00:00Z".parse()?, 120.0)],
/// };
/// assert_eq!(series.points.len(), 1);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Series {
    /// The entity it was measured on.
    pub entity: EntityId,
    /// [`EvidenceKind::Metric`], or [`EvidenceKind::Span`] when it was made of spans.
    pub kind: EvidenceKind,
    /// The name of the metric.
    pub metric: String,
    /// What it speaks of.
    pub signal: Signal,
    /// Its unit, such as `ms`, `1/s`, `ratio`.
    pub unit: String,
    /// The other end, for a series about a relation.
    pub peer: Option<Peer>,
    /// The points by time. Values that are not finite are passed over.
    pub points: Vec<(Timestamp, f64)>,
}

impl Series {
    /// When there is work, where what is counted usually comes in runs: with at least half of the usual points at zero, and
    /// enough others to compare with. Nothing where it does not.
    pub(crate) fn work(&self, periods: &Periods) -> Option<Work> {
        let finite: Vec<(Timestamp, f64)> =
            self.points.iter().copied().filter(|(_, value)| value.is_finite()).collect();
        let usual = periods.cut(&finite)?.baseline;
        let at_work = usual.iter().filter(|(_, value)| *value > 0.0).count();
        (at_work >= MIN_BASELINE && 2 * at_work <= usual.len()).then_some(Work(finite))
    }

    /// The sums of runs, each counted when it begins, where what is counted usually comes in runs. A run that the series
    /// begins in is left out.
    pub(crate) fn by_run(&self, periods: &Periods) -> Option<Self> {
        let beginnings: Vec<Timestamp> = self.work(periods)?.beginnings().collect();
        (!beginnings.is_empty()).then(|| self.summed_from(beginnings))
    }

    /// The sums of what was counted from each of some times, which are in order, until the next.
    pub(crate) fn summed_from(&self, times: impl IntoIterator<Item = Timestamp>) -> Self {
        let mut points: Vec<(Timestamp, f64)> = times.into_iter().map(|at| (at, 0.0)).collect();
        for (at, value) in self.points.iter().filter(|(_, value)| value.is_finite()) {
            let begun = points.partition_point(|(begin, _)| begin <= at);
            if let Some((_, sum)) = begun.checked_sub(1).and_then(|last| points.get_mut(last)) {
                *sum += value;
            }
        }
        Self { points, ..self.clone() }
    }
}

/// When an entity that works in runs is at work: counts, each of the time that ends with it.
pub(crate) struct Work(Vec<(Timestamp, f64)>);

impl Work {
    /// Whether there is work at a time.
    pub(crate) fn holds(&self, at: Timestamp) -> bool {
        let next = self.0.partition_point(|(end, _)| *end < at);
        self.0.get(next).or(self.0.last()).is_some_and(|(_, count)| *count > 0.0)
    }

    /// When each run begins, without the one that the series begins in.
    fn beginnings(&self) -> impl Iterator<Item = Timestamp> {
        let runs = self.0.chunk_by(|a, b| (a.1 > 0.0) == (b.1 > 0.0)).skip(1);
        runs.filter_map(|run| run.first().filter(|(_, count)| *count > 0.0).map(|(at, _)| *at))
    }
}

/// What is compared with what.
///
/// The *baseline* of a series is the given baseline periods; without one, the points before the
/// window; when those are too few, those until all is surely usual, and else those before the first onset of the incident. The
/// *incident part* is every point of the window that is not part of the baseline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Periods {
    /// Periods known to be normal, if the input names any: they may be of other runs.
    pub baseline: Intervals,
    /// The window under investigation.
    pub window: Window,
    /// When the first anomaly began, if there is one.
    pub first_onset: Option<Timestamp>,
    /// Until when all is surely usual, where that is known to end before the first onset: alerts come late. The baseline ends
    /// here where enough points came before.
    pub usual_until: Option<Timestamp>,
    /// The extent of the telemetry, if it is known: rates of counted things need it.
    pub observed: Option<Window>,
}

impl Periods {
    /// Compares the window with what lies before it.
    pub fn new(window: Window) -> Self {
        Self {
            baseline: Intervals::NONE,
            window,
            first_onset: None,
            usual_until: None,
            observed: None,
        }
    }
}

impl Periods {
    /// The same where nothing but alerts shows when the trouble began: an alert may be late by as much as its rule looks
    /// back, commonly up to 5 minutes, which is taken from at most half of what was recorded before it. A given baseline stays.
    ///
    /// ```
    /// use eog_core::{Timestamp, Window};
    /// use eog_evidence::Periods;
    /// let at = |minute: i64| Timestamp::from_second(60 * minute).unwrap();
    /// let periods = Periods { first_onset: Some(at(20)), ..Periods::new(Window::new(at(0), at(30))?) };
    /// assert_eq!(periods.heeding_late_alerts().usual_until, Some(at(15)));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn heeding_late_alerts(self) -> Self {
        let Some(alert) = self.first_onset.filter(|_| self.baseline.is_empty()) else {
            return self;
        };
        let before = self.observed.map(|observed| alert.duration_since(observed.start()));
        let late = before.map_or(ABOUT_AS_NEAR, |before| ABOUT_AS_NEAR.min(before / 2));
        let usual_until = alert.checked_sub(late.max(SignedDuration::ZERO)).unwrap_or(alert);
        Self { usual_until: Some(usual_until), ..self }
    }
}

/// Fewest points that make a baseline.
pub const MIN_BASELINE: usize = 5;

/// A series cut into its two parts.
pub(crate) struct Parts {
    pub(crate) baseline: Vec<(Timestamp, f64)>,
    pub(crate) incident: Vec<(Timestamp, f64)>,
}

impl Periods {
    /// Cuts a series, or gives nothing when there are too few points to compare.
    pub(crate) fn cut(&self, points: &[(Timestamp, f64)]) -> Option<Parts> {
        Some(self.cut_with(points)?.1)
    }

    /// Whether a time is of the baseline with which a series is compared.
    pub(crate) fn usual_of(
        &self,
        points: &[(Timestamp, f64)],
    ) -> Option<impl Fn(Timestamp) -> bool> {
        let (baseline, _) = self.cut_with(points)?;
        Some(move |at| baseline.holds(at))
    }

    fn cut_with(&self, points: &[(Timestamp, f64)]) -> Option<(Baseline<'_>, Parts)> {
        self.baselines().into_iter().flatten().find_map(|usual| {
            let finite = points.iter().copied().filter(|(_, value)| value.is_finite());
            let (baseline, rest): (Vec<_>, Vec<_>) = finite.partition(|(at, _)| usual.holds(*at));
            let incident: Vec<(Timestamp, f64)> =
                rest.into_iter().filter(|(at, _)| self.window.contains(*at)).collect();
            let enough = baseline.len() >= MIN_BASELINE && !incident.is_empty();
            enough.then_some((usual, Parts { baseline, incident }))
        })
    }

    /// The baseline of things that are counted, not measured: the given one, else from the
    /// beginning of the telemetry until all is surely usual, to the first onset, or to the window when there is no onset.
    pub(crate) fn counting_baseline(&self) -> Intervals {
        let derived = || {
            let first = self.usual_until.or(self.first_onset);
            let end = first.unwrap_or(self.window.start());
            Window::new(self.observed?.start(), end).ok()
        };
        self.baseline.or_else(|| derived().into())
    }

    /// The time whose states and events are usual: the given baseline; else what was recorded before
    /// the window; else, in a recording that begins with the window, the earlier half of what lies
    /// before the first onset, since causes lie in the later.
    pub(crate) fn usual_time(&self) -> Intervals {
        let recorded = || {
            let begin = self.observed?.start();
            let before_window = Window::new(begin, self.window.start()).ok();
            before_window.or_else(|| {
                let onset = self.first_onset?;
                let half = onset.duration_since(begin) / 2;
                Window::new(begin, begin.checked_add(half).ok()?).ok()
            })
        };
        self.baseline.or_else(|| recorded().into())
    }

    /// The time of the window after the last normal one in it.
    pub(crate) fn after_usual(&self, usual: &Intervals) -> Option<Window> {
        let inside = usual.iter().map(|one| one.end()).filter(|end| self.window.contains(*end));
        let start = inside.max().unwrap_or(self.window.start());
        Window::new(start, self.window.end()).ok()
    }

    fn baselines(&self) -> [Option<Baseline<'_>>; 3] {
        if !self.baseline.is_empty() {
            return [Some(Baseline::Given(&self.baseline)), None, None];
        }
        [Some(self.window.start()), self.usual_until, self.first_onset]
            .map(|end| end.map(Baseline::Before))
    }
}

#[derive(Clone, Copy)]
enum Baseline<'a> {
    Given(&'a Intervals),
    Before(Timestamp),
}

impl Baseline<'_> {
    fn holds(&self, at: Timestamp) -> bool {
        match self {
            Self::Given(given) => given.contains(at),
            Self::Before(end) => at < *end,
        }
    }
}
