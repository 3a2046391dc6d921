//! Whether an answer may be used. Everything that is wrong with it is collected.

use eog_evidence::{mask_text, shorten};
use serde_json::Value;

use crate::{ChatResponse, Finish, Phase};

/// Most problems that a model is shown, or a failure reports.
const MAX_PROBLEMS: usize = 20;

/// Longest problem, in characters.
const MAX_PROBLEM_CHARS: usize = 300;

/// Longest answer that is read, in bytes.
const MAX_ANSWER_BYTES: usize = 1024 * 1024;

/// How much of its own answer a model is shown again, in characters.
const MAX_QUOTED_CHARS: usize = 6_000;

/// The answer, or all that is wrong with it. A last answer, and one with nothing wrong that is worth
/// another request, is used without the parts that can be refused alone.
pub(super) fn check<P: Phase>(
    schema: &Value,
    input: &P::Input,
    response: &ChatResponse,
    last: bool,
) -> Result<P::Answer, Vec<String>> {
    let value = read(response).map_err(|problem| vec![problem])?;
    let misfits = misfits(schema, &value);
    if !misfits.is_empty() {
        return Err(bounded(&misfits));
    }
    let answer: P::Answer = serde_json::from_value(value)
        .map_err(|error| bounded(&[format!("the answer does not have the form: {error}")]))?;
    let problems = P::problems(input, &answer);
    if problems.is_empty() {
        return Ok(answer);
    }
    let rest = if last || !P::worth_asking_again(&problems) {
        P::without_refused(input, &answer)
    } else {
        None
    };
    rest.ok_or_else(|| bounded(&problems))
}

/// The answer as JSON, whatever it says.
fn read(response: &ChatResponse) -> Result<Value, String> {
    let text = without_fence(response.text.trim());
    match response.finish {
        Finish::Refused => {
            let said = shorten(&mask_text(text), 120);
            let said = if said.is_empty() { String::new() } else { format!(" ({said})") };
            return Err(format!(
                "the model refused to answer{said}; the question asks for a judgement of recorded \
                 measurements and nothing else"
            ));
        }
        Finish::Cut => {
            return Err("the answer was cut before its end; write a shorter one".to_owned());
        }
        Finish::Complete => {}
    }
    if text.is_empty() {
        return Err("the answer is empty; write one JSON object".to_owned());
    }
    if text.len() > MAX_ANSWER_BYTES {
        return Err(format!("the answer is longer than {MAX_ANSWER_BYTES} bytes"));
    }
    serde_json::from_str(text).map_err(|error| {
        format!("the answer is not JSON: {error}; write one JSON object and nothing around it")
    })
}

/// The text within a Markdown fence, where all of it stands in one.
fn without_fence(text: &str) -> &str {
    let inner = text.strip_prefix("```").and_then(|rest| rest.strip_suffix("```"));
    let Some(inner) = inner else { return text };
    match inner.split_once('\n') {
        Some((language, body)) if language.trim().chars().all(char::is_alphanumeric) => body.trim(),
        _ => text,
    }
}

/// Where a value does not fit a schema.
fn misfits(schema: &Value, value: &Value) -> Vec<String> {
    let validator = match jsonschema::validator_for(schema) {
        Ok(validator) => validator,
        Err(error) => return vec![format!("the form of the answer is unusable: {error}")],
    };
    let errors = validator.iter_errors(value).take(MAX_PROBLEMS + 1);
    errors
        .map(|error| {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the answer".to_owned() } else { place };
            // A message quotes the value, which can be all of the answer.
            format!("{place}: {}", shorten(&error.to_string(), 200))
        })
        .collect()
}

/// At most as many problems as can be read, each on one line.
fn bounded(problems: &[String]) -> Vec<String> {
    let more = problems.len().saturating_sub(MAX_PROBLEMS);
    let mut kept: Vec<String> = problems
        .iter()
        .take(MAX_PROBLEMS)
        .map(|problem| shorten(&mask_text(problem), MAX_PROBLEM_CHARS))
        .collect();
    if more > 0 {
        kept.push("and more of the kind".to_owned());
    }
    kept
}

/// A model's own answer, as it is shown to it again.
pub(super) fn quoted(text: &str) -> String {
    let text = mask_text(text.trim());
    let mut quoted: String = text.chars().take(MAX_QUOTED_CHARS).collect();
    if quoted.len() < text.len() {
        quoted.push('…');
    }
    // Providers refuse empty messages.
    if quoted.is_empty() { "(nothing)".to_owned() } else { quoted }
}
