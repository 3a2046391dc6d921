//! The options of a run that is watched in the browser.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::parse::parse_address;

const IN_THE_BROWSER: &str = "In the browser";

// A run that is watched in the browser. (No documentation comment: clap would make it the description of
// the command.)
#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    /// Serve a live page of the run, by default on localhost.
    ///
    /// It shows the evaluations, the cost and the report so far. You can stop the run there, answer its
    /// questions and rule candidates out; the investigation then continues. The page is served until Ctrl-C, and
    /// each result is also printed. An address that other machines can reach requires a token and --live-host.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address, num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:0", help_heading = IN_THE_BROWSER)]
    pub(crate) live: Option<SocketAddr>,

    /// File with the token that the page asks for: 16 to 1024 printable ASCII characters without
    /// spaces. Without it the environment variable EOG_LIVE_TOKEN is used, if it is set.
    #[arg(long, hide_short_help = true, value_name = "FILE", requires = "live", help_heading = IN_THE_BROWSER)]
    pub(crate) live_token_file: Option<PathBuf>,

    /// Host name by which browsers reach the page, in addition to localhost. Can be repeated.
    #[arg(long = "live-host", hide_short_help = true, value_name = "NAME", requires = "live", help_heading = IN_THE_BROWSER)]
    pub(crate) live_hosts: Vec<String>,
}
