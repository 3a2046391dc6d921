//! One remembered decision: what its file says, and when that is believed.

use eog_core::machine::Response;
use eog_core::{Digest, EntityId, Usage};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::DecisionKey;

/// The version of the files. It is part of every question's digest, so that versions do not meet.
const FORMAT: u32 = 1;

/// What a decision is known by.
pub(super) struct Question<'a> {
    pub(super) identity: &'a str,
    pub(super) entity: &'a EntityId,
    /// Of format, identity and packet.
    pub(super) digest: Digest,
    /// Of the identity alone.
    pub(super) identity_digest: Digest,
}

impl<'a> Question<'a> {
    pub(super) fn new(identity: &'a str, entity: &'a EntityId, asked: &impl Serialize) -> Self {
        Self {
            identity,
            entity,
            digest: Digest::of(&(FORMAT, identity, asked)),
            identity_digest: Digest::of(&identity),
        }
    }

    /// Under which its answer is kept.
    pub(super) fn key(&self) -> DecisionKey {
        DecisionKey { identity: self.identity_digest, question: self.digest }
    }
}

/// The bytes that are kept.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[serde(bound(serialize = "A: Serialize", deserialize = "A: DeserializeOwned"))]
pub(super) struct Record<A> {
    format: u32,
    identity: String,
    question: Digest,
    /// For people: the question's digest covers it.
    entity: EntityId,
    decision: A,
    usage: Usage,
    model: Option<String>,
    /// Of everything above: a decision that was changed afterwards is invalid.
    check: Digest,
}

impl<A: Clone + Serialize + DeserializeOwned> Record<A> {
    pub(super) fn new(question: &Question<'_>, response: &Response<A>) -> Self {
        let mut record = Self {
            format: FORMAT,
            identity: question.identity.to_owned(),
            question: question.digest,
            entity: question.entity.clone(),
            decision: response.answer.clone(),
            usage: response.usage,
            model: response.model.clone(),
            check: Digest::ZERO,
        };
        record.check = record.checksum();
        record
    }

    /// The record in these bytes, or why it is not whole or answers another question.
    pub(super) fn read(bytes: &[u8], question: &Question<'_>) -> Result<Self, String> {
        let record: Self = serde_json::from_slice(bytes)
            .map_err(|error| format!("it is no decision of format {FORMAT}: {error}"))?;
        let Self { format, .. } = record;
        if format != FORMAT {
            return Err(format!("it has format {format}, and this program uses {FORMAT}"));
        }
        if record.question != question.digest || record.identity != question.identity {
            return Err("it answers another question".to_owned());
        }
        if record.check != record.checksum() {
            return Err("it was changed after it was stored".to_owned());
        }
        Ok(record)
    }

    /// Indented, for people.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .unwrap_or_else(|error| unreachable!("a record is JSON: {error}"));
        bytes.push(b'\n');
        bytes
    }

    /// The answer as it was given.
    pub(super) fn into_response(self) -> Response<A> {
        let Self { decision: answer, usage, model, .. } = self;
        Response { answer, usage, model, remembered: false }
    }

    fn checksum(&self) -> Digest {
        let Self { format, identity, question, entity, decision, usage, model, check: _ } = self;
        Digest::of(&(format, identity, question, entity, decision, usage, model))
    }
}
