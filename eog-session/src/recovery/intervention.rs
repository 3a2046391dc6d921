//! Repairs: changes of the origins of a cause, or of what they are made of or by, after its harm.

use std::collections::BTreeSet;

use eog::diagnosis::Prediction;
use eog::{Diagnosis, EntityId, Finding, Timestamp};
use eog_evidence::Incident;
use eog_report::words;
use serde::Serialize;

/// What was done about a cause, and when.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Intervention {
    /// When it was made; of an interval, its end.
    pub at: Timestamp,
    /// The entity that was changed.
    pub entity: EntityId,
    /// What was done. Untrusted text.
    pub what: String,
    /// Whether it is on record, rather than given by the operator.
    pub is_recorded: bool,
}

impl Intervention {
    /// One that the operator gives.
    pub(super) fn given(prediction: &Prediction, at: Timestamp, action: Option<&str>) -> Self {
        let entity = prediction.origins.first().cloned();
        let Some(entity) = entity else { unreachable!("a cause has an origin") };
        let what = action.unwrap_or("repaired").to_owned();
        Self { at, entity, what, is_recorded: false }
    }
}

impl From<&Finding> for Intervention {
    fn from(change: &Finding) -> Self {
        let (entity, what) = (change.entity.clone(), words::finding(change));
        Self { at: made(change), entity, what, is_recorded: true }
    }
}

/// The changes of a cause after the last onset of what it explains, by time.
pub(super) struct Changes<'c> {
    /// Of its origins, of what they are made of or by, and of the entity whose change it cites.
    all: Vec<&'c Finding>,
    /// Those of the origins themselves.
    own: BTreeSet<EntityId>,
}

impl<'c> Changes<'c> {
    pub(super) fn on_record(run: &Diagnosis, prediction: &Prediction, after: &'c Incident) -> Self {
        let mut own: BTreeSet<EntityId> = prediction.origins.iter().cloned().collect();
        own.extend(cited(run, prediction).map(|finding| finding.entity.clone()));
        // What replaces a part is known to the later record alone.
        let topologies = [&run.topology, &after.topology];
        let makings = own.iter().flat_map(|one| topologies.map(|it| it.makings(one)));
        let whole: BTreeSet<EntityId> = makings.flatten().chain(own.iter().cloned()).collect();
        let is_repair = |change: &&Finding| {
            whole.contains(&change.entity) && made(change) > prediction.last_onset
        };
        let mut all: Vec<&Finding> = after.changes.iter().filter(is_repair).collect();
        all.sort_by_key(|change| (made(change), change.id().clone()));
        Self { all, own }
    }

    /// Takes out the one that undoes the change that the cause cites, or else the first of an origin itself, or else the first.
    pub(super) fn take_most_relevant(
        &mut self,
        run: &Diagnosis,
        prediction: &Prediction,
    ) -> Option<Intervention> {
        let cited = cited(run, prediction).and_then(|finding| finding.change.as_ref());
        let undoes = |change: &&Finding| {
            let made = change.change.as_ref();
            made.zip(cited).is_some_and(|(now, then)| now.path == then.path && now.new == then.old)
        };
        let is_own = |change: &&Finding| self.own.contains(&change.entity);
        let undone = self.all.iter().position(undoes);
        let found = undone.or_else(|| self.all.iter().position(is_own)).unwrap_or(0);
        (found < self.all.len()).then(|| self.all.remove(found).into())
    }

    /// Those that are left.
    pub(super) fn others(self) -> Vec<Intervention> {
        self.all.into_iter().map(Intervention::from).collect()
    }
}

fn cited<'r>(run: &'r Diagnosis, prediction: &Prediction) -> Option<&'r Finding> {
    prediction.change.as_ref().and_then(|id| run.findings.get(id))
}

/// By when a change was made.
fn made(change: &Finding) -> Timestamp {
    change.onset.map_or(change.time.start(), |onset| onset.latest())
}
