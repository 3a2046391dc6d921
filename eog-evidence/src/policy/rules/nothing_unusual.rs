//! The rule *nothing unusual*.

use eog_core::evidence::{PeerRole, Signal, Trend};
use eog_core::{Decision, EvidenceKind, Finding, Label};

use crate::policy::answer::{decide, quote, rate};
use crate::policy::explanation::Explanation;
use crate::policy::facts::Facts;
use crate::policy::rule::{Nature, Rule};
use crate::signs::role;

/// Below what is put off, which may have to do with it.
const MOST: f64 = 99.0;

pub(in crate::policy) const RULE: Rule = Rule {
    name: "nothing unusual",
    when: "findings, all as usual; or an own change that explains nothing known where the work is not measured to be as usual, a surge that nobody asks about, or findings of signal `other` that rose or fell",
    decides: "`healthy`; `defer` in the other cases",
    nature: Nature::Other,
    propose: |facts| Explanation::unexplained(propose(facts)),
};

/// **Nothing unusual.** Findings, and all of them as usual: healthy. With a change that explains
/// nothing and may still have done something, or findings that the rules do not understand, the judgement is put off instead.
fn propose(facts: &Facts<'_>) -> Option<Decision> {
    let findings = facts.findings().iter();
    let own: Vec<&Finding> =
        findings.filter(|finding| finding.kind != EvidenceKind::Note).collect();
    let first = *own.first()?;
    // An experiment or a sale need not show in the work.
    let may_have_acted = |change: &&Finding| {
        matches!(change.signal, Signal::Demand | Signal::Experiment) || !facts.works_as_usual()
    };
    if let Some(change) = facts.changes.first().copied().filter(may_have_acted) {
        let why = match change.signal {
            Signal::Demand => "but its traffic is not known to have risen with it",
            Signal::Experiment => "but nothing shows that the experiment ran",
            _ => "but nothing is known that it explains",
        };
        return Some(put_off(
            &format!("unexplaining change: {}, {why}", quote(change)),
            change,
            facts,
        ));
    }
    if let Some(surge) = facts.surges.first() {
        return Some(put_off(&format!("more traffic: {}", quote(surge)), surge, facts));
    }
    if let Some(strange) = own.iter().find(|finding| is_not_understood(finding)) {
        let summary = format!("not understood: {}", quote(strange));
        return Some(put_off(&summary, strange, facts));
    }
    let summary = format!("nothing unusual: {}", quote(first));
    let mut decision = decide(Label::Healthy, &summary, own.into_iter().take(3));
    rate(&mut decision, facts.entity, score(facts));
    Some(decision)
}

/// 0 to 99: by how many percent more than usual there is of what is commonest in trouble, though no more than by chance.
/// It tells those apart of whom nothing better is known.
fn score(facts: &Facts<'_>) -> u16 {
    let measured = facts.findings().iter().filter(|finding| {
        let is_harm =
            matches!(finding.signal, Signal::Latency | Signal::Errors | Signal::Saturation);
        is_harm && finding.kind != EvidenceKind::Note && role(finding) != Some(PeerRole::Callee)
    });
    let more = measured.filter_map(|finding| {
        let now = finding.quantity.as_ref()?;
        let usual = now.baseline.filter(|usual| *usual > 0.0)?;
        Some(now.observed / usual - 1.0)
    });
    (100.0 * more.fold(0.0, f64::max)).clamp(0.0, MOST) as u16
}

fn put_off(summary: &str, finding: &Finding, facts: &Facts<'_>) -> Decision {
    let mut decision = decide(Label::Defer, summary, [finding]);
    rate(&mut decision, facts.entity, 100);
    decision
}

fn is_not_understood(finding: &Finding) -> bool {
    finding.signal == Signal::Other && finding.trend != Trend::Steady
}
