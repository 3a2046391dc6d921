//! Callees that are called more often for each request.
//!
//! What a callee has too much of explains its callers only as far as it does not come from them: a
//! caller that asks five times for each request makes the callee slow, and waits for it.

use eog_core::evidence::Signal;
use eog_core::{EntityId, Finding};

use super::burden::{Account, Weight, longest};
use super::{Attribution, notes};
use crate::paths::Travel;
use crate::shift::during;
use crate::signs::MORE;
use crate::stats::median;
use eog_core::Timestamp;

impl Attribution<'_> {
    /// A note on each callee with a burden whose traffic grew, and by at least half more than that of the
    /// entity, as both are while the callee does worse.
    pub(super) fn sent(&self, entity: &EntityId) -> Vec<Finding> {
        let Some(number) = self.ways.number(entity) else { return Vec::new() };
        let callees = self.ways.lanes(Travel::Demand).onward.of(number);
        let callees = callees.filter_map(|callee| self.ways.name(callee));
        callees.filter_map(|callee| self.sent_to(entity, callee)).collect()
    }

    fn sent_to(&self, entity: &EntityId, callee: &EntityId) -> Option<Finding> {
        let burdens = self.asked.kinds.iter().filter_map(|kind| {
            match self.account(callee, *kind, Weight::Calls) {
                Account::Burden(burden) => Some((burden.onset()?, burden.extent()?.1)),
                Account::Usual | Account::Unknown => None,
            }
        });
        let (from, to) = burdens.min()?;
        let (own, theirs) = (self.growth(entity, from, to)?, self.growth(callee, from, to)?);
        (theirs >= MORE * own.max(1.0))
            .then(|| notes::of_sent(entity, callee, [own, theirs], during(from, to)))
    }

    /// How many times its usual traffic an entity has between two instants.
    fn growth(&self, entity: &EntityId, from: Timestamp, to: Timestamp) -> Option<f64> {
        let measured = (self.measured)(entity)?;
        let own = measured.series.iter().filter(|series| series.peer.is_none());
        let traffic = longest(own.copied().filter(|series| series.signal == Signal::Traffic))?;
        let parts = self.periods.cut(&traffic.points)?;
        let usual = median(parts.baseline.iter().map(|(_, value)| *value)).filter(|v| *v > 0.0)?;
        let then = parts.incident.iter().filter(|(at, _)| (from..=to).contains(at));
        Some(median(then.map(|(_, value)| *value))? / usual)
    }
}
