//! From the answer of a tool to rows of named fields.

mod json;
mod row;

use super::connection::ToolAnswer;
use regex::Regex;
use serde::Deserialize;

use json::JsonRows;
pub(super) use json::unmasked_json_of;
pub(super) use row::{MAX_ROWS, Read, Row};

/// How the answer of a tool becomes rows.
#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Rows {
    /// Structured content, or a text that is JSON.
    Json(JsonRows),
    /// A text, one row for each match.
    Regex(Pattern),
    /// A text with columns.
    Table(Table),
}

/// A regular expression whose groups have names.
#[derive(Clone, Debug, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Pattern(Regex);

impl TryFrom<String> for Pattern {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let regex = Regex::new(&text).map_err(|error| error.to_string())?;
        if regex.capture_names().flatten().next().is_none() {
            return Err(
                "the regular expression needs a named group, such as (?<at>[^ ]+)".to_owned()
            );
        }
        Ok(Self(regex))
    }
}

impl Pattern {
    /// The named groups of the first match of a whole text.
    pub(super) fn groups(&self, text: &str) -> Option<Row> {
        self.0.captures(text).map(|found| self.row(&found))
    }

    /// Whether a group has this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.0.capture_names().flatten().any(|group| group == name)
    }

    fn row(&self, found: &regex::Captures<'_>) -> Row {
        let mut row = Row::default();
        for name in self.0.capture_names().flatten() {
            if let Some(text) = found.name(name) {
                row.set(name, text.as_str());
            }
        }
        row
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Table {
    /// `spaces` (two or more, as `kubectl` prints), `pipes` (Markdown), or one character.
    #[serde(default)]
    delimiter: Delimiter,
    /// The names of the columns. Without any, the first line has them.
    #[serde(default)]
    columns: Vec<String>,
    /// Lines before the table.
    #[serde(default)]
    skip: usize,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
enum Delimiter {
    #[default]
    Comma,
    Byte(u8),
    Spaces,
    Pipes,
}

impl TryFrom<String> for Delimiter {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        match text.as_bytes() {
            b"spaces" => Ok(Self::Spaces),
            b"pipes" => Ok(Self::Pipes),
            b"," => Ok(Self::Comma),
            [byte] if byte.is_ascii() => Ok(Self::Byte(*byte)),
            _ => {
                Err(format!("invalid delimiter {text:?}; use spaces, pipes or one ASCII character"))
            }
        }
    }
}

impl Rows {
    /// Reads an answer.
    pub(super) fn read(&self, answer: &ToolAnswer) -> Result<Read, String> {
        let text = || eog_evidence::mask_text(&answer.text);
        let rows: Vec<Row> = match self {
            Self::Json(json) => return json.read(answer),
            Self::Regex(pattern) => {
                let found = text();
                pattern.0.captures_iter(&found).map(|found| pattern.row(&found)).collect()
            }
            Self::Table(table) => table.read(&text())?,
        };
        let left_out = rows.len().saturating_sub(MAX_ROWS);
        let mut rows = rows;
        rows.truncate(MAX_ROWS);
        Ok(Read { rows, left_out })
    }
}

impl Table {
    fn read(&self, text: &str) -> Result<Vec<Row>, String> {
        let lines = text.lines().skip(self.skip);
        let mut cells: Vec<Vec<String>> = match self.delimiter {
            Delimiter::Spaces => lines
                .map(|line| {
                    let cells = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty());
                    cells.map(str::to_owned).collect()
                })
                .collect(),
            Delimiter::Pipes => lines
                .filter_map(|line| {
                    let line = line.trim();
                    let line = line.strip_prefix('|')?;
                    let line = line.strip_suffix('|').unwrap_or(line);
                    Some(line.split('|').map(|cell| cell.trim().to_owned()).collect())
                })
                .filter(|cells: &Vec<String>| !is_rule(cells))
                .collect(),
            Delimiter::Comma => separated(lines, b',')?,
            Delimiter::Byte(byte) => separated(lines, byte)?,
        };
        cells.retain(|cells| cells.iter().any(|cell| !cell.is_empty()));
        let mut cells = cells.into_iter();
        let columns = match self.columns.is_empty() {
            true => match cells.next() {
                Some(header) => header,
                None => return Ok(Vec::new()),
            },
            false => self.columns.clone(),
        };
        Ok(cells
            .map(|cells| {
                let mut row = Row::default();
                for (name, cell) in columns.iter().zip(&cells) {
                    if !cell.is_empty() {
                        row.set(name, cell);
                    }
                }
                row
            })
            .collect())
    }
}

/// The line between the head and the body of a Markdown table.
fn is_rule(cells: &[String]) -> bool {
    cells.iter().all(|cell| !cell.is_empty() && cell.chars().all(|c| c == '-' || c == ':'))
}

fn separated<'l>(
    lines: impl Iterator<Item = &'l str>,
    delimiter: u8,
) -> Result<Vec<Vec<String>>, String> {
    let text: Vec<&str> = lines.collect();
    let text = text.join("\n");
    let mut reader = csv::ReaderBuilder::new()
        .delimiter(delimiter)
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let records = reader.records().map(|record| {
        let record = record.map_err(|error| format!("the table cannot be read: {error}"))?;
        Ok(record.iter().map(|cell| cell.trim().to_owned()).collect())
    });
    records.collect()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use serde_json::{Value, json};

    pub(crate) fn answer(structured: Option<Value>, text: &str) -> ToolAnswer {
        ToolAnswer { structured, text: text.to_owned() }
    }

    pub(crate) fn rows(
        how: Value,
        answer: &ToolAnswer,
    ) -> Result<Vec<Vec<(String, String)>>, String> {
        let how: Rows = serde_json::from_value(how).map_err(|error| error.to_string())?;
        let read = how.read(answer)?;
        Ok(read.rows.into_iter().map(|row| row.0.into_iter().collect()).collect())
    }

    pub(crate) fn row(fields: &[(&str, &str)]) -> Vec<(String, String)> {
        fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn texts_are_read_by_expressions() {
        let text = "[{'at': '10:00', 'why': \"can't\"}, {'at': '10:01', 'why': 'x'}]";
        let how = json!({"regex": r#"'at': '(?<at>[^']*)', 'why': (?:'(?<why>[^']*)'|"(?<quoted>[^"]*)")"#});
        assert_eq!(
            rows(how, &answer(None, text)).unwrap(),
            [row(&[("at", "10:00"), ("quoted", "can't")]), row(&[("at", "10:01"), ("why", "x")])]
        );
        assert!(
            rows(json!({"regex": "a"}), &answer(None, "")).unwrap_err().contains("named group")
        );
        assert!(rows(json!({"regex": "("}), &answer(None, "")).is_err());
    }

    #[test]
    fn tables_are_read_in_many_forms() {
        let expected =
            [row(&[("NAME", "a b"), ("AGE", "5m")]), row(&[("NAME", "c")])].map(|mut row| {
                row.sort();
                row
            });
        for (delimiter, text) in [
            ("spaces", "NAME     AGE\na b      5m\nc\n"),
            ("pipes", "Found:\n| NAME | AGE |\n|------|:---:|\n| a b | 5m |\n| c |  |\n"),
            (",", "NAME,AGE\n\"a b\",5m\nc,\n"),
            ("\t", "NAME\tAGE\na b\t5m\nc\n"),
        ] {
            let how = json!({"table": {"delimiter": delimiter}});
            assert_eq!(rows(how, &answer(None, text)).unwrap(), expected, "{delimiter}");
        }
        let how = json!({"table": {"columns": ["x"], "skip": 1}});
        assert_eq!(rows(how, &answer(None, "head\n1,2\n")).unwrap(), [row(&[("x", "1")])]);
        assert!(rows(json!({"table": {"delimiter": "ab"}}), &answer(None, "")).is_err());
    }

    #[test]
    fn rows_are_bounded() {
        let text = "a\n".repeat(MAX_ROWS + 3);
        let how: Rows = serde_json::from_value(json!({"regex": "(?<x>a)"})).unwrap();
        let read = how.read(&answer(None, &text)).unwrap();
        assert_eq!((read.rows.len(), read.left_out), (MAX_ROWS, 3));
    }
}
