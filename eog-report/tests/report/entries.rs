//! The entries of ledgers in words, whichever machine wrote them.

use eog_core::ledger::{ForkChanges, fork};
use eog_core::machine::Inquiry;
use eog_core::{
    Budget, Config, Controller, Decision, Input, Label, Ledger, Linear, LinearConfig, LocalContext,
    Machine, Output, Usage,
};
use eog_report::page::plain;
use eog_report::{Report, entries, markdown, text};
use eog_testkit::{
    MemoryContext, alert, case, finding, healthy, origin, policy_fn, run, seeded, symptom_of,
    topology,
};

/// A web service whose database was changed.
fn ended<M: Machine<Question = Inquiry>>(mut machine: M) -> M {
    loop {
        let input = match machine.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                let change = finding(request.entity.as_str()).change("pool", "50", "5").at("10:04");
                let findings = vec![change.build()];
                Input::context(ticket, LocalContext { findings, ..LocalContext::default() })
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                let decision: Decision = match packet.entity.as_str() {
                    "web" => symptom_of(&packet, "db"),
                    _ => origin(&packet),
                };
                Input::decision(ticket, decision, Usage::default())
            }
            Output::Idle | Output::Done(_) => return machine,
        };
        machine.handle(input).unwrap();
    }
}

fn incident() -> eog_core::Case {
    case(topology("web calls db"), [alert("web", "Errors", "10:05")])
}

fn listed<B: eog_report::Described>(ledger: &Ledger<B>) -> Vec<String> {
    plain(&entries(ledger, None)).lines().map(str::to_owned).collect()
}

#[test]
fn a_page_that_is_asked_for_is_listed() {
    let contract = MemoryContext::default()
        .with(finding("web").at("10:04"))
        .on_page(2, finding("web").at("10:05"));
    let policy = policy_fn(|packet| Decision {
        next_page: packet.context.pages_left > 0,
        ..healthy(packet)
    });
    let case = seeded(topology("web calls db"), ["web"]);
    let lines = listed(run(Config::default(), case, &contract, &policy).ledger());
    assert_eq!(lines[1], "1  web (seed, visit 1) requests the next page of its evidence");
    let next = "2  web healthy (for the page requested in entry 1, visit 1): first belief";
    assert_eq!(lines[2], next);
}

#[test]
fn the_entries_of_both_machines_are_listed() {
    let of_controller = listed(ended(Controller::new(Config::default(), incident())).ledger());
    assert_eq!(
        of_controller,
        [
            "0  opened: 2 entities, 1 alert; starts at web",
            "1  web symptom (seed, visit 1): first belief; queued: db",
            "2  db origin (claimed as a cause in entry 1, visit 1): first belief; queued: web",
            "3  web symptom (unread message of a named cause, after entry 2, visit 2): unchanged; queued: db",
            "4  db origin (re-evaluation of a named cause, after entry 3, visit 2): unchanged",
        ]
    );
    let config = LinearConfig { commits: false, memory: Some(1), ..LinearConfig::default() };
    let config = LinearConfig { budget: Budget::hops(2), ..config };
    let of_linear = listed(ended(Linear::open(config, incident())).ledger());
    assert_eq!(
        of_linear,
        [
            "0  opened: 2 entities, 1 alert; starts at web",
            "1  web symptom",
            "2  db origin; forgets web",
        ]
    );
}

#[test]
fn the_reports_of_both_machines_name_the_cause() {
    for diagnosis in [
        ended(Controller::new(Config::default(), incident())).diagnosis(),
        ended(Linear::open(LinearConfig::default(), incident())).diagnosis(),
    ] {
        assert_eq!(diagnosis.belief(&eog_testkit::entity("db")).unwrap().label, Label::Origin);
        let report = Report::new("pools", diagnosis);
        assert!(plain(&text(&report, None)).contains("ROOT CAUSE (likely)\n  db\n"));
        assert!(markdown(&report).contains("## Root cause: db (likely)"));
    }
}

#[test]
fn a_fork_names_a_judge_only_where_one_is_named() {
    let settings = Config { policy: Some("evidence".to_owned()), ..Config::default() };
    let parent = ended(Controller::new(settings.clone(), incident()));
    let last_line = |changes: ForkChanges| {
        let forked: Controller = fork(parent.ledger(), 1, changes).unwrap();
        listed(forked.ledger()).pop().unwrap()
    };
    let silent = Config { broadcast: false, ..settings };
    let alone = ForkChanges { config: Some(silent.clone()), ..ForkChanges::default() };
    assert_eq!(last_line(alone), "2  forked at entry 1: messages from on to off");
    let other = Config { policy: Some("llm".to_owned()), ..silent };
    let other = ForkChanges { config: Some(other), ..ForkChanges::default() };
    let words = "policy set to llm; messages from on to off";
    assert_eq!(last_line(other), format!("2  forked at entry 1: {words}"));
    // A program of the same name may be another by now.
    let named = ForkChanges { policy: Some("evidence".to_owned()), ..ForkChanges::default() };
    assert_eq!(last_line(named), "2  forked at entry 1: policy set to evidence");
}
