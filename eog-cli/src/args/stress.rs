//! The options of `eog stress`.

use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use super::parse::parse_seconds;
use super::{Calls, Judging, Start};

/// The longest delay that may be injected, in seconds.
const MAX_DELAY: f64 = 60.0;

const STRESS_HELP: &str = "\
How to read it:
  All runs get the same answer to the same packet. So where results differ, the
  order of evaluation made the difference, and neither result is reliable. The
  output shows the smallest change of order that changes the result, and the
  entities that end with another label.

Exit codes:
  0    all runs have the same frontier and minimum cover
  1    output could not be written, not a single evaluation led to a decision,
       or delays alone changed a ledger (a defect of eog)
  2    wrong command line
  3    some runs have another result
  4    the input cannot be used; the message names the file, the place and the reason
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP); the runs so far are reported

Examples:
  eog stress examples/flash-sale
  eog stress Scenario-2 --architecture architecture.json --runs 200 --out order
  eog diff order/baseline.jsonl order/differing.jsonl
  eog stress examples/flash-sale --seed 2 --width 1,16 --format json
  eog stress Scenario-2 --policy command:./triage.py --runs 20 --shrink-runs 20";

#[derive(Debug, Args)]
#[command(after_help = STRESS_HELP)]
pub(crate) struct Stress {
    #[command(flatten)]
    pub(crate) start: Start,

    /// Number of runs with another order, in addition to the baseline.
    #[arg(long, value_name = "N", default_value_t = 40,
          value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub(crate) runs: u32,

    /// Seed of every permutation, order, width and delay: the same seed gives the same result.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Widths to choose from (number of evaluations in progress at once). Each run uses one of them.
    #[arg(long, value_name = "N,N,…", value_delimiter = ',', default_value = "1,2,4,8",
          value_parser = parse_width)]
    pub(crate) width: Vec<NonZeroU32>,

    /// Maximum injected delay of a context or a decision, in seconds; 0 injects none.
    #[arg(long, value_name = "SECONDS", default_value = "0.003", value_parser = parse_delay)]
    pub(crate) max_delay: Duration,

    /// Maximum number of further runs to shrink a differing one; 0 shows it unchanged.
    #[arg(long, value_name = "N", default_value_t = 100,
          value_parser = clap::value_parser!(u32).range(..=100_000))]
    pub(crate) shrink_runs: u32,

    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Time-out for one attempt at a policy call, in seconds. Default: 120; none for a language
    /// model, since each request to it has its own time-out (llm.timeout_s in eog.toml).
    #[arg(long, value_name = "SECONDS", value_parser = parse_seconds)]
    pub(crate) policy_timeout: Option<Duration>,

    #[command(flatten)]
    pub(crate) calls: Calls,

    /// Folder that caches decisions, as for `eog investigate`. A policy whose answers vary is then not called
    /// again for packets of an earlier test.
    #[arg(long, value_name = "DIR")]
    pub(crate) memory: Option<PathBuf>,

    /// Folder for baseline.jsonl and differing.jsonl, the ledgers of the smallest differing pair, if
    /// there is one. Created if missing; files with these names are replaced, and removed if no run
    /// differs.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,

    /// Output format.
    #[arg(long, value_enum, default_value_t = StressFormat::Text)]
    pub(crate) format: StressFormat,

    /// Do not print progress or how --memory was used.
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum StressFormat {
    /// For people, in colour on a terminal.
    Text,
    /// The whole result for programs.
    Json,
}

fn parse_width(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| "expected whole numbers from 1 on, such as 1,2,4,8".to_owned())
}

fn parse_delay(text: &str) -> Result<Duration, String> {
    let seconds = text.parse().ok().filter(|seconds| (0.0..=MAX_DELAY).contains(seconds));
    let seconds = seconds.ok_or("expected a number of seconds from 0 to 60")?;
    Ok(Duration::from_secs_f64(seconds))
}
