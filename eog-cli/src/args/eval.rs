//! `eog eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use eog_session::controllers::ControllerName;

use super::Search;
use super::judging::{Judging, parse_allowance, parse_usd};
use super::simulate::{HarmlessChanges, parse_size};

macro_rules! eval_codes {
    () => {
        "\
Exit codes:
  0    scored
  1    output could not be written
  2    wrong command line
  4    some input cannot be used; of several cases, the others are still scored
  130  interrupted; commands that investigate print the scores so far"
    };
}

const EVAL_CODES: &str = eval_codes!();

/// Measurement of investigations of incidents whose causes are known.
///
/// Investigations are judged by the built-in evidence policy unless --policy or --model says otherwise: EOG_POLICY and
/// eog.toml alone do not, because a whole data set costs.
#[derive(Debug, Args)]
pub(crate) struct Eval {
    #[command(subcommand)]
    pub(crate) what: Evaluated,

    /// CSV file for the results of all cases. An existing file is replaced.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) csv: Option<PathBuf>,

    /// Output format.
    #[arg(long, value_enum, default_value_t = EvalFormat::Text, global = true)]
    pub(crate) format: EvalFormat,
}

/// What is evaluated.
#[derive(Debug, Subcommand)]
pub(crate) enum Evaluated {
    /// Fit the weights of the evidence policy, and score them on systems that were left out.
    ///
    /// Each DIR is one system: a folder of incident bundles with ground truths, as for `suite`, or of closed cases
    /// (`eog cases`). All systems have the same weight. Prints for each the score of the shipped weights, of weights fitted on
    /// the other systems, and of own harm minus the worst upstream alone, with a bootstrap interval over incidents; then what
    /// the weights fitted on all of them change, and what that does to these systems, to those of `--held`, and to generated
    /// ones.
    ///
    /// To adapt the weights to your own incidents, give `--prior`: they then move from those of the table only as far as the
    /// incidents carry. `eog investigate --weights FILE` and `eog cases check --weights FILE` use the result; nothing does
    /// so by itself.
    #[command(after_help = EVAL_CODES)]
    Fit {
        /// Folders with bundles and ground truths, one for each system.
        #[arg(required = true)]
        dirs: Vec<PathBuf>,
        /// Strength of the penalty that pulls each weight towards 1: the larger, the less they move.
        #[arg(long, default_value_t = 1.0, value_name = "NUMBER", value_parser = parse_strength)]
        shrinkage: f64,
        /// Table of weights to start from, in place of 1 for each: `shipped`, or a file in the form of `weights.toml`.
        #[arg(long, value_name = "FILE", conflicts_with = "shrinkage")]
        prior: Option<PathBuf>,
        /// How many incidents the table of `--prior` counts as: the larger, the less the weights move.
        #[arg(long, default_value_t = 100.0, value_name = "N", requires = "prior", value_parser = parse_strength)]
        prior_incidents: f64,
        /// Folder with a further system on which the fitted weights are only tried. Can be repeated.
        #[arg(long, value_name = "DIR")]
        held: Vec<PathBuf>,
        /// How many incidents of each kind of generated system they are tried on, too; 0 for none.
        #[arg(long, default_value_t = 10, value_name = "N")]
        generated: u64,
        /// File for the weights fitted on all systems, in the form of `weights.toml`.
        #[arg(long, value_name = "FILE")]
        out: Option<PathBuf>,
    },
    /// Score incident bundles of any data set, each with a ground truth file beside it.
    ///
    /// DIR contains bundles in folders NAME, and files NAME.truth.json. See docs/evaluation.md for
    /// how to convert a data set. Ground truths are used only for scoring.
    ///
    /// The report also shows how far the investigation got with each cause (never reachable, not
    /// fetched, not in context, ignored, not in the frontier, used), and how often the controller
    /// failed, by the categories of MAST.
    #[command(after_help = EVAL_CODES)]
    Suite {
        /// Folder with bundles and ground truths.
        dir: PathBuf,
        #[command(flatten)]
        runs: Runs,
        #[command(flatten)]
        by: By,
        /// Investigate each incident once more without the changes and events of its causes.
        #[arg(long)]
        knock_out: bool,
        /// Investigate each case once more without each source of evidence: traces, logs, metrics,
        /// changes, events. The report ends with a table of what each is worth.
        #[arg(long)]
        ablations: bool,
    },
    /// Score all data sets of a folder, on one page.
    ///
    /// Each folder in DIR, or in one of these, that contains bundles with ground truths is one data set, as for
    /// `suite`. Prints for each the scores with their intervals over incidents, how often what was called confirmed was
    /// wrong, and the best trivial ranking with whether it is beaten.
    #[command(after_help = EVAL_CODES)]
    All {
        /// Folder of data sets.
        dir: PathBuf,
        #[command(flatten)]
        by: By,
    },
    /// Score the PetShop data set, compared with trivial rankings.
    #[command(after_help = EVAL_CODES)]
    Petshop {
        /// Folder that contains graph.csv.
        dir: PathBuf,
        #[command(flatten)]
        runs: Runs,
        #[command(flatten)]
        by: By,
        /// Investigate each case once more without each source of evidence: traces, logs, metrics,
        /// changes, events. The report ends with a table of what each is worth.
        #[arg(long)]
        ablations: bool,
    },
    /// Score outputs of agents for ITBench scenarios against the ground truths.
    ///
    /// The reasoning is scored by the language model given with --judge. Without it, the reasoning
    /// is not scored.
    #[command(after_help = EVAL_CODES)]
    Itbench {
        /// Ground truths: a file with a list of them, each with an id, or a folder of scenarios,
        /// each with a ground_truth.yaml.
        truths: PathBuf,
        /// Folder of outputs: SCENARIO/RUN/agent_output.json.
        outputs: PathBuf,
        /// Number of runs for Pass@k and Majority@k, at least 1. The maximum and the default are the
        /// smallest number of runs of any scenario.
        #[arg(short, long, value_name = "K", value_parser = parse_count)]
        k: Option<usize>,
        #[command(flatten)]
        judge: OfJudge,
    },
    /// Investigate recorded snapshots in the ITBench layout, and score the results against the ground truths.
    #[command(after_help = EVAL_CODES)]
    Snapshots {
        /// Ground truths, as for `itbench`.
        truths: PathBuf,
        /// Folder of snapshots: Scenario-N.
        dir: PathBuf,
        /// Application architecture (JSON).
        #[arg(long, value_name = "FILE")]
        architecture: Option<PathBuf>,
        /// Number of investigations of each snapshot, for Pass@N and Majority@N. All but the first use a different
        /// evaluation order.
        #[arg(long, value_name = "N", default_value_t = 1, value_parser = parse_count)]
        runs: usize,
        #[command(flatten)]
        by: By,
    },
    /// Simulate incidents from ground truths, investigate them, and score the results.
    #[command(after_help = EVAL_CODES)]
    Simulated(OfSimulated),
    /// Compare the patterns found in log lines with those assigned by hand.
    ///
    /// Reads the structured form of loghub: in DIR, or in a folder of DIR, one file
    /// NAME_structured.csv for each system, with the columns Content (the message) and EventId (its template).
    /// Prints the grouping accuracy: the share of lines that are in one pattern with exactly the
    /// lines of the same EventId. The last line is the mean of the systems.
    #[command(after_help = EVAL_CODES)]
    Logs {
        /// Folder with the files, or one file.
        dir: PathBuf,
    },
    /// Generate incidents of made-up systems, investigate them, and score the results.
    ///
    /// Names, topology, size, cause and noise are derived from the seed. See docs/evaluation.md for the
    /// model.
    ///
    /// Behind a gateway nothing is changed. In all other kinds, causes are changes in 7 of 10; some incidents have two
    /// causes, causes that act slowly or an hour after the change, no traces, logs or traffic, or
    /// clocks that disagree by minutes. There are harmless changes near the harm.
    #[command(after_help = GENERATED_HELP)]
    Generated {
        /// What kind of system.
        system: GeneratedSystem,
        /// Number of incidents.
        #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=10_000))]
        seeds: u64,
        /// Seed of the first incident; the others follow it.
        #[arg(long, value_name = "S", default_value_t = 1)]
        first_seed: u64,
        /// Investigate each incident once more without the changes and events of its cause.
        #[arg(long)]
        knock_out: bool,
        /// Investigate each case once more without each source of evidence: traces, logs, metrics,
        /// changes, events. The report ends with a table of what each is worth.
        #[arg(long)]
        ablations: bool,
        /// Only causes that are not changes: outside services, certificates, nodes, disks, noisy neighbours
        /// on a node, the network, surges, bad data, data growth, locks, hanging consumers, leaks. Harmless
        /// changes stay on record.
        #[arg(long)]
        without_changes: bool,
        /// Folder for the bundles and ground truths, for `eog eval suite`.
        #[arg(long, value_name = "DIR")]
        bundles: Option<PathBuf>,
        /// Folder for the ledgers. It is created if it does not exist.
        #[arg(long, value_name = "DIR")]
        out: Option<PathBuf>,
        #[command(flatten)]
        by: By,
    },
    /// Compare all controllers on the same recorded, simulated or generated incidents.
    ///
    /// No language model is involved. All controllers get the evidence that `eog investigate` reads. Each incident is
    /// judged once by the built-in evidence policy, and --runs times by one that errs at the rate of --error. The same
    /// options give the same results on any machine. See docs/controllers.md for the columns.
    ///
    /// --by-errors, --by-calls and --ablations compare them at several error rates, with few calls, and with one design
    /// choice changed. --failures counts how runs fail.
    #[command(after_help = CONTROLLERS_HELP)]
    Controllers(Box<Controllers>),
    /// Count failures of agents and controllers in their trajectories, by the taxonomy MAST.
    ///
    /// Prints for each mode how often it occurred, in how many trajectories, and for how many trajectories it can
    /// be decided. A mode that no rule can decide is not counted. See docs/evaluation.md for the rules.
    #[command(after_help = EVAL_CODES)]
    Failures {
        /// Ledgers of any controller (the folder of --out, its ledger.jsonl or a journal), or JSON files with the
        /// trajectory of another agent.
        #[arg(required = true)]
        trajectories: Vec<PathBuf>,
        /// A true cause, if known: an accepted answer that names none of them counts as mode 3.3. Give the
        /// option several times for several causes. They apply to all trajectories.
        #[arg(long, value_name = "ENTITY")]
        cause: Vec<String>,
    },
}

/// Systems that incidents are generated of.
#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum GeneratedSystem {
    /// Services in layers, stores and nodes.
    Services,
    /// Web, API, queue, workers and database: most changes that are causes are bad migrations.
    Pipeline,
    /// Deep chains of calls, 6 to 12 hops, thin fan-out, some of them over a queue.
    Chains,
    /// Producers, topics, consumers that write to stores and emit further events, dead letters.
    Events,
    /// A scheduler and jobs that run in steps over stores; alerts about late and failed runs.
    Batch,
    /// One application behind a proxy: instances on nodes, one database, a cache, outside services.
    Monolith,
    /// Some forty services behind a gateway, complaints from users, no changes.
    Gateway,
}

const GENERATED_HELP: &str = concat!(
    eval_codes!(),
    "\n\n\
Examples:
  eog eval generated services --seeds 60 --knock-out
  eog eval generated chains --seeds 40 --csv chains.csv
  eog eval generated monolith --seeds 40 --without-changes
  eog eval generated gateway --seeds 40
  eog eval generated batch --seeds 5 --bundles incidents"
);

/// What is simulated from ground truths.
#[derive(Debug, Args)]
pub(crate) struct OfSimulated {
    /// Ground truths: one file (YAML or JSON), a list, or a folder of scenarios.
    pub(crate) truths: PathBuf,
    /// Application architecture (JSON).
    pub(crate) architecture: PathBuf,
    /// Number of simulations of each ground truth, each with different noise.
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
    pub(crate) seeds: u64,
    /// Seed of the first simulation of each ground truth; the others follow it.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) first_seed: u64,
    /// Approximate size of each snapshot.
    #[arg(long, value_name = "SIZE", default_value = "10MB", value_parser = parse_size)]
    pub(crate) size: u64,
    #[command(flatten)]
    pub(crate) by: By,
    #[command(flatten)]
    pub(crate) harmless: HarmlessChanges,
    /// Repeat each investigation without traces, logs, metrics, events, changes, or messages.
    #[arg(long)]
    pub(crate) ablations: bool,
    /// Repeat each investigation without the root causes and their effects.
    #[arg(long)]
    pub(crate) knock_out: bool,
}

const CONTROLLERS_HELP: &str = concat!(
    eval_codes!(),
    "\n\n\
Examples:
  eog eval controllers --petshop low_traffic --runs 1 --by-errors --failures
  eog eval controllers --suite incidents --error 0.1 --csv runs.csv
  eog eval controllers --generated chains --first-seed 1 --seeds 20
  eog eval controllers --generated services --seeds 20 --by-errors --by-calls --charts charts
  eog eval controllers --simulated truths.json --architecture architecture.json
  eog eval controllers --suite incidents --petshop low_traffic --generated services,chains --seeds 10 --csv runs.csv"
);

/// What is compared.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("data").required(true).multiple(true))]
pub(crate) struct Controllers {
    /// Number of investigations of each incident with a judge that errs, each with different errors.
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=20))]
    pub(crate) runs: u64,
    /// Share of wrong answers of that judge. With 0 there is none.
    #[arg(long, value_name = "RATE", default_value_t = 0.2, value_parser = parse_rate)]
    pub(crate) error: f64,
    /// Seed for all random numbers.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
    /// Compare also with judges that err in 5 to 40 % of answers.
    #[arg(long)]
    pub(crate) by_errors: bool,
    /// The same with 10 to 160 calls of the judge.
    #[arg(long)]
    pub(crate) by_calls: bool,
    /// The same with one design choice of a controller changed each time.
    #[arg(long)]
    pub(crate) ablations: bool,
    /// Count failures by the taxonomy MAST in correct and in incorrect runs.
    #[arg(long)]
    pub(crate) failures: bool,
    /// Folder for charts of --by-errors and --by-calls, as SVG. It is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) charts: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) on: OnData,
}

// The incidents. (No documentation comment: clap would make it the description.)
#[derive(Debug, Args)]
#[group(skip)]
pub(crate) struct OnData {
    /// A folder of bundles, each with its ground truth beside it. A folder of such folders has a table for each. Can be
    /// repeated; folders of equal names are one set.
    #[arg(long, value_name = "DIR", group = "data", help_heading = ON_DATA)]
    pub(crate) suite: Vec<PathBuf>,
    /// The PetShop data set, with its normal period.
    #[arg(long, value_name = "DIR", group = "data", help_heading = ON_DATA)]
    pub(crate) petshop: Option<PathBuf>,
    /// Generated systems. Can be repeated.
    #[arg(long, value_name = "SYSTEM", group = "data", value_delimiter = ',', help_heading = ON_DATA)]
    pub(crate) generated: Vec<GeneratedSystem>,
    /// Snapshots that are simulated from ground truths. Requires --architecture.
    #[arg(long, value_name = "TRUTHS", requires = "architecture", group = "data", help_heading = ON_DATA)]
    pub(crate) simulated: Option<PathBuf>,
    /// One recorded snapshot. Requires --truths.
    #[arg(long, value_name = "DIR", requires = "truths", group = "data", help_heading = ON_DATA)]
    pub(crate) snapshot: Option<PathBuf>,
    /// Application architecture (JSON) for --simulated or --snapshot.
    #[arg(long, value_name = "FILE", help_heading = ON_DATA)]
    pub(crate) architecture: Option<PathBuf>,
    /// Ground truth of --snapshot. If the file has several, --truth-id selects one.
    #[arg(long, value_name = "FILE", requires = "snapshot", help_heading = ON_DATA)]
    pub(crate) truths: Option<PathBuf>,
    /// Which ground truth of --truths.
    #[arg(long, value_name = "ID", requires = "truths", help_heading = ON_DATA)]
    pub(crate) truth_id: Option<String>,
    /// Number of incidents with --generated, and of simulations of each ground truth with --simulated.
    #[arg(long, value_name = "N", default_value_t = 1, help_heading = ON_DATA, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    pub(crate) seeds: u64,
    /// The first of these seeds; the others follow it.
    #[arg(long, value_name = "S", default_value_t = 1, help_heading = ON_DATA)]
    pub(crate) first_seed: u64,
    /// Approximate size of each simulated snapshot.
    #[arg(long, value_name = "SIZE", default_value = "10MB", value_parser = parse_size, requires = "simulated", help_heading = ON_DATA)]
    pub(crate) size: u64,
}

const ON_DATA: &str = "Incidents";

/// A positive number.
fn parse_strength(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0, such as 100".to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a number from 0 to 1, such as 0.2".to_owned())
}

/// The controller that investigates, and its policy.
#[derive(Clone, Debug, Args)]
pub(crate) struct By {
    /// Controller: `eog`, `lats`, `bfs`, `beam`, `hypotheses`, `treeseeker`, `react` or `linear`; see `eog investigate`.
    #[arg(long, value_name = "NAME", default_value_t = ControllerName::Eog, value_parser = super::parse::controllers())]
    pub(crate) controller: ControllerName,

    #[command(flatten)]
    pub(crate) search: Search,

    #[command(flatten)]
    pub(crate) judging: Judging,

    /// Folder with decisions that were made before: equal questions, of other runs as well, are not asked again.
    #[arg(long, value_name = "DIR")]
    pub(crate) memory: Option<PathBuf>,
}

/// How often each case is investigated.
#[derive(Clone, Debug, Args)]
pub(crate) struct Runs {
    /// Number of investigations of each case. All but the first use a different evaluation order. The
    /// report shows how far the runs agree; all other scores are those of the first run.
    #[arg(long = "runs", value_name = "N", default_value = "1", value_parser = parse_count)]
    pub(crate) count: usize,
    /// Folder for the ledgers of the first runs. It is created if it does not exist.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
}

// What judges reasons. (No documentation comment: clap would make it the description of the command.)
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OfJudge {
    /// Language model that compares the reasoning of an output with the ground truth, such as
    /// openai/gpt-5-mini. It receives one request for each run that names a root cause with a reason.
    /// Runs it cannot judge are not scored, and the report says why. See docs/models.md for keys and
    /// settings.
    #[arg(long, value_name = "PROVIDER/NAME", help_heading = JUDGE)]
    pub(crate) judge: Option<String>,

    /// File with settings, `eog.toml`; see `eog investigate`. Its fallback models are not used, because
    /// scores of different judges cannot be compared.
    #[arg(long, value_name = "FILE", requires = "judge", help_heading = JUDGE)]
    pub(crate) config: Option<PathBuf>,

    /// Base URL of the judge, without `chat/completions`.
    #[arg(long, value_name = "URL", requires = "judge", help_heading = JUDGE)]
    pub(crate) base_url: Option<String>,

    /// Maximum number of requests to the judge; 500 unless `eog.toml` sets another number.
    #[arg(long, value_name = "N", value_parser = parse_allowance, requires = "judge", help_heading = JUDGE)]
    pub(crate) max_model_calls: Option<u64>,

    /// Maximum number of tokens, input and output together.
    #[arg(long, value_name = "N", value_parser = parse_allowance, requires = "judge", help_heading = JUDGE)]
    pub(crate) max_tokens: Option<u64>,

    /// Maximum cost in US dollars. The prices of the judge must be known.
    #[arg(long, value_name = "USD", value_parser = parse_usd, requires = "judge", help_heading = JUDGE)]
    pub(crate) max_usd: Option<f64>,

    /// File with recorded traffic of the judge. Recorded verdicts are not requested again.
    #[arg(long, value_name = "FILE", requires = "judge", help_heading = JUDGE)]
    pub(crate) cassette: Option<PathBuf>,
}

const JUDGE: &str = "Judge of the reasoning";

fn parse_count(text: &str) -> Result<usize, String> {
    let count = text.parse().ok().filter(|count| (1..=1_000).contains(count));
    count.ok_or_else(|| "expected a whole number from 1 to 1000".to_owned())
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EvalFormat {
    /// Tables for people.
    Text,
    /// The whole result, for programs.
    Json,
    /// One line per case.
    Csv,
}
