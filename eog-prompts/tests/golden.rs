//! Prompts as models see them, so that a change of wording is seen in review.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::path::Path;
use std::sync::Arc;

use eog_core::contract::{FormerBelief, Hint};
use eog_core::evidence::Signal;
use eog_core::{Belief, Claim, EntityId, EvidenceId, Label, Message};
use eog_prompts::{MockModel, Pack};
use support::{packet_of, policy, shipped, shown};

/// The message of processor to gateway in the flash sale, once it has one of the database.
fn from_processor() -> Message {
    let id = |text: &str| EvidenceId::try_from(text.to_owned()).unwrap();
    let entity = |name: &str| EntityId::new(name).unwrap();
    let claim = Claim {
        cause: entity("gateway"),
        effect: entity("processor"),
        condition: "it sends 25 % more".to_owned(),
        observed: "requests rose at 12:02".to_owned(),
        evidence: vec![id("met-00112233445566778899")],
        cause_since: None,
        effect_since: None,
        explains: None,
        outside: false,
    };
    let belief = Belief {
        label: Label::Symptom,
        summary: "Queries to database time out since more load comes in.".to_owned(),
        evidence: vec![id("log-00112233445566778899"), id("met-00112233445566778899")],
        claims: vec![
            Claim { cause: entity("processor"), effect: entity("database"), ..claim.clone() },
            claim,
        ],
        since: None,
        explains: None,
        rule: None,
        measures: None,
    };
    Message { sender: entity("processor"), belief }
}

fn explore_prompt(pack: &str) -> String {
    let (case, context) = shipped("flash-sale");
    let mut message = from_processor();
    let findings = packet_of(&case, &context, "processor", vec![]).context.findings;
    let slow = findings.iter().find(|finding| finding.signal == Signal::Latency).unwrap();
    message.belief.evidence = vec![slow.id().clone()];
    message.belief.claims[1].evidence = vec![slow.id().clone()];
    let mut packet = packet_of(&case, &context, "gateway", vec![message]);
    // As it is asked a second time, when processor has said something.
    let summary = "Checkouts fail since the processor answers with HTTP 500.".to_owned();
    let held = Belief { label: Label::Symptom, summary, ..from_processor().belief };
    let claim = Claim {
        cause: EntityId::new("processor").unwrap(),
        effect: EntityId::new("gateway").unwrap(),
        condition: "it answers with HTTP 500".to_owned(),
        observed: "checkouts fail".to_owned(),
        ..held.claims[0].clone()
    };
    let heard = vec![EntityId::new("processor").unwrap()];
    let belief = Belief { claims: vec![claim], ..held };
    packet.former = Some(FormerBelief { belief, new_from: heard });
    packet.hints =
        vec![Hint { entity: EntityId::new("frontend").unwrap(), anomalies: 0, changes: 1 }];
    packet.quoted = vec![slow.clone()];
    let policy = policy(Pack::named(pack).unwrap(), &Arc::new(MockModel::new("mock/a")));
    shown(&policy.for_case(&case).prompt(&packet).unwrap())
}

#[test]
fn explore_for_sre() {
    insta::assert_snapshot!(explore_prompt("sre"));
}

/// What the documentation shows of it.
#[test]
fn the_documentation_shows_the_question_as_it_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/models.md");
    let page = std::fs::read_to_string(path).unwrap();
    let shown = page.split("```text\n").find(|block| block.starts_with("# Incident")).unwrap();
    let shown = shown.split("\n```").next().unwrap();
    assert!(explore_prompt("sre").contains(shown), "not the user message of the golden:\n{shown}");
}

#[test]
fn explore_for_plant() {
    insta::assert_snapshot!(explore_prompt("plant"));
}
