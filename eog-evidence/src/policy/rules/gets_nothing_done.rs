//! The rule *gets nothing done*.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{Decision, EvidenceKind, Finding, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::books::own_part;
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::{MAJORITY, MORE, in_requests, is_nearly_full, is_worse, role};

/// Less than this share of the usual traffic is less than half.
const LESS: f64 = 0.5;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "gets nothing done",
    when: "it gets less than half of the usual done, since less comes or most of it fails, while nearly all of a resource of it is used, and no callee became slower in the same measure (half slower where requests fail), fails or does worse",
    decides: "`origin` without a change",
    nature: Nature::Stuck,
    propose: |facts| Explanation::sharing(propose(facts), own_part(facts)),
};

/// **Gets nothing done.** What is in use, divided by what is done with it, is how long each piece of work holds its
/// place (Little's law). Where that became many times as long and no callee did, the work hangs here.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let work = Work::of(facts)?;
    let full = facts.harms.iter().copied().find(|harm| {
        harm.kind == EvidenceKind::Metric && harm.peer.is_none() && is_nearly_full(harm)
    })?;
    let less = work.less;
    if less >= LESS || !facts.early_surges().is_empty() {
        return None;
    }
    let held = times(full)? / less.max(f64::MIN_POSITIVE);
    // Requests that fail held their place as well, for how long is not known: whoever is slower may be why.
    let slower = if work.fails { MORE } else { MAJORITY * held };
    let explains = |finding: &&&Finding| {
        role(finding) == Some(PeerRole::Callee)
            && finding.trend == Trend::Rising
            && match finding.signal {
                Signal::Latency => times(finding).is_none_or(|times| times >= slower),
                Signal::Errors => true,
                _ => false,
            }
    };
    let is_harmed = |label| matches!(label, Some(Label::Origin));
    let by_callee = facts.harms.iter().any(|harm| explains(&harm))
        || facts.upstream().into_iter().any(|other| {
            facts.calls(other) && is_harmed(facts.label_of(other)) && !facts.blames_me(other)
        });
    if by_callee {
        return None;
    }
    let summary = format!(
        "gets nothing done: {}; {}; what is in use, divided by what is done, is how long each piece of work is held",
        work.told(),
        quote(full)
    );
    let mut decision = decide(Label::Origin, &summary, std::iter::once(full).chain(work.shown));
    rate(&mut decision, facts.entity, 600);
    Some(decision)
}

/// How much of the usual work is done, and what shows it.
struct Work<'a> {
    less: f64,
    /// It comes, and fails.
    fails: bool,
    shown: Vec<&'a Finding>,
}

impl<'a> Work<'a> {
    /// By what it takes, where less than half of the usual comes; else by what it takes and does not fail, where both are
    /// counted alike or the share that fails is known.
    fn of(facts: &Facts<'a>) -> Option<Self> {
        let drop = facts.drop_of_traffic().filter(|drop| drop.peer.is_none());
        let dropped = drop
            .and_then(|drop| Some(Self { less: times(drop)?, fails: false, shown: vec![drop] }));
        match dropped {
            Some(dropped) if dropped.less < LESS => Some(dropped),
            dropped => Self::of_what_fails(facts).or(dropped),
        }
    }

    fn of_what_fails(facts: &Facts<'a>) -> Option<Self> {
        let own = |signal| {
            let of_kind = move |finding: &&Finding| {
                finding.kind == EvidenceKind::Metric
                    && finding.signal == signal
                    && finding.peer.is_none()
            };
            facts.findings().iter().find(of_kind)
        };
        let (taken, failed) = (own(Signal::Traffic)?, own(Signal::Errors)?);
        let (all, bad) = (taken.quantity.as_ref()?, failed.quantity.as_ref()?);
        let is_share = matches!(bad.unit.as_str(), "ratio" | "percent" | "%");
        let done = |all_of: f64, failing: f64| {
            let is_counted_alike = is_share || bad.unit == all.unit;
            is_counted_alike.then(|| (all_of - in_requests(&bad.unit, failing, all_of)).max(0.0))
        };
        let usual = done(all.baseline?, bad.baseline?).filter(|usual| *usual > 0.0)?;
        let less = done(all.observed, bad.observed)? / usual;
        is_worse(failed).then(|| Self { less, fails: true, shown: vec![taken, failed] })
    }

    fn told(&self) -> String {
        let quotes: Vec<String> = self.shown.iter().map(|finding| quote(finding)).collect();
        quotes.join("; ")
    }
}

/// How many times its usual a finding measures.
fn times(finding: &Finding) -> Option<f64> {
    let quantity = finding.quantity.as_ref()?;
    let usual = quantity.baseline.filter(|usual| *usual > 0.0)?;
    Some(quantity.observed / usual)
}
