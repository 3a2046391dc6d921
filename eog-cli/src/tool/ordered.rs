//! JSON whose fields keep their order, for showing it.

use indexmap::IndexMap;
use serde::Deserialize;
use serde_json::Number;

/// A JSON value with its fields in the order in which they were written.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub(super) enum Ordered {
    Null,
    Flag(bool),
    Number(Number),
    Text(String),
    List(Vec<Ordered>),
    Map(IndexMap<String, Ordered>),
}

/// Reads JSON that this program wrote; anything else is null.
pub(super) fn parse(text: &str) -> Ordered {
    serde_json::from_str(text).unwrap_or(Ordered::Null)
}

impl Ordered {
    pub(super) fn get(&self, name: &str) -> Option<&Self> {
        match self {
            Self::Map(fields) => fields.get(name),
            _ => None,
        }
    }

    /// Whether it is shown in one line.
    pub(super) fn is_plain(&self) -> bool {
        !matches!(self, Self::List(_) | Self::Map(_))
    }
}
