//! The form of an answer: everything is said once. Agents read text and pay for each word; programs read
//! structured content, which keeps the schema that is listed for it.

use rmcp::model::{CallToolResult, ContentBlock, Resource};
use serde_json::Value;

use super::catalogue::Kind;
use super::resources::uri;
use super::settings::Toolset;
use eog_session::store::{InvestigationId, Part};

/// Characters of an answer in words: about 800 tokens. The rest is in the resources.
const MAX_WORDS: usize = 2_400;

/// How it is said that nothing is called so.
pub(super) const UNKNOWN: &str = "The topology has no entity ";

/// An answer in the form that goes with the listed tools.
pub(super) fn form(toolset: Toolset, kind: Kind, mut result: CallToolResult) -> CallToolResult {
    let (false, Some(structured)) = (result.is_error == Some(true), &result.structured_content)
    else {
        return result;
    };
    match toolset {
        Toolset::Full => {
            let words = text(&result);
            result.content = vec![ContentBlock::text(brief(&words))];
        }
        Toolset::Compact if matches!(kind, Kind::Query | Kind::Context | Kind::Table(_)) => {
            // Rows are rows, and another eog reads them as they are.
            let mut rows = structured.clone();
            let hint =
                text(&result).lines().find(|line| line.starts_with(UNKNOWN)).map(Value::from);
            if let (Some(hint), Some(omitted)) = (hint, rows["omitted"].as_array_mut()) {
                omitted.push(hint);
            }
            if matches!(kind, Kind::Context) {
                lean(&mut rows);
            }
            result.content = vec![ContentBlock::text(rows.to_string())];
            result.structured_content = None;
        }
        Toolset::Compact => {
            let id = structured.get("investigation").and_then(Value::as_str);
            let id = id.and_then(InvestigationId::parse);
            let (words, is_cut) = cut(&text(&result));
            result.content = vec![ContentBlock::text(words)];
            let more = [(Part::Report, "The whole report"), (Part::Ledger, "Every step")];
            let more = &more[..if is_cut { 2 } else { 1 }];
            for (part, title) in more {
                let Some(id) = &id else { break };
                let resource = Resource::new(uri(id, *part), format!("{title} of {id}"));
                result.content.push(ContentBlock::resource_link(resource));
            }
            result.structured_content = None;
        }
    }
    result
}

/// A context without what says nothing: members that are null, lists of the context itself that are empty, and the
/// `.0` of whole numbers. Read as a context, it is the same one.
fn lean(context: &mut Value) {
    if let Value::Object(members) = context {
        let says = |value: &Value| value.as_array().is_none_or(|list| !list.is_empty());
        members.retain(|name, value| name == "findings" || says(value));
    }
    shorter(context);
}

fn shorter(value: &mut Value) {
    match value {
        Value::Object(members) => {
            members.retain(|_, value| !value.is_null());
            members.values_mut().for_each(shorter);
        }
        Value::Array(list) => list.iter_mut().for_each(shorter),
        Value::Number(number) => {
            // Below 2^53 every whole number is exact; zero below zero is no whole number of JSON.
            let whole = number.as_f64().filter(|it| it.fract() == 0.0 && it.abs() < 9e15);
            if let Some(whole) = whole.filter(|it| *it != 0.0 || it.is_sign_positive()) {
                *value = Value::from(whole as i64);
            }
        }
        _ => {}
    }
}

fn text(result: &CallToolResult) -> String {
    let parts = result.content.iter().filter_map(|part| part.as_text());
    parts.map(|part| part.text.as_str()).collect::<Vec<_>>().join("\n")
}

/// What it is about, and how it stands.
fn brief(words: &str) -> String {
    let mut lines = words.lines().filter(|line| !line.trim().is_empty());
    let first = lines.next().unwrap_or_default();
    let first: String = first.chars().take(200).collect();
    let state: Vec<&str> = lines
        .skip_while(|line| !line.starts_with("Investigation inv-") && !line.starts_with(UNKNOWN))
        .collect();
    [&[first.as_str()], state.as_slice()].concat().join("\n")
}

/// As many whole lines as fit, with the state at the end, and whether anything was left out.
fn cut(words: &str) -> (String, bool) {
    if words.chars().count() <= MAX_WORDS {
        return (words.to_owned(), false);
    }
    let lines: Vec<&str> = words.lines().collect();
    let state = lines.iter().position(|line| line.starts_with("Investigation inv-"));
    let (body, state) = lines.split_at(state.unwrap_or(lines.len()));
    let mut room = MAX_WORDS.saturating_sub(state.iter().map(|line| line.chars().count()).sum());
    let fits = |line: &&&str| {
        let length = line.chars().count() + 1;
        let fits = length <= room;
        room = room.saturating_sub(if fits { length } else { room });
        fits
    };
    let mut kept: Vec<&str> = body.iter().take_while(fits).copied().collect();
    let left = body.len() - kept.len();
    let note = match left {
        1 => "… 1 more line; see the resources".to_owned(),
        left => format!("… {left} more lines; see the resources"),
    };
    kept.push(&note);
    kept.extend(state);
    (kept.join("\n"), true)
}

#[cfg(test)]
mod tests {
    use eog::contract::Coverage;
    use eog::evidence::{EvidenceTime, FindingContent, Signal};
    use eog::{EntityId, EvidenceKind, LocalContext};

    use super::*;

    #[test]
    fn long_words_are_cut_at_a_line_and_keep_their_state() {
        let long = format!("{}Investigation inv-000001: done.", "some line of words\n".repeat(500));
        let (words, is_cut) = cut(&long);
        assert!(is_cut && words.chars().count() <= MAX_WORDS + 60, "{}", words.len());
        assert!(words.ends_with("Investigation inv-000001: done."), "{words}");
        assert!(words.contains(" more lines; see the resources"), "{words}");
        assert_eq!(cut("short\nwords"), ("short\nwords".to_owned(), false));
    }

    #[test]
    fn a_context_without_what_says_nothing_is_the_same_context() {
        let slow = FindingContent::new(
            EntityId::new("db").unwrap(),
            EvidenceKind::Metric,
            Signal::Latency,
            EvidenceTime::At("2026-01-01T10:04:00Z".parse().unwrap()),
        );
        let found = LocalContext {
            findings: vec![
                slow.clone().with_quantity(9.0, None, "ms").into(),
                slow.clone().with_quantity(-0.0, Some(0.25), "ms").into(),
                slow.with_change("spec", None, Some("2".into())).into(),
            ],
            coverage: Some(Coverage::default()),
            ..LocalContext::default()
        };
        for context in [found, LocalContext::default()] {
            let mut leaner = serde_json::to_value(&context).unwrap();
            lean(&mut leaner);
            let text = leaner.to_string();
            assert!(!text.contains("null") && !text.contains("mentions"), "{text}");
            assert!(!text.contains("9.0"), "{text}");
            assert_eq!(serde_json::from_str::<LocalContext>(&text).unwrap(), context);
        }
    }

    #[test]
    fn what_is_brief_says_what_it_is_about_and_how_it_stands() {
        let words = "flash sale\n\nmuch\n\nInvestigation inv-000001: converged.\nnot stored";
        assert_eq!(brief(words), "flash sale\nInvestigation inv-000001: converged.\nnot stored");
        assert_eq!(brief("gateway: 2 findings\nx\ny"), "gateway: 2 findings");
    }
}
