//! Scrapes of each part: traffic, errors, time, and how full its resources are.

use eog::evidence::Signal;
use eog_simulate::Stream;

use super::{Measure, Recorder, counted, normal};
use crate::generated::flow::State;
use crate::generated::system::Role;

/// A gauge: what it measures, on which part, and by how much a scrape of it is off (standard deviation).
struct Gauge {
    metric: &'static str,
    unit: &'static str,
    of: fn(&State) -> f64,
    of_roles: &'static [Role],
    noise: f64,
}

const WORKING: &[Role] = &[Role::Serving, Role::Store, Role::Worker, Role::Step];
const RUNNING: &[Role] =
    &[Role::Serving, Role::Store, Role::Worker, Role::Step, Role::Scheduler, Role::Node];

const GAUGES: [Gauge; 6] = [
    Gauge { metric: "cpu", unit: "ratio", of: |s| 0.03 + s.cpu, of_roles: RUNNING, noise: 0.02 },
    Gauge { metric: "memory", unit: "ratio", of: |s| s.memory, of_roles: RUNNING, noise: 0.01 },
    Gauge {
        metric: "disk",
        unit: "ratio",
        of: |s| s.disk,
        of_roles: &[Role::Store, Role::Node],
        noise: 0.003,
    },
    Gauge { metric: "pool in use", unit: "ratio", of: |s| s.pool, of_roles: WORKING, noise: 0.02 },
    Gauge {
        metric: "messages waiting",
        unit: "messages",
        of: |s| s.backlog + 3.0,
        of_roles: &[Role::Queue],
        noise: 2.0,
    },
    Gauge { metric: "late", unit: "s", of: |s| s.late, of_roles: &[Role::Step], noise: 0.0 },
];

impl Recorder<'_> {
    pub(super) fn scrape_parts(&mut self, draw: &mut Stream) {
        for number in 0..self.system.parts.len() {
            let role = self.system.parts[number].role;
            if matches!(role, Role::Clients | Role::Outside) {
                continue;
            }
            for at in self.scrapes(draw) {
                self.scrape_gauges(number, at, draw);
                match role {
                    Role::Node | Role::Scheduler => {}
                    Role::Queue => {
                        let count = self.mean(number, at, |state| state.arrivals) * self.interval;
                        let one = measure("requests", Signal::Traffic, "messages");
                        self.put(number, at, &one, counted(count, draw));
                    }
                    _ => self.scrape_requests(number, at, draw),
                }
            }
        }
    }

    /// Each part is scraped at its own second, and few scrapes are lost.
    fn scrapes(&self, draw: &mut Stream) -> Vec<f64> {
        let (length, interval) = (self.course.timing.length, self.interval);
        let offset = (interval * draw.share()).floor();
        let count = (length / interval) as usize;
        let all = (1..count).map(|scrape| scrape as f64 * interval + offset);
        all.filter(|at| *at < length && !draw.chance(0.01)).collect()
    }

    fn scrape_gauges(&mut self, number: usize, at: f64, draw: &mut Stream) {
        let role = self.system.parts[number].role;
        for gauge in GAUGES.iter().filter(|gauge| gauge.of_roles.contains(&role)) {
            let value = self.mean(number, at, gauge.of) + gauge.noise * normal(draw);
            let most = if gauge.unit == "ratio" { 1.0 } else { f64::INFINITY };
            let value = value.clamp(0.0, most);
            let value = if gauge.unit == "messages" { value.round() } else { value };
            // Being late is a matter of time, like latency.
            let signal = if gauge.unit == "s" { Signal::Latency } else { Signal::Saturation };
            self.put(number, at, &measure(gauge.metric, signal, gauge.unit), value);
        }
        if role == Role::Step {
            let steps = self.interval / super::STEP;
            let failed = self.mean(number, at, |state| state.failed_runs) * steps;
            self.put(number, at, &measure("failed runs", Signal::Errors, "runs"), failed.round());
        }
    }

    fn scrape_requests(&mut self, number: usize, at: f64, draw: &mut Stream) {
        let count = counted(self.mean(number, at, |state| state.arrivals) * self.interval, draw);
        let errors = self.mean(number, at, |state| state.arrivals * state.errors);
        let failed = counted(errors * self.interval, draw).min(count);
        self.put(number, at, &measure("requests", Signal::Traffic, "requests"), count);
        self.put(number, at, &measure("failed requests", Signal::Errors, "requests"), failed);
        // Where nothing came there is no mean.
        if count > 0.0 {
            let latency = self.mean(number, at, |state| state.latency);
            let noise = 1.0 + 0.04 * normal(draw);
            self.put(number, at, &measure("latency mean", Signal::Latency, "ms"), latency * noise);
        }
    }
}

fn measure<'a>(metric: &'a str, signal: Signal, unit: &'a str) -> Measure<'a> {
    Measure { metric, signal, unit, peer: None }
}
