//! Log lines: what is done, what fails, and what means nothing.

use eog::evidence::PeerRole;
use eog_simulate::Stream;

use super::Recorder;
use super::traces::Failure;
use crate::generated::flow::{STEP, State};
use crate::generated::system::{Link, LinkKind, Role};
use crate::generated::trouble::Trouble;

/// The most lines of an incident that say what was done, about.
const MOST_LINES: f64 = 12_000.0;

/// Seconds from one heartbeat to the next.
const HEARTBEAT: f64 = 60.0;

/// The share of traced requests that failed of which there is a line.
const SAID: f64 = 0.4;

/// How the lines of a part distinguish requests.
#[derive(Clone, Copy)]
enum Style {
    Number,
    Hex,
    Letters,
}

impl Style {
    fn draw(draw: &mut Stream) -> Self {
        [Self::Number, Self::Hex, Self::Letters][draw.position(3)]
    }

    fn id(self, draw: &mut Stream) -> String {
        match self {
            Self::Number => draw.between(1_000, 999_999).to_string(),
            Self::Hex => format!("{:08x}", draw.below(1 << 32)),
            Self::Letters => {
                let letter = |draw: &mut Stream| char::from(b'a' + draw.below(26) as u8);
                (0..6).map(|_| letter(draw)).collect()
            }
        }
    }
}

impl Recorder<'_> {
    pub(super) fn say_lines(&mut self, troubles: &[Trouble], draw: &mut Stream) {
        let length = self.course.timing.length;
        let usual: f64 = self.course.steps[0].iter().map(|state| state.arrivals).sum();
        let logged = (MOST_LINES / (usual * length).max(1.0)).min(0.5);
        let count = self.system.parts.len();
        let styles: Vec<Style> = (0..count).map(|_| Style::draw(draw)).collect();
        for (number, style) in styles.iter().enumerate() {
            let role = self.system.parts[number].role;
            let talks = matches!(role, Role::Serving | Role::Worker | Role::Store | Role::Step);
            let mut at = 0.0;
            while at < length && (talks || role == Role::Scheduler) {
                let state = self.state(number, at);
                if !state.stuck {
                    self.say_done(number, at, logged, *style, draw);
                    self.say_failed(number, at, troubles, *style, draw);
                    for link in self.calls(number) {
                        self.say_call(&link, troubles, at, draw);
                    }
                }
                at += STEP;
            }
        }
        self.say_runs(troubles, draw);
        self.sort_lines();
    }

    fn calls(&self, part: usize) -> Vec<Link> {
        self.system.calls_of(part).copied().collect()
    }

    /// What goes as it should: requests that were answered, heartbeats, collections of garbage.
    fn say_done(&mut self, number: usize, at: f64, logged: f64, style: Style, draw: &mut Stream) {
        let state = self.state(number, at);
        let role = self.system.parts[number].role;
        let done = state.arrivals * (1.0 - state.errors) * STEP * logged;
        if draw.chance(done.min(0.9)) {
            let (id, millis) = (style.id(draw), state.latency * (0.6 + 0.8 * draw.share()));
            let operation = self.operation(number, draw);
            let said = match role {
                Role::Worker => format!("message {id} handled in {millis:.0} ms"),
                Role::Store => format!("statement {id} {operation} took {millis:.1} ms"),
                Role::Step => format!("item {id} written"),
                _ => format!("request={id} {operation} 200 in {millis:.1} ms"),
            };
            self.say(number, at + STEP * draw.share(), "info", said, None);
        }
        let beats = (at / HEARTBEAT).floor() > ((at - STEP) / HEARTBEAT).floor();
        if beats && matches!(role, Role::Worker | Role::Scheduler) {
            let said = format!("heartbeat: {:.0} handled", state.arrivals * HEARTBEAT);
            self.say(number, at + STEP * draw.share(), "info", said, None);
        }
        if role == Role::Store && draw.chance(0.01) {
            let said = format!("checkpoint complete: {} buffers", draw.between(50, 5_000));
            self.say(number, at + STEP * draw.share(), "info", said, None);
        }
        let usual = self.system.parts[number].work;
        if role == Role::Store && state.work > 4.0 * usual && draw.chance(0.3) {
            let said = format!("slow statement: {:.0} ms", state.latency * (1.0 + draw.share()));
            self.say(number, at + STEP * draw.share(), "warning", said, None);
        }
        if draw.chance(0.001) {
            let said = format!("slow garbage collection, {} ms", draw.between(150, 400));
            self.say(number, at + STEP * draw.share(), "warning", said, None);
        }
    }

    /// Failures of its own, each with its reason.
    fn say_failed(
        &mut self,
        number: usize,
        at: f64,
        troubles: &[Trouble],
        style: Style,
        draw: &mut Stream,
    ) {
        let state = self.state(number, at);
        let failed = state.arrivals * state.own_errors * STEP;
        if !draw.chance((failed * 0.3).min(0.7)) {
            return;
        }
        let says = self.reason(number, at, &state, troubles);
        let id = style.id(draw);
        let operation = match state.operation {
            Some((which, _)) => self.system.parts[number].operations[which].name.clone(),
            None => self.operation(number, draw),
        };
        let said = match self.system.parts[number].role {
            Role::Step => format!("item {id} rejected: {says}"),
            Role::Worker => format!("message {id} failed: {says}"),
            _ => format!("request={id} {operation} failed: {says}"),
        };
        self.say(number, at + STEP * draw.share(), "error", said, None);
    }

    fn reason(&self, number: usize, at: f64, state: &State, troubles: &[Trouble]) -> &'static str {
        let group = self.system.parts[number].group;
        let acts = |one: &&Trouble| {
            (one.part == number || Some(one.part) == group) && one.strength(at) > 0.0
        };
        match troubles.iter().find(acts) {
            Some(trouble) => trouble.says,
            None if self.is_baffled(number, at) => "TypeError: unexpected value in an answer",
            None if state.own_errors > 0.02 => "rejected, too many requests wait",
            None => "internal error",
        }
    }

    /// Whether a part fails for wrong answers to its calls.
    fn is_baffled(&self, number: usize, at: f64) -> bool {
        let mut calls = self.system.calls_of(number);
        calls.any(|link| self.state(link.to, at).wrong.is_some_and(|wrong| wrong.is_noticed))
    }

    fn operation(&self, number: usize, draw: &mut Stream) -> String {
        let one = draw.pick(&self.system.parts[number].operations);
        one.map(|one| one.name.clone()).unwrap_or_default()
    }

    /// Some of the traced requests that failed, with the id of the trace.
    pub(super) fn say_traced(
        &mut self,
        failures: &[Failure],
        troubles: &[Trouble],
        draw: &mut Stream,
    ) {
        for failure in failures.iter().filter(|_| draw.chance(SAID)) {
            let Failure { part, at, operation, trace } = failure;
            let says = self.reason(*part, *at, &self.state(*part, *at), troubles);
            let operations = &self.system.parts[*part].operations;
            let name = operations.get(*operation).map_or("", |one| one.name.as_str());
            let said = format!("{name} failed: {says} trace_id={trace}");
            self.say(*part, *at, "error", said, None);
        }
        self.sort_lines();
    }

    fn sort_lines(&mut self) {
        self.bundle.logs.sort_by(|(a, one), (b, other)| (one.time, a).cmp(&(other.time, b)));
    }

    /// Calls that fail, as their caller sees them.
    fn say_call(&mut self, link: &Link, troubles: &[Trouble], at: f64, draw: &mut Stream) {
        let (caller, callee) = (self.state(link.from, at), self.state(link.to, at));
        if self.system.parts[link.to].role == Role::Queue || link.kind != LinkKind::Calls {
            return;
        }
        let time = callee.latency + 2.0 * link.network + callee.delay_to + caller.delay_from;
        let late = ((time - link.timeout) / link.timeout).clamp(0.0, 1.0);
        let failed = 1.0 - (1.0 - callee.errors) * (1.0 - late) * (1.0 - callee.unreachable);
        if !draw.chance((caller.arrivals * link.share * failed * STEP * 0.2).min(0.6)) {
            return;
        }
        let state = State { own_errors: 0.0, ..callee };
        let why = match (callee.unreachable > 0.1, late > 0.3) {
            (true, _) => match self.reason(link.to, at, &state, troubles) {
                "internal error" => "connection refused",
                says => says,
            },
            (_, true) => "deadline exceeded",
            _ => "upstream returned 500",
        };
        let said = format!("call to {} failed: {why}", self.name(link.to));
        let peer = self.peer(link.to, PeerRole::Callee);
        self.say(link.from, at + STEP * draw.share(), "error", said, peer);
    }

    /// The ends of runs of jobs.
    fn say_runs(&mut self, troubles: &[Trouble], draw: &mut Stream) {
        for run in self.course.runs.iter().filter(|run| run.end >= 0.0) {
            let (seconds, items) = (run.end - run.begin, run.items);
            let state = self.state(run.part, run.begin);
            let number = run.number;
            let (level, said) = if run.failed {
                let says = self.reason(run.part, run.end, &state, troubles);
                ("error", format!("run {number} failed after {seconds:.0} s: {says}"))
            } else {
                ("info", format!("run {number} finished: {items:.0} items in {seconds:.0} s"))
            };
            self.say(run.part, run.end + draw.share(), level, said, None);
        }
    }
}
