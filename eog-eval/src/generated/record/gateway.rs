//! What is recorded of services behind a gateway: metrics each minute, lines and traces of some minutes, and
//! complaints of users.

use eog::evidence::{PeerRole, Signal};
use eog::{Anomaly, EntityId, Timestamp, Window};
use eog_evidence::{LogLine, Series, SpanRecord};
use eog_simulate::{RandomSeed, Stream};

use super::{Recorder, traces};
use crate::generated::Generated;
use crate::generated::flow::Course;
use crate::generated::kinds::Operations;
use crate::generated::system::{Role, System};
use crate::generated::trouble::Trouble;
use crate::suite::Truth;

/// How a processor is measured.
#[derive(Clone, Copy)]
enum Processor {
    /// As a share of its limit.
    OfLimit,
    /// In percent of one of several.
    Percent,
    /// As time used: nothing says how much there is.
    Cores,
}

/// The share of services that write a line for what they did.
const TALKS: f64 = 0.8;

/// The share of services that write errors at normal times, which mean nothing.
const NOISY: f64 = 0.25;

/// The share of callers that write an error when a call fails.
const COMPLAINS: f64 = 0.6;

const NOISE: [&str; 4] = [
    "could not refresh token for session",
    "retrying after connection reset by peer, attempt",
    "skipped record without owner",
    "metrics exporter lagged behind by batch",
];

/// Records a course; `users` complain after the trouble began.
pub(in crate::generated) fn record(
    system: &System,
    operations: &Operations,
    trouble: &Trouble,
    course: &Course,
    seed: RandomSeed,
) -> Option<Generated> {
    let mut draw = seed.stream("clock");
    let start = 1_767_225_600 + 60 * i64::try_from(draw.between(0, 40_000)).ok()?;
    let start = Timestamp::from_second(start).ok()?;
    let interval = [15.0, 60.0, 60.0][draw.position(3)];
    let processor = [Processor::OfLimit, Processor::Percent, Processor::Cores][draw.position(3)];
    let (counts_failures, has_status, has_nodes) =
        (draw.chance(0.5), draw.chance(0.5), draw.chance(0.5));
    // Lines and traces go back some minutes, in a third of the incidents to the beginning.
    let recorded_before =
        if draw.chance(0.33) { f64::INFINITY } else { 120.0 + 480.0 * draw.share() };
    let alert = trouble.shows() + 60.0 + 90.0 * draw.share();
    let mut recorder = Recorder::new(system, course, start, interval);
    recorder.scrape_parts(&mut seed.stream("scrape"));
    recorder.scrape_calls(&mut seed.stream("scrape of calls"));
    recorder.complain(trouble, alert, &mut seed.stream("complaints"));
    let mut draw = seed.stream("spans");
    let share = |draw: &mut Stream| if draw.chance(0.5) { 1.0 } else { 0.1 + 0.4 * draw.share() };
    let (mut spans, failures) = traces::trace_share(&recorder, operations, share, &mut draw);
    let from = recorder.at((trouble.shows() - recorded_before).max(0.0));
    spans.retain(|span| span.time >= from);
    recorder.say_traced(&failures, std::slice::from_ref(trouble), &mut draw);
    let mut draw = seed.stream("lines");
    recorder.say_spans(&spans, &mut draw);
    recorder.say_noise(&mut draw);
    let since = Some(recorder.at(trouble.at));
    let mut bundle = recorder.bundle;
    bundle.logs.retain(|(_, line)| line.time >= from);
    bundle.logs.sort_by(|(a, one), (b, other)| (one.time, a).cmp(&(other.time, b)));
    if !has_status {
        spans.iter_mut().for_each(|span| span.failed = None);
    }
    bundle.spans = spans;
    let nodes: Vec<&EntityId> =
        system.having(&[Role::Node]).into_iter().map(|at| &system.parts[at].name).collect();
    let is_recorded = |series: &Series| {
        (counts_failures || series.signal != Signal::Errors)
            && (has_nodes || !nodes.contains(&&series.entity))
    };
    let series = recorder.series.into_values().filter(is_recorded);
    bundle.metrics = series.map(|series| processor.measured(series)).collect();
    if draw.chance(0.5) {
        let end = bundle.spans.iter().map(|span| span.time).max()?;
        let begin = bundle.alerts.first()?.onset;
        let before = jiff::SignedDuration::from_secs(150);
        bundle.manifest.window = Window::new(begin.checked_sub(before).ok()?, end).ok();
    }
    let truth = Truth {
        causes: [system.parts[trouble.part].name.clone()].into(),
        group: trouble.group.to_owned(),
        since,
        without_change: true,
        ..Truth::default()
    };
    Some(Generated { bundle, truth })
}

impl Processor {
    /// The series of a processor in its unit; any other as it is.
    fn measured(self, mut series: Series) -> Series {
        if series.metric != "cpu" {
            return series;
        }
        let (unit, times) = match self {
            Self::OfLimit => ("ratio", 1.0),
            Self::Percent => ("%", 100.0),
            Self::Cores => ("cores", 2.0),
        };
        series.unit = unit.to_owned();
        for (_, value) in &mut series.points {
            *value = (*value * times * 1_000.0).round() / 1_000.0;
        }
        series
    }
}

impl Recorder<'_> {
    /// Users complain of the gateway, or, in a third of the incidents, of the service itself: of
    /// slow requests, of failed ones, or of both without distinguishing them.
    fn complain(&mut self, trouble: &Trouble, at: f64, draw: &mut Stream) {
        let gate = self.system.having(&[Role::Serving]);
        let group = self.system.parts[trouble.part].group;
        let here = if draw.chance(0.33) {
            group.unwrap_or(trouble.part)
        } else {
            gate.first().copied().unwrap_or_default()
        };
        let is_slow = matches!(trouble.group, "cpu contention" | "network delay");
        let signals = match (draw.chance(0.5), is_slow) {
            (true, _) => vec![Signal::Latency, Signal::Errors],
            (false, true) => vec![Signal::Latency],
            (false, false) => vec![Signal::Errors],
        };
        for signal in signals {
            let (name, entity) = (format!("Complaints{signal:?}"), self.name(here).clone());
            let alert = Anomaly::new(name, entity, signal, self.at(at.floor()));
            let description = "users complain about slow or failing requests".into();
            let severity = "critical".into();
            self.bundle.alerts.push(Anomaly { severity, description, ..alert });
        }
    }

    /// A line at the end of each traced request that was served, and of each call that failed, with the id of the trace.
    fn say_spans(&mut self, spans: &[SpanRecord], draw: &mut Stream) {
        let parts = &self.system.parts;
        let talks: Vec<bool> = parts.iter().map(|_| draw.chance(TALKS)).collect();
        let complains: Vec<bool> = parts.iter().map(|_| draw.chance(COMPLAINS)).collect();
        for span in spans {
            let Some(part) = parts.iter().position(|part| part.name == span.entity) else {
                continue;
            };
            let trace = span.ids.as_ref().map_or("", |ids| ids.trace.as_str());
            let operation = span.operation.as_deref().unwrap_or_default();
            let callee = span.peer.as_ref().filter(|peer| peer.role == PeerRole::Callee);
            let (level, message) = match (callee, span.failed) {
                (Some(callee), Some(true)) if complains[part] => {
                    let callee = &callee.entity;
                    ("error", format!("call to {callee} failed: {operation} trace_id={trace}"))
                }
                (None, Some(false)) if talks[part] => {
                    ("info", format!("{operation} handled trace_id={trace}"))
                }
                _ => continue,
            };
            // A caller that has an answer, or waited for one without success, says so at the end.
            let time = ended(span);
            let (level, peer, trace) = (level.into(), span.peer.clone(), None);
            let peer = peer.filter(|peer| peer.role == PeerRole::Callee);
            let line = LogLine { time, level, message, signal: None, peer, trace };
            self.bundle.logs.push((span.entity.clone(), line));
        }
    }

    /// Errors that mean nothing, at all times: some one by one, some in bursts.
    fn say_noise(&mut self, draw: &mut Stream) {
        for part in self.system.having(&[Role::Serving]) {
            if !draw.chance(NOISY) {
                continue;
            }
            let said = NOISE[draw.position(NOISE.len())];
            let (gap, burst) = (20.0 + 160.0 * draw.share(), draw.between(1, 4));
            let mut at = 0.0;
            while at < self.course.timing.length {
                at += -(1.0 - draw.share()).ln() * gap * burst as f64;
                for _ in 0..draw.between(1, burst) {
                    let message = format!("{said} {}", draw.between(1, 9_999));
                    self.say(part, at + 2.0 * draw.share(), "error", message, None);
                }
            }
        }
    }
}

/// When the work of a span ended.
fn ended(span: &SpanRecord) -> Timestamp {
    let took = jiff::SignedDuration::from_nanos((span.duration_ms * 1e6) as i64);
    span.time.checked_add(took).unwrap_or(span.time)
}
