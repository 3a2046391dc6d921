//! Derived metrics as an argument: names and expressions.

use serde::Deserialize;
use serde_json::Value;

use super::super::query::{described, texts, unexpected};

/// Most derived metrics of one call.
const MAX_DERIVED: usize = 32;

/// What there may be too many of.
const WHAT: &str = "derived metrics";

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
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
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

impl TryFrom<Value> for Derived {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let derived: Result<Vec<_>, String> = match given {
            Value::Null => Ok(Vec::new()),
            Value::String(text) => named(&text).map(|one| vec![one]),
            Value::Array(list) => {
                texts(list, MAX_DERIVED, WHAT)?.iter().map(|text| named(text)).collect()
            }
            Value::Object(map) => {
                let (names, expressions): (Vec<_>, Vec<_>) = map.into_iter().unzip();
                let expressions = texts(expressions, MAX_DERIVED, WHAT)?;
                let each = names.iter().zip(expressions);
                each.map(|(name, expression)| Ok((checked(name)?, expression))).collect()
            }
            other => {
                let expected =
                    "derived metrics: {\"name\": \"expression\"} or \"name = expression\"";
                Err(unexpected(&other, expected))
            }
        };
        derived.map(Self)
    }
}

fn checked(name: &str) -> Result<String, String> {
    let fits = is_name(name.trim()).then(|| name.trim().to_owned());
    fits.ok_or_else(|| format!("{name:?} is not a valid name; use letters, digits, _, -, . and %"))
}

described!(Derived, {
    "description": "Expressions over metrics, by name.",
    "anyOf": [
        { "type": "object", "additionalProperties": { "type": "string" } },
        { "type": "array", "items": { "type": "string" } },
        { "type": "string" }
    ]
});
