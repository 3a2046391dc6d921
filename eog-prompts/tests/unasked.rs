//! What a packet leaves no choice about is not asked.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use eog_core::contract::{Coverage, Hint, Route};
use eog_core::evidence::Signal;
use eog_core::{Belief, Claim, ContextPacket, Decision, EvidenceKind, Label, Message};
use eog_prompts::{MockModel, Pack};
use eog_testkit::{ask, entity, finding, packet};
use serde_json::json;
use support::policy;

fn watched(own: &[EvidenceKind]) -> Option<Coverage> {
    Some(Coverage { own: own.to_vec(), others: Vec::new() })
}

/// The decision, and how often the model was asked.
fn decided(packet: &ContextPacket) -> (Option<String>, Label, usize) {
    let said = json!({
        "because": "It is asked.", "label": "defer", "evidence": [], "next_page": false, "search": [],
        "claims": [], "other_causes": [], "proposals": [],
    });
    let model = Arc::new(MockModel::new("mock/a").then(said));
    let decision = ask(&policy(Pack::sre(), &model), packet).unwrap().decision;
    (decision.rule, decision.label, model.requests().len())
}

/// A decision that no model was asked for.
fn rule_of(packet: &ContextPacket) -> Decision {
    let model = Arc::new(MockModel::new("mock/a"));
    let decision = ask(&policy(Pack::sre(), &model), packet).unwrap().decision;
    assert!(decision.rule.is_some());
    decision
}

fn by(rule: &str, label: Label) -> (Option<String>, Label, usize) {
    (Some(rule.to_owned()), label, 0)
}

const ASKED: (Option<String>, Label, usize) = (None, Label::Defer, 1);

#[test]
fn silence_without_claims() {
    let mut packet = packet("db").caller("web").build();
    assert_eq!(decided(&packet), ASKED, "the coverage is unknown");
    packet.context.coverage = watched(&[EvidenceKind::Metric]);
    assert_eq!(decided(&packet), by("nothing stands out", Label::Healthy));
    packet.context.coverage = watched(&[EvidenceKind::Change]);
    assert_eq!(decided(&packet), by("nothing recorded", Label::Defer));
    packet.inbox = vec![explained_by("web", "db", Label::Symptom)];
    assert_eq!(decided(&packet), ASKED, "a neighbour claims something of it");
}

fn explained_by(sender: &str, cause: &str, label: Label) -> Message {
    let claim = Claim::new(&entity(cause), &entity("web"), "its flag is on", "errors");
    Message {
        sender: entity(sender),
        belief: Belief { claims: vec![claim], ..Belief::new(label, "so") },
    }
}

#[test]
fn a_way_that_a_neighbour_claims() {
    let way = finding("proxy").excerpt("flags changed").signal(Signal::Route).build();
    let mut packet = packet("proxy").callee("flags").caller("web").finding(way.clone()).build();
    packet.context.coverage = watched(&[EvidenceKind::Change]);
    let hops = ["flags", "proxy"].map(entity).to_vec();
    packet.context.routes = vec![Route { finding: way.id().clone(), hops }];
    assert_eq!(decided(&packet), by("ways alone", Label::Defer), "no message claims it");
    packet.inbox = vec![explained_by("web", "proxy", Label::Symptom)];
    assert_eq!(decided(&packet), by("carries on", Label::Symptom));
    packet.context.findings.push(finding("flags").build());
    assert_eq!(
        decided(&packet),
        by("carries on", Label::Symptom),
        "what is of others stands aside"
    );
    packet.context.findings.push(finding("proxy").excerpt("it restarted").build());
    assert_eq!(decided(&packet), ASKED, "it has something of its own");
    packet.context.findings.truncate(1);
    packet.context.coverage = watched(&[EvidenceKind::Log]);
    assert_eq!(decided(&packet), ASKED, "its logs show nothing, which may speak against it");
}

#[test]
fn a_way_that_reached_the_hop_before() {
    let way = finding("proxy").excerpt("flags changed").signal(Signal::Route).build();
    let mut packet = packet("proxy").callee("cart").caller("web").finding(way.clone()).build();
    packet.context.coverage = watched(&[EvidenceKind::Change]);
    let hops = ["flags", "cart", "proxy"].map(entity).to_vec();
    packet.context.routes = vec![Route { finding: way.id().clone(), hops }];
    let claim = Claim::new(&entity("flags"), &entity("cart"), "its flag is on", "errors");
    let reached = Belief { claims: vec![claim], ..Belief::new(Label::Symptom, "so") };
    packet.inbox = vec![Message { sender: entity("cart"), belief: reached }];
    let alone = rule_of(&packet);
    assert_eq!(alone.label, Label::Defer, "no entity behind it is known to be harmed");
    assert_eq!(
        alone.proposals[0].entity,
        entity("cart"),
        "the evaluation continues where the way comes from"
    );
    packet.hints = vec![Hint { entity: entity("web"), anomalies: 1, changes: 0 }];
    let carried = rule_of(&packet);
    assert_eq!(carried.label, Label::Symptom);
    let [claim] = carried.claims.as_slice() else { panic!("one hop: {:?}", carried.claims) };
    assert_eq!((&claim.cause, &claim.effect), (&entity("cart"), &entity("proxy")));
    assert_eq!(claim.condition, "passes on: its flag is on");
    packet.inbox[0].belief.label = Label::Defer;
    assert_eq!(rule_of(&packet).label, Label::Defer, "the hop before does not show it");
}

#[test]
fn a_short_page_before_the_next_one() {
    let mut packet = packet("web").callee("flags").finding(finding("web").build()).build();
    packet.context.pages_left = 1;
    assert_eq!(decided(&packet), by("next page", Label::Defer));
    packet.context.findings.push(finding("flags").build());
    assert_eq!(decided(&packet), ASKED, "a page of others stands beside it already");
}
