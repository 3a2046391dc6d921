//! The catalogue of metrics: which there are, in which unit, and of how many entities.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::EntityId;

use super::query::{Filters, Names};
use super::{BundleToolbox, Toolbox, series};

/// How many entities a catalogue names as examples.
const EXAMPLES: usize = 3;

/// A metric, as a catalogue lists it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MetricFamily {
    /// Its name.
    pub metric: String,
    /// Its unit in a bundle, its type in a snapshot; may be empty.
    pub unit: String,
    /// How many entities it was measured on.
    pub entities: usize,
    /// How many series it has.
    pub series: usize,
    /// The first few of these entities, by name.
    pub examples: Vec<EntityId>,
}

fn families<'s>(all: impl Iterator<Item = (&'s str, &'s str, &'s EntityId)>) -> Vec<MetricFamily> {
    let mut found: BTreeMap<(&str, &str), (usize, BTreeSet<&EntityId>)> = BTreeMap::new();
    for (metric, unit, entity) in all {
        let (series, entities) = found.entry((metric, unit)).or_default();
        *series += 1;
        entities.insert(entity);
    }
    let family = |((metric, unit), (series, entities)): ((&str, &str), (usize, BTreeSet<_>))| {
        let examples = entities.iter().take(EXAMPLES).map(|it: &&EntityId| (*it).clone()).collect();
        let (metric, unit) = (metric.to_owned(), unit.to_owned());
        MetricFamily { metric, unit, entities: entities.len(), series, examples }
    };
    found.into_iter().map(family).collect()
}

impl Toolbox {
    /// Every metric of the snapshot, by name.
    pub fn metric_families(&self) -> Vec<MetricFamily> {
        let (names, filters) = (Names::default(), Filters::default());
        let all = series::choose(self.snapshot(), self.graph(), None, &names, &filters);
        // Without conditions there is nothing that could not be used.
        let all = all.unwrap_or_default();
        let of = |one: &series::Measured<'_>| one.series.metric_type.to_string();
        let units: Vec<String> = all.iter().map(of).collect();
        let each = all.iter().zip(&units);
        families(each.map(|(one, unit)| (&*one.series.metric, unit.as_str(), &one.entity)))
    }
}

impl BundleToolbox<'_> {
    /// Every metric of the bundle, by name.
    pub fn metric_families(&self) -> Vec<MetricFamily> {
        let all = self.bundle().series();
        families(all.map(|one| (one.metric.as_str(), one.unit.as_str(), &one.entity)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn metrics_are_distinguished_by_name_and_unit() {
        let [a, b] = ["a", "b"].map(|name| EntityId::new(name).unwrap());
        let all =
            [("cpu", "ratio", &b), ("cpu", "ratio", &a), ("cpu", "ratio", &a), ("cpu", "s", &a)];
        let found = families(all.into_iter());
        let summary =
            |it: &MetricFamily| (it.unit.clone(), it.entities, it.series, it.examples.len());
        let summaries: Vec<_> = found.iter().map(summary).collect();
        assert_eq!(summaries, [("ratio".to_owned(), 2, 3, 2), ("s".to_owned(), 1, 1, 1)]);
    }
}
