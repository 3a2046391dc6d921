//! The memory of decisions in a bucket, for all workers.

use std::path::{Path, PathBuf};

use async_nats::jetstream::stream::LastRawMessageErrorKind;
use bytes::Bytes;
use eog::memory::{DecisionKey, DecisionStore, MemoryError};

use crate::cluster::said;
use crate::layout::stream_of_values;
use crate::writer::MAX_INLINE_BYTES;
use crate::{Block, Cluster, NatsError, Trouble};

/// The most bytes of a decision, as in a folder.
const MAX_BYTES: u64 = 64 << 20;

/// What the value of a decision begins with that is too long for a value, and stands in a block. No
/// decision does: they are JSON objects.
const BLOCK: &[u8] = b"block ";

/// What the servers write into a key that was removed.
const OPERATION: &str = "KV-Operation";

/// Decisions of a [`DecisionMemory`](eog::DecisionMemory) in a key-value bucket of a cluster, which all
/// workers share.
///
/// A value has the bytes of the file that a memory in a folder has. Its key is the name of that file with a
/// dot in place of the folders: `IDENTITY.QUESTION`. A value of more than 256 KiB stands in the object
/// store, by its digest. Calls block the thread, and wait for a cluster without a leader.
///
/// ```no_run
/// use eog::{DecisionMemory, Remembering, policy_fn};
/// # use eog::{Decision, Label};
/// use eog_nats::{Cluster, Options};
/// let cluster = Cluster::connect(&Options::new("nats://127.0.0.1:4222"))?;
/// let memory = DecisionMemory::on(cluster.decisions());
/// let policy = Remembering::new(policy_fn(|_| Decision::new(Label::Healthy, "")), memory, "mine 1.0");
/// # Ok::<(), eog_nats::NatsError>(())
/// ```
#[derive(Clone, Debug)]
pub struct DecisionBucket {
    cluster: Cluster,
    bucket: String,
    /// As errors name it.
    path: PathBuf,
}

impl DecisionBucket {
    pub(crate) fn of(cluster: &Cluster) -> Self {
        let bucket = cluster.names().decisions();
        let path = PathBuf::from(format!("nats:{bucket}"));
        Self { cluster: cluster.clone(), bucket, path }
    }

    /// The bytes of a value, asked of the leader: a replica that lags behind would have a question paid twice.
    fn value(&self, key: &str) -> Result<Option<Bytes>, Trouble> {
        let (context, stream) = (self.cluster.context().clone(), stream_of_values(&self.bucket));
        let subject = format!("$KV.{}.{key}", self.bucket);
        self.cluster.run(async move {
            let found = context.get_stream_no_info(&stream).await;
            let found = found.map_err(|error| Trouble::Passing(error.to_string()))?;
            match found.get_last_raw_message_by_subject(&subject).await {
                Ok(message) if message.headers.get(OPERATION).is_some() => Ok(None),
                Ok(message) => Ok(Some(message.payload)),
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Ok(None),
                    LastRawMessageErrorKind::JetStream(error) => Err(said(&stream, &error)),
                    _ => Err(Trouble::Passing(error.to_string())),
                },
            }
        })
    }

    fn fetch(&self, key: &str) -> Result<Option<Vec<u8>>, Wrong> {
        let Some(value) = self.cluster.persist(|_| self.value(key))? else { return Ok(None) };
        let Some(named) = value.strip_prefix(BLOCK) else { return Ok(Some(value.to_vec())) };
        let named = String::from_utf8_lossy(named);
        let block: Block = named.parse().map_err(Wrong::Value)?;
        if block.bytes() > MAX_BYTES {
            return Err(Wrong::Value(format!("it would have {} bytes", block.bytes())));
        }
        let object = object_of(key, block);
        let bytes = self.cluster.persist(|cluster| {
            cluster.get_object(self.bucket.clone(), object.clone(), block.bytes())
        })?;
        match bytes {
            Some(bytes) if block.is(&bytes) => Ok(Some(bytes)),
            Some(_) => Err(Wrong::Value(format!("its block {object} was altered"))),
            None => Err(Wrong::Value(format!("its block {object} is gone"))),
        }
    }

    fn keep(&self, key: &str, bytes: &[u8]) -> Result<(), Wrong> {
        if bytes.len() as u64 > MAX_BYTES {
            return Err(Wrong::Value(format!("it would have {} bytes", bytes.len())));
        }
        let value = match bytes.len() <= MAX_INLINE_BYTES {
            true => Bytes::copy_from_slice(bytes),
            false => {
                // Before the value that needs it.
                let block = Block::of(bytes);
                let object = object_of(key, block);
                self.cluster.persist(|cluster| {
                    cluster.put_block(self.bucket.clone(), object.clone(), block, bytes)
                })?;
                [BLOCK, block.to_string().as_bytes()].concat().into()
            }
        };
        let subject = format!("$KV.{}.{key}", self.bucket);
        self.cluster.persist(|cluster| {
            let (context, subject, value) =
                (cluster.context().clone(), subject.clone(), value.clone());
            cluster.run(async move {
                let stored = match context.publish(subject, value).await {
                    Ok(acknowledged) => acknowledged.await.map(drop),
                    Err(error) => Err(error),
                };
                stored.map_err(|error| Trouble::Passing(error.to_string()))
            })
        })?;
        Ok(())
    }

    fn error(&self, key: &str, operation: &'static str, wrong: Wrong) -> MemoryError {
        let source = match wrong {
            Wrong::Cluster(error) => error.into(),
            Wrong::Value(reason) => reason.into(),
        };
        let entry = format!("{}/{key}", self.path.display());
        MemoryError::Elsewhere { entry, operation, source }
    }
}

/// Why there are no bytes.
enum Wrong {
    Cluster(NatsError),
    Value(String),
}

impl From<NatsError> for Wrong {
    fn from(error: NatsError) -> Self {
        Self::Cluster(error)
    }
}

impl DecisionStore for DecisionBucket {
    fn path(&self) -> &Path {
        &self.path
    }

    fn read(&self, key: &DecisionKey) -> Result<Option<Vec<u8>>, MemoryError> {
        let key = name_of(key);
        self.fetch(&key).map_err(|wrong| self.error(&key, "read", wrong))
    }

    fn write(&self, key: &DecisionKey, bytes: &[u8]) -> Result<(), MemoryError> {
        let key = name_of(key);
        self.keep(&key, bytes).map_err(|wrong| self.error(&key, "write", wrong))
    }
}

/// Digits and a dot, which keys of buckets may have.
fn name_of(key: &DecisionKey) -> String {
    format!("{}.{}", key.identity(), key.question())
}

/// By its digest, too: a value and its block belong together, even if another worker answers the same question.
fn object_of(key: &str, block: Block) -> String {
    format!("{key}/{}", block.digest())
}
