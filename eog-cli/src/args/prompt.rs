//! `eog prompt` and `eog doctor`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Judging;
use super::codes::{PRINTING_CODES, WRITING_CODES};

/// What to show of the prompts.
#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    /// List the packs, the phases and the templates.
    #[command(after_help = PRINTING_CODES)]
    List,
    /// Show the templates of a phase, or the schema of its answer.
    ///
    /// To see a prompt filled in with the evidence of an incident: `eog investigate PATH --policy
    /// llm --model … --dry-run`.
    Show(Show),
    /// Write the templates of a pack to a folder, to edit them and use them with --prompts.
    ///
    /// Files that you do not change can be deleted: the shipped templates are used instead.
    Export(Export),
}

#[derive(Debug, Args)]
#[command(after_help = PRINTING_CODES)]
pub(crate) struct Show {
    /// The phase.
    #[arg(value_enum)]
    pub(crate) phase: PhaseName,

    /// The name of a pack (see `eog prompt list`), or a folder with templates.
    #[arg(long, value_name = "PACK")]
    pub(crate) prompts: Option<PathBuf>,

    /// Show the JSON Schema of the answer instead of the templates.
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
#[command(after_help = WRITING_CODES)]
pub(crate) struct Export {
    /// The folder. Created if absent; existing files are not replaced.
    pub(crate) folder: PathBuf,

    /// The name of a pack (see `eog prompt list`), or a folder with templates.
    #[arg(long, value_name = "PACK")]
    pub(crate) prompts: Option<PathBuf>,
}

/// A phase, in which a model is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum PhaseName {
    /// Which time window to investigate.
    SelectInvestigationWindow,
    /// Which events matter.
    FilterEvents,
    /// Which changes matter.
    FilterSpecChanges,
    /// Where to start.
    Bootstrap,
    /// Which findings matter in a context that is too long for one prompt.
    ClassifyEvidence,
    /// What the evidence of one entity means.
    Explore,
    /// In a tree search: which entities to check next, given a path.
    SearchPropose,
    /// In a tree search: which entity to check next.
    SearchAct,
    /// In a tree search: how good a path is.
    SearchEvaluate,
    /// In a tree search: how the tree grows.
    SearchPlan,
    /// In a tree search: what to learn from a path that was not accepted.
    SearchReflect,
    /// In a search by hypotheses: what may have caused the incident.
    SearchHypothesize,
    /// In a search by hypotheses: what a specialist does next.
    SearchInvestigate,
    /// In a search by hypotheses: how far the evidence supports one.
    SearchWeigh,
    /// In a search by goals: the goals, with alternative paths.
    SearchDecompose,
    /// In a search by goals: which paths continue, and which backtrack.
    SearchSteer,
    /// In a search by goals: the next step of a path.
    SearchStep,
    /// In a search by goals: the result of a round.
    SearchProgress,
    /// With react: what the agent does next.
    SearchReact,
    /// With react: a summary of the oldest steps.
    SearchCompact,
    /// What the investigation has found.
    Finalize,
}

const DOCTOR_CODES: &str = "\
Exit codes:
  0    complete
  1    output could not be written
  2    wrong command line
  4    something is missing or cannot be used";

#[derive(Debug, Args)]
#[command(after_help = DOCTOR_CODES)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) judging: Judging,
}
