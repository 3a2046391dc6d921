//! `eog prompt` and `eog doctor`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

use super::Judging;

/// What to show of the prompts.
#[derive(Debug, Subcommand)]
pub(crate) enum Prompt {
    /// List the packs, the phases and the templates.
    List,
    /// Show the templates of a phase as they stand, or the form of its answer.
    ///
    /// To see a prompt with the evidence of an incident filled in: `eog investigate PATH --policy
    /// llm --model … --dry-run`.
    Show(Show),
    /// Write the templates and words of a pack to a folder, to change them and name the folder with
    /// --prompts. What is left unchanged can be deleted: the shipped text then stands in for it.
    Export(Export),
}

#[derive(Debug, Args)]
pub(crate) struct Show {
    /// The phase.
    #[arg(value_enum)]
    pub(crate) phase: PhaseName,

    /// The name of a pack (see `eog prompt list`), or a folder with templates.
    #[arg(long, value_name = "PACK")]
    pub(crate) prompts: Option<PathBuf>,

    /// Show the JSON Schema of the answer in place of the templates.
    #[arg(long)]
    pub(crate) schema: bool,
}

#[derive(Debug, Args)]
pub(crate) struct Export {
    /// The folder. Made if absent; nothing in it is replaced.
    pub(crate) folder: PathBuf,

    /// The name of a pack (see `eog prompt list`), or a folder with templates.
    #[arg(long, value_name = "PACK")]
    pub(crate) prompts: Option<PathBuf>,
}

/// What a model is asked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum PhaseName {
    /// Which window of time to look at.
    SelectInvestigationWindow,
    /// Which events matter.
    FilterEvents,
    /// Which changes matter.
    FilterSpecChanges,
    /// Where to start.
    Bootstrap,
    /// Which of many findings matter, of a context too long for one prompt.
    ClassifyEvidence,
    /// What the evidence on one entity means.
    Explore,
    /// What the investigation has found.
    Finalize,
}

#[derive(Debug, Args)]
pub(crate) struct Doctor {
    #[command(flatten)]
    pub(crate) judging: Judging,
}
