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
    Suite {
        /// The folder.
        dir: PathBuf,
    },
    /// The PetShop data set: converted to bundles, investigated, scored beside trivial rankings.
    Petshop {
        /// The folder with graph.csv.
        dir: PathBuf,
    },
    /// Outputs of agents for ITBench scenarios, scored against its ground truths.
    Itbench {
        /// The ground truths (JSON or YAML).
        truths: PathBuf,
        /// The folder of outputs: SCENARIO/RUN/agent_output.json.
        outputs: PathBuf,
        /// Runs of each scenario that Pass@k and Majority@k look at; all of them if absent.
        #[arg(short, long, value_name = "K")]
        k: Option<usize>,
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
