//! Names and texts that try to take over a terminal, a page or a drawing.

use eog_core::{Config, ContextPacket, Decision, Diagnosis};
use eog_report::clean::is_harmful;
use eog_report::page::plain;
use eog_report::{Report, agent_output, dot, entries, json, markdown, mermaid, text};
use eog_testkit::{
    MemoryContext, alert, case, claim, finding, origin, policy_fn, run, symptom_of, topology,
};

const HOSTILE: &str = "\u{1b}[2J\u{9b}31m\u{202e}x\u{feff}\u{2060}\u{e0041}\u{2066}\"]; -->|<script>alert(1)</script>\r\n# y `z` \\";

/// An incident in which everything but the names of entities is hostile.
fn incident() -> (Diagnosis, String) {
    let case = case(topology("web calls db"), [alert("web", HOSTILE, "10:05")]);
    let contract = MemoryContext::default()
        .with(finding("web").at("10:05").excerpt(&HOSTILE.repeat(20_000)))
        .with(finding("db").change(HOSTILE, HOSTILE, HOSTILE).at("10:04"));
    let policy = policy_fn(|packet: &ContextPacket| {
        let mut decision: Decision = match packet.entity.as_str() {
            "web" => symptom_of(packet, "db"),
            _ => origin(packet).claiming(claim("db", "web", &packet.context.findings)),
        };
        decision.summary = HOSTILE.repeat(100);
        for claim in &mut decision.claims {
            claim.condition = HOSTILE.repeat(50);
            claim.observed = HOSTILE.to_owned();
        }
        decision
    });
    let finished = run(Config::default(), case, &contract, &policy);
    (finished.diagnosis(), entries(finished.ledger(), Some(80)))
}

#[test]
fn no_form_lets_a_harmful_character_through() {
    let (diagnosis, entries) = incident();
    let report = Report::new(HOSTILE, diagnosis);
    let forms = [
        ("text", plain(&text(&report, None))),
        ("wrapped", plain(&text(&report, Some(60)))),
        ("entries", plain(&entries)),
        ("markdown", markdown(&report)),
        ("json", json(&report)),
        ("agent output", agent_output(&report)),
        ("dot", dot(&report)),
        ("mermaid", mermaid(&report)),
    ];
    for (form, shown) in &forms {
        let harmful: Vec<char> =
            shown.chars().filter(|c| is_harmful(*c) && *c != '\n').take(5).collect();
        assert_eq!(harmful, [], "{form}");
    }
}

#[test]
fn a_megabyte_of_evidence_is_cut_where_people_read_it() {
    let (diagnosis, entries) = incident();
    let report = Report::new(HOSTILE, diagnosis);
    for (form, shown) in [
        ("text", text(&report, None)),
        ("entries", entries),
        ("markdown", markdown(&report)),
        ("dot", dot(&report)),
        ("mermaid", mermaid(&report)),
    ] {
        assert!(shown.len() < 30_000, "{form}: {}", shown.len());
    }
}

#[test]
fn drawings_and_pages_keep_their_markup_to_themselves() {
    let (diagnosis, _) = incident();
    let report = Report::new(HOSTILE, diagnosis);
    let drawing = mermaid(&report);
    assert!(
        !drawing.contains('<') || drawing.replace("<br/>", "").find('<').is_none(),
        "{drawing}"
    );
    for line in drawing.lines().filter(|line| line.contains("script")) {
        assert_eq!(line.matches('"').count(), 2, "{line}");
    }
    for line in dot(&report).lines().filter(|line| line.contains("script")) {
        assert_eq!(
            line.replace("\\\\", "").replace("\\\"", "").matches('"').count() % 2,
            0,
            "{line}"
        );
    }
    assert!(!markdown(&report).replace("<br/>", "").contains('<'), "{}", markdown(&report));
}
