//! The truth of a case: a file beside its bundle, never in it.

use std::collections::BTreeSet;
use std::path::Path;

use eog::{EntityId, Timestamp};
use eog_simulate::files::read_json;
use serde::{Deserialize, Serialize};

use crate::error::EvalError;

/// What the name of a truth file ends with, after the name of its bundle.
pub const TRUTH_SUFFIX: &str = ".truth.json";

/// What caused an incident.
///
/// ```
/// use eog_eval::suite::Truth;
/// let truth: Truth = serde_json::from_str(r#"{"causes": ["pump", "valve"]}"#)?;
/// assert_eq!(truth.causes.len(), 2);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Truth {
    /// The causes, all of them; none for a normal time.
    pub causes: BTreeSet<EntityId>,
    /// The group of cases that it is reported with, such as a kind of fault.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// When the causes acted, from here on; from the beginning where it is not given. A knock-out
    /// takes their changes and events from then on out of the incident.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Timestamp>,
    /// The end of that time, not included.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Timestamp>,
    /// No change caused it, such as an outside service that is down. There is nothing to knock out.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub without_change: bool,
}

impl Truth {
    /// Whether the causes act at a time.
    pub fn acts_at(&self, at: Timestamp) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at < until)
    }

    /// Reads a truth file.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        if let Err(error) = path.metadata()
            && error.kind() == std::io::ErrorKind::NotFound
        {
            let reason = "it is missing; it names what caused the incident in the folder beside it, such as \
                          {\"causes\": [\"pump\"]}, or {\"causes\": []} for a normal time";
            return Err(EvalError::file(path, reason));
        }
        Ok(read_json(path)?)
    }

    /// Writes a truth file.
    ///
    /// # Errors
    /// [`EvalError`] names the file.
    pub fn write(&self, path: &Path) -> Result<(), EvalError> {
        let text = serde_json::to_string_pretty(self).map_err(|e| EvalError::file(path, e))?;
        std::fs::write(path, text + "\n").map_err(|error| EvalError::file(path, error))
    }
}
