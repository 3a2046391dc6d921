//! The evidence policy: documented rules that judge one packet.

mod accounts;
mod answer;
mod bearable;
mod books;
mod bound_by_verdicts;
mod delay;
mod elsewhere;
mod explanation;
mod facts;
mod felt;
mod link;
mod load;
mod retries;
mod rule;
mod rules;
mod second_look;
mod signals;
#[cfg(test)]
mod tests;
mod times;
mod weigh;

use eog_core::{AbductivePolicy, Answer, BoxFuture, ContextPacket, Decision, Failure, Label};

pub use bound_by_verdicts::BoundByVerdicts;
use facts::Facts;

/// Judges packets by documented rules: deterministic, without a model, without state.
///
/// Each rule proposes explanations of the entity; the best of them is the decision, and at most five
/// others are told as its alternatives, each with why it was not taken. They are compared by, in
/// this order: whether the effect was there before its cause or a person says otherwise, whether
/// they speak of what the alert speaks of, whether they account for most of the harm, and how
/// specific the rule is. Rules read the typed fields of findings and messages, never text.
/// `docs/evidence-policy.md` lists the rules and gives the reasons.
///
/// Every decision with findings cites some; every claim cites own findings, or ids that a
/// neighbour's message cites. A restart alone is an effect and never makes an `Origin`. At a dead
/// end ([`Notice`](eog_core::contract::Notice)) the best explanation that leads elsewhere is taken.
///
/// ```
/// use eog_core::{ContextPacket, EntityId, Label, LocalContext, Window};
/// use eog_evidence::EvidencePolicy;
/// let packet = ContextPacket {
///     entity: EntityId::new("cart")?,
///     window: Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?,
///     context: LocalContext::default(),
///     neighbours: vec![],
///     inbox: vec![],
///     anomalies: Vec::new(),
///     notice: None,
///     former: None,
///     hints: Vec::new(),
///     quoted: Vec::new(),
///     reach: None,
/// };
/// let decision = EvidencePolicy::default().judge(&packet);
/// assert_eq!(decision.label, Label::Defer);
/// assert_eq!(decision.summary, "no findings: nothing is known about cart in the window");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EvidencePolicy {
    _private: (),
}

impl EvidencePolicy {
    /// The rules in their order, as a table in Markdown: name, when a rule applies, what it decides.
    ///
    /// ```
    /// use eog_evidence::EvidencePolicy;
    /// assert!(EvidencePolicy::rule_table().contains("| own change |"));
    /// ```
    pub fn rule_table() -> String {
        let head = ["| # | rule | when | decides |", "|---|---|---|---|"].map(str::to_owned);
        let rows = rules::RULES.iter().zip(1..).map(|(rule, number)| {
            format!("| {number} | {} | {} | {} |", rule.name, rule.when, rule.decides)
        });
        head.into_iter().chain(rows).map(|row| row + "\n").collect()
    }

    /// Judges one packet. Equal packets get equal decisions.
    pub fn judge(&self, packet: &ContextPacket) -> Decision {
        let facts = Facts::of(packet);
        weigh::decide(&facts).unwrap_or_else(|| Decision::new(Label::Defer, "no rule applies"))
    }
}

impl AbductivePolicy for EvidencePolicy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(std::future::ready(Ok(self.judge(packet).into())))
    }
}
