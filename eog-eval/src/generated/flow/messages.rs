//! Queues, and the workers that take from them.

use super::calls::Called;
use super::{Moment, STEP, State};
use crate::generated::system::LinkKind;

/// The share of messages without a consumer which is cleared in a step: that of an operator who checks
/// now and then.
const CLEARED: f64 = 0.005;

impl Moment<'_> {
    /// What workers took in the last step is gone; the rest waits.
    pub(super) fn queue(&self, number: usize) -> State {
        let arrivals = self.arrivals(number);
        let mut takers = self.takers(number).peekable();
        let cleared = match takers.peek() {
            Some(_) => 0.0,
            None => CLEARED * self.last[number].backlog / STEP,
        };
        let taken: f64 = takers.map(|taker| self.last[taker].arrivals).sum::<f64>() + cleared;
        let backlog = (self.last[number].backlog + (arrivals - taken) * STEP).max(0.0);
        let latency = 1_000.0 * backlog / taken.max(0.1);
        State { arrivals, latency, backlog, ..State::default() }
    }

    /// Each worker takes its share of what is there, as far as it can.
    pub(super) fn worker(&self, number: usize) -> State {
        let own = self.own_errors(number).min(1.0);
        let Called { waited, fine } = self.called(number, 1.0 - own);
        let work = self.work(number);
        let hold = work + waited;
        let capacity = self.capacity(number, hold);
        let queue = self.system.queue_of(number).unwrap_or(0);
        let takers = self.takers(queue).count().max(1);
        let offered = self.last[queue].backlog / STEP + self.next[queue].arrivals;
        let arrivals = (offered / takers as f64).min(capacity);
        let busy = (arrivals / capacity).min(1.0);
        let held = self.strains[number].held;
        State {
            arrivals,
            latency: hold,
            work,
            errors: 1.0 - fine,
            own_errors: 1.0 - (1.0 - own),
            operation: self.strains[number].operation,
            busy,
            cpu: self.cpu(number, arrivals),
            pool: held + (1.0 - held) * busy,
            ..State::default()
        }
    }

    fn takers(&self, queue: usize) -> impl Iterator<Item = usize> {
        let takes = self.wires.into[queue].iter().filter(|link| link.kind == LinkKind::Takes);
        takes.map(|link| link.from)
    }
}
