//! A summary of the entries before a checkpoint: the state of the world, and the counts.

use std::ops::RangeInclusive;
use std::sync::Arc;

use crate::budget::{AnsweredBy, Spent};
use crate::controller::config::Config;
use crate::controller::entry_body::{ActivationRecord, EntryBody};
use crate::controller::restore::opening;
use crate::ledger::Entry;
use crate::ledger::record::{Observation, RecordedAnswer};
use crate::ledger::restore_error::RestoreError;
use crate::state::State;

/// Some first entries, read in one pass.
pub(super) struct Prefix {
    /// The configuration, as changed by forks.
    pub(super) config: Config,
    /// Topology and anomalies as they were observed; no beliefs yet.
    pub(super) state: State,
    /// Without tokens and cost, which a ledger does not know.
    pub(super) spent: Spent,
    /// How many activations may have been refused: those of seeds are not recorded.
    pub(super) refused: RangeInclusive<u64>,
}

impl Prefix {
    pub(super) fn read(entries: &[Arc<Entry>]) -> Result<Self, RestoreError> {
        let opened = opening(entries.first().ok_or(RestoreError::NotOpened)?)?;
        let mut prefix = Self {
            config: opened.config.clone(),
            state: State::new(&opened.case),
            spent: Spent::default(),
            refused: 0..=0,
        };
        let mut refused = 0;
        for entry in entries {
            match &entry.body {
                EntryBody::Evaluated(evaluation) => {
                    prefix.spent.count(match evaluation.answer {
                        RecordedAnswer::Decided(_) => AnsweredBy::Policy,
                        RecordedAnswer::Remembered { .. } => AnsweredBy::Memory,
                        RecordedAnswer::Failed(_) => AnsweredBy::None,
                    });
                    refused += count_refused(&evaluation.activations);
                }
                EntryBody::Observed(observed) => {
                    prefix.observe(&observed.observation);
                    refused += count_refused(&observed.activations);
                }
                EntryBody::Forked(forked) => {
                    if let Some(config) = &forked.changes.config {
                        prefix.config = config.clone();
                    }
                    if let Some(case_file) = &forked.changes.case_file {
                        prefix.state.show(Arc::clone(case_file));
                    }
                }
                EntryBody::Opened(_) | EntryBody::Halted(_) | EntryBody::Resumed => {}
            }
        }
        prefix.refused = refused..=refused + opened.case.seeds.len() as u64;
        Ok(prefix)
    }

    fn observe(&mut self, observation: &Observation) {
        match observation {
            Observation::Anomaly(anomaly) => self.state.anomalies.push(anomaly.clone()),
            Observation::EdgeAdded(edge) => {
                self.state.topology.add_edge(edge.clone());
            }
            Observation::EdgeRemoved(edge) => {
                self.state.topology.remove_edge(edge);
            }
            Observation::NewEvidence(_) => {}
        }
    }
}

fn count_refused(activations: &[ActivationRecord]) -> u64 {
    activations.iter().filter(|record| record.refused.is_some()).count() as u64
}
