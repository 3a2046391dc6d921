//! What is submitted: which incident, by which rules.

use eog::{EntityId, Timestamp, Window};
use eog_nats::Block;
use eog_session::controllers::AnySettings;
use eog_session::source::Word;
use serde::{Deserialize, Serialize};

use crate::error::CliError;

/// The version of what is written here.
const FORMAT: u32 = 1;

/// What an investigation begins with. The policy is chosen by the workers: they have the keys.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Order {
    format: u32,
    /// What the incident is called.
    pub(crate) name: String,
    /// When it was submitted.
    pub(crate) submitted: Timestamp,
    /// The packed incident: digest and length.
    pub(crate) incident: String,
    /// The folder in it.
    pub(crate) folder: String,
    /// Whether the pack holds an architecture.
    pub(crate) has_architecture: bool,
    /// Which controller, and every choice of it.
    pub(crate) settings: AnySettings,
    /// The window that was asked for.
    pub(crate) window: Option<Window>,
}

impl Order {
    pub(crate) fn new(
        name: String,
        incident: Block,
        folder: String,
        settings: AnySettings,
        window: Option<Window>,
    ) -> Self {
        let (format, submitted) = (FORMAT, Timestamp::now());
        let incident = incident.to_string();
        let has_architecture = false;
        Self { format, name, submitted, incident, folder, has_architecture, settings, window }
    }

    /// Reads what was submitted.
    pub(crate) fn read(bytes: &[u8]) -> Result<Self, CliError> {
        read(bytes, "what was submitted")
    }

    pub(crate) fn written(&self) -> Result<Vec<u8>, CliError> {
        written(self)
    }

    /// Where the incident is.
    pub(crate) fn block(&self) -> Result<Block, CliError> {
        self.incident.parse().map_err(|reason| CliError::Input {
            path: "what was submitted".into(),
            reason: format!("it has no incident: {reason}"),
        })
    }
}

/// What a person says to an investigation.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "say", rename_all = "snake_case")]
pub(crate) enum Saying {
    /// End it.
    Cancel,
    /// Go on with it.
    GoOn,
    /// What is known of an entity.
    Word {
        /// The entity.
        entity: EntityId,
        /// What is known of it.
        word: Word,
    },
}

impl Saying {
    pub(crate) fn written(&self) -> Result<Vec<u8>, CliError> {
        written(self)
    }
}

/// Reads JSON of this version.
pub(super) fn read<T: for<'a> Deserialize<'a>>(bytes: &[u8], what: &str) -> Result<T, CliError> {
    #[derive(Deserialize)]
    struct Versioned {
        format: u32,
    }
    let unusable = |reason: String| CliError::Input {
        path: what.into(),
        reason: format!("it cannot be read: {reason}"),
    };
    let versioned: Versioned =
        serde_json::from_slice(bytes).map_err(|error| unusable(error.to_string()))?;
    if versioned.format != FORMAT {
        let format = versioned.format;
        return Err(unusable(format!(
            "it has format {format}, but this version of eog reads format {FORMAT}; use the \
             version of eog \
             that submitted it"
        )));
    }
    serde_json::from_slice(bytes).map_err(|error| unusable(error.to_string()))
}

pub(super) fn written(value: &impl Serialize) -> Result<Vec<u8>, CliError> {
    serde_json::to_vec(value)
        .map_err(|error| CliError::Usage(format!("it cannot be written: {error}")))
}
