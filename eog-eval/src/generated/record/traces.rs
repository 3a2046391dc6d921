//! Traced requests: each a tree of spans, those of callers and those of callees, nested in time.
//!
//! A caller that gives up cancels its calls (deadlines are passed on), so no call outlasts its caller.
//! Messages are worked on later, by their consumers, in the same trace.

use std::collections::VecDeque;

use eog::evidence::{Peer, PeerRole};
use eog_evidence::{SpanIds, SpanRecord};
use eog_simulate::Stream;

use super::Recorder;
use crate::generated::kinds::Operations;
use crate::generated::system::{Link, LinkKind, Role};

/// The most spans of an incident, about; fewer requests are sampled where they are larger.
const MOST_SPANS: f64 = 30_000.0;

/// The share of stores that record spans themselves.
const TRACED_STORES: f64 = 0.3;

/// What a request finds at a part, and how it ends.
#[derive(Clone, Copy)]
struct Asked {
    part: usize,
    operation: usize,
    /// When it arrives and when its caller gives up, in milliseconds.
    at: f64,
    deadline: f64,
}

#[derive(Clone, Copy)]
struct Answer {
    at: f64,
    failed: bool,
    /// Whether it is not what was asked for, although nothing failed.
    wrong: bool,
}

impl Answer {
    fn new(at: f64, failed: bool) -> Self {
        Self { at, failed, wrong: false }
    }
}

/// A message that waits to be worked on.
struct Message {
    queue: usize,
    at: f64,
    parent: String,
}

/// A call by a link, to be made.
#[derive(Clone, Copy)]
struct Call {
    link: Link,
    operation: usize,
}

struct Tracer<'a> {
    recorder: &'a Recorder<'a>,
    operations: &'a Operations,
    draw: &'a mut Stream,
    /// The parts that record spans.
    is_traced: Vec<bool>,
    links: Vec<Vec<usize>>,
    trace: String,
    spans: Vec<SpanRecord>,
    messages: VecDeque<Message>,
    failures: Vec<Failure>,
}

/// A request that failed for a reason of the part that worked on it.
pub(super) struct Failure {
    pub(super) part: usize,
    /// Seconds.
    pub(super) at: f64,
    pub(super) operation: usize,
    pub(super) trace: String,
}

/// Traces 1 to 10 % of the requests, small shares as likely as large ones; also says which of them failed where.
pub(super) fn trace(
    recorder: &Recorder<'_>,
    operations: &Operations,
    draw: &mut Stream,
) -> (Vec<SpanRecord>, Vec<Failure>) {
    trace_share(recorder, operations, |draw| 0.01 * 10_f64.powf(draw.share()), draw)
}

/// Traces a share of the requests, which is drawn.
pub(super) fn trace_share(
    recorder: &Recorder<'_>,
    operations: &Operations,
    share: fn(&mut Stream) -> f64,
    draw: &mut Stream,
) -> (Vec<SpanRecord>, Vec<Failure>) {
    let system = recorder.system;
    let is_traced = system
        .parts
        .iter()
        .map(|part| match part.role {
            Role::Store => draw.chance(TRACED_STORES),
            Role::Serving | Role::Worker | Role::Step => true,
            _ => false,
        })
        .collect();
    let mut links = vec![Vec::new(); system.parts.len()];
    for (at, link) in system.links.iter().enumerate() {
        if link.kind == LinkKind::Calls {
            links[link.from].push(at);
        }
    }
    let share = share(draw);
    let mut tracer = Tracer {
        recorder,
        operations,
        draw,
        is_traced,
        links,
        trace: String::new(),
        spans: Vec::new(),
        messages: VecDeque::new(),
        failures: Vec::new(),
    };
    tracer.requests(share);
    tracer.runs();
    let Tracer { mut spans, failures, .. } = tracer;
    spans.sort_by(|a, b| (a.time, &a.ids).cmp(&(b.time, &b.ids)));
    (spans, failures)
}

impl<'a> Tracer<'a> {
    /// Requests from outside, at the times at which they are sampled.
    fn requests(&mut self, share: f64) {
        let length = self.recorder.course.timing.length;
        for clients in self.recorder.system.having(&[Role::Clients]) {
            for link in self.links[clients].clone() {
                let one = self.recorder.system.links[link];
                // A few requests show how many spans one has.
                for _ in 0..20 {
                    let at = 1_000.0 * length * 0.2 * self.draw.share();
                    self.request(&one, at);
                }
                let each = self.spans.len() as f64 / 20.0;
                self.spans.clear();
                self.failures.clear();
                let load = self.recorder.system.load * one.share;
                let share = share.min(MOST_SPANS / (each * load * length).max(1.0));
                let mut at = 0.0;
                while at < length {
                    let arrivals = self.recorder.state(one.to, at).arrivals * share;
                    // Exponential times between requests make a Poisson process.
                    at += -(1.0 - self.draw.share()).ln() / arrivals.max(0.01);
                    if at < length {
                        self.request(&one, 1_000.0 * at);
                    }
                }
            }
        }
    }

    fn request(&mut self, link: &Link, at: f64) {
        self.trace = format!("{:016x}{:016x}", self.draw.bits(), self.draw.bits());
        let operation = self.weighted(link.to);
        let deadline = at + 30_000.0;
        let asked = Asked { part: link.to, operation, at, deadline };
        self.serve(asked, None, self.recorder.peer(link.from, PeerRole::Caller));
        while let Some(message) = self.messages.pop_front() {
            self.process(&message);
        }
    }

    /// An operation, by how often it is asked for.
    fn weighted(&mut self, part: usize) -> usize {
        let mut left = self.draw.share();
        let operations = &self.recorder.system.parts[part].operations;
        for (at, one) in operations.iter().enumerate() {
            if left < one.weight {
                return at;
            }
            left -= one.weight;
        }
        0
    }

    /// A part works on a request. The span is that of the part.
    fn serve(&mut self, asked: Asked, parent: Option<&str>, peer: Option<Peer>) -> Answer {
        let Asked { part, operation, at, deadline } = asked;
        let state = self.recorder.state(part, at / 1_000.0);
        let id = format!("{:016x}", self.draw.bits());
        let is_traced = self.is_traced[part];
        let wait = state.wait * 2.0 * self.draw.share();
        let work = state.work * (0.6 + 0.8 * self.draw.share());
        let of_operation = state
            .operation
            .map_or(0.0, |(which, share)| if which == operation { share } else { 0.0 });
        let operations = &self.recorder.system.parts[part].operations;
        let weight = |which: usize| operations.get(which).map_or(1.0, |one| one.weight);
        let averaged = state.operation.map_or(0.0, |(which, share)| weight(which) * share);
        // Wrong answers to calls fail with the call.
        let general = (state.own_errors - averaged - self.baffled_share(part, at)).max(0.0);
        let fails = self.draw.chance(1.0 - (1.0 - general) * (1.0 - of_operation));
        let wrong = state.wrong.filter(|wrong| self.draw.chance(wrong.share));
        if fails {
            let (at, trace) = ((at + wait) / 1_000.0, self.trace.clone());
            self.failures.push(Failure { part, at, operation, trace });
        }
        // Half of the failures come before the calls.
        let answer = if fails && self.draw.chance(0.5) {
            Answer::new(at + wait + work * self.draw.share(), true)
        } else if wrong.is_some_and(|wrong| wrong.is_early) {
            Answer::new(at + wait + work * self.draw.share(), fails)
        } else {
            let calls = self.calls(part, operation);
            let inner = if is_traced { Some(id.as_str()) } else { parent };
            let begin = Asked { at: at + wait, ..asked };
            let answer = if self.recorder.system.parts[part].parallel {
                self.side_by_side(begin, work, &calls, inner)
            } else {
                self.in_turn(begin, work, &calls, inner)
            };
            Answer { failed: answer.failed || fails, ..answer }
        };
        let answer = Answer { wrong: wrong.is_some(), ..answer };
        let answer = cut(answer, deadline);
        if is_traced {
            let name = self.recorder.system.parts[part].operations.get(operation);
            let name = name.map(|one| one.name.clone());
            self.put(part, at, answer, peer, name, (id, parent));
        }
        answer
    }

    /// The calls of a request for an operation; each goes to one instance of an application.
    fn calls(&mut self, part: usize, operation: usize) -> Vec<Call> {
        let mut calls = Vec::new();
        for &at in &self.links[part] {
            let link = self.recorder.system.links[at];
            let uses = &self.operations.uses[at];
            for one in uses.iter().filter(|one| one.from == operation) {
                let count = self.draw.around(one.calls);
                calls.extend((0..count).map(|_| Call { link, operation: one.to }));
            }
        }
        calls
    }

    /// One call after the other, with work between them; a failed call that is needed ends it.
    fn in_turn(&mut self, asked: Asked, work: f64, calls: &[Call], parent: Option<&str>) -> Answer {
        let slice = work / (calls.len() + 1) as f64;
        let mut at = asked.at + slice;
        for call in calls {
            let answer = self.call(call, Asked { at, ..asked }, parent);
            at = answer.at + slice;
            if answer.at >= asked.deadline || (answer.failed && call.link.needed) {
                return Answer::new(answer.at, true);
            }
            if answer.wrong {
                return self.baffled(call, asked, at);
            }
        }
        Answer::new(at, false)
    }

    /// The share of the requests of a part that fail for a wrong answer to a call, on the mean.
    fn baffled_share(&self, part: usize, at: f64) -> f64 {
        let links = self.links[part].iter().map(|at| self.recorder.system.links[*at]);
        let shares = links.filter_map(|link| {
            let wrong = self.recorder.state(link.to, at / 1_000.0).wrong?;
            wrong.is_noticed.then(|| wrong.share * link.share.min(1.0))
        });
        shares.sum()
    }

    /// A wrong answer ends a request: it fails where that is noticed, or there is nothing left to ask.
    fn baffled(&mut self, call: &Call, asked: Asked, at: f64) -> Answer {
        let state = self.recorder.state(call.link.to, at / 1_000.0);
        let is_noticed = state.wrong.is_some_and(|wrong| wrong.is_noticed);
        if is_noticed {
            let Asked { part, operation, .. } = asked;
            let trace = self.trace.clone();
            self.failures.push(Failure { part, at: at / 1_000.0, operation, trace });
        }
        Answer::new(at, is_noticed)
    }

    /// All calls at once, between two halves of the work.
    fn side_by_side(
        &mut self,
        asked: Asked,
        work: f64,
        calls: &[Call],
        parent: Option<&str>,
    ) -> Answer {
        let begin = Asked { at: asked.at + work / 2.0, ..asked };
        let mut end = Answer::new(begin.at, false);
        for call in calls {
            let answer = self.call(call, begin, parent);
            end.at = end.at.max(answer.at);
            end.failed |= answer.failed && call.link.needed;
        }
        Answer { at: end.at + work / 2.0, ..end }
    }

    /// A call, tried again now and then when it fails.
    fn call(&mut self, call: &Call, asked: Asked, parent: Option<&str>) -> Answer {
        if asked.at >= asked.deadline {
            return Answer::new(asked.deadline, true);
        }
        if self.recorder.system.parts[call.link.to].role == Role::Queue {
            return self.publish(call, asked, parent);
        }
        let first = self.attempt(call, asked, parent);
        // A caller waits a moment before it tries again.
        let again = Asked { at: first.at + 5.0 + 20.0 * self.draw.share(), ..asked };
        if first.failed && again.at < asked.deadline && self.draw.chance(call.link.again) {
            return self.attempt(call, again, parent);
        }
        first
    }

    /// One try of a call. The span is that of the caller; the callee's lies within it, by the time on
    /// the network each way.
    fn attempt(&mut self, call: &Call, asked: Asked, parent: Option<&str>) -> Answer {
        let Call { link, operation } = *call;
        let id = format!("{:016x}", self.draw.bits());
        let target = self.instance(link.to);
        let seconds = asked.at / 1_000.0;
        let callee = self.recorder.state(target, seconds);
        let from = self.recorder.state(asked.part, seconds);
        let network = link.network.max(0.2) * (0.7 + 0.6 * self.draw.share());
        let deadline = (asked.at + link.timeout).min(asked.deadline);
        let there = asked.at + network + callee.delay_to + from.delay_from;
        let answer = if self.draw.chance(callee.unreachable) {
            Answer::new(there + network, true)
        } else if there + network >= deadline {
            Answer::new(deadline, true)
        } else {
            let peer = self.recorder.peer(asked.part, PeerRole::Caller);
            let deadline = deadline - network;
            let asked = Asked { part: target, operation, at: there, deadline };
            let answer = self.serve(asked, Some(&id), peer);
            Answer { at: answer.at + network, ..answer }
        };
        let answer = cut(answer, deadline);
        let name = self.recorder.system.parts[link.to].operations.get(operation);
        let name = name.map(|one| one.name.clone());
        let peer = self.recorder.peer(link.to, PeerRole::Callee);
        self.put(asked.part, asked.at, answer, peer, name, (id, parent));
        answer
    }

    /// An application stands for its instances; a call reaches one of them.
    fn instance(&mut self, part: usize) -> usize {
        if self.recorder.system.parts[part].role != Role::Group {
            return part;
        }
        let link = self.links[part][self.draw.position(self.links[part].len())];
        self.recorder.system.links[link].to
    }

    fn publish(&mut self, call: &Call, asked: Asked, parent: Option<&str>) -> Answer {
        let queue = call.link.to;
        let id = format!("{:016x}", self.draw.bits());
        let at = asked.at + 1.0 + 2.0 * self.draw.share();
        let answer = cut(Answer::new(at, false), asked.deadline);
        let peer = self.recorder.peer(queue, PeerRole::Callee);
        self.put(asked.part, asked.at, answer, peer, Some("publish".into()), (id.clone(), parent));
        let state = self.recorder.state(queue, at / 1_000.0);
        let at = answer.at + state.latency * (0.5 + self.draw.share());
        self.messages.push_back(Message { queue, at, parent: id });
        answer
    }

    /// A worker takes a message, if there still is one within the recording.
    fn process(&mut self, message: &Message) {
        let takers: Vec<usize> = self.recorder.system.takers(message.queue).collect();
        let is_over = message.at >= 1_000.0 * self.recorder.course.timing.length;
        let Some(&part) = self.draw.pick(&takers) else { return };
        if is_over || self.recorder.state(part, message.at / 1_000.0).stuck {
            return;
        }
        let deadline = message.at + 60_000.0;
        let asked = Asked { part, operation: 0, at: message.at, deadline };
        let peer = self.recorder.peer(message.queue, PeerRole::Mentioned);
        self.serve(asked, Some(&message.parent), peer);
    }

    /// The runs of jobs: a span for each step of a run, with some of the calls that it makes.
    fn runs(&mut self) {
        let runs = &self.recorder.course.runs;
        for run in runs.iter().filter(|run| run.begin >= 0.0) {
            self.trace = format!("{:016x}{:016x}", self.draw.bits(), self.draw.bits());
            let id = format!("{:016x}", self.draw.bits());
            let (begin, end) = (1_000.0 * run.begin, 1_000.0 * run.end);
            for _ in 0..6 {
                let at = begin + (end - begin) * self.draw.share();
                let asked = Asked { part: run.part, operation: 0, at, deadline: end };
                for call in self.calls(run.part, 0) {
                    self.call(&call, asked, Some(&id));
                }
            }
            let answer = Answer::new(end, run.failed);
            let name = Some("run".to_owned());
            self.put(run.part, begin, answer, None, name, (id, None));
        }
    }

    fn put(
        &mut self,
        part: usize,
        at: f64,
        answer: Answer,
        peer: Option<Peer>,
        operation: Option<String>,
        (span, parent): (String, Option<&str>),
    ) {
        let parent = parent.map(str::to_owned);
        self.spans.push(SpanRecord {
            time: self.recorder.at_micros(at),
            entity: self.recorder.name(part).clone(),
            duration_ms: ((answer.at - at).max(0.0) * 100.0).round() / 100.0,
            failed: Some(answer.failed),
            peer,
            operation,
            ids: Some(SpanIds { trace: self.trace.clone(), span, parent }),
        });
    }
}

fn cut(answer: Answer, deadline: f64) -> Answer {
    if answer.at > deadline { Answer::new(deadline, true) } else { answer }
}
