//! YAML as JSON: objects of clusters, and compose files.

use serde_json::{Map, Value};
use yaml_rust2::{Yaml, YamlLoader};

use super::Importing;
use super::connections;
use super::files::{Input, MAX_WHOLE};
use crate::import::FileAccount;

/// Deepest nesting.
const MAX_DEPTH: usize = 100;

/// Most aliases of a file: each is a copy of what it names.
const MAX_ALIASES: usize = 1_000;

/// Whether a text begins as YAML of a kind that is read.
pub(super) fn is_one(head: &str) -> bool {
    let mut lines = head.lines().filter(|line| !line.starts_with('#') && !line.trim().is_empty());
    let begins = |line: &str| {
        [
            "apiVersion:",
            "kind:",
            "items:",
            "services:",
            "version:",
            "metadata:",
            "name:",
            "- apiVersion:",
        ]
        .iter()
        .any(|it| line.starts_with(it))
    };
    let first = lines.next().unwrap_or_default();
    let is_kind = head.lines().any(|line| {
        ["kind:", "services:", "items:"]
            .iter()
            .any(|it| line.trim_start_matches("- ").starts_with(it))
    });
    is_kind && (first.starts_with("---") || begins(first))
}

impl Importing<'_> {
    pub(super) fn yaml(
        &mut self,
        input: &mut Input<'_>,
        account: &mut FileAccount,
    ) -> std::io::Result<()> {
        let Some(bytes) = input.whole(MAX_WHOLE)? else {
            account.lose(1, format!("YAML that is longer than {MAX_WHOLE} bytes"));
            return Ok(());
        };
        let Ok(text) = String::from_utf8(bytes) else {
            account.lose(1, "YAML that is not UTF-8");
            return Ok(());
        };
        if text.matches(": *").count() + text.matches("- *").count() > MAX_ALIASES {
            account.lose(1, format!("YAML with more than {MAX_ALIASES} aliases"));
            return Ok(());
        }
        let documents = match YamlLoader::load_from_str(&text) {
            Ok(documents) => documents,
            Err(error) => {
                account.lose(1, format!("broken YAML: {error}"));
                return Ok(());
            }
        };
        for document in &documents {
            let Some(value) = as_json(document, MAX_DEPTH) else {
                account.lose(1, "YAML that is nested too deeply");
                continue;
            };
            if value.get("services").is_some_and(Value::is_object) && value.get("kind").is_none() {
                let services = connections::compose(&value);
                account.is("compose file");
                account.take("services", services.len());
                self.compose.extend(services);
            } else if !value.is_null() {
                self.value(value, input, account);
            }
        }
        Ok(())
    }
}

fn as_json(yaml: &Yaml, depth: usize) -> Option<Value> {
    let depth = depth.checked_sub(1)?;
    Some(match yaml {
        Yaml::Real(text) => text.parse::<f64>().map_or_else(|_| text.as_str().into(), Into::into),
        Yaml::Integer(number) => (*number).into(),
        Yaml::String(text) => text.as_str().into(),
        Yaml::Boolean(is) => (*is).into(),
        Yaml::Array(list) => {
            Value::Array(list.iter().map(|it| as_json(it, depth)).collect::<Option<_>>()?)
        }
        Yaml::Hash(hash) => {
            let mut map = Map::new();
            for (key, value) in hash {
                let key = match key {
                    Yaml::String(text) | Yaml::Real(text) => text.clone(),
                    Yaml::Integer(number) => number.to_string(),
                    Yaml::Boolean(is) => is.to_string(),
                    _ => continue,
                };
                map.insert(key, as_json(value, depth)?);
            }
            Value::Object(map)
        }
        Yaml::Alias(_) | Yaml::Null | Yaml::BadValue => Value::Null,
    })
}
