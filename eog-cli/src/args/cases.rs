//! Closed incidents.

use std::path::PathBuf;

use clap::{ArgGroup, Args, Subcommand, ValueEnum};
use eog::{EntityId, Timestamp};

use super::Judging;
use super::codes::{READING_CODES, WRITING_CODES};
#[cfg(feature = "nats")]
use super::{NatsArgs, NatsMaking};

const CLOSE_HELP: &str = "\
Exit codes:
  0    the case is stored
  1    it could not be written
  2    wrong command line, an unknown cause or change, or a case of this name
  4    the ledger or PATH cannot be used; the message names the file, the place and the reason

Examples:
  eog investigate examples/flash-sale --out result
  eog close result examples/flash-sale --cause recommendations
  eog close result examples/flash-sale --not-in-topology payment-provider --note 'their status page'
  eog close result examples/flash-sale --nothing-wrong";

const CHECK_CODES: &str = "\
Exit codes:
  0    no case became worse
  1    a case became worse, is damaged, or needs an answer that is not on record; or output could not
       be written
  2    wrong command line
  4    the folder or the weights cannot be used; the message names the file and the reason
  130  interrupted (Ctrl-C, SIGTERM, SIGHUP); the cases so far are reported

Examples:
  eog cases check
  eog cases check --weights weights.toml
  eog cases check --policy llm --model openai/gpt-5-mini --since 2026-10-01T00:00:00Z
  eog cases check --junit cases.xml";

/// Where cases are.
#[derive(Clone, Debug, Args)]
pub(crate) struct OfCases {
    /// Folder of cases. Default: ./cases. [env: EOG_CASES]
    #[arg(long, value_name = "FOLDER")]
    cases: Option<PathBuf>,
}

impl OfCases {
    /// The folder that is meant.
    pub(crate) fn folder(&self) -> PathBuf {
        let named = self.cases.clone().or_else(variable);
        named.unwrap_or_else(|| PathBuf::from("cases"))
    }
}

/// A history of incidents, for the list of similar ones.
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct History {
    /// Folder of cases: the report lists closed incidents like this one (see `eog close`). [env: EOG_CASES]
    #[arg(long, value_name = "FOLDER", hide_short_help = true)]
    cases: Option<PathBuf>,
}

impl History {
    /// The folder, if there is one: the one named, or that of the environment once it has cases.
    pub(crate) fn folder(&self) -> Option<PathBuf> {
        self.cases.clone().or_else(|| variable().filter(|folder| folder.is_dir()))
    }
}

/// The folder that the environment names.
fn variable() -> Option<PathBuf> {
    std::env::var_os("EOG_CASES").filter(|it| !it.is_empty()).map(PathBuf::from)
}

#[derive(Debug, Args)]
#[command(
    after_help = CLOSE_HELP,
    group = ArgGroup::new("truth").args(["cause", "not_in_topology", "nothing_wrong"]).multiple(true).required(true),
)]
pub(crate) struct Close {
    /// The investigation: a ledger (ledger.jsonl), a journal, or a folder written by `--out`.
    pub(crate) run: PathBuf,

    /// Folder with the incident: the bundle or snapshot that the ledger started from. A copy with secrets masked is kept, so
    /// that `eog cases check` can investigate it again. Without it only the ledger is kept.
    ///
    /// Of live sources (`source.toml`), what was captured for the journal is kept, which is beside it.
    pub(crate) path: Option<PathBuf>,

    /// An entity that was a cause. Can be repeated.
    #[arg(long, value_name = "ENTITY")]
    pub(crate) cause: Vec<EntityId>,

    /// The change that caused it, by the id of its finding or the beginning of it. Can be repeated.
    #[arg(long, value_name = "ID", requires = "cause")]
    pub(crate) change: Vec<String>,

    /// A cause that the topology does not have, such as an external service. Can be repeated.
    #[arg(long, value_name = "NAME")]
    pub(crate) not_in_topology: Vec<String>,

    /// Nothing was wrong.
    #[arg(long, conflicts_with_all = ["cause", "not_in_topology"])]
    pub(crate) nothing_wrong: bool,

    /// The causes were named, but their effects did not spread as reported.
    #[arg(long, requires = "cause")]
    pub(crate) path_wrong: bool,

    /// What else is worth knowing, at most 2000 characters.
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) note: String,

    /// Who says so. Default: the user of this process.
    #[arg(long, value_name = "WHO")]
    pub(crate) by: Option<String>,

    /// Application architecture (JSON) that belongs to a snapshot.
    #[arg(long, value_name = "FILE", requires = "path")]
    pub(crate) architecture: Option<PathBuf>,

    /// Replace the case of this investigation, if it was closed before.
    #[arg(long)]
    pub(crate) replace: bool,

    /// Maximum size of the packed incident.
    #[arg(long, value_name = "SIZE", default_value = "1GB", value_parser = super::reading::parse_size)]
    pub(crate) max_incident: u64,

    #[command(flatten)]
    pub(crate) of: OfCases,
}

/// Work with closed incidents.
///
/// `eog close` keeps an investigation with its incident and what was found to be true. From then on the case is graded,
/// counts in `stats`, and is investigated again by `check` whenever rules, weights, prompts or models change.
#[derive(Debug, Args)]
pub(crate) struct Cases {
    #[command(subcommand)]
    pub(crate) what: OnCases,
}

/// What is done with cases.
#[derive(Debug, Subcommand)]
pub(crate) enum OnCases {
    /// List the cases, the latest first.
    #[command(after_help = READING_CODES)]
    List {
        /// Output format.
        #[arg(long, value_enum, default_value_t = CasesFormat::Text)]
        format: CasesFormat,
        #[command(flatten)]
        of: OfCases,
    },
    /// Show one case: what was concluded, what was true, and its files.
    #[command(after_help = READING_CODES)]
    Show {
        /// The case.
        name: String,
        /// Output format.
        #[arg(long, value_enum, default_value_t = CasesFormat::Text)]
        format: CasesFormat,
        #[command(flatten)]
        of: OfCases,
    },
    /// Show what conclusions were worth: grades, words and probabilities.
    ///
    /// `confirmed`, `highly likely` and `likely` promise that 95 %, 90 % and 50 % of such conclusions name a cause. A word
    /// that does not keep its promise on 30 or more cases is marked. The curve compares probabilities with outcomes.
    #[command(after_help = READING_CODES)]
    Stats {
        /// Output format.
        #[arg(long, value_enum, default_value_t = CasesFormat::Text)]
        format: CasesFormat,
        #[command(flatten)]
        of: OfCases,
    },
    /// Find the cases most like an investigation.
    ///
    /// Incidents are compared by what was observed of the entity in question and by their alerts, never by text of the
    /// telemetry. What is rare among the cases counts more.
    #[command(after_help = READING_CODES)]
    Similar {
        /// A ledger (ledger.jsonl), a journal, or a folder written by `--out`.
        run: PathBuf,
        /// Most cases that are shown.
        #[arg(long, value_name = "N", default_value_t = 5)]
        most: usize,
        /// Output format.
        #[arg(long, value_enum, default_value_t = CasesFormat::Text)]
        format: CasesFormat,
        #[command(flatten)]
        of: OfCases,
    },
    /// Write a table of weights that has the cases as a prior.
    ///
    /// By this table, an entity is a little more probable as an origin where the same is observed of it as of the causes of
    /// closed cases: --weight times the mean likeness of the three nearest, as one more term of the sum, "closed cases". The
    /// latest 1,000 cases whose cause is an entity go into the table, as they are now. A case says nothing of an incident of
    /// the same time. Nothing uses the table until `--weights` or `weights` in eog.toml names it; ledgers name it by its
    /// digest.
    #[command(after_help = WRITING_CODES)]
    Prior {
        /// The table. A file with this name is replaced.
        #[arg(value_parser = super::parse::parse_file)]
        file: PathBuf,
        /// What full likeness adds to the natural log-odds, at most 1.
        #[arg(long, value_name = "LOG-ODDS", value_parser = parse_weight)]
        weight: i32,
        /// Table that the cases are added to, in place of the shipped one.
        #[arg(long, value_name = "FILE")]
        weights: Option<PathBuf>,
        #[command(flatten)]
        of: OfCases,
    },
    /// Investigate every case again, and compare.
    ///
    /// A case that the evidence policy judged is judged by it again, with the weights of `--weights` if they are given. One
    /// that a model or a program judged is answered from its ledger; a question that is not on record, as after a change of
    /// evidence, is reported as unanswered. `--policy` and `--model` have all cases judged anew. Where nothing
    /// changed the ledger is the same, byte for byte.
    #[command(after_help = CHECK_CODES)]
    Check(Box<CheckCases>),
    /// Write cases to an archive (tar.gz).
    #[command(after_help = WRITING_CODES)]
    Export {
        /// The archive. It must not exist.
        file: PathBuf,
        /// The cases; all of them unless any are named.
        names: Vec<String>,
        #[command(flatten)]
        of: OfCases,
    },
    /// Add the cases of an archive.
    ///
    /// Cases that are there already and the same are passed over.
    #[command(after_help = READING_CODES)]
    Import {
        /// The archive, as `eog cases export` writes it.
        file: PathBuf,
        /// Replace cases that differ.
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        of: OfCases,
    },
    /// Store cases on a NATS cluster, for other machines.
    ///
    /// Cases that are there already and the same are passed over. What is missing on the cluster is created.
    #[cfg(feature = "nats")]
    #[command(after_help = READING_CODES)]
    Push {
        /// The cases; all of them unless any are named.
        names: Vec<String>,
        /// Replace cases that differ.
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        of: OfCases,
        #[command(flatten)]
        nats: NatsMaking,
    },
    /// Add the cases of a NATS cluster, such as those of `eog serve --nats --on-call`.
    ///
    /// Cases that are there already and the same are passed over.
    #[cfg(feature = "nats")]
    #[command(after_help = READING_CODES)]
    Pull {
        /// The cases; all of them unless any are named.
        names: Vec<String>,
        /// Replace cases that differ.
        #[arg(long)]
        replace: bool,
        #[command(flatten)]
        of: OfCases,
        #[command(flatten)]
        nats: NatsArgs,
    },
    /// Remove cases: by name, by age, or all but the latest.
    #[command(
        after_help = WRITING_CODES,
        group = ArgGroup::new("which").args(["names", "before", "keep"]).required(true),
    )]
    Forget {
        /// The cases.
        names: Vec<String>,
        /// Remove those that were closed before this time.
        #[arg(long, value_name = "TIME")]
        before: Option<Timestamp>,
        /// Remove all but the latest so many.
        #[arg(long, value_name = "N")]
        keep: Option<usize>,
        #[command(flatten)]
        of: OfCases,
    },
}

/// How cases are investigated again.
#[derive(Debug, Args)]
pub(crate) struct CheckCases {
    /// The cases; all of them unless any are named.
    pub(crate) names: Vec<String>,

    /// Only cases that were closed at this time or later.
    #[arg(long, value_name = "TIME")]
    pub(crate) since: Option<Timestamp>,

    /// How many cases are investigated at a time, at most 64. Default: one for each processor core. The result is the same.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=64))]
    pub(crate) concurrency: Option<u8>,

    /// List all cases, not only those that changed.
    #[arg(long, short)]
    pub(crate) verbose: bool,

    /// Output format.
    #[arg(long, value_enum, default_value_t = CasesFormat::Text)]
    pub(crate) format: CasesFormat,

    /// Write the results to this file as JUnit XML. A file with this name is replaced.
    #[arg(long, value_name = "FILE", value_parser = super::parse::parse_file)]
    pub(crate) junit: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) of: OfCases,

    #[command(flatten)]
    pub(crate) judging: Judging,
}

/// The formats of lists and tables of cases.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum CasesFormat {
    /// For people.
    Text,
    /// For programs.
    Json,
}

/// Log-odds as thousandths.
fn parse_weight(text: &str) -> Result<i32, String> {
    let weight = text.parse().ok().filter(|it: &f64| *it > 0.0 && *it <= 1.0);
    let weight = weight.map(|it| (it * 1e3).round() as i32).filter(|it| *it > 0);
    weight.ok_or_else(|| "expected a number from 0.001 to 1, such as 0.3".to_owned())
}
