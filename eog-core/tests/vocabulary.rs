//! Every type of the vocabulary survives JSON, and refuses fields it does not know.

use std::collections::BTreeSet;
use std::fmt::Debug;
use std::num::NonZeroU32;

use eog_core::Digest;
use eog_core::belief::ClaimEdge;
use eog_core::contract::{CandidateScore, Coverage, FailureKind, FormerBelief, Hint, Route};
use eog_core::controller::{
    ActivationRecord, ActivationRefusal, ChangeCause, ChangeRule, Checks, ClaimRule, Concurrency,
    Damping, Observed, Order, Outcome, Reason, Wake,
};
use eog_core::evidence::{
    ChangeDetail, EvidenceTime, FindingContent, Peer, PeerRole, Quantity, Signal, Trend,
};
use eog_core::incident::{Bootstrap, Direction, Edge, EffectDirection, Neighbour};
use eog_core::ledger::{Observation, RecordedAnswer, Refusal, Warning};
use eog_core::{
    Anomaly, Belief, Budget, BudgetKind, Case, Claim, Confidence, Config, ContextPacket,
    ContextRequest, Decision, EntityId, EvidenceId, EvidenceKind, Failure, Finding, Label,
    LocalContext, Message, Proposal, Seed, Spent, StopReason, Timestamp, Topology, Usage, Window,
};
use serde::Serialize;
use serde::de::DeserializeOwned;

fn survives<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    let text = serde_json::to_string(value).expect("the vocabulary is JSON");
    let again: T = serde_json::from_str(&text)
        .unwrap_or_else(|error| panic!("{text} cannot be read again: {error}"));
    assert_eq!(&again, value);
    let again = serde_json::to_string(&again).expect("the vocabulary is JSON");
    assert_eq!(again, text, "equal values have equal bytes");
}

/// As [`survives`], and an object with one more field is refused.
fn is_strict<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T) {
    survives(value);
    let text = serde_json::to_string(value).expect("the vocabulary is JSON");
    let more = text.replacen('{', "{\"unheard_of\":1,", 1).replace(",}", "}");
    assert!(serde_json::from_str::<T>(&more).is_err(), "{more} is taken");
}

fn id(name: &str) -> EntityId {
    EntityId::new(name).expect("is a name")
}

fn at(minute: u8) -> Timestamp {
    format!("2026-01-01T10:{minute:02}:00.000000001Z").parse().expect("is a time")
}

fn window() -> Window {
    Window::new(at(0), at(59)).expect("is not empty")
}

fn finding() -> Finding {
    Finding::new(FindingContent {
        entity: id("shop/Service/cart"),
        kind: EvidenceKind::Change,
        signal: Signal::Configuration,
        trend: Trend::Steady,
        time: EvidenceTime::During(window()),
        quantity: Some(Quantity { observed: 0.1, baseline: Some(1e300), unit: "1/s".into() }),
        change: Some(ChangeDetail {
            path: "a.b".into(),
            old: None,
            new: Some("\"\\\u{1f4a5}".into()),
        }),
        peer: Some(Peer { entity: id("db"), role: PeerRole::Callee }),
        source: "changes.csv".into(),
        query: "entity = cart".into(),
        excerpt: "line one\nline two\u{0}".into(),
        onset: None,
    })
}

fn claim() -> Claim {
    Claim {
        cause: id("db"),
        effect: id("cart"),
        condition: "out of memory".into(),
        observed: "time-outs".into(),
        evidence: vec![finding().id().clone()],
        cause_since: None,
        effect_since: None,
        explains: None,
        outside: false,
    }
}

fn belief() -> Belief {
    Belief {
        label: Label::Origin,
        summary: "it was changed".into(),
        evidence: vec![finding().id().clone()],
        claims: vec![claim()],
        since: None,
        explains: None,
        rule: None,
        measures: None,
    }
}

fn decision() -> Decision {
    let mut decision = Decision::new(Label::Symptom, "slow")
        .citing(&[finding()])
        .claiming(claim())
        .proposing(id("db"), Direction::Both, "it is called");
    decision.scores.push(CandidateScore { entity: id("db"), score: 900 });
    decision
}

fn edge() -> Edge {
    Edge {
        source: id("cart"),
        target: id("db"),
        relation: "calls".into(),
        effects: EffectDirection::TargetToSource,
    }
}

fn anomaly() -> Anomaly {
    Anomaly {
        name: "errors".into(),
        entity: id("cart"),
        signal: Signal::Errors,
        onset: at(1),
        renewed: vec![at(2), at(3)],
        last_seen: Some(at(4)),
        severity: "critical".into(),
        description: "too many errors".into(),
    }
}

fn route() -> Route {
    Route { finding: finding().id().clone(), hops: vec![id("flags"), id("cart")] }
}

fn coverage() -> Coverage {
    Coverage { own: vec![EvidenceKind::Metric], others: vec![EvidenceKind::Log] }
}

fn context() -> LocalContext {
    LocalContext {
        findings: vec![finding()],
        mentions: vec![id("queue")],
        omitted: vec!["12 events".into()],
        routes: vec![route()],
        coverage: Some(coverage()),
        pages_left: 2,
    }
}

fn topology() -> Topology {
    let mut topology = Topology::default();
    topology.add_edge(edge());
    topology
}

#[test]
fn what_is_named_and_seen() {
    survives(&id("shop/Service/cart"));
    survives(finding().id());
    survives(&Digest::of(&"x"));
    survives(&finding());
    is_strict(&window());
    is_strict(finding().content());
    is_strict(&Quantity { observed: -0.0, baseline: None, unit: String::new() });
    is_strict(&ChangeDetail { path: String::new(), old: Some("1".into()), new: None });
    is_strict(&Peer { entity: id("a"), role: PeerRole::NextUpstream });
    survives(&EvidenceTime::At(at(5)));
    survives(&EvidenceTime::During(window()));
}

#[test]
fn what_is_asked_and_answered() {
    is_strict(&context());
    is_strict(&route());
    is_strict(&coverage());
    let hint = Hint { entity: id("db"), anomalies: 1, changes: 2 };
    is_strict(&hint);
    let former = FormerBelief { belief: belief(), new_from: vec![id("db")] };
    is_strict(&former);
    let message = Message { sender: id("db"), belief: belief() };
    is_strict(&message);
    let neighbour = Neighbour {
        entity: id("db"),
        relation: "calls".into(),
        outgoing: true,
        direction: Direction::Upstream,
    };
    is_strict(&neighbour);
    is_strict(&ContextPacket {
        entity: id("cart"),
        window: window(),
        context: context(),
        neighbours: vec![neighbour],
        inbox: vec![message],
        anomalies: Vec::new(),
        notice: None,
        former: Some(former),
        hints: vec![hint],
        quoted: vec![finding()],
        reach: None,
        case_file: None,
        queries_left: 0,
    });
    is_strict(&ContextRequest {
        entity: id("cart"),
        window: window(),
        page: 1,
        visit: 2,
        changed_neighbours: BTreeSet::from([id("db")]),
        query: None,
    });
    is_strict(&decision());
    is_strict(&Proposal { entity: id("a"), direction: Direction::Downstream, reason: "r".into() });
    is_strict(&CandidateScore { entity: id("a"), score: u16::MAX });
    is_strict(&claim());
    is_strict(&ClaimEdge { cause: id("a"), effect: id("b") });
    is_strict(&belief());
    is_strict(&Usage { model_calls: 1, tokens_in: 2, tokens_out: 3, cost_micro_usd: u64::MAX });
    is_strict(&Failure::context("gone"));
}

#[test]
fn what_an_investigation_begins_with() {
    is_strict(&edge());
    is_strict(&topology());
    is_strict(&anomaly());
    is_strict(&Seed { entity: id("cart"), reason: "alert".into() });
    let bootstrap = Bootstrap {
        window_reason: "the first alert".into(),
        ignored: vec!["Watchdog".into()],
        evidence: vec![finding()],
        warnings: vec!["line 3 was skipped".into()],
        unusable: Vec::new(),
    };
    is_strict(&bootstrap);
    is_strict(&Case { bootstrap, ..Case::from_anomalies(topology(), window(), vec![anomaly()]) });
    is_strict(&Config::default());
    is_strict(&Config::paper());
    is_strict(&Budget {
        hops: Some(u64::MAX),
        model_calls: Some(9),
        tokens: Some(0),
        cost_micro_usd: None,
    });
    survives(&Concurrency::Window(NonZeroU32::MAX));
    assert!(serde_json::from_str::<Concurrency>("{\"window\":0}").is_err());
}

#[test]
fn what_a_ledger_records() {
    is_strict(&Outcome {
        belief: belief(),
        change: Some(ChangeCause::NewEvidence),
        flips: 2,
        damped: true,
        stale: false,
        broadcast_to: vec![id("db")],
    });
    let record = ActivationRecord {
        entity: id("db"),
        reason: Reason::LateMessage,
        refused: Some(ActivationRefusal::EntityCap),
    };
    is_strict(&record);
    for observation in [
        Observation::Anomaly(anomaly()),
        Observation::EdgeAdded(edge()),
        Observation::EdgeRemoved(edge()),
        Observation::NewEvidence(id("cart")),
    ] {
        survives(&observation);
        is_strict(&Observed { observation, activations: vec![record.clone()] });
    }
    for answer in [
        RecordedAnswer::Decided(decision()),
        RecordedAnswer::Remembered { entry: 7 },
        RecordedAnswer::Failed(Failure::policy("no idea")),
    ] {
        survives(&answer);
    }
    let claim = || ClaimEdge { cause: id("a"), effect: id("b") };
    let evidence: EvidenceId = finding().id().clone();
    for refusal in [
        Refusal::OriginWithoutLocalEvidence,
        Refusal::UnknownEvidence(evidence),
        Refusal::ClaimWithoutEvidence(claim()),
        Refusal::ClaimBetweenOthers(claim()),
        Refusal::ClaimOnItself(claim()),
        Refusal::ClaimOnUnknownEntity(claim()),
        Refusal::ClaimBeyondEntityCap(claim()),
        Refusal::ProposalUnknown(id("a")),
        Refusal::ProposalVisited(id("a")),
        Refusal::ProposalQueued(id("a")),
        Refusal::ProposalRepeated(id("a")),
        Refusal::ProposalBeyondCap(id("a")),
        Refusal::NoFurtherPage,
        Refusal::NoFurtherQuery,
    ] {
        survives(&refusal);
    }
    for stop in [
        StopReason::Converged { refused_wakes: 3 },
        StopReason::BudgetExhausted { which: BudgetKind::Cost },
        StopReason::Cancelled,
        StopReason::Deadline,
    ] {
        survives(&stop);
    }
    survives(&Spent {
        evaluations: 1,
        hops: 2,
        remembered: 3,
        failures: 4,
        usage: Usage::default(),
    });
}

#[test]
fn what_has_one_of_several_values() {
    fn all<T: Serialize + DeserializeOwned + PartialEq + Debug>(values: &[T]) {
        let mut written = BTreeSet::new();
        for value in values {
            survives(value);
            written.insert(serde_json::to_string(value).expect("the vocabulary is JSON"));
        }
        assert_eq!(written.len(), values.len(), "{written:?}");
        assert!(serde_json::from_str::<T>("\"unheard_of\"").is_err());
    }
    all(&[Label::Healthy, Label::Symptom, Label::Origin, Label::Defer]);
    all(&[Reason::Seed, Reason::Claim, Reason::Wake, Reason::LateMessage, Reason::Proposal]);
    all(&[Reason::Observation, Reason::Page, Reason::Query]);
    all(&[Direction::Upstream, Direction::Downstream, Direction::Both]);
    all(&[EffectDirection::SourceToTarget, EffectDirection::TargetToSource, EffectDirection::Both]);
    all(&[Trend::Rising, Trend::Falling, Trend::Steady]);
    all(&[Confidence::Inconclusive, Confidence::Likely, Confidence::Confirmed]);
    all(&[ChangeCause::First, ChangeCause::Signature, ChangeCause::NewEvidence, ChangeCause::Text]);
    all(&[Warning::Uncited, Warning::SymptomWithoutCause]);
    all(&[BudgetKind::Hops, BudgetKind::ModelCalls, BudgetKind::Tokens, BudgetKind::Cost]);
    all(&[ActivationRefusal::Damped, ActivationRefusal::VisitLimit, ActivationRefusal::EntityCap]);
    all(&[ChangeRule::Substance, ChangeRule::Text]);
    all(&[Wake::AtOdds, Wake::Contradicted, Wake::Visited, Wake::All]);
    all(&[ClaimRule::Supersede, ClaimRule::Accumulate]);
    all(&[Damping::Absorbing, Damping::LastWord, Damping::LabelOverride]);
    all(&[Order::Fifo, Order::Priority, Order::Permuted { seed: u64::MAX }]);
    all(&[Checks::Full, Checks::UnknownEntitiesOnly]);
    all(&[
        FailureKind::ContextFailed,
        FailureKind::ContextTimedOut,
        FailureKind::PolicyFailed,
        FailureKind::PolicyTimedOut,
    ]);
    all(&[
        EvidenceKind::Change,
        EvidenceKind::Event,
        EvidenceKind::Metric,
        EvidenceKind::Log,
        EvidenceKind::Span,
        EvidenceKind::Alert,
        EvidenceKind::Note,
    ]);
    all(&[
        Signal::Errors,
        Signal::Latency,
        Signal::Traffic,
        Signal::Saturation,
        Signal::Exhaustion,
        Signal::Availability,
        Signal::Configuration,
        Signal::Demand,
        Signal::Restart,
        Signal::Experiment,
        Signal::Route,
        Signal::Impact,
        Signal::Other,
    ]);
    all(&[
        PeerRole::Caller,
        PeerRole::Callee,
        PeerRole::NextUpstream,
        PeerRole::NextDownstream,
        PeerRole::Mentioned,
    ]);
}
