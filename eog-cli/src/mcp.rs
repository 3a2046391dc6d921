//! `eog mcp serve` and `eog serve`: agents and browsers as the users of eog.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use crate::shown::clean_line;
use eog_mcp::server::{HttpSettings, ServeError, Server, Settings, Token, Toolset};
use eog_oncall::OnCall;

use crate::args::{ListedTools, Mcp, McpCommand, Serve};
use crate::error::{CliError, Exit};
use crate::front::Front;
use crate::interrupt::interrupted;
use crate::investigate::choose;

/// The most bytes of a file with a token.
const MAX_TOKEN: u64 = 4096;

/// Longest request in bytes, unless an option says otherwise: of clients, and of Alertmanager, which sends all alerts
/// of a group at once and drops them where they are refused for their length.
const MAX_BODY: u64 = 1 << 20;
const MAX_ALERTS: u64 = 16 << 20;

/// How long threads may take that are blocked when the server has ended, such as by standard input.
pub(crate) const LAST: Duration = Duration::from_millis(200);

/// `eog mcp`.
pub(crate) fn run(arguments: &Mcp) -> Result<Exit, CliError> {
    let McpCommand::Serve(serve) = &arguments.command;
    self::serve(serve, None)
}

/// Serves until a signal. `at`: the address for HTTP unless the options name one; standard input and output
/// without either.
pub(crate) fn serve(serve: &Serve, at: Option<SocketAddr>) -> Result<Exit, CliError> {
    #[cfg(feature = "nats")]
    if serve.nats.reach.url.is_some() {
        return crate::nats::serve(serve, at);
    }
    let state = serve.state()?;
    // Whether it may be reached is made sure of before anything is made.
    let http = serve.http.or(at).map(|address| http(serve, address)).transpose()?;
    if serve.on_call.is_some() && http.is_none() {
        let reason = "--on-call: alerts arrive over HTTP; use `eog serve`, or give --http";
        return Err(CliError::Usage(reason.to_owned()));
    }
    let on_call = serve.on_call.as_deref().map(eog_oncall::Config::read).transpose()?;
    let chosen = choose(&serve.judging)?;
    let limits = serve.calls.limits(serve.policy_timeout);
    let chosen = Arc::new(chosen.with_limits(limits));
    let mut settings = settings(serve, state);
    if on_call.is_some() {
        // What is captured can be read by agents, too, and by the pages.
        settings.roots.push(OnCall::captures(state)?);
    }
    let server = Server::open(settings, chosen)?;
    let on_call = on_call.map(|config| {
        let to_do = config.to_do();
        OnCall::open(config, server.clone(), state).map(|on_call| (on_call, to_do))
    });
    let on_call = on_call.transpose()?;
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .enable_all()
        .build()
        .map_err(CliError::Runtime)?;
    let served = runtime.block_on(async {
        match http {
            None => server.stdio(interrupted()).await,
            Some((address, settings)) => {
                let front = Front { address, settings, on_call };
                let mcp =
                    async |listener, settings, ended| server.http(listener, settings, ended).await;
                front.serve(server.clone(), mcp).await
            }
        }
    });
    runtime.shutdown_timeout(LAST);
    // What threads that did not end in time have started.
    eog::processes::end_all();
    served?;
    Ok(Exit::Diagnosed)
}

/// What a server lacks that others can reach, with the options that give it.
fn other_machines(said: &str) -> String {
    said.replace(
        "(HttpSettings::token)",
        "in the environment variable EOG_MCP_TOKEN or in a file (--token-file)",
    )
    .replace("(HttpSettings::hosts)", "(--allow-host)")
}

impl From<eog_oncall::OpenError> for CliError {
    fn from(error: eog_oncall::OpenError) -> Self {
        Self::Usage(format!("--on-call: {error}"))
    }
}

impl From<ServeError> for CliError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::NoRoot => {
                Self::Usage("no root folder; give at least one with --root".to_owned())
            }
            ServeError::Unprotected { .. } => Self::Usage(other_machines(&error.to_string())),
            ServeError::Socket(source) => Self::Usage(format!("cannot serve: {source}")),
            other => Self::Usage(other.to_string()),
        }
    }
}

fn settings(serve: &Serve, state: &Path) -> Settings {
    let mut settings = Settings::new(serve.roots.clone(), state.to_owned());
    settings.architecture.clone_from(&serve.architecture);
    settings.cache.clone_from(&serve.reading.cache);
    settings.max_memory = serve.reading.max_memory;
    settings.strict = serve.reading.strict;
    settings.max_loaded_bytes = serve.max_loaded;
    settings.max_running = serve.max_running.unwrap_or(settings.max_running);
    settings.max_waiting = serve.max_waiting;
    settings.max_time = serve.max_time;
    settings.keep = serve.keep;
    settings.cases.clone_from(&serve.cases);
    settings.toolset = match serve.toolset {
        ListedTools::Compact => Toolset::Compact,
        ListedTools::Full => Toolset::Full,
    };
    settings
}

/// The address and how it is protected.
pub(crate) fn http(
    serve: &Serve,
    address: SocketAddr,
) -> Result<(SocketAddr, HttpSettings), CliError> {
    let mut settings = HttpSettings::default();
    settings.token = token(serve.token_file.as_deref(), "EOG_MCP_TOKEN")?;
    settings.hosts.clone_from(&serve.hosts);
    settings.origins.clone_from(&serve.origins);
    let usual = if serve.on_call.is_some() { MAX_ALERTS } else { MAX_BODY };
    settings.max_body_bytes =
        usize::try_from(serve.max_body.unwrap_or(usual)).unwrap_or(usize::MAX);
    settings.grace = serve.grace;
    settings.protect(address)?;
    Ok((address, settings))
}

/// The token from its file or the environment, never from the command line, which others can see.
pub(crate) fn token(file: Option<&Path>, variable: &str) -> Result<Option<Token>, CliError> {
    let (text, from) = match file {
        Some(path) => {
            let unusable = |reason: String| CliError::Input { path: path.to_owned(), reason };
            let meta = path.metadata().map_err(|error| unusable(error.to_string()))?;
            if meta.len() > MAX_TOKEN {
                return Err(unusable(format!("it is longer than {MAX_TOKEN} bytes")));
            }
            let text = std::fs::read_to_string(path).map_err(|e| unusable(e.to_string()))?;
            (text, path.display().to_string())
        }
        None => match std::env::var(variable) {
            Ok(text) => (text, variable.to_owned()),
            Err(_) => return Ok(None),
        },
    };
    Token::new(&text)
        .map(Some)
        .map_err(|error| CliError::Usage(clean_line(&format!("{from}: {error}"))))
}
