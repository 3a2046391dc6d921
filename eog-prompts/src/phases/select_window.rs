//! Which time window to investigate, by the alerts of leading signals.

use std::collections::BTreeSet;

use eog_core::{Anomaly, Timestamp, Window};
use eog_evidence::{Incident, shorten};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::alerts::{AlertList, is_golden};
use crate::Phase;
use crate::times::Times;

/// How far around the alerts a window may lie when the extent of the recording is unknown, in
/// seconds.
const UNRECORDED_MARGIN: i64 = 24 * 3_600;

/// How long before its first change a recording may be asked for, in seconds.
const LEAD: i64 = 30 * 60;

/// The phase that chooses the window of an investigation.
#[derive(Clone, Copy, Debug)]
pub struct SelectWindow;

/// The input for choosing a window.
#[derive(Clone, Debug, Serialize)]
pub struct WindowInput {
    /// The day that all alerts share, or nothing.
    day: String,
    alerts: AlertList,
    earliest: String,
    latest: String,
    #[serde(skip)]
    bounds: (Timestamp, Timestamp),
}

/// The chosen window.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct WindowAnswer {
    /// Numbers of the alerts that the window is laid around, such as "A1".
    pub anchors: Vec<String>,
    /// First instant of the window, such as "2026-01-01T10:00:00Z".
    pub start: String,
    /// First instant after the window, later than start.
    pub end: String,
    /// One or two sentences. Name entities; do not write "A1".
    pub reasoning: String,
}

impl WindowInput {
    /// The input for an incident; `None` if it has no alert.
    pub fn new(incident: &Incident) -> Option<Self> {
        let (earliest, latest) = bounds(incident)?;
        let onsets = incident.anomalies.iter().flat_map(Anomaly::onsets);
        let times = Times::over(onsets.chain([earliest, latest]));
        Some(Self {
            day: times.day().to_owned(),
            alerts: AlertList::new(&incident.anomalies, &times),
            earliest: earliest.to_string(),
            latest: latest.to_string(),
            bounds: (earliest, latest),
        })
    }

    pub(crate) fn alerts(&self) -> &AlertList {
        &self.alerts
    }
}

impl WindowAnswer {
    /// The window, if it is valid.
    pub fn window(&self) -> Option<Window> {
        let (start, end) = (self.start.parse().ok()?, self.end.parse().ok()?);
        Window::new(start, end).ok()
    }
}

impl Phase for SelectWindow {
    const NAME: &'static str = "select_investigation_window";
    type Input = WindowInput;
    type Answer = WindowAnswer;

    fn problems(input: &WindowInput, answer: &WindowAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        for (field, text) in [("start", &answer.start), ("end", &answer.end)] {
            match text.parse::<Timestamp>() {
                Err(_) => problems.push(format!(
                    "{field}: {:?} is no time; write it as 2026-01-01T10:00:00Z",
                    shorten(text, 40)
                )),
                Ok(at) if at < input.bounds.0 || at > input.bounds.1 => problems.push(format!(
                    "{field}: {at} is outside of what is recorded, {} to {}",
                    input.earliest, input.latest
                )),
                Ok(_) => {}
            }
        }
        let window = answer.window();
        if problems.is_empty() && window.is_none() {
            problems.push(format!("end: {} is not after start, {}", answer.end, answer.start));
        }
        problems.extend(anchor_problems(&input.alerts, &answer.anchors, window));
        problems
    }
}

fn anchor_problems(alerts: &AlertList, anchors: &[String], window: Option<Window>) -> Vec<String> {
    let mut problems = Vec::new();
    if anchors.is_empty() {
        problems.push("anchors: name at least one alert".to_owned());
    }
    let any_golden = alerts.shown().iter().any(|alert| is_golden(alert.signal));
    let mut seen = BTreeSet::new();
    for id in anchors {
        let Some(alert) = alerts.find(id) else {
            problems.push(format!("anchors: {}", alerts.unknown(id)));
            continue;
        };
        if !seen.insert(id.trim()) {
            problems.push(format!("anchors: {id} is named twice"));
        }
        if any_golden && !is_golden(alert.signal) {
            problems.push(format!("anchors: {id} is of no leading signal, and others are"));
        }
        if window.is_some_and(|window| !is_active(alert, window)) {
            problems.push(format!("anchors: {id} is not active in the window"));
        }
    }
    problems
}

/// Whether an alert was active at some time in a window; one without a last sighting goes on.
fn is_active(alert: &Anomaly, window: Window) -> bool {
    let last = alert.last_seen.into_iter().chain(alert.onsets()).max();
    let ended = alert.last_seen.and(last);
    alert.onset < window.end() && ended.is_none_or(|ended| ended >= window.start())
}

/// The extent of what is recorded, changes and alerts included.
fn bounds(incident: &Incident) -> Option<(Timestamp, Timestamp)> {
    let first_onset = incident.anomalies.iter().map(|alert| alert.onset).min()?;
    let last_onset = incident.anomalies.iter().flat_map(Anomaly::onsets).max()?;
    let last_seen = incident.anomalies.iter().filter_map(|alert| alert.last_seen).max();
    let last = last_seen.map_or(last_onset, |seen| seen.max(last_onset));
    let Some(observed) = incident.observed else {
        return Some((later(first_onset, -UNRECORDED_MARGIN), later(last, UNRECORDED_MARGIN)));
    };
    let first_change = incident.changes.iter().map(|change| change.time.start()).min();
    let before_change = first_change.map(|at| later(at, -LEAD));
    let start = before_change.map_or(observed.start(), |at| at.min(observed.start()));
    // An alert may lie before or after the recording of everything else.
    let before_onset = later(first_onset, -LEAD);
    let start = if first_onset < observed.start() { start.min(before_onset) } else { start };
    Some((start, observed.end().max(later(last, 1))))
}

fn later(at: Timestamp, seconds: i64) -> Timestamp {
    let moved = Timestamp::from_second(at.as_second().saturating_add(seconds));
    moved.unwrap_or(if seconds < 0 { Timestamp::MIN } else { Timestamp::MAX })
}

#[cfg(test)]
mod tests {
    use eog_core::EntityId;
    use eog_core::evidence::Signal;

    use super::*;

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).expect("a time")
    }

    fn alert(entity: &str, signal: Signal, onset: i64, last_seen: Option<i64>) -> Anomaly {
        Anomaly {
            name: format!("alert-{entity}"),
            entity: EntityId::new(entity).expect("a name"),
            signal,
            onset: at(onset),
            renewed: vec![],
            last_seen: last_seen.map(at),
            severity: String::new(),
            description: String::new(),
        }
    }

    /// Recorded from minute 60 to minute 180: A1 full at 70, A2 errors 100 to 120.
    fn input() -> WindowInput {
        let incident = Incident {
            anomalies: vec![
                alert("web", Signal::Errors, 100, Some(120)),
                alert("db", Signal::Saturation, 70, None),
            ],
            observed: Window::new(at(60), at(180)).ok(),
            ..Incident::default()
        };
        WindowInput::new(&incident).expect("it has alerts")
    }

    fn answer(anchors: &[&str], start: &str, end: &str) -> WindowAnswer {
        WindowAnswer {
            anchors: anchors.iter().map(ToString::to_string).collect(),
            start: start.into(),
            end: end.into(),
            reasoning: "errors begin".into(),
        }
    }

    #[test]
    fn a_window_around_golden_anchors_within_the_recording_is_taken() {
        let good = answer(&["A2"], "1970-01-01T01:10:00Z", "1970-01-01T02:30:00Z");
        assert_eq!(SelectWindow::problems(&input(), &good), Vec::<String>::new());
        assert_eq!(good.window(), Window::new(at(70), at(150)).ok());
    }

    #[test]
    fn everything_wrong_with_a_window_is_said() {
        let (good_start, good_end) = ("1970-01-01T01:10:00Z", "1970-01-01T02:30:00Z");
        let cases = [
            (answer(&["A2"], "soon", good_end), "start: \"soon\" is no time"),
            (answer(&["A2"], "1970-01-01T00:59:59Z", good_end), "start: 1970-01-01T00:59:59Z is"),
            (answer(&["A2"], good_start, "1970-01-01T03:00:01Z"), "outside of what is recorded"),
            (answer(&["A2"], good_end, good_start), "is not after start"),
            (answer(&["A2"], good_start, good_start), "is not after start"),
            (answer(&[], good_start, good_end), "at least one alert"),
            (answer(&["A3"], good_start, good_end), "no alert \"A3\""),
            (answer(&["A2", "A2"], good_start, good_end), "A2 is named twice"),
            (answer(&["A1"], good_start, good_end), "A1 is of no leading signal"),
            (answer(&["A2"], "1970-01-01T02:10:00Z", good_end), "A2 is not active"),
        ];
        for (answer, problem) in cases {
            let problems = SelectWindow::problems(&input(), &answer);
            assert_eq!(problems.len(), 1, "{problems:?}");
            assert!(problems[0].contains(problem), "{problems:?}");
        }
        let many = answer(&["A9", "A1"], "soon", "later");
        assert_eq!(SelectWindow::problems(&input(), &many).len(), 4);
    }

    #[test]
    fn without_a_recording_the_window_lies_within_a_day_of_the_alerts() {
        let anomalies = vec![alert("web", Signal::Errors, 100, None)];
        let input = WindowInput::new(&Incident { anomalies, ..Incident::default() });
        let bounds = input.expect("it has an alert").bounds;
        assert_eq!(bounds, (at(100 - 24 * 60), at(100 + 24 * 60)));
        assert!(WindowInput::new(&Incident::default()).is_none());
    }
}
