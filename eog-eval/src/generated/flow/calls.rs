//! What callers see of those they call, and what load they send.

use super::Moment;
use crate::generated::system::{Link, LinkKind, Role};

/// What a request waits for its calls, and how it fares.
pub(super) struct Called {
    /// Milliseconds.
    pub(super) waited: f64,
    /// The share of requests that no call makes fail.
    pub(super) fine: f64,
}

impl Moment<'_> {
    /// Load from callers that come earlier in the list.
    pub(super) fn arrivals(&self, number: usize) -> f64 {
        let is_store = self.system.parts[number].role == Role::Store;
        let mut arrivals = 0.0;
        for link in &self.wires.into[number] {
            let from = &self.next[link.from];
            if link.kind == LinkKind::DeadLetters {
                arrivals += from.arrivals * from.errors;
            }
            if link.kind != LinkKind::Calls {
                continue;
            }
            let calls = if is_store { self.strains[link.from].store_calls } else { 1.0 };
            let again = 1.0 + link.again * self.last[number].errors;
            let connected = 1.0 - self.strains[number].unreachable;
            let made = self.reached(link);
            arrivals += from.arrivals * link.share * calls * again * connected * made;
        }
        arrivals
    }

    /// The share of requests at a caller that get as far as a call: those are left out that are
    /// answered before, or end with a wrong answer to an earlier call.
    fn reached(&self, link: &Link) -> f64 {
        let early = self.strains[link.from].wrong.filter(|wrong| wrong.is_early);
        let mut reached = 1.0 - early.map_or(0.0, |wrong| wrong.share);
        if self.system.parts[link.from].parallel {
            return reached;
        }
        for before in self.wires.calls(link.from).take_while(|before| before.to != link.to) {
            let wrong = self.strains[before.to].wrong.map_or(0.0, |wrong| wrong.share);
            reached *= 1.0 - wrong * before.share.min(1.0);
        }
        reached
    }

    /// The share of requests that fail for a wrong answer to a call.
    fn baffled(&self, number: usize) -> f64 {
        let noticed = |link: &Link| {
            let wrong = self.strains[link.to].wrong.filter(|wrong| wrong.is_noticed)?;
            Some(wrong.share * link.share.min(1.0))
        };
        self.wires.calls(number).filter_map(noticed).sum()
    }

    /// Time and errors of callees, one step ago, for requests of which this share is fine otherwise.
    pub(super) fn called(&self, number: usize, fine: f64) -> Called {
        let is_parallel = self.system.parts[number].parallel;
        let mut called = Called { waited: 0.0, fine };
        for link in self.wires.calls(number) {
            let callee = &self.last[link.to];
            let strain = &self.strains[link.to];
            let is_queue = self.system.parts[link.to].role == Role::Queue;
            let way = 2.0 * link.network + strain.delay_to + self.strains[number].delay_from;
            let time = way + if is_queue { 2.0 } else { callee.latency };
            let late = ((time - link.timeout) / link.timeout).clamp(0.0, 1.0);
            let one = link.share * time.min(link.timeout);
            called.waited = if is_parallel { called.waited.max(one) } else { called.waited + one };
            if link.needed && !is_queue {
                let reached = 1.0 - strain.unreachable;
                let failed = 1.0 - (1.0 - callee.errors) * (1.0 - late) * reached;
                called.fine *= 1.0 - failed * link.share.min(1.0);
            }
        }
        called
    }

    /// The time of its own work for a request, in milliseconds.
    pub(super) fn work(&self, number: usize) -> f64 {
        let strain = &self.strains[number];
        self.system.parts[number].work * strain.slower * strain.starved * strain.waits
    }

    /// The share of requests that fail for a reason of its own, whatever the load.
    pub(super) fn own_errors(&self, number: usize) -> f64 {
        let (part, strain) = (&self.system.parts[number], &self.strains[number]);
        let of_operation = strain.operation.map_or(0.0, |(which, share)| {
            part.operations.get(which).map_or(1.0, |one| one.weight) * share
        });
        part.errors + strain.errors + of_operation + self.baffled(number)
    }

    /// The places that can be taken.
    pub(super) fn pool(&self, number: usize) -> f64 {
        let strain = &self.strains[number];
        let left = (1.0 - strain.held) * (1.0 - strain.stuck);
        (self.usual.places[number] / strain.fewer * left).max(1e-6)
    }

    /// Requests a second that it can take when each holds a place for so many milliseconds: as many as
    /// there are places for, and no more than its processor does.
    pub(super) fn capacity(&self, number: usize, hold: f64) -> f64 {
        let (part, strain) = (&self.system.parts[number], &self.strains[number]);
        let of_places = self.pool(number) / (hold / 1_000.0);
        if part.spare.is_none() {
            return of_places;
        }
        let usual = (self.usual.load[number] * part.headroom).max(0.05);
        of_places.min(usual / (strain.slower * strain.starved))
    }

    /// How much of the processor so many requests a second use.
    pub(super) fn cpu(&self, number: usize, arrivals: f64) -> f64 {
        let (part, strain) = (&self.system.parts[number], &self.strains[number]);
        let usual = (self.usual.load[number] * part.headroom).max(1e-6);
        (arrivals * strain.slower / usual + strain.cpu).min(1.0)
    }
}
