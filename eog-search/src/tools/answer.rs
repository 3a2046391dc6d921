//! Answers in words, bounded and without secrets.

use eog_evidence::{mask_text, shorten};
use serde_json::Value;

/// Longest answer of a tool, in bytes: it stands in the ledger, and in prompts.
const MAX_BYTES: usize = 16 * 1024;

/// Longest line that is kept, in characters, where a tool does not choose its lines.
const MAX_LINE: usize = 1_000;

/// As many lines as fit into 16 KiB, and how many were left out. Secrets are masked.
///
/// ```
/// let lines = ["a".to_owned(), "password=hunter2hunter2".to_owned()];
/// assert_eq!(eog_search::tools::bounded_lines(lines), "a\npassword=[masked]");
/// ```
pub fn bounded_lines(lines: impl IntoIterator<Item = String>) -> String {
    let (mut text, mut left_out) = (String::new(), 0_usize);
    for line in lines {
        let line = mask_text(&line);
        if left_out > 0 || text.len() + line.len() >= MAX_BYTES {
            left_out += 1;
            continue;
        }
        text += &line;
        text.push('\n');
    }
    if left_out > 0 {
        text += &format!("{left_out} more lines are left out; ask for less\n");
    }
    text.trim_end().to_owned()
}

/// The lines of a JSON answer: one for each row of a table, and one for each other field.
pub fn lines_of_json(answer: &Value) -> Vec<String> {
    match answer {
        Value::Array(rows) => rows.iter().map(Value::to_string).collect(),
        Value::Object(fields) => {
            let mut lines = Vec::new();
            for (name, value) in fields {
                match value {
                    Value::Array(rows) if name == "rows" => {
                        lines.extend(rows.iter().map(Value::to_string));
                    }
                    Value::Array(rows) => {
                        lines.extend(rows.iter().map(|row| format!("{name}: {row}")));
                    }
                    Value::Null => {}
                    value => lines.push(format!("{name}: {value}")),
                }
            }
            lines
        }
        value => vec![value.to_string()],
    }
}

/// The lines of an untrusted text: of JSON, its rows. Lines of more than 1,000 characters are cut.
pub fn lines_of_text(text: &str) -> Vec<String> {
    let lines = match serde_json::from_str::<Value>(text) {
        Ok(value @ (Value::Object(_) | Value::Array(_))) => lines_of_json(&value),
        _ => text.lines().map(str::to_owned).collect(),
    };
    lines.into_iter().map(|line| shorten(&line, MAX_LINE)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_bounded_and_hold_no_secrets() {
        let long = (0..10_000).map(|number| format!("line {number}"));
        let text = bounded_lines(long);
        assert!(text.len() < MAX_BYTES + 100, "{}", text.len());
        assert!(text.ends_with("more lines are left out; ask for less"), "{text}");
        let one = ["x".repeat(MAX_BYTES)];
        assert_eq!(bounded_lines(one), "1 more lines are left out; ask for less");
    }

    #[test]
    fn json_on_one_line_is_listed_row_by_row() {
        let lines = |text: &str| lines_of_text(text);
        assert_eq!(lines("[{\"a\":1},{\"a\":2}]"), ["{\"a\":1}", "{\"a\":2}"]);
        assert_eq!(
            lines("{\"n\":4,\"none\":null,\"of\":[3],\"rows\":[1,2]}"),
            ["n: 4", "of: 3", "1", "2"]
        );
        assert_eq!(lines("two\nlines"), ["two", "lines"]);
        assert_eq!(lines("7"), ["7"]);
        assert!(lines(&"x".repeat(5_000))[0].chars().count() <= MAX_LINE + 1);
    }
}
