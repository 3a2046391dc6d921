//! Where a request differs from what was recorded.

use serde_json::Value;

use super::entry::{Asked, Entry, canonical};

/// How much is shown on each side of a difference.
const AROUND: usize = 30;

/// The recorded request that is most like the one asked, and where the two differ first.
pub(super) fn nearest<'a>(
    asked: &Asked,
    recorded: impl Iterator<Item = &'a Entry>,
) -> Option<(&'a Entry, String)> {
    // Of those alike, the first by its key.
    let nearest = recorded.max_by_key(|entry| {
        let alike = (entry.request.phase == asked.request.phase, entry.model == asked.model);
        (alike, same_beginning(asked, entry), std::cmp::Reverse(&entry.key))
    })?;
    let now = canonical(&asked.model, &asked.request);
    let then = canonical(&nearest.model, &nearest.request);
    Some((nearest, first("", &then, &now).unwrap_or_else(|| "nothing".to_owned())))
}

/// How many bytes of the messages are the same from the start.
fn same_beginning(asked: &Asked, entry: &Entry) -> usize {
    let mut same = 0;
    for (now, then) in asked.request.messages.iter().zip(&entry.request.messages) {
        let bytes = now.text.bytes().zip(then.text.bytes());
        let equal = bytes.take_while(|(now, then)| now == then).count();
        same += equal;
        if now != then {
            break;
        }
    }
    same
}

fn first(path: &str, then: &Value, now: &Value) -> Option<String> {
    match (then, now) {
        _ if then == now => None,
        (Value::Object(a), Value::Object(b)) => {
            let mut names: Vec<&String> = a.keys().chain(b.keys()).collect();
            names.sort();
            names.dedup();
            let field = |of: &serde_json::Map<String, Value>, name: &str| {
                of.get(name).cloned().unwrap_or(Value::Null)
            };
            names.into_iter().find_map(|name| {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                first(&path, &field(a, name), &field(b, name))
            })
        }
        (Value::Array(a), Value::Array(b)) => {
            let inside = a
                .iter()
                .zip(b)
                .enumerate()
                .find_map(|(i, (then, now))| first(&format!("{path}[{i}]"), then, now));
            inside.or_else(|| Some(format!("{path}: {} recorded, {} asked", a.len(), b.len())))
        }
        (Value::String(a), Value::String(b)) => Some(in_text(path, a, b)),
        _ => Some(format!("{path}: {then} recorded, {now} asked")),
    }
}

fn in_text(path: &str, then: &str, now: &str) -> String {
    let at = then.chars().zip(now.chars()).take_while(|(a, b)| a == b).count();
    let around = |text: &str| -> String {
        text.chars().skip(at.saturating_sub(AROUND)).take(2 * AROUND).collect()
    };
    format!("{path}, character {at}: {:?} recorded, {:?} asked", around(then), around(now))
}
