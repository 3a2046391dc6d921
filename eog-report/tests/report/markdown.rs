//! The report as Markdown, and what a model or telemetry tries to make of it.

use eog_core::{Config, EntityId};
use eog_report::{Author, Deviation, Moment, NarratedEntity, Refused, Report, markdown};
use eog_testkit::{
    MemoryContext, alert, case, finding, origin, policy_fn, run, symptom_of, topology,
};

const HOSTILE: &str = "\u{1b}[2J<img src=x>\n# Fake\n| a | b |\n- [go](javascript:x) `c` \u{202e}";

/// A diagnosed incident.
fn report() -> Report {
    let case = case(topology("web calls db"), [alert("web", "Errors", "10:05")]);
    let contract = MemoryContext::default()
        .with(finding("web").at("10:05").excerpt("failing"))
        .with(finding("db").change("pool", "50", "5").at("10:04"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    Report::new("pools", run(Config::default(), case, &contract, &policy).diagnosis())
}

#[test]
fn the_questions_are_answered_below_the_cause() {
    let text = markdown(&report());
    let cause = text.split_once("\n## Root cause: db (likely)\n").unwrap().1;
    let what = "- What changed: pool changed from 50 to 5\n- When: 2026-01-01 10:04:00Z\n";
    assert!(cause.contains(what), "{text}");
    assert!(cause.contains("- How it explains the rest: it affects web (because "), "{text}");
    assert!(text.contains("| 2026-01-01 10:05:00Z | web | alert Errors |  |  |"), "{text}");
}

#[test]
fn what_a_model_wrote_cannot_break_out() {
    let mut report = report();
    let plain = markdown(&report);
    let db = EntityId::new("db").unwrap();
    let named = EntityId::new("<b>|`x`").unwrap();
    let narrative = &mut report.narrative;
    narrative.author = Author::Model { name: HOSTILE.to_owned() };
    narrative.summary = HOSTILE.to_owned();
    for entity in &mut narrative.entities {
        entity.reasoning = HOSTILE.to_owned();
        entity.what_changed = Some(HOSTILE.to_owned());
        entity.how_it_explains = Some(HOSTILE.to_owned());
    }
    narrative.entities.push(NarratedEntity {
        name: named.clone(),
        contributing_factor: true,
        ..narrative.entities[0].clone()
    });
    narrative.timeline.push(Moment {
        entity: named,
        what: HOSTILE.to_owned(),
        query: HOSTILE.to_owned(),
        ..narrative.timeline[0].clone()
    });
    let (what, reason) = (HOSTILE.to_owned(), HOSTILE.to_owned());
    narrative.refused.push(Refused { what, reason });
    let (entity, reason) = (db, HOSTILE.to_owned());
    narrative.deviations.push(Deviation { entity, contributing_factor: false, reason });
    narrative.left_out.push(HOSTILE.to_owned());
    let text = markdown(&report);
    assert!(!text.contains('\u{1b}') && !text.contains('\u{202e}'), "{text}");
    let quoted = text.lines().filter(|line| line.contains("Fake"));
    // The name of the model is a part of a heading.
    for line in quoted.filter(|line| !line.starts_with("## Summary by ")) {
        // Between backquotes nothing is markup but a backquote.
        let (line, code) = line.split_once("| `").unwrap_or((line, "` |"));
        assert_eq!(code.find('`'), code.len().checked_sub(3), "{code}");
        let markup = line.replace("\\#", "").replace("\\[", "").replace("&lt;", "");
        assert!(!markup.contains('<') && !markup.contains('['), "{line}");
        assert!(!line.starts_with('#') && line.contains("Fake"), "{line}");
    }
    let headings = |text: &str| -> Vec<String> {
        text.lines().filter(|line| line.starts_with('#')).map(str::to_owned).collect()
    };
    let new: Vec<String> =
        headings(&text).into_iter().filter(|line| !headings(&plain).contains(line)).collect();
    assert_eq!(
        new,
        [
            "## Summary by \\[2J&lt;img src=x&gt; \\# Fake \\| a \\| b \\| - \\[go\\](javascript:x) \\`c\\`",
            "## Named by the model, not an origin of the frontier: &lt;b&gt;\\|\\`x\\`",
            "## Where this differs from the frontier",
            "## Rejected statements of the model",
            "## Left out",
        ]
    );
    let timeline = text.split_once("\n## Timeline\n\n").unwrap().1;
    for row in timeline.lines().take_while(|line| !line.is_empty()) {
        assert_eq!(row.replace("\\|", "").matches('|').count(), 6, "{row}");
    }
}

#[test]
fn a_failed_model_is_said() {
    let mut report = report();
    let failure = "mock/a: is <down>".to_owned();
    report.narrative.author = Author::RulesAfterFailure { failure };
    let part = "\n## No summary by a model\n\nmock/a: is &lt;down&gt;\n";
    assert!(markdown(&report).contains(part));
}
