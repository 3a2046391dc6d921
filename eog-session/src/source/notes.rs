//! What people said, beside what a source holds.

use std::collections::BTreeMap;
use std::sync::{Arc, PoisonError, RwLock};

use eog::evidence::{EvidenceTime, FindingContent, Signal, Trend, Verdict};
use eog::side::RecordError;
use eog::{
    BoxFuture, CallRecorder, ContextContract, ContextRequest, EntityId, EvidenceKind, Failure,
    Finding, LocalContext, Usage, Window,
};
use serde::{Deserialize, Serialize};

/// What a person said of an entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Word {
    /// What counts for the rules. Without it the text is a remark, which models and people read and
    /// which counts for nothing by the rules, whatever it says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub verdict: Option<Verdict>,
    /// In the words of the person. May be empty beside a verdict.
    #[serde(default)]
    pub text: String,
}

/// What people said, by entity: of each the last word.
pub type Words = BTreeMap<EntityId, Word>;

impl Word {
    /// The source of a finding that holds a remark.
    pub const REMARK: &'static str = "remark";

    /// A remark.
    pub fn remark(text: impl Into<String>) -> Self {
        Self { verdict: None, text: text.into() }
    }

    /// A verdict, with why.
    pub fn verdict(verdict: Verdict, text: impl Into<String>) -> Self {
        Self { verdict: Some(verdict), text: text.into() }
    }

    /// It as a finding of kind note, which holds over the whole window. A verdict is one of source
    /// `person` that rises for the cause and is steady for what is not; a remark has another source,
    /// so that no rule takes its words for a verdict.
    fn finding(&self, entity: &EntityId, window: Window) -> Finding {
        let (source, trend, meaning) = match self.verdict {
            Some(verdict @ Verdict::Cause) => {
                (Verdict::SOURCE, verdict.trend(), "this is the cause")
            }
            Some(verdict @ Verdict::NotCause) => {
                (Verdict::SOURCE, verdict.trend(), "this is not the cause")
            }
            None => (Self::REMARK, Trend::Steady, ""),
        };
        let excerpt = if self.text.is_empty() { meaning } else { &self.text };
        Finding::new(FindingContent {
            entity: entity.clone(),
            kind: EvidenceKind::Note,
            signal: Signal::Other,
            trend,
            time: EvidenceTime::During(window),
            quantity: None,
            change: None,
            peer: None,
            source: source.to_owned(),
            query: format!("asked about {entity}"),
            excerpt: excerpt.to_owned(),
            onset: None,
        })
    }
}

/// Adds words to those that were stored beside a journal, so that a run which goes on knows what
/// was said before. Gives all of them.
///
/// # Errors
/// [`RecordError`] when what is beside the journal cannot be used.
pub async fn keep_words(recorder: &CallRecorder, words: Words) -> Result<Words, RecordError> {
    const NAME: &str = "words";
    let (mut all, mut number) = (Words::new(), 0_u64);
    loop {
        let absent = async || Err(Failure::context("not recorded"));
        match recorder.call::<Words, _>(NAME, &number, absent).await {
            Ok(earlier) => all.extend(earlier),
            Err(RecordError::Failed { .. }) => break,
            Err(error) => return Err(error),
        }
        number += 1;
    }
    if !words.is_empty() {
        let now = async || Ok((words.clone(), Usage::default()));
        recorder.call::<Words, _>(NAME, &number, now).await?;
    }
    all.extend(words);
    Ok(all)
}

/// What people have said so far, while a run goes on. Clones share it.
#[derive(Clone, Debug, Default)]
pub struct SharedWords(Arc<RwLock<Words>>);

impl SharedWords {
    /// Adds what a person said; the last word on an entity counts.
    pub fn add(&self, entity: EntityId, word: Word) {
        self.0.write().unwrap_or_else(PoisonError::into_inner).insert(entity, word);
    }

    /// Takes in what was said before. What has been said since counts.
    pub(crate) fn recall(&self, words: Words) {
        let mut said = self.0.write().unwrap_or_else(PoisonError::into_inner);
        for (entity, word) in words {
            said.entry(entity).or_insert(word);
        }
    }

    fn of(&self, entity: &EntityId) -> Option<Word> {
        self.0.read().unwrap_or_else(PoisonError::into_inner).get(entity).cloned()
    }
}

/// A contract, with what people said of entities as findings before its own.
#[derive(Clone, Debug)]
pub struct Supplemented<C> {
    contract: C,
    words: SharedWords,
    window: Window,
}

impl<C> Supplemented<C> {
    /// Adds what people say, which holds over the whole window.
    pub fn new(contract: C, words: SharedWords, window: Window) -> Self {
        Self { contract, words, window }
    }
}

impl<C: ContextContract> ContextContract for Supplemented<C> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let entity = &request.entity;
        let Some(word) = self.words.of(entity).filter(|_| request.page <= 1) else {
            return self.contract.get_context(request);
        };
        let finding = word.finding(entity, self.window);
        Box::pin(async move {
            let mut context = self.contract.get_context(request).await?;
            context.findings.insert(0, finding);
            Ok(context)
        })
    }
}
