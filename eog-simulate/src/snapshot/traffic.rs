//! Requests through the system: spans, log lines, and the counts that metrics show.

use crate::random::Stream;

use super::cluster::Cluster;
use super::course::Course;
use super::manifests::suffix;
use super::metrics::Measured;
use super::noise::USUAL_ERRORS;
use super::system::Role;
use super::table::{TableFile, python};
use crate::clock::Ms;
use crate::files::FileError;

/// The columns of spans.
pub(super) const SPAN_COLUMNS: [&str; 22] = [
    "Timestamp",
    "TraceId",
    "SpanId",
    "ParentSpanId",
    "TraceState",
    "SpanName",
    "SpanKind",
    "ServiceName",
    "ResourceAttributes",
    "ScopeName",
    "ScopeVersion",
    "SpanAttributes",
    "Duration",
    "StatusCode",
    "StatusMessage",
    "Events.Timestamp",
    "Events.Name",
    "Events.Attributes",
    "Links.TraceId",
    "Links.SpanId",
    "Links.TraceState",
    "Links.Attributes",
];

/// Longest chain of calls in one request.
const MAX_DEPTH: usize = 8;
/// How long a caller waits for one that does not answer, in milliseconds.
const PATIENCE: f64 = 1_500.0;

/// Where requests leave their records.
pub(super) struct Sinks {
    pub(super) spans: TableFile,
    pub(super) logs: TableFile,
    pub(super) measured: Measured,
}

/// Requests through a system.
pub(super) struct Traffic<'a> {
    pub(super) course: &'a Course,
    pub(super) cluster: &'a Cluster<'a>,
    pub(super) draw: Stream,
}

/// One call as its caller sees it.
struct Outcome {
    took: f64,
    failed: bool,
}

/// A request on its way.
struct Trace {
    id: String,
    path: Vec<usize>,
}

impl Traffic<'_> {
    /// One request from one of the entries.
    pub(super) fn request(&mut self, at: Ms, sinks: &mut Sinks) -> Result<(), FileError> {
        let Some(&entry) = self.draw.pick(&self.course.system.entries) else { return Ok(()) };
        let mut trace = Trace { id: self.hex(32), path: Vec::new() };
        self.serve(entry, at as f64, "", &mut trace, sinks)?;
        Ok(())
    }

    /// A service takes a request: what it calls, what goes wrong, what it records.
    fn serve(
        &mut self,
        at: usize,
        when: f64,
        parent: &str,
        trace: &mut Trace,
        sinks: &mut Sinks,
    ) -> Result<Outcome, FileError> {
        let span = self.hex(16);
        let is_silent = self.course.noise.silent == Some(at);
        let inner = if is_silent { parent.to_owned() } else { span.clone() };
        trace.path.push(at);
        let now = when as Ms;
        let hit = self.course.plan.hit(at, now).copied();
        let sends = self.course.system.services[at].role == Role::Sending;
        let mut took = self.own_time(at, now);
        let (mut failed, mut reason) = (false, "internal error");
        let callees: Vec<usize> = self.course.system.callees(at).collect();
        let chance = (2.4 / callees.len().max(1) as f64).clamp(0.25, 0.9);
        for callee in callees {
            let skip = trace.path.len() >= MAX_DEPTH || trace.path.contains(&callee);
            if skip || !(sends || self.draw.chance(chance)) {
                continue;
            }
            let outcome = self.call(at, callee, when + took, &inner, trace, sinks)?;
            took += outcome.took;
            if outcome.failed && !sends && self.draw.chance(hit.map_or(0.0, |hit| hit.carries)) {
                (failed, reason) = (true, "a call failed");
            }
        }
        let own = hit.map_or(0.0, |hit| hit.errors);
        let noise =
            self.course.noise.failing.iter().find(|(of, from, _)| *of == at && *from <= now);
        let chance = own.max(noise.map_or(0.0, |(.., rate)| *rate)).max(USUAL_ERRORS);
        if self.draw.chance(chance) && !sends {
            failed = true;
        }
        if !is_silent {
            let name = format!("{}/handle", self.course.system.services[at].name);
            let kind = if sends { "Client" } else { "Server" };
            self.span(
                at,
                &name,
                kind,
                (&span, parent, &trace.id),
                when,
                took,
                failed,
                reason,
                "",
                sinks,
            )?;
        }
        self.log(at, when + took, &trace.id, &span, failed, reason, took, sinks)?;
        if !sends {
            sinks.measured.count(at, took, failed);
        }
        trace.path.pop();
        Ok(Outcome { took, failed })
    }

    /// A call from one service to another.
    fn call(
        &mut self,
        from: usize,
        to: usize,
        when: f64,
        parent: &str,
        trace: &mut Trace,
        sinks: &mut Sinks,
    ) -> Result<Outcome, FileError> {
        let now = when as Ms;
        let target = self.course.system.services[to].clone();
        let is_queue = self.course.system.consumers(to).next().is_some();
        let hit = self.course.plan.hit(to, now).copied();
        let span = self.hex(16);
        let silent = self.course.noise.silent == Some(from)
            || self.course.system.services[from].role == Role::Sending;
        let inner = if silent { parent.to_owned() } else { span.clone() };
        let hop = 0.3 + self.draw.share();
        let (outcome, reason) = if hit.is_some_and(|hit| hit.down) {
            let waits = hit.is_some_and(|hit| hit.slower > 0.0);
            let took = if waits { PATIENCE * (0.9 + 0.2 * self.draw.share()) } else { hop };
            (Outcome { took, failed: true }, "connection to upstream failed: no answer")
        } else if target.role == Role::Store {
            let failed =
                self.draw.chance(hit.map_or(0.0, |hit| hit.errors).max(USUAL_ERRORS / 4.0));
            let took = hop + self.own_time(to, now);
            if is_queue {
                self.consume(to, when + took, &inner, trace, sinks)?;
            }
            (Outcome { took, failed }, "the store did not answer")
        } else {
            let served = self.serve(to, when + hop, &inner, trace, sinks)?;
            (Outcome { took: served.took + 2.0 * hop, failed: served.failed }, "the call failed")
        };
        if !silent {
            let kind = if is_queue { "Producer" } else { "Client" };
            let attributes = match (is_queue, target.role) {
                (true, _) => python(&[
                    ("messaging.system", "queue"),
                    ("messaging.destination.name", "messages"),
                    ("server.address", &target.name),
                ]),
                (_, Role::Store) => python(&[
                    ("db.system", "store"),
                    ("server.address", &target.name),
                    ("server.port", "8080"),
                ]),
                _ => python(&[
                    ("rpc.system", "grpc"),
                    ("server.address", &target.name),
                    ("server.port", "8080"),
                ]),
            };
            let name = format!("{}/handle", target.name);
            let ids = (span.as_str(), parent, trace.id.as_str());
            self.span(
                from,
                &name,
                kind,
                ids,
                when,
                outcome.took,
                outcome.failed,
                reason,
                &attributes,
                sinks,
            )?;
        }
        Ok(outcome)
    }

    /// The consumers of a queue take a message some time later.
    fn consume(
        &mut self,
        queue: usize,
        when: f64,
        parent: &str,
        trace: &mut Trace,
        sinks: &mut Sinks,
    ) -> Result<(), FileError> {
        let consumers: Vec<usize> = self.course.system.consumers(queue).collect();
        for consumer in consumers {
            let hit = self.course.plan.hit(consumer, when as Ms).copied();
            if hit.is_some_and(|hit| hit.down) || self.course.noise.silent == Some(consumer) {
                continue;
            }
            let late = when + 5.0 + 40.0 * self.draw.share();
            let took = self.own_time(consumer, late as Ms);
            let chance = hit.map_or(0.0, |hit| hit.errors).max(USUAL_ERRORS);
            let failed = self.draw.chance(chance);
            let span = self.hex(16);
            let attributes = python(&[
                ("messaging.system", "queue"),
                ("messaging.destination.name", "messages"),
            ]);
            let ids = (span.as_str(), parent, trace.id.as_str());
            self.span(
                consumer,
                "messages process",
                "Consumer",
                ids,
                late,
                took,
                failed,
                "the message was not processed",
                &attributes,
                sinks,
            )?;
            self.log(
                consumer,
                late + took,
                &trace.id,
                &span,
                failed,
                "the message was not processed",
                took,
                sinks,
            )?;
            sinks.measured.count(consumer, took, failed);
        }
        Ok(())
    }

    /// Time that a service takes itself, in milliseconds.
    fn own_time(&mut self, at: usize, now: Ms) -> f64 {
        let usual = 3.0 + ((at * 7) % 11) as f64 * 1.5;
        let spread = 0.6 + 0.8 * self.draw.share();
        let tail = if self.draw.chance(0.03) { 1.0 + 2.0 * self.draw.share() } else { 1.0 };
        let noise = self.course.noise.slower.iter().find(|(of, from, _)| *of == at && *from <= now);
        let slower = self.course.plan.hit(at, now).map_or(0.0, |hit| hit.slower);
        let more = slower * (0.6 + 0.8 * self.draw.share());
        usual * spread * tail * noise.map_or(1.0, |(.., factor)| *factor) + more
    }

    #[expect(clippy::too_many_arguments, reason = "a row has as many columns")]
    fn span(
        &mut self,
        at: usize,
        name: &str,
        kind: &str,
        (id, parent, trace): (&str, &str, &str),
        when: f64,
        took: f64,
        failed: bool,
        reason: &str,
        attributes: &str,
        sinks: &mut Sinks,
    ) -> Result<(), FileError> {
        let resource = self.resource(at, when as Ms);
        let duration = ((took * 1e6) as u64).to_string();
        let (status, message) = if failed { ("Error", reason) } else { ("Unset", "") };
        let attributes = if attributes.is_empty() { "{}" } else { attributes };
        let service = &self.course.system.services[at].name;
        let time = self.course.clock.table(when as Ms);
        let start =
            [time.as_str(), trace, id, parent, "", name, kind, service, &resource, "sim", "1"];
        let rest =
            [attributes, &duration, status, message, "[]", "[]", "[]", "[]", "[]", "[]", "[]"];
        let row: Vec<&str> = start.into_iter().chain(rest).collect();
        sinks.spans.row(&row)
    }

    #[expect(clippy::too_many_arguments, reason = "a row has as many columns")]
    fn log(
        &mut self,
        at: usize,
        when: f64,
        trace: &str,
        span: &str,
        failed: bool,
        reason: &str,
        took: f64,
        sinks: &mut Sinks,
    ) -> Result<(), FileError> {
        // Successes are logged now and then.
        if !failed && !self.draw.chance(0.12) {
            return Ok(());
        }
        let body = match failed {
            true => format!(
                "request failed: {reason} (request={} after {took:.0} ms)",
                suffix(6, &mut self.draw)
            ),
            false => format!("request done: id={} in {took:.1} ms", suffix(6, &mut self.draw)),
        };
        let (severity, number) = if failed { ("ERROR", "17") } else { ("INFO", "9") };
        let now = when as Ms;
        let (time, second) = (self.course.clock.table(now), self.course.clock.seconds(now));
        let resource = self.resource(at, now);
        let service = &self.course.system.services[at].name;
        sinks.logs.row(&[
            &time, &second, trace, span, "1", severity, number, service, &body, "", &resource, "",
            "sim", "", "{}", "{}", "",
        ])
    }

    fn resource(&self, at: usize, now: Ms) -> String {
        let service = &self.course.system.services[at];
        let kind = format!("k8s.{}.name", service.kind.to_lowercase());
        python(&[
            ("k8s.namespace.name", &self.course.system.namespace),
            (&kind, &service.workload),
            ("k8s.pod.name", self.cluster.pod(at, now)),
            ("service.name", &service.name),
        ])
    }

    fn hex(&mut self, length: usize) -> String {
        let mut text = String::with_capacity(length);
        while text.len() < length {
            text.push_str(&format!("{:016x}", self.draw.bits()));
        }
        text.truncate(length);
        text
    }
}
