//! The options of `eog mcp`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand, ValueEnum};

use super::reading::parse_size;
use super::{Calls, Judging, Reading, parse_seconds};

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Offer investigations and the snapshot tools to agents over MCP.
    ///
    /// Without --http the server talks to one client over standard input and output, which is how
    /// clients start a server. docs/mcp.md has configurations for common clients, ready to paste.
    ///
    /// Ctrl-C, SIGTERM or SIGHUP ends the server within 5 seconds. Investigations that are running
    /// are interrupted, and `resume` continues them. A second signal ends it at once.
    Serve(Box<Serve>),
}

/// Which tools clients are shown.
#[derive(Clone, Copy, Debug, Default, ValueEnum)]
pub(crate) enum Toolset {
    /// For agents.
    #[default]
    Compact,
    /// For programs.
    Full,
}

/// Where `eog serve` serves unless told otherwise.
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
    /// Folder whose incidents clients may read. May be given several times. Nothing outside these
    /// folders can be read, not even through links. Not needed with --on-call, whose captures can
    /// always be read.
    #[arg(long = "root", value_name = "DIR", required_unless_present = "on_call")]
    pub(crate) roots: Vec<PathBuf>,

    /// Investigate alerts that Alertmanager sends to /alerts, as this configuration says, and tell
    /// webhooks what was found (see docs/on-call.md). Only with HTTP.
    #[arg(long, value_name = "FILE")]
    pub(crate) on_call: Option<PathBuf>,

    /// Folder to store investigations in, each with its journal, ledger and report. Created if
    /// missing. Must be outside every --root.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: PathBuf,

    /// Application architecture (JSON) for all snapshots, unless a call names a different one.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // Who judges the investigations of clients.
    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Time-out for one attempt at a policy call, in seconds. Default: 120; none for a language
    /// model, since each request to it has its own time-out (llm.timeout_s in eog.toml).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) policy_timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) calls: Calls,

    /// Maximum number of investigations kept in --state. When one more begins, the oldest that is not
    /// running is deleted with its journal, whether it finished or was interrupted.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) keep: NonZeroUsize,

    /// Maximum size of the folders kept in memory, such as 1G, by the size of their files. The least
    /// recently used are dropped first.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_size)]
    pub(crate) max_loaded: u64,

    /// Maximum number of investigations that run at once. Default: the number of cores.
    #[arg(long, value_name = "N")]
    pub(crate) max_running: Option<NonZeroUsize>,

    /// Maximum number of investigations that wait for their turn; further ones are refused.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) max_waiting: usize,

    /// Maximum time for one investigation, in seconds. What was found by then is the result.
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = parse_seconds)]
    pub(crate) max_time: Duration,

    /// Which tools clients are shown: `compact` has one tool, `query`, for all tables of a snapshot and
    /// no schemas of answers, so that the list fits into the prompt of an agent; `full` has a tool for
    /// each table and all schemas. All can be called by name either way.
    #[arg(long, value_name = "SET", value_enum, default_value_t)]
    pub(crate) toolset: Toolset,

    /// Serve HTTP at this address: MCP at /mcp, pages at /. Without it `eog mcp serve` talks over
    /// standard input and output, and `eog serve` takes 127.0.0.1:8765. An address that other
    /// machines can reach requires a token and --allow-host.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,

    /// File with the token that clients must send as `Authorization: Bearer TOKEN`: 16 to 1024
    /// printable ASCII characters without spaces.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Host name by which clients call the server, in addition to localhost. May be given several
    /// times.
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,

    /// Origin of a web page that may call the server, such as https://inspector.example.org. May be
    /// given several times.
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,

    /// Maximum size of a request body. Default: 1M; 16M with --on-call, since Alertmanager sends all
    /// alerts of a group in one request.
    #[arg(long, value_name = "SIZE", value_parser = parse_size, requires = "http")]
    pub(crate) max_body: Option<u64>,

    /// How long a client whose connection broke during a call may take to reconnect, in seconds.
    /// After that its calls are cancelled.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds,
          requires = "http")]
    pub(crate) grace: Duration,
}
