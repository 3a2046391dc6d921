//! Asking a person for evidence that is missing.

use std::collections::BTreeSet;

use eog::{Diagnosis, EntityId, Label};
use rmcp::model::{ElicitRequest, ElicitResult, ElicitationAction};
use rmcp::model::{ElicitRequestParams, ElicitationSchema, InputRequest, InputRequests};
use serde_json::{Value, json};

use super::error::Problem;
use eog_session::store::People;

/// Most questions in one investigation.
const MAX_QUESTIONS: usize = 5;

/// Most characters of an answer that are used.
const MAX_ANSWER: usize = 4000;

/// The field of the form.
const FIELD: &str = "evidence";

/// An entity whose evidence is missing.
#[derive(Clone, Debug)]
pub(super) struct Gap {
    pub(super) entity: EntityId,
    summary: String,
}

/// Entities that were deferred with nothing to cite, by name, without those that a person was asked about already.
pub(super) fn gaps(diagnosis: &Diagnosis, asked: &BTreeSet<EntityId>) -> Vec<Gap> {
    diagnosis
        .beliefs
        .iter()
        .filter(|(entity, belief)| {
            belief.label == Label::Defer && belief.evidence.is_empty() && !asked.contains(*entity)
        })
        .map(|(entity, belief)| Gap { entity: entity.clone(), summary: belief.summary.clone() })
        .collect()
}

/// The questions that may still be asked.
pub(super) fn questions(diagnosis: &Diagnosis, people: &People) -> Vec<Gap> {
    let left = MAX_QUESTIONS.saturating_sub(people.asked.len());
    gaps(diagnosis, &people.asked).into_iter().take(left).collect()
}

/// One question as a form with one field.
pub(super) fn form(gap: &Gap) -> Result<ElicitRequestParams, Problem> {
    let schema = json!({
        "type": "object",
        "properties": { FIELD: {
            "type": "string",
            "title": "What is known",
            "description": "What you know about it in this time: a change, a failure, a measurement. \
                            Leave it empty to skip.",
            "maxLength": MAX_ANSWER,
        }},
    });
    let requested_schema: ElicitationSchema = serde_json::from_value(schema)
        .map_err(|error| Problem::Store(format!("cannot make a form: {error}")))?;
    let summary = eog_evidence::shorten(&gap.summary, 300);
    let entity = &gap.entity;
    let message = format!(
        "The investigation found no evidence on {entity} ({summary}). Supply what you know about it, \
         or skip it: the investigation goes on either way."
    );
    Ok(ElicitRequestParams::FormElicitationParams { meta: None, message, requested_schema })
}

/// All questions at once, each under the name of its entity.
pub(super) fn forms(gaps: &[Gap]) -> Result<InputRequests, Problem> {
    let one = |gap: &Gap| {
        let request = InputRequest::Elicitation(ElicitRequest::new(form(gap)?));
        Ok((gap.entity.to_string(), request))
    };
    gaps.iter().map(one).collect()
}

/// What a person supplied; nothing if it was skipped.
pub(super) fn supplied(result: &ElicitResult) -> Option<String> {
    if result.action != ElicitationAction::Accept {
        return None;
    }
    let text = result.content.as_ref()?.get(FIELD)?.as_str()?.trim();
    let text = eog_evidence::mask_text(&eog_evidence::shorten(text, MAX_ANSWER));
    (!text.is_empty()).then_some(text)
}

/// The same of an answer in JSON. One that is no such answer counts as skipped.
pub(super) fn supplied_in(value: &Value) -> Option<String> {
    supplied(&serde_json::from_value(value.clone()).ok()?)
}
