//! How load, time and errors flow through a system, step by step.
//!
//! Each part is a pool of places: a request holds one for its own work and for the calls that it
//! waits for, so capacity is places divided by holding time (Little's law). Waiting grows with
//! utilisation as in a queue with one server, and a backlog is worked off at capacity; what waits
//! too long is refused. Callers give up after their time-out, retry some failures, and see times and
//! errors of their callees one step late.

use eog_simulate::RandomSeed;

use super::system::{Role, System};
use super::trouble::{Effect, Trouble};

/// Seconds of a step.
pub(super) const STEP: f64 = 5.0;

/// Seconds of a recording.
pub(super) const LENGTH: f64 = 4_500.0;

/// A backlog of so many seconds is refused.
const PATIENCE: f64 = 8.0;

/// The share of failed calls that is tried again.
const RETRIES: f64 = 0.4;

/// The waiting time grows no further than at this utilisation; beyond, the backlog does.
const BUSIEST: f64 = 0.95;

/// The state of a part in a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct State {
    /// Requests a second.
    pub(super) arrivals: f64,
    /// Time of a request, in milliseconds.
    pub(super) latency: f64,
    /// The share of requests that fail.
    pub(super) errors: f64,
    /// The share of requests that fail for a reason of its own.
    pub(super) own_errors: f64,
    /// Requests that wait; for a queue, messages.
    pub(super) backlog: f64,
    /// Load divided by capacity.
    pub(super) busy: f64,
    /// How full its memory is.
    pub(super) memory: f64,
    /// Whether it is killed in this step.
    pub(super) killed: bool,
}

/// The states of all parts in every step.
pub(super) struct Course {
    pub(super) steps: Vec<Vec<State>>,
}

/// Runs a system through its trouble.
pub(super) fn run(system: &System, trouble: &Trouble, seed: RandomSeed) -> Course {
    let mut draw = seed.stream("flow");
    let period = 1_200.0 + 2_400.0 * draw.share();
    let (amplitude, phase) = (0.05 + 0.2 * draw.share(), draw.share());
    let count = system.parts.len();
    let memory: Vec<f64> = (0..count).map(|_| 0.35 + 0.3 * draw.share()).collect();
    let places = places(system);
    let mut last = vec![State::default(); count];
    for (state, part) in last.iter_mut().zip(&system.parts) {
        state.latency = part.work;
    }
    let mut steps = Vec::new();
    let mut leaked = 0.0;
    let mut at = 0.0;
    // Some steps before the recording let the system settle.
    let settle = 60.0 * STEP;
    while at < LENGTH + settle {
        let now = at - settle;
        let strength = trouble.strength(now);
        let place = ((now + settle) / period + phase).fract();
        let wave = 1.0 + amplitude * ((place * 2.0 - 1.0).abs() * 2.0 - 1.0);
        let mut next = vec![State::default(); count];
        if trouble.effect == Effect::Leak {
            leaked = if leaked >= 1.0 { 0.3 } else { (leaked + strength * STEP / 240.0).min(1.0) };
        }
        for (number, part) in system.parts.iter().enumerate() {
            let hit =
                |is_hit: bool, full: f64| if is_hit { 1.0 + (full - 1.0) * strength } else { 1.0 };
            let is_part = number == trouble.part;
            let mut state = State { memory: memory[number], ..State::default() };
            let mut work = part.work;
            let mut pool = places[number];
            let mut own = part.errors;
            match trouble.effect {
                Effect::Errors(share) if is_part => own += share * strength,
                Effect::Slower(times) => work *= hit(is_part, times),
                Effect::SmallerPool(times) => pool /= hit(is_part, times),
                Effect::SickNode(times) => {
                    let is_on_it = part.node == Some(trouble.part);
                    work *= hit(is_on_it, times);
                    if is_part {
                        state.busy = (times - 1.0) * strength / times;
                    }
                }
                Effect::Certificate if is_part => own += 0.95 * strength,
                Effect::Leak if is_part => {
                    state.memory += (1.0 - state.memory) * leaked;
                    state.killed = leaked >= 1.0;
                    work *= 1.0 + 5.0 * ((leaked - 0.6).max(0.0) / 0.4);
                    own += if state.killed { 0.6 } else { 0.0 };
                }
                _ => {}
            }
            match part.role {
                Role::Clients => {
                    let load = match trouble.effect {
                        Effect::Load(times) => hit(is_part, times),
                        _ => 1.0,
                    };
                    state.arrivals = system.load * wave * load * (0.97 + 0.06 * draw.share());
                    state.latency = 0.0;
                    next[number] = state;
                    continue;
                }
                Role::Node => {
                    let on_it = |other: &usize| system.parts[*other].node == Some(number);
                    let running: Vec<usize> = (0..count).filter(on_it).collect();
                    let busy = running.iter().map(|one| last[*one].busy).sum::<f64>();
                    let mean = busy / running.len().max(1) as f64;
                    state.busy = (0.6 * mean + state.busy).min(1.0);
                    next[number] = state;
                    continue;
                }
                _ => {}
            }
            // Load, from callers that come earlier in the list.
            for link in system.links.iter().filter(|link| link.to == number && !link.takes) {
                let calls = match trouble.effect {
                    Effect::MoreCalls(times) if part.role == Role::Store => {
                        hit(link.from == trouble.part, times)
                    }
                    _ => 1.0,
                };
                let from = &next[link.from];
                let again = 1.0 + RETRIES * last[number].errors;
                state.arrivals += from.arrivals * link.share * calls * again;
            }
            // Time and errors of callees, one step ago.
            let (mut waited, mut fine) = (0.0, 1.0 - own.min(1.0));
            for link in system.links.iter().filter(|link| link.from == number && !link.takes) {
                let callee = &last[link.to];
                let is_queue = system.parts[link.to].role == Role::Queue;
                let time = if is_queue { 2.0 } else { callee.latency };
                let late = ((time - link.timeout) / link.timeout).clamp(0.0, 1.0);
                waited += link.share * time.min(link.timeout);
                if link.needed && !is_queue {
                    let failed = 1.0 - (1.0 - callee.errors) * (1.0 - late);
                    fine *= 1.0 - failed * link.share.min(1.0);
                }
            }
            let hold = work + waited;
            let capacity = pool / (hold / 1_000.0);
            if part.role == Role::Queue {
                // What workers took in the last step is gone; the rest waits.
                let takers = system.links.iter().filter(|link| link.to == number && link.takes);
                let taken: f64 = takers.map(|link| last[link.from].arrivals).sum();
                state.backlog = (last[number].backlog + (state.arrivals - taken) * STEP).max(0.0);
                state.latency = 1_000.0 * state.backlog / taken.max(0.1);
                next[number] = state;
                continue;
            }
            if part.role == Role::Worker {
                // Each worker takes its share of what is there, as far as it can.
                let mine = system.links.iter().find(|link| link.from == number && link.takes);
                let queue = mine.map_or(0, |link| link.to);
                let takers = system.links.iter().filter(|link| link.to == queue && link.takes);
                let offered = last[queue].backlog / STEP + next[queue].arrivals;
                state.arrivals = (offered / takers.count().max(1) as f64).min(capacity);
                state.busy = (state.arrivals / capacity).min(1.0);
                state.latency = hold;
            } else {
                state.busy = state.arrivals / capacity;
                let usual = state.busy.min(BUSIEST);
                let backlog = last[number].backlog + (state.arrivals - capacity) * STEP;
                let most = capacity * PATIENCE;
                let refused = (backlog - most).max(0.0) / (state.arrivals * STEP).max(1.0);
                state.backlog = backlog.clamp(0.0, most);
                state.latency = hold * (1.0 + 0.5 * usual * usual / (1.0 - usual))
                    + 1_000.0 * state.backlog / capacity;
                state.own_errors = refused.min(1.0);
                fine *= 1.0 - state.own_errors;
                state.busy = state.busy.min(1.0);
            }
            state.own_errors = 1.0 - (1.0 - own.min(1.0)) * (1.0 - state.own_errors);
            state.errors = 1.0 - fine;
            next[number] = state;
        }
        if now >= 0.0 {
            steps.push(next.clone());
        }
        last = next;
        at += STEP;
    }
    Course { steps }
}

/// The places of each pool: enough for the usual load at the usual times, and some headroom.
fn places(system: &System) -> Vec<f64> {
    let count = system.parts.len();
    let (mut load, mut hold) = (vec![0.0; count], vec![0.0; count]);
    for (number, part) in system.parts.iter().enumerate() {
        if part.role == Role::Clients {
            load[number] = system.load;
        }
        if part.role == Role::Worker {
            let mine = system.links.iter().find(|link| link.from == number && link.takes);
            let queue = mine.map_or(0, |link| link.to);
            let takers = system.links.iter().filter(|link| link.to == queue && link.takes);
            load[number] = load[queue] / takers.count().max(1) as f64;
        }
        for link in system.links.iter().filter(|link| link.from == number && !link.takes) {
            load[link.to] += load[number] * link.share;
        }
    }
    for (number, part) in system.parts.iter().enumerate().rev() {
        let calls = system.links.iter().filter(|link| link.from == number && !link.takes);
        let waited: f64 = calls
            .map(|link| {
                let is_queue = system.parts[link.to].role == Role::Queue;
                link.share * if is_queue { 2.0 } else { 1.4 * hold[link.to] }
            })
            .sum();
        hold[number] = part.work + waited;
    }
    let pools = system.parts.iter().enumerate();
    pools.map(|(at, part)| (load[at] * hold[at] / 1_000.0 * part.headroom).max(0.05)).collect()
}
