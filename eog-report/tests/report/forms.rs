//! What every form of a report must show.

use eog_core::{Config, StopReason};
use eog_report::{Report, markdown, text};
use eog_testkit::{MemoryContext, finding, origin, policy_fn, run, seeded, topology};

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
        (markdown(&report), "## Origins that reach no alert", "- and 2 more"),
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
