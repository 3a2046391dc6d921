//! A policy that never says the same thing twice in the same words.

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Digest, Failure};

/// Wraps a policy and changes nothing but the words: the summary ends with what the inbox says, as
/// that of a language model would. Another inbox, with other words in it, gives other words.
///
/// Stateless. Shows what it costs when wording counts as a change of belief, as under
/// [`Config::paper`](eog::Config::paper).
///
/// ```
/// use eog::Label;
/// use eog_testkit::sim::Rewording;
/// use eog_testkit::{ask, healthy, packet, policy_fn};
/// let policy = Rewording::new(policy_fn(healthy));
/// let said = |word| ask(&policy, &packet("db").message("web", Label::Symptom, word).build());
/// assert_ne!(said("slow")?.decision.summary, said("slower")?.decision.summary);
/// # Ok::<(), eog::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct Rewording<P> {
    inner: P,
}

impl<P> Rewording<P> {
    /// Changes the words of a policy.
    pub fn new(inner: P) -> Self {
        Self { inner }
    }
}

impl<P: AbductivePolicy> AbductivePolicy for Rewording<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let mut answer = self.inner.decide(packet).await?;
            let messages = packet.inbox.len();
            // A digest stands for the words of the neighbours: quoting them would make summaries
            // of summaries grow without end.
            let digest = Digest::of(&packet.inbox).to_string();
            let words = &mut answer.decision.summary;
            *words = format!("{words}; having heard {messages} neighbours ({})", &digest[..8]);
            Ok(answer)
        })
    }
}
