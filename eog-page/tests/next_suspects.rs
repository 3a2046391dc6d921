//! Beside a cause that may be wrong, the page names the entities to check next.

use eog_core::evidence::Signal;
use eog_core::incident::ChangeRecord;
use eog_core::{Confidence, Config};
use eog_page::Charts;
use eog_report::Report;
use eog_testkit::{
    FindingBuilder, MemoryContext, alert, case, finding, hour, origin, policy_fn, run, symptom_of,
    topology,
};

const HEADING: &str = "<h3>Next suspects</h3>";

/// The page on `web`, which suffers from `api`, which suffers from `db`, which failed, perhaps after a change.
fn page(change: Option<FindingBuilder>, confidence: Confidence) -> String {
    let failing = |name: &str, since: &str| {
        finding(name).signal(Signal::Errors).measured(5.0, 0.0, "%").at(since).began(since, since)
    };
    let mut contract = MemoryContext::default()
        .with(failing("db", "10:04"))
        .with(failing("api", "10:05"))
        .with(failing("web", "10:06"));
    if let Some(change) = change {
        contract = contract.with(change);
    }
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "api"),
        "api" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    let case = case(topology("web calls api; api calls db"), [alert("web", "Errors", "10:07")]);
    let case = case.with_record(ChangeRecord { span: hour(), changes: Vec::new() });
    let report = Report::new("db", run(Config::default(), case, &contract, &policy).diagnosis());
    let conclusion = &report.diagnosis.conclusion;
    assert_eq!(conclusion.confidence, confidence, "{conclusion:#?}");
    eog_page::html(&report, &[], &Charts::NoSource)
}

#[test]
fn beside_a_cause_that_may_be_wrong_stand_the_next_suspects() {
    let page = page(None, Confidence::Likely);
    let list = page.split(HEADING).nth(1).and_then(|below| below.split("</ol>").next());
    let items: Vec<&str> = list.unwrap_or_default().split("<li>").skip(1).collect();
    assert!(
        matches!(items[..], [api, web] if api.starts_with("api (score ") && web.starts_with("web (score ")),
        "{items:?}"
    );
}

#[test]
fn beside_a_confirmed_cause_stands_no_other() {
    let change = finding("db").change("pool", "50", "5").at("10:03");
    let page = page(Some(change), Confidence::Confirmed);
    assert!(!page.contains(HEADING));
    assert!(page.contains("<h3>To be sure</h3>"), "{page}");
    let sure = "<ul><li>If db is the cause, setting pool back to 50 should end";
    assert!(page.contains(sure), "{page}");
}
