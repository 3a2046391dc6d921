//! The alerts of an incident as every phase of its opening shows them.

use eog_core::Anomaly;
use eog_core::evidence::Signal;
use eog_evidence::{mask_text, shorten};
use serde::Serialize;

use crate::times::Times;

/// At most this many alerts are shown, those of golden signals first.
pub(crate) const MAX_ALERTS: usize = 60;

/// Whether a signal shows harm to users of the system: what an investigation starts from.
pub(crate) fn is_golden(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::Errors | Signal::Latency | Signal::Traffic | Signal::Availability | Signal::Output
    )
}

/// Alerts with their numbers, `A1` and on, by onset.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct AlertList {
    lines: Vec<AlertLine>,
    /// How many more there are.
    left_out: usize,
    #[serde(skip)]
    anomalies: Vec<Anomaly>,
}

/// One alert.
#[derive(Clone, Debug, Serialize)]
struct AlertLine {
    id: String,
    since: String,
    until: Option<String>,
    /// Later onsets.
    again: Vec<String>,
    entity: String,
    signal: Signal,
    golden: bool,
    alert: String,
    severity: String,
    text: String,
    /// Other alerts that its entity's effects reach, in words.
    reaches: String,
}

impl AlertList {
    pub(crate) fn new(anomalies: &[Anomaly], times: &Times) -> Self {
        let mut strongest: Vec<&Anomaly> = anomalies.iter().collect();
        strongest.sort_by(|a, b| {
            (!is_golden(a.signal), order(a)).cmp(&(!is_golden(b.signal), order(b)))
        });
        strongest.truncate(MAX_ALERTS);
        strongest.sort_by(|a, b| order(a).cmp(&order(b)));
        let line = |(at, anomaly): (usize, &&Anomaly)| AlertLine {
            id: format!("A{}", at + 1),
            since: times.at(anomaly.onset),
            until: anomaly.last_seen.map(|seen| times.at(seen)),
            again: anomaly.renewed.iter().take(3).map(|at| times.at(*at)).collect(),
            entity: anomaly.entity.to_string(),
            signal: anomaly.signal,
            golden: is_golden(anomaly.signal),
            alert: shorten(&mask_text(&anomaly.name), 80),
            severity: shorten(&anomaly.severity, 20),
            text: shorten(&mask_text(&anomaly.description), 160),
            reaches: String::new(),
        };
        Self {
            lines: strongest.iter().enumerate().map(line).collect(),
            left_out: anomalies.len() - strongest.len(),
            anomalies: strongest.into_iter().cloned().collect(),
        }
    }

    /// Adds to each alert the other alerts that its effects reach, in words.
    pub(crate) fn reaching(&mut self, words: Vec<String>) {
        for (line, words) in self.lines.iter_mut().zip(words) {
            line.reaches = words;
        }
    }

    /// The alerts shown, in order.
    pub(crate) fn shown(&self) -> &[Anomaly] {
        &self.anomalies
    }

    /// The alert with a number such as `A3`.
    pub(crate) fn find(&self, id: &str) -> Option<&Anomaly> {
        self.anomalies.get(position("A", id)?)
    }

    /// Words for a number that no alert has.
    pub(crate) fn unknown(&self, id: &str) -> String {
        let last = self.anomalies.len();
        format!("there is no alert {:?}; alerts are A1 to A{last}", shorten(id, 20))
    }

    /// Words for what is not shown; nothing when all are.
    pub(crate) fn left_out(&self) -> Option<String> {
        (self.left_out > 0).then(|| {
            let all = self.left_out + self.anomalies.len();
            format!("{} of {all} alerts were not shown to the model", self.left_out)
        })
    }
}

fn order(anomaly: &Anomaly) -> impl Ord + '_ {
    (anomaly.onset, &anomaly.entity, &anomaly.name)
}

/// The position that a number such as `A3` stands for.
pub(crate) fn position(letter: &str, id: &str) -> Option<usize> {
    let digits = id.trim().strip_prefix(letter)?;
    let plain = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    digits.parse::<usize>().ok().filter(|_| plain)?.checked_sub(1)
}

#[cfg(test)]
mod tests {
    use eog_core::EntityId;

    use super::*;

    fn alert(entity: &str, signal: Signal, minute: i64) -> Anomaly {
        Anomaly {
            name: format!("alert-{entity}"),
            entity: EntityId::new(entity).expect("a name"),
            signal,
            onset: eog_core::Timestamp::from_second(minute * 60).expect("a time"),
            renewed: vec![],
            last_seen: None,
            severity: String::new(),
            description: String::new(),
        }
    }

    #[test]
    fn alerts_are_numbered_by_onset_and_found_by_number() {
        let alerts = [alert("b", Signal::Errors, 9), alert("a", Signal::Latency, 4)];
        let list = AlertList::new(&alerts, &Times::default());
        let names = ["A1", "A2"].map(|id| list.find(id).map(|found| found.entity.to_string()));
        assert_eq!(names, [Some("a".to_owned()), Some("b".to_owned())]);
        for unknown in ["A0", "A3", "a1", "1", "A", "A+1", "A99999999999999999999", ""] {
            assert!(list.find(unknown).is_none(), "{unknown}");
        }
        assert!(list.left_out().is_none());
    }

    #[test]
    fn of_too_many_alerts_the_golden_ones_stay() {
        let mut alerts: Vec<Anomaly> =
            (0..100).map(|at| alert(&format!("full{at:03}"), Signal::Saturation, at)).collect();
        alerts.push(alert("web", Signal::Errors, 500));
        let list = AlertList::new(&alerts, &Times::default());
        assert_eq!(list.shown().len(), MAX_ALERTS);
        assert_eq!(list.shown()[MAX_ALERTS - 1].entity.as_str(), "web");
        let said = list.left_out().expect("some are left out");
        assert_eq!(said, "41 of 101 alerts were not shown to the model");
    }
}
