//! Structure inside text: configuration files that are stored as one string.
//!
//! A string that holds JSON, YAML-like text, or `key = value` lines is unfolded into a map, so that
//! a change shows as the changed leaf and not as two blobs. Nothing is guessed: a text with a line
//! that fits none of these forms stays as it is.

use serde_json::{Map, Value};

/// Longest text that is unfolded, in bytes.
const MAX_TEXT: usize = 1024 * 1024;

/// Deepest nesting of an unfolded YAML-like text.
const MAX_DEPTH: usize = 64;

/// The key under which an unfolded text stands; no file format uses it.
pub(crate) const UNFOLDED: &str = "#";

/// Replaces a text by its structure where it has one.
pub(crate) fn unfold(value: &mut Value) {
    let Value::String(text) = value else { return };
    if text.len() > MAX_TEXT {
        return;
    }
    let structure = from_json(text).or_else(|| from_lines(text));
    if let Some(structure) = structure {
        *value = Value::Object(Map::from_iter([(UNFOLDED.to_owned(), structure)]));
    }
}

fn from_json(text: &str) -> Option<Value> {
    let is_nested = text.trim_start().starts_with(['{', '[']);
    is_nested.then(|| serde_json::from_str(text).ok()).flatten()
}

/// Reads `key: value`, `key=value`, `[section]` and indented YAML maps and lists.
fn from_lines(text: &str) -> Option<Value> {
    if !text.trim().contains('\n') {
        return None;
    }
    let mut root = Value::Object(Map::new());
    let mut open: Vec<Open> = Vec::new();
    let mut section = String::new();
    for line in text.lines() {
        let body = line.trim();
        if body.is_empty() || body.starts_with(['#', ';']) || body == "---" {
            continue;
        }
        if let Some(name) = body.strip_prefix('[').and_then(|rest| rest.strip_suffix(']')) {
            section = name.trim_matches(['[', ']']).trim().to_owned();
            open.clear();
            continue;
        }
        let mut indent = line.len() - line.trim_start().len();
        // Items may stand as far left as the key of their list.
        let is_item = body == "-" || body.starts_with("- ");
        let encloses = |node: &Open| {
            node.indent < indent || (node.indent == indent && is_item && !node.is_item)
        };
        while open.last().is_some_and(|node| !encloses(node)) {
            open.pop();
        }
        let mut entry = body;
        while let Some(item) = entry.strip_prefix("- ").or((entry == "-").then_some("")) {
            let place = path(&section, &open);
            let at = children(&root, &place)?;
            open.push(Open { indent, name: at.to_string(), is_item: true });
            indent += entry.len() - item.trim_start().len();
            entry = item.trim_start();
        }
        if open.len() > MAX_DEPTH {
            return None;
        }
        let place = path(&section, &open);
        match key_and_value(entry) {
            Some((key, "")) => {
                open.push(Open { indent, name: key.to_owned(), is_item: false });
                insert(&mut root, &path(&section, &open), None)?;
            }
            Some((key, value)) => {
                let mut place = place;
                place.push(key.to_owned());
                insert(&mut root, &place, Some(value))?;
            }
            None if entry.is_empty() => {}
            // A plain list item; anywhere else the text is no configuration.
            None if body.starts_with('-') => insert(&mut root, &place, Some(entry))?,
            None => return None,
        }
    }
    let is_filled = root.as_object().is_some_and(|map| !map.is_empty());
    is_filled.then_some(root)
}

/// A key or list item whose content goes on in the lines below.
struct Open {
    indent: usize,
    name: String,
    is_item: bool,
}

fn key_and_value(entry: &str) -> Option<(&str, &str)> {
    let yaml = entry.find(": ").or(entry.ends_with(':').then(|| entry.len() - 1));
    let at = [yaml, entry.find('=')].into_iter().flatten().min()?;
    let (key, value) = (entry.get(..at)?.trim(), entry.get(at + 1..)?.trim());
    let key = key.trim_matches(['"', '\'']);
    let is_key = !key.is_empty() && key.len() <= 200 && !key.contains(['{', '(', '<', ' ']);
    let is_block = value.starts_with(['|', '>']) && value.len() <= 2;
    (is_key && !is_block).then_some((key, value.trim_matches(['"', '\''])))
}

fn path(section: &str, open: &[Open]) -> Vec<String> {
    let names = open.iter().map(|node| node.name.clone());
    Some(section.to_owned()).filter(|name| !name.is_empty()).into_iter().chain(names).collect()
}

/// How many children the node at a place has.
fn children(root: &Value, place: &[String]) -> Option<usize> {
    let mut node = root;
    for name in place {
        match node.as_object()?.get(name) {
            Some(child) => node = child,
            None => return Some(0),
        }
    }
    Some(node.as_object().map_or(0, Map::len))
}

/// Puts a value (or an empty map) at a place. Nothing when a value already stands in the way.
fn insert(root: &mut Value, place: &[String], value: Option<&str>) -> Option<()> {
    let (last, parents) = place.split_last()?;
    let mut node = root;
    for name in parents {
        let child = node.as_object_mut()?.entry(name.clone());
        node = child.or_insert_with(|| Value::Object(Map::new()));
    }
    let leaf = value.map_or_else(|| Value::Object(Map::new()), |text| Value::String(text.into()));
    node.as_object_mut()?.entry(last.clone()).or_insert(leaf);
    Some(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn unfolded(text: &str) -> Value {
        let mut value = Value::String(text.to_owned());
        unfold(&mut value);
        value
    }

    #[test]
    fn structured_text_becomes_a_map() {
        let cases = [
            ("{\"a\": {\"b\": 1}}", json!({"a": {"b": 1}})),
            ("a = 1\nb=two\n", json!({"a": "1", "b": "two"})),
            ("[s]\na=1\n[t]\na=2\n", json!({"s": {"a": "1"}, "t": {"a": "2"}})),
            (
                "# note\nserver:\n  port: 80\n  hosts:\n  - a\n  - b\nlog: info\n",
                json!({"server": {"port": "80", "hosts": {"0": "a", "1": "b"}}, "log": "info"}),
            ),
            (
                "rules:\n- name: x\n  rate: 1\n- name: y\n",
                json!({"rules": {"0": {"name": "x", "rate": "1"}, "1": {"name": "y"}}}),
            ),
        ];
        for (text, expected) in cases {
            assert_eq!(unfolded(text)[UNFOLDED], expected, "{text}");
        }
    }

    #[test]
    fn other_text_stays_as_it_is() {
        for text in ["", "plain", "a: b", "{cut", "#!/bin/sh\necho hi\nexit 1\n", "one\ntwo"] {
            assert_eq!(unfolded(text), json!(text));
        }
    }

    #[test]
    fn no_prefix_of_a_configuration_breaks_the_reader() {
        let text = "a:\n - b:\n    c: 1\n - - d\n[é]\n=x\n{\"k\": [1, \"]\"]}\n";
        for (end, _) in text.char_indices() {
            let _ = unfolded(&text[..end]);
        }
    }
}
