//! `eog eval`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::simulate::parse_size;

/// How good it is, on incidents whose causes are known.
#[derive(Debug, Args)]
pub(crate) struct Eval {
    #[command(subcommand)]
    pub(crate) what: Evaluated,

    /// File for the results of all cases, as CSV. It is replaced.
    #[arg(long, value_name = "FILE", global = true)]
    pub(crate) csv: Option<PathBuf>,

    /// What to print.
    #[arg(long, value_enum, default_value_t = EvalFormat::Text, global = true)]
    pub(crate) format: EvalFormat,
}

/// What is evaluated.
#[derive(Debug, Subcommand)]
pub(crate) enum Evaluated {
    /// Incident bundles of any data set, each with its truth in a file beside it.
    ///
    /// DIR holds folders NAME with a bundle and files NAME.truth.json; docs/evaluation.md tells how
    /// to convert a data set. The truth is read for scoring alone.
    ///
    /// Beside the scores stand how far each cause came (never reachable, not fetched, not in
    /// context, ignored, not in the frontier, used) and how often the controller failed, after
    /// MAST.
    Suite {
        /// The folder.
        dir: PathBuf,
        #[command(flatten)]
        runs: Runs,
    },
    /// The PetShop data set: converted to bundles, investigated, scored beside trivial rankings.
    Petshop {
        /// The folder with graph.csv.
        dir: PathBuf,
        #[command(flatten)]
        runs: Runs,
    },
    /// Outputs of agents for ITBench scenarios, scored against its ground truths.
    ///
    /// Reasons are scored by a language model, if --judge names one; else that score is left out.
    Itbench {
        /// The ground truths: a JSON list of truths, each with its id, or a folder of scenarios,
        /// each with ground_truth.yaml.
        truths: PathBuf,
        /// The folder of outputs: SCENARIO/RUN/agent_output.json.
        outputs: PathBuf,
        /// Runs of each scenario that Pass@k and Majority@k look at: from 1 to the fewest runs of a
        /// scenario, which is the default.
        #[arg(short, long, value_name = "K", value_parser = parse_count)]
        k: Option<usize>,
        #[command(flatten)]
        judge: OfJudge,
    },
    /// Incidents simulated from ground truths, investigated and scored beside trivial rankings.
    Simulated {
        /// The ground truths: a JSON list, one truth, or a folder of scenarios.
        truths: PathBuf,
        /// The application architecture (JSON).
        architecture: PathBuf,
        /// Simulations of each truth, each with other noise.
        #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u64).range(1..=1000))]
        seeds: u64,
        /// About how large each snapshot is.
        #[arg(long, value_name = "SIZE", default_value = "10MB", value_parser = parse_size)]
        size: u64,
        /// Also investigate without traces, logs, metrics, events, changes, and messages.
        #[arg(long)]
        ablations: bool,
    },
    /// Controllers over a SIMULATED judge: EoG, a linear loop, a loop that is told the algorithm.
    ///
    /// No language model is asked. Incidents are generated; the judge knows what is true and gives a
    /// wrong answer at a rate that you choose. It errs less the more its neighbours have told it
    /// rightly, and more if they told it wrongly. Every controller asks the same judge about the
    /// same evidence, so that what differs is the controller alone.
    ///
    /// Four tables are printed, each in the shape of one of the paper: EoG against a linear loop
    /// (its table 2), a loop that keeps EoG's lists itself and slips (table 3), messages off and on
    /// for several rates of errors (table 4), and the order of exploration (figure 2(c)). The loops
    /// are models with stated assumptions: docs/evaluation.md has these, what agrees with the paper
    /// and what does not. Equal options give equal results on any machine.
    #[command(after_help = CONTROLLERS_HELP)]
    Controllers(Controllers),
}

const CONTROLLERS_HELP: &str = "\
Examples:
  eog eval controllers
  eog eval controllers --scenarios 200 --csv runs.csv
  eog eval controllers --error 0.1 --entities 60 --origins 2
  eog eval controllers --shrink 1 --stubborn";

/// What is simulated.
#[derive(Debug, Args)]
pub(crate) struct Controllers {
    /// Incidents to generate. The paper has 35.
    #[arg(long, value_name = "N", default_value_t = 35, value_parser = clap::value_parser!(u64).range(1..=2_000))]
    pub(crate) scenarios: u64,
    /// Runs of each incident (k). In each, the judge errs elsewhere.
    #[arg(long, value_name = "K", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=20))]
    pub(crate) runs: u64,
    /// Entities of each incident.
    #[arg(long, value_name = "N", default_value_t = 30, value_parser = clap::value_parser!(u64).range(3..=1_000))]
    pub(crate) entities: u64,
    /// True causes of each incident.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=20))]
    pub(crate) origins: u64,
    /// Share of the judge's answers that are wrong where its neighbours have told it nothing.
    #[arg(long, value_name = "RATE", default_value_t = 0.2, value_parser = parse_rate)]
    pub(crate) error: f64,
    /// By what each right message multiplies that share, and each wrong one divides it. With 1 the
    /// judge learns nothing from messages.
    #[arg(long, value_name = "FACTOR", default_value_t = 0.5, value_parser = parse_factor)]
    pub(crate) shrink: f64,
    /// Let the judge err on the same entities whatever it is told, until its share of errors has
    /// fallen enough. Otherwise each inbox is a question of its own, and being asked again is a
    /// second chance.
    #[arg(long)]
    pub(crate) stubborn: bool,
    /// Everything random is derived from it.
    #[arg(long, value_name = "S", default_value_t = 1)]
    pub(crate) seed: u64,
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse().ok().filter(|rate| (0.0..=1.0).contains(rate));
    rate.ok_or_else(|| "expected a share from 0 to 1, such as 0.2".to_owned())
}

fn parse_factor(text: &str) -> Result<f64, String> {
    let factor = text.parse().ok().filter(|factor| *factor > 0.0 && *factor <= 1.0);
    factor.ok_or_else(|| "expected a factor above 0, up to 1, such as 0.5".to_owned())
}

/// How often each case is investigated.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct Runs {
    /// Investigate each case so many times, from the second on in another order of evaluation, and
    /// say how far the runs agree. All other scores are of the first run.
    #[arg(long = "runs", value_name = "N", default_value = "1", value_parser = parse_count)]
    pub(crate) count: usize,
}

// Who judges reasons. (No documentation comment: clap would make it the description of the command.)
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct OfJudge {
    /// The language model that compares the reasons of an output with the truth, such as
    /// openai/gpt-5-mini: one request for each run that names a root cause with a reason. What it
    /// fails to judge is left out, with the reason. See docs/models.md for keys and settings.
    #[arg(long, value_name = "PROVIDER/NAME", help_heading = JUDGE)]
    pub(crate) judge: Option<String>,

    /// File with settings, `eog.toml`; see `eog investigate`. Fallbacks in it are not asked: scores
    /// of different judges do not compare.
    #[arg(long, value_name = "FILE", requires = "judge", help_heading = JUDGE)]
    pub(crate) config: Option<PathBuf>,

    /// Where the judge is, up to and without `chat/completions`.
    #[arg(long, value_name = "URL", requires = "judge", help_heading = JUDGE)]
    pub(crate) base_url: Option<String>,

    /// Most requests to the judge; 500 if nothing is set.
    #[arg(long, value_name = "N", requires = "judge", help_heading = JUDGE)]
    pub(crate) max_model_calls: Option<u64>,

    /// Most tokens, read and written.
    #[arg(long, value_name = "N", requires = "judge", help_heading = JUDGE)]
    pub(crate) max_tokens: Option<u64>,

    /// Most money, in US dollars. Needs the prices of the judge.
    #[arg(long, value_name = "USD", requires = "judge", help_heading = JUDGE)]
    pub(crate) max_usd: Option<f64>,

    /// File with recorded traffic of the judge: verdicts that it holds are not asked for again.
    #[arg(long, value_name = "FILE", requires = "judge", help_heading = JUDGE)]
    pub(crate) cassette: Option<PathBuf>,
}

const JUDGE: &str = "Judge of reasons";

fn parse_count(text: &str) -> Result<usize, String> {
    match text.parse() {
        Ok(0) => Err("it must be at least 1".to_owned()),
        Ok(count) if count <= 1_000 => Ok(count),
        Ok(_) => Err("it must be at most 1000".to_owned()),
        Err(_) => Err("it must be a whole number from 1 to 1000".to_owned()),
    }
}

#[derive(Clone, Copy, Debug, ValueEnum)]
pub(crate) enum EvalFormat {
    /// For people.
    Text,
    /// The whole result for programs.
    Json,
    /// A line for each case.
    Csv,
}
