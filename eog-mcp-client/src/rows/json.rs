//! Rows in JSON, and their fields by pointers.

use std::collections::BTreeMap;
use std::io;

use serde::Deserialize;
use serde_json::Value;

use super::row::{MAX_FIELD, MAX_ROWS, Read, Row};
use crate::connection::ToolAnswer;

/// Longest texts of all rows of one answer together, in bytes: a field above the rows is repeated for
/// each of them.
const MAX_TEXT: usize = 64 << 20;

/// Where the rows of an answer are, and where their fields.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "Given")]
pub(crate) struct JsonRows {
    /// The steps to the rows, in which `*` is every element.
    at: Vec<String>,
    fields: BTreeMap<String, Field>,
}

/// The same as it is written.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Given {
    /// A JSON pointer to the list of rows; `*` stands for every element of a list or map. What is
    /// found and is no list is one row.
    at: String,
    /// The fields, each a JSON pointer within its row; `../` before it goes one step up from the row.
    /// Without any, the members of the row.
    fields: BTreeMap<String, String>,
}

/// Where a field is.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Field {
    /// So many steps up from the row.
    up: usize,
    /// A JSON pointer from there.
    pointer: String,
}

impl TryFrom<Given> for JsonRows {
    type Error = String;

    fn try_from(given: Given) -> Result<Self, String> {
        if !given.at.is_empty() && !given.at.starts_with('/') {
            return Err(format!("`at` is {:?}, but a JSON pointer must start with /", given.at));
        }
        let at: Vec<String> = given.at.split('/').skip(1).map(str::to_owned).collect();
        // Rows are where the pointer leads, or the elements of a list there.
        let deepest = at.len() + 1;
        let fields = given.fields.into_iter().map(|(name, text)| {
            let field =
                Field::parse(&text).map_err(|reason| format!("field {name:?}: {reason}"))?;
            if field.up > deepest {
                return Err(format!(
                    "field {name:?}: {text:?} goes up {} levels, but rows at {:?} are at most \
                     {deepest} levels deep",
                    field.up, given.at
                ));
            }
            Ok((name, field))
        });
        Ok(Self { at, fields: fields.collect::<Result<_, _>>()? })
    }
}

impl Field {
    fn parse(text: &str) -> Result<Self, String> {
        let (mut up, mut rest) = (0, text);
        loop {
            if rest == ".." {
                return Ok(Self { up: up + 1, pointer: String::new() });
            }
            let Some(after) = rest.strip_prefix("../") else { break };
            (up, rest) = (up + 1, after);
        }
        match up {
            0 if !text.is_empty() && !text.starts_with('/') => Err(format!(
                "{text:?} is not a JSON pointer: it must start with /, or with ../ for a value above the row"
            )),
            0 => Ok(Self { up, pointer: text.to_owned() }),
            _ => Ok(Self { up, pointer: format!("/{rest}") }),
        }
    }

    /// The value, seen from the last of a chain of values, each within the one before.
    fn find<'v>(&self, chain: &[&'v Value]) -> Option<&'v Value> {
        let from = chain.len().checked_sub(self.up + 1)?;
        chain.get(from)?.pointer(&self.pointer)
    }
}

/// The JSON of an answer: its structured content, else its text. Objects are sorted, so that rows
/// and texts hang neither on a server's order nor on how `serde_json` was built.
pub(crate) fn unmasked_json_of(answer: &ToolAnswer) -> Result<Value, String> {
    let mut value = match &answer.structured {
        Some(structured) => structured.clone(),
        None => serde_json::from_str(&answer.text).map_err(|error| {
            let begin = eog_evidence::shorten(&eog_evidence::mask_text(&answer.text), 80);
            format!(
                "the answer has no structured content, and its text is not JSON ({error}): {begin:?}"
            )
        })?,
    };
    value.sort_all_objects();
    Ok(value)
}

impl JsonRows {
    pub(super) fn read(&self, answer: &ToolAnswer) -> Result<Read, String> {
        let value: Value = eog_evidence::masked_value(unmasked_json_of(answer)?)
            .map_err(|error| error.to_string())?;
        let mut taken = Taken { rows: self, bytes: 0, read: Read::default() };
        let is_there = taken.walk(&mut vec![&value], &self.at);
        if !is_there && !self.at.iter().any(|step| step == "*") {
            return Err(format!("the answer has nothing at \"/{}\"", self.at.join("/")));
        }
        Ok(taken.read)
    }

    fn row(&self, chain: &[&Value]) -> Row {
        let mut row = Row::default();
        if self.fields.is_empty() {
            let members = chain.last().and_then(|value| value.as_object());
            for (name, value) in members.into_iter().flatten() {
                set(&mut row, name, value);
            }
        }
        for (name, field) in &self.fields {
            if let Some(value) = field.find(chain) {
                set(&mut row, name, value);
            }
        }
        row
    }
}

/// What was taken from one answer so far.
struct Taken<'r> {
    rows: &'r JsonRows,
    bytes: usize,
    read: Read,
}

impl Taken<'_> {
    /// Takes the rows at the end of a path, seen from the last value of a chain. Whether anything is
    /// there.
    fn walk<'v>(&mut self, chain: &mut Vec<&'v Value>, path: &[String]) -> bool {
        let Some(value) = chain.last().copied() else { return false };
        let Some((step, rest)) = path.split_first() else {
            match value {
                Value::Array(list) => {
                    for row in list {
                        self.within(chain, row, |taken, chain| taken.take(chain));
                    }
                }
                Value::Null => {}
                _ => self.take(chain),
            }
            return true;
        };
        let mut is_there = false;
        let mut deeper = |taken: &mut Self, chain: &mut Vec<&'v Value>| {
            is_there |= taken.walk(chain, rest);
        };
        match (step.as_str(), value) {
            ("*", Value::Array(list)) => {
                list.iter().for_each(|inner| self.within(chain, inner, &mut deeper));
            }
            ("*", Value::Object(map)) => {
                map.values().for_each(|inner| self.within(chain, inner, &mut deeper));
            }
            (step, value) => {
                if let Some(inner) = value.pointer(&format!("/{step}")) {
                    self.within(chain, inner, &mut deeper);
                }
            }
        }
        is_there
    }

    fn within<'v>(
        &mut self,
        chain: &mut Vec<&'v Value>,
        value: &'v Value,
        mut work: impl FnMut(&mut Self, &mut Vec<&'v Value>),
    ) {
        chain.push(value);
        work(self, chain);
        chain.pop();
    }

    fn take(&mut self, chain: &[&Value]) {
        if self.read.rows.len() >= MAX_ROWS || self.bytes >= MAX_TEXT {
            self.read.left_out += 1;
            return;
        }
        let row = self.rows.row(chain);
        self.bytes += row.bytes();
        self.read.rows.push(row);
    }
}

fn set(row: &mut Row, name: &str, value: &Value) {
    match value {
        Value::Null => {}
        Value::String(text) => row.set(name, text),
        other => {
            let mut head = Head(Vec::new());
            // Fails when there is more than is kept.
            let _ = serde_json::to_writer(&mut head, other);
            row.set(name, &String::from_utf8_lossy(&head.0));
        }
    }
}

/// The beginning of what is written, as long as a field may be.
struct Head(Vec<u8>);

impl io::Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = MAX_FIELD.saturating_sub(self.0.len());
        if room == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        let taken = bytes.get(..bytes.len().min(room)).unwrap_or_default();
        self.0.extend_from_slice(taken);
        Ok(taken.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::Rows;
    use super::super::tests::{answer, row, rows};
    use super::*;
    use serde_json::json;

    #[test]
    fn json_is_read_by_pointers() {
        let series = json!({"data": {"result": [
            {"values": [[1, "0.5"], [2, null]]}, {"values": [[3, "0.7"]]}]}});
        let how =
            json!({"json": {"at": "/data/result/*/values", "fields": {"t": "/0", "v": "/1"}}});
        let expected = [
            row(&[("t", "1"), ("v", "0.5")]),
            row(&[("t", "2")]),
            row(&[("t", "3"), ("v", "0.7")]),
        ];
        assert_eq!(rows(how.clone(), &answer(Some(series.clone()), "")).unwrap(), expected);
        assert_eq!(rows(how, &answer(None, &series.to_string())).unwrap(), expected);

        let plain = answer(None, r#"{"a": {"b": 1}, "c": true}"#);
        let all = rows(json!({"json": {}}), &plain).unwrap();
        assert_eq!(all, [row(&[("a", r#"{"b":1}"#), ("c", "true")])]);
        let error = rows(json!({"json": {"at": "/items"}}), &plain).unwrap_err();
        assert!(error.contains("nothing at \"/items\""), "{error}");
        let error = rows(json!({"json": {}}), &answer(None, "hello")).unwrap_err();
        assert!(error.contains("not JSON") && error.contains("hello"), "{error}");
    }

    #[test]
    fn a_field_can_lie_above_its_row() {
        let series = json!({"status": "ok", "data": {"result": [
            {"metric": {"job": "pay"}, "values": [[1, "0.5"], [2, "0.6"]]},
            {"metric": {"job": "list"}, "values": [[3, "0.7"]]}]}});
        let how = json!({"json": {"at": "/data/result/*/values", "fields": {
            "t": "/0", "job": "../../metric/job", "all": "../../../../../status", "n": "../../none"}}});
        let expected = [("1", "pay"), ("2", "pay"), ("3", "list")]
            .map(|(t, job)| row(&[("all", "ok"), ("job", job), ("t", t)]));
        assert_eq!(rows(how, &answer(Some(series), "")).unwrap(), expected);

        // What is one row and no list is one step less deep.
        let one = answer(None, r#"{"host": "a", "disk": {"used": 5}}"#);
        let how = json!({"json": {"at": "/disk", "fields": {"host": "../host", "up": "..",
            "beyond": "../../host"}}});
        let whole = r#"{"disk":{"used":5},"host":"a"}"#;
        assert_eq!(rows(how, &one).unwrap(), [row(&[("host", "a"), ("up", whole)])]);
    }

    #[test]
    fn wrong_pointers_are_reported() {
        for (how, reason) in [
            (json!({"at": "data"}), "a JSON pointer must start with /"),
            (json!({"fields": {"x": "name"}}), "field \"x\": \"name\" is not a JSON pointer"),
            (json!({"at": "/a", "fields": {"x": "../../../b"}}), "goes up 3 levels"),
        ] {
            let error = rows(json!({"json": how}), &answer(None, "{}")).unwrap_err();
            assert!(error.contains(reason), "{error}");
        }
    }

    #[test]
    fn what_lies_above_many_rows_stays_bounded() {
        let many = json!({"big": "x".repeat(MAX_FIELD + 5), "list": vec![1; MAX_ROWS]});
        let how = json!({"json": {"at": "/list", "fields": {"big": "../../big", "all": "../.."}}});
        let how: Rows = serde_json::from_value(how).unwrap();
        let read = how.read(&answer(Some(many), "")).unwrap();
        assert!(read.left_out > 0 && read.rows.len() + read.left_out == MAX_ROWS);
        let kept: usize = read.rows.iter().map(Row::bytes).sum();
        assert!(kept <= MAX_TEXT + 2 * MAX_FIELD, "{kept}");
    }
}
