//! A list of names that may be given as one text.

use serde::Deserialize;
use serde_json::Value;

use super::{described, texts, unexpected};

/// Most names in one list.
const MAX_NAMES: usize = 64;

/// Names: of columns, aggregates, metrics, … As JSON, a list of strings, or one string with
/// commas between the names.
///
/// ```
/// use eog_sre::tools::Names;
/// let names: Names = serde_json::from_str(r#""namespace, reason""#)?;
/// assert_eq!(names.0, ["namespace", "reason"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Names(pub Vec<String>);

impl Names {
    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &str> + Clone {
        self.0.iter().map(String::as_str)
    }
}

impl TryFrom<Value> for Names {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match given {
            Value::Null => Ok(Self::default()),
            Value::String(text) => Ok(Self(split(&text))),
            Value::Array(list) => {
                let names = texts(list, MAX_NAMES, "names")?;
                Ok(Self(names.iter().map(|name| name.trim().to_owned()).collect()))
            }
            other => Err(unexpected(&other, "a name or a list of names")),
        }
    }
}

/// The names in a text. A comma inside brackets belongs to an expression.
fn split(text: &str) -> Vec<String> {
    let mut depth = 0_usize;
    let parts = text.split(|c| {
        match c {
            '(' | '{' | '[' => depth += 1,
            ')' | '}' | ']' => depth = depth.saturating_sub(1),
            _ => {}
        }
        c == ',' && depth == 0
    });
    let names = parts.map(str::trim).filter(|part| !part.is_empty()).map(str::to_owned);
    names.take(MAX_NAMES).collect()
}

described!(Names, {
    "description": "Names, as a list or as one comma-separated string.",
    "anyOf": [
        { "type": "array", "items": { "type": "string" } },
        { "type": "string" }
    ]
});
