//! Policies from closures.

use crate::contract::packet::{ContextPacket, Decision};
use crate::contract::{AbductivePolicy, Answer, BoxFuture, Failure};

/// A policy from a closure that always decides.
///
/// ```
/// use eog_core::{AbductivePolicy, Decision, Label, policy_fn};
/// fn optimist() -> impl AbductivePolicy {
///     policy_fn(|_packet| Decision::new(Label::Healthy, "all is well"))
/// }
/// ```
pub fn policy_fn(
    decide: impl Fn(&ContextPacket) -> Decision + Send + Sync,
) -> impl AbductivePolicy {
    Closure(move |packet: &ContextPacket| Ok(decide(packet).into()))
}

/// A policy from a closure that may fail. `Ok` takes a [`Decision`] or, with its cost, an
/// [`Answer`].
///
/// ```
/// use eog_core::{AbductivePolicy, Decision, Failure, try_policy_fn};
/// fn clueless() -> impl AbductivePolicy {
///     try_policy_fn(|_packet| Err::<Decision, _>(Failure::policy("out of ideas")))
/// }
/// ```
pub fn try_policy_fn<T: Into<Answer>>(
    decide: impl Fn(&ContextPacket) -> Result<T, Failure> + Send + Sync,
) -> impl AbductivePolicy {
    Closure(move |packet: &ContextPacket| decide(packet).map(Into::into))
}

struct Closure<F>(F);

impl<F: Fn(&ContextPacket) -> Result<Answer, Failure> + Send + Sync> AbductivePolicy
    for Closure<F>
{
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        // Called when polled, so that a panic strikes where the answer is awaited.
        Box::pin(async move { (self.0)(packet) })
    }
}
