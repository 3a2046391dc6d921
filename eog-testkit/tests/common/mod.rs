//! The flash sale of the paper's §4.4: an out-of-memory database appears to be the origin until the
//! messages of its callers show where the load came from.

use eog::evidence::{PeerRole, Signal};
use eog::{Case, ContextPacket, Decision, EvidenceKind, Finding, Label};
use eog_testkit::{
    FindingBuilder, MemoryContext, TablePolicy, alert, case, claim, finding, on, origin,
    symptom_of, topology,
};

/// The declared topology misses that S2 calls S3.
pub(crate) fn flash_sale() -> Case {
    case(topology("S1 calls S2; S3 calls S4"), [alert("S2", "HttpErrors", "10:05")])
}

pub(crate) fn evidence() -> MemoryContext {
    MemoryContext::default()
        .with(finding("S1").change("sale", "off", "on").signal(Signal::Demand).at("09:59"))
        .with(errors("S2", "S3"))
        .with(traffic("S2", "S1", 1.2))
        .with(errors("S3", "S4"))
        .with(traffic("S3", "S2", 1.25))
        .with(finding("S4").signal(Signal::Exhaustion).at("10:04").excerpt("out of memory"))
        .from_visit(2, traffic("S4", "S3", 1.3))
}

pub(crate) fn policy() -> TablePolicy {
    TablePolicy::new([
        on("S1").answers(origin),
        on("S2").hears_claim("S2", "S3").answers(|packet| explained(packet, "S1")),
        on("S2").answers(|packet| suffers(packet, "S3")),
        on("S3")
            .when("S4 has said something", |packet| {
                packet.inbox.iter().any(|message| message.sender.as_str() == "S4")
            })
            .answers(|packet| {
                let load = of_signal(packet, Signal::Traffic);
                explained(packet, "S2").claiming(claim("S3", "S4", load))
            }),
        on("S3").answers(|packet| suffers(packet, "S4")),
        on("S4").hears_claim("S3", "S4").answers(|packet| symptom_of(packet, "S3")),
        on("S4").signal(Signal::Exhaustion).answers(origin),
    ])
}

fn errors(name: &str, callee: &str) -> FindingBuilder {
    finding(name).kind(EvidenceKind::Span).signal(Signal::Errors).peer(callee, PeerRole::Callee)
}

fn traffic(name: &str, caller: &str, factor: f64) -> FindingBuilder {
    finding(name)
        .signal(Signal::Traffic)
        .measured(factor * 100.0, 100.0, "1/s")
        .peer(caller, PeerRole::Caller)
}

/// Its calls to `callee` fail.
fn suffers(packet: &ContextPacket, callee: &str) -> Decision {
    let errors = of_signal(packet, Signal::Errors);
    Decision::new(Label::Symptom, format!("calls to {callee} fail")).claiming(claim(
        callee,
        packet.entity.as_str(),
        errors,
    ))
}

/// Its load came from `caller`.
fn explained(packet: &ContextPacket, caller: &str) -> Decision {
    let load = of_signal(packet, Signal::Traffic);
    Decision::new(Label::Symptom, format!("more load from {caller}")).claiming(claim(
        caller,
        packet.entity.as_str(),
        load,
    ))
}

fn of_signal(packet: &ContextPacket, signal: Signal) -> impl Iterator<Item = &Finding> {
    packet.context.findings.iter().filter(move |finding| finding.signal == signal)
}
