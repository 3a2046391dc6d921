//! Verifying a diagnosis after a repair.

use std::path::PathBuf;

use clap::{Args, ValueEnum};
use eog::Timestamp;

use super::Reading;
use super::parse::parse_instant;

const VERIFY_HELP: &str = "\
Exit codes:
  0    verified: all that the cause explains returned in time after the repair
  1    output could not be written
  2    wrong command line
  3    not verified: withdrawn, partial, too early or undecided; `verdict` in JSON says which
  4    RUN or INPUT cannot be used, or no intervention is on record; the message says why, and what to do

Examples:
  eog verify result --after source.toml
  eog verify result --after later --at 2026-03-20T12:31:00Z --action 'sale stopped'
  eog verify result --after later --format json";

#[derive(Debug, Args)]
#[command(after_help = VERIFY_HELP)]
pub(crate) struct Verify {
    /// The run that made the diagnosis: a ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    #[arg(value_name = "RUN")]
    pub(crate) ledger: PathBuf,

    /// Records of the same system that cover the incident and the time after the repair: a bundle, a snapshot, or a
    /// file that names live sources, which are captured from the beginning of the run's window to now.
    #[arg(long, value_name = "INPUT")]
    pub(crate) after: PathBuf,

    /// Time of the repair (RFC 3339). Default: that of the change on record that undoes the cause, or else of the
    /// first change of its entities after the last alert that it explains.
    #[arg(long, value_name = "TIME", value_parser = parse_instant)]
    pub(crate) at: Option<Timestamp>,

    /// What was done at that time, in a few words.
    #[arg(long, value_name = "TEXT", requires = "at")]
    pub(crate) action: Option<String>,

    /// The cause that was repaired, where the run names several. Default: the first with a change on record.
    #[arg(long, value_name = "ENTITY")]
    pub(crate) cause: Option<String>,

    /// Output format.
    #[arg(long, value_enum, default_value_t = VerifyFormat::Text)]
    pub(crate) format: VerifyFormat,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,
}

/// The formats of a verification.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum VerifyFormat {
    /// For people, in colour on a terminal.
    Text,
    /// Every prediction with its deadline and outcome, for programs.
    Json,
}
