//! How long investigations are kept.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use crate::layout::stream_of_objects;
use crate::removal::{Objects, is_removal, remove};
use crate::{Cluster, InvestigationId, NatsError, Part};

/// Which investigations are removed. One that waits for a worker or has one is kept whatever these say.
///
/// Whether it does is what the work queue says. So investigations that were not [submitted](crate::Queue::submit)
/// count as ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Retention {
    /// Those whose ledger was written last so long ago.
    pub max_age: Option<Duration>,
    /// As many as needed for everything to have no more bytes, those first whose ledger was written last the
    /// longest ago. Ledgers, side files, blocks and checkpoints count, once, however many replicas there are.
    pub max_bytes: Option<u64>,
    /// How long parts of objects that belong to none are left alone: the object may still be written. An hour by
    /// default.
    pub unfinished: Duration,
    /// Those of which nothing is removed as remains, though they have no ledger: the incident of one that ended before
    /// it began can still be used.
    pub spared: BTreeSet<InvestigationId>,
}

impl Default for Retention {
    /// Everything is kept.
    fn default() -> Self {
        let unfinished = Duration::from_secs(3_600);
        Self { max_age: None, max_bytes: None, unfinished, spared: BTreeSet::new() }
    }
}

/// What was removed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Removed {
    /// Investigations, in the order in which they went.
    pub investigations: Vec<InvestigationId>,
    /// What was left of those whose ledger was gone, or whose removal was begun.
    pub remains: Vec<InvestigationId>,
    /// How many objects that were never finished, or not wholly replaced.
    pub unfinished: usize,
    /// How many bytes are left.
    pub bytes: u64,
}

/// An investigation on the cluster.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Investigation {
    /// Its name.
    pub id: InvestigationId,
    /// When its ledger was written last, by the clock of the server. Nothing where it has none yet.
    pub written: Option<SystemTime>,
    /// Whether it waits for a worker or has one. Otherwise it has ended.
    pub queued: bool,
}

impl Cluster {
    /// All investigations, in the order of their names: those with a ledger, and those that wait for a worker.
    ///
    /// One request for each.
    ///
    /// # Errors
    /// [`NatsError`], also where there is no work queue.
    pub fn investigations(&self) -> Result<Vec<Investigation>, NatsError> {
        Ok(self.survey()?.investigations)
    }

    /// Removes an investigation: ledger, side file, blocks and checkpoint. False if it waits or runs, and is
    /// left alone. One that is not there is removed.
    ///
    /// # Errors
    /// [`NatsError`]. What was begun is finished by the next worker that asks for work, or when this is called
    /// again.
    pub fn remove(&self, id: &InvestigationId) -> Result<bool, NatsError> {
        remove(self, id, &Objects::list(self)?)
    }

    fn ledgers(&self) -> Result<BTreeSet<InvestigationId>, NatsError> {
        let filter = format!("{}.*", self.names().family(Part::Ledger));
        Ok(ids(&self.subjects(&self.names().stream(), &filter)?))
    }

    fn survey(&self) -> Result<Survey, NatsError> {
        let names = self.names();
        // The queue is asked first: what leaves it has a ledger.
        let (mut queued, mut removals) = (BTreeSet::new(), BTreeSet::new());
        for id in ids(&self.subjects(&names.work(), &names.work_subject("*"))?) {
            let order = self.last_of(&names.work(), &names.work_subject(id.as_str()))?;
            match order.is_some_and(|order| is_removal(&order.payload)) {
                true => removals.insert(id),
                false => queued.insert(id),
            };
        }
        let mut investigations = Vec::new();
        for id in &queued | &self.ledgers()? {
            let last = self.last_of(&names.stream(), &names.subject(Part::Ledger, &id))?;
            let written = last.map(|last| SystemTime::from(last.time));
            let queued = queued.contains(&id);
            if queued || written.is_some() {
                investigations.push(Investigation { id, written, queued });
            }
        }
        Ok(Survey { investigations, removals })
    }

    /// Those of which something is left, and no ledger, and those whose removal was begun.
    fn remains(
        &self,
        removals: &BTreeSet<InvestigationId>,
        objects: &Objects,
    ) -> Result<BTreeSet<InvestigationId>, NatsError> {
        let filter = format!("{}.*", self.names().family(Part::Side));
        let mut owners = ids(&self.subjects(&self.names().stream(), &filter)?);
        owners.extend(objects.owners());
        // Read last: every writer has begun a ledger before.
        owners = &owners - &self.ledgers()?;
        owners.extend(removals.iter().cloned());
        Ok(owners)
    }

    /// The bytes of everything that is kept of investigations.
    fn bytes(&self) -> Result<u64, NatsError> {
        let names = self.names();
        let mut bytes = self.bytes_of(&names.stream())?;
        for bucket in [names.blocks(), names.checkpoints()] {
            bytes += self.bytes_of(&stream_of_objects(&bucket))?;
        }
        Ok(bytes)
    }
}

impl Retention {
    /// Removes what is to be removed at this time, which is compared with the clock of the servers.
    ///
    /// Any number of processes may do so at once, and while workers run.
    ///
    /// # Errors
    /// [`NatsError`]. What was begun is finished by the next worker that asks for work, or the next time.
    pub fn apply(&self, cluster: &Cluster, now: SystemTime) -> Result<Removed, NatsError> {
        let mut removed = Removed::default();
        let Survey { mut investigations, removals } = cluster.survey()?;
        investigations.retain(|one| !removals.contains(&one.id));
        // Listed later: an investigation that has ended has all of its objects.
        let objects = Objects::list(cluster)?;
        for id in cluster.remains(&removals, &objects)? {
            if self.spared.contains(&id) && !removals.contains(&id) {
                continue;
            }
            if remove(cluster, &id, &objects)? {
                removed.remains.push(id);
            }
        }
        let names = cluster.names();
        let before = now.checked_sub(self.unfinished).unwrap_or(SystemTime::UNIX_EPOCH);
        for bucket in [names.blocks(), names.checkpoints()] {
            removed.unfinished += cluster.remove_lost_chunks(&bucket, before)?;
        }
        for Investigation { id, written, .. } in oldest_first(investigations) {
            let age = written.and_then(|written| now.duration_since(written).ok());
            let old = self.max_age.is_some_and(|most| age.is_some_and(|age| age >= most));
            let large = match self.max_bytes {
                Some(most) if !old => cluster.bytes()? > most,
                _ => false,
            };
            if !old && !large {
                break;
            }
            if remove(cluster, &id, &objects)? {
                removed.investigations.push(id);
            }
        }
        removed.bytes = cluster.bytes()?;
        Ok(removed)
    }
}

/// What there is, and what was being removed when a worker died.
struct Survey {
    investigations: Vec<Investigation>,
    removals: BTreeSet<InvestigationId>,
}

/// Those that have ended.
fn oldest_first(mut all: Vec<Investigation>) -> Vec<Investigation> {
    all.retain(|one| !one.queued);
    all.sort_by(|one, other| (one.written, &one.id).cmp(&(other.written, &other.id)));
    all
}

/// The last token of each subject, where it is a name.
fn ids(subjects: &[String]) -> BTreeSet<InvestigationId> {
    subjects.iter().filter_map(|subject| subject.rsplit('.').next()?.parse().ok()).collect()
}
