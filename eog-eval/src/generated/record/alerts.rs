//! Alerts: fixed rules over what was scraped.

use std::collections::BTreeMap;

use eog::evidence::Signal;
use eog::{Anomaly, Timestamp};

use super::Recorder;

/// An alert evaluates so many scrapes in a row.
const HELD: usize = 3;

impl Recorder<'_> {
    /// Fires where errors, time or waiting messages are far above the usual for several scrapes.
    pub(super) fn alert(&mut self) {
        let mut alerts = Vec::new();
        let system = self.system;
        for part in system.parts.iter().filter(|part| part.watched) {
            let points = |metric: &str| -> Vec<(Timestamp, f64)> {
                let key = (part.name.clone(), metric.to_owned(), None);
                self.series.get(&key).map(|series| series.points.clone()).unwrap_or_default()
            };
            let requests: BTreeMap<Timestamp, f64> = points("requests").into_iter().collect();
            let share = |(at, failed): &(Timestamp, f64)| {
                (*at, failed / requests.get(at).copied().unwrap_or(0.0).max(1.0))
            };
            let errors: Vec<_> = points("failed requests").iter().map(share).collect();
            let usual = |points: &[(Timestamp, f64)]| {
                let until = self.at(self.course.timing.usual);
                let mut values: Vec<f64> =
                    points.iter().filter(|(at, _)| *at < until).map(|(_, value)| *value).collect();
                values.sort_by(f64::total_cmp);
                values.get(values.len() / 2).copied().unwrap_or(0.0)
            };
            let (late, failed) = (points("late"), points("failed runs"));
            let (times, waiting) = (points("latency mean"), points("messages waiting"));
            let rules = [
                ("ErrorRateHigh", Signal::Errors, &errors, 0.05, HELD),
                ("LatencyHigh", Signal::Latency, &times, 2.5 * usual(&times) + 20.0, HELD),
                ("QueueGrows", Signal::Saturation, &waiting, 8.0 * usual(&waiting) + 100.0, HELD),
                ("RunLate", Signal::Latency, &late, 0.0, HELD),
                ("RunFailed", Signal::Errors, &failed, 0.0, 1),
            ];
            for (name, signal, points, limit, count) in rules {
                let above = |held: &&[(Timestamp, f64)]| held.iter().all(|(_, v)| *v > limit);
                let Some(held) = points.windows(count).find(above) else { continue };
                let Some((onset, _)) = held.last() else { continue };
                let alert = Anomaly::new(name, part.name.clone(), signal, *onset);
                let description = format!("{name} on {}", part.name);
                alerts.push(Anomaly { severity: "critical".into(), description, ..alert });
            }
        }
        alerts.sort_by(|a, b| (a.onset, &a.entity, &a.name).cmp(&(b.onset, &b.entity, &b.name)));
        self.bundle.alerts = alerts;
    }
}
