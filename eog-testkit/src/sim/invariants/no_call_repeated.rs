//! No call is made again whose outcome was acknowledged, those outside the loop included.

use std::collections::{BTreeMap, BTreeSet};

use eog::controller::EntryBody;
use eog::ledger::RecordedAnswer;
use eog::{Digest, EntityId, Entry};

use super::{Checked, Finding};
use crate::bounds::touched;
use crate::sim::simulation::answering::Happening;
use crate::sim::simulation::history::{History, Life};

/// Counted at the answering side, over all processes of a life, what was asked ahead included.
pub(super) fn check(history: &History) -> Checked {
    history.lives().try_for_each(check_life)
}

/// What needs not be asked any more.
#[derive(Default)]
struct Acknowledged {
    /// The last visit that was committed. An observation begins to count anew, at a place that the
    /// ledger alone does not show, so the entities that one touched are left out.
    visits: BTreeMap<EntityId, u32>,
    touched: BTreeSet<EntityId>,
    /// Packets that were decided on.
    decided: BTreeSet<Digest>,
    memory: bool,
}

fn check_life(life: &Life) -> Checked {
    let mut outside: BTreeSet<&str> = BTreeSet::new();
    for (number, process) in life.processes.iter().enumerate() {
        let mut known = Acknowledged { memory: life.config.decision_memory, ..Default::default() };
        let found = process.found.iter().flat_map(|found| found.ledger.entries());
        found.for_each(|entry| known.take(entry));
        let repeated = |what: String| {
            let expected = "no call whose outcome was acknowledged";
            Err(Finding::in_process(life, number, expected, what))
        };
        for happening in &process.happened {
            match happening {
                Happening::Stored(entry) => known.take(entry),
                Happening::Fetched { entity, visit } if known.has_visit(entity, *visit) => {
                    return repeated(format!("visit {visit} of {entity} fetched again"));
                }
                Happening::Decided { entity, packet } if known.has_decided(packet) => {
                    return repeated(format!("packet {packet} of {entity} decided on again"));
                }
                Happening::OutsideAsked(name) if outside.contains(name) => {
                    return repeated(format!("the call {name:?} made again"));
                }
                Happening::OutsideUsed(name, _) => _ = outside.insert(*name),
                Happening::Fetched { .. }
                | Happening::Decided { .. }
                | Happening::OutsideAsked(_)
                | Happening::Paid(_) => {}
            }
        }
    }
    Ok(())
}

impl Acknowledged {
    fn take(&mut self, entry: &Entry) {
        match &entry.body {
            EntryBody::Evaluated(evaluation) => {
                self.visits.insert(evaluation.entity.clone(), evaluation.visit);
                if let (RecordedAnswer::Decided(_), Some(packet)) =
                    (&evaluation.answer, evaluation.packet)
                {
                    self.decided.insert(packet);
                }
            }
            EntryBody::Observed(observed) => self.touched.extend(touched(&observed.observation)),
            _ => {}
        }
    }

    fn has_visit(&self, entity: &EntityId, visit: u32) -> bool {
        !self.touched.contains(entity) && self.visits.get(entity).is_some_and(|v| visit <= *v)
    }

    fn has_decided(&self, packet: &Digest) -> bool {
        self.memory && self.decided.contains(packet)
    }
}
