//! Prompts as the paper describes them (B.6): all that is known of the entity, as JSON, at each visit.

use eog_core::incident::Direction;
use eog_core::{ContextPacket, Decision, Label, LocalContext};
use eog_prompts::{AnswerForm, ChatMessage, ChatRequest};
use serde_json::{Value, json};

use super::incidents::add_new;
use super::instructions;

/// The question about a packet, with everything on its entity: the context indented, as most tools of
/// the reference give theirs, the rest on one line each.
pub(crate) fn question(
    packet: &ContextPacket,
    mut whole: LocalContext,
    spec: Option<String>,
) -> Result<ChatRequest, serde_json::Error> {
    // What new messages asked for is on no page.
    add_new(&mut whole, packet.context.clone());
    let text = format!(
        "{{\"entity\":{},\"window\":{},\"context\":{}{},\n\"neighbours\":{},\n\"inbox\":{}}}",
        serde_json::to_string(&packet.entity)?,
        serde_json::to_string(&packet.window)?,
        serde_json::to_string_pretty(&whole)?,
        spec.map(|spec| format!(",\n\"spec\":{spec}")).unwrap_or_default(),
        serde_json::to_string(&packet.neighbours)?,
        serde_json::to_string(&packet.inbox)?,
    );
    Ok(request(text))
}

/// The question in fewer words: the first page of the context, and no space anywhere.
pub(crate) fn spare_question(packet: &ContextPacket) -> Result<ChatRequest, serde_json::Error> {
    Ok(request(serde_json::to_string(packet)?))
}

fn request(text: String) -> ChatRequest {
    ChatRequest {
        phase: "explore".to_owned(),
        messages: vec![ChatMessage::system(instructions::EXPLORE), ChatMessage::user(text)],
        answer: Some(AnswerForm { name: "explore".to_owned(), schema: schema() }),
        max_output_tokens: 8_192,
        drawn: None,
    }
}

/// A question around the exploration: instructions, and named parts of JSON. No schema is counted.
pub(super) fn asking(instructions: &str, parts: &[(&str, &str)]) -> ChatRequest {
    let parts: Vec<String> = parts.iter().map(|(name, json)| format!("{name}: {json}")).collect();
    ChatRequest {
        phase: "around".to_owned(),
        messages: vec![ChatMessage::system(instructions), ChatMessage::user(parts.join("\n"))],
        answer: None,
        max_output_tokens: 8_192,
        drawn: None,
    }
}

/// A decision in the form that the instructions ask for.
pub(crate) fn answer(decision: &Decision) -> String {
    let label = match decision.label {
        Label::Healthy => "Healthy",
        Label::Symptom => "Symptom",
        Label::Origin => "Origin",
        Label::Defer => "Defer",
    };
    let direction = match decision.proposals.first().map(|proposal| proposal.direction) {
        None | Some(Direction::Upstream) => "upstream",
        Some(Direction::Downstream) => "downstream",
        Some(Direction::Both) => "infrastructure",
    };
    let propagations: Vec<Value> = (decision.claims.iter())
        .map(|claim| {
            json!({
                "source": claim.cause, "target": claim.effect, "condition": claim.condition,
                "effect": claim.observed, "evidence": claim.evidence,
            })
        })
        .collect();
    let candidates: Vec<Value> = (decision.proposals.iter())
        .map(|proposal| json!({ "entity": proposal.entity, "reason": proposal.reason }))
        .collect();
    json!({
        "direction": direction, "local_origin": label, "reasoning": decision.summary,
        "evidence": decision.evidence, "propagations": propagations,
        "next_candidates": candidates,
    })
    .to_string()
}

fn schema() -> Value {
    let text = json!({ "type": "string" });
    let texts = json!({ "type": "array", "items": text });
    let choice = |words: &[&str]| json!({ "type": "string", "enum": words });
    let propagation = object(&[
        ("source", text.clone()),
        ("target", text.clone()),
        ("condition", text.clone()),
        ("effect", text.clone()),
        ("evidence", texts.clone()),
    ]);
    let candidate = object(&[("entity", text.clone()), ("reason", text.clone())]);
    object(&[
        ("direction", choice(&["upstream", "downstream", "ownership", "infrastructure"])),
        ("local_origin", choice(&["Healthy", "Symptom", "Origin", "Defer"])),
        ("reasoning", text),
        ("evidence", texts),
        ("propagations", json!({ "type": "array", "items": propagation })),
        ("next_candidates", json!({ "type": "array", "items": candidate })),
    ])
}

fn object(properties: &[(&str, Value)]) -> Value {
    let names: Vec<&str> = properties.iter().map(|(name, _)| *name).collect();
    let properties: serde_json::Map<String, Value> =
        properties.iter().map(|(name, schema)| ((*name).to_owned(), schema.clone())).collect();
    json!({
        "type": "object", "properties": properties, "required": names,
        "additionalProperties": false,
    })
}
