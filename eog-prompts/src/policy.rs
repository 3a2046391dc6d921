//! The abductive policy over a language model.

use std::sync::Arc;
use std::time::Duration;

use eog_core::{AbductivePolicy, Answer, BoxFuture, Case, ContextPacket, Failure, Usage};

use crate::phases::{Explore, ExploreInput, Frame, unasked};
use crate::{
    CHUNK_TOKENS, ChatRequest, PacketCut, PromptError, Prompter, Unfit, condense_packet, fit_packet,
};

/// Judges packets with a language model (paper §4.1, B.6).
///
/// Stateless: one packet, one question, and at most one correction for each model of the chain.
/// A packet of more than [`CHUNK_TOKENS`], or too long for the first model, is first read in chunks
/// ([`condense_packet`]); if it still does not fit, it is cut. The prompt says what was left out. The
/// answer is checked by the controller's rules before the controller sees it.
///
/// What a packet leaves no choice about is answered without a request: all that is new agrees with the
/// former judgement; nothing is known of the entity but a way through it that a neighbour claims; or
/// nothing stands out in it and no claim is about it ([`LlmPolicy::asking_always`] asks all the same).
/// Likewise a short first page of evidence is judged only together with the next one.
///
/// If all models enforce a time-out for each request ([`ModelInfo::timeout`](crate::ModelInfo)), the
/// policy needs none for the whole decision ([`AbductivePolicy::timeout`]).
///
/// ```
/// use std::sync::Arc;
/// use eog_core::Label;
/// use eog_prompts::{LlmPolicy, MockModel, Pack, Prompter};
/// use eog_testkit::{ask, finding, packet};
///
/// let model = Arc::new(MockModel::new("mock/small").when_text(
///     "# Entity: db",
///     r#"{ "because": "The pool became ten times smaller, then calls queued.", "label": "origin",
///          "evidence": [1, 2], "next_page": false, "search": [], "claims": [], "proposals": [],
///          "other_causes": [] }"#,
/// ));
/// let policy = LlmPolicy::new(Prompter::new(Arc::new(Pack::sre()), vec![model.clone()]));
///
/// let change = finding("db").change("pool.size", "50", "5").at("10:04").build();
/// let packet = packet("db")
///     .finding(change.clone())
///     .finding(finding("db").measured(900.0, 20.0, "ms").during("10:05", "10:30"))
///     .build();
/// let answer = ask(&policy, &packet)?;
/// assert_eq!(answer.decision.label, Label::Origin);
/// assert_eq!(answer.decision.evidence[0], *change.id());
/// assert_eq!(answer.model.as_deref(), Some("mock/small"));
/// assert_eq!(model.requests().len(), 1);
/// # Ok::<(), eog_core::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct LlmPolicy {
    prompter: Arc<Prompter>,
    frame: Frame,
    /// Whether every question is put to a model, also one with a plain answer.
    asks_always: bool,
}

impl LlmPolicy {
    /// A policy that asks these models. It knows only the alerts in packets.
    pub fn new(prompter: Prompter) -> Self {
        let frame = Frame::unknown();
        Self { prompter: Arc::new(prompter), frame, asks_always: false }
    }

    /// The same policy, which puts every question to a model, also those that their packet answers.
    #[must_use]
    pub fn asking_always(self) -> Self {
        Self { asks_always: true, ..self }
    }

    /// The same policy, which lists all alerts of a case in every question.
    #[must_use]
    pub fn for_case(self, case: &Case) -> Self {
        Self { frame: Frame::of(case), ..self }
    }

    /// The prompter.
    pub fn prompter(&self) -> &Prompter {
        &self.prompter
    }

    /// The first request for a packet, as the first model would get it. Makes no calls.
    ///
    /// # Errors
    /// [`PromptError`] if the templates do not match the input, or leave no room for evidence.
    pub fn prompt(&self, packet: &ContextPacket) -> Result<ChatRequest, PromptError> {
        self.prompter.prompt::<Explore>(&self.input(packet)?.0)
    }

    /// As much of a packet as the first model takes, and what it is not shown, in words.
    fn input(&self, packet: &ContextPacket) -> Result<(ExploreInput, Vec<String>), PromptError> {
        let input = |cut: &PacketCut| ExploreInput::new(&self.frame, packet, cut);
        let size = |cut: &PacketCut| self.prompter.tokens::<Explore>(&input(cut));
        match fit_packet(packet, self.prompter.room(), size) {
            Ok(cut) => Ok((input(&cut), cut.omitted)),
            Err(Unfit::Size(error)) => Err(error),
            Err(Unfit::TooLong { needs, budget }) => Err(PromptError::TooLong {
                phase: <Explore as crate::Phase>::NAME.to_owned(),
                model: self
                    .prompter
                    .models()
                    .first()
                    .map_or_else(|| "the limit".to_owned(), |model| model.info().name.clone()),
                tokens: needs,
                limit: budget,
            }),
        }
    }

    async fn judge(&self, packet: &ContextPacket) -> Result<Answer, Failure> {
        let plain = || unasked(packet);
        if let Some(decision) = (!self.asks_always).then(plain).flatten() {
            return Ok(decision.into());
        }
        let failed = |error: PromptError| Failure::policy(error.to_string());
        let mut usage = Usage::default();
        let input = if self.is_long(packet).map_err(failed)? {
            let condensed = condense_packet(&self.prompter, packet, CHUNK_TOKENS).await;
            usage += condensed.usage;
            self.input(&condensed.packet)
        } else {
            self.input(packet)
        };
        let spent = |error: PromptError| Failure { usage, ..failed(error) };
        let (input, omitted) = input.map_err(spent)?;
        match self.prompter.ask::<Explore>(&input).await {
            Ok(asked) => {
                usage += asked.usage.into();
                let mut decision = input.decision(&asked.answer);
                // What the source left out is in the ledger already.
                let unseen = omitted.get(packet.context.omitted.len()..).unwrap_or_default();
                if !unseen.is_empty() {
                    decision.summary +=
                        &format!(" [not shown to the model: {}]", unseen.join("; "));
                }
                Ok(Answer { decision, usage, model: Some(asked.model), remembered: false })
            }
            Err(failure) => {
                usage += failure.usage;
                Err(Failure { usage, ..failure })
            }
        }
    }

    /// Whether a packet is too long to be read at once.
    fn is_long(&self, packet: &ContextPacket) -> Result<bool, PromptError> {
        let whole = ExploreInput::new(&self.frame, packet, &PacketCut::whole(packet));
        let tokens = self.prompter.tokens::<Explore>(&whole)?;
        Ok(tokens > CHUNK_TOKENS.min(self.prompter.room()))
    }
}

impl AbductivePolicy for LlmPolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(self.judge(packet))
    }

    fn timeout(&self) -> Option<Duration> {
        timeout(&self.prompter)
    }
}

/// How long one answer may take.
pub(crate) fn timeout(prompter: &Prompter) -> Option<Duration> {
    // An answer takes several requests, with waits between them. If each has its time-out, one over
    // them all would only cut off attempts that the models may still make.
    let models = prompter.models();
    models.iter().all(|model| model.info().timeout.is_some()).then_some(Duration::MAX)
}
