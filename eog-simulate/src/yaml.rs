//! YAML as values of JSON: bounded reading, and writing.

use std::path::Path;

use serde_json::{Map, Number, Value};
use yaml_rust2::parser::Parser;
use yaml_rust2::scanner::Marker;
use yaml_rust2::{Event, Yaml, YamlEmitter, YamlLoader};

use crate::files::FileError;

/// Deepest nesting.
const MAX_DEPTH: usize = 64;

/// Reads the first document of a text.
pub(crate) fn parse(text: &str, path: &Path) -> Result<Value, FileError> {
    let wrong = |at: &Marker, reason: &str| {
        let place = format!("line {}, column {}", at.line().max(1), at.col() + 1);
        FileError::malformed(path, place, reason)
    };
    // References to other parts could make a small file a huge value.
    let mut parser = Parser::new_from_str(text);
    let mut depth = 0_usize;
    loop {
        let (event, at) = parser.next_token().map_err(|e| wrong(e.marker(), e.info()))?;
        match event {
            Event::Alias(_) => {
                return Err(wrong(
                    &at,
                    "aliases (*name) are not supported; repeat the value instead",
                ));
            }
            Event::SequenceStart(..) | Event::MappingStart(..) => {
                depth += 1;
                if depth > MAX_DEPTH {
                    return Err(wrong(&at, &format!("nested more than {MAX_DEPTH} levels deep")));
                }
            }
            Event::SequenceEnd | Event::MappingEnd => depth = depth.saturating_sub(1),
            Event::StreamEnd => break,
            _ => {}
        }
    }
    let documents =
        YamlLoader::load_from_str(text).map_err(|error| wrong(error.marker(), error.info()))?;
    let first = documents.into_iter().next();
    first
        .map(value)
        .ok_or_else(|| FileError::malformed(path, "line 1, column 1", "the file is empty"))
}

fn value(yaml: Yaml) -> Value {
    match yaml {
        Yaml::Real(text) => {
            let number = text.parse().ok().and_then(Number::from_f64);
            number.map_or(Value::String(text), Value::Number)
        }
        Yaml::Integer(number) => Value::from(number),
        Yaml::String(text) => Value::String(text),
        Yaml::Boolean(truth) => Value::Bool(truth),
        Yaml::Array(items) => Value::Array(items.into_iter().map(value).collect()),
        Yaml::Hash(entries) => {
            let named = entries.into_iter().map(|(key, entry)| (name(key), value(entry)));
            Value::Object(named.collect::<Map<_, _>>())
        }
        Yaml::Alias(_) | Yaml::Null | Yaml::BadValue => Value::Null,
    }
}

fn name(key: Yaml) -> String {
    match value(key) {
        Value::String(text) => text,
        other => other.to_string(),
    }
}

/// A value as a document.
pub(crate) fn write(value: &Value) -> String {
    let mut text = String::new();
    // Writing to memory does not fail.
    let written = YamlEmitter::new(&mut text).dump(&yaml(value));
    debug_assert!(written.is_ok());
    text.push('\n');
    text
}

fn yaml(value: &Value) -> Yaml {
    match value {
        Value::Null => Yaml::Null,
        Value::Bool(truth) => Yaml::Boolean(*truth),
        Value::Number(number) => match number.as_i64() {
            Some(whole) => Yaml::Integer(whole),
            None => Yaml::Real(number.to_string()),
        },
        Value::String(text) => Yaml::String(text.clone()),
        Value::Array(items) => Yaml::Array(items.iter().map(yaml).collect()),
        Value::Object(fields) => {
            let named = fields.iter().map(|(key, value)| (Yaml::String(key.clone()), yaml(value)));
            Yaml::Hash(named.collect())
        }
    }
}
