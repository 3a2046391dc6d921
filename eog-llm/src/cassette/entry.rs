//! What a cassette holds of a call.

use eog_prompts::{ChatRequest, ChatResponse};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::Masker;

/// One call, as one line of the file.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Entry {
    pub(super) key: String,
    pub(super) model: String,
    pub(super) request: ChatRequest,
    pub(super) response: ChatResponse,
}

/// A request as cassettes know it: without secrets.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pub(super) key: String,
    pub(super) model: String,
    pub(super) request: ChatRequest,
}

impl Asked {
    pub(super) fn of(model: &str, request: &ChatRequest, masker: &Masker) -> Self {
        let mut request = request.clone();
        request.phase = masker.mask_known(&request.phase);
        for message in &mut request.messages {
            message.text = masker.mask(&message.text);
        }
        if let Some(form) = &mut request.answer {
            form.name = masker.mask_known(&form.name);
            form.schema = mask_strings(&form.schema, masker);
        }
        let model = masker.mask_known(model);
        let key = blake3::hash(canonical(&model, &request).to_string().as_bytes());
        Self { key: key.to_hex().to_string(), model, request }
    }
}

pub(super) fn without_secrets(response: &ChatResponse, masker: &Masker) -> ChatResponse {
    ChatResponse {
        text: masker.mask(&response.text),
        model: masker.mask_known(&response.model),
        ..response.clone()
    }
}

/// What requests are compared by: fields in the order of their names.
pub(super) fn canonical(model: &str, request: &ChatRequest) -> Value {
    let messages: Vec<Value> = request
        .messages
        .iter()
        .map(|message| json!({ "role": message.role, "text": message.text }))
        .collect();
    let answer = request.answer.as_ref();
    let answer = answer.map(|form| json!({ "name": form.name, "schema": form.schema }));
    sorted(&json!({
        "answer": answer,
        "max_output_tokens": request.max_output_tokens,
        "messages": messages,
        "model": model,
        "phase": request.phase,
    }))
}

/// Depending on the features it is built with, `serde_json` keeps the order of fields.
fn sorted(value: &Value) -> Value {
    match value {
        Value::Object(fields) => {
            let mut names: Vec<&String> = fields.keys().collect();
            names.sort();
            Value::Object(
                names.into_iter().map(|name| (name.clone(), sorted(&fields[name]))).collect(),
            )
        }
        Value::Array(items) => Value::Array(items.iter().map(sorted).collect()),
        other => other.clone(),
    }
}

fn mask_strings(value: &Value, masker: &Masker) -> Value {
    match value {
        Value::String(text) => Value::String(masker.mask_known(text)),
        Value::Array(items) => {
            Value::Array(items.iter().map(|item| mask_strings(item, masker)).collect())
        }
        Value::Object(fields) => {
            let masked = |(name, value): (&String, &Value)| {
                (masker.mask_known(name), mask_strings(value, masker))
            };
            Value::Object(fields.iter().map(masked).collect::<Map<_, _>>())
        }
        other => other.clone(),
    }
}
