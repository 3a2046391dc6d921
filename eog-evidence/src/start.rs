//! The start of an investigation, chosen without a model: window and seeds.

use eog_core::evidence::Signal;
use eog_core::incident::Bootstrap;
use eog_core::{Anomaly, Case, Timestamp, Window};
use jiff::SignedDuration;

use crate::incident::Incident;
use crate::record::change_record;
use crate::seeds::choose_seeds;
use crate::text::{counted, shorten};

/// What a window, which does not hold its end, holds beyond its last alert.
const SECOND: SignedDuration = SignedDuration::from_secs(1);

/// How long before the earliest onset a window begins.
const LEAD: SignedDuration = SignedDuration::from_mins(30);

/// How long a value counts after it was measured, as in Prometheus: an alert may come so much later.
const LOOKBACK: SignedDuration = SignedDuration::from_mins(5);

/// How long after the last onset a window may go on.
const TAIL: SignedDuration = SignedDuration::from_hours(2);

/// Chooses window and seeds without a model and builds the case.
///
/// **Window**: the argument, else the incident's own, else from the anomalies of a golden signal
/// (errors, latency, traffic, availability, output; all anomalies when there are none): from 30 minutes
/// before the earliest onset, but not before the telemetry begins unless changes are recorded
/// there, to one second after the last onset or last sighting, or to the end of the telemetry or
/// the last onset of any other alert if that is later, at most 2 hours after the last onset. Anomalies that were not active in the
/// window are left out and listed as ignored.
///
/// **Seeds**, in this order, each entity once and with a reason:
/// 1. at most 5 entities with a change in the window (no mere restart) that precedes an onset,
///    first or renewed, of an anomaly to which the entity has an effect path: nearest before the
///    onset first, then the shorter path, then by name;
/// 2. at most 5 entities with a failure event in the window and an effect path to an anomaly,
///    those whose failures were seen last first, then the earliest;
/// 3. the alerting entities by onset, then by name.
///
/// A change that has no effect path to any anomaly is no seed; a change of demand is reached from
/// the overload it causes. Without any anomaly in the window, failed and changed entities are
/// seeds whatever they reach.
///
/// **Record**: every change that is known, whether or not it is used ([`Case::record`]).
///
/// # Errors
/// [`StartError`] when there is nothing to start from.
///
/// ```
/// use eog_core::{Anomaly, EntityId};
/// use eog_core::evidence::Signal;
/// use eog_evidence::{Incident, open_case};
/// let incident = Incident {
///     anomalies: vec![Anomaly {
///         name: "HighErrorRate".into(),
///         entity: EntityId::new("cart")?,
///         signal: Signal::Errors,
///         onset: "2026-01-01T10:00:00Z".parse()?,
///         renewed: vec![],
///         last_seen: None,
///         severity: String::new(),
///         description: String::new(),
///     }],
///     ..Incident::default()
/// };
/// let case = open_case(&incident, None)?;
/// assert_eq!(case.seeds[0].entity.as_str(), "cart");
/// assert_eq!(case.window.start().to_string(), "2026-01-01T09:30:00Z");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn open_case(incident: &Incident, window: Option<Window>) -> Result<Case, StartError> {
    let (window, window_reason) = choose_window(incident, window)?;
    let (anomalies, quiet): (Vec<Anomaly>, Vec<Anomaly>) =
        incident.anomalies.iter().cloned().partition(|anomaly| active_in(anomaly, window));
    let mut ignored = incident.ignored.clone();
    ignored.extend(quiet.iter().map(|anomaly| {
        format!("{} on {}: not active in the window", anomaly.name, anomaly.entity)
    }));

    let start = choose_seeds(incident, window, &anomalies);
    if start.seeds.is_empty() {
        return Err(StartError::NoSeeds { window });
    }
    let mut warnings = incident.warnings.clone();
    warnings.extend(unobserved(incident.observed, window, &anomalies));
    Ok(Case {
        topology: incident.topology.clone(),
        window,
        anomalies,
        seeds: start.seeds,
        bootstrap: Bootstrap {
            window_reason,
            ignored,
            evidence: start.evidence,
            warnings,
            unusable: incident.unusable.clone(),
        },
        record: change_record(incident, window),
        case_file: None,
    })
}

/// That the times of the telemetry do not fit those of the window or the alerts, as when one of them was
/// written in another time zone.
fn unobserved(observed: Option<Window>, window: Window, alerts: &[Anomaly]) -> Option<String> {
    let observed = observed?;
    let (start, end) = (observed.start(), observed.end());
    if end < window.start() || start >= window.end() {
        return Some(format!(
            "no telemetry lies in the window: it was recorded from {start} to {end}; check the time zones of \
             alerts and telemetry, or name another window"
        ));
    }
    let is_late = |alert: &&Anomaly| alert.onset > later(end, LOOKBACK);
    let first = alerts.iter().filter(is_late).min_by_key(|alert| (alert.onset, &alert.name))?;
    let late = alerts.iter().filter(is_late).count();
    let (name, entity, onset) = (shorten(&first.name, 80), &first.entity, first.onset);
    Some(format!(
        "{} more than {} minutes after the telemetry ends at {end}, the first {name} on {entity} at {onset}: \
         check their time zones",
        if late == 1 { "1 alert began".to_owned() } else { format!("{late} alerts began") },
        LOOKBACK.as_mins(),
    ))
}

/// Why an investigation could not be started.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// There is no alert, and no window was given.
    #[error(
        "no alert to start from, and no window: name a window (start and end) to investigate, or \
         check that the alerts are part of the input"
    )]
    NoAnomalies,
    /// Nothing happened in the window.
    #[error(
        "nothing to start from: no alert, failure or change lies in {window}; choose another \
         window"
    )]
    NoSeeds {
        /// The window.
        window: Window,
    },
}

fn choose_window(
    incident: &Incident,
    given: Option<Window>,
) -> Result<(Window, String), StartError> {
    if let Some(window) = given {
        return Ok((window, "given by the caller".into()));
    }
    if let Some(window) = incident.window {
        return Ok((window, "given by the input".into()));
    }
    derive_window(incident).ok_or(StartError::NoAnomalies)
}

fn derive_window(incident: &Incident) -> Option<(Window, String)> {
    let golden: Vec<&Anomaly> =
        incident.anomalies.iter().filter(|anomaly| is_golden(anomaly.signal)).collect();
    let anchors = if golden.is_empty() { incident.anomalies.iter().collect() } else { golden };
    let earliest = anchors.iter().map(|anomaly| anomaly.onset).min()?;
    let last_onset = anchors.iter().flat_map(|anomaly| anomaly.onsets()).max()?;
    let last_seen = anchors.iter().filter_map(|anomaly| anomaly.last_seen).max();

    let last = last_seen.map_or(last_onset, |seen| seen.max(last_onset));
    // What fired was recorded, also where there is no telemetry: an alert that anchors nothing, such
    // as one of saturation, must not fall behind the end because it came a little later.
    let fired = incident.anomalies.iter().flat_map(Anomaly::onsets).max().unwrap_or(last);
    let observed_end = incident.observed.map_or(last, |observed| observed.end());
    let recorded_end = observed_end.max(later(fired, SECOND));
    let end = later(last, SECOND).max(recorded_end.min(later(last_onset, TAIL)));

    let lead = earliest.checked_sub(LEAD).unwrap_or(Timestamp::MIN);
    let first_change = incident.changes.iter().map(|change| change.time.start()).min();
    let recorded = incident.observed.map(|observed| observed.start());
    let floor = recorded.map(|start| first_change.map_or(start, |change| change.min(start)));
    // An alert may be older than the recording; its window still must not be empty.
    let start = floor.filter(|floor| *floor < end).map_or(lead, |floor| floor.max(lead));
    let window = Window::new(start, end).ok()?;
    Some((window, window_reason(&anchors)))
}

fn window_reason(anchors: &[&Anomaly]) -> String {
    let mut sorted = anchors.to_vec();
    sorted.sort_by_key(|anomaly| (anomaly.onset, &anomaly.name, &anomaly.entity));
    let named: Vec<String> = sorted
        .iter()
        .take(3)
        .map(|anomaly| {
            let name = shorten(&anomaly.name, 80);
            format!("{name} on {} (since {})", anomaly.entity, anomaly.onset)
        })
        .collect();
    let others = sorted.len().saturating_sub(named.len());
    let more = if others > 0 { format!(" and {others} more") } else { String::new() };
    format!("around {}: {}{more}", counted(sorted.len(), "alert"), named.join(", "))
}

fn is_golden(signal: Signal) -> bool {
    matches!(
        signal,
        Signal::Errors | Signal::Latency | Signal::Traffic | Signal::Availability | Signal::Output
    )
}

fn later(at: Timestamp, by: SignedDuration) -> Timestamp {
    at.checked_add(by).unwrap_or(Timestamp::MAX)
}

/// Whether an anomaly was active at some time in the window. One without a last sighting counts
/// as still active.
fn active_in(anomaly: &Anomaly, window: Window) -> bool {
    let ended = anomaly.last_seen.map(|seen| seen.max(last_onset(anomaly)));
    anomaly.onset < window.end() && ended.is_none_or(|ended| ended >= window.start())
}

fn last_onset(anomaly: &Anomaly) -> Timestamp {
    anomaly.onsets().max().unwrap_or(anomaly.onset)
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::evidence::{ChangeDetail, EvidenceTime, FindingContent};
    use eog_core::incident::EffectDirection;
    use eog_core::{EntityId, EvidenceKind, Finding, Topology};

    fn id(name: &str) -> EntityId {
        EntityId::new(name).unwrap()
    }

    fn at(minute: i64) -> Timestamp {
        Timestamp::from_second(minute * 60).unwrap()
    }

    fn window(start: i64, end: i64) -> Window {
        Window::new(at(start), at(end)).unwrap()
    }

    fn finding(kind: EvidenceKind, signal: Signal, entity: &str, minute: i64) -> Finding {
        let detail = ChangeDetail { path: "image".into(), old: None, new: Some("2".into()) };
        Finding::new(FindingContent {
            change: (kind == EvidenceKind::Change).then_some(detail),
            excerpt: "killed".into(),
            ..FindingContent::new(id(entity), kind, signal, EvidenceTime::At(at(minute)))
        })
    }

    fn change(entity: &str, minute: i64) -> Finding {
        finding(EvidenceKind::Change, Signal::Configuration, entity, minute)
    }

    fn alert(entity: &str, signal: Signal, onset: i64, last_seen: Option<i64>) -> Anomaly {
        Anomaly {
            last_seen: last_seen.map(at),
            ..Anomaly::new(format!("alert-{entity}"), id(entity), signal, at(onset))
        }
    }

    /// `web` calls `cart` calls `db`; `mail` stands alone.
    fn incident(anomalies: Vec<Anomaly>) -> Incident {
        let mut topology = Topology::default();
        topology.connect(&id("web"), "calls", &id("cart"), EffectDirection::TargetToSource);
        topology.connect(&id("cart"), "calls", &id("db"), EffectDirection::TargetToSource);
        topology.add_entity(id("mail"));
        Incident { topology, anomalies, ..Incident::default() }
    }

    fn seeds(case: &Case) -> Vec<&str> {
        case.seeds.iter().map(|seed| seed.entity.as_str()).collect()
    }

    #[test]
    fn the_window_is_chosen_from_golden_alerts_and_the_recording() {
        use Signal::{Errors, Latency, Saturation};
        let minutes =
            |start: i64, end_seconds: i64| (at(start), Timestamp::from_second(end_seconds));
        let cases = [
            // (alerts, recording, earliest change, expected start and end)
            (vec![alert("web", Errors, 100, None)], None, None, minutes(70, 6001)),
            (vec![alert("web", Errors, 100, Some(130))], None, None, minutes(70, 7801)),
            (vec![alert("web", Errors, 100, None)], Some((90, 150)), None, minutes(90, 9000)),
            (vec![alert("web", Errors, 100, None)], Some((90, 150)), Some(80), minutes(80, 9000)),
            (vec![alert("web", Errors, 100, None)], Some((0, 900)), None, minutes(70, 220 * 60)),
            // A saturation alert anchors nothing while there is a golden one.
            (
                vec![alert("db", Saturation, 10, None), alert("web", Latency, 100, None)],
                None,
                None,
                minutes(70, 6001),
            ),
            (vec![alert("db", Saturation, 100, None)], None, None, minutes(70, 6001)),
            // But it is not cut off where it comes later, within the usual bound.
            (
                vec![alert("db", Saturation, 101, None), alert("web", Latency, 100, None)],
                None,
                None,
                minutes(70, 6061),
            ),
            (
                vec![alert("db", Saturation, 900, None), alert("web", Latency, 100, None)],
                None,
                None,
                minutes(70, 13_200),
            ),
            // Far older than the recording, but seen in it; and not seen in it.
            (
                vec![alert("web", Errors, 1, Some(650))],
                Some((600, 660)),
                None,
                minutes(600, 39_001),
            ),
            (vec![alert("web", Errors, 100, None)], Some((600, 660)), None, minutes(70, 13_200)),
        ];
        for (alerts, recording, first_change, (start, end)) in cases {
            let mut incident = incident(alerts);
            incident.observed = recording.map(|(start, end)| window(start, end));
            incident.changes =
                first_change.map(|minute| change("mail", minute)).into_iter().collect();
            let case = open_case(&incident, None).unwrap();
            assert_eq!(
                (case.window.start(), case.window.end()),
                (start, end.unwrap()),
                "{incident:?}"
            );
        }
    }

    #[test]
    fn a_given_window_comes_first_and_quiet_alerts_are_ignored() {
        let mut incident = incident(vec![
            alert("web", Signal::Errors, 100, Some(110)),
            alert("db", Signal::Errors, 300, None),
        ]);
        incident.window = Some(window(90, 200));
        let case = open_case(&incident, None).unwrap();
        assert_eq!(case.bootstrap.window_reason, "given by the input");
        assert_eq!(case.anomalies.len(), 1);
        assert_eq!(case.bootstrap.ignored, ["alert-db on db: not active in the window"]);
        let case = open_case(&incident, Some(window(250, 400))).unwrap();
        assert_eq!(case.bootstrap.window_reason, "given by the caller");
        assert_eq!(seeds(&case), ["db"]);
    }

    #[test]
    fn seeds_are_changes_then_failures_then_alerts() {
        let mut incident = incident(vec![
            alert("web", Signal::Errors, 100, None),
            alert("cart", Signal::Errors, 90, None),
            alert("mail", Signal::Errors, 95, None),
        ]);
        incident.changes = vec![
            change("cart", 80),
            change("db", 89),
            change("db", 99),
            change("mail", 101),
            finding(EvidenceKind::Change, Signal::Restart, "web", 85),
        ];
        let failed =
            |entity, minute| finding(EvidenceKind::Event, Signal::Exhaustion, entity, minute);
        incident.failures = vec![failed("web", 98), failed("db", 97), failed("alone", 97)];
        let case = open_case(&incident, None).unwrap();
        assert_eq!(seeds(&case), ["db", "cart", "web", "mail"]);
        assert_eq!(
            case.seeds[0].reason,
            "changed image to \"2\" at 1970-01-01T01:29:00Z, 1m before alert alert-cart on cart \
             (db > cart)"
        );
        assert!(case.seeds[2].reason.starts_with("failed at "), "{}", case.seeds[2].reason);
        assert_eq!(case.seeds[3].reason, "alert alert-mail since 1970-01-01T01:35:00Z");
        assert_eq!(case.bootstrap.evidence.len(), 4);
    }

    #[test]
    fn changes_and_failures_seed_at_most_five_entities_each() {
        let mut incident = incident(vec![alert("web", Signal::Errors, 100, None)]);
        for index in 0..8 {
            let (changed, failed) = (id(&format!("c{index}")), id(&format!("f{index}")));
            for entity in [&changed, &failed] {
                let web = id("web");
                incident.topology.connect(&web, "calls", entity, EffectDirection::TargetToSource);
            }
            incident.changes.push(change(changed.as_str(), 90 + index));
            let kind = EvidenceKind::Event;
            incident.failures.push(finding(
                kind,
                Signal::Availability,
                failed.as_str(),
                90 + index,
            ));
        }
        let case = open_case(&incident, None).unwrap();
        let expected = ["c7", "c6", "c5", "c4", "c3", "f7", "f6", "f5", "f4", "f3", "web"];
        assert_eq!(seeds(&case), expected);
    }

    #[test]
    fn every_real_change_is_on_record_once() {
        let mut incident = incident(vec![alert("web", Signal::Errors, 100, None)]);
        assert_eq!(open_case(&incident, None).unwrap().record, None);
        let other = |entity, minute| {
            let mut content = FindingContent::clone(&change(entity, minute));
            content.change = Some(ChangeDetail { path: "tag".into(), old: None, new: None });
            Finding::new(content)
        };
        let follows = change("pod", 81);
        incident.consequences = [follows.id().clone()].into();
        incident.observed = Some(window(20, 160));
        let restart = finding(EvidenceKind::Change, Signal::Restart, "web", 85);
        incident.changes =
            vec![change("far", 90), change("cart", 80), other("cart", 80), follows, restart];
        let record = open_case(&incident, None).unwrap().record.unwrap();
        assert_eq!(record.span, window(20, 160));
        let listed: Vec<(&str, Timestamp, &str)> = record
            .changes
            .iter()
            .map(|one| (one.entity.as_str(), one.made.latest(), one.what.as_str()))
            .collect();
        assert_eq!(
            listed,
            [
                ("cart", at(80), "image to \"2\" and 1 more field"),
                ("far", at(90), "image to \"2\""),
            ]
        );
        assert_eq!(record.changes[0].finding.as_ref(), Some(incident.changes[1].id()));
    }

    #[test]
    fn times_that_do_not_fit_are_reported() {
        use Signal::Errors;
        let warnings = |alerts: Vec<Anomaly>, recording, given| {
            let mut incident = incident(alerts);
            incident.observed = Some(recording);
            open_case(&incident, given).unwrap().bootstrap.warnings
        };
        let late = || vec![alert("web", Errors, 100, None), alert("db", Errors, 107, None)];
        // As far behind as a value counts.
        assert_eq!(warnings(late(), window(60, 102), None), Vec::<String>::new());
        let [one] = &warnings(late(), window(60, 101), None)[..] else { panic!("one warning") };
        assert!(one.starts_with("1 alert began more than 5 minutes after"), "{one}");
        assert!(one.contains("on db at"), "{one}");
        let [none] = &warnings(late(), window(0, 30), None)[..] else { panic!("one warning") };
        assert!(none.starts_with("no telemetry lies in the window"), "{none}");
        let [none] = &warnings(late(), window(60, 130), Some(window(500, 600)))[..] else {
            panic!("one warning")
        };
        assert!(none.starts_with("no telemetry lies in the window"), "{none}");
    }

    #[test]
    fn without_alerts_a_window_is_needed_and_something_in_it() {
        let mut incident = incident(vec![]);
        assert_eq!(open_case(&incident, None), Err(StartError::NoAnomalies));
        let window = window(0, 60);
        assert_eq!(open_case(&incident, Some(window)), Err(StartError::NoSeeds { window }));
        incident.failures = vec![finding(EvidenceKind::Event, Signal::Exhaustion, "db", 5)];
        incident.changes = vec![change("cart", 4), change("web", 70)];
        assert_eq!(seeds(&open_case(&incident, Some(window)).unwrap()), ["db", "cart"]);
    }
}
