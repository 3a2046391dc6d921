//! A subject of a stream on a real cluster, and a place for checkpoints there.

use std::io;
use std::path::{Path, PathBuf};

use async_nats::header::{NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, NATS_EXPECTED_STREAM};
use async_nats::jetstream::consumer::{DeliverPolicy, pull::OrderedConfig};
use async_nats::jetstream::context::{PublishError, PublishErrorKind};
use async_nats::jetstream::stream::{LastRawMessageErrorKind, RawMessageBuilder};
use async_nats::jetstream::{self, ErrorCode};
use async_nats::{HeaderMap, HeaderValue};
use bytes::Bytes;
use eog::journal::{CheckpointError, Checkpoints, MAX_CHECKPOINT_BYTES};
use futures_util::StreamExt;

use crate::cluster::said;
use crate::layout::stream_of_values;
use crate::record::Body;
use crate::{
    Block, Cluster, InvestigationId, NatsError, Part, Place, Record, Refused, Subject, Trouble,
};

/// The record that it follows.
const AFTER: &str = "Eog-After";
/// Where the body stands.
const AT: &str = "Eog-At";
/// The writer, and which of its records it is.
const WRITE: &str = "Eog-Write";
/// The block that is the body.
const BLOCK: &str = "Eog-Block";

/// A part of an investigation on a cluster, or an account.
#[derive(Clone, Debug)]
pub struct JetStreamSubject {
    cluster: Cluster,
    id: InvestigationId,
    stream: String,
    subject: String,
    /// The subject, as errors name it.
    path: PathBuf,
}

impl JetStreamSubject {
    pub(crate) fn new(cluster: Cluster, part: Part, id: &InvestigationId) -> Self {
        let subject = cluster.names().subject(part, id);
        let path = PathBuf::from(format!("nats:{subject}"));
        Self { stream: cluster.names().stream(), cluster, id: id.clone(), subject, path }
    }

    /// What was spent on an account: a key of a bucket, whose values are the records.
    pub(crate) fn of_account(cluster: Cluster, account: &InvestigationId) -> Self {
        let bucket = cluster.names().spending();
        let (stream, subject) = (stream_of_values(&bucket), format!("$KV.{bucket}.{account}"));
        let path = PathBuf::from(format!("nats:{bucket}/{account}"));
        Self { cluster, id: account.clone(), stream, subject, path }
    }

    /// Asks for one record: the leader, not any replica.
    fn place(
        &self,
        which: impl FnOnce(RawMessageBuilder, String) -> RawMessageBuilder + Send + 'static,
    ) -> Result<Option<Place>, Trouble> {
        let (context, subject) = (self.cluster.context().clone(), self.subject.clone());
        let (name, path) = (self.stream.clone(), self.path.display().to_string());
        self.cluster.run(async move {
            let stream = context.get_stream_no_info(&name).await;
            let stream = stream.map_err(|error| Trouble::Passing(error.to_string()))?;
            match which(stream.raw_message_builder(), subject).send().await {
                Ok(message) => {
                    let sequence = message.sequence;
                    let found = record(Some(&message.headers), message.payload);
                    let damaged = |reason| NatsError::Damaged { name: path, sequence, reason };
                    let record = found.map_err(damaged).map_err(Trouble::Lasting)?;
                    Ok(Some(Place { sequence, record }))
                }
                Err(error) => match error.kind() {
                    LastRawMessageErrorKind::NoMessageFound => Ok(None),
                    LastRawMessageErrorKind::JetStream(error) => Err(said(&name, &error)),
                    _ => Err(Trouble::Passing(error.to_string())),
                },
            }
        })
    }

    /// What a block is called in the bucket. The name of the investigation comes first, so that all its
    /// blocks can be removed with it, whatever other investigations hold.
    fn object(&self, block: Block) -> String {
        format!("{}/{}", self.id, block.digest())
    }

    /// Whether the cluster answers that a block is not there.
    pub(crate) fn lacks(&self, block: Block) -> bool {
        let bucket = self.cluster.names().blocks();
        let found = self.cluster.get_object(bucket, self.object(block), block.bytes());
        matches!(found, Ok(None))
    }
}

impl Subject for JetStreamSubject {
    fn path(&self) -> &Path {
        &self.path
    }

    fn publish(&self, last: u64, record: &Record) -> Result<(), Refused> {
        let (context, subject) = (self.cluster.context().clone(), self.subject.clone());
        let mut headers = HeaderMap::new();
        headers.insert(NATS_EXPECTED_STREAM, self.stream.as_str());
        headers.insert(NATS_EXPECTED_LAST_SUBJECT_SEQUENCE, last.to_string());
        headers.insert(AFTER, record.after.to_string());
        headers.insert(AT, record.at.to_string());
        headers.insert(WRITE, record.write.as_str());
        let body = match &record.body {
            Body::Inline(bytes) => bytes.clone(),
            Body::Block(block) => {
                headers.insert(BLOCK, block.to_string());
                Bytes::new()
            }
        };
        let name = self.path.display().to_string();
        let sent = self.cluster.run(async move {
            let published = match context.publish_with_headers(subject, headers, body).await {
                Ok(acknowledged) => acknowledged.await,
                Err(error) => Err(error),
            };
            Ok(published.map(drop).map_err(|error| {
                match error.kind() {
                    PublishErrorKind::WrongLastSequence => Refused::OutOfTurn,
                    PublishErrorKind::MaxPayloadExceeded => {
                        Refused::Never(NatsError::Refused { name, reason: error.to_string() })
                    }
                    _ => Refused::Unknown(match full(&error) {
                        // There may be room again before the last attempt.
                        Some(reason) => Trouble::Lasting(NatsError::Refused { name, reason }),
                        None => Trouble::Passing(error.to_string()),
                    }),
                }
            }))
        });
        sent.unwrap_or_else(|trouble| Err(Refused::Unknown(trouble)))
    }

    fn last(&self) -> Result<Option<Place>, Trouble> {
        self.place(RawMessageBuilder::last_by_subject)
    }

    fn next(&self, sequence: u64) -> Result<Option<Place>, Trouble> {
        self.place(move |request, subject| request.sequence(sequence + 1).next_by_subject(subject))
    }

    fn records(&self, until: u64) -> Result<Vec<(u64, Record)>, Trouble> {
        let (context, subject) = (self.cluster.context().clone(), self.subject.clone());
        let (name, timeout) = (self.stream.clone(), self.cluster.timeout());
        let path = self.path.display().to_string();
        self.cluster.run(async move {
            let passing = |error: &dyn std::fmt::Display| Trouble::Passing(error.to_string());
            let stream =
                context.get_stream_no_info(&name).await.map_err(|error| passing(&error))?;
            let config = OrderedConfig {
                filter_subject: subject,
                deliver_policy: DeliverPolicy::All,
                ..OrderedConfig::default()
            };
            let consumer = stream.create_consumer(config).await.map_err(|error| passing(&error))?;
            let mut messages = consumer.messages().await.map_err(|error| passing(&error))?;
            let mut records = Vec::new();
            loop {
                // A replica that lags behind has fewer messages, and says nothing.
                let next = tokio::time::timeout(timeout, messages.next()).await;
                let Ok(Some(message)) = next else {
                    return Err(Trouble::Passing(format!("message {until} does not arrive")));
                };
                let message = message.map_err(|error| passing(&error))?;
                let sequence = message.info().map_err(|error| passing(&error))?.stream_sequence;
                let found = record(message.headers.as_ref(), message.payload.clone());
                let damaged = |reason| NatsError::Damaged { name: path.clone(), sequence, reason };
                records.push((sequence, found.map_err(damaged).map_err(Trouble::Lasting)?));
                if sequence >= until {
                    records.retain(|(sequence, _)| *sequence <= until);
                    return Ok(records);
                }
            }
        })
    }

    fn put(&self, block: Block, bytes: &[u8]) -> Result<(), Trouble> {
        self.cluster.put_block(self.cluster.names().blocks(), self.object(block), block, bytes)
    }

    fn get(&self, block: Block) -> Result<Vec<u8>, Trouble> {
        let (bucket, object) = (self.cluster.names().blocks(), self.object(block));
        let found = self.cluster.get_object(bucket, object.clone(), block.bytes())?;
        // A replica that lags behind has it later.
        found.ok_or_else(|| Trouble::Passing(format!("the block {object} is not there")))
    }

    fn wait(&self, attempt: u32) -> bool {
        self.cluster.wait(attempt)
    }

    fn diagnose(&self, last: Trouble) -> NatsError {
        self.cluster.diagnose(last)
    }
}

/// The checkpoint of an investigation, as an object of its name.
#[derive(Clone, Debug)]
pub struct CheckpointObject {
    cluster: Cluster,
    object: String,
}

impl CheckpointObject {
    /// That of this investigation.
    pub fn of(cluster: &Cluster, id: &InvestigationId) -> Self {
        Self { cluster: cluster.clone(), object: id.to_string() }
    }
}

impl Checkpoints for CheckpointObject {
    /// One attempt: a lost checkpoint only costs time.
    fn write(&mut self, payload: &[u8]) -> Result<(), CheckpointError> {
        let path = PathBuf::from(format!("nats:checkpoint/{}", self.object));
        let bytes = payload.len() as u64;
        if bytes > MAX_CHECKPOINT_BYTES {
            return Err(CheckpointError::TooLarge { path, bytes });
        }
        let bucket = self.cluster.names().checkpoints();
        let stored = self.cluster.put_object(bucket, self.object.clone(), payload);
        stored.map_err(|trouble| CheckpointError::NotWritten {
            path,
            source: match trouble {
                Trouble::Passing(reason) => io::Error::other(reason),
                Trouble::Lasting(error) => error.into(),
            },
        })
    }

    fn read(&self) -> Option<Vec<u8>> {
        let bucket = self.cluster.names().checkpoints();
        let found = self.cluster.get_object(bucket, self.object.clone(), MAX_CHECKPOINT_BYTES);
        found.ok().flatten()
    }
}

/// What the server says where a limit keeps it from storing.
fn full(error: &PublishError) -> Option<String> {
    let said: &jetstream::Error = std::error::Error::source(error)?.downcast_ref()?;
    let limits = [
        ErrorCode::STREAM_STORE_FAILED,
        ErrorCode::STORAGE_RESOURCES_EXCEEDED,
        ErrorCode::INSUFFICIENT_RESOURCES,
    ];
    limits.contains(&said.error_code()).then(|| said.to_string())
}

/// What a message says, or why it is no record.
pub(crate) fn record(headers: Option<&HeaderMap>, payload: Bytes) -> Result<Record, String> {
    let headers = headers.ok_or("it has no headers")?;
    let needed = |name| text(headers, name).ok_or_else(|| format!("it has no header {name}"));
    let number = |name| {
        let text = needed(name)?;
        text.parse().map_err(|_| format!("its header {name} is {text:?}, not a number"))
    };
    let (after, at) = (number(AFTER)?, number(AT)?);
    let write = needed(WRITE)?.to_owned();
    let body = match text(headers, BLOCK) {
        Some(block) => Body::Block(block.parse()?),
        None => Body::Inline(payload),
    };
    Ok(Record { after, at, write, body })
}

fn text<'a>(headers: &'a HeaderMap, name: &'static str) -> Option<&'a str> {
    headers.get(name).map(HeaderValue::as_str)
}
