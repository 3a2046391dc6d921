//! The options of `eog mcp`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
#[cfg(feature = "serve")]
use std::path::Path;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::parse::{parse_address, parse_seconds};
use super::reading::parse_size;
use super::{Calls, Judging, Reading};
#[cfg(feature = "serve")]
use crate::error::CliError;

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Serve investigations and the tools of `eog tool` to agents over MCP.
    ///
    /// Without --http the server communicates with one client over standard input and output, as when a client
    /// starts it. docs/mcp.md has configurations for common clients, ready to paste.
    ///
    /// Ctrl-C, SIGTERM or SIGHUP ends the server within 5 seconds. Investigations that are running
    /// are interrupted, and `resume` continues them. A second signal ends it at once.
    Serve(Box<Serve>),
}

/// Which tools clients see.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Toolset {
    /// For agents.
    #[default]
    Compact,
    /// For programs.
    Full,
}

/// The default address of `eog serve`.
#[cfg(feature = "serve")]
pub(crate) const SERVED_AT: SocketAddr =
    SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 8765);

const SERVE_HELP: &str = "\
Exit codes:
  0    the client disconnected, or a signal ended the server
  2    wrong command line, or the server cannot start with these options
  4    a file that an option names cannot be used
  130  a second signal ended the server at once

Environment:
  EOG_MCP_TOKEN  the token that clients must send, unless --token-file is given: 16 to 1024
                 printable ASCII characters without spaces

Examples:
  eog mcp serve --root ~/incidents --state ~/.local/state/eog
  eog serve --root ~/incidents --state ~/.local/state/eog
  eog serve --on-call oncall.toml --state ~/.local/state/eog
  EOG_MCP_TOKEN=$(openssl rand -hex 32) eog mcp serve --root /data --state /var/lib/eog \\
      --http 0.0.0.0:8765 --allow-host eog.example.org";

#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct Serve {
    /// Folder whose incidents clients may read. Can be repeated. Nothing outside these folders can be read, not
    /// even through links. Not needed with --on-call, whose captures can always be read.
    #[cfg_attr(
        feature = "nats",
        arg(long = "root", value_name = "DIR", required_unless_present_any = ["on_call", "url"])
    )]
    #[cfg_attr(
        not(feature = "nats"),
        arg(long = "root", value_name = "DIR", required_unless_present = "on_call")
    )]
    pub(crate) roots: Vec<PathBuf>,

    /// Configuration of the on-call service: investigates the alerts that Alertmanager sends to /alerts and
    /// posts the results to webhooks (see docs/on-call.md). Only with HTTP.
    #[arg(long, value_name = "FILE")]
    pub(crate) on_call: Option<PathBuf>,

    /// Folder that stores the investigations, each with its journal, ledger and report. Created if
    /// missing. Must be outside every --root.
    #[cfg_attr(feature = "nats", arg(long, value_name = "DIR", required_unless_present = "url"))]
    #[cfg_attr(not(feature = "nats"), arg(long, value_name = "DIR", required = true))]
    state: Option<PathBuf>,

    #[cfg(feature = "nats")]
    #[command(flatten)]
    pub(crate) nats: super::nats::NatsMaking,

    /// Application architecture (JSON) for all snapshots, unless a call names a different one.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // What judges the investigations of clients.
    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Time-out for one attempt at a policy call, in seconds. Default: 120; none for a language
    /// model, since each request to it has its own time-out (llm.timeout_s in eog.toml).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) policy_timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) calls: Calls,

    /// Maximum number of investigations kept in --state. When a new one starts beyond that, the oldest that is
    /// not running is deleted with its journal, whether it finished or was interrupted.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) keep: NonZeroUsize,

    /// Folder of cases for `close_incident`. Default: `cases` in --state. `eog cases --cases FOLDER` works with it.
    #[arg(long, value_name = "FOLDER")]
    pub(crate) cases: Option<PathBuf>,

    /// Maximum total size of incidents kept in memory, such as 1G, by the size of their files; each counts as
    /// 64K at least. The least recently used are dropped first.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_size)]
    pub(crate) max_loaded: u64,

    /// Maximum number of concurrent investigations. Default: the number of cores.
    #[arg(long, value_name = "N")]
    pub(crate) max_running: Option<NonZeroUsize>,

    /// Maximum number of queued investigations; further ones are refused.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) max_waiting: usize,

    /// Maximum time for one investigation, in seconds. Its result is what was found by then.
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = parse_seconds)]
    pub(crate) max_time: Duration,

    /// Which tools clients see: `compact` has one tool, `query`, for all tables of an incident and no output
    /// schemas, so that the list fits into the prompt of an agent; `full` has a tool for each table and all
    /// schemas. All tools can be called by name in either case.
    #[arg(long, value_name = "SET", value_enum, default_value_t)]
    pub(crate) toolset: Toolset,

    /// Serve HTTP at this address: MCP at /mcp, pages at /. Without it `eog mcp serve` uses standard input and
    /// output, and `eog serve` uses 127.0.0.1:8765. An address that other machines can reach requires a
    /// token and --allow-host.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address)]
    pub(crate) http: Option<SocketAddr>,

    /// File with the token that clients must send as `Authorization: Bearer TOKEN`: 16 to 1024
    /// printable ASCII characters without spaces.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Host name by which clients reach the server, in addition to localhost. Can be repeated.
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,

    /// Origin of a web page that may call the server, such as https://inspector.example.org. Can be repeated.
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,

    /// Maximum size of a request body. Default: 1M; 16M with --on-call, since Alertmanager sends all
    /// alerts of a group in one request.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "http")]
    pub(crate) max_body: Option<u64>,

    /// Time for a client to reconnect after its connection broke during a call, in seconds. After that its
    /// calls are cancelled.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds,
          requires = "http")]
    pub(crate) grace: Duration,
}

#[cfg(feature = "serve")]
impl Serve {
    /// The folder of --state.
    ///
    /// # Errors
    /// [`CliError::Usage`] where there is none.
    pub(crate) fn state(&self) -> Result<&Path, CliError> {
        let missing = || CliError::Usage("give a folder for the state with --state".to_owned());
        self.state.as_deref().ok_or_else(missing)
    }
}

/// Options of `eog serve` that only act where it runs investigations itself, beside those of the policy.
#[cfg(feature = "nats")]
const OF_RUNS: [&str; 8] = [
    "architecture",
    "policy_timeout",
    "keep",
    "max_loaded",
    "max_running",
    "max_waiting",
    "max_time",
    "toolset",
];

/// Refuses options of a server that was started with this command line and would not act: most of them with
/// --nats, since workers investigate, and those of NATS without it.
#[cfg(feature = "nats")]
pub(crate) fn acts_on_cluster(matches: &clap::ArgMatches) -> Result<(), CliError> {
    use clap::parser::ValueSource;
    let serve = match matches.subcommand() {
        Some(("serve", serve)) => serve,
        Some(("mcp", mcp)) => match mcp.subcommand() {
            Some(("serve", serve)) => serve,
            _ => return Ok(()),
        },
        _ => return Ok(()),
    };
    let ids = |command: clap::Command| -> Vec<String> {
        command.get_arguments().map(|argument| argument.get_id().to_string()).collect()
    };
    let of_nats = ids(super::nats::NatsMaking::augment_args(clap::Command::new("")));
    let mut of_runs = ids(Judging::augment_args(clap::Command::new("")));
    of_runs.extend(ids(Calls::augment_args(clap::Command::new(""))));
    of_runs.extend(OF_RUNS.map(str::to_owned));
    let is_given = |id: &str| serve.value_source(id) == Some(ValueSource::CommandLine);
    let (is_on_cluster, is_on_call) = (is_given("url"), is_given("on_call"));
    for argument in Serve::augment_args(clap::Command::new("")).get_arguments() {
        let id = argument.get_id().as_str();
        if !is_given(id) {
            continue;
        }
        let is_of = |ids: &[String]| ids.iter().any(|other| other == id);
        let why = match is_on_cluster {
            true if is_of(&of_runs) => "has no effect with --nats: workers judge; omit it",
            true if id == "state" && !is_on_call => {
                "has no effect with --nats except for --on-call; omit it"
            }
            false if is_of(&of_nats) => "has no effect without --nats; omit it, or give --nats",
            _ => continue,
        };
        let option = argument.get_long().unwrap_or(id);
        return Err(CliError::Usage(format!("--{option} {why}")));
    }
    Ok(())
}

#[cfg(all(test, feature = "nats"))]
mod tests {
    use clap::CommandFactory as _;

    use super::*;
    use crate::args::Cli;

    #[test]
    fn options_that_do_nothing_are_refused() {
        let check = |line: &str| {
            let matches = Cli::command().try_get_matches_from(line.split(' ')).unwrap();
            acts_on_cluster(&matches).err().map(|error| error.to_string()).unwrap_or_default()
        };
        for line in [
            "eog serve --nats nats://a --root r --cache c --strict --max-memory 1G",
            "eog serve --nats nats://a --state s --on-call o --nats-prefix p",
            "eog serve --root r --state s --model a/b --keep 5",
            "eog mcp serve --root r --state s",
            "eog list --nats-prefix p",
        ] {
            assert_eq!(check(line), "", "{line}");
        }
        for (line, said) in [
            ("eog serve --nats nats://a --model a/b", "--model has no effect with --nats"),
            ("eog serve --nats nats://a --keep 1000", "--keep has no effect with --nats"),
            ("eog mcp serve --nats nats://a --retries 2", "--retries has no effect with --nats"),
            ("eog serve --nats nats://a --state s", "--state has no effect"),
            ("eog serve --root r --state s --nats-prefix p", "--nats-prefix has no effect without"),
        ] {
            assert!(check(line).starts_with(said), "{line}: {}", check(line));
        }
    }
}
