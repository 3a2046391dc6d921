//! `eog tool` as a person or a script calls it.

use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use serde_json::{Value, json};

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

fn eog() -> Command {
    Command::new(env!("CARGO_BIN_EXE_eog"))
}

fn tool(snapshot: &Path, name: &str, flags: &[&str]) -> Output {
    eog().args(["tool", name]).arg(snapshot).args(flags).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn each_help_begins_with_what_the_tool_is_for() {
    for tool in eog_sre::tools::tools() {
        let help = eog().args(["tool", tool.name, "--help"]).output().unwrap();
        let help = text(&help.stdout);
        assert!(help.starts_with(tool.summary), "{}: {help}", tool.name);
    }
}

#[test]
fn without_a_name_the_tools_are_listed() {
    let output = eog().arg("tool").output().unwrap();
    let list = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0));
    for tool in eog_sre::tools::tools() {
        let line = list.lines().find(|line| line.split(' ').next() == Some(tool.name));
        assert!(line.unwrap_or_else(|| panic!("{list}")).contains(tool.summary));
    }
}

#[test]
fn the_answer_is_json_in_the_documented_order() {
    let folder = snapshot();
    let flags = ["--filter", "reason=Killing,Unhealthy", "--group-by", "name", "--sort", "name"];
    let output = tool(folder.path(), "event_analysis", &[&flags[..], &["--limit", "1"]].concat());
    assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
    let expected = "{\n  \"rows\": [\n    {\n      \"name\": \"cart-1\",\n      \"count\": 1\n    }\n  ],\n  \
        \"total\": 2,\n  \"offset\": 0,\n  \"limit\": 1,\n  \
        \"left_out\": \"1 more row; continue with offset 1\"\n}\n";
    assert_eq!(text(&output.stdout), expected);
    assert!(text(&output.stderr).contains("eog: note: the snapshot has no alerts"));
    let quiet = tool(folder.path(), "event_analysis", &["-q"]);
    assert_eq!(text(&quiet.stderr), "");
}

#[test]
fn arguments_come_as_json_a_file_or_standard_input_and_flags_go_before_them() {
    let folder = snapshot();
    let arguments = r#"{"limit": 1, "columns": "name", "sort": "name"}"#;
    let file = folder.path().join("arguments.json");
    fs::write(&file, arguments).unwrap();
    let names = |output: &Output| -> Vec<Value> {
        let page: Value = serde_json::from_slice(&output.stdout).unwrap();
        page["rows"].as_array().unwrap().iter().map(|row| row["name"].clone()).collect()
    };
    let given = tool(folder.path(), "event_analysis", &["--json", arguments]);
    assert_eq!(names(&given), ["cart-1"]);
    let at = format!("@{}", file.display());
    let read = tool(folder.path(), "event_analysis", &["--json", &at, "--limit", "2"]);
    assert_eq!(names(&read), ["cart-1", "web-1"]);
    let mut child = eog()
        .args(["tool", "event_analysis", "--json", "@-", "--sort=-name"])
        .arg(folder.path())
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    child.stdin.take().unwrap().write_all(arguments.as_bytes()).unwrap();
    assert_eq!(names(&child.wait_with_output().unwrap()), ["web-1"]);
}

#[test]
fn a_table_shows_no_escape_sequence() {
    let folder = snapshot();
    let output = tool(folder.path(), "event_analysis", &["--format", "table"]);
    let table = text(&output.stdout);
    assert!(table.starts_with("2 rows\ntime "), "{table}");
    assert!(
        table.contains("shop/Pod/web-1") && !table.contains(['\u{1b}', '\u{202e}']),
        "{table:?}"
    );
}

#[test]
fn wrong_calls_say_what_would_be_right_and_how_it_ended() {
    let folder = snapshot();
    let cases: [(&str, &[&str], i32, &str); 7] = [
        ("event_analysis", &["--filter", "resaon=a"], 2, "did you mean reason?"),
        ("event_analysis", &["--entity", "wbe-1"], 2, "did you mean shop/Pod/web-1"),
        ("event_analysis", &["--json", "[]"], 2, "expected an object"),
        ("event_analysis", &["--json", "@/nowhere"], 2, "--json: there is no file /nowhere"),
        ("event_analysis", &["--json", r#"{"filter": {}}"#], 2, "did you mean filters?"),
        ("event_analysis", &["--limit", "many"], 2, "invalid value 'many'"),
        ("event_analisys", &[], 2, "event_analysis"),
    ];
    for (name, flags, code, expected) in cases {
        let output = tool(folder.path(), name, flags);
        let errors = text(&output.stderr);
        assert_eq!(output.status.code(), Some(code), "{flags:?}: {errors}");
        assert!(errors.contains(expected), "{flags:?}: {errors}");
        assert!(output.stdout.is_empty());
    }
    let output = tool(Path::new("/nowhere"), "event_analysis", &[]);
    assert_eq!(output.status.code(), Some(4));
    assert!(text(&output.stderr).starts_with("eog: /nowhere: there is no such folder; name"));
}

#[test]
fn a_limit_beyond_the_largest_is_said() {
    let folder = snapshot();
    let output = tool(folder.path(), "event_analysis", &["--limit", "2000"]);
    let said = "eog: note: limit 2000 is too large; 1000 is used\n";
    assert!(text(&output.stderr).contains(said), "{}", text(&output.stderr));
    assert_eq!(output.status.code(), Some(0));
    for flags in [&["--limit", "1000"][..], &["--limit", "2000", "--quiet"]] {
        let output = tool(folder.path(), "event_analysis", flags);
        assert!(!text(&output.stderr).contains("is too large"), "{}", text(&output.stderr));
    }
}

#[test]
fn what_rows_are_grouped_by_is_shown_even_without_values() {
    let folder = snapshot();
    let flags = ["--group-by", "component", "--format", "table"];
    let output = tool(folder.path(), "event_analysis", &flags);
    let table = text(&output.stdout);
    let header = table.lines().find(|line| line.contains("count")).unwrap_or_default();
    assert!(header.contains("component"), "{table}{}", text(&output.stderr));
}

#[test]
fn bundles_are_asked_what_they_record() {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let rows = |name: &str, flags: &[&str]| -> Value {
        let output = tool(&bundle, name, flags);
        assert_eq!(output.status.code(), Some(0), "{name}: {}", text(&output.stderr));
        serde_json::from_slice(&output.stdout).unwrap()
    };
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

    for (name, flags, said) in [
        ("get_trace_error_tree", &[][..], "goes with a snapshot, and this is a bundle"),
        ("metric_analysis", &["--derive", "a = requests"][..], "derive goes with a snapshot"),
        ("event_analysis", &["--filter", "reson=x"][..], "did you mean reason?"),
    ] {
        let output = tool(&bundle, name, flags);
        assert_eq!(output.status.code(), Some(2), "{name}");
        assert!(text(&output.stderr).contains(said), "{name}: {}", text(&output.stderr));
    }

    let asked = tool(&bundle, "get_context_contract", &["--entity", "database"]);
    assert_eq!(asked.status.code(), Some(0), "{}", text(&asked.stderr));
    let context: serde_json::Value = serde_json::from_slice(&asked.stdout).unwrap();
    let findings = context["findings"].as_array().unwrap();
    assert!(findings.iter().all(|finding| finding["content"]["entity"] == "database"));
    assert!(!findings.is_empty());

    let wrong = [
        (&["--entity", "databse"][..], "there is no entity \"databse\"; did you mean database?"),
        (&[][..], "entity: is missing"),
        (&["--entity", "database", "--page", "0"][..], "page: is not a number from 1 on"),
        (&["--entity", "database", "--max-tokens", "9"][..], "max_tokens goes with a snapshot"),
    ];
    for (flags, expected) in wrong {
        let output = tool(&bundle, "get_context_contract", flags);
        assert_eq!(output.status.code(), Some(2), "{flags:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
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
    let output = tool(&source, "event_analysis", &[]);
    let said = text(&output.stderr);
    assert_eq!(output.status.code(), Some(4), "{said}");
    assert!(
        said.contains("source.toml: this source gives the evidence on entities alone"),
        "{said}"
    );
    assert!(!started.exists());
    // Others do start it.
    let output = tool(&source, "evidence", &["met-00000000000000000000"]);
    assert_ne!(output.status.code(), Some(0));
    assert!(started.exists(), "{}", text(&output.stderr));
}

/// Runs a command that was printed, as a shell does. Its code and what it printed.
fn printed(line: &str, folder: &Path) -> (Option<i32>, String) {
    let rest = line.trim().strip_prefix("eog ").unwrap();
    let line = format!("'{}' {rest}", env!("CARGO_BIN_EXE_eog"));
    let output = Command::new("sh").arg("-c").arg(line).current_dir(folder).output().unwrap();
    (output.status.code(), text(&output.stdout))
}

#[test]
fn every_command_that_a_report_or_an_explanation_prints_shows_its_evidence() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let out = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let output = eog().args(arguments).current_dir(&root).output().unwrap();
        assert_eq!(output.status.code(), Some(0), "{}", text(&output.stderr));
        text(&output.stdout)
    };
    let folder = out.path().to_str().unwrap();
    let bundle = "examples/flash-sale";
    let mut said = run(&["investigate", bundle, "--verbose", "--out", folder]);
    let window = "2026-03-20T11:40:00Z/2026-03-20T12:30:00Z";
    said += &run(&["investigate", bundle, "--verbose", "--window", window]);
    for entity in ["frontend", "gateway", "processor", "database"] {
        said += &run(&["explain", folder, entity, bundle]);
    }
    let commands: std::collections::BTreeSet<&str> =
        said.lines().map(str::trim).filter(|line| line.starts_with("eog tool ")).collect();
    assert!(commands.len() > 10, "{said}");
    assert!(commands.iter().any(|line| line.contains("--window 2026-03-20T11:40:00Z/")), "{said}");
    for command in commands {
        let id = command.split(' ').nth(4).unwrap();
        let (code, shown) = printed(command, &root);
        assert_eq!(code, Some(0), "{command}: {shown}");
        let shown: Value = serde_json::from_str(&shown).unwrap();
        assert_eq!(shown["finding"]["id"], id, "{command}");
        let other = if command.contains("--entity mailer") { "catalog" } else { "mailer" };
        let words: Vec<&str> = command.split(' ').skip(1).collect();
        let place = words.iter().position(|word| *word == "--entity").unwrap() + 1;
        let about = words[place];
        let asked = [&words[..place], &[other], &words[place + 1..]].concat();
        let refused = eog().args(asked).current_dir(&root).output().unwrap();
        let said = text(&refused.stderr);
        assert_eq!(refused.status.code(), Some(2), "{said}");
        assert!(said.contains(&format!("is about {about}, not about {other}")), "{said}");
        if id.starts_with("met-") {
            let points = shown["measured"]["points"].as_array().unwrap();
            assert!(points.len() > 10, "{command}: {shown}");
        }
    }
    // The same stands in the tables of the report.
    let report = fs::read_to_string(out.path().join("report.md")).unwrap();
    assert!(report.contains("eog tool evidence examples/flash-sale chg-"), "{report}");
}

#[test]
fn evidence_that_is_not_there_is_told_so() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    for (words, reason) in [
        ("x", "is not usable: it is not a kind"),
        ("met-00000000000000000000", "the files may have changed"),
        ("met-00000000000000000000 --entity fronted", "did you mean frontend?"),
    ] {
        let words = words.split(' ');
        let output = eog()
            .args(["tool", "evidence", "examples/flash-sale"])
            .args(words)
            .current_dir(&root)
            .output()
            .unwrap();
        let said = text(&output.stderr);
        assert_eq!(output.status.code(), Some(2), "{said}");
        assert!(said.contains(reason), "{said}");
    }
}
