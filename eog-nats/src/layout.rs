//! The streams and buckets of an installation: how they are made, and which are refused.

use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::object_store;
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};

use crate::cluster::said;
use crate::{Cluster, NatsError, Trouble};

/// What the stream of ledgers is described as: by it a program knows its own version of the format.
pub const FORMAT: &str = "eog investigations, format 1";

/// What the bucket of decisions is described as.
const DECISIONS: &str = "eog decisions, format 1";

/// What the bucket of spending is described as.
const SPENDING: &str = "eog spending, format 1";

/// How many values of an account are kept, which is the most that a bucket keeps. A writer reads those after the
/// last one that it knows.
const HISTORY: i64 = 64;

impl Cluster {
    /// Refuses what is missing, of another version, or would forget.
    pub(crate) fn check(&self) -> Result<(), NatsError> {
        let names = self.names();
        keeps_all(&self.described(names.stream(), FORMAT)?)?;
        self.described(stream_of_values(&names.decisions()), DECISIONS)?;
        keeps_last(&self.described(stream_of_values(&names.spending()), SPENDING)?)?;
        for bucket in self.names().objects() {
            let stream = stream_of_objects(&bucket);
            self.persist(|cluster| cluster.config(stream.clone()).map(drop))?;
        }
        Ok(())
    }

    /// The settings of a stream, if it says that it is of this version.
    pub(crate) fn described(
        &self,
        stream: String,
        wanted: &'static str,
    ) -> Result<Config, NatsError> {
        let config = self.persist(|cluster| cluster.config(stream.clone()))?;
        match config.description.as_deref() == Some(wanted) {
            true => Ok(config),
            false => {
                let found = config.description.unwrap_or_default();
                Err(NatsError::OtherVersion { stream, found, wanted })
            }
        }
    }

    /// The settings of a stream as they are.
    pub(crate) fn config(&self, stream: String) -> Result<Config, Trouble> {
        let context = self.context().clone();
        self.run(async move {
            let found = context.get_stream(&stream).await;
            found.map(|found| found.cached_info().config.clone()).map_err(|error| {
                match error.kind() {
                    GetStreamErrorKind::JetStream(error) => said(&stream, &error),
                    _ => Trouble::Passing(error.to_string()),
                }
            })
        })
    }

    /// Makes what is missing, with so many replicas.
    pub(crate) fn make(&self, replicas: usize) -> Result<(), NatsError> {
        self.make_stream(replicas)?;
        let names = self.names();
        self.make_values(&names.decisions(), DECISIONS, 1, replicas)?;
        self.make_values(&names.spending(), SPENDING, HISTORY, replicas)?;
        for bucket in names.objects() {
            self.make_objects(bucket, replicas)?;
        }
        Ok(())
    }

    fn make_stream(&self, replicas: usize) -> Result<(), NatsError> {
        self.make_if_missing(&Config {
            name: self.names().stream(),
            subjects: self.names().subjects(),
            description: Some(FORMAT.to_owned()),
            // A full stream refuses entries; it must not forget others.
            discard: DiscardPolicy::New,
            num_replicas: replicas,
            storage: StorageType::File,
            deny_delete: true,
            ..Config::default()
        })
    }

    /// The stream that a bucket of values is. The client's own way to make one asks for the limits of the
    /// account, which it cannot read from older servers.
    fn make_values(
        &self,
        bucket: &str,
        description: &str,
        history: i64,
        replicas: usize,
    ) -> Result<(), NatsError> {
        self.make_if_missing(&Config {
            name: stream_of_values(bucket),
            subjects: vec![format!("$KV.{bucket}.>")],
            description: Some(description.to_owned()),
            discard: DiscardPolicy::New,
            max_messages_per_subject: history,
            num_replicas: replicas,
            storage: StorageType::File,
            allow_rollup: true,
            deny_delete: true,
            allow_direct: true,
            ..Config::default()
        })
    }

    pub(crate) fn make_if_missing(&self, config: &Config) -> Result<(), NatsError> {
        self.persist(|cluster| match cluster.config(config.name.clone()) {
            Err(Trouble::Lasting(NatsError::StreamMissing { .. })) => {
                let (context, config) = (cluster.context().clone(), config.clone());
                cluster.run(async move {
                    let stream = config.name.clone();
                    context.create_stream(config).await.map(drop).map_err(|error| {
                        match error.kind() {
                            CreateStreamErrorKind::JetStream(error) => said(&stream, &error),
                            _ => Trouble::Passing(error.to_string()),
                        }
                    })
                })
            }
            found => found.map(drop),
        })
    }

    fn make_objects(&self, bucket: String, num_replicas: usize) -> Result<(), NatsError> {
        let config = object_store::Config { bucket, num_replicas, ..Default::default() };
        self.persist(|cluster| match cluster.config(stream_of_objects(&config.bucket)) {
            Err(Trouble::Lasting(NatsError::StreamMissing { .. })) => {
                let (context, config) = (cluster.context().clone(), config.clone());
                cluster.run(async move {
                    let made = context.create_object_store(config).await;
                    made.map(drop).map_err(|error| Trouble::Passing(error.to_string()))
                })
            }
            found => found.map(drop),
        })
    }
}

/// The stream that a bucket of values is.
pub(crate) fn stream_of_values(bucket: &str) -> String {
    format!("KV_{bucket}")
}

/// The stream that a bucket of objects is.
pub(crate) fn stream_of_objects(bucket: &str) -> String {
    format!("OBJ_{bucket}")
}

/// Refuses a stream of ledgers that would forget.
///
/// One with `max_bytes` does, whatever it discards: servers compare the limit with the bytes of a new message without what
/// they store around it, and make room for the rest by removing the first message (seen with nats-server 2.9.10).
fn keeps_all(config: &Config) -> Result<(), NatsError> {
    // The server writes a limit that is none as -1, older ones as 0.
    refuse(
        config,
        "entries",
        [
            ("retention", config.retention != RetentionPolicy::Limits),
            ("storage", config.storage != StorageType::File),
            ("max_age", !config.max_age.is_zero()),
            ("max_bytes", config.max_bytes > 0),
            ("max_msgs_per_subject", config.max_messages_per_subject > 0),
            ("discard", config.discard != DiscardPolicy::New),
            ("no_ack", config.no_ack),
        ],
    )
}

/// Refuses a bucket that would forget what was spent.
fn keeps_last(config: &Config) -> Result<(), NatsError> {
    refuse(
        config,
        "spending",
        [
            ("storage", config.storage != StorageType::File),
            ("max_age", !config.max_age.is_zero()),
            ("max_bytes", config.max_bytes > 0),
            ("history", config.max_messages_per_subject < HISTORY),
            ("discard", config.discard != DiscardPolicy::New),
        ],
    )
}

fn refuse<const N: usize>(
    config: &Config,
    what: &str,
    wrong: [(&str, bool); N],
) -> Result<(), NatsError> {
    match wrong.into_iter().find(|(_, wrong)| *wrong) {
        Some((setting, _)) => {
            let reason = format!("its setting {setting} would lose {what}");
            Err(NatsError::Unfit { stream: config.name.clone(), reason })
        }
        None => Ok(()),
    }
}
