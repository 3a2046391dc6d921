//! What was asked and answered, each text once.

use std::collections::BTreeMap;
use std::path::Path;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::llm::server::Asked;

/// One run with one reader after another.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Recording {
    pub(crate) incident: String,
    pub(crate) manner: String,
    /// Whether every request was answered.
    pub(crate) complete: bool,
    pub(crate) asked: Vec<Answered>,
    pub(crate) texts: Vec<String>,
}

/// A request and its answer; texts by their place.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Answered {
    pub(crate) phase: String,
    /// The entity in question; empty in other phases.
    pub(crate) entity: String,
    pub(crate) messages: Vec<usize>,
    pub(crate) form: usize,
    pub(crate) answer: usize,
}

/// What a model is shown: its messages, and the form of the answer.
pub(crate) fn shown(body: &Value) -> (Vec<String>, String) {
    let messages = body["messages"].as_array().into_iter().flatten();
    let text = |content: &Value| match content {
        Value::Array(parts) => parts.iter().filter_map(|part| part["text"].as_str()).collect(),
        content => content.as_str().unwrap_or_default().to_owned(),
    };
    let line = |message: &Value| {
        format!("{}: {}", message["role"].as_str().unwrap_or_default(), text(&message["content"]))
    };
    (messages.map(line).collect(), body["response_format"].to_string())
}

impl Recording {
    /// The requests of a folder up to the first without an answer.
    pub(crate) fn of(folder: &Path, incident: &str, manner: &str) -> Self {
        let (incident, manner) = (incident.to_owned(), manner.to_owned());
        let mut recording =
            Self { incident, manner, complete: true, asked: Vec::new(), texts: Vec::new() };
        let mut places = BTreeMap::new();
        for number in 1_usize.. {
            let base = folder.join(format!("{number:03}"));
            let Ok(body) = std::fs::read(base.with_extension("req.json")) else { break };
            let Ok(answer) = std::fs::read_to_string(base.with_extension("resp.txt")) else {
                recording.complete = false;
                break;
            };
            let body: Value = serde_json::from_slice(&body)
                .unwrap_or_else(|error| panic!("{}: {error}", base.display()));
            let (messages, form) = shown(&body);
            let mut place = |text: String| {
                *places.entry(text.clone()).or_insert_with(|| {
                    recording.texts.push(text);
                    recording.texts.len() - 1
                })
            };
            let messages = messages.into_iter().map(&mut place).collect();
            let (form, answer) = (place(form), place(answer.trim().to_owned()));
            let (path, head) = (String::new(), String::new());
            let asked = Asked { at: 0, path, head, body, answered: true };
            let (phase, entity) = (asked.phase().to_owned(), asked.entity());
            recording.asked.push(Answered { phase, entity, messages, form, answer });
        }
        recording
    }

    pub(crate) fn read(path: &Path) -> Self {
        let text = std::fs::read(path).unwrap();
        serde_json::from_slice(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// One text on a line, to be read and compared.
    pub(crate) fn write(&self, path: &Path) {
        let lines = |items: Vec<String>| items.join(",\n");
        let json = |text: &String| serde_json::to_string(text).unwrap();
        let asked = self.asked.iter().map(|asked| serde_json::to_string(asked).unwrap()).collect();
        let text = format!(
            "{{\"incident\":{},\"manner\":{},\"complete\":{},\"asked\":[\n{}\n],\"texts\":[\n{}\n]}}\n",
            json(&self.incident),
            json(&self.manner),
            self.complete,
            lines(asked),
            lines(self.texts.iter().map(json).collect()),
        );
        std::fs::write(path, text).unwrap();
    }

    pub(crate) fn text(&self, place: usize) -> &str {
        &self.texts[place]
    }

    /// # Errors
    /// What is wrong with it.
    pub(crate) fn check(&self) -> Result<(), String> {
        if self.asked.is_empty() {
            return Err("nothing was answered".to_owned());
        }
        let masker = eog_llm::Masker::default();
        let secret = self.texts.iter().find(|text| masker.mask(text) != **text);
        secret.map_or(Ok(()), |text| Err(format!("there may be a secret in: {text}")))
    }
}
