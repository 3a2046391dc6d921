//! One remembered decision: what its file says, and when that is believed.

use eog_core::{Answer, ContextPacket, Decision, Digest, EntityId, Usage};
use serde::{Deserialize, Serialize};

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
    pub(super) fn new(identity: &'a str, packet: &'a ContextPacket) -> Self {
        Self {
            identity,
            entity: &packet.entity,
            digest: Digest::of(&(FORMAT, identity, packet)),
            identity_digest: Digest::of(&identity),
        }
    }
}

/// The content of a file.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Record {
    format: u32,
    identity: String,
    question: Digest,
    /// For people: the question's digest covers it.
    entity: EntityId,
    decision: Decision,
    usage: Usage,
    model: Option<String>,
    /// Of everything above: a decision that was changed afterwards is nobody's decision.
    check: Digest,
}

impl Record {
    pub(super) fn new(question: &Question<'_>, answer: &Answer) -> Self {
        let mut record = Self {
            format: FORMAT,
            identity: question.identity.to_owned(),
            question: question.digest,
            entity: question.entity.clone(),
            decision: answer.decision.clone(),
            usage: answer.usage,
            model: answer.model.clone(),
            check: Digest::ZERO,
        };
        record.check = record.checksum();
        record
    }

    /// The record in a file, if it is whole and answers this question.
    pub(super) fn read(bytes: &[u8], question: &Question<'_>) -> Option<Self> {
        let record: Self = serde_json::from_slice(bytes).ok()?;
        let fits = record.format == FORMAT
            && record.question == question.digest
            && record.identity == question.identity
            && record.check == record.checksum();
        fits.then_some(record)
    }

    /// Indented, for people.
    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = serde_json::to_vec_pretty(self)
            .unwrap_or_else(|error| unreachable!("a record is JSON: {error}"));
        bytes.push(b'\n');
        bytes
    }

    /// The answer as it was given.
    pub(super) fn into_answer(self) -> Answer {
        Answer { decision: self.decision, usage: self.usage, model: self.model, remembered: false }
    }

    fn checksum(&self) -> Digest {
        let Self { format, identity, question, entity, decision, usage, model, check: _ } = self;
        Digest::of(&(format, identity, question, entity, decision, usage, model))
    }
}
