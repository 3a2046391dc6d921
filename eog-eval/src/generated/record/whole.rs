//! Everything that is recorded of an incident.

use eog::{Timestamp, Window};
use eog_simulate::RandomSeed;

use super::changes::RECORDED_BEFORE;
use super::{Recorder, gaps, traces};
use crate::generated::Generated;
use crate::generated::flow::Course;
use crate::generated::kinds::Operations;
use crate::generated::system::System;
use crate::generated::trouble::Trouble;
use crate::suite::Truth;

/// The share of systems whose requests are traced.
const TRACED: f64 = 0.8;

/// When the first alert fires over a course, in seconds; nothing when none does.
pub(in crate::generated) fn first_alert(
    system: &System,
    course: &Course,
    seed: RandomSeed,
) -> Option<f64> {
    let recorder = measured(system, course, seed)?;
    let first = recorder.bundle.alerts.iter().map(|alert| alert.onset).min()?;
    Some(first.duration_since(recorder.start).as_secs_f64())
}

/// Records a course that raises an alert.
pub(in crate::generated) fn record(
    system: &System,
    operations: &Operations,
    troubles: &[Trouble],
    course: &Course,
    seed: RandomSeed,
) -> Option<Generated> {
    let alert = first_alert(system, course, seed)?;
    let mut recorder = measured(system, course, seed)?;
    recorder.say_lines(troubles, &mut seed.stream("logs"));
    let mut draw = seed.stream("spans");
    if draw.chance(TRACED) {
        let (spans, failures) = traces::trace(&recorder, operations, &mut draw);
        recorder.bundle.spans = spans;
        recorder.say_traced(&failures, troubles, &mut draw);
    }
    recorder.put_events(troubles, &mut seed.stream("events"));
    recorder.put_changes(troubles, alert, &mut seed.stream("changes"));
    let (start, end) = (recorder.at(-RECORDED_BEFORE), recorder.at(course.timing.length));
    recorder.bundle.manifest.changes_recorded = Window::new(start, end).ok();
    let truth = truth(&recorder, troubles);
    let mut bundle = recorder.bundle;
    bundle.metrics = recorder.series.into_values().collect();
    gaps::apply(&mut bundle, &mut seed.stream("gaps"));
    Some(Generated { bundle, truth })
}

/// Scrapes and the alerts that follow from them.
fn measured<'a>(system: &'a System, course: &'a Course, seed: RandomSeed) -> Option<Recorder<'a>> {
    let mut draw = seed.stream("clock");
    let start = 1_767_225_600 + 60 * i64::try_from(draw.between(0, 40_000)).ok()?;
    let interval = [15.0, 30.0, 60.0][draw.position(3)];
    let start = Timestamp::from_second(start).ok()?;
    let mut recorder = Recorder::new(system, course, start, interval);
    recorder.scrape_parts(&mut seed.stream("scrape"));
    recorder.scrape_calls(&mut seed.stream("scrape of calls"));
    recorder.alert();
    Some(recorder)
}

fn truth(recorder: &Recorder<'_>, troubles: &[Trouble]) -> Truth {
    let causes = troubles.iter().map(|trouble| recorder.name(trouble.part).clone()).collect();
    let group = match troubles {
        [one] => one.group,
        _ => "two at once",
    };
    let since = troubles.iter().map(|trouble| trouble.at).fold(f64::INFINITY, f64::min);
    Truth {
        causes,
        group: group.to_owned(),
        since: Some(recorder.at(since)),
        until: None,
        without_change: troubles.iter().all(|trouble| trouble.change.is_none()),
    }
}
