//! The options of a run that is watched in the browser.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::Args;

use super::parse_address;

const IN_THE_BROWSER: &str = "In the browser";

// A run that is watched in the browser. (No documentation comment: clap would make it the description of
// the command.)
#[derive(Debug, Args)]
pub(crate) struct LiveArgs {
    /// Serve a page that shows the run in the browser: what is judged, what it costs, and the report
    /// so far. It can be stopped there, questions answered, and candidates ruled out; after that the
    /// investigation goes on. The page stays until Ctrl-C, and each result is printed when it is there.
    /// An address that other machines can reach requires a token and --live-host.
    #[arg(long, value_name = "ADDRESS:PORT", value_parser = parse_address, num_args = 0..=1, require_equals = true,
          default_missing_value = "127.0.0.1:0", help_heading = IN_THE_BROWSER)]
    pub(crate) live: Option<SocketAddr>,

    /// File with the token that the page asks for: 16 to 1024 printable ASCII characters without
    /// spaces. Without it the environment variable EOG_LIVE_TOKEN is used, if it is set.
    #[arg(long, value_name = "FILE", requires = "live", help_heading = IN_THE_BROWSER)]
    pub(crate) live_token_file: Option<PathBuf>,

    /// Host name by which browsers call the page, in addition to localhost. May be given several
    /// times.
    #[arg(long = "live-host", value_name = "NAME", requires = "live", help_heading = IN_THE_BROWSER)]
    pub(crate) live_hosts: Vec<String>,
}
