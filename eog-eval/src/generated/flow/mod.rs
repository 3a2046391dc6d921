//! How load, time and errors flow through a system, step by step.
//!
//! Each part is a pool of places: a request holds one for its own work and for the calls that it
//! waits for, so capacity is places divided by holding time (Little's law). Waiting grows with
//! utilisation as in a queue with one server, and a backlog is worked off at capacity; what waits
//! too long is refused. Callers give up after their time-out, retry some failures, and see times and
//! errors of their callees one step late. Queues keep what waits; steps of jobs work through the
//! items of a run as fast as they can.

mod calls;
mod jobs;
mod messages;
mod serving;
mod strain;
mod usual;

use eog_simulate::RandomSeed;

use super::system::{Link, LinkKind, Role, System};
use super::trouble::{Trouble, Wrong};
use jobs::Jobs;
pub(super) use jobs::Run;
use strain::{Strain, Strains};
use usual::Usual;

/// Seconds of a step.
pub(super) const STEP: f64 = 5.0;

/// The share of failed calls that is tried again.
pub(super) const RETRIES: f64 = 0.4;

/// The state of a part in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Requests a second.
    pub(super) arrivals: f64,
    /// Time of a request, in milliseconds.
    pub(super) latency: f64,
    /// The part of it that is its own work.
    pub(super) work: f64,
    /// The part of it that requests wait for a place.
    pub(super) wait: f64,
    /// The share of requests that fail.
    pub(super) errors: f64,
    /// The share of requests that fail for a reason of its own.
    pub(super) own_errors: f64,
    /// The operation of which more fail, and what share of it.
    pub(super) operation: Option<(usize, f64)>,
    /// Requests that wait; for a queue, messages; for a step of a job, items.
    pub(super) backlog: f64,
    /// Load divided by capacity.
    pub(super) busy: f64,
    /// How much of the processor is used; 1 is all of it.
    pub(super) cpu: f64,
    /// How full its memory is.
    pub(super) memory: f64,
    /// How full its disk is.
    pub(super) disk: f64,
    /// The share of its places that is in use.
    pub(super) pool: f64,
    /// Whether it is killed in this step.
    pub(super) killed: bool,
    /// Whether it does nothing any more.
    pub(super) stuck: bool,
    /// The share of callers that cannot connect.
    pub(super) unreachable: f64,
    /// More time than usual on the network to it and from it, in milliseconds.
    pub(super) delay_to: f64,
    pub(super) delay_from: f64,
    /// Seconds that a run of a job is late here.
    pub(super) late: f64,
    /// Runs that failed here in this step.
    pub(super) failed_runs: f64,
    /// What is wrong with its answers.
    pub(super) wrong: Option<Wrong>,
}

/// How long a recording is, and which part of it is surely usual.
#[derive(Clone, Copy, Debug)]
pub(super) struct Timing {
    /// Seconds of a recording.
    pub(super) length: f64,
    /// Seconds at the beginning that say what is usual.
    pub(super) usual: f64,
}

impl Timing {
    /// Of requests, of which there are many a minute.
    pub(super) const REQUESTS: Self = Self { length: 4_500.0, usual: 1_500.0 };

    /// Of jobs, which run a few times an hour.
    pub(super) const JOBS: Self = Self { length: 10_800.0, usual: 3_600.0 };
}

/// The states of all parts in every step.
pub(super) struct Course {
    pub(super) steps: Vec<Vec<State>>,
    /// The runs of steps of jobs, in order.
    pub(super) runs: Vec<Run>,
    pub(super) timing: Timing,
}

impl Course {
    /// The state of a part at a time.
    pub(super) fn state(&self, part: usize, seconds: f64) -> State {
        let step = (seconds.max(0.0) / STEP) as usize;
        self.steps[step.min(self.steps.len() - 1)][part]
    }
}

/// What is known when a step of the flow is worked out.
struct Moment<'a> {
    system: &'a System,
    wires: &'a Wires,
    usual: &'a Usual,
    strains: &'a [Strain],
    /// The states one step ago.
    last: &'a [State],
    /// The states of this step, of parts that come earlier in the list.
    next: &'a [State],
}

/// The links of each part, in the order of the system.
struct Wires {
    into: Vec<Vec<Link>>,
    out: Vec<Vec<Link>>,
}

impl Wires {
    fn of(system: &System) -> Self {
        let count = system.parts.len();
        let (mut into, mut out) = (vec![Vec::new(); count], vec![Vec::new(); count]);
        for link in &system.links {
            into[link.to].push(*link);
            out[link.from].push(*link);
        }
        Self { into, out }
    }

    /// The calls that a part makes.
    fn calls(&self, part: usize) -> impl Iterator<Item = &Link> {
        self.out[part].iter().filter(|link| link.kind == LinkKind::Calls)
    }
}

/// Runs a system through its troubles.
pub(super) fn run(
    system: &System,
    troubles: &[Trouble],
    timing: Timing,
    seed: RandomSeed,
) -> Course {
    let mut draw = seed.stream("flow");
    let period = 1_200.0 + 2_400.0 * draw.share();
    let (amplitude, phase) = (0.05 + 0.2 * draw.share(), draw.share());
    let count = system.parts.len();
    let memory: Vec<f64> = (0..count).map(|_| 0.35 + 0.3 * draw.share()).collect();
    let (usual, wires) = (Usual::of(system), Wires::of(system));
    let mut strains = Strains::new(system, troubles);
    let mut jobs = Jobs::of(system);
    let mut last = vec![State::default(); count];
    for (state, part) in last.iter_mut().zip(&system.parts) {
        state.latency = part.work;
    }
    let mut steps = Vec::new();
    let mut at = 0.0;
    // Some steps before the recording let the system settle.
    let settle = 60.0 * STEP;
    while at < timing.length + settle {
        let now = at - settle;
        let place = ((now + settle) / period + phase).fract();
        let wave = 1.0 + amplitude * ((place * 2.0 - 1.0).abs() * 2.0 - 1.0);
        let strains = strains.next(now);
        let mut next = vec![State::default(); count];
        jobs.begin(now, &strains);
        for (number, part) in system.parts.iter().enumerate() {
            let moment = Moment {
                system,
                wires: &wires,
                usual: &usual,
                strains: &strains,
                last: &last,
                next: &next,
            };
            let strain = &strains[number];
            let state = match part.role {
                Role::Clients => State {
                    arrivals: system.load * wave * strain.load * (0.97 + 0.06 * draw.share()),
                    ..State::default()
                },
                Role::Node => moment.node(number),
                Role::Queue => moment.queue(number),
                Role::Worker => moment.worker(number),
                Role::Step => jobs.work(number, now, &moment),
                Role::Scheduler => {
                    State { latency: part.work, work: part.work, ..State::default() }
                }
                _ => moment.serving(number),
            };
            // Disks are about as full as memories, which have a draw of their own.
            let disk = 0.2 + memory[(number + 1) % count];
            next[number] = State {
                memory: memory[number] + (1.0 - memory[number]) * strain.leaked,
                disk: disk + (1.0 - disk) * strain.disk,
                killed: strain.killed,
                stuck: strain.stuck > 0.0,
                unreachable: strain.unreachable,
                delay_to: strain.delay_to,
                delay_from: strain.delay_from,
                wrong: strain.wrong,
                ..state
            };
        }
        if now >= 0.0 {
            steps.push(next.clone());
        }
        last = next;
        at += STEP;
    }
    Course { steps, runs: jobs.done(), timing }
}

impl Moment<'_> {
    /// A node is as busy as what runs on it, and with what is wrong with itself.
    fn node(&self, number: usize) -> State {
        let on_it = |other: &usize| self.system.parts[*other].node == Some(number);
        let running: Vec<usize> = (0..self.last.len()).filter(on_it).collect();
        let busy = running.iter().map(|one| self.last[*one].busy).sum::<f64>();
        let mean = busy / running.len().max(1) as f64;
        let busy = (0.6 * mean + self.strains[number].busy).min(1.0);
        State { busy, cpu: busy, ..State::default() }
    }
}
