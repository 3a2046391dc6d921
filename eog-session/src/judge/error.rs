//! Why there is no policy.

use std::path::PathBuf;

use eog::memory::MemoryError;
use eog_evidence::StartError;
#[cfg(feature = "models")]
use {eog_llm::ConfigError, eog_prompts::PackError};

/// Why there is no policy, or its answers cannot be used.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum JudgeError {
    /// What was chosen cannot be had: variables and settings do not fit.
    #[error("{0}")]
    Choice(String),
    /// An option cannot be used.
    #[error("{option}: {reason}")]
    Option {
        /// The field of [`Options`](super::Options).
        option: &'static str,
        /// Why not.
        reason: String,
    },
    /// Options for language models are given, and none is used.
    #[error(transparent)]
    Idle(#[from] IdleOptions),
    /// This build lacks what was asked for.
    #[error("this eog was built without {what}; build it with --features {feature}, or full")]
    NotBuilt {
        /// What it lacks.
        what: &'static str,
        /// The feature of `eog-cli` that has it.
        feature: &'static str,
    },
    /// The templates of prompts cannot be used.
    #[cfg(feature = "models")]
    #[error("prompts: {0}")]
    Prompts(#[from] PackError),
    /// The settings of language models cannot be used.
    #[cfg(feature = "models")]
    #[error(transparent)]
    Models(#[from] ConfigError),
    /// A file with settings cannot be used.
    #[error("{}: {reason}", path.display())]
    Settings {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: String,
    },
    /// Recorded traffic lacks an answer, or a key was refused: the result says nothing of the models.
    #[error("{0}")]
    Unusable(String),
    /// What decides the answers of a program cannot be read.
    #[error(transparent)]
    Identity(#[from] MemoryError),
}

/// Options for language models where none is used: they would be ignored silently.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.words(str::to_owned))]
#[non_exhaustive]
pub struct IdleOptions {
    /// The fields of [`Options`](super::Options).
    pub options: Vec<&'static str>,
    /// Whether a program judges. The built-in rules do otherwise.
    pub by_program: bool,
}

impl IdleOptions {
    /// What is wrong, and what to do, with options called as `name` says.
    pub fn words(&self, name: impl Fn(&str) -> String) -> String {
        let judge = if self.by_program { "a program judges" } else { "the built-in rules judge" };
        let (has, them) = if self.options.len() == 1 { ("has", "it") } else { ("have", "them") };
        let idle: Vec<String> = self.options.iter().map(|option| name(option)).collect();
        format!(
            "{} {has} no effect, because {judge} and no language model is used: let one judge ({} llm, \
             {}), choose the start ({} model), search ({} model) or write the report ({} model), or \
             omit {them}",
            idle.join(", "),
            name("policy"),
            name("model"),
            name("bootstrap"),
            name("roles"),
            name("finalize"),
        )
    }
}

/// Why no start could be chosen.
#[derive(Debug, thiserror::Error)]
pub enum OpeningError {
    /// There is nothing to start from.
    #[error(transparent)]
    Start(#[from] StartError),
    /// What was judged cannot be used.
    #[error(transparent)]
    Judge(#[from] JudgeError),
}
