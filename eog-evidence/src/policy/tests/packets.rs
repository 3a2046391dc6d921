//! Packets to judge: findings on `me`, messages of neighbours, notices; and decisions in short.

use eog_core::contract::{Notice, NoticeReason};
use eog_core::evidence::{
    ChangeDetail, EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend,
};
use eog_core::incident::{Direction, Neighbour, Onset};
use eog_core::{
    Anomaly, Belief, Claim, ContextPacket, Decision, EntityId, EvidenceKind, Finding, Label,
    LocalContext, Message, Timestamp, Window,
};

use crate::policy::EvidencePolicy;

/// A second look of a kind, so many with this one, that tells of nobody.
pub(super) fn second_look(reason: NoticeReason, count: u32) -> Notice {
    let (unexplained, rivals, others, unlinked) = (vec![], vec![], vec![], vec![]);
    Notice { reason, count, unexplained, rivals, others, unlinked }
}

pub(super) fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

pub(super) fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

/// A finding on `me`: kind, signal, trend, minute.
pub(super) fn finding(
    kind: EvidenceKind,
    signal: Signal,
    trend: Trend,
    minute: i64,
) -> FindingContent {
    FindingContent {
        entity: id("me"),
        kind,
        signal,
        trend,
        time: EvidenceTime::At(at(minute)),
        quantity: None,
        change: None,
        peer: None,
        source: "test".into(),
        query: String::new(),
        excerpt: format!("{kind:?} {signal:?} at {minute}"),
        onset: None,
    }
}

pub(super) fn with_peer(mut content: FindingContent, peer: &str, role: PeerRole) -> FindingContent {
    content.peer = Some(Peer { entity: id(peer), role });
    content
}

pub(super) fn change(signal: Signal, minute: i64) -> FindingContent {
    let mut content = finding(EvidenceKind::Change, signal, Trend::Steady, minute);
    content.change = Some(detail(minute));
    content
}

pub(super) fn detail(minute: i64) -> ChangeDetail {
    ChangeDetail { path: format!("field{minute}"), old: None, new: None }
}

pub(super) fn impact(of_minute: i64, onset: i64, next: &str) -> FindingContent {
    let mut content = finding(EvidenceKind::Note, Signal::Impact, Trend::Steady, onset);
    content.change = Some(detail(of_minute));
    with_peer(content, next, PeerRole::NextDownstream)
}

pub(super) fn route(minute: i64, next: &str) -> FindingContent {
    let content = finding(EvidenceKind::Note, Signal::Route, Trend::Steady, minute);
    with_peer(content, next, PeerRole::NextUpstream)
}

pub(super) fn demand_route(minute: i64, next: &str) -> FindingContent {
    FindingContent { trend: Trend::Rising, ..route(minute, next) }
}

pub(super) fn alert(minute: i64) -> FindingContent {
    finding(EvidenceKind::Alert, Signal::Errors, Trend::Rising, minute)
}

pub(super) fn ended_alert(from: i64, to: i64) -> FindingContent {
    let during = EvidenceTime::During(Window::new(at(from), at(to)).unwrap());
    FindingContent { time: during, ..alert(from) }
}

pub(super) fn errors(minute: i64) -> FindingContent {
    finding(EvidenceKind::Metric, Signal::Errors, Trend::Rising, minute)
}

pub(super) fn calling(callee: &str, minute: i64) -> FindingContent {
    let content = finding(EvidenceKind::Log, Signal::Errors, Trend::Rising, minute);
    with_peer(content, callee, PeerRole::Callee)
}

pub(super) fn exhaustion(minute: i64) -> FindingContent {
    finding(EvidenceKind::Event, Signal::Exhaustion, Trend::Rising, minute)
}

pub(super) fn crash(minute: i64) -> FindingContent {
    finding(EvidenceKind::Event, Signal::Availability, Trend::Rising, minute)
}

pub(super) fn traffic(trend: Trend, minute: i64, to: f64) -> FindingContent {
    let mut content = finding(EvidenceKind::Metric, Signal::Traffic, trend, minute);
    content.quantity = Some(Quantity { observed: to, baseline: Some(100.0), unit: "1/s".into() });
    content
}

pub(super) fn from(caller: &str, minute: i64, to: f64) -> FindingContent {
    let trend = if to > 100.0 { Trend::Rising } else { Trend::Steady };
    with_peer(traffic(trend, minute, to), caller, PeerRole::Caller)
}

pub(super) fn steady(signal: Signal) -> FindingContent {
    finding(EvidenceKind::Metric, signal, Trend::Steady, 0)
}

/// The message of a neighbour: label, claims as `cause > effect`, one cited id of each kind.
pub(super) fn says(sender: &str, label: Label, claims: &[&str], cites: &[EvidenceKind]) -> Message {
    let cited: Vec<_> = cites
        .iter()
        .map(|kind| {
            let mut content = finding(*kind, Signal::Errors, Trend::Rising, 0);
            content.entity = id(sender);
            Finding::new(content).id().clone()
        })
        .collect();
    let claim = |text: &&str| {
        let (cause, effect) = text.split_once(" > ").unwrap();
        Claim {
            cause: id(cause),
            effect: id(effect),
            condition: "condition".into(),
            observed: "observed".into(),
            evidence: cited.clone(),
            cause_since: None,
            effect_since: None,
            explains: None,
        }
    };
    let claims = claims.iter().map(claim).collect();
    let belief = Belief {
        label,
        summary: format!("{sender} is {label}"),
        evidence: cited.clone(),
        claims,
        since: None,
        explains: None,
        rule: None,
        measures: None,
    };
    Message { sender: id(sender), belief }
}

/// `me` calls `callee`; `caller` calls `me`. It rests on `pod`, and `users` send it load, if those speak.
pub(super) fn neighbours(inbox: &[Message]) -> Vec<Neighbour> {
    let row = |name, outgoing, direction| Neighbour {
        entity: id(name),
        relation: "calls".into(),
        outgoing,
        direction,
    };
    let others = [("pod", "selects", true), ("users", "sends_load", false)];
    let speaks = |name: &str| inbox.iter().any(|message| message.sender.as_str() == name);
    let rests_on =
        others.into_iter().filter(|(name, ..)| speaks(name)).map(|(name, relation, outgoing)| {
            Neighbour { relation: relation.into(), ..row(name, outgoing, Direction::Upstream) }
        });
    let calls =
        [row("callee", true, Direction::Upstream), row("caller", false, Direction::Downstream)];
    calls.into_iter().chain(rests_on).collect()
}

pub(super) fn decide(
    findings: Vec<FindingContent>,
    inbox: Vec<Message>,
) -> (ContextPacket, Decision) {
    let packet = ContextPacket {
        entity: id("me"),
        window: Window::new(at(0), at(60)).unwrap(),
        context: LocalContext {
            findings: findings.into_iter().map(Finding::new).collect(),
            ..LocalContext::default()
        },
        neighbours: neighbours(&inbox),
        inbox,
        anomalies: Vec::new(),
        notice: None,
        former: None,
        hints: Vec::new(),
        quoted: Vec::new(),
        reach: None,
    };
    let decision = EvidencePolicy::default().judge(&packet);
    (packet, decision)
}

/// A decision in short: label, rule, claims, proposals.
pub(super) fn in_short(decision: &Decision) -> String {
    let rule = decision.summary.split(':').next().unwrap();
    let name = decision.rule.as_deref().unwrap();
    // What explains nothing has summaries of several kinds.
    assert!(rule == name || name == "nothing unusual", "{name}: {}", decision.summary);
    let claims = decision.claims.iter().map(|claim| format!(" {}>{}", claim.cause, claim.effect));
    let proposals = decision.proposals.iter().map(|proposal| format!(" ?{}", proposal.entity));
    let rest: String = claims.chain(proposals).collect();
    format!("{}, {rule}{rest}", decision.label)
}

/// Checks a table, and for every row what holds for all decisions.
pub(super) fn check(table: Vec<(&str, Vec<FindingContent>, Vec<Message>, &str)>) {
    for (case, findings, inbox, expected) in table {
        let (packet, decision) = decide(findings, inbox);
        assert_eq!(in_short(&decision), expected, "{case}: {}", decision.summary);
        check_citations(case, &packet, &decision);
        let again = EvidencePolicy::default().judge(&packet);
        assert_eq!(again, decision, "{case}: judged again");
    }
}

pub(super) fn check_citations(case: &str, packet: &ContextPacket, decision: &Decision) {
    let own: Vec<_> = packet.context.findings.iter().map(Finding::id).collect();
    let told: Vec<_> = packet.inbox.iter().flat_map(|message| message.belief.cited()).collect();
    assert!(
        decision.evidence.iter().all(|cited| own.contains(&cited)),
        "{case}: cites own findings"
    );
    assert_eq!(decision.evidence.is_empty(), own.is_empty(), "{case}: cites something");
    for claim in &decision.claims {
        assert!(!claim.evidence.is_empty(), "{case}: claim without evidence");
        let known = |id| own.contains(&id) || told.contains(id);
        assert!(claim.evidence.iter().all(known), "{case}: claim cites what is known");
        assert!(claim.cause != claim.effect, "{case}: claims itself");
        assert!(claim.cause == packet.entity || claim.effect == packet.entity, "{case}: touches");
    }
    assert!(decision.scores.iter().any(|score| score.entity == packet.entity), "{case}: rates");
}

/// The note that a source sends more, which somebody passes on.
pub(super) fn demand(by: &str, second: i64) -> FindingContent {
    let mut content = finding(EvidenceKind::Note, Signal::Traffic, Trend::Rising, second / 60);
    content.onset = Some(Onset::at(Timestamp::from_second(second).unwrap()));
    with_peer(content, by, PeerRole::Caller)
}

/// A note that a neighbour accounts for a share, in percent.
pub(super) fn accounts(signal: Signal, neighbour: &str, percent: i32) -> FindingContent {
    let mut content = finding(EvidenceKind::Note, signal, Trend::Rising, 5);
    content.excerpt = format!("{neighbour} {percent}");
    content.quantity = Some(Quantity {
        observed: f64::from(percent) / 100.0,
        baseline: None,
        unit: "share".into(),
    });
    with_peer(content, neighbour, PeerRole::NextUpstream)
}

pub(super) fn rest(signal: Signal, percent: i32) -> FindingContent {
    FindingContent { peer: None, ..accounts(signal, "nobody", percent) }
}

/// A note on the part of what alerts elsewhere show that the entity can account for.
pub(super) fn part(signal: Signal, percent: i32) -> FindingContent {
    FindingContent { trend: Trend::Steady, ..rest(signal, percent) }
}

/// A note that a callee is called more often for each request.
pub(super) fn sent_more(callee: &str) -> FindingContent {
    with_peer(accounts(Signal::Traffic, callee, 500), callee, PeerRole::Callee)
}

pub(super) fn share(trend: Trend) -> FindingContent {
    let mut content = finding(EvidenceKind::Metric, Signal::Availability, trend, 5);
    content.quantity = Some(Quantity { observed: 0.5, baseline: Some(1.0), unit: "ratio".into() });
    content
}

/// A finding whose beginning is measured to within some seconds.
pub(super) fn dated(mut content: FindingContent, second: i64, width: i64) -> FindingContent {
    content.onset = Some(Onset::between(second_of(second), second_of(second + width)));
    content.time = EvidenceTime::At(second_of(second));
    content.excerpt = format!("{} from {second}", content.excerpt);
    content
}

pub(super) fn second_of(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

pub(super) fn anomaly(name: &str, signal: Signal, minute: i64) -> Anomaly {
    Anomaly::new(name, id("me"), signal, at(minute))
}

pub(super) fn judged(
    findings: Vec<FindingContent>,
    inbox: Vec<Message>,
    change: impl FnOnce(&mut ContextPacket),
) -> Decision {
    let (mut packet, _) = decide(findings, inbox);
    change(&mut packet);
    let decision = EvidencePolicy::default().judge(&packet);
    assert!(decision.alternatives.len() <= 5);
    assert_eq!(EvidencePolicy::default().judge(&packet), decision, "equal packets");
    decision
}

pub(super) fn rule(decision: &Decision) -> String {
    format!("{}, {}", decision.label, decision.rule.as_deref().unwrap_or("-"))
}

/// A deploy at a second.
pub(super) fn deploy(second: i64) -> FindingContent {
    let mut content = dated(change(Signal::Configuration, 0), second, 0);
    content.change = Some(at_second(second));
    content
}

pub(super) fn at_second(second: i64) -> ChangeDetail {
    ChangeDetail { path: format!("image{second}"), old: None, new: None }
}
