//! From where anomalies are reached: searched backwards from them, all together.

use eog_core::incident::Onset;
use eog_core::{Anomaly, EntityId, Timestamp};

use crate::paths::Travel;
use crate::spread::Spread;
use crate::ways::{Number, Ways};

/// Anomalies, and how far it is to them.
pub(crate) struct Alarms<'a> {
    ways: &'a Ways,
    all: Vec<Alarm<'a>>,
    /// To the entities of the anomalies, each once.
    effects: Spread,
    demand: Option<Spread>,
}

/// One anomaly.
pub(crate) struct Alarm<'a> {
    pub(crate) anomaly: &'a Anomaly,
    /// The place of its entity among the targets.
    target: usize,
    /// First and renewed onsets in order.
    pub(crate) onsets: Vec<Timestamp>,
    /// When the harm reported by the first onset began, where it was measured.
    harm: Option<Onset>,
}

impl Alarm<'_> {
    /// The place of the first onset after an instant whose harm had not certainly begun by then.
    pub(crate) fn next(&self, at: Timestamp) -> Option<usize> {
        let next = self.onsets.partition_point(|onset| *onset <= at);
        let next = next.max(usize::from(self.harm.is_some_and(|harm| harm.latest() < at)));
        (next < self.onsets.len()).then_some(next)
    }

    /// By when the harm of an onset had begun: by the onset, or by what was measured of the first.
    pub(crate) fn began(&self, place: usize) -> Option<Timestamp> {
        let onset = *self.onsets.get(place)?;
        let measured = self.harm.filter(|_| place == 0);
        Some(measured.map_or(onset, |harm| harm.latest().min(onset)))
    }

    /// The first onset after an instant.
    pub(crate) fn onset_after(&self, at: Timestamp) -> Option<Timestamp> {
        self.onsets.get(self.next(at)?).copied()
    }
}

impl<'a> Alarms<'a> {
    /// Searches from the entities of anomalies along the ways of effects, and of demand if wanted.
    pub(crate) fn new(ways: &'a Ways, anomalies: &'a [Anomaly], is_demand_wanted: bool) -> Self {
        let number = |entity: &EntityId| ways.number(entity);
        let mut targets: Vec<Number> =
            anomalies.iter().filter_map(|anomaly| number(&anomaly.entity)).collect();
        targets.sort_unstable();
        targets.dedup();
        let alarm = |anomaly: &'a Anomaly| {
            let target = targets.binary_search(&number(&anomaly.entity)?).ok()?;
            let mut onsets: Vec<Timestamp> = anomaly.onsets().collect();
            onsets.sort_unstable();
            onsets.dedup();
            Some(Alarm { anomaly, target, onsets, harm: None })
        };
        let spread = |travel: Travel| Spread::to(ways.lanes(travel), &targets);
        Self {
            ways,
            all: anomalies.iter().filter_map(alarm).collect(),
            effects: spread(Travel::Effects),
            demand: is_demand_wanted.then(|| spread(Travel::Demand)),
        }
    }

    /// Dates the harm that alerts report.
    pub(crate) fn date(&mut self, harm_of: impl Fn(&Anomaly) -> Option<Onset>) {
        for alarm in &mut self.all {
            alarm.harm = harm_of(alarm.anomaly);
        }
    }

    /// All of them, in the order in which they were given.
    pub(crate) fn all(&self) -> &[Alarm<'a>] {
        &self.all
    }

    /// How many edges effects take from an entity to an anomaly.
    pub(crate) fn hops(&self, from: Number, alarm: &Alarm<'_>) -> Option<usize> {
        crate::steps::took(1);
        self.effects.hops(alarm.target, from)
    }

    /// How many edges load takes.
    pub(crate) fn hops_of_load(&self, from: Number, alarm: &Alarm<'_>) -> Option<usize> {
        self.demand.as_ref()?.hops(alarm.target, from)
    }

    /// The path that effects take from an entity to an anomaly.
    pub(crate) fn path(&self, from: Number, alarm: &Alarm<'_>) -> Option<Vec<Number>> {
        self.effects.path_to(self.ways.lanes(Travel::Effects), from, alarm.target)
    }

    /// The path that load takes.
    pub(crate) fn path_of_load(&self, from: Number, alarm: &Alarm<'_>) -> Option<Vec<Number>> {
        self.demand.as_ref()?.path_to(self.ways.lanes(Travel::Demand), from, alarm.target)
    }
}
