//! `eog tool` as a person or a script calls it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::Stdio;

use serde_json::{Value, json};

use crate::common::{FLASH_SALE, Run, command, in_shell, read, run, start};

/// A snapshot with two events, of which one message means harm to a terminal.
fn snapshot() -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let event = |name: &str, reason: &str, message: &str| {
        let body = json!({"object": {"apiVersion": "v1", "metadata": {"uid": name},
            "involvedObject": {"kind": "Pod", "name": name, "namespace": "shop"},
            "reason": reason, "type": "Warning", "message": message, "count": 2,
            "lastTimestamp": "2026-01-01T10:00:00Z"}});
        format!("2026-01-01 10:00:00\t\"{}\"\n", body.to_string().replace('"', "\"\""))
    };
    let table = [
        "Timestamp\tBody\n".to_owned(),
        event("web-1", "Unhealthy", "x\u{1b}[2J\u{202e}y"),
        event("cart-1", "Killing", "z"),
    ];
    fs::write(folder.path().join("k8s_events_raw.tsv"), table.concat()).unwrap();
    fs::write(folder.path().join("ground_truth.yaml"), "fault: []").unwrap();
    folder
}

fn tool(snapshot: impl AsRef<Path>, name: &str, flags: &[&str]) -> Run {
    run!("tool", name, snapshot.as_ref(), flags)
}

#[test]
fn each_help_begins_with_what_the_tool_is_for_and_without_a_name_they_are_listed() {
    let list = run!("tool").exits(0).out;
    for tool in eog_sre::tools::tools() {
        let help = run!("tool", tool.name, "--help").out;
        assert!(help.starts_with(tool.summary), "{}: {help}", tool.name);
        let line = list.lines().find(|line| line.split(' ').next() == Some(tool.name));
        assert!(line.unwrap_or_else(|| panic!("{list}")).contains(tool.summary));
    }
}

#[test]
fn the_answer_is_json_in_the_documented_order() {
    let folder = snapshot();
    let flags = ["--filter", "reason=Killing,Unhealthy", "--group-by", "name", "--sort", "name"];
    let answer = run!("tool", "event_analysis", folder, flags, "--limit", "1").exits(0);
    let expected = "{\n  \"rows\": [\n    {\n      \"name\": \"cart-1\",\n      \"count\": 1\n    }\n  ],\n  \
        \"total\": 2,\n  \"offset\": 0,\n  \"limit\": 1,\n  \
        \"left_out\": \"1 more row; continue with offset 1\"\n}\n";
    assert_eq!(answer.out, expected);
    answer.says(&["eog: note: the snapshot has no alerts"]);
    assert_eq!(tool(&folder, "event_analysis", &["-q"]).err, "");
}

#[test]
fn arguments_come_as_json_a_file_or_standard_input_and_flags_go_before_them() {
    let folder = snapshot();
    let arguments = r#"{"limit": 1, "columns": "name", "sort": "name"}"#;
    let file = folder.path().join("arguments.json");
    fs::write(&file, arguments).unwrap();
    let names = |run: &Run| -> Vec<Value> {
        run.json()["rows"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect()
    };
    let given = tool(&folder, "event_analysis", &["--json", arguments]);
    assert_eq!(names(&given), ["cart-1"]);
    let at = format!("@{}", file.display());
    let read = tool(&folder, "event_analysis", &["--json", &at, "--limit", "2"]);
    assert_eq!(names(&read), ["cart-1", "web-1"]);
    let flags = ["--json", "@-", "--sort=-name"];
    let mut child = start(command!("tool", "event_analysis", flags, folder).stdin(Stdio::piped()));
    child.stdin.take().unwrap().write_all(arguments.as_bytes()).unwrap();
    assert_eq!(names(&child.wait_with_output().unwrap().into()), ["web-1"]);
}

#[test]
fn a_table_shows_no_escape_sequence() {
    let table = tool(snapshot(), "event_analysis", &["--format", "table"]);
    let table = table.prints(&["shop/Pod/web-1"]).out;
    assert!(table.starts_with("2 rows\ntime "), "{table}");
    assert!(!table.contains(['\u{1b}', '\u{202e}']), "{table:?}");
}

#[test]
fn wrong_calls_say_what_would_be_right_and_how_it_ended() {
    let folder = snapshot();
    for (name, flags, expected) in [
        ("event_analysis", &["--filter", "resaon=a"][..], "did you mean reason?"),
        ("event_analysis", &["--entity", "wbe-1"], "did you mean shop/Pod/web-1"),
        ("event_analysis", &["--json", "[]"], "expected an object"),
        ("event_analysis", &["--json", "@/nowhere"], "--json: there is no file /nowhere"),
        ("event_analysis", &["--json", r#"{"filter": {}}"#], "did you mean filters?"),
        ("event_analysis", &["--limit", "many"], "invalid value 'many'"),
        ("event_analisys", &[], "event_analysis"),
    ] {
        let refused = tool(&folder, name, flags).exits(2).says(&[expected]);
        assert_eq!(refused.out, "");
    }
    let refused = tool("/nowhere", "event_analysis", &[]).exits(4);
    assert!(refused.err.starts_with("eog: /nowhere: there is no such folder; name"), "{refused:?}");
}

#[test]
fn a_limit_beyond_the_largest_is_said() {
    let folder = snapshot();
    let said = "eog: note: limit 2000 is too large; 1000 is used\n";
    tool(&folder, "event_analysis", &["--limit", "2000"]).exits(0).says(&[said]);
    for flags in [&["--limit", "1000"][..], &["--limit", "2000", "--quiet"]] {
        let answer = tool(&folder, "event_analysis", flags);
        assert!(!answer.err.contains("is too large"), "{answer:?}");
    }
}

#[test]
fn what_rows_are_grouped_by_is_shown_even_without_values() {
    let flags = ["--group-by", "component", "--format", "table"];
    let table = tool(snapshot(), "event_analysis", &flags);
    let header = table.out.lines().find(|line| line.contains("count")).unwrap_or_default();
    assert!(header.contains("component"), "{table:?}");
}

#[test]
fn bundles_are_asked_what_they_record() {
    let rows = |name: &str, flags: &[&str]| tool(FLASH_SALE, name, flags).exits(0).json();
    let killed = rows("event_analysis", &["--group-by", "entity,reason"]);
    assert_eq!(
        killed["rows"],
        json!([{"entity": "database", "reason": "OutOfMemory", "count": 2}])
    );
    let sale = rows("k8s_spec_change_analysis", &["--filter", "signal=demand"]);
    assert_eq!(sale["rows"][0]["path"], "campaigns.spring-sale.active", "{sale}");
    assert_eq!(rows("alert_summary", &[])["rows"][0]["alert"], "HttpErrorRate");
    let sent = rows("metric_analysis", &["--metrics", "requests", "--entity", "database"]);
    assert_eq!(sent["rows"][0]["peer"], "processor", "{sent}");
    assert_eq!(sent["total"], 1);
    let lines = rows("log_analysis", &["--severity", "error"]);
    assert_eq!(lines["lines"], 12, "{lines}");
    let around = rows("topology_analysis", &["--entity", "gateway", "--mode", "callers"]);
    assert_eq!(around["callers"]["rows"][0]["entity"], "frontend", "{around}");
    assert_eq!(rows("build_topology", &["--counts-only"])["relations"][0]["name"], "calls");
    let shifted = rows("get_metric_anomalies", &["--sort", "onset"]);
    let onsets = shifted["rows"].as_array().unwrap();
    assert!(onsets.iter().any(|row| row["metric"] == "error_ratio"), "{shifted}");

    let derived = rows("metric_analysis", &["--derive", "a = 2 * requests"]);
    let single = rows("metric_analysis", &["--metrics", "requests", "--aggregates", "mean"]);
    let value = |rows: &Value, name: &str| rows["rows"][0][name].as_f64().unwrap();
    let (twice, once) = (value(&derived, "a"), value(&single, "mean"));
    assert!((twice - 2.0 * once).abs() < 0.01, "{derived} {single}");

    let context = rows("get_context_contract", &["--entity", "database"]);
    let findings = context["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["content"]["entity"] == "database"));
    assert!(!findings.is_empty());

    for (name, flags, said) in [
        ("get_trace_error_tree", &[][..], "goes with a snapshot, and this is a bundle"),
        ("event_analysis", &["--filter", "reson=x"], "did you mean reason?"),
        (
            "get_context_contract",
            &["--entity", "databse"],
            "there is no entity \"databse\"; did you mean database?",
        ),
        ("get_context_contract", &[], "entity: is missing"),
        (
            "get_context_contract",
            &["--entity", "database", "--page", "0"],
            "page: is not a number from 1 on",
        ),
        (
            "get_context_contract",
            &["--entity", "database", "--max-tokens", "9"],
            "max_tokens goes with a snapshot",
        ),
    ] {
        tool(FLASH_SALE, name, flags).exits(2).says(&[said]);
    }
}

#[test]
fn servers_have_no_tables_and_are_not_started_to_say_so() {
    let folder = tempfile::tempdir().unwrap();
    let started = folder.path().join("started");
    let source = folder.path().join("source.toml");
    let config = format!(
        "name = 'x'\n[servers.it]\ncommand = 'touch'\nargs = ['{}']\n\
         [context]\nserver = 'it'\ntool = 'get_context'\n",
        started.display()
    );
    fs::write(&source, config).unwrap();
    let said = "source.toml: this source gives the evidence on entities alone";
    tool(&source, "event_analysis", &[]).exits(4).says(&[said]);
    assert!(!started.exists());
    // Others do start it.
    let answer = tool(&source, "evidence", &["met-00000000000000000000"]);
    assert_ne!(answer.code, Some(0));
    assert!(started.exists(), "{answer:?}");
}

#[test]
fn every_command_that_a_report_or_an_explanation_prints_shows_its_evidence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| Run::of(command!(arguments).current_dir(&root));
    let folder = out.path().to_str().unwrap();
    let bundle = "examples/flash-sale";
    let mut said = run(&["investigate", bundle, "--verbose", "--out", folder]).exits(0).out;
    let window = "2026-03-20T11:40:00Z/2026-03-20T12:30:00Z";
    said += &run(&["investigate", bundle, "--verbose", "--window", window]).exits(0).out;
    for entity in ["frontend", "gateway", "processor", "database"] {
        said += &run(&["explain", folder, entity, bundle]).exits(0).out;
    }
    let commands: std::collections::BTreeSet<&str> =
        said.lines().map(str::trim).filter(|line| line.starts_with("eog tool ")).collect();
    assert!(commands.len() > 10, "{said}");
    assert!(commands.iter().any(|line| line.contains("--window 2026-03-20T11:40:00Z/")), "{said}");
    for command in commands {
        let id = command.split(' ').nth(4).unwrap();
        let shown = in_shell(command, &root).exits(0).json();
        assert_eq!(shown["finding"]["id"], id, "{command}");
        let other = if command.contains("--entity mailer") { "catalog" } else { "mailer" };
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let place = words.iter().position(|word| *word == "--entity").unwrap() + 1;
        let about = words[place];
        let asked = [&words[..place], &[other], &words[place + 1..]].concat();
        run(&asked).exits(2).says(&[&format!("is about {about}, not about {other}")]);
        if id.starts_with("met-") {
            let points = shown["measured"]["points"].as_array().unwrap();
            assert!(points.len() > 10, "{command}: {shown}");
        }
    }
    // The same stands in the tables of the report.
    let report = read(out.path().join("report.md"));
    assert!(report.contains("eog tool evidence examples/flash-sale chg-"), "{report}");
}

#[test]
fn evidence_that_is_not_there_is_named() {
    let id = "met-00000000000000000000";
    for (words, reason) in [
        (&["x"][..], "is not usable: it is not a kind"),
        (&[id], "the files may have changed"),
        (&[id, "--entity", "fronted"], "did you mean frontend?"),
    ] {
        run!("tool", "evidence", FLASH_SALE, words).exits(2).says(&[reason]);
    }
}
