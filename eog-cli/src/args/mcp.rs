//! The options of `eog mcp`.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};

use super::reading::parse_size;
use super::{Calls, Judging, Reading, parse_seconds};

#[derive(Debug, Args)]
pub(crate) struct Mcp {
    #[command(subcommand)]
    pub(crate) command: McpCommand,
}

#[derive(Debug, Subcommand)]
pub(crate) enum McpCommand {
    /// Offer investigations and the tools over snapshots to agents.
    ///
    /// Without --http one client is served on standard input and output, which is how clients start
    /// a server. docs/mcp.md has the configuration of the common ones, ready to paste.
    Serve(Box<Serve>),
}

const SERVE_HELP: &str = "\
Environment:
  EOG_MCP_TOKEN  the token that clients must send, if --token-file names none: 16 to 1024
                 letters, digits and signs of ASCII

Examples:
  eog mcp serve --root ~/incidents --state ~/.local/state/eog
  eog mcp serve --root ~/incidents --state ~/.local/state/eog --http 127.0.0.1:8765
  EOG_MCP_TOKEN=$(openssl rand -hex 32) eog mcp serve --root /data --state /var/lib/eog \\
      --http 0.0.0.0:8765 --allow-host eog.example.org";

#[derive(Debug, Args)]
#[command(after_help = SERVE_HELP)]
pub(crate) struct Serve {
    /// Folder below which clients may name incidents. May be given several times. Nothing outside
    /// can be read, by links neither.
    #[arg(long = "root", value_name = "DIR", required = true)]
    pub(crate) roots: Vec<PathBuf>,

    /// Folder in which investigations are stored, each with its journal, ledger and report. Made if
    /// absent. Must not lie below a --root.
    #[arg(long, value_name = "DIR")]
    pub(crate) state: PathBuf,

    /// Application architecture (JSON) for all snapshots, unless a call names another.
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

    /// Most investigations that stay in --state. When one more begins, the oldest that does not run is
    /// removed with its journal, whether it finished or was interrupted.
    #[arg(long, value_name = "N", default_value = "1000")]
    pub(crate) keep: NonZeroUsize,

    /// Most memory for folders that were read, such as 1G, by the size of their files. Those that
    /// were not used for longest make room.
    #[arg(long, value_name = "SIZE", default_value = "1G", value_parser = parse_size)]
    pub(crate) max_loaded: u64,

    /// Most investigations at once: as many as there are cores if absent.
    #[arg(long, value_name = "N")]
    pub(crate) max_running: Option<NonZeroUsize>,

    /// Most investigations that wait for their turn; more are refused.
    #[arg(long, value_name = "N", default_value_t = 256)]
    pub(crate) max_waiting: usize,

    /// Longest time for one investigation, in seconds. What was found by then is the result.
    #[arg(long, value_name = "SECONDS", default_value = "3600", value_parser = parse_seconds)]
    pub(crate) max_time: Duration,

    /// Serve HTTP at this address instead of standard input and output. The endpoint is /mcp. An
    /// address that other machines can reach needs a token and --allow-host.
    #[arg(long, value_name = "ADDRESS:PORT")]
    pub(crate) http: Option<SocketAddr>,

    /// File with the token that clients must send as `Authorization: Bearer TOKEN`: 16 to 1024
    /// letters, digits and signs of ASCII, without spaces.
    #[arg(long, value_name = "FILE", requires = "http")]
    pub(crate) token_file: Option<PathBuf>,

    /// Name by which clients call the server, beside localhost. May be given several times.
    #[arg(long = "allow-host", value_name = "NAME", requires = "http")]
    pub(crate) hosts: Vec<String>,

    /// Web page that may call, such as https://inspector.example.org. May be given several times.
    #[arg(long = "allow-origin", value_name = "ORIGIN", requires = "http")]
    pub(crate) origins: Vec<String>,

    /// Longest body of a request.
    #[arg(long, value_name = "SIZE", default_value = "1M", value_parser = parse_size, requires = "http")]
    pub(crate) max_body: u64,

    /// How long a client whose connection broke in a call may take to come back, in seconds. Then
    /// its calls are cancelled.
    #[arg(long, value_name = "SECONDS", default_value = "10", value_parser = parse_seconds,
          requires = "http")]
    pub(crate) grace: Duration,
}
