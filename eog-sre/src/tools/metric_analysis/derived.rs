//! Derived metrics as an argument: names and expressions.

use std::fmt;

use serde::de::{Error, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// Most derived metrics of one call.
const MAX_DERIVED: usize = 32;

/// Named expressions over metrics.
///
/// As JSON a map, `{"error_percent": "errors / requests * 100"}`, or a list of texts
/// `NAME = EXPRESSION`, or one such text.
///
/// ```
/// use eog_sre::tools::Derived;
/// let derived: Derived = serde_json::from_str(r#""error_percent = errors / requests * 100""#)?;
/// assert_eq!(derived.0[0].0, "error_percent");
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Derived(pub Vec<(String, String)>);

fn named(text: &str) -> Result<(String, String), String> {
    let parts = text.split_once('=').filter(|(name, _)| is_name(name.trim()));
    let (name, expression) = parts.ok_or_else(|| {
        let text = eog_evidence::shorten(text, 100);
        format!("{text:?} has no name; write NAME = EXPRESSION")
    })?;
    Ok((name.trim().to_owned(), expression.trim().to_owned()))
}

fn is_name(text: &str) -> bool {
    let fits = |c: char| c.is_alphanumeric() || ['_', '-', '.', '%'].contains(&c);
    !text.is_empty() && text.len() <= 100 && text.chars().all(fits)
}

impl<'de> Deserialize<'de> for Derived {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(DerivedVisitor)
    }
}

struct DerivedVisitor;

impl DerivedVisitor {
    fn bounded<E: Error>(count: usize) -> Result<(), E> {
        if count < MAX_DERIVED {
            return Ok(());
        }
        Err(E::custom(format!("more than {MAX_DERIVED} derived metrics")))
    }
}

impl<'de> Visitor<'de> for DerivedVisitor {
    type Value = Derived;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("derived metrics: {\"name\": \"expression\"} or \"name = expression\"")
    }

    fn visit_unit<E: Error>(self) -> Result<Derived, E> {
        Ok(Derived::default())
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Derived, E> {
        Ok(Derived(vec![named(text).map_err(E::custom)?]))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut seq: A) -> Result<Derived, A::Error> {
        let mut all = Vec::new();
        while let Some(text) = seq.next_element::<String>()? {
            Self::bounded::<A::Error>(all.len())?;
            all.push(named(&text).map_err(A::Error::custom)?);
        }
        Ok(Derived(all))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Derived, A::Error> {
        let mut all = Vec::new();
        while let Some((name, expression)) = map.next_entry::<String, String>()? {
            Self::bounded::<A::Error>(all.len())?;
            if !is_name(name.trim()) {
                let reason = "a name has letters, digits, _, -, . or %";
                return Err(A::Error::custom(format!("{name:?} is no name; {reason}")));
            }
            all.push((name.trim().to_owned(), expression));
        }
        Ok(Derived(all))
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for Derived {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Derived".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Expressions over metrics by name.",
            "anyOf": [
                { "type": "object", "additionalProperties": { "type": "string" } },
                { "type": "array", "items": { "type": "string" } },
                { "type": "string" }
            ]
        })
    }
}
