//! A list of names that may be given as one text.

use std::fmt;

use serde::de::{SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Most names in one list.
const MAX_NAMES: usize = 64;

/// Names: of columns, aggregates, metrics, … As JSON a list of texts, or one text with commas
/// between the names.
///
/// ```
/// use eog_sre::tools::Names;
/// let names: Names = serde_json::from_str(r#""namespace, reason""#)?;
/// assert_eq!(names.0, ["namespace", "reason"]);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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

impl<'de> Deserialize<'de> for Names {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(NamesVisitor)
    }
}

struct NamesVisitor;

impl<'de> Visitor<'de> for NamesVisitor {
    type Value = Names;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a name or a list of names")
    }

    fn visit_unit<E: serde::de::Error>(self) -> Result<Names, E> {
        Ok(Names::default())
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Names, E> {
        // A comma inside brackets belongs to an expression.
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
        Ok(Names(names.take(MAX_NAMES).collect()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Names, A::Error> {
        let mut names = Vec::new();
        while let Some(name) = seq.next_element::<String>()? {
            if names.len() == MAX_NAMES {
                return Err(serde::de::Error::custom(format!("more than {MAX_NAMES} names")));
            }
            names.push(name.trim().to_owned());
        }
        Ok(Names(names))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Names {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Names".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Names, as a list or as one text with commas.",
            "anyOf": [
                { "type": "array", "items": { "type": "string" } },
                { "type": "string" }
            ]
        })
    }
}
