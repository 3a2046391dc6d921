//! `eog mcp serve` and `eog serve`: agents and browsers as the users of eog.

use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use eog_mcp::server::{ServeError, Server, Settings, Toolset};
use eog_oncall::OnCall;

use crate::args::{ListedTools, Mcp, McpCommand, Serve};
use crate::error::{CliError, Exit};
use crate::front::Front;
use crate::http::http;
use crate::interrupt::interrupted;
use crate::rules::choose;
use crate::runtime::LAST;

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
