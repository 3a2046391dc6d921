//! What is wrong with a call.

use super::query::near;

/// Why a tool was not run: which argument is wrong, why, and what would be right.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ToolError {
    /// There is no tool of the name.
    #[error("there is no tool {name:?}; {hint}")]
    UnknownTool {
        /// The requested name.
        name: String,
        /// Similar names, or all of them.
        hint: String,
    },
    /// The tool goes with snapshots alone, and was asked of a bundle.
    #[error("{tool} goes with a snapshot, and this is a bundle; bundles answer {bundles}")]
    OfSnapshots {
        /// The tool.
        tool: String,
        /// The tools that bundles answer.
        bundles: String,
    },
    /// The arguments do not have the form that the tool expects.
    #[error("invalid arguments for {tool}: {reason}")]
    Arguments {
        /// The tool.
        tool: String,
        /// What is wrong, and where.
        reason: String,
    },
    /// One argument has the right form but cannot be used.
    #[error("{argument}: {reason}{}{hint}", if hint.is_empty() { "" } else { "; " })]
    Argument {
        /// The argument.
        argument: String,
        /// What is wrong with it.
        reason: String,
        /// What would be right; may be empty.
        hint: String,
    },
    /// The answer cannot be written as JSON. This is a bug in the tool.
    #[error("the answer to {tool} cannot be written: {reason}")]
    Answer {
        /// The tool.
        tool: String,
        /// Why not.
        reason: String,
    },
}

impl ToolError {
    pub(crate) fn argument(
        argument: &str,
        reason: impl Into<String>,
        hint: impl Into<String>,
    ) -> Self {
        Self::Argument {
            argument: argument.to_owned(),
            reason: eog_evidence::shorten(&reason.into(), 600),
            hint: eog_evidence::shorten(&hint.into(), 1200),
        }
    }

    /// From what reading the arguments gave, with a near name for a misspelt argument.
    pub(super) fn arguments(tool: &str, error: &serde_json::Error) -> Self {
        let text = error.to_string();
        let mut names = text.split('`').skip(1).step_by(2);
        let hint = match names.next() {
            Some(unknown) if text.starts_with("unknown field") => {
                format!("; {}", near(unknown, names, "arguments"))
            }
            _ => String::new(),
        };
        let reason = eog_evidence::shorten(&format!("{text}{hint}"), 1200);
        Self::Arguments { tool: tool.to_owned(), reason }
    }
}
