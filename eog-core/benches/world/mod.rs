//! Generated incidents of any size, and a driver with cheap answers.

#![allow(dead_code, reason = "each benchmark uses its own part of this module")]

use eog_core::evidence::{EvidenceTime, FindingContent, Signal, Trend};
use eog_core::incident::EffectDirection;
use eog_core::machine::Inquiry;
use eog_core::{
    Anomaly, Budget, Case, Claim, Config, ContextPacket, Controller, Decision, EntityId,
    EvidenceKind, Finding, Input, Label, LocalContext, Output, Seed, Topology, Usage, Window,
};

/// The name of an entity, as long as names are in the field.
pub(crate) fn name(number: usize) -> EntityId {
    EntityId::new(format!("shop/Service/entity-{number:07}")).expect("is a name")
}

/// Pseudo-random numbers that are the same on every machine (SplitMix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    /// The next number below a bound.
    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^= mixed >> 31;
        (mixed % bound as u64) as usize
    }
}

/// The window of every generated incident.
pub(crate) fn window() -> Window {
    let at = |text: &str| text.parse().expect("is a time");
    Window::new(at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")).expect("is not empty")
}

/// A random graph in which every entity calls two others.
pub(crate) fn topology(entities: usize) -> Topology {
    let mut numbers = Numbers(1);
    let names: Vec<EntityId> = (0..entities).map(name).collect();
    let mut topology = Topology::default();
    for caller in &names {
        for _ in 0..2 {
            let callee = &names[numbers.below(entities)];
            topology.connect(caller, "calls", callee, EffectDirection::TargetToSource);
        }
    }
    topology
}

/// Alerts on some entities, spread evenly.
pub(crate) fn anomalies(entities: usize, count: usize) -> Vec<Anomaly> {
    let anomaly = |number: usize| Anomaly {
        name: "HttpErrorRate".into(),
        entity: name(number * (entities / count)),
        signal: Signal::Errors,
        onset: "2026-01-01T10:20:00Z".parse().expect("is a time"),
        renewed: Vec::new(),
        last_seen: None,
        severity: "critical".into(),
        description: "more than 5 % of requests fail".into(),
    };
    (0..count).map(anomaly).collect()
}

/// An incident on [`topology`] that starts from five alerts.
pub(crate) fn incident(entities: usize) -> Case {
    Case::from_anomalies(topology(entities), window(), anomalies(entities, 5))
}

/// A configuration without limits that would end a large run.
pub(crate) fn unlimited(mut config: Config) -> Config {
    config.max_entities = u32::MAX;
    config.budget = Budget::default();
    config
}

/// The local context of an entity: one finding.
pub(crate) fn context(entity: &EntityId) -> LocalContext {
    let finding = Finding::new(FindingContent {
        entity: entity.clone(),
        kind: EvidenceKind::Metric,
        signal: Signal::Errors,
        trend: Trend::Rising,
        time: EvidenceTime::During(window()),
        quantity: None,
        change: None,
        peer: None,
        source: "metrics.csv".into(),
        query: "metric=errors".into(),
        excerpt: "errors from 0.1 to 4.2 1/s".into(),
        onset: None,
    });
    LocalContext { findings: vec![finding], ..LocalContext::default() }
}

/// A claim that cites the only finding of a context.
pub(crate) fn claim(cause: &EntityId, effect: &EntityId, context: &LocalContext) -> Claim {
    Claim {
        cause: cause.clone(),
        effect: effect.clone(),
        condition: "fails".into(),
        observed: "errors".into(),
        evidence: context.findings.iter().map(|finding| finding.id().clone()).collect(),
        cause_since: None,
        effect_since: None,
        explains: None,
        outside: false,
    }
}

/// Blames every callee that is not known to be healthy. One entity in eight is healthy, so that
/// claims are withdrawn and neighbours woken.
pub(crate) fn blame_callees(packet: &ContextPacket) -> Decision {
    let is_healthy = packet.entity.as_str().bytes().map(usize::from).sum::<usize>() % 8 == 0;
    if is_healthy {
        return Decision::new(Label::Healthy, "nothing unusual in the window")
            .citing(&packet.context.findings);
    }
    let callees = packet.neighbours.iter().filter(|neighbour| neighbour.outgoing);
    let suspects = callees.filter(|callee| {
        packet.message_from(&callee.entity).is_none_or(|belief| belief.label != Label::Healthy)
    });
    let mut decision =
        Decision::new(Label::Symptom, "requests fail since 10:20, as those to its callees do")
            .citing(&packet.context.findings);
    for suspect in suspects {
        decision = decision.claiming(claim(&suspect.entity, &packet.entity, &packet.context));
    }
    decision
}

/// Drives a controller until so many evaluations are committed, or it is done.
pub(crate) fn drive(
    controller: &mut Controller,
    evaluations: u64,
    mut decide: impl FnMut(&ContextPacket) -> Decision,
) {
    while controller.spent().evaluations < evaluations {
        let input = match controller.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                Input::context(ticket, context(&request.entity))
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                Input::decision(ticket, decide(&packet), Usage::default())
            }
            Output::Done(_) => break,
            other => unreachable!("a sequential loop answers at once: {other:?}"),
        };
        controller.handle(input).expect("was asked for");
    }
}

/// A controller that has visited each entity once and holds the claims that explain it.
///
/// `causes` gives the causes of an entity, `is_origin` who is labelled so.
pub(crate) fn visited_once(
    entities: usize,
    anomalies: Vec<Anomaly>,
    mut causes: impl FnMut(usize) -> Vec<usize>,
    is_origin: impl Fn(usize) -> bool,
) -> Controller {
    let mut case = Case::from_anomalies(Topology::default(), window(), anomalies);
    let seed = |number| Seed { entity: name(number), reason: String::new() };
    case.seeds = (0..entities).map(seed).collect();
    let config = Config { broadcast: false, decision_memory: false, ..Config::default() };
    let mut controller = Controller::new(unlimited(config), case);
    let mut number = 0;
    drive(&mut controller, entities as u64, |packet| {
        let label = if is_origin(number) { Label::Origin } else { Label::Symptom };
        let mut decision = Decision::new(label, "errors").citing(&packet.context.findings);
        for cause in causes(number) {
            decision = decision.claiming(claim(&name(cause), &packet.entity, &packet.context));
        }
        number += 1;
        decision
    });
    controller
}
