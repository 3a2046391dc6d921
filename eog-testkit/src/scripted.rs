//! A policy that follows a script.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use eog::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, EntityId, Failure};

use crate::names::entity;

/// Answers by a script: for each entity a list of decisions and failures, taken in order.
///
/// A call beyond the end of a script, or on an entity without one, is a failure that says so,
/// unless [`ScriptedPolicy::repeat_last`] is set. It counts calls, so it is no stateless policy:
/// an evaluation that the controller answers from memory takes nothing from the script. For rules
/// that depend on packets alone, use [`TablePolicy`](crate::TablePolicy).
///
/// ```
/// use eog::{Config, Decision, Label};
/// use eog_testkit::{MemoryContext, ScriptedPolicy, assert_that, run, seeded, topology};
/// let policy = ScriptedPolicy::default()
///     .says("S1", [Decision::new(Label::Healthy, "nothing unusual")]);
/// let case = seeded(topology("S1"), ["S1"]);
/// let run = run(Config::default(), case, &MemoryContext::default(), &policy);
/// assert_that(&run).ends_with_label("S1", Label::Healthy);
/// assert!(policy.unused().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct ScriptedPolicy {
    scripts: BTreeMap<EntityId, Vec<Result<Decision, Failure>>>,
    repeat_last: bool,
    calls: Mutex<BTreeMap<EntityId, usize>>,
}

impl ScriptedPolicy {
    /// Appends decisions to the script of an entity.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn says(mut self, name: &str, decisions: impl IntoIterator<Item = Decision>) -> Self {
        self.scripts.entry(entity(name)).or_default().extend(decisions.into_iter().map(Ok));
        self
    }

    /// Appends a failure to the script of an entity.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn fails(mut self, name: &str, failure: Failure) -> Self {
        self.scripts.entry(entity(name)).or_default().push(Err(failure));
        self
    }

    /// Beyond its end, each script repeats its last line.
    #[must_use]
    pub fn repeat_last(mut self) -> Self {
        self.repeat_last = true;
        self
    }

    /// Entities whose scripts were not used up, each with the number of lines left.
    pub fn unused(&self) -> Vec<(EntityId, usize)> {
        let calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let left = |(name, script): (&EntityId, &Vec<_>)| {
            let used = calls.get(name).copied().unwrap_or(0);
            (name.clone(), script.len().saturating_sub(used))
        };
        self.scripts.iter().map(left).filter(|(_, left)| *left > 0).collect()
    }

    fn next(&self, name: &EntityId) -> Result<Answer, Failure> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let count = calls.entry(name.clone()).or_default();
        let call = *count;
        *count += 1;
        let Some(script) = self.scripts.get(name) else {
            return Err(Failure::policy(format!("the test has no script for {name}")));
        };
        let last = script.last().filter(|_| self.repeat_last);
        match script.get(call).or(last) {
            Some(line) => line.clone().map(Answer::from),
            None => Err(Failure::policy(format!(
                "the script of {name} has {} lines, and this is call {}",
                script.len(),
                call + 1
            ))),
        }
    }
}

impl AbductivePolicy for ScriptedPolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move { self.next(&packet.entity) })
    }
}

#[cfg(test)]
mod tests {
    use eog::Label;

    use super::*;
    use crate::{ask, packet};

    fn say(label: Label) -> Decision {
        Decision::new(label, label.to_string())
    }

    fn labels(policy: &ScriptedPolicy, name: &str, calls: usize) -> Vec<String> {
        let packet = packet(name).build();
        let answers = (0..calls).map(|_| match ask(policy, &packet) {
            Ok(answer) => answer.decision.label.to_string(),
            Err(failure) => failure.message,
        });
        answers.collect()
    }

    #[test]
    fn scripts_run_in_order_per_entity_and_then_fail() {
        let policy = ScriptedPolicy::default()
            .says("a", [say(Label::Defer)])
            .fails("a", Failure::policy("tired"))
            .says("a", [say(Label::Origin)])
            .says("b", [say(Label::Healthy), say(Label::Symptom)]);
        assert_eq!(labels(&policy, "b", 1), ["healthy"]);
        assert_eq!(
            labels(&policy, "a", 4),
            ["defer", "tired", "origin", "the script of a has 3 lines, and this is call 4"]
        );
        assert_eq!(labels(&policy, "c", 1), ["the test has no script for c"]);
        assert_eq!(policy.unused(), [(entity("b"), 1)]);
    }

    #[test]
    fn the_last_line_may_repeat() {
        let policy = ScriptedPolicy::default()
            .says("a", [say(Label::Defer), say(Label::Healthy)])
            .repeat_last();
        assert_eq!(labels(&policy, "a", 4), ["defer", "healthy", "healthy", "healthy"]);
        assert_eq!(labels(&policy, "b", 1), ["the test has no script for b"]);
    }
}
