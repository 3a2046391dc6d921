//! A connection to a cluster.

use std::error::Error;
use std::fmt;
use std::io;
use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use async_nats::ConnectErrorKind;
use async_nats::jetstream::{self, ErrorCode};
use async_nats::rustls::Error as TlsError;
use eog::Budget;
use tokio::runtime::Runtime;

use crate::names::Names;
use crate::{
    Block, DecisionBucket, InvestigationId, JetStreamSubject, NatsError, Options, Part,
    SharedPurse, StreamMedium, Subject as _, Tail, Trouble, retry, writer,
};

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
        cluster.make(replicas)?;
        cluster.check()?;
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

    /// Takes a part of an investigation over, or begins it. Its previous writer can write no more.
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

    /// Opens a part of an investigation for reading, whichever process writes it.
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
    /// [`NatsError`]; [`NatsError::Altered`] where they are gone, or not those that were stored.
    pub fn stored(&self, id: &InvestigationId, block: Block) -> Result<Vec<u8>, NatsError> {
        let altered = || NatsError::Altered { id: id.clone(), digest: block.digest() };
        let subject = self.subject(Part::Ledger, id);
        let bytes = match writer::persist(&subject, |it| it.get(block)) {
            // The cluster answers: no replica was to have it later.
            Err(NatsError::NoLeader { .. }) if subject.lacks(block) => return Err(altered()),
            bytes => bytes?,
        };
        match block.is(&bytes) {
            true => Ok(bytes),
            false => Err(altered()),
        }
    }

    /// 3 replicas where the cluster reports at least three servers, 1 otherwise.
    pub fn usual_replicas(&self) -> usize {
        let servers = self.shared.context.client().server_info().connect_urls.len();
        if servers >= 3 { 3 } else { 1 }
    }

    /// The memory of decisions that all workers share: `DecisionMemory::on(cluster.decisions())`.
    pub fn decisions(&self) -> DecisionBucket {
        DecisionBucket::of(self)
    }

    /// What all workers spend together on an account, within this budget: `meter.share(Arc::new(..))`.
    ///
    /// An account begins with nothing spent, and nothing of it expires: for a budget for each day, name the account
    /// after the day. Workers of an account are to be given the same budget; of different ones each keeps to its
    /// own.
    pub fn purse(&self, account: &InvestigationId, budget: Budget) -> SharedPurse {
        SharedPurse::new(self, account, budget)
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

    pub(crate) fn context(&self) -> &jetstream::Context {
        &self.shared.context
    }

    pub(crate) fn names(&self) -> &Names {
        &self.shared.names
    }

    /// A unique name: the random part of an inbox.
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

    /// Runs blocking work on a thread of its own, for async callers.
    pub(crate) async fn apart<T: Send + 'static>(
        &self,
        what: impl FnOnce() -> Result<T, NatsError> + Send + 'static,
    ) -> Result<T, String> {
        let runtime = self.shared.runtime.as_ref().ok_or("the connection has ended")?;
        let done = runtime.spawn_blocking(what).await;
        done.map_err(|error| error.to_string())?.map_err(|error| error.to_string())
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

    /// No response. A server without `JetStream` may stand in a cluster that has it, so this is asked last.
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
        let diagnose = |trouble| match trouble {
            Trouble::Passing(reason) => self.no_answer(reason),
            Trouble::Lasting(error) => error,
        };
        retry::persist(|attempt| self.wait(attempt), diagnose, || what(self))
    }
}

impl fmt::Debug for Cluster {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cluster").field("names", &self.shared.names).finish_non_exhaustive()
    }
}

impl Drop for Shared {
    /// A runtime that is dropped within another one panics, unless it is shut down in the background.
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
        // The caller always waits.
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
        ConnectErrorKind::Tls => NatsError::Tls { url, reason },
        _ if is_of_tls(error) => NatsError::Tls { url, reason },
        _ => NatsError::Unreachable { url, reason },
    }
}

/// Whether TLS is behind an error: the client says of a handshake that fails what it says of any broken connection.
fn is_of_tls(error: &(dyn Error + 'static)) -> bool {
    let mut next = Some(error);
    while let Some(error) = next {
        let inner = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        if error.is::<TlsError>() || matches!(inner, Some(inner) if inner.is::<TlsError>()) {
            return true;
        }
        next = error.source();
    }
    false
}
