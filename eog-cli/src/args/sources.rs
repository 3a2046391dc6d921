//! Commands around live sources, and what sets eog up.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use eog::Window;

use super::codes::{WRITING_CODES, printing_codes, writing_codes};
use super::parse::parse_window;

const CAPTURE_HELP: &str = "\
Exit codes:
  0    captured; missing parts are printed and recorded in capture.json
  1    the folder cannot be written
  2    wrong command line, a window in the future, or a folder that is already in use
  4    the configuration cannot be used, no source returned data, or with --strict something was
       missing
  130  interrupted; run the same command again to continue

Examples:
  eog capture --from source.toml --out incident
  eog capture --from source.toml --out incident --window 2026-01-01T10:00:00Z/2026-01-01T10:40:00Z";

#[derive(Debug, Args)]
#[command(after_help = CAPTURE_HELP)]
pub(crate) struct Capture {
    /// The configuration of the live sources (see docs/live-sources.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,

    /// Time window to investigate, as START/END in RFC 3339. The time before it is captured as well
    /// (`history` in the configuration). Default: up to now; the window is then chosen from the alerts when the
    /// bundle is investigated.
    #[arg(long, value_name = "START/END", value_parser = parse_window)]
    pub(crate) window: Option<Window>,

    /// Folder to write to: a new or empty one, or that of an interrupted capture.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Exit with code 4 if anything was missing. The capture is still written.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Do not print progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const IMPORT_HELP: &str = "\
Exit codes:
  0    imported; the use of each file is printed, and what was not used is in capture.json
  1    the folder cannot be written
  2    wrong command line, or a folder that is not empty
  4    no file can be used, or with --strict something cannot

Examples:
  eog import incident cluster-dump/ alerts.json traces.json cart.log
  kubectl get all,events -A -o yaml > cluster.yaml && eog import incident cluster.yaml
  eog import incident app.log --entity cart && eog investigate incident";

#[derive(Debug, Args)]
#[command(after_help = IMPORT_HELP)]
pub(crate) struct Import {
    /// Folder to write to: a new or empty one.
    #[arg(value_name = "OUT")]
    pub(crate) out: PathBuf,

    /// Files, folders, and archives (tar, gzip). Files are recognised by content.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// The entity of log lines, changes and panels that do not name one. Default: the name of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) entity: Option<String>,

    /// Name of the incident. Default: the name of the folder.
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Time window to investigate, as START/END in RFC 3339. Default: chosen from the alerts.
    #[arg(long, value_name = "START/END", value_parser = parse_window)]
    pub(crate) window: Option<Window>,

    /// Exit with code 4 if anything could not be used. The folder is still written.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Do not print progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const INIT_HELP: &str = concat!(
    writing_codes!(),
    "\n\n\
Examples:
  eog init source && eog check source.toml
  eog init settings
  eog init bundle incident-17"
);

#[derive(Debug, Args)]
#[command(after_help = INIT_HELP)]
pub(crate) struct Init {
    /// What to write.
    #[arg(value_enum)]
    pub(crate) what: Initial,

    /// File or folder to write. Must not exist yet. Default: source.toml, eog.toml,
    /// oncall.toml or incident.
    #[arg(value_name = "PATH")]
    pub(crate) path: Option<PathBuf>,
}

/// What `eog init` writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Initial {
    /// `source.toml`: the live sources.
    Source,
    /// `eog.toml`: the policy and the language models.
    Settings,
    /// `oncall.toml`: what `eog serve --on-call` does with alerts.
    OnCall,
    /// An empty incident bundle.
    Bundle,
}

const CHECK_HELP: &str = "\
Exit codes:
  0    everything can be used
  1    output could not be written
  2    wrong command line
  4    something cannot be used; the message names the file, the place and the reason

Examples:
  eog check source.toml
  eog check eog.toml
  eog check incident-17";

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct Check {
    /// A configuration of live sources, MCP servers or `eog serve --on-call`, a settings file, or the
    /// folder of a bundle or a snapshot, recognised by content.
    pub(crate) file: PathBuf,

    /// Check only the file, and do not query the live sources.
    #[arg(long)]
    pub(crate) offline: bool,
}

const COMPLETIONS_HELP: &str = concat!(
    printing_codes!(),
    "\n\n\
Examples:
  eog completions bash > /etc/bash_completion.d/eog
  eog completions zsh > ~/.zfunc/_eog
  eog completions fish > ~/.config/fish/completions/eog.fish"
);

#[derive(Debug, Args)]
#[command(after_help = COMPLETIONS_HELP)]
pub(crate) struct Completions {
    /// The shell.
    #[arg(value_enum)]
    pub(crate) shell: Shell,
}

#[derive(Debug, Args)]
#[command(after_help = WRITING_CODES)]
pub(crate) struct Man {
    /// Folder to write the pages to, one for each command. Created if missing; pages with these names are
    /// replaced.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,
}
