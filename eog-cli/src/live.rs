//! `--live`: the run in the browser, on a thread of its own, so that no reader holds it back.

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::thread::JoinHandle;

use eog::{CallRecorder, EntityId};
use eog_live::{Live, Single};
use eog_mcp::server::{HttpSettings, serve_routes};
use eog_report::Report;
use eog_session::Listener;
use eog_session::controllers::AnyEntry;
use eog_session::run::{Cancel, Ended};
use eog_session::source::{Opened, Words};
use tokio_util::sync::CancellationToken;

use crate::args::LiveArgs;
use crate::error::CliError;
use crate::http::token;
use crate::interrupt::interrupted;

/// Where a run is to be watched, made sure of before anything is spent.
pub(crate) struct Place {
    listener: TcpListener,
    settings: HttpSettings,
    at: SocketAddr,
}

impl Place {
    /// The address that the command line asks for, if it asks for one.
    pub(crate) fn prepare(arguments: &LiveArgs) -> Result<Option<Self>, CliError> {
        let Some(address) = arguments.live else { return Ok(None) };
        let mut settings = HttpSettings::default();
        settings.token = token(arguments.live_token_file.as_deref(), "EOG_LIVE_TOKEN")?;
        settings.hosts.clone_from(&arguments.live_hosts);
        protect(address, &settings)?;
        let failed = |error| CliError::Usage(format!("--live: cannot serve at {address}: {error}"));
        let listener = TcpListener::bind(address).map_err(failed)?;
        listener.set_nonblocking(true).map_err(failed)?;
        let at = listener.local_addr().map_err(failed)?;
        Ok(Some(Self { listener, settings, at }))
    }

    fn serve(self, single: Single) -> Result<Watching, CliError> {
        let Self { listener, settings, at } = self;
        let live = Live::new(single.clone());
        let settings = eog_live::settings(settings, &live);
        let stop = CancellationToken::new();
        let stopped = stop.clone().cancelled_owned();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        let runtime = runtime.map_err(CliError::Runtime)?;
        let thread = std::thread::Builder::new().name("live".to_owned());
        let thread = thread.spawn(move || {
            runtime.block_on(async {
                if let Ok(listener) = tokio::net::TcpListener::from_std(listener) {
                    // The address was made sure of.
                    let _ = serve_routes(listener, settings, stopped).await;
                }
            });
            runtime.shutdown_background();
        });
        let thread = thread.map_err(CliError::Runtime)?;
        eprintln!("eog: live page at http://{at}/i/run");
        Ok(Watching { single, live, stop, thread: Some(thread), at })
    }
}

/// A run that is watched in the browser. Dropping it ends the page.
pub(crate) struct Watching {
    single: Single,
    live: Live,
    stop: CancellationToken,
    thread: Option<JoinHandle<()>>,
    at: SocketAddr,
}

impl Watching {
    /// Serves a run of this source. `seen` is what its ledger holds already.
    pub(crate) fn begin(
        place: Place,
        source: &Opened,
        recorder: &CallRecorder,
        seen: &[AnyEntry],
        words: &Words,
    ) -> Result<Self, CliError> {
        let single = Single::new(source.clone(), recorder.clone());
        single.watched().recall(seen, words.clone());
        place.serve(single)
    }

    /// The listeners of a run: this, and another.
    pub(crate) fn beside(&self, other: Arc<dyn Listener>) -> Arc<dyn Listener> {
        Arc::new((other, self.single.watched()))
    }

    pub(crate) fn begin_run(&self, cancel: &Cancel) {
        self.single.begin(cancel.clone());
    }

    pub(crate) fn end_run(&self, report: &Report, ended: &Ended) {
        self.single.end(report.clone(), ended.finished.steps());
    }

    /// Waits until the run is to go on, and says of which entities there is something new; nothing once the program
    /// is to end.
    pub(crate) async fn news(&self, quiet: bool) -> Option<Vec<EntityId>> {
        if !quiet {
            eprintln!(
                "eog: the page is still served at http://{}/i/run; press Ctrl-C to end it",
                self.at
            );
        }
        tokio::select! {
            biased;
            () = interrupted() => None,
            news = self.single.wanted() => Some(news),
        }
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        self.live.end();
        self.stop.cancel();
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Refuses an address that others can reach without what must protect it.
fn protect(address: SocketAddr, settings: &HttpSettings) -> Result<(), CliError> {
    if address.ip().is_loopback() {
        return Ok(());
    }
    let mut missing = Vec::new();
    if settings.token.is_none() {
        missing.push(
            "set a token of at least 16 characters in the environment variable EOG_LIVE_TOKEN or in a \
             file (--live-token-file)",
        );
    }
    if settings.hosts.is_empty() {
        missing.push("give the host names by which browsers call the page (--live-host)");
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(CliError::Usage(format!(
            "--live: other machines can reach {address}: {}",
            missing.join("; ")
        ))),
    }
}
