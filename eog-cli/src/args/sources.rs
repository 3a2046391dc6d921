//! Commands around live sources, and what sets eog up.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use clap_complete::Shell;
use eog::Window;

use super::{WRITING_CODES, parse_window, printing_codes, writing_codes};

const CAPTURE_HELP: &str = "\
Exit codes:
  0    captured; what was missing is printed and in capture.json
  1    the folder cannot be written
  2    wrong command line, a window in the future, or a folder that is taken
  4    the configuration cannot be used, no source gave anything, or with --strict something was
       missing
  130  interrupted; the same command goes on where it was

Examples:
  eog capture --from source.toml --out incident
  eog capture --from source.toml --out incident --window 2026-01-01T10:00:00Z/2026-01-01T10:40:00Z";

#[derive(Debug, Args)]
#[command(after_help = CAPTURE_HELP)]
pub(crate) struct Capture {
    /// The configuration of the live sources (see docs/live-sources.md).
    #[arg(long, value_name = "FILE")]
    pub(crate) from: PathBuf,

    /// Time window to investigate, as START/END in RFC 3339. What lies before it is captured as well
    /// (`history` of the configuration). Default: the last part of the time up to now, and the window is
    /// chosen from the alerts when it is investigated.
    #[arg(long, value_name = "START/END", value_parser = parse_window)]
    pub(crate) window: Option<Window>,

    /// Folder to write to: a new or empty one, or that of a capture which was interrupted.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// End with exit code 4 if anything was missing. The capture is written all the same.
    #[arg(long)]
    pub(crate) strict: bool,

    /// Do not print progress.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

const IMPORT_HELP: &str = "\
Exit codes:
  0    imported; what became of each file is printed, and what was not used is in capture.json
  1    the folder cannot be written
  2    wrong command line, or a folder that is not empty
  4    nothing of any file can be used, or with --strict something was not

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

    /// Files, folders, and archives (tar, gzip). Each is told by its content.
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,

    /// Who wrote log lines, and whom changes and panels are about, where files do not say so. Default: the name of the file.
    #[arg(long, value_name = "NAME")]
    pub(crate) entity: Option<String>,

    /// What the incident is called. Default: the name of the folder.
    #[arg(long)]
    pub(crate) name: Option<String>,

    /// Time window to investigate, as START/END in RFC 3339. Default: chosen from the alerts.
    #[arg(long, value_name = "START/END", value_parser = parse_window)]
    pub(crate) window: Option<Window>,

    /// End with exit code 4 if anything could not be used. The folder is written all the same.
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

/// What a user begins with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Initial {
    /// `source.toml`: which live sources there are.
    Source,
    /// `eog.toml`: who judges, and language models.
    Settings,
    /// `oncall.toml`: what `eog serve --on-call` does with alerts.
    OnCall,
    /// An empty bundle: a folder for the records of an incident.
    Bundle,
}

const CHECK_HELP: &str = "\
Exit codes:
  0    all of it can be used
  1    output could not be written
  2    wrong command line
  4    something cannot be used; the message names file, place and reason

Examples:
  eog check source.toml
  eog check eog.toml
  eog check incident-17";

#[derive(Debug, Args)]
#[command(after_help = CHECK_HELP)]
pub(crate) struct Check {
    /// A configuration of live sources, MCP servers or `eog serve --on-call`, a settings file, or the
    /// folder of a bundle or a snapshot, detected from its content.
    pub(crate) file: PathBuf,

    /// Do not ask the live sources what they offer: check the file alone.
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
