//! Investigations to report on. The tests of reports with a model use these, too.

use std::path::Path;

use eog_core::{Config, Decision, Diagnosis, Label};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_testkit::{
    FindingBuilder, MemoryContext, alert, case, claim, finding, origin, policy_fn, run, symptom_of,
    topology,
};

/// The shipped example: a sale on the frontend overloads a database.
pub(crate) fn flash_sale() -> Diagnosis {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let bundle = Bundle::read(&folder).unwrap();
    let case = open_case(&bundle.incident(), None).unwrap();
    let contract = BundleContext::new(bundle);
    let finished = run(Config::default(), case, &contract, &EvidencePolicy::default());
    finished.diagnosis()
}

/// A frontend fails, its database was changed, and no policy calls that an origin. An idle cache
/// was changed, too.
pub(crate) fn undiagnosed() -> Diagnosis {
    let case = case(topology("web calls db; web calls cache"), [alert("web", "Errors", "10:05")]);
    let contract = MemoryContext::default()
        .with(finding("web").at("10:05").excerpt("5 % of requests fail"))
        .with(finding("db").change("pool.size", "50", "5").at("10:04"))
        .with(finding("cache").change("ttl", "60", "30").at("10:20"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => {
            let cited = packet.context.findings.iter();
            Decision::new(Label::Defer, "changed, but it is not understood").citing(cited)
        }
    });
    let finished = run(Config::default(), case, &contract, &policy);
    let diagnosis = finished.diagnosis();
    assert!(!diagnosis.is_diagnosed());
    diagnosis
}

/// A database that calls itself an origin without having seen a change.
pub(crate) fn unexplained_origin(evidence: &[FindingBuilder]) -> Diagnosis {
    let case = case(topology("web calls db"), [alert("web", "Errors", "10:05")]);
    let web = finding("web").at("10:05").excerpt("5 % of requests fail");
    let contract = MemoryContext::default().with(web).with_all(evidence.to_vec());
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet).claiming(claim("db", "web", &packet.context.findings)),
    });
    run(Config::default(), case, &contract, &policy).diagnosis()
}
