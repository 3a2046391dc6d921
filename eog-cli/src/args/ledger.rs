//! Commands on ledgers.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgGroup, Args, ValueEnum};

use super::codes::READING_CODES;
use super::parse::{parse_file, parse_seconds};
use super::{Attempts, Format, History, Judging, Reading};

const REPLAY_CODES: &str = "\
Exit codes:
  0    an origin that explains at least one alert was found
  1    output could not be written, or not a single evaluation led to a decision
  2    wrong command line
  3    inconclusive: no origin found
  4    the ledger cannot be used: it cannot be read, was changed, or cannot be derived again";

#[derive(Debug, Args)]
#[command(after_help = REPLAY_CODES)]
pub(crate) struct Replay {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// List the entries instead of the report, one per line: number, entity, label, why it was judged,
    /// what changed, which entities became active. `eog fork --at` takes these numbers.
    #[arg(long, conflicts_with = "format")]
    pub(crate) entries: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print the whole text report, with every piece of evidence and its query.
    ///
    /// Also lists entities that only pass an effect on, alerts, and notes. Without it, the report can be read in
    /// half a minute.
    #[arg(long, short)]
    pub(crate) verbose: bool,
}

/// The ledger whose tree is printed.
#[derive(Debug, Args)]
#[command(after_help = READING_CODES)]
pub(crate) struct Tree {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// Output format.
    #[arg(long, value_enum, default_value_t = TreeFormat::Text)]
    pub(crate) format: TreeFormat,
}

/// The formats of a search tree.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum TreeFormat {
    /// One node a line.
    Text,
    /// Every node with all its fields, best score, pruned nodes and rounds without progress.
    Json,
}

const REPORT_HELP: &str = "\
Exit codes:
  0    printed or written
  1    the file could not be written
  2    wrong command line
  4    the ledger or PATH cannot be used; the message names the file, the place and the reason

Examples:
  eog report result
  eog report result --html report.html
  eog report result examples/flash-sale --html report.html";

/// Options for reading PATH need PATH.
fn of_path() -> ArgGroup {
    ArgGroup::new("of_path").args(["cache", "max_memory", "strict"]).multiple(true).requires("path")
}

#[derive(Debug, Args)]
#[command(after_help = REPORT_HELP, group = of_path())]
pub(crate) struct HtmlReport {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// Folder with the incident: the bundle or snapshot that the ledger started from. Without it the
    /// page has no charts. An unfinished capture of live sources beside the journal is refused.
    pub(crate) path: Option<PathBuf>,

    /// Write the page to this file and print nothing. A file with this name is replaced.
    #[arg(long, value_name = "FILE", value_parser = parse_file, conflicts_with_all = ["format", "verbose"])]
    pub(crate) html: Option<PathBuf>,

    /// Output format of what is printed.
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub(crate) format: Format,

    /// Print the whole text report, with every piece of evidence and its query.
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE", requires = "path")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) history: History,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

#[derive(Debug, Args)]
#[command(after_help = READING_CODES, group = of_path())]
pub(crate) struct Explain {
    /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) ledger: PathBuf,

    /// The entity.
    pub(crate) entity: String,

    /// What was investigated. With it, commands are printed that show the evidence. A different incident is
    /// refused; live sources and MCP servers are not queried, only a finished capture beside the journal is compared.
    pub(crate) path: Option<PathBuf>,

    /// Application architecture (JSON) that belongs to the snapshot, for these commands.
    #[arg(long, value_name = "FILE", requires = "path")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    // What judges the last packet again, whole and without each finding and message in turn.
    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Time-out for one attempt at a policy call, in seconds. Default: 120; none for a language
    /// model, since each request to it has its own time-out (llm.timeout_s in eog.toml).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) policy_timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) attempts: Attempts,
}

#[derive(Debug, Args)]
#[command(after_help = READING_CODES)]
pub(crate) struct Diff {
    /// The first ledger, or a folder written by `--out`.
    pub(crate) first: PathBuf,

    /// The second ledger, or a folder written by `--out`.
    pub(crate) second: PathBuf,
}
