//! Streaming: the world goes on while an investigation runs, and after it.

use super::Controller;
use super::halt::Halt;
use crate::controller::active::Reason;
use crate::controller::entry_body::{EntryBody, Observed};
use crate::ids::EntityId;
use crate::ledger::record::Observation;
use crate::machine::exchange::InputError;

impl Controller {
    /// Takes an observation in, between two commits. It begins a new epoch for the entities it
    /// touches and makes visited ones active again; an anomaly also makes an unvisited one active.
    pub(super) fn observe(&mut self, observation: Observation) -> Result<(), InputError> {
        let mut touched: Vec<EntityId> = Vec::new();
        match &observation {
            Observation::Anomaly(anomaly) => {
                self.state.named.insert(anomaly.entity.clone());
                self.state.anomalies.push(anomaly.clone());
                touched.push(anomaly.entity.clone());
            }
            Observation::EdgeAdded(edge) => {
                let first = !self.state.are_joined(&edge.source, &edge.target);
                self.state.topology.add_edge(edge.clone());
                if let Some(distances) = &mut self.distances {
                    distances.join(&self.state, &edge.source, &edge.target);
                }
                touched.extend([edge.source.clone(), edge.target.clone()]);
                // Both ends are made active below, so the late messages wake no other entity.
                if first && edge.source != edge.target && self.config.late_messages {
                    for (from, to) in [(&edge.source, &edge.target), (&edge.target, &edge.source)] {
                        self.exchange(from, to);
                    }
                }
            }
            Observation::EdgeRemoved(edge) => {
                if !self.state.topology.remove_edge(edge) {
                    let edge = format!("{} {} {}", edge.source, edge.relation, edge.target);
                    return Err(InputError::NoSuchEdge(edge));
                }
                self.distances = None;
                touched.extend([edge.source.clone(), edge.target.clone()]);
            }
            Observation::NewEvidence(entity) => {
                self.state.named.insert(entity.clone());
                touched.push(entity.clone());
            }
        }
        self.record_halt();
        if self.in_flight.is_empty() {
            // The world went on after the end, for whatever reason it ended.
            self.halt = Halt::default();
        }
        touched.sort();
        touched.dedup();
        let seq = self.ledger.next_seq();
        let is_anomaly = matches!(observation, Observation::Anomaly(_));
        let mut activations = Vec::new();
        for entity in touched {
            let node = self.state.node(&entity);
            node.visits = 0;
            node.flips = 0;
            node.dead_ends = 0;
            node.opinions = 0;
            node.pages = 0;
            node.page_turns = 0;
            node.queries = 0;
            node.paged = None;
            node.damped = false;
            if node.visited || is_anomaly {
                activations.extend(self.activate(&entity, Reason::Observation, seq));
            }
        }
        self.outlook = None;
        self.rings = None;
        activations.extend(self.widen_at_rest(seq));
        self.ledger.append(EntryBody::Observed(Box::new(Observed { observation, activations })));
        Ok(())
    }
}
