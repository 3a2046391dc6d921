//! A policy from a table of rules.

use std::fmt;
use std::sync::Arc;

use eog::evidence::{Signal, Trend};
use eog::{
    AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, EntityId, EvidenceKind, Failure,
    Label,
};

use crate::names::entity;

/// Answers by rules on the packet alone; the first rule that matches wins. Stateless.
///
/// A packet that no rule matches is a failure that says so; end the table with [`on_any`] to
/// avoid that.
///
/// ```
/// use eog::Label;
/// use eog::evidence::Signal;
/// use eog_testkit::{TablePolicy, ask, finding, on, on_any, origin, packet, symptom_of};
/// let policy = TablePolicy::new([
///     on("db").receives("web", Label::Symptom).answers(|packet| symptom_of(packet, "web")),
///     on("db").signal(Signal::Exhaustion).answers(origin),
///     on_any().fails("not in this test"),
/// ]);
/// let packet = packet("db").finding(finding("db").signal(Signal::Exhaustion)).build();
/// assert_eq!(ask(&policy, &packet)?.decision.label, Label::Origin);
/// # Ok::<(), eog::Failure>(())
/// ```
#[derive(Clone, Debug)]
pub struct TablePolicy {
    rules: Vec<Rule>,
}

/// One rule of a [`TablePolicy`]: conditions, all of which must hold, and an answer.
///
/// A rule without an answer fails, and says so.
#[derive(Clone)]
pub struct Rule {
    entity: Option<EntityId>,
    conditions: Vec<Condition>,
    words: Vec<String>,
    answer: Respond,
}

type Condition = Arc<dyn Fn(&ContextPacket) -> bool + Send + Sync>;
type Respond = Arc<dyn Fn(&ContextPacket) -> Result<Decision, Failure> + Send + Sync>;

/// Begins a rule on one entity.
///
/// # Panics
/// When the name is not valid.
#[track_caller]
pub fn on(name: &str) -> Rule {
    Rule { entity: Some(entity(name)), ..on_any() }
}

/// Begins a rule on whatever entity.
pub fn on_any() -> Rule {
    Rule {
        entity: None,
        conditions: Vec::new(),
        words: Vec::new(),
        answer: Arc::new(|_| Err(Failure::policy("the matching rule of the test has no answer"))),
    }
}

impl TablePolicy {
    /// A policy of these rules.
    pub fn new(rules: impl IntoIterator<Item = Rule>) -> Self {
        Self { rules: rules.into_iter().collect() }
    }

    fn answer(&self, packet: &ContextPacket) -> Result<Answer, Failure> {
        match self.rules.iter().find(|rule| rule.matches(packet)) {
            Some(rule) => (rule.answer)(packet).map(Answer::from),
            None => Err(Failure::policy(format!(
                "none of the {} rules of the test matches the packet of {}",
                self.rules.len(),
                packet.entity
            ))),
        }
    }
}

impl Rule {
    /// Only when there is local evidence of this kind.
    #[must_use]
    pub fn kind(self, kind: EvidenceKind) -> Self {
        self.finds(format!("a finding of kind {kind:?}"), move |finding| finding.kind == kind)
    }

    /// Only when there is local evidence of this signal.
    #[must_use]
    pub fn signal(self, signal: Signal) -> Self {
        self.finds(format!("signal {signal:?}"), move |finding| finding.signal == signal)
    }

    /// Only when there is local evidence of this signal and trend.
    #[must_use]
    pub fn trend(self, signal: Signal, trend: Trend) -> Self {
        self.finds(format!("{trend:?} {signal:?}"), move |finding| {
            finding.signal == signal && finding.trend == trend
        })
    }

    /// Only when the latest message of this sender has this label.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn receives(self, sender: &str, label: Label) -> Self {
        let sender = entity(sender);
        self.when(format!("{sender} says {label}"), move |packet| {
            packet.message_from(&sender).is_some_and(|belief| belief.label == label)
        })
    }

    /// Only when some message claims that `cause` explains `effect`.
    ///
    /// # Panics
    /// When a name is not valid.
    #[must_use]
    #[track_caller]
    pub fn hears_claim(self, cause: &str, effect: &str) -> Self {
        let (cause, effect) = (entity(cause), entity(effect));
        self.when(format!("someone claims {cause} → {effect}"), move |packet| {
            let claims = packet.inbox.iter().flat_map(|message| &message.belief.claims);
            claims.into_iter().any(|claim| claim.cause == cause && claim.effect == effect)
        })
    }

    /// Only when this holds; `what` describes it in [`Debug`](fmt::Debug) output.
    #[must_use]
    pub fn when(
        mut self,
        what: impl Into<String>,
        holds: impl Fn(&ContextPacket) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.words.push(what.into());
        self.conditions.push(Arc::new(holds));
        self
    }

    /// Answers with this decision, as it is.
    #[must_use]
    pub fn says(self, decision: Decision) -> Self {
        self.answers(move |_| decision.clone())
    }

    /// Answers with a decision made from the packet, for instance one that cites its findings.
    #[must_use]
    pub fn answers(
        mut self,
        decide: impl Fn(&ContextPacket) -> Decision + Send + Sync + 'static,
    ) -> Self {
        self.answer = Arc::new(move |packet| Ok(decide(packet)));
        self
    }

    /// Fails with this message.
    #[must_use]
    pub fn fails(mut self, message: &str) -> Self {
        let failure = Failure::policy(message);
        self.answer = Arc::new(move |_| Err(failure.clone()));
        self
    }

    fn finds(
        self,
        what: String,
        is: impl Fn(&eog::Finding) -> bool + Send + Sync + 'static,
    ) -> Self {
        self.when(what, move |packet| packet.context.findings.iter().any(&is))
    }

    fn matches(&self, packet: &ContextPacket) -> bool {
        self.entity.as_ref().is_none_or(|entity| *entity == packet.entity)
            && self.conditions.iter().all(|holds| holds(packet))
    }
}

impl fmt::Debug for Rule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Rule").field("entity", &self.entity).field("when", &self.words).finish()
    }
}

impl AbductivePolicy for TablePolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move { self.answer(packet) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{PacketBuilder, ask, claim, finding, packet};

    fn named(name: &str) -> Decision {
        Decision::new(Label::Defer, name)
    }

    #[test]
    fn each_condition_decides_and_the_first_match_wins() {
        let policy = TablePolicy::new([
            on("a").kind(EvidenceKind::Change).signal(Signal::Demand).says(named("both")),
            on("a").kind(EvidenceKind::Change).says(named("changed")),
            on("a").trend(Signal::Traffic, Trend::Rising).says(named("more traffic")),
            on("a").receives("b", Label::Origin).says(named("b says origin")),
            on("a").hears_claim("c", "b").says(named("c explains b")),
            on("a").when("omissions", |p| !p.context.omitted.is_empty()).fails("incomplete"),
            on_any().signal(Signal::Errors).answers(|p| named(p.entity.as_str())),
            on("unanswered"),
        ]);
        let traffic = |now: f64| finding("a").signal(Signal::Traffic).measured(now, 2.0, "1/s");
        let demand = finding("a").change("sale", "off", "on").signal(Signal::Demand);
        let a = || packet("a");
        let cases: [(PacketBuilder, &str); 11] = [
            (a().finding(demand), "both"),
            (a().finding(finding("a").change("x", "1", "2")), "changed"),
            (a().finding(traffic(3.0)), "more traffic"),
            (a().finding(traffic(1.0)), "none of the 8 rules of the test matches the packet of a"),
            (a().message("b", Label::Origin, ""), "b says origin"),
            (a().message_claiming("b", Label::Symptom, claim("c", "b", [])), "c explains b"),
            (a().omitted("much"), "incomplete"),
            (a().finding(finding("a").signal(Signal::Errors)), "a"),
            (packet("z").finding(finding("z").signal(Signal::Errors)), "z"),
            (packet("unanswered"), "the matching rule of the test has no answer"),
            (packet("z"), "none of the 8 rules of the test matches the packet of z"),
        ];
        for (packet, expected) in cases {
            let said = match ask(&policy, &packet.build()) {
                Ok(answer) => answer.decision.summary,
                Err(failure) => failure.message,
            };
            assert_eq!(said, expected);
        }
    }

    #[test]
    fn rules_describe_themselves() {
        let rule = on("a").signal(Signal::Errors).receives("b", Label::Origin);
        assert_eq!(
            format!("{rule:?}"),
            "Rule { entity: Some(\"a\"), when: [\"signal Errors\", \"b says origin\"] }"
        );
    }
}
