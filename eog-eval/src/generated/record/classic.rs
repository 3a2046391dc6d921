//! What is recorded of services and pipelines as they were from the beginning.

use eog::Timestamp;
use eog::evidence::{PeerRole, Signal};
use eog_evidence::{EventRecord, SpanRecord};
use eog_simulate::{RandomSeed, Stream};

use super::{Measure, Recorder, counted, normal};
use crate::generated::flow::{Course, STEP};
use crate::generated::names::{self, Words};
use crate::generated::system::{Link, LinkKind, Role, System};
use crate::generated::trouble::{Effect, Trouble};
use crate::generated::{Generated, Kind};
use crate::suite::Truth;

/// Records a course; nothing when it raises no alert after the trouble began, or one before.
pub(in crate::generated) fn record(
    kind: Kind,
    system: &System,
    trouble: &Trouble,
    course: &Course,
    seed: RandomSeed,
) -> Option<Generated> {
    let mut draw = seed.stream("clock");
    let start = 1_767_225_600 + 60 * draw.between(0, 40_000) as i64;
    let start = Timestamp::from_second(start).ok()?;
    let interval = [15.0, 30.0, 60.0][draw.position(3)];
    let mut recorder = Recorder::new(system, course, start, interval);
    recorder.scrape(&mut seed.stream("scrape"));
    recorder.alert();
    let first = recorder.bundle.alerts.iter().map(|alert| alert.onset).min()?;
    if first <= recorder.at(trouble.at) {
        return None;
    }
    recorder.log(trouble, &mut seed.stream("logs"));
    let mut draw = seed.stream("spans");
    if draw.chance(0.6) {
        recorder.trace(&mut draw);
    }
    recorder.happen(trouble, &mut seed.stream("events"));
    recorder.change(kind, trouble, first, &mut seed.stream("changes"));
    let cause = system.parts.get(trouble.part)?.name.clone();
    let truth = Truth {
        causes: [cause].into(),
        group: trouble.group.to_owned(),
        since: Some(recorder.at(trouble.at)),
        until: None,
        without_change: trouble.change.is_none(),
    };
    let mut bundle = recorder.bundle;
    bundle.metrics = recorder.series.into_values().collect();
    Some(Generated { bundle, truth })
}

impl Recorder<'_> {
    fn scrape(&mut self, draw: &mut Stream) {
        let measure = |metric, signal, unit| Measure { metric, signal, unit, peer: None };
        let system = self.system;
        let scrapes = (self.course.timing.length / self.interval) as usize;
        for (number, part) in system.parts.iter().enumerate() {
            // Each part is scraped at its own second, and few scrapes are lost.
            let offset = (self.interval * draw.share()).floor();
            for scrape in 1..scrapes {
                let at = scrape as f64 * self.interval + offset;
                if at >= self.course.timing.length || draw.chance(0.01) {
                    continue;
                }
                let count = self.mean(number, at, |state| state.arrivals) * self.interval;
                let busy = self.mean(number, at, |state| state.busy);
                let noise = 1.0 + 0.04 * normal(draw);
                match part.role {
                    Role::Clients | Role::Outside => continue,
                    Role::Node => {
                        let one = measure("cpu and disk busy", Signal::Saturation, "ratio");
                        self.put(number, at, &one, (0.1 + 0.85 * busy * noise).clamp(0.0, 1.0));
                        continue;
                    }
                    Role::Queue => {
                        let depth = self.mean(number, at, |state| state.backlog);
                        let one = measure("messages waiting", Signal::Saturation, "messages");
                        self.put(
                            number,
                            at,
                            &one,
                            (depth + 3.0 + 2.0 * normal(draw)).max(0.0).round(),
                        );
                    }
                    _ => {
                        let errors = self.mean(number, at, |state| state.arrivals * state.errors);
                        let failed = counted(errors * self.interval, draw);
                        let one = measure("failed requests", Signal::Errors, "requests");
                        self.put(number, at, &one, failed);
                        let latency = self.mean(number, at, |state| state.latency);
                        let one = measure("latency mean", Signal::Latency, "ms");
                        self.put(number, at, &one, latency * noise);
                        let one = measure("cpu", Signal::Saturation, "ratio");
                        let cpu = 0.05 + 0.6 * busy * (1.0 + 0.08 * normal(draw));
                        self.put(number, at, &one, cpu.clamp(0.0, 1.0));
                        let memory = self.mean(number, at, |state| state.memory);
                        let one = measure("memory", Signal::Saturation, "ratio");
                        self.put(number, at, &one, (memory + 0.01 * normal(draw)).clamp(0.0, 1.0));
                    }
                }
                let requests = counted(count, draw);
                self.put(number, at, &measure("requests", Signal::Traffic, "requests"), requests);
                self.scrape_ends(number, at, requests, draw);
            }
        }
    }

    /// What a part measures of those who measure nothing themselves.
    fn scrape_ends(&mut self, number: usize, at: f64, requests: f64, draw: &mut Stream) {
        let system = self.system;
        for link in &system.links {
            if link.to == number && system.parts[link.from].role == Role::Clients {
                let peer = self.peer(link.from, PeerRole::Caller);
                let one = Measure {
                    metric: "requests of",
                    signal: Signal::Traffic,
                    unit: "requests",
                    peer,
                };
                self.put(number, at, &one, requests);
            }
            if link.from == number && system.parts[link.to].role == Role::Outside {
                let peer = self.peer(link.to, PeerRole::Callee);
                let calls = self.mean(number, at, |state| state.arrivals) * link.share;
                let errors = self.mean(link.to, at, |state| state.errors);
                let time = self.mean(link.to, at, |state| state.latency).min(link.timeout);
                let one = Measure {
                    metric: "failed calls",
                    signal: Signal::Errors,
                    unit: "requests",
                    peer,
                };
                self.put(number, at, &one, counted(calls * errors * self.interval, draw));
                let one = Measure {
                    metric: "call time mean",
                    signal: Signal::Latency,
                    unit: "ms",
                    ..one
                };
                self.put(number, at, &one, time * (1.0 + 0.05 * normal(draw)));
            }
        }
    }

    /// Log lines: some failures of its own and of calls, and warnings that mean nothing.
    fn log(&mut self, trouble: &Trouble, draw: &mut Stream) {
        let system = self.system;
        let mut at = 0.0;
        while at < self.course.timing.length {
            for (number, part) in system.parts.iter().enumerate() {
                if !matches!(part.role, Role::Serving | Role::Worker | Role::Store) {
                    continue;
                }
                let state = self.state(number, at);
                let failed = state.arrivals * state.own_errors * STEP;
                if draw.chance((failed * 0.3).min(0.7)) {
                    let id = draw.between(1_000, 99_999);
                    let said = format!("request {id} failed: internal error");
                    self.say(number, at + STEP * draw.share(), "error", said, None);
                }
                if draw.chance(0.001) {
                    let said = "slow garbage collection, 212 ms".to_owned();
                    self.say(number, at + STEP * draw.share(), "warning", said, None);
                }
                for link in system
                    .links
                    .iter()
                    .filter(|link| link.from == number && link.kind == LinkKind::Calls)
                {
                    self.log_call(link, trouble, at, draw);
                }
            }
            at += STEP;
        }
    }

    fn log_call(&mut self, link: &Link, trouble: &Trouble, at: f64, draw: &mut Stream) {
        let (caller, callee) = (self.state(link.from, at), self.state(link.to, at));
        let is_queue = self.system.parts[link.to].role == Role::Queue;
        let late = !is_queue && callee.latency > link.timeout;
        let failed = if late { 1.0 } else { callee.errors };
        if !draw.chance((caller.arrivals * link.share * failed * STEP * 0.2).min(0.6)) {
            return;
        }
        let is_expired = trouble.effect == Effect::Certificate
            && link.to == trouble.part
            && trouble.strength(at) > 0.0;
        let why = match (late, is_expired) {
            (_, true) => "x509: certificate has expired or is not yet valid",
            (true, _) => "deadline exceeded",
            _ => "upstream returned 500",
        };
        let said = format!("call to {} failed: {why}", self.name(link.to));
        let peer = self.peer(link.to, PeerRole::Callee);
        self.say(link.from, at + STEP * draw.share(), "error", said, peer);
    }

    /// A sample of requests, told by those who were called; of outside services by the caller.
    fn trace(&mut self, draw: &mut Stream) {
        let system = self.system;
        for link in system.links.iter().filter(|link| link.kind == LinkKind::Calls) {
            let role = system.parts[link.to].role;
            if role == Role::Queue {
                continue;
            }
            let mut at = 20.0 * draw.share();
            while at < self.course.timing.length {
                let state = self.state(link.to, at);
                let duration = state.latency * (0.6 + 0.8 * draw.share());
                let duration_ms = (duration.min(link.timeout) * 100.0).round() / 100.0;
                let failed = draw.chance(state.errors) || duration > link.timeout;
                let (entity, peer) = match role {
                    Role::Outside => (link.from, self.peer(link.to, PeerRole::Callee)),
                    _ => (link.to, self.peer(link.from, PeerRole::Caller)),
                };
                let entity = self.name(entity).clone();
                let time = self.at(at);
                self.bundle.spans.push(SpanRecord {
                    time,
                    entity,
                    duration_ms,
                    failed: Some(failed),
                    peer,
                    operation: None,
                    ids: None,
                });
                at += 5.0 + 20.0 * draw.share();
            }
        }
    }

    /// Events: kills, what nodes and certificates say of themselves, and probes that fail.
    fn happen(&mut self, trouble: &Trouble, draw: &mut Stream) {
        let mut events: Vec<(f64, usize, &str, Signal, &str)> = Vec::new();
        for (step, states) in self.course.steps.iter().enumerate() {
            for (part, _) in states.iter().enumerate().filter(|(_, state)| state.killed) {
                let (at, said) = (step as f64 * STEP, "killed: out of memory");
                events.push((at, part, "OutOfMemory", Signal::Exhaustion, said));
            }
        }
        let is_told = draw.chance(0.5);
        let at = trouble.at + trouble.delay + 20.0 * draw.share();
        match trouble.effect {
            Effect::SickNode(_) if is_told => {
                let said = "disk is slow";
                events.push((at + 30.0, trouble.part, "DiskPressure", Signal::Saturation, said));
            }
            Effect::Certificate if is_told => {
                let said = "the certificate has expired";
                let reason = "CertificateExpired";
                events.push((at, trouble.part, reason, Signal::Availability, said));
            }
            _ => {}
        }
        let parts = self.system.having(&[Role::Serving, Role::Store, Role::Worker]);
        for _ in 0..draw.between(2, 6) {
            let (part, at) =
                (parts[draw.position(parts.len())], self.course.timing.length * draw.share());
            let said = "readiness probe took too long";
            events.push((at, part, "ProbeFailed", Signal::Other, said));
        }
        let record = |(at, part, reason, signal, said): (f64, usize, &str, Signal, &str)| {
            let (time, entity) = (self.at(at), self.name(part).clone());
            let (reason, message, peer) = (reason.to_owned(), said.to_owned(), None);
            EventRecord { time, entity, reason, signal, message, peer }
        };
        let mut events: Vec<EventRecord> = events.into_iter().map(record).collect();
        events.sort_by(|a, b| (a.time, &a.entity).cmp(&(b.time, &b.entity)));
        self.bundle.events = events;
    }

    /// The change that is the cause, and many that are not.
    fn change(&mut self, kind: Kind, trouble: &Trouble, first: Timestamp, draw: &mut Stream) {
        let parts = self.system.having(&[Role::Serving, Role::Store, Role::Worker, Role::Queue]);
        let one = |draw: &mut Stream| parts[draw.position(parts.len())];
        let alert = first.duration_since(self.start).as_secs_f64();
        let per_hour = 5.0 + 7.0 * draw.share();
        let mut second = 0.0;
        // A Poisson process over the recording and over the parts.
        while second < self.course.timing.length {
            if draw.chance(per_hour / 3_600.0) {
                let (part, words) = (one(draw), names::any(draw));
                self.put_change(part, second + draw.share(), words);
            }
            second += 1.0;
        }
        if draw.chance(0.7) {
            let (part, words) = (one(draw), names::deploy(draw));
            self.put_change(part, alert - 3.0 - 57.0 * draw.share(), words);
        }
        let harm = trouble.at + trouble.delay;
        let between = |draw: &mut Stream| harm + (alert - harm).max(1.0) * draw.share();
        if draw.chance(0.5) {
            let (part, words) = (one(draw), names::any(draw));
            let at = between(draw);
            self.put_change(part, at, words);
        }
        if kind == Kind::Pipeline {
            // An innocent deploy after the harm began, and tuning long before.
            let near = self.system.having(&[Role::Queue, Role::Worker]);
            let (part, at) = (near[draw.position(near.len())], between(draw));
            let words = names::deploy(draw);
            self.put_change(part, at, words);
            let tuned = self.system.having(&[Role::Store, Role::Queue, Role::Worker]);
            let part = tuned[draw.position(tuned.len())];
            let at = (trouble.at - 1_500.0 - 1_500.0 * draw.share()).max(30.0);
            let words = names::edit(draw);
            self.put_change(part, at, words);
        }
        if let Some(Words { path, old, new, description }) = &trouble.change {
            let words = Words {
                path: path.clone(),
                old: old.clone(),
                new: new.clone(),
                description: description.clone(),
            };
            self.put_change(trouble.part, trouble.at, words);
        }
        self.bundle.changes.sort_by(|a, b| (a.time, &a.entity).cmp(&(b.time, &b.entity)));
    }
}
