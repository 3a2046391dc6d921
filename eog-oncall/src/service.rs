//! The service as a whole: opened, served, ended.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use axum::Router;
use eog::durable::{self, Disk, RealDisk};
use eog_page::Row;
use eog_sources::{Received, Receiver, SourceConfig, Surroundings};
use serde_json::{Map, Value};
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::{Config, Keep, Sns};
use crate::desk::Desk;
use crate::health::health;
use crate::investigations::Investigations;
use crate::metrics::Metrics;
use crate::outbox::Outbox;
use crate::own::Own;
use crate::refusals::Refusals;
use crate::sns::signature::Certificates;
use crate::{captures, routes, runner};

/// The service. Clones are the same.
#[derive(Clone)]
pub struct OnCall(Arc<Shared>);

/// What everything of it works with.
pub(crate) struct Shared {
    pub(crate) desk: Desk,
    pub(crate) outbox: Outbox,
    pub(crate) server: Arc<dyn Investigations>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) source: SourceConfig,
    /// What receives OTLP, until the service works.
    receiver: Mutex<Option<Receiver>>,
    pub(crate) received: Option<Received>,
    pub(crate) captures: PathBuf,
    pub(crate) settings: Map<String, Value>,
    pub(crate) at_once: usize,
    pub(crate) keep: Keep,
    pub(crate) page_url: Option<String>,
    pub(crate) refusals: Refusals,
    pub(crate) sns: Sns,
    pub(crate) certificates: Certificates,
    pub(crate) own: Own,
    pub(crate) clock: Clock,
    /// Held as long as the service works: another one would deliver the same.
    _lock: File,
}

/// Why the service cannot begin.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The state cannot be used.
    #[error("{0}")]
    State(String),
    /// Another service works with it.
    #[error("{}: another service uses this state folder", .0.display())]
    Taken(PathBuf),
    /// OTLP cannot be received.
    #[error("{0}")]
    Receiver(eog_sources::ConfigError),
}

impl OnCall {
    /// The folder of captures within a state folder, made if absent: a root of the server.
    ///
    /// # Errors
    /// Why it cannot be made.
    pub fn captures(state: &Path) -> Result<PathBuf, OpenError> {
        let folder = state.join("captures");
        durable::create_folders(&RealDisk, &folder)
            .map_err(|error| OpenError::State(format!("{}: {error}", folder.display())))?;
        Ok(folder)
    }

    /// Opens the state beside that of the investigating server, such as a
    /// [`Server`](eog_mcp::server::Server) that has the folder of captures as a root.
    ///
    /// # Errors
    /// [`OpenError`].
    pub fn open(
        config: Config,
        server: impl Investigations,
        state: &Path,
    ) -> Result<Self, OpenError> {
        let captures = Self::captures(state)?;
        let folder = state.join("on-call");
        let unusable =
            |error: std::io::Error| OpenError::State(format!("{}: {error}", folder.display()));
        durable::create_folders(&RealDisk, &folder).map_err(unusable)?;
        let lock = File::create(folder.join("lock")).map_err(unusable)?;
        lock.try_lock().map_err(|_| OpenError::Taken(folder.clone()))?;
        let disk: Arc<dyn Disk> = Arc::new(RealDisk);
        let clock = Clock::system();
        let own = Own::of(&*disk, &folder).map_err(OpenError::State)?;
        let metrics = Arc::new(Metrics::new());
        let desk = Desk::open(&folder, &config, metrics.clone(), disk.clone());
        let desk = desk.map_err(OpenError::State)?;
        let Config { source, settings, at_once, keep, page_url, webhooks, sns, .. } = config;
        let outbox = Outbox::open(&folder, webhooks, metrics.clone(), disk, clock.clone());
        let outbox = outbox.map_err(OpenError::State)?;
        let receiver = Receiver::bind(&source).map_err(OpenError::Receiver)?;
        let received = receiver.as_ref().map(Receiver::received);
        let source = match &received {
            Some(received) => source.receiving(received.clone()),
            None => source,
        };
        desk.know(Surroundings::of(&source, captures::latest(&captures).as_deref()));
        let shared = Shared {
            receiver: Mutex::new(receiver),
            received,
            desk,
            outbox,
            server: Arc::new(server),
            metrics,
            source,
            captures,
            settings,
            at_once,
            keep,
            page_url,
            refusals: Refusals::default(),
            sns,
            certificates: Certificates::default(),
            own,
            clock,
            _lock: lock,
        };
        Ok(Self(Arc::new(shared)))
    }

    /// Where OTLP is received, if it is. Nothing once the service works.
    pub fn receives_at(&self) -> Vec<SocketAddr> {
        let receiver = self.0.receiver.lock().unwrap_or_else(PoisonError::into_inner);
        receiver.as_ref().map(Receiver::addresses).unwrap_or_default()
    }

    /// The incidents that have no investigation yet, newest first, for the list of the pages.
    pub fn rows(&self) -> Vec<Row> {
        self.0.desk.waiting()
    }

    /// What is served behind the checks of the server: alerts in, incidents.
    pub fn routes(&self) -> Router {
        routes::routes(self.0.clone())
    }

    /// What may be read without a token: signs of life and figures, which name no incident.
    pub fn open_routes(&self) -> Router {
        let desk = self.0.desk.clone();
        health(move || desk.is_ready()).merge(routes::metrics(self.0.clone()))
    }

    /// Works until it is to stop, and until the runs that were under way have ended.
    pub async fn run(&self, stop: CancellationToken) {
        let delivering = self.0.outbox.run(stop.clone());
        let receiver = self.0.receiver.lock().unwrap_or_else(PoisonError::into_inner).take();
        let until = stop.clone();
        let receiving = async {
            if let Some(receiver) = receiver
                && let Err(error) = receiver.run(until).await
            {
                tracing::error!(reason = ?error.to_string(), "OTLP is no longer received");
            }
        };
        tokio::join!(runner::run(self.0.clone(), stop), delivering, receiving);
    }
}
