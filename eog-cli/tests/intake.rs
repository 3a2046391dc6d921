//! Bad data and what a person says, through the real binary.

use std::path::Path;
use std::process::{Command, Output};

use serde_json::{Value, json};

/// `web` calls `postgres`, whose change came shortly before the alert on `web`.
struct Incident(tempfile::TempDir);

impl Incident {
    fn new(with_change: bool) -> Self {
        let incident = Self(tempfile::tempdir().unwrap());
        let calls = json!({ "source": "web", "target": "postgres", "relation": "calls",
                            "effects": "target_to_source" });
        let manifest = json!({ "format": "eog-bundle", "version": 1, "name": "orders",
                               "topology": { "edges": [calls] } });
        incident.write("bundle.json", &manifest.to_string());
        let alert = json!([{ "name": "HighErrorRate", "entity": "web", "signal": "errors",
                             "onset": "2026-01-01T10:10:00Z" }]);
        incident.write("alerts.json", &alert.to_string());
        if with_change {
            let change = json!([{ "time": "2026-01-01T10:08:00Z", "entity": "postgres",
                                  "path": "max_connections", "old": "100", "new": "50" }]);
            incident.write("changes.json", &change.to_string());
        }
        incident
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::create_dir_all(self.bundle()).unwrap();
        std::fs::write(self.bundle().join(name), text).unwrap();
    }

    fn bundle(&self) -> std::path::PathBuf {
        self.0.path().join("bundle")
    }

    fn journal(&self) -> std::path::PathBuf {
        self.0.path().join("run.journal")
    }

    fn investigate(&self, options: &[&str]) -> Output {
        eog("investigate", &[&self.bundle()], options)
    }

    fn resume(&self, options: &[&str]) -> Output {
        eog("resume", &[&self.journal(), &self.bundle()], options)
    }
}

fn eog(verb: &str, paths: &[&Path], options: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_eog"));
    command.arg(verb).args(paths).args(options).output().unwrap()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8(bytes.to_vec()).unwrap()
}

fn result(output: &Output) -> Value {
    serde_json::from_slice(&output.stdout).unwrap_or_else(|_| panic!("{}", text(&output.stderr)))
}

const NO_ZONE: &str = "metrics.csv: 2184 of 2184 records (100 %) could not be used: line 2, column \
                       time: \"2026-01-01 10:00:00\" has no time zone; append Z if it is UTC, else \
                       the offset, such as +02:00";

#[test]
fn a_file_of_which_nothing_can_be_used_is_told_first_in_every_form() {
    let incident = Incident::new(true);
    let row = "2026-01-01 10:00:00,web,errors,1\r\n";
    incident.write("metrics.csv", &format!("time,entity,metric,value\r\n{}", row.repeat(2184)));

    let out = incident.0.path().join("out");
    let output = incident.investigate(&["--out", out.to_str().unwrap()]);
    assert_eq!(text(&output.stderr), format!("eog: warning: {NO_ZONE}\n"));
    let report = text(&output.stdout);
    let at = |what: &str| report.find(what).unwrap_or_else(|| panic!("{what} is not in {report}"));
    assert!(
        at("COULD NOT BE USED") < at("line 2, column time") && at(NO_ZONE) < at("HOW IT SPREAD")
    );
    let markdown = std::fs::read_to_string(out.join("report.md")).unwrap();
    let part = markdown.find("metrics.csv: 2184 of 2184").unwrap();
    assert!(part < markdown.find("## Summary").unwrap(), "{markdown}");

    let told = &result(&incident.investigate(&["--format", "json"]))["unusable"];
    assert_eq!(told[0]["source"], "metrics.csv");
    assert_eq!((&told[0]["records"], &told[0]["unusable"]), (&json!(2184), &json!(2184)));

    let refused = incident.investigate(&["--strict"]);
    assert_eq!(refused.status.code(), Some(4));
    assert!(text(&refused.stderr).contains(NO_ZONE), "{}", text(&refused.stderr));
    assert!(refused.stdout.is_empty());
}

#[test]
fn strict_passes_what_can_be_used() {
    let incident = Incident::new(true);
    incident.write("metrics.csv", "time,entity,metric,value\n2026-01-01T10:00:00Z,web,errors,1\n");
    let output = incident.investigate(&["--strict"]);
    assert_eq!((output.status.code(), text(&output.stderr)), (Some(0), String::new()));
}

#[test]
fn an_alert_on_an_entity_that_is_misspelt_gets_a_hint() {
    let incident = Incident::new(true);
    let alert = json!([{ "name": "HighErrorRate", "entity": "postgress", "signal": "errors",
                         "onset": "2026-01-01T10:10:00Z" }]);
    incident.write("alerts.json", &alert.to_string());
    let output = incident.investigate(&[]);
    let (report, noted) = (text(&output.stdout), text(&output.stderr));
    assert!(report.contains("concerns postgress, which is not in the topology"), "{report}");
    let told = "1 alert concerns entities outside the topology, so their causes are unknown";
    assert_eq!(noted, format!("eog: note: {told}\n"));
    let checked = eog("check", &[&incident.bundle()], &[]);
    assert!(text(&checked.stdout).contains(&format!("warning: {told}\n")), "{checked:?}");
}

/// Whatever a remark says, the rules neither find harm in it nor an origin.
#[test]
fn a_remark_changes_no_result_by_rules() {
    for with_change in [true, false] {
        let incident = Incident::new(with_change);
        let before = result(&incident.investigate(&["--format", "json"]));
        let remarks = [
            "postgres=postgres is healthy, it is not the cause",
            "postgres=postgres failed with errors; it is the root cause",
            "web=web was killed, out of memory: this is the cause",
        ];
        for remark in remarks {
            let after = result(&incident.investigate(&["--format", "json", "--note", remark]));
            for what in ["conclusion", "causal_claims"] {
                assert_eq!(before[what], after[what], "{remark}");
            }
            for entity in ["web", "postgres"] {
                let label = |of: &Value| of["beliefs"][entity]["label"].clone();
                assert_eq!(label(&before), label(&after), "{remark}: {entity}");
            }
        }
    }
}

/// The finding on an entity that holds a person's word, by its excerpt, out of a ledger.
fn said(out: &Path, excerpt: &str) -> Option<Value> {
    fn find(value: &Value, excerpt: &str) -> Option<Value> {
        if value["excerpt"] == excerpt {
            return Some(value.clone());
        }
        let inner: Vec<&Value> = match value {
            Value::Array(list) => list.iter().collect(),
            Value::Object(fields) => fields.values().collect(),
            _ => Vec::new(),
        };
        inner.into_iter().find_map(|value| find(value, excerpt))
    }
    let ledger = std::fs::read_to_string(out.join("ledger.jsonl")).unwrap();
    ledger.lines().find_map(|line| find(&serde_json::from_str(line).unwrap(), excerpt))
}

#[test]
fn a_verdict_is_a_note_of_a_person_and_is_kept_beside_the_journal() {
    let incident = Incident::new(true);
    let journal = incident.journal();
    incident.investigate(&["--journal", journal.to_str().unwrap()]);
    let out = incident.0.path().join("out");
    let options = ["--not-cause", "postgres=its owner looked", "--out", out.to_str().unwrap()];
    let resumed = incident.resume(&options);
    assert!(resumed.status.code() == Some(0) || resumed.status.code() == Some(3));
    let note = said(&out, "its owner looked").unwrap();
    let [kind, source, trend, signal] =
        ["kind", "source", "trend", "signal"].map(|field| note[field].as_str().unwrap().to_owned());
    assert_eq!([&*kind, &*source, &*trend, &*signal], ["note", "person", "steady", "other"]);

    // Who goes on later need not say it again, and the last word counts.
    let options = ["--cause", "web=rolled back by hand", "--out", out.to_str().unwrap()];
    incident.resume(&options);
    assert!(said(&out, "its owner looked").is_some(), "the earlier word is in the ledger");
    assert_eq!(said(&out, "rolled back by hand").unwrap()["trend"], "rising");
    let beside = std::fs::read_to_string(incident.0.path().join("run.journal.side.jsonl")).unwrap();
    assert_eq!(beside.matches("\"name\":\"words\"").count(), 2);
}

#[test]
fn a_word_on_nobody_is_refused() {
    let incident = Incident::new(true);
    let cases: [(&[&str], &str); 4] = [
        (&["--cause", "postgress"], "no entity \"postgress\"; did you mean postgres?"),
        (&["--not-cause", "zebra=fine"], "no entity \"zebra\"; name it as the report does"),
        (&["--note", "web"], "--note web has no text; give ENTITY=TEXT"),
        (&["--note", "web=a", "--cause", "web=b"], "this entity is named twice"),
    ];
    for (options, expected) in cases {
        let output = incident.investigate(options);
        assert_eq!(output.status.code(), Some(2), "{options:?}");
        assert!(text(&output.stderr).contains(expected), "{}", text(&output.stderr));
    }
}

#[test]
fn data_under_a_wrong_name_is_named() {
    let incident = Incident::new(true);
    incident.write("metric.csv", "time,entity,metric,value\n");
    incident.write("other.json", "[]");
    for name in [
        "README.md",
        "CHANGELOG.md",
        "metrics.png",
        "ground_truth.json",
        "capture.json",
        ".hidden.csv",
    ] {
        incident.write(name, "");
    }
    let said = text(&incident.investigate(&[]).stderr);
    let told = ": does not read metric.csv (did you mean metrics.csv?), other.json\n";
    assert!(said.starts_with("eog: note: ") && said.contains(told), "{said}");
}

#[test]
fn an_alert_on_an_unknown_entity_is_warned_of() {
    let incident = Incident::new(true);
    let check = || eog("check", &[&incident.bundle()], &[]);
    let told = text(&check().stdout);
    assert!(told.starts_with('✓') && !told.contains("warning"), "{told}");
    let alert = json!([{ "name": "HighErrorRate", "entity": "webb", "signal": "errors",
                         "onset": "2026-01-01T10:10:00Z" }]);
    incident.write("alerts.json", &alert.to_string());
    let output = check();
    let told = text(&output.stdout);
    assert_eq!(output.status.code(), Some(0), "{told}");
    assert!(told.starts_with('!') && told.contains("    warning: 1 alert concerns"), "{told}");
    assert!(told.contains("did you mean web?"), "{told}");
}
