//! Which investigations are watched, and the steering of those that run.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog_session::run::Cancel;
use eog_session::store::InvestigationId;
use eog_session::watched::Watched;

/// Which investigations are watched, and the steering of those that run.
#[derive(Default)]
pub(super) struct Board(Mutex<BTreeMap<InvestigationId, Place>>);

#[derive(Default)]
struct Place {
    watched: Arc<Watched>,
    steering: Option<Cancel>,
}

/// A run that is on the board, until it is dropped.
pub(super) struct Running<'a> {
    board: &'a Board,
    id: InvestigationId,
    pub(super) watched: Arc<Watched>,
    /// Why it ended, and whether something is left to do.
    pub(super) end: (String, bool),
}

impl Board {
    /// The place of an investigation. One that neither runs nor is watched has none.
    pub(super) fn watched(&self, id: &InvestigationId) -> Arc<Watched> {
        let mut places = self.places();
        places.retain(|_, place| place.steering.is_some() || Arc::strong_count(&place.watched) > 1);
        places.entry(id.clone()).or_default().watched.clone()
    }

    /// A run begins, or goes on.
    pub(super) fn begin(&self, id: &InvestigationId, steering: Cancel) -> Running<'_> {
        let watched = self.watched(id);
        self.places().entry(id.clone()).or_default().steering = Some(steering);
        watched.begin();
        let end = ("it broke off; `resume` continues it".to_owned(), true);
        Running { board: self, id: id.clone(), watched, end }
    }

    /// The steering of an investigation, if it runs here.
    pub(super) fn steering(&self, id: &InvestigationId) -> Option<Cancel> {
        self.places().get(id)?.steering.clone()
    }

    fn places(&self) -> MutexGuard<'_, BTreeMap<InvestigationId, Place>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        if let Some(place) = self.board.places().get_mut(&self.id) {
            place.steering = None;
        }
        let (why, is_unfinished) = std::mem::take(&mut self.end);
        self.watched.end(why, is_unfinished);
    }
}
