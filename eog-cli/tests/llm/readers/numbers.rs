//! What the numbers of an answer stand for in another prompt.

use std::collections::BTreeMap;

use serde_json::Value;

/// Gives the evidence that an answer cites the numbers that it has in another prompt. Returns the
/// numbers of evidence that is not there.
pub(crate) fn renumber(answer: &mut Value, then: &str, now: &str) -> Vec<u64> {
    let (then, now) = (numbered(then), numbered(now));
    let same = |number: u64| {
        let line = then.get(&number)?;
        let equal = now.iter().find(|(_, other)| *other == line);
        // With other times or another onset, it is the same finding.
        let alike = || now.iter().find(|(_, other)| content(other) == content(line));
        equal.or_else(alike).map(|(number, _)| *number)
    };
    let mut lost = Vec::new();
    cited(answer, &mut |numbers| {
        let found = numbers.iter().filter_map(Value::as_u64).filter_map(|number| {
            let found = same(number);
            lost.extend(found.is_none().then_some(number));
            found.map(Value::from)
        });
        *numbers = found.collect();
    });
    lost.sort_unstable();
    lost
}

/// Does something with every list of evidence.
fn cited(value: &mut Value, change: &mut impl FnMut(&mut Vec<Value>)) {
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                match field {
                    Value::Array(numbers)
                        if name == "evidence" && numbers.iter().all(Value::is_u64) =>
                    {
                        change(numbers);
                    }
                    field => cited(field, change),
                }
            }
        }
        Value::Array(items) => items.iter_mut().for_each(|item| cited(item, change)),
        _ => {}
    }
}

/// The lines of evidence by number: `[3] …`, and `NAME [6] …` of what is quoted.
fn numbered(prompt: &str) -> BTreeMap<u64, &str> {
    let numbered = |line| {
        let (name, rest): (&str, &str) = str::split_once(line, '[')?;
        let (number, rest) = rest.split_once("] ")?;
        (!name.trim_end().contains(' ')).then_some((number.parse().ok()?, rest))
    };
    prompt.lines().filter_map(numbered).collect()
}

/// A line from its kind on, without the times in its text, which can be written in several ways.
fn content(line: &str) -> String {
    let kind = line.split(' ').position(|word| word.contains('/')).unwrap_or_default();
    let is_time =
        |word: &str| word.starts_with(|it: char| it.is_ascii_digit()) && word.contains(':');
    let words = line.split(' ').skip(kind);
    words.map(|word| if is_time(word) { "at" } else { word }).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn evidence_keeps_its_text_and_changes_its_number() {
        let then = "[1] 12:00 change/x \"a\"\n[2] 12:01, began 11:00, log/errors \"b at 2026-01-01T12:00:00Z; c\"\n[3] 12:02 metric/y \"c\"\n\
                    web [4] 12:03 event/z \"d\"\nweb says symptom: \"e\" cites [3] [4]\n";
        let now = "[1] 12:02 metric/y \"c\"\n[2] 12:01, began by 12:01, log/errors \"b at 12:00; c\"\nweb [3] 12:03 event/z \"d\"\n";
        let mut answer =
            json!({ "evidence": [1, 2], "claims": [{ "evidence": [3, 4, 9] }], "evidences": [1] });
        assert_eq!(renumber(&mut answer, then, now), [1, 9]);
        let expected =
            json!({ "evidence": [2], "claims": [{ "evidence": [1, 3] }], "evidences": [1] });
        assert_eq!(answer, expected);
        let mut answer = json!({ "because": "so" });
        assert!(renumber(&mut answer, then, now).is_empty());
    }
}
