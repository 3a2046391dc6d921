//! A connection to a cluster, and the stream and buckets on it.

use std::fmt;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use async_nats::ConnectErrorKind;
use async_nats::jetstream::context::{CreateStreamErrorKind, GetStreamErrorKind};
use async_nats::jetstream::stream::{Config, DiscardPolicy, RetentionPolicy, StorageType};
use async_nats::jetstream::{self, ErrorCode, object_store};
use tokio::runtime::Runtime;

use crate::names::Names;
use crate::{
    Block, InvestigationId, JetStreamSubject, NatsError, Options, Part, StreamMedium, Subject as _,
    Tail, Trouble, writer,
};

/// What the stream is described as: by it a program knows its own version of the format.
pub const FORMAT: &str = "eog investigations, format 1";

/// A connection to a cluster. Clones share it.
///
/// Its calls block the thread, as those of a file do, and may be made on threads of an async runtime.
#[derive(Clone)]
pub struct Cluster {
    shared: Arc<Shared>,
}

struct Shared {
    /// Always there until it is dropped.
    runtime: Option<Runtime>,
    context: jetstream::Context,
    names: Names,
    timeout: Duration,
    retries: u32,
}

impl Cluster {
    /// Connects. The stream and the buckets must be there; [`Cluster::prepare`] makes them.
    ///
    /// # Errors
    /// [`NatsError`] that says whether the address, the login, TLS, `JetStream` or the stream is in the way.
    pub fn connect(options: &Options) -> Result<Self, NatsError> {
        let cluster = Self::reach(options)?;
        cluster.check()?;
        for bucket in cluster.buckets() {
            // The stream that a bucket is.
            let stream = format!("OBJ_{bucket}");
            cluster.persist(|cluster| cluster.config(stream.clone()).map(drop))?;
        }
        Ok(cluster)
    }

    /// Connects, and makes the stream and the buckets where they are missing, with so many replicas: 3 on
    /// a cluster, 1 on a single server. What is there stays as it is.
    ///
    /// # Errors
    /// Those of [`Cluster::connect`].
    pub fn prepare(options: &Options, replicas: usize) -> Result<Self, NatsError> {
        Self::preparing(options, Some(replicas))
    }

    /// As [`Cluster::prepare`], with [`Cluster::usual_replicas`] unless their number is given.
    ///
    /// # Errors
    /// Those of [`Cluster::connect`].
    pub fn preparing(options: &Options, replicas: Option<usize>) -> Result<Self, NatsError> {
        let cluster = Self::reach(options)?;
        let replicas = replicas.unwrap_or_else(|| cluster.usual_replicas());
        cluster.make_stream(&Config {
            name: cluster.names().stream(),
            subjects: cluster.names().subjects(),
            description: Some(FORMAT.to_owned()),
            // A full stream refuses entries; it must not forget others.
            discard: DiscardPolicy::New,
            num_replicas: replicas,
            storage: StorageType::File,
            deny_delete: true,
            ..Config::default()
        })?;
        cluster.check()?;
        for bucket in cluster.buckets() {
            cluster.make_bucket(bucket, replicas)?;
        }
        Ok(cluster)
    }

    /// Begins the part of an investigation that is not there yet.
    ///
    /// # Errors
    /// [`NatsError::Exists`] and others.
    pub fn create(
        &self,
        part: Part,
        id: &InvestigationId,
    ) -> Result<StreamMedium<JetStreamSubject>, NatsError> {
        StreamMedium::create(self.subject(part, id), self.unique())?
            .ok_or_else(|| NatsError::Exists { id: id.clone() })
    }

    /// Takes a part of an investigation over, or begins it. Whoever wrote it before can write no more.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn take_over(
        &self,
        part: Part,
        id: &InvestigationId,
    ) -> Result<StreamMedium<JetStreamSubject>, NatsError> {
        StreamMedium::take_over(self.subject(part, id), self.unique())
    }

    /// Opens a part of an investigation for reading, whoever writes.
    ///
    /// # Errors
    /// [`NatsError::NoSuch`] and others.
    pub fn read(
        &self,
        part: Part,
        id: &InvestigationId,
    ) -> Result<StreamMedium<JetStreamSubject>, NatsError> {
        StreamMedium::read(self.subject(part, id))?
            .ok_or_else(|| NatsError::NoSuch { id: id.clone() })
    }

    /// Follows a part of an investigation as it grows, also where there is nothing yet.
    pub fn tail(&self, part: Part, id: &InvestigationId) -> Tail {
        Tail::new(self.clone(), part, id)
    }

    /// Stores bytes that belong to an investigation, unless they are there.
    ///
    /// # Errors
    /// [`NatsError`].
    pub fn store(&self, id: &InvestigationId, bytes: &[u8]) -> Result<Block, NatsError> {
        let (subject, block) = (self.subject(Part::Ledger, id), Block::of(bytes));
        writer::persist(&subject, |subject| subject.put(block, bytes))?;
        Ok(block)
    }

    /// Bytes that belong to an investigation, checked against their digest.
    ///
    /// # Errors
    /// [`NatsError`]; [`NatsError::Altered`] where they are not those that were stored.
    pub fn stored(&self, id: &InvestigationId, block: Block) -> Result<Vec<u8>, NatsError> {
        let bytes = writer::persist(&self.subject(Part::Ledger, id), |it| it.get(block))?;
        match block.is(&bytes) {
            true => Ok(bytes),
            false => Err(NatsError::Altered { id: id.clone(), digest: block.digest() }),
        }
    }

    /// 3 replicas where the cluster tells of at least three servers, 1 otherwise.
    pub fn usual_replicas(&self) -> usize {
        let servers = self.shared.context.client().server_info().connect_urls.len();
        if servers >= 3 { 3 } else { 1 }
    }

    fn subject(&self, part: Part, id: &InvestigationId) -> JetStreamSubject {
        JetStreamSubject::new(self.clone(), part, id)
    }

    fn reach(options: &Options) -> Result<Self, NatsError> {
        let names = Names::new(&options.prefix)?;
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .thread_name("eog-nats")
            .enable_all()
            .build()
            .map_err(|error| NatsError::Unreachable {
                url: options.shown(),
                reason: format!("cannot start a thread: {error}"),
            })?;
        let wanted = options.clone();
        let connected = wait_for(&runtime, async move {
            let client = wanted.client().await?;
            let client = client.connect(wanted.addresses()).await;
            let client = client.map_err(|error| not_connected(&wanted, &error))?;
            // It starts a task of its own.
            let mut context = jetstream::new(client);
            context.set_timeout(wanted.timeout);
            Ok(context)
        });
        let context = match connected.unwrap_or_else(|| Err(lost(options))) {
            Ok(context) => context,
            Err(error) => {
                runtime.shutdown_background();
                return Err(error);
            }
        };
        let (timeout, retries) = (options.timeout, options.retries);
        let shared = Shared { runtime: Some(runtime), context, names, timeout, retries };
        Ok(Self { shared: Arc::new(shared) })
    }

    /// Refuses a stream of another version, and one that would forget.
    fn check(&self) -> Result<(), NatsError> {
        let config = self.persist(|cluster| cluster.config(cluster.shared.names.stream()))?;
        let stream = config.name.clone();
        if config.description.as_deref() != Some(FORMAT) {
            let found = config.description.unwrap_or_default();
            return Err(NatsError::OtherVersion { stream, found });
        }
        // The server writes a limit that is none as -1, older ones as 0.
        let limited = [
            ("retention", config.retention != RetentionPolicy::Limits),
            ("storage", config.storage != StorageType::File),
            ("max_age", !config.max_age.is_zero()),
            ("max_msgs_per_subject", config.max_messages_per_subject > 0),
            ("discard", config.discard != DiscardPolicy::New),
            ("no_ack", config.no_ack),
        ];
        match limited.into_iter().find(|(_, wrong)| *wrong) {
            Some((setting, _)) => {
                let reason = format!("its setting {setting} would lose entries");
                Err(NatsError::Unfit { stream, reason })
            }
            None => Ok(()),
        }
    }

    fn buckets(&self) -> [String; 2] {
        [self.shared.names.blocks(), self.shared.names.checkpoints()]
    }

    /// The settings of a stream as they are.
    pub(crate) fn config(&self, stream: String) -> Result<Config, Trouble> {
        let context = self.shared.context.clone();
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

    /// Makes a stream where there is none of its name.
    pub(crate) fn make_stream(&self, config: &Config) -> Result<(), NatsError> {
        self.persist(|cluster| match cluster.config(config.name.clone()) {
            Err(Trouble::Lasting(NatsError::StreamMissing { .. })) => {
                let (context, config) = (cluster.shared.context.clone(), config.clone());
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

    fn make_bucket(&self, bucket: String, replicas: usize) -> Result<(), NatsError> {
        let config = object_store::Config { bucket, num_replicas: replicas, ..Default::default() };
        self.persist(|cluster| {
            let (context, config) = (cluster.shared.context.clone(), config.clone());
            cluster.run(async move {
                if context.get_object_store(&config.bucket).await.is_ok() {
                    return Ok(());
                }
                let made = context.create_object_store(config).await;
                made.map(drop).map_err(|error| Trouble::Passing(error.to_string()))
            })
        })
    }

    pub(crate) fn context(&self) -> &jetstream::Context {
        &self.shared.context
    }

    pub(crate) fn names(&self) -> &Names {
        &self.shared.names
    }

    /// A name that nobody else has or had: the random part of an inbox.
    pub(crate) fn unique(&self) -> String {
        let inbox = self.shared.context.client().new_inbox();
        inbox.rsplit('.').next().unwrap_or(&inbox).to_owned()
    }

    /// Runs something on the thread of the connection, and waits for it no longer than several requests.
    pub(crate) fn run<T: Send + 'static>(
        &self,
        what: impl Future<Output = Result<T, Trouble>> + Send + 'static,
    ) -> Result<T, Trouble> {
        let gone = || Trouble::Passing("the connection has ended".to_owned());
        let runtime = self.shared.runtime.as_ref().ok_or_else(gone)?;
        wait_for(runtime, what).unwrap_or_else(|| Err(gone()))
    }

    /// How long one request may take.
    pub(crate) fn timeout(&self) -> Duration {
        self.shared.timeout
    }

    /// Waits before another attempt. False when there were enough.
    pub(crate) fn wait(&self, attempt: u32) -> bool {
        if attempt >= self.shared.retries {
            return false;
        }
        let pause = Duration::from_millis(100) * 2_u32.pow(attempt.min(5));
        std::thread::sleep(pause.min(Duration::from_secs(2)));
        true
    }

    /// Why attempts fail.
    pub(crate) fn diagnose(&self, last: Trouble) -> NatsError {
        let seen = match last {
            Trouble::Lasting(error) => return error,
            Trouble::Passing(seen) => seen,
        };
        match self.config(self.shared.names.stream()) {
            Err(Trouble::Lasting(error)) => error,
            Err(Trouble::Passing(reason)) => self.no_answer(reason),
            Ok(_) => self.no_answer(seen),
        }
    }

    /// Nobody answers. A server without `JetStream` may stand in a cluster that has it, so this is asked last.
    fn no_answer(&self, reason: String) -> NatsError {
        match self.shared.context.client().server_info().jetstream {
            true => NatsError::NoLeader { stream: self.shared.names.stream(), reason },
            false => NatsError::NoJetStream { reason },
        }
    }

    /// Repeats what changes nothing when it is repeated.
    pub(crate) fn persist<T>(
        &self,
        what: impl Fn(&Self) -> Result<T, Trouble>,
    ) -> Result<T, NatsError> {
        let mut attempt = 0;
        loop {
            match what(self) {
                Ok(done) => return Ok(done),
                Err(Trouble::Lasting(error)) => return Err(error),
                Err(Trouble::Passing(reason)) if !self.wait(attempt) => {
                    return Err(self.no_answer(reason));
                }
                Err(Trouble::Passing(_)) => attempt += 1,
            }
        }
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("names", &self.shared.names).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    /// A runtime that is dropped within another one panics, unless it is told not to wait.
    fn drop(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

/// What an error of the server means for further attempts.
pub(crate) fn said(stream: &str, error: &jetstream::Error) -> Trouble {
    let reason = error.to_string();
    match error.error_code() {
        ErrorCode::STREAM_NOT_FOUND => {
            Trouble::Lasting(NatsError::StreamMissing { stream: stream.to_owned() })
        }
        ErrorCode::JETSTREAM_NOT_ENABLED | ErrorCode::JETSTREAM_NOT_ENABLED_FOR_ACCOUNT => {
            Trouble::Lasting(NatsError::NoJetStream { reason })
        }
        _ => Trouble::Passing(reason),
    }
}

/// Runs something on a runtime from outside it. None if it panicked.
fn wait_for<T: Send + 'static>(
    runtime: &Runtime,
    what: impl Future<Output = T> + Send + 'static,
) -> Option<T> {
    let (sender, receiver) = mpsc::sync_channel(1);
    runtime.spawn(async move {
        // Who asked always waits.
        let _ = sender.send(what.await);
    });
    receiver.recv().ok()
}

fn lost(options: &Options) -> NatsError {
    NatsError::Unreachable { url: options.shown(), reason: "the connection has ended".to_owned() }
}

fn not_connected(options: &Options, error: &async_nats::ConnectError) -> NatsError {
    let (url, reason) = (options.shown(), error.to_string());
    match error.kind() {
        ConnectErrorKind::Authentication | ConnectErrorKind::AuthorizationViolation => {
            NatsError::Unauthorized { url, reason }
        }
        ConnectErrorKind::Tls => NatsError::Access { what: format!("TLS with {url}"), reason },
        _ => NatsError::Unreachable { url, reason },
    }
}
