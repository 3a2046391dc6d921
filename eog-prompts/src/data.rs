//! From typed input to template data: masked, on one line, and unable to leave its place.
//!
//! Every string becomes the inside of a JSON string literal. So a template may insert it anywhere:
//! it holds no line break, no control or invisible character, no `<` that could close a data block
//! and no fence. Templates are expanded once; what they insert is never read as a template.

use std::fmt::Write;

use eog_evidence::{MASK, is_secret_field, mask_named};
use eog_report::clean::is_harmful;
use serde::Serialize;
use serde_json::{Map, Value};

/// The data of a template. Objects are sorted by name.
///
/// # Errors
/// When the value cannot be written as JSON.
pub(crate) fn template_data<T: Serialize>(input: &T) -> Result<Value, serde_json::Error> {
    Ok(clean("", serde_json::to_value(input)?))
}

fn clean(name: &str, value: Value) -> Value {
    match value {
        Value::String(text) => Value::String(neutral(&mask_named(name, &text))),
        Value::Number(number) if is_secret_field(name, &number.to_string()) => {
            Value::String(MASK.to_owned())
        }
        Value::Array(items) => items.into_iter().map(|item| clean(name, item)).collect(),
        Value::Object(fields) => Value::Object(clean_fields(fields)),
        other => other,
    }
}

/// The old and new value of a change are named by its path, not by the field they stand in.
fn clean_fields(fields: Map<String, Value>) -> Map<String, Value> {
    let path = fields.get("path").and_then(Value::as_str).map(str::to_owned);
    let mut fields: Vec<(String, Value)> = fields.into_iter().collect();
    fields.sort_by(|a, b| a.0.cmp(&b.0));
    let cleaned = fields.into_iter().map(|(field, value)| {
        let name = match (&path, field.as_str()) {
            (Some(path), "old" | "new") => path,
            _ => &field,
        };
        let value = clean(name, value);
        (neutral(&field), value)
    });
    cleaned.collect()
}

/// The inside of a JSON string literal that stands for this text, on one line.
///
/// Beyond what JSON asks for, these are escaped: `<`, the third of three backticks or tildes,
/// line separators, and characters that are not seen (control, direction, zero-width, tags).
pub(crate) fn neutral(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut previous = ['\0'; 2];
    for character in text.chars() {
        let fence = matches!(character, '`' | '~') && previous == [character; 2];
        match character {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\t' => out.push_str("\\t"),
            _ if fence || is_hidden(character) => escape(&mut out, character),
            _ => out.push(character),
        }
        previous = [previous[1], if fence { '\0' } else { character }];
    }
    out
}

fn escape(out: &mut String, character: char) {
    for unit in character.encode_utf16(&mut [0; 2]) {
        // Writing to a string cannot fail.
        let _ = write!(out, "\\u{unit:04x}");
    }
}

/// Characters that close a block, break a line, or are not seen as what they are.
fn is_hidden(character: char) -> bool {
    character == '<' || is_harmful(character)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use serde_json::json;

    use super::*;

    proptest! {
        #[test]
        fn neutral_text_is_one_line_of_json_that_says_the_same(text in any::<String>()) {
            let body = neutral(&text);
            prop_assert!(!body.chars().any(is_hidden));
            prop_assert!(!body.contains("```") && !body.contains("~~~"));
            let read: String = serde_json::from_str(&format!("\"{body}\"")).unwrap();
            prop_assert_eq!(read, text);
        }
    }

    #[test]
    fn invisible_and_closing_characters_are_shown() {
        let cases = [
            ("a\u{1b}[31mb", r"a\u001b[31mb"),
            ("</data>", r"\u003c/data>"),
            ("a\u{202e}b\u{200b}", r"a\u202eb\u200b"),
            ("\u{e0041}", r"\udb40\udc41"),
            ("a\r\n`````b", r"a\u000d\n``\u0060``b"),
            ("é 日本 {{x}}", "é 日本 {{x}}"),
        ];
        for (text, expected) in cases {
            assert_eq!(neutral(text), expected);
        }
    }

    #[test]
    fn secrets_are_masked_by_name_by_path_and_in_text() {
        let input = json!({
            "password": "hunter2",
            "pin_secret": 123_456_789,
            "lines": ["login with token=abcdef123 failed"],
            "change": { "path": "spec.db_password", "old": "first1", "new": "second2" },
            "plain": { "path": "replicas", "old": "3", "new": "1" },
        });
        let data = template_data(&input).unwrap();
        assert_eq!(
            data,
            json!({
                "password": "[masked]",
                "pin_secret": "[masked]",
                "lines": ["login with token=[masked] failed"],
                "change": { "path": "spec.db_password", "old": "[masked]", "new": "[masked]" },
                "plain": { "path": "replicas", "old": "3", "new": "1" },
            })
        );
    }
}
