//! Objects in buckets: whole bytes under a name.

use std::time::SystemTime;

use async_nats::jetstream;
use async_nats::jetstream::object_store::{GetErrorKind, InfoErrorKind, ObjectInfo, ObjectStore};
use bytes::Bytes;
use tokio::io::AsyncReadExt;

use crate::layout::stream_of_objects;
use crate::{Block, Cluster, NatsError, Trouble};

/// An object, as it is listed.
#[derive(Debug)]
pub(crate) struct Listed {
    /// What it is called.
    pub(crate) name: String,
    /// The subject that says so.
    subject: String,
    /// The sequence of the message that does.
    sequence: u64,
    /// Of its chunks.
    nuid: String,
}

impl Cluster {
    /// Stores an object in place of one of the same name.
    pub(crate) fn put_object(
        &self,
        bucket: String,
        object: String,
        bytes: &[u8],
    ) -> Result<(), Trouble> {
        let (context, bytes) = (self.context().clone(), Bytes::copy_from_slice(bytes));
        self.run(async move {
            let store = bucket_of(&context, &bucket).await?;
            let put = store.put(object.as_str(), &mut bytes.as_ref()).await;
            put.map(drop).map_err(passing)
        })
    }

    /// Stores a block, unless it is there.
    pub(crate) fn put_block(
        &self,
        bucket: String,
        object: String,
        block: Block,
        bytes: &[u8],
    ) -> Result<(), Trouble> {
        let context = self.context().clone();
        let (wanted, named) = (bucket.clone(), object.clone());
        let there = self.run(async move {
            match bucket_of(&context, &wanted).await?.info(&named).await {
                Ok(info) => Ok(info.size as u64 == block.bytes() && !info.deleted),
                Err(error) if error.kind() == InfoErrorKind::NotFound => Ok(false),
                Err(error) => Err(passing(error)),
            }
        });
        match there? {
            true => Ok(()),
            false => self.put_object(bucket, object, bytes),
        }
    }

    /// The bytes of an object, if it is there and has no more than so many.
    pub(crate) fn get_object(
        &self,
        bucket: String,
        object: String,
        most: u64,
    ) -> Result<Option<Vec<u8>>, Trouble> {
        let context = self.context().clone();
        self.run(async move {
            let found = match bucket_of(&context, &bucket).await?.get(object).await {
                Ok(found) => found,
                Err(error) if error.kind() == GetErrorKind::NotFound => return Ok(None),
                Err(error) => return Err(passing(error)),
            };
            let mut bytes = Vec::new();
            // The client checks the digest of its own at the end.
            found.take(most + 1).read_to_end(&mut bytes).await.map_err(passing)?;
            Ok((bytes.len() as u64 <= most).then_some(bytes))
        })
    }

    /// All objects of a bucket, as the leader knows them: a replica that lags behind knows fewer. One request
    /// for each.
    pub(crate) fn objects(&self, bucket: &str) -> Result<Vec<Listed>, NatsError> {
        let stream = stream_of_objects(bucket);
        let mut listed = Vec::new();
        for subject in self.subjects(&stream, &format!("$O.{bucket}.M.>"))? {
            let Some(last) = self.last_of(&stream, &subject)? else { continue };
            // What is no object has no owner.
            if let Ok(info) = serde_json::from_slice::<ObjectInfo>(&last.payload) {
                let (name, nuid) = (info.name, info.nuid);
                listed.push(Listed { name, subject, sequence: last.sequence, nuid });
            }
        }
        Ok(listed)
    }

    /// Removes an object. Its name goes last, so that it is found again where this is interrupted.
    pub(crate) fn remove_object(&self, bucket: &str, object: &Listed) -> Result<(), NatsError> {
        let stream = stream_of_objects(bucket);
        // These chunks have no writer any more.
        self.purge(&stream, &chunks_of(bucket, &object.nuid), object.sequence)?;
        self.purge(&stream, &object.subject, object.sequence)
    }

    /// Removes chunks that belong to no object, if they were written before some time: those of objects
    /// that were never finished, or not wholly replaced. How many objects these were.
    pub(crate) fn remove_lost_chunks(
        &self,
        bucket: &str,
        before: SystemTime,
    ) -> Result<usize, NatsError> {
        let stream = stream_of_objects(bucket);
        let chunks = self.subjects(&stream, &chunks_of(bucket, "*"))?;
        // Listed later: an object that was finished in between is known.
        let known: std::collections::BTreeSet<String> =
            self.objects(bucket)?.into_iter().map(|object| object.nuid).collect();
        let mut removed = 0;
        for subject in chunks {
            let nuid = subject.rsplit('.').next().unwrap_or_default();
            if known.contains(nuid) {
                continue;
            }
            if let Some(last) = self.last_of(&stream, &subject)?
                && SystemTime::from(last.time) < before
            {
                self.purge(&stream, &subject, last.sequence)?;
                removed += 1;
            }
        }
        Ok(removed)
    }
}

fn chunks_of(bucket: &str, nuid: &str) -> String {
    format!("$O.{bucket}.C.{nuid}")
}

async fn bucket_of(context: &jetstream::Context, bucket: &str) -> Result<ObjectStore, Trouble> {
    let found = context.get_object_store(bucket).await;
    found.map_err(|error| Trouble::Passing(format!("the bucket {bucket}: {error}")))
}

fn passing(error: impl std::fmt::Display) -> Trouble {
    Trouble::Passing(error.to_string())
}
