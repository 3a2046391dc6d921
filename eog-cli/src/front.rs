//! What `eog serve` has at its address: pages, MCP, and alerts where it is on call.

use std::io::Write as _;
use std::net::SocketAddr;

use eog::BoxFuture;
use eog_live::{Host, Live};
use eog_mcp::server::{HttpSettings, ServeError};
use eog_oncall::OnCall;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::interrupt::interrupted;
use crate::runtime::LAST;

/// An address, how it is protected, and what is served there beside MCP.
pub(crate) struct Front {
    pub(crate) address: SocketAddr,
    pub(crate) settings: HttpSettings,
    /// The service on call, and what it does in words.
    pub(crate) on_call: Option<(OnCall, String)>,
}

impl Front {
    /// Serves the pages of a host, and works on alerts, until a signal. `mcp` serves MCP and all routes of these
    /// settings until the future that it is given resolves.
    pub(crate) async fn serve(
        self,
        host: impl Host,
        mcp: impl AsyncFnOnce(
            TcpListener,
            HttpSettings,
            BoxFuture<'static, ()>,
        ) -> Result<(), ServeError>,
    ) -> Result<(), ServeError> {
        let Self { address, settings, on_call } = self;
        // Signals are handled before the server is announced: one in between would be lost, or end it at once.
        let interrupted = interrupted();
        let listener = TcpListener::bind(address).await;
        let listener = listener.map_err(|error| no_socket(address, &error))?;
        let at = listener.local_addr()?;
        let said =
            format!("eog: serving MCP at http://{at}/mcp\neog: investigations at http://{at}/\n");
        // At once, since the parent process may read no more than the first line.
        let _ = std::io::stderr().write_all(said.as_bytes());
        let live = match on_call.as_ref().map(|(on_call, _)| on_call.clone()) {
            Some(on_call) => Live::listing(host, move || on_call.rows()),
            None => Live::new(host),
        };
        let mut settings = eog_live::settings(settings, &live);
        settings.open_routes = eog_oncall::health(|| Ok(()));
        let stop = CancellationToken::new();
        let work = on_call.map(|(on_call, to_do)| {
            eprintln!("eog: on call: Alertmanager sends to http://{at}/alerts; {to_do}");
            for address in on_call.receives_at() {
                eprintln!("eog: receiving OTLP at {address}, HTTP and gRPC");
            }
            settings.routes = std::mem::take(&mut settings.routes).merge(on_call.routes());
            settings.open_routes = on_call.open_routes();
            let ends = stop.clone();
            tokio::spawn(async move { on_call.run(ends).await })
        });
        let ends = stop.clone();
        let ended = Box::pin(async move {
            interrupted.await;
            live.end();
            // No run begins any more; those that are under way are cut off by the server's end.
            ends.cancel();
        });
        let served = mcp(listener, settings, ended).await;
        stop.cancel();
        if let Some(work) = work {
            let _ = tokio::time::timeout(LAST, work).await;
        }
        served
    }
}

/// Why nothing can be served at an address.
fn no_socket(address: SocketAddr, error: &std::io::Error) -> ServeError {
    use std::io::ErrorKind;
    let (port, kind) = (address.port(), error.kind());
    let why = match kind {
        ErrorKind::AddrInUse => {
            format!("another program uses port {port}; stop it, or choose another port with --http")
        }
        ErrorKind::PermissionDenied => {
            format!("port {port} is not allowed; choose one above 1023 with --http")
        }
        ErrorKind::AddrNotAvailable => {
            "this machine has no such address; give another with --http".to_owned()
        }
        _ => error.to_string(),
    };
    ServeError::Socket(std::io::Error::new(kind, format!("at {address}: {why}")))
}
