//! Jobs: runs that begin at their times and go through their steps, item by item.

use super::calls::Called;
use super::strain::Strain;
use super::{Moment, STEP, State};
use crate::generated::system::{Job, LinkKind, Role, System};

/// A step fails when more than this share of its items does.
const TOLERATED: f64 = 0.1;

/// How often a step that failed is tried again.
const TRIES: u32 = 2;

/// A step of a run, as it was done.
#[derive(Clone, Copy, Debug)]
pub(in crate::generated) struct Run {
    pub(in crate::generated) part: usize,
    /// The number of the run of its job.
    pub(in crate::generated) number: u32,
    pub(in crate::generated) begin: f64,
    pub(in crate::generated) end: f64,
    pub(in crate::generated) items: f64,
    pub(in crate::generated) failed: bool,
}

/// Where a step of a job is.
#[derive(Clone, Copy, Debug, Default)]
struct Progress {
    /// The run that comes next or is under way.
    run: u32,
    /// The last run of which it has items: a step that is behind works on those of several.
    until: u32,
    begin: f64,
    /// Items of the run, items left, and items that failed.
    items: f64,
    left: f64,
    failed: f64,
    tries: u32,
    is_running: bool,
}

/// All jobs of a system.
pub(super) struct Jobs {
    jobs: Vec<Option<Job>>,
    /// The steps that follow each step.
    followed_by: Vec<Vec<usize>>,
    /// Where the items of a step come from, if that is known.
    feed: Vec<Option<usize>>,
    steps: Vec<Progress>,
    done: Vec<Run>,
}

impl Jobs {
    pub(super) fn of(system: &System) -> Self {
        let count = system.parts.len();
        let (mut followed_by, mut feed) = (vec![Vec::new(); count], vec![None; count]);
        for link in system.links.iter().filter(|link| link.kind == LinkKind::Then) {
            if system.parts[link.from].role == Role::Clients {
                feed[link.to] = Some(link.from);
            }
            followed_by[link.from].push(link.to);
        }
        let jobs: Vec<Option<Job>> = system.parts.iter().map(|part| part.job).collect();
        Self { followed_by, feed, steps: vec![Progress::default(); count], jobs, done: Vec::new() }
    }

    /// Begins the runs whose time has come. A run waits until the one before it is done.
    pub(super) fn begin(&mut self, now: f64, strains: &[Strain]) {
        for number in 0..self.jobs.len() {
            let Some(job) = self.jobs[number].filter(|job| job.first) else { continue };
            let step = &self.steps[number];
            let due = job.phase + f64::from(step.run) * job.period;
            if !step.is_running && due <= now {
                let more = self.feed[number].map_or(1.0, |feed| strains[feed].load);
                self.start(number, step.run, job.items * more, now);
            }
        }
    }

    fn start(&mut self, number: usize, run: u32, items: f64, now: f64) {
        let step = &mut self.steps[number];
        if step.is_running {
            step.until = run;
            step.items += items;
            step.left += items;
            return;
        }
        let until = run;
        let step = Progress { run, until, begin: now, items, left: items, ..Progress::default() };
        self.steps[number] = Progress { is_running: true, ..step };
    }

    /// Works through items for one step of time.
    pub(super) fn work(&mut self, number: usize, now: f64, moment: &Moment<'_>) -> State {
        let own = moment.own_errors(number).min(1.0);
        let Called { waited, fine } = moment.called(number, 1.0 - own);
        let work = moment.work(number);
        let hold = work + waited;
        let capacity = moment.capacity(number, hold);
        let left = self.steps[number].left;
        let arrivals = if self.steps[number].is_running { capacity.min(left / STEP) } else { 0.0 };
        let busy = arrivals / capacity;
        State {
            arrivals,
            latency: hold,
            work,
            errors: 1.0 - fine,
            own_errors: own,
            operation: moment.strains[number].operation,
            backlog: left,
            busy,
            cpu: moment.cpu(number, arrivals),
            pool: busy,
            late: self.late(number, now),
            failed_runs: self.advance(number, now, arrivals, 1.0 - fine),
            ..State::default()
        }
    }

    /// Seconds since the run that comes next or is under way should have been done.
    fn late(&self, number: usize, now: f64) -> f64 {
        self.jobs[number].map_or(0.0, |job| {
            let due = job.phase + f64::from(self.steps[number].run) * job.period + job.due;
            (now - due).max(0.0)
        })
    }

    /// Takes done items off; at the end of a step the next one begins. Returns how many failed.
    fn advance(&mut self, number: usize, now: f64, rate: f64, errors: f64) -> f64 {
        let step = &mut self.steps[number];
        if !step.is_running {
            return 0.0;
        }
        step.left -= rate * STEP;
        step.failed += rate * STEP * errors;
        if step.left > 1e-6 {
            return 0.0;
        }
        let (run, until, items) = (step.run, step.until, step.items);
        let failed = step.failed > TOLERATED * items;
        let (part, begin, end) = (number, step.begin, now + STEP);
        self.done.push(Run { part, number: run, begin, end, items, failed });
        if failed && step.tries < TRIES {
            *step =
                Progress { begin: now, left: items, failed: 0.0, tries: step.tries + 1, ..*step };
            return 1.0;
        }
        *step = Progress { run: until + 1, ..Progress::default() };
        if !failed {
            for next in self.followed_by[number].clone() {
                let share = self.jobs[next].map_or(1.0, |job| job.items)
                    / self.jobs[number].map_or(1.0, |job| job.items);
                self.start(next, until, items * share, now);
            }
        }
        f64::from(u8::from(failed))
    }

    /// The runs that are done.
    pub(super) fn done(self) -> Vec<Run> {
        self.done
    }
}
