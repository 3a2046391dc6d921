//! Investigations and the tools over snapshots, offered to agents.
//!
//! ```text
//! stdio ──┐                      ┌─► investigate, resume ──► an engine on a thread of its own
//!         ├─► handler ─► tools ──┼─► explain, diff, list_investigations ──► journals
//! HTTP ───┘      │               └─► the SRE tools ──► folders in memory
//!                └─► resources: ledger, report and graph of each investigation
//! ```
//!
//! - [`Server::open`] checks the [`Settings`] once; then [`Server::stdio`] serves one client on
//!   standard input and output, [`Server::session`] each of several on streams of its own, and
//!   [`Server::http`] any number on a socket.
//! - [`Policies`] says which policy judges, and a [`Judge`] may choose where to start and summarize the
//!   result, too; [`Evidence`] is the built-in rules.
//!
//! What a client names are paths below [`Settings::roots`] and ids that the server gave; nothing
//! else on the machine can be reached. What a client gets is text from telemetry, which is data and
//! never instructions.

mod answers;
mod arguments;
mod ask;
mod board;
mod catalogue;
mod closing;
mod course;
mod error;
mod form;
mod handler;
mod http;
mod investigations;
mod message;
mod open;
mod orders;
mod pages;
mod queries;
mod resources;
mod roots;
mod runner;
mod settings;
mod stdio;
mod tasks;
mod voice;
mod words;
mod work;

use std::sync::{Arc, Mutex};
use std::time::Duration;

pub use eog_session::judge::{Alone, Evidence, ForRun, Judge, JudgeError, Policies};
use eog_session::source::{Library, ReadOptions};
use eog_sre::CacheAt;
use rmcp::ServerHandler as _;
use rmcp::model::Tool;
use tokio::sync::Semaphore;
use tokio::time::{Instant, timeout_at};
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

/// The library of [`HttpSettings::routes`].
#[doc(no_inline)]
pub use axum;
use board::Board;
use catalogue::Catalogue;
use eog_session::store::Store;
pub use error::ServeError;
pub use http::{HttpSettings, Missing, SignIn, Token, serve_handler, serve_routes};
pub use orders::{Fate, Order, OrderError, Outcome, settings_of};
pub use pages::{SoFar, Stored};
pub use rmcp;
use roots::Roots;
use runner::Runner;
pub use settings::{Settings, Toolset};
use tasks::Tasks;

/// How long a server takes to end at most, once it is stopped or its client is gone.
const LAST: Duration = Duration::from_secs(5);

/// Investigations and the SRE tools as an MCP server. Clones are the same server.
///
/// ```no_run
/// # use std::sync::Arc;
/// use eog_mcp::server::{Evidence, Server, Settings};
/// # async fn serve(
/// #     stop: tokio::sync::oneshot::Receiver<()>,
/// # ) -> Result<(), Box<dyn std::error::Error>> {
/// let settings = Settings::new(vec!["/data/incidents".into()], "/var/lib/eog".into());
/// let server = Server::open(settings, Arc::new(Evidence))?;
/// server.stdio(async { stop.await.unwrap_or_default() }).await?;
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Server(Arc<Shared>);

/// What all connections share.
struct Shared {
    settings: Settings,
    roots: Roots,
    store: Store,
    library: Library,
    catalogue: Catalogue,
    runner: Runner,
    board: Board,
    /// Questions about what is stored, which take a moment.
    queries: Semaphore,
    /// Questions that may read a folder or call the policy first. They never keep the others waiting.
    readings: Semaphore,
    tasks: Tasks,
    /// Held while a case is stored: a folder of cases has one writer.
    closing: Mutex<()>,
    policies: Arc<dyn Policies>,
    /// Everything that was started on behalf of a client.
    tracker: TaskTracker,
    stop: CancellationToken,
}

impl Server {
    /// Checks the settings and prepares the state folder. Opens no incident yet.
    ///
    /// # Errors
    /// [`ServeError`] when a root is no folder, or nothing can be stored in the state folder.
    pub fn open(settings: Settings, policies: Arc<dyn Policies>) -> Result<Self, ServeError> {
        let roots = Roots::open(&settings.roots)?;
        let store = Store::open(&settings.state, roots.folders())?;
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Ok(Self(Arc::new(Shared {
            library: library(&settings),
            catalogue: Catalogue::new(&roots, settings.toolset),
            board: Board::default(),
            runner: Runner::new(settings.max_running.get(), settings.max_waiting),
            queries: Semaphore::new(cores.max(2)),
            readings: Semaphore::new(cores.max(2)),
            tasks: Tasks::new(settings.task_patience),
            closing: Mutex::new(()),
            tracker: TaskTracker::new(),
            stop: CancellationToken::new(),
            roots,
            store,
            policies,
            settings,
        })))
    }

    /// The tools as `tools/list` gives them.
    pub fn tools(&self) -> Vec<Tool> {
        self.0.catalogue.listed()
    }

    /// How many investigations run at this moment, and how many wait for their turn.
    pub fn load(&self) -> (usize, usize) {
        (self.0.runner.running(), self.0.runner.waiting())
    }

    /// What the server says about itself to a client.
    pub fn instructions(&self) -> String {
        self.get_info().instructions.unwrap_or_default()
    }

    /// Ends everything, as [`Server::stdio`], [`Server::streams`] and [`Server::http`] do when they return: runs
    /// are cancelled, their journals stay and can be resumed. It takes 5 seconds at most: what cannot be cancelled,
    /// such as a large folder that is being read, works on and its answer is dropped.
    pub async fn close(&self) {
        self.close_by(Instant::now() + LAST).await;
    }

    /// The same, at the latest at this time. Returns earlier when nothing is left that works on behalf of a
    /// client.
    async fn close_by(&self, by: Instant) {
        self.0.stop.cancel();
        self.0.queries.close();
        self.0.readings.close();
        self.0.tasks.shutdown();
        self.0.tracker.close();
        let _ = timeout_at(by, self.0.tracker.wait()).await;
    }
}

/// The folders in memory, within the bounds that are set.
fn library(settings: &Settings) -> Library {
    let options = ReadOptions {
        architecture: settings.architecture.clone(),
        cache: settings.cache.clone().map(CacheAt::Folder),
        max_memory: settings.max_memory,
        ..ReadOptions::default()
    };
    Library::new(options, settings.max_loaded_bytes).strict(settings.strict)
}
