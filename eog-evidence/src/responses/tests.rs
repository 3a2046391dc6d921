use eog_core::evidence::Signal;
use eog_core::{EntityId, EvidenceKind, Timestamp, Window};

use super::*;
use crate::attribution::Measured;
use crate::series::Series;

fn at(second: f64) -> Timestamp {
    Timestamp::from_millisecond((second * 1_000.0) as i64).unwrap()
}

fn series(points: &[(f64, f64)]) -> Series {
    Series {
        entity: EntityId::new("one").unwrap(),
        kind: EvidenceKind::Metric,
        metric: "state".into(),
        signal: Signal::Availability,
        unit: String::new(),
        peer: None,
        points: points.iter().map(|(second, value)| (at(*second), *value)).collect(),
    }
}

/// Two normal runs of 300 s, an hour apart, and a window; the alarm comes at 7,400.
fn tracks_of(points: &[(f64, f64)]) -> Vec<Track> {
    let window = |from, to| Window::new(at(from), at(to)).unwrap();
    let mut periods = Periods::new(window(7_200.0, 7_500.0));
    periods.baseline = [window(0.0, 300.0), window(3_600.0, 3_900.0)].into_iter().collect();
    let series = series(points);
    let measured = Measured { series: vec![&series], events: &[] };
    tracks(&measured, &periods, at(7_400.0))
}

const RUNS: [f64; 3] = [0.0, 3_600.0, 7_200.0];

/// On for 10 s of every 40; in the window as often as it says.
fn command(times: usize) -> Vec<(f64, f64)> {
    let run = |begin: f64| {
        let count = if begin == RUNS[2] { times } else { 7 };
        (0..count).flat_map(move |number| {
            let on = begin + 20.0 + 40.0 * number as f64;
            [(on, 1.0), (on + 10.0, 0.0)]
        })
    };
    RUNS.into_iter().flat_map(run).collect()
}

/// Follows a command within about a second.
fn answer(command: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let delay = |number: usize| 1.0 + 0.1 * (number % 5) as f64;
    command.iter().enumerate().map(|(n, (at, value))| (at + delay(n), *value)).collect()
}

fn judged(own: &[(f64, f64)], upstream: &[(f64, f64)]) -> Vec<String> {
    let (own, upstream) = (tracks_of(own), tracks_of(upstream));
    let upstream: Vec<&Track> = upstream.iter().collect();
    let judged = judge(&own, &upstream, false);
    judged.departures.iter().map(|one| format!("{:.3} {}", one.expected, one.text)).collect()
}

#[test]
fn what_follows_as_usual_does_not_depart() {
    let command = command(5);
    assert_eq!(judged(&answer(&command), &command), [""; 0]);
}

#[test]
fn a_command_without_a_response_is_the_departure_of_the_responder() {
    let command = command(5);
    let mut answer = answer(&command);
    answer.truncate(answer.len() - 2);
    let told = judged(&answer, &command);
    assert!(
        told[0].contains("followed state not at all in 10.0 s; usually within 1.4 s"),
        "{told:?}"
    );
    assert!(told[0].starts_with("0.00"), "{told:?}");
    // The command itself follows nothing that it does not usually follow.
    let of_command = judged(&command, &answer);
    assert!(of_command.iter().all(|told| !told.contains("not at all")), "{of_command:?}");
}

#[test]
fn a_response_without_a_command_is_its_own() {
    let command = command(4);
    let mut answer = answer(&command);
    answer.push((7_390.0, 1.0));
    let told = judged(&answer, &command);
    assert!(told[0].contains("became 1 without state of what acts on it"), "{told:?}");
}

#[test]
fn a_late_response_departs_by_how_late_it_is() {
    let command = command(5);
    let late = |by: f64| {
        let mut answer = answer(&command);
        let last = answer.len() - 2;
        answer[last].0 += by;
        judged(&answer, &command)
    };
    assert_eq!(late(0.05), [""; 0], "within what a recorder can tell");
    let expected = |told: &[String]| told[0].split(' ').next().unwrap().parse::<f64>().unwrap();
    let (some, more) = (late(2.0), late(8.0));
    assert!(some[0].contains("late, after"), "{some:?}");
    assert!(expected(&more) < expected(&some), "{some:?} {more:?}");
}

/// A level that a pump keeps between 20 and 30, in steps of a second.
fn level() -> Vec<(f64, f64)> {
    let run = |begin: f64| {
        (0..300).map(move |second| {
            let phase = f64::from(second % 40);
            let level = if phase < 20.0 { 20.05 + 0.5 * phase } else { 40.05 - 0.5 * phase };
            (begin + f64::from(second), level)
        })
    };
    RUNS.into_iter().flat_map(run).collect()
}

#[test]
fn a_value_that_is_no_longer_read_hangs() {
    let mut points = level();
    points.retain(|(at, _)| *at < 7_350.0);
    let told = judged(&points, &[]);
    assert!(told.iter().any(|told| told.contains("usually for 1.0 s at most")), "{told:?}");
    assert_eq!(judged(&level(), &[]), [""; 0]);
}

#[test]
fn a_value_that_leaves_its_range_departs_and_a_counter_does_not() {
    let mut points = level();
    for (at, value) in points.iter_mut().filter(|(at, _)| *at >= 7_380.0) {
        *value = 30.0 + (*at - 7_380.0);
    }
    let told = judged(&points, &[]);
    assert!(told.iter().any(|told| told.contains("left its range")), "{told:?}");
    let counter: Vec<(f64, f64)> = RUNS
        .into_iter()
        .flat_map(|begin| {
            (0..22).map(move |n| (begin + 5.0 + 9.0 * f64::from(n), begin + f64::from(n)))
        })
        .collect();
    assert_eq!(judged(&counter, &[]), [""; 0]);
}

#[test]
fn a_controller_that_does_not_switch_contradicts_what_it_reads() {
    let mut pump: Vec<(f64, f64)> = RUNS
        .into_iter()
        .flat_map(|begin| {
            (1..15).map(move |n| (begin + 20.0 * f64::from(n), f64::from(u8::from(n % 2 == 0))))
        })
        .collect();
    // It is on since 7,360 and should be off at 7,380.
    pump.retain(|(at, _)| *at < 7_370.0);
    let mut points = level();
    for (at, value) in points.iter_mut().filter(|(at, _)| *at >= 7_380.0) {
        *value = 30.0 + 0.5 * (*at - 7_380.0);
    }
    let told = judged(&pump, &points);
    assert!(told[0].contains("state stays 1 although state of what acts on it"), "{told:?}");
}

#[test]
fn a_setting_that_never_moved_departs_when_it_does() {
    let told = judged(&[(0.0, 40.0), (3_600.0, 40.0), (7_200.0, 40.0), (7_380.0, 44.5)], &[]);
    assert!(told[0].ends_with("state became 44.5, which it never was in 0 changes"), "{told:?}");
    // Of a text that is always another one, a new one is the rule.
    let serial: Vec<(f64, f64)> = RUNS
        .into_iter()
        .flat_map(|begin| {
            (0..9).map(move |n| {
                (begin + 21.0 * f64::from(n) + 3.0, begin * 7.0 + f64::from(n * n % 17))
            })
        })
        .collect();
    let told = judged(&serial, &[]);
    assert!(!told.iter().any(|told| told.contains("never was")), "{told:?}");
}
