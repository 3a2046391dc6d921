//! A page of 1,000 entities and 5,000 entries is small enough to be attached, and takes little of the
//! time of the investigation. `EOG_PAGE_OUT=FILE` keeps it for the tests in a browser.

use std::time::Instant;

use eog_core::evidence::{EvidenceTime, FindingContent, Signal, Trend};
use eog_core::incident::EffectDirection;
use eog_core::machine::Inquiry;
use eog_core::{
    Anomaly, Case, Claim, Config, ContextPacket, Controller, Decision, EntityId, EvidenceKind,
    Finding, Input, Label, LocalContext, Output, Topology, Usage, Window,
};
use eog_page::Charts;
use eog_report::{Report, steps};

const ENTITIES: usize = 1_000;
const ENTRIES: usize = 5_000;

fn name(number: usize) -> EntityId {
    EntityId::new(format!("team-{}/service-{number:04}", number % 37)).expect("a name")
}

fn number(entity: &EntityId) -> usize {
    entity.as_str().rsplit('-').next().and_then(|it| it.parse().ok()).expect("a number")
}

fn case() -> Case {
    let mut topology = Topology::default();
    for caller in 0..ENTITIES {
        for step in [1, 7, 31] {
            let callee = name((caller + step) % ENTITIES);
            topology.connect(&name(caller), "calls", &callee, EffectDirection::TargetToSource);
        }
    }
    let window = Window::new(at("10:00:00"), at("12:00:00")).expect("a window");
    let alert = |place: usize| Anomaly {
        name: "Errors".to_owned(),
        entity: name(place),
        signal: Signal::Errors,
        onset: at("11:00:00"),
        renewed: Vec::new(),
        last_seen: None,
        severity: "critical".to_owned(),
        description: String::new(),
    };
    let alerts = (0..ENTITIES).step_by(50).map(alert).collect();
    Case::from_anomalies(topology, window, alerts)
}

fn at(clock: &str) -> eog_core::Timestamp {
    format!("2026-01-01T{clock}Z").parse().expect("a time")
}

fn context(entity: &EntityId, visit: u32) -> LocalContext {
    let findings = (0..3).map(|place| {
        Finding::new(FindingContent {
            entity: entity.clone(),
            kind: EvidenceKind::Metric,
            signal: Signal::Errors,
            trend: Trend::Rising,
            time: EvidenceTime::At(at("10:30:00")),
            quantity: None,
            change: None,
            peer: None,
            source: "metrics.csv".to_owned(),
            query: format!("entity={entity} metric=errors_{place}"),
            excerpt: format!(
                "errors {place} rise at {entity}, as seen at evaluation {}",
                visit.min(2)
            ),
            onset: None,
        })
    });
    LocalContext { findings: findings.collect(), ..LocalContext::default() }
}

/// Claims another neighbour as the cause at each evaluation, so that all are notified and asked
/// again.
fn decide(packet: &ContextPacket) -> Decision {
    let findings = &packet.context.findings;
    let own = number(&packet.entity);
    let turn =
        packet.inbox.len() + packet.inbox.iter().map(|it| it.belief.claims.len()).sum::<usize>();
    let cause = name((own + [1, 7, 31][turn % 3]) % ENTITIES);
    let claim = Claim {
        evidence: findings.iter().map(|finding| finding.id().clone()).collect(),
        ..Claim::new(&cause, &packet.entity, "its calls fail", "errors rise")
    };
    let label = if own % 100 == 31 { Label::Origin } else { Label::Symptom };
    Decision::new(label, format!("{cause} fails more than {}", packet.entity))
        .citing(findings)
        .claiming(claim)
}

#[test]
fn a_thousand_entities_fit_into_five_megabytes() {
    let began = Instant::now();
    let config = Config { policy: Some("turning".to_owned()), ..Config::paper() };
    let mut controller = Controller::new(config, case());
    while controller.ledger().entries().len() < ENTRIES {
        let input = match controller.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                Input::context(ticket, context(&request.entity, request.visit))
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                Input::decision(ticket, decide(&packet), Usage::default())
            }
            Output::Idle | Output::Done(_) => break,
        };
        controller.handle(input).expect("it is taken");
    }
    let entries = controller.ledger().entries().len();
    let report = Report::new("a thousand services", controller.diagnosis());
    let investigated = began.elapsed();
    let steps = steps(controller.ledger());
    let built = Instant::now();
    let page = eog_page::html(&report, &steps, &Charts::NoSource);
    let built = built.elapsed();
    // No time is asserted: machines differ. `--nocapture` shows it.
    println!("{entries} entries in {investigated:?}; page of {} bytes in {built:?}", page.len());
    assert_eq!(entries, ENTRIES);
    assert!(page.len() <= 5_000_000, "{} bytes", page.len());
    if let Some(file) = std::env::var_os("EOG_PAGE_OUT") {
        std::fs::write(file, page).expect("the page is kept");
    }
}
