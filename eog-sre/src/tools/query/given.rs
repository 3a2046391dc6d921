//! Arguments that may be written in several ways: as one text, as a list, as a map.

use serde::de::Unexpected;
use serde_json::Value;

/// What is wrong with a value of a type that an argument cannot have, in serde's words.
pub(crate) fn unexpected(value: &Value, expected: &str) -> String {
    let found = match value {
        Value::Null => Unexpected::Other("null"),
        Value::Bool(flag) => Unexpected::Bool(*flag),
        Value::Number(number) => {
            let kind = if number.is_f64() { "floating point" } else { "integer" };
            return format!("invalid type: {kind} `{number}`, expected {expected}");
        }
        Value::String(text) => Unexpected::Str(text),
        Value::Array(_) => Unexpected::Seq,
        Value::Object(_) => Unexpected::Map,
    };
    format!("invalid type: {found}, expected {expected}")
}

/// A list of texts.
///
/// # Errors
/// The reason, when it is too long or holds something else.
pub(crate) fn texts(list: Vec<Value>, most: usize, what: &str) -> Result<Vec<String>, String> {
    if list.len() > most {
        return Err(format!("more than {most} {what}"));
    }
    let text = |value| match value {
        Value::String(text) => Ok(text),
        other => Err(unexpected(&other, "a string")),
    };
    list.into_iter().map(text).collect()
}

/// Gives an argument a JSON Schema that stands wherever the argument does.
macro_rules! described {
    ($argument:ident, $schema:tt) => {
        #[cfg(feature = "schema")]
        impl schemars::JsonSchema for $argument {
            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($argument).into()
            }

            fn inline_schema() -> bool {
                true
            }

            fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
                schemars::json_schema!($schema)
            }
        }
    };
}

pub(crate) use described;
