//! Parts that answer requests.

use super::calls::Called;
use super::{Moment, STEP, State};

/// A backlog of so many seconds is refused.
const PATIENCE: f64 = 8.0;

/// The waiting time grows no further than at this utilisation; beyond, the backlog does.
const BUSIEST: f64 = 0.95;

impl Moment<'_> {
    pub(super) fn serving(&self, number: usize) -> State {
        let arrivals = self.arrivals(number);
        let own = self.own_errors(number).min(1.0);
        let Called { waited, mut fine } = self.called(number, 1.0 - own);
        let work = self.work(number);
        let hold = work + waited;
        let capacity = self.capacity(number, hold);
        let busy = arrivals / capacity;
        let usual = busy.min(BUSIEST);
        let backlog = self.last[number].backlog + (arrivals - capacity) * STEP;
        let most = capacity * PATIENCE;
        let refused = ((backlog - most).max(0.0) / (arrivals * STEP).max(1.0)).min(1.0);
        let backlog = backlog.clamp(0.0, most);
        let latency = self.with_queue(number, hold, usual) + 1_000.0 * backlog / capacity;
        fine *= 1.0 - refused;
        let held = self.strains[number].held;
        let taken = arrivals * hold / 1_000.0 / self.pool(number);
        State {
            arrivals,
            latency,
            work,
            wait: (latency - hold).max(0.0),
            errors: 1.0 - fine,
            own_errors: 1.0 - (1.0 - own) * (1.0 - refused),
            operation: self.strains[number].operation,
            backlog,
            busy: busy.min(1.0),
            cpu: self.cpu(number, arrivals * (1.0 - refused)),
            pool: held + (1.0 - held) * taken.min(1.0),
            ..State::default()
        }
    }

    /// Time in the system at a utilisation: with one server, or, where there are more places than
    /// needed, with as many servers as places (Sakasegawa 1977).
    fn with_queue(&self, number: usize, hold: f64, utilisation: f64) -> f64 {
        if self.system.parts[number].spare.is_none() {
            return hold * (1.0 + 0.5 * utilisation * utilisation / (1.0 - utilisation));
        }
        let places = self.pool(number).max(1.0);
        let waiting = utilisation.powf((2.0 * (places + 1.0)).sqrt() - 1.0);
        hold * (1.0 + waiting / (places * (1.0 - utilisation)))
    }
}
