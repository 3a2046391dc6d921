//! What every form of a report must show.

use eog_core::{Config, EntityId, EvidenceKind, StopReason};
use eog_report::page::plain;
use eog_report::{Report, json, markdown, short, text};
use eog_testkit::{
    MemoryContext, alert, case, claim, finding, origin, policy_fn, run, seeded, symptom_of,
    topology,
};

/// Origins shown of those that reach no alert.
const MAX_UNLINKED: usize = 10;

#[test]
fn origins_that_reach_no_alert_say_why() {
    let names: Vec<String> = (10..22).map(|number| format!("db{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let contract = names.iter().fold(MemoryContext::default(), |contract, name| {
        contract.with(finding(name).change("pool", "50", "5").at("10:04"))
    });
    let policy = policy_fn(|packet| {
        let mut decision = origin(packet);
        decision.summary = format!("pool of {} cut {}END", packet.entity, "word ".repeat(40));
        decision
    });
    let case = seeded(topology(&names.join(";")), names);
    let report = Report::new("pools", run(Config::default(), case, &contract, &policy).diagnosis());
    let section = |page: &str, title: &str| -> Vec<String> {
        let below = page.lines().skip_while(|line| !line.contains(title)).skip(1);
        let below = below.skip_while(|line| line.is_empty());
        below.take_while(|line| !line.is_empty()).map(str::to_owned).collect()
    };
    for (page, title, more) in [
        (text(&report, None), "ORIGINS THAT REACH NO ALERT", "2 more origins"),
        (markdown(&report), "## Origins that reach no alert", "2 more origins"),
    ] {
        let lines = section(&page, title);
        assert_eq!(lines.len(), MAX_UNLINKED + 1, "{page}");
        assert!(lines[0].contains("db10: pool of db10 cut word"), "{page}");
        assert!(lines[0].ends_with('…'), "{page}");
        assert!(lines[10].contains(more), "{page}");
    }
}

#[test]
fn an_interrupted_run_says_so_beside_its_result() {
    let contract = MemoryContext::default();
    let policy = policy_fn(origin);
    let case = seeded(topology("db"), ["db"]);
    let mut report =
        Report::new("pools", run(Config::default(), case, &contract, &policy).diagnosis());
    assert!(markdown(&report).contains("- Result: **inconclusive**\n"));
    assert!(text(&report, None).contains("INCONCLUSIVE: "));
    report.stop = StopReason::Cancelled;
    assert!(markdown(&report).contains("- Result: **inconclusive**, interrupted\n"));
    assert!(text(&report, None).contains("INCONCLUSIVE, interrupted: "));
}

#[test]
fn an_outside_system_is_named_as_one() {
    let contract = MemoryContext::default()
        .with(finding("web").at("10:05").excerpt("503 from api.example.com"));
    let policy = policy_fn(|packet| {
        let claim = claim("api.example.com", "web", &packet.context.findings).from_outside();
        let mut decision = symptom_of(packet, "web");
        decision.claims = vec![claim];
        decision
    });
    let case = case(topology("web"), [alert("web", "Errors", "10:05")]);
    let run = run(Config::default(), case, &contract, &policy);
    let report = Report::new("checkout", run.diagnosis());
    let system = EntityId::new("api.example.com").unwrap();
    assert_eq!(report.diagnosis.choice(), [&system].into());
    assert!(report.diagnosis.outside.contains(&system));
    let whole = plain(&text(&report, None));
    assert!(whole.contains("ROOT CAUSE OUTSIDE OF THE TOPOLOGY (likely)"), "{whole}");
    assert!(whole.contains("503 from api.example.com"), "{whole}");
    assert!(whole.contains("its recovery should end Errors on web"), "{whole}");
    assert!(whole.contains("api.example.com is outside of the topology"), "{whole}");
    let page = plain(&short(&report, None));
    assert!(page.contains("ROOT CAUSE OUTSIDE OF THE TOPOLOGY (likely)"), "{page}");
    let page = markdown(&report);
    assert!(page.contains("## Root cause outside of the topology: "), "{page}");
    let result: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    assert_eq!(result["outside"], serde_json::json!(["api.example.com"]));
    assert_eq!(result["causal_claims"][0]["outside"], true);
    assert_eq!(result["beliefs"]["api.example.com"]["label"], "origin");
}

#[test]
fn half_a_minute_is_enough_for_the_short_form() {
    let report = Report::new("flash sale", crate::incidents::flash_sale());
    let page = plain(&short(&report, Some(100)));
    let (lines, whole) = (page.lines().count(), plain(&text(&report, Some(100))).lines().count());
    assert!(lines <= 30 && lines < whole, "{lines} of {whole} lines:\n{page}");
    assert!(page.lines().all(|line| line.chars().count() <= 100), "{page}");
    let change = "campaigns.spring-sale.active changed from false to true";
    assert_eq!(page.matches(change).count(), 1, "the change is shown once:\n{page}");
    for part in ["ROOT CAUSE (confirmed)", "⚠ HttpErrorRate", "ALSO CONSIDERED"] {
        assert!(page.contains(part), "{page}");
    }
    assert!(!page.contains("chg-"), "queries and ids are for the whole report: {page}");
}

#[test]
fn beside_a_cause_that_may_be_wrong_stand_the_next_suspects() {
    let contract = MemoryContext::default()
        .with(finding("db").at("10:04").excerpt("no space left"))
        .with(finding("api").at("10:05").excerpt("calls to db fail"))
        .with(finding("web").at("10:06").excerpt("5 % of requests fail"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "api"),
        "api" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    let topology = topology("web calls api; api calls db");
    let case = case(topology, [alert("web", "Errors", "10:05")]);
    let report =
        Report::new("likely", run(Config::default(), case, &contract, &policy).diagnosis());
    let next = |page: &str| {
        let below = page.lines().skip_while(|line| !line.to_lowercase().contains("next suspects"));
        let below = below.skip(1).skip_while(|line| line.is_empty()).take(2);
        below.map(|line| line.trim().to_owned()).collect::<Vec<_>>()
    };
    for page in [plain(&short(&report, None)), plain(&text(&report, None)), markdown(&report)] {
        let lines = next(&page);
        assert!(
            lines[0].starts_with("1. api (score ") && lines[1].starts_with("2. web (score "),
            "{page}"
        );
    }
    let result: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
    assert_eq!(result["next_suspects"], serde_json::json!(["api", "web"]));
}

#[test]
fn a_named_cause_predicts_what_its_repair_ends() {
    let reported = |contract: &MemoryContext| {
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "db"),
            _ => origin(packet),
        });
        let alerts = [alert("web", "Errors", "10:12"), alert("mail", "Slow", "10:05")];
        let case = case(topology("web calls db; mail"), alerts);
        Report::new("pools", run(Config::default(), case, contract, &policy).diagnosis())
    };
    let slow = finding("db").measured(90.0, 12.0, "ms").at("10:05").excerpt("latency");
    let web = finding("web").at("10:06").excerpt("5 % of requests fail");
    let failed = reported(&MemoryContext::default().with(slow.clone()).with(web.clone()));
    let changed = finding("db").change("pool", "50", "5").at("10:04");
    let changed = reported(&MemoryContext::default().with(changed).with(slow).with(web));
    for (report, sentence) in [
        (
            failed,
            "If db is the cause, restarting or repairing db should end Errors on web within 12 min; Slow on mail \
             should not change.",
        ),
        (
            changed,
            "If db is the cause, setting pool back to 50 should end Errors on web within 13 min; Slow on mail should \
             not change.",
        ),
    ] {
        for page in [plain(&short(&report, None)), plain(&text(&report, None)), markdown(&report)] {
            assert!(page.contains(sentence), "{page}");
        }
        let result: serde_json::Value = serde_json::from_str(&json(&report)).unwrap();
        let prediction = &result["predictions"][0];
        assert_eq!(prediction["returns"][0]["alert"], 0, "{prediction}");
        assert_eq!(prediction["returns"].as_array().unwrap().len(), 2, "{prediction}");
        assert_eq!(prediction["unaffected"], serde_json::json!([1]), "{prediction}");
    }
}

#[test]
fn without_a_cause_nothing_is_predicted() {
    let policy = policy_fn(eog_testkit::healthy);
    let case = case(topology("web"), [alert("web", "Errors", "10:05")]);
    let run = run(Config::default(), case, &MemoryContext::default(), &policy);
    let report = Report::new("quiet", run.diagnosis());
    for page in [short(&report, None), text(&report, None), markdown(&report), json(&report)] {
        assert!(
            !page.to_lowercase().contains("to be sure") && !page.contains("predictions"),
            "{page}"
        );
    }
}

/// The cause reaches the alert through three of which nothing was measured.
#[test]
fn those_that_only_pass_an_effect_on_are_folded() {
    let note = |name| finding(name).kind(EvidenceKind::Note).excerpt("it lies on the path");
    let contract = MemoryContext::default()
        .with(finding("db").change("pool", "50", "5").at("10:04"))
        .with_all(["edge", "api", "proxy"].map(note).to_vec())
        .with(finding("web").at("10:06").excerpt("5 % of requests fail"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "edge"),
        "edge" => symptom_of(packet, "api"),
        "api" => symptom_of(packet, "proxy"),
        "proxy" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    let topology = topology("web calls edge; edge calls api; api calls proxy; proxy calls db");
    let case = case(topology, [alert("web", "Errors", "10:05")]);
    let report = Report::new("pools", run(Config::default(), case, &contract, &policy).diagnosis());
    let page = plain(&short(&report, None));
    assert!(page.contains("  db\n  └─ web  ⚠ Errors\n"), "{page}");
    assert!(page.contains("via proxy > api > edge\n"), "{page}");
}

#[test]
fn the_tree_says_which_alerts_no_cause_explains() {
    let contract = MemoryContext::default()
        .with(finding("db").change("pool", "50", "5").at("10:04"))
        .with(finding("web").at("10:06").excerpt("5 % of requests fail"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    let anomalies = [alert("web", "Errors", "10:05"), alert("web", "Slow", "10:01")];
    let case = case(topology("web calls db"), anomalies);
    let mut diagnosis = run(Config::default(), case, &contract, &policy).diagnosis();
    diagnosis.conclusion.unexplained = vec![1];
    let report = Report::new("pools", diagnosis);
    for page in [short(&report, None), text(&report, None)] {
        let page = plain(&page);
        assert!(page.contains("└─ web  ⚠ Errors; not explained: Slow\n"), "{page}");
    }
}
