//! Bad data and what a person says, through the real binary.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{Run, read, run};

/// `web` calls `postgres`, whose change came shortly before the alert on `web`.
struct Incident(tempfile::TempDir);

impl Incident {
    fn new(with_change: bool) -> Self {
        let incident = Self(tempfile::tempdir().unwrap());
        std::fs::create_dir(incident.path("bundle")).unwrap();
        let calls = json!({ "source": "web", "target": "postgres", "relation": "calls",
                            "effects": "target_to_source" });
        let manifest = json!({ "format": "eog-bundle", "version": 1, "name": "orders",
                               "topology": { "edges": [calls] } });
        incident.write("bundle.json", &manifest.to_string());
        incident.alert_on("web");
        if with_change {
            let change = json!([{ "time": "2026-01-01T10:08:00Z", "entity": "postgres",
                                  "path": "max_connections", "old": "100", "new": "50" }]);
            incident.write("changes.json", &change.to_string());
        }
        incident
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path("bundle").join(name), text).unwrap();
    }

    fn alert_on(&self, entity: &str) {
        let alert = json!([{ "name": "HighErrorRate", "entity": entity, "signal": "errors",
                             "onset": "2026-01-01T10:10:00Z" }]);
        self.write("alerts.json", &alert.to_string());
    }

    fn investigate(&self, options: &[&str]) -> Run {
        run!("investigate", self.path("bundle"), options)
    }

    fn check(&self) -> Run {
        run!("check", self.path("bundle"))
    }
}

const NO_ZONE: &str = "metrics.csv: 2184 of 2184 records (100 %) could not be used: line 2, column \
                       time: \"2026-01-01 10:00:00\" has no time zone; append Z if it is UTC, else \
                       the offset, such as +02:00";

#[test]
fn a_file_of_which_nothing_can_be_used_is_reported_first_in_every_form() {
    let incident = Incident::new(true);
    let row = "2026-01-01 10:00:00,web,errors,1\r\n";
    incident.write("metrics.csv", &format!("time,entity,metric,value\r\n{}", row.repeat(2184)));

    let out = incident.path("out");
    let run = run!("investigate", incident.path("bundle"), "--out", out);
    assert_eq!(run.err, format!("eog: warning: {NO_ZONE}\n"));
    let report = run.out;
    let at = |what: &str| report.find(what).unwrap_or_else(|| panic!("{what} is not in {report}"));
    assert!(
        at("COULD NOT BE USED") < at("line 2, column time") && at(NO_ZONE) < at("HOW IT SPREAD")
    );
    let markdown = read(out.join("report.md"));
    let part = markdown.find("metrics.csv: 2184 of 2184").unwrap();
    assert!(part < markdown.find("## Summary").unwrap(), "{markdown}");

    let unusable = &incident.investigate(&["--format", "json"]).json()["unusable"][0];
    assert_eq!(unusable["source"], "metrics.csv");
    assert_eq!((&unusable["records"], &unusable["unusable"]), (&json!(2184), &json!(2184)));

    let refused = incident.investigate(&["--strict"]).exits(4).says(&[NO_ZONE]);
    assert_eq!(refused.out, "");
}

#[test]
fn strict_passes_what_can_be_used() {
    let incident = Incident::new(true);
    incident.write("metrics.csv", "time,entity,metric,value\n2026-01-01T10:00:00Z,web,errors,1\n");
    assert_eq!(incident.investigate(&["--strict"]).exits(0).err, "");
}

#[test]
fn an_alert_on_an_entity_that_is_misspelt_gets_a_hint() {
    let incident = Incident::new(true);
    let checked = incident.check().out;
    assert!(checked.starts_with('✓') && !checked.contains("warning"), "{checked}");
    incident.alert_on("postgress");
    let note = "1 alert concerns entities outside the topology, so their causes are unknown";
    let run = incident.investigate(&[]);
    let run = run.prints(&["concerns postgress, which is not in the topology"]);
    assert_eq!(run.err, format!("eog: note: {note}\n"));
    let warning = format!("    warning: {note}\n");
    let checked = incident.check().exits(0).prints(&[&warning, "did you mean postgres?"]).out;
    assert!(checked.starts_with('!'), "{checked}");
}

/// Whatever a remark says, the rules neither find harm in it nor an origin.
#[test]
fn a_remark_changes_no_result_by_rules() {
    for with_change in [true, false] {
        let incident = Incident::new(with_change);
        let before = incident.investigate(&["--format", "json"]).json();
        let remarks = [
            "postgres=postgres is healthy, it is not the cause",
            "postgres=postgres failed with errors; it is the root cause",
            "web=web was killed, out of memory: this is the cause",
        ];
        for remark in remarks {
            let after = incident.investigate(&["--format", "json", "--note", remark]).json();
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
    let ledger = read(out.join("ledger.jsonl"));
    ledger.lines().find_map(|line| find(&serde_json::from_str(line).unwrap(), excerpt))
}

#[test]
fn a_verdict_is_a_note_of_a_person_and_is_kept_beside_the_journal() {
    let incident = Incident::new(true);
    let (bundle, journal, out) =
        (incident.path("bundle"), incident.path("run.journal"), incident.path("out"));
    run!("investigate", bundle, "--journal", journal);
    let verdict = ["--not-cause", "postgres=its owner checked it"];
    let resumed = run!("resume", journal, bundle, verdict, "--out", out);
    assert!(matches!(resumed.code, Some(0 | 3)), "{resumed:?}");
    let note = said(&out, "its owner checked it").unwrap();
    let fields = ["kind", "source", "trend", "signal"].map(|field| note[field].as_str().unwrap());
    assert_eq!(fields, ["note", "person", "steady", "other"]);

    // A later run need not say it again, and the last word counts.
    run!("resume", journal, bundle, ["--cause", "web=rolled back by hand"], "--out", out);
    assert!(said(&out, "its owner checked it").is_some(), "the earlier word is in the ledger");
    assert_eq!(said(&out, "rolled back by hand").unwrap()["trend"], "rising");
    let beside = read(incident.path("run.journal.side.jsonl"));
    assert_eq!(beside.matches("\"name\":\"words\"").count(), 2);
}

#[test]
fn a_word_on_an_unknown_entity_is_refused() {
    let incident = Incident::new(true);
    for (options, expected) in [
        (&["--cause", "postgress"][..], "no entity \"postgress\"; did you mean postgres?"),
        (&["--not-cause", "zebra=fine"], "no entity \"zebra\"; name it as the report does"),
        (&["--note", "web"], "--note web has no text; give ENTITY=TEXT"),
        (&["--note", "web=a", "--cause", "web=b"], "this entity is named twice"),
    ] {
        incident.investigate(options).exits(2).says(&[expected]);
    }
}

#[test]
fn data_under_a_wrong_name_is_named() {
    let incident = Incident::new(true);
    incident.write("metric.csv", "time,entity,metric,value\n");
    incident.write("other.json", "[]");
    let ignored =
        "README.md CHANGELOG.md metrics.png ground_truth.json capture.json .hidden.csv".split(' ');
    ignored.for_each(|name| incident.write(name, ""));
    let note = ": does not read metric.csv (did you mean metrics.csv?), other.json\n";
    let said = incident.investigate(&[]).says(&[note]).err;
    assert!(said.starts_with("eog: note: "), "{said}");
}

#[test]
fn an_imported_log_that_is_changed_later_is_refused() {
    let place = tempfile::tempdir().unwrap();
    let (log, out) = (place.path().join("db.log"), place.path().join("out"));
    std::fs::write(&log, "2026-01-01T10:00:00Z ERROR disk full\n").unwrap();
    run!("import", out, log).exits(0);
    run!("check", out).exits(0);
    let lines = out.join("logs.csv");
    std::fs::write(&lines, read(&lines).replace("disk full", "disk fine")).unwrap();
    run!("check", out).exits(4).says(&["logs.csv: its content was changed"]);
}
