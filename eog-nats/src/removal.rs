//! Removing an investigation: all that is kept of it, by the worker that takes the order.
//!
//! The order to remove stands in the work queue, where the investigation itself would stand if it waited or ran. So
//! neither begins while the other is there, and if a worker dies while removing, another one goes on.

use std::collections::BTreeMap;

use async_nats::HeaderMap;
use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_EXPECTED_STREAM};
use async_nats::jetstream::context::PublishErrorKind;
use async_nats::jetstream::message::StreamMessage;
use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageErrorKind};
use bytes::Bytes;
use futures_util::TryStreamExt;

use crate::cluster::said;
use crate::objects::Listed;
use crate::{Cluster, InvestigationId, NatsError, Part, Trouble};

/// What stands in the queue in place of an order to investigate.
const REMOVE: &[u8] = b"eog: remove this investigation";

/// Whether an order of the queue is to remove.
pub(crate) fn is_removal(order: &[u8]) -> bool {
    order == REMOVE
}

/// The objects of investigations, by investigation: listed once, for any number of removals.
#[derive(Debug, Default)]
pub(crate) struct Objects(BTreeMap<String, Vec<(String, Listed)>>);

impl Objects {
    /// Those that are there now.
    pub(crate) fn list(cluster: &Cluster) -> Result<Self, NatsError> {
        let mut all = Self::default();
        for bucket in [cluster.names().blocks(), cluster.names().checkpoints()] {
            for object in cluster.objects(&bucket)? {
                // `ID/DIGEST`, or `ID`.
                let owner = object.name.split('/').next().unwrap_or_default().to_owned();
                all.0.entry(owner).or_default().push((bucket.clone(), object));
            }
        }
        Ok(all)
    }

    /// The investigations they belong to. Other names have no owner.
    pub(crate) fn owners(&self) -> impl Iterator<Item = InvestigationId> {
        self.0.keys().filter_map(|owner| owner.parse().ok())
    }
}

/// Removes an investigation, unless it waits or runs. False if it does.
pub(crate) fn remove(
    cluster: &Cluster,
    id: &InvestigationId,
    objects: &Objects,
) -> Result<bool, NatsError> {
    let (work, subject) = (cluster.names().work(), cluster.names().work_subject(id.as_str()));
    let first = cluster.enqueue(&work, &subject, &Bytes::from_static(REMOVE))?;
    // The order that was there first: to investigate, or to remove, which was not carried out yet.
    let found = cluster.last_of(&work, &subject)?.filter(|found| is_removal(&found.payload));
    if !first && found.is_none() {
        return Ok(false);
    }
    carry_out(cluster, id, objects)?;
    // Unless a worker has done so: see Queue::take.
    if let Some(found) = found {
        cluster.delete(&work, found.sequence)?;
    }
    Ok(true)
}

/// Removes all that is kept of an investigation. The ledger goes first: from then on there is no such
/// investigation, and what remains is found by its name. Nothing is removed that was written since it was read: a
/// worker that is paused here and wakes up finds another investigation of this name untouched.
pub(crate) fn carry_out(
    cluster: &Cluster,
    id: &InvestigationId,
    objects: &Objects,
) -> Result<(), NatsError> {
    let stream = cluster.names().stream();
    for part in [Part::Ledger, Part::Side] {
        let subject = cluster.names().subject(part, id);
        if let Some(last) = cluster.last_of(&stream, &subject)? {
            cluster.purge(&stream, &subject, last.sequence)?;
        }
    }
    for (bucket, object) in objects.0.get(id.as_str()).into_iter().flatten() {
        cluster.remove_object(bucket, object)?;
    }
    Ok(())
}

impl Cluster {
    /// Puts something into the queue where nothing of its subject is there. False if something is.
    pub(crate) fn enqueue(
        &self,
        stream: &str,
        subject: &str,
        order: &Bytes,
    ) -> Result<bool, NatsError> {
        self.persist(|cluster| {
            let (context, subject, order) =
                (cluster.context().clone(), subject.to_owned(), order.clone());
            let mut headers = HeaderMap::new();
            headers.insert(NATS_EXPECTED_STREAM, stream);
            headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, "0");
            cluster.run(async move {
                let published = match context.publish_with_headers(subject, headers, order).await {
                    Ok(acknowledged) => acknowledged.await,
                    Err(error) => Err(error),
                };
                match published {
                    Ok(_) => Ok(true),
                    Err(error) if error.kind() == PublishErrorKind::WrongLastSequence => Ok(false),
                    Err(error) => Err(passing(error)),
                }
            })
        })
    }

    /// The last message of a subject, as the leader knows it.
    pub(crate) fn last_of(
        &self,
        stream: &str,
        subject: &str,
    ) -> Result<Option<StreamMessage>, NatsError> {
        self.persist(|cluster| {
            let (context, stream) = (cluster.context().clone(), stream.to_owned());
            let subject = subject.to_owned();
            cluster.run(async move {
                let found = context.get_stream_no_info(&stream).await.map_err(passing)?;
                match found.get_last_raw_message_by_subject(&subject).await {
                    Ok(message) => Ok(Some(message)),
                    Err(error) => match error.kind() {
                        LastRawMessageErrorKind::NoMessageFound => Ok(None),
                        LastRawMessageErrorKind::JetStream(error) => Err(said(&stream, &error)),
                        _ => Err(passing(error)),
                    },
                }
            })
        })
    }

    /// Removes the messages of a subject up to a sequence.
    pub(crate) fn purge(&self, stream: &str, subject: &str, until: u64) -> Result<(), NatsError> {
        self.persist(|cluster| {
            let (context, stream) = (cluster.context().clone(), stream.to_owned());
            let subject = subject.to_owned();
            cluster.run(async move {
                let found = context.get_stream_no_info(&stream).await.map_err(passing)?;
                // Those before it.
                let purge = found.purge().filter(subject).sequence(until + 1);
                purge.await.map(drop).map_err(passing)
            })
        })
    }

    /// Removes one message of a stream, if it is there. Consumers that wait for others do not notice, which
    /// they do on some servers where a subject is purged: they skip what stands before it.
    fn delete(&self, stream: &str, sequence: u64) -> Result<(), NatsError> {
        self.persist(|cluster| {
            let (context, stream) = (cluster.context().clone(), stream.to_owned());
            cluster.run(async move {
                let found = context.get_stream_no_info(&stream).await.map_err(passing)?;
                let Err(error) = found.delete_message(sequence).await else { return Ok(()) };
                match found.get_raw_message(sequence).await {
                    Err(gone) if gone.kind() == RawMessageErrorKind::NoMessageFound => Ok(()),
                    _ => Err(passing(error)),
                }
            })
        })
    }

    /// The subjects of a stream that fit a filter and have messages, in order.
    pub(crate) fn subjects(&self, stream: &str, filter: &str) -> Result<Vec<String>, NatsError> {
        self.persist(|cluster| {
            let (context, stream) = (cluster.context().clone(), stream.to_owned());
            let filter = filter.to_owned();
            // Says what is wrong where it does not exist.
            cluster.config(stream.clone())?;
            cluster.run(async move {
                let found = context.get_stream_no_info(&stream).await.map_err(passing)?;
                let listed = found.info_with_subjects(filter).await.map_err(passing)?;
                let subjects = listed.map_ok(|(subject, _)| subject).try_collect();
                let mut subjects: Vec<String> = subjects.await.map_err(passing)?;
                subjects.sort_unstable();
                // Servers that know of no pages send the first one twice.
                subjects.dedup();
                Ok(subjects)
            })
        })
    }

    /// How many bytes a stream has.
    pub(crate) fn bytes_of(&self, stream: &str) -> Result<u64, NatsError> {
        self.persist(|cluster| {
            let (context, stream) = (cluster.context().clone(), stream.to_owned());
            cluster.run(async move {
                let found = context.get_stream(&stream).await.map_err(passing)?;
                Ok(found.cached_info().state.bytes)
            })
        })
    }
}

fn passing(error: impl std::fmt::Display) -> Trouble {
    Trouble::Passing(error.to_string())
}
