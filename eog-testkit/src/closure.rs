//! Policies from closures.

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure};

/// A policy from a closure that always decides.
///
/// ```
/// use eog::{Decision, Label};
/// use eog_testkit::{ask, packet, policy_fn};
/// let policy = policy_fn(|_packet| Decision::new(Label::Healthy, "all is well"));
/// assert_eq!(ask(&policy, &packet("S1").build())?.decision.label, Label::Healthy);
/// # Ok::<(), eog::Failure>(())
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
/// use eog::{Decision, Failure};
/// use eog_testkit::{ask, packet, try_policy_fn};
/// let policy = try_policy_fn(|_packet| Err::<Decision, _>(Failure::policy("out of ideas")));
/// assert!(ask(&policy, &packet("S1").build()).is_err());
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
