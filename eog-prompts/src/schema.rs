//! JSON Schemas of answers, in the form that strict structured-output modes accept, and in a short
//! notation for models.

use eog_core::json_schema;
use schemars::JsonSchema;
use serde_json::{Map, Value, json};

use crate::AnswerForm;

/// Keywords that every known strict mode accepts.
const STRICT: [&str; 7] =
    ["additionalProperties", "anyOf", "enum", "items", "properties", "required", "type"];

/// The form of an answer for providers: all properties required, no others allowed, no keyword
/// that a strict mode rejects.
pub fn answer_form<T: JsonSchema>(name: &str) -> AnswerForm {
    let mut schema = whole_schema::<T>();
    keep_strict(&mut schema);
    AnswerForm { name: name.to_owned(), schema }
}

/// Why strict modes would reject a schema: each problem with its place. Empty for every
/// [`answer_form`] of types without maps and recursion.
///
/// ```
/// let loose = serde_json::json!({ "type": "object", "properties": { "a": { "minimum": 1 } } });
/// let problems = eog_prompts::not_strict(&loose);
/// assert!(problems.iter().any(|problem| problem.contains("/properties/a")), "{problems:?}");
/// ```
pub fn not_strict(schema: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    find_loose(schema, "", &mut problems);
    problems
}

/// The schema that answers are checked by: that of the form, where what has a default may be left out, as in answers
/// that were recorded before there was such a field.
pub(crate) fn checked_schema<T: JsonSchema>() -> Value {
    let mut schema = whole_schema::<T>();
    require_no_defaults(&mut schema);
    schema
}

fn require_no_defaults(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties").cloned()
                && let Some(Value::Array(required)) = fields.get_mut("required")
            {
                let has_default = |name: &Value| {
                    name.as_str().is_some_and(|it| properties[it].get("default").is_some())
                };
                required.retain(|name| !has_default(name));
            }
            fields.values_mut().for_each(require_no_defaults);
        }
        Value::Array(items) => items.iter_mut().for_each(require_no_defaults),
        _ => {}
    }
}

/// The schema with every bound that the type has, references resolved, and everything required.
pub(crate) fn whole_schema<T: JsonSchema>() -> Value {
    let root = json_schema::<T>();
    let definitions = root.get("$defs").cloned().unwrap_or_default();
    let mut schema = inline(&root, &definitions, 0);
    require_all(&mut schema);
    schema
}

/// Longest chain of references that is followed; a recursive type ends there, and [`not_strict`]
/// says so.
const MAX_DEPTH: usize = 16;

pub(crate) fn inline(schema: &Value, definitions: &Value, depth: usize) -> Value {
    let Value::Object(fields) = schema else {
        return match schema {
            Value::Array(items) => {
                items.iter().map(|item| inline(item, definitions, depth)).collect()
            }
            other => other.clone(),
        };
    };
    let reference = fields.get("$ref").and_then(Value::as_str);
    let target = reference.and_then(|name| definitions.get(name.strip_prefix("#/$defs/")?));
    let mut whole = Map::new();
    if let Some(target) = target.filter(|_| depth < MAX_DEPTH)
        && let Value::Object(found) = inline(target, definitions, depth + 1)
    {
        whole = found;
    }
    let mut names: Vec<&String> = fields.keys().collect();
    names.sort();
    for name in names {
        let skip = match name.as_str() {
            "$ref" => target.is_some() && depth < MAX_DEPTH,
            "$defs" | "$schema" | "title" => true,
            _ => false,
        };
        if !skip {
            whole.insert(name.clone(), inline(&fields[name], definitions, depth));
        }
    }
    // Alternatives that are mere constants are an enumeration.
    if let Some(Value::Array(options)) = whole.get("oneOf") {
        let constants: Option<Vec<Value>> =
            options.iter().map(|option| option.get("const").cloned()).collect();
        if let Some(constants) = constants {
            whole.remove("oneOf");
            whole.insert("type".into(), json!("string"));
            whole.insert("enum".into(), constants.into());
        }
    }
    Value::Object(whole)
}

fn require_all(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::Object(properties)) = fields.get("properties") {
                let mut names: Vec<String> = properties.keys().cloned().collect();
                names.sort();
                fields.insert("required".into(), names.into());
                fields.insert("additionalProperties".into(), json!(false));
            }
            fields.values_mut().for_each(require_all);
        }
        Value::Array(items) => items.iter_mut().for_each(require_all),
        _ => {}
    }
}

/// Takes out what is not a keyword of strict modes. Names of properties are no keywords.
fn keep_strict(schema: &mut Value) {
    let Value::Object(fields) = schema else { return };
    fields.retain(|keyword, _| STRICT.contains(&keyword.as_str()) || keyword == "$ref");
    for (keyword, value) in fields.iter_mut() {
        match (keyword.as_str(), value) {
            ("properties", Value::Object(properties)) => {
                properties.values_mut().for_each(keep_strict);
            }
            ("anyOf", Value::Array(options)) => options.iter_mut().for_each(keep_strict),
            ("items", item) => keep_strict(item),
            _ => {}
        }
    }
}

fn find_loose(schema: &Value, place: &str, problems: &mut Vec<String>) {
    let Value::Object(fields) = schema else {
        return problems.push(format!("{place}/: is not an object"));
    };
    for keyword in fields.keys().filter(|keyword| !STRICT.contains(&keyword.as_str())) {
        problems.push(format!("{place}/: keyword {keyword:?} is not accepted by all providers"));
    }
    if !["type", "anyOf", "enum"].iter().any(|keyword| fields.contains_key(*keyword)) {
        problems.push(format!("{place}/: has no type"));
    }
    if fields.get("type") == Some(&json!("object")) {
        let names: Vec<&String> = match fields.get("properties") {
            Some(Value::Object(properties)) => properties.keys().collect(),
            _ => Vec::new(),
        };
        if names.is_empty() {
            problems.push(format!("{place}/: is an object without named properties"));
        }
        if fields.get("additionalProperties") != Some(&json!(false)) {
            problems.push(format!("{place}/: allows other properties"));
        }
        let required = |name: &String| {
            let list = fields.get("required").and_then(Value::as_array);
            list.is_some_and(|list| list.iter().any(|item| item == name))
        };
        for name in names.into_iter().filter(|name| !required(name)) {
            problems.push(format!("{place}/properties/{name}: is not required"));
        }
    }
    if let Some(Value::Object(properties)) = fields.get("properties") {
        for (name, property) in properties {
            find_loose(property, &format!("{place}/properties/{name}"), problems);
        }
    }
    if let Some(Value::Array(options)) = fields.get("anyOf") {
        for (index, option) in options.iter().enumerate() {
            find_loose(option, &format!("{place}/anyOf/{index}"), problems);
        }
    }
    if let Some(items) = fields.get("items") {
        find_loose(items, &format!("{place}/items"), problems);
    }
}

/// A schema as an example on one line, with the description of each field, which stands in place of texts
/// and of the texts of lists: `<what happened>`.
pub(crate) fn notation(schema: &Value) -> String {
    let mut out = String::new();
    write_shape(schema, &mut out);
    out
}

fn write_type(schema: &Value, out: &mut String) {
    let description = schema.get("description").and_then(Value::as_str);
    let description = description.map(|text| text.split_whitespace().collect::<Vec<_>>().join(" "));
    let description = description.filter(|text| !text.is_empty());
    let is_text = |schema: &Value| {
        schema.get("type").and_then(Value::as_str) == Some("string") && schema.get("enum").is_none()
    };
    let items = schema.get("items").filter(|items| is_text(items));
    match (description, items) {
        (Some(description), _) if is_text(schema) => out.push_str(&format!("<{description}>")),
        (Some(description), Some(_)) => out.push_str(&format!("[<{description}>, …]")),
        (description, _) => {
            write_shape(schema, out);
            if let Some(description) = description {
                out.push_str(&format!(" ({description})"));
            }
        }
    }
}

fn write_shape(schema: &Value, out: &mut String) {
    if let Some(Value::Object(properties)) = schema.get("properties") {
        let mut names: Vec<&String> = properties.keys().collect();
        names.sort();
        out.push('{');
        for (index, name) in names.into_iter().enumerate() {
            out.push_str(if index > 0 { ", " } else { "" });
            out.push_str(&format!("\"{name}\": "));
            write_type(&properties[name], out);
        }
        out.push('}');
    } else if let Some(Value::Array(values)) = schema.get("enum") {
        let values: Vec<String> = values.iter().map(Value::to_string).collect();
        out.push_str(&values.join(" | "));
    } else if let Some(items) = schema.get("items") {
        out.push('[');
        write_shape(items, out);
        out.push_str(", …]");
    } else if let Some(Value::Array(options)) = schema.get("anyOf") {
        for (index, option) in options.iter().enumerate() {
            out.push_str(if index > 0 { " | " } else { "" });
            write_shape(option, out);
        }
    } else {
        match schema.get("type") {
            Some(Value::Array(types)) => {
                let types: Vec<&str> = types.iter().filter_map(Value::as_str).collect();
                out.push_str(&types.join(" | "));
            }
            Some(Value::String(one)) => out.push_str(one),
            _ => out.push_str("any"),
        }
    }
}

#[cfg(test)]
mod tests {
    use serde::{Deserialize, Serialize};

    use super::*;

    #[derive(Serialize, Deserialize, JsonSchema)]
    #[serde(rename_all = "snake_case")]
    enum Colour {
        /// Like blood.
        Red,
        /// Like the sky.
        Blue,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Part {
        /// How many.
        count: u8,
        colour: Colour,
    }

    #[derive(Serialize, Deserialize, JsonSchema)]
    struct Whole {
        /// The first
        /// of all.
        first: Option<String>,
        #[serde(default)]
        parts: Vec<Part>,
        best: Option<Part>,
    }

    #[test]
    fn a_form_is_strict_and_keeps_its_shape() {
        let form = answer_form::<Whole>("whole");
        assert_eq!(not_strict(&form.schema), Vec::<String>::new());
        let part = json!({
            "type": "object",
            "additionalProperties": false,
            "required": ["colour", "count"],
            "properties": {
                "count": { "type": "integer" },
                "colour": { "type": "string", "enum": ["red", "blue"] },
            },
        });
        assert_eq!(
            form.schema,
            json!({
                "type": "object",
                "additionalProperties": false,
                "required": ["best", "first", "parts"],
                "properties": {
                    "first": { "type": ["string", "null"] },
                    "parts": { "type": "array", "items": part },
                    "best": { "anyOf": [part, { "type": "null" }] },
                },
            })
        );
    }

    #[test]
    fn answers_are_checked_by_the_bounds_too() {
        let schema = whole_schema::<Whole>();
        let answer =
            json!({ "first": null, "best": null, "parts": [{ "count": 300, "colour": "red" }] });
        let errors: Vec<String> = jsonschema::validator_for(&schema)
            .unwrap()
            .iter_errors(&answer)
            .map(|error| error.to_string())
            .collect();
        assert_eq!(errors.len(), 1, "{errors:?}");
        assert!(errors[0].contains("300"), "{errors:?}");
    }

    #[test]
    fn what_has_a_default_may_be_left_out_of_an_answer() {
        let required = |schema: Value| schema["required"].clone();
        assert_eq!(required(checked_schema::<Whole>()), json!(["best", "first"]));
        assert_eq!(required(whole_schema::<Whole>()), json!(["best", "first", "parts"]));
    }

    #[test]
    fn what_is_loose_is_found() {
        type Map = std::collections::BTreeMap<String, u8>;
        let schema = answer_form::<Map>("map").schema;
        assert!(!not_strict(&schema).is_empty());
        let recursive = json!({ "$ref": "#" });
        assert!(!not_strict(&recursive).is_empty());
    }

    #[test]
    fn the_notation_reads_like_an_example() {
        assert_eq!(
            notation(&whole_schema::<Whole>()),
            "{\"best\": {\"colour\": \"red\" | \"blue\", \"count\": integer (How many.)} | null, \
             \"first\": string | null (The first of all.), \
             \"parts\": [{\"colour\": \"red\" | \"blue\", \"count\": integer (How many.)}, …]}"
        );
    }
}
