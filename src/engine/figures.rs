//! Time and cost of calls, on the way into the side file.

use std::time::Duration;

use eog_core::{EntityId, Spent, StopReason, Usage};

use super::desk::{EntryFigures, Waste};
use crate::side::{CallRecorder, Durability, RunStart, SideError, SideRecord};

/// Writes figures as long as the side file takes them. Without one, they are forgotten; what was
/// spent outside the loop counts all the same.
pub(super) struct Figures {
    recorder: Option<CallRecorder>,
    error: Option<SideError>,
}

impl Figures {
    pub(super) fn new(recorder: Option<CallRecorder>) -> Self {
        Self { recorder, error: None }
    }

    pub(super) fn begin(&mut self, what: RunStart, entries: u64) {
        self.append(Durability::Lazy, |now| SideRecord::Run { at: now(), what, entries });
    }

    /// Time and cost of the calls for an entry, by the key of their questions.
    pub(super) fn entry(&mut self, entry: u64, key: EntityId, figures: EntryFigures) {
        let EntryFigures { context, policy, usage, model, remembered } = figures;
        self.append(Durability::Lazy, |_| SideRecord::Evaluation {
            entry,
            entity: key,
            context,
            policy,
            usage,
            model,
            remembered,
        });
    }

    pub(super) fn waste(&mut self, waste: Waste) {
        if waste != Waste::default() {
            let Waste { calls, usage } = waste;
            self.append(Durability::Lazy, |_| SideRecord::Wasted { calls, usage });
        }
    }

    pub(super) fn end(&mut self, entries: u64, reason: StopReason, wall: Duration, spent: Spent) {
        let wall_ms = u64::try_from(wall.as_millis()).unwrap_or(u64::MAX);
        self.append(Durability::Synced, |now| {
            let at = now();
            SideRecord::Stopped { at, entries, reason, wall_ms, spent }
        });
    }

    /// What calls outside the loop have spent since this was last asked.
    pub(super) fn take_usage(&self) -> Usage {
        self.recorder.as_ref().map_or_else(Usage::default, CallRecorder::take_usage)
    }

    pub(super) fn into_error(self) -> Option<SideError> {
        self.error
    }

    fn append(
        &mut self,
        durability: Durability,
        record: impl FnOnce(&dyn Fn() -> eog_core::Timestamp) -> SideRecord,
    ) {
        let Some(recorder) = self.recorder.as_ref().filter(|_| self.error.is_none()) else {
            return;
        };
        let record = record(&|| recorder.now());
        if let Err(error) = recorder.append(&[record], durability) {
            self.error = Some(error);
        }
    }
}
