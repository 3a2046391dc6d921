//! JSON Schemas of the vocabulary, for programs in any language.

use schemars::JsonSchema;
use serde_json::Value;

/// The JSON Schema of a type. Its descriptions are prose: Rust examples and link brackets of the
/// documentation are taken out.
///
/// ```
/// let schema = eog_core::json_schema::<eog_core::Decision>();
/// assert_eq!(schema["title"], "Decision");
/// ```
pub fn json_schema<T: JsonSchema>() -> Value {
    let mut schema = schemars::schema_for!(T).to_value();
    plain_descriptions(&mut schema);
    // Whether serde_json keeps an order of its own is up to other crates of a build.
    schema.sort_all_objects();
    schema
}

fn plain_descriptions(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            for (name, value) in fields {
                match value {
                    Value::String(text) if name == "description" => {
                        let prose = text.split("\n\n```").next().unwrap_or_default();
                        *text = prose.replace("[`", "`").replace("`]", "`");
                    }
                    _ => plain_descriptions(value),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(plain_descriptions),
        _ => {}
    }
}
