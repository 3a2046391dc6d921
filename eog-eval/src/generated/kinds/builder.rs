//! Puts a system together.

use eog_simulate::{RandomSeed, Stream};

use crate::generated::flow::RETRIES;
use crate::generated::names::Names;
use crate::generated::system::{Role, System};

/// The fewest and the most parts that a size is drawn from.
const SIZES: [f64; 2] = [5.0, 60.0];

/// The share of services that wait for their calls without holding a thread.
const EVENT_DRIVEN: f64 = 0.7;

/// The share of calls whose failures are tried again: mostly at one level alone.
const TRIED_AGAIN: f64 = 0.25;

/// A system that is being put together.
pub(super) struct Builder {
    pub(super) system: System,
    pub(super) draw: Stream,
    names: Names,
}

impl Builder {
    /// Nothing yet; `load` says the fewest and the most requests a second.
    pub(super) fn new(seed: RandomSeed, load: [f64; 2]) -> Self {
        let mut draw = seed.stream("system");
        let system = System::new(load[0] + (load[1] - load[0]) * draw.share());
        Self { system, draw, names: Names::default() }
    }

    /// About how many parts there shall be: small systems are as likely as large ones.
    pub(super) fn size(&mut self) -> usize {
        let [least, most] = SIZES;
        (least * (most / least).powf(self.draw.share())).round() as usize
    }

    /// A number from `low` to `high`.
    pub(super) fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.draw.position(high.saturating_sub(low) + 1)
    }

    pub(super) fn add(&mut self, ending: &str, role: Role) -> usize {
        let name = self.names.fresh(ending, &mut self.draw);
        let at = self.system.add(name, role, &mut self.draw);
        let draw = &mut self.draw;
        let part = &mut self.system.parts[at];
        part.parallel = role == Role::Serving && draw.chance(0.3);
        part.spare = Some(match role {
            // A service that waits without a thread hardly ever runs out of places.
            Role::Serving if draw.chance(EVENT_DRIVEN) => 30.0,
            Role::Serving | Role::Store => 2.0 + 10.0 * draw.share(),
            Role::Worker | Role::Step => 1.0,
            _ => 30.0,
        });
        at
    }

    pub(super) fn add_many(&mut self, count: usize, ending: &str, role: Role) -> Vec<usize> {
        (0..count).map(|_| self.add(ending, role)).collect()
    }

    pub(super) fn one(&mut self, of: &[usize]) -> usize {
        of.get(self.draw.position(of.len())).copied().unwrap_or(0)
    }

    /// Lets a part call another, unless it does already or would call itself.
    pub(super) fn call(&mut self, from: usize, to: usize) {
        let is_there = self.system.links.iter().any(|link| (link.from, link.to) == (from, to));
        if from == to || is_there {
            return;
        }
        self.system.link(from, to, &mut self.draw);
        if let Some(link) = self.system.links.last_mut() {
            link.network = 0.2 + 1.5 * self.draw.share();
            link.again = if self.draw.chance(TRIED_AGAIN) { RETRIES } else { 0.0 };
        }
    }

    /// As [`call`](Self::call), once for every request; the request fails when the call does.
    pub(super) fn need(&mut self, from: usize, to: usize) {
        self.call(from, to);
        for link in &mut self.system.links {
            if (link.from, link.to) == (from, to) {
                (link.share, link.needed) = (1.0, true);
                link.timeout = 2_000.0 + 4_000.0 * self.draw.share();
            }
        }
    }

    /// The system, on so many nodes.
    pub(super) fn on_nodes(mut self, count: usize) -> System {
        self.system.place(&mut self.names, count.max(1), &mut self.draw);
        self.system
    }
}
