//! A token in every text of every input, one after the other: names of fields, cells, columns and files as well
//! as values, and texts that make the input unusable. Nothing that is written, said or answered holds it.

use std::collections::BTreeSet;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};

use serde_json::{Value, json};

use super::planted::{Written, at, calm, planted as secrets, planted_bundle};
use super::program::judged;
use crate::common::{command, json_of};
use crate::on_call_lab::{Service, alert, folder, wait_for};

const TOKEN: &str = "ghp_Qz7Kw2Vn9Xt4Lp8RQz7Kw2Vn9Xt4Lp8Rab12";

fn planted(text: &str) -> String {
    format!("{text} {TOKEN}")
}

/// A document with the token in one place, for each of its texts and names of fields: the place, and the
/// document.
fn places(whole: &Value) -> Vec<(String, Value)> {
    let mut found = Vec::new();
    walk(whole, String::new(), &mut |place, put| {
        let mut copy = whole.clone();
        put(&mut copy);
        found.push((place.to_owned(), copy));
    });
    found
}

type Put<'a> = &'a dyn Fn(&mut Value);

#[expect(clippy::needless_pass_by_value, reason = "paths are made for each call")]
fn walk(value: &Value, at: String, found: &mut dyn FnMut(&str, Put<'_>)) {
    match value {
        Value::String(text) => {
            let at_value = at.clone();
            found(&at, &move |whole| {
                *whole.pointer_mut(&at_value).unwrap() = json!(planted(text));
            });
        }
        Value::Array(list) => {
            for (index, inner) in list.iter().enumerate() {
                walk(inner, format!("{at}/{index}"), found);
            }
        }
        Value::Object(map) => {
            for (name, inner) in map {
                let at_map = at.clone();
                found(&format!("{at}/{name} (its name)"), &move |whole| {
                    let map = whole.pointer_mut(&at_map).unwrap().as_object_mut().unwrap();
                    let inner = map.remove(name).unwrap();
                    map.insert(planted(name), inner);
                });
                walk(inner, format!("{at}/{}", name.replace('~', "~0").replace('/', "~1")), found);
            }
        }
        _ => {}
    }
}

/// A table with the token in one cell, for each of its columns' names and the cells of its first row.
/// Cells that hold JSON are walked.
fn tables(text: &str, delimiter: u8) -> Vec<(String, String)> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .delimiter(delimiter)
        .from_reader(text.as_bytes());
    let rows: Vec<Vec<String>> =
        reader.records().map(|row| row.unwrap().iter().map(str::to_owned).collect()).collect();
    let mut found = Vec::new();
    for (row, column) in (0..2).flat_map(|row| (0..rows[0].len()).map(move |column| (row, column)))
    {
        let cell = &rows[row][column];
        let variants = match serde_json::from_str::<Value>(cell) {
            Ok(value) if value.is_object() => {
                places(&value).into_iter().map(|(at, value)| (at, value.to_string())).collect()
            }
            _ => vec![(String::new(), planted(cell))],
        };
        for (at, cell) in variants {
            let mut rows = rows.clone();
            rows[row][column] = cell;
            let mut writer = csv::WriterBuilder::new().delimiter(delimiter).from_writer(Vec::new());
            rows.iter().for_each(|row| writer.write_record(row).unwrap());
            let text = String::from_utf8(writer.into_inner().unwrap()).unwrap();
            found.push((format!("row {row}, column {}{at}", column + 1), text));
        }
    }
    found
}

/// The files of an input, by their names.
type Files = Vec<(&'static str, String)>;

/// Everything that a bundle may hold, filled.
fn bundle() -> Files {
    let manifest = json!({
        "format": "eog-bundle", "version": 1, "name": "everything",
        "window": {"start": at(60), "end": at(90)}, "baseline": {"start": at(0), "end": at(60)},
        "baseline_from": ["../usual"], "changes_recorded": {"start": at(0), "end": at(90)},
        "ignore_alerts": ["Watchdog"],
        "topology": {"entities": ["gate"],
            "edges": [{"source": "gate", "target": "db", "relation": "calls", "effects": "target_to_source"}]},
    });
    let alert = |entity: &str, minute| {
        json!({"name": "ErrorRateHigh", "entity": entity, "signal": "errors", "onset": at(minute),
            "renewed": [at(minute + 1)], "last_seen": at(minute + 2), "severity": "critical",
            "description": "it fails"})
    };
    let change = json!({"time": at(65), "entity": "db", "signal": "configuration", "path": "settings.text",
        "old": "a", "new": "b", "description": "c"});
    let mut metrics = "time,entity,metric,value,unit,signal,peer,peer_role\n".to_owned();
    for minute in 40..80 {
        let value = if minute < 66 { minute % 3 } else { 50 + minute };
        metrics += &format!("{},db,errors,{value},1/s,errors,gate,caller\n", at(minute));
    }
    let events = format!(
        "time,entity,reason,signal,message,peer,peer_role\n{},db,OutOfMemory,exhaustion,killed,gate,caller\n",
        at(67)
    );
    let mut logs = "time,entity,level,message,signal,peer,peer_role,trace\n".to_owned();
    let mut spans =
        "time,entity,duration_ms,status,peer,peer_role,operation,trace,span,parent\n".to_owned();
    for minute in 40..80 {
        logs +=
            &format!("{},db,error,cannot write block,errors,gate,caller,t{minute}\n", at(minute));
        spans += &format!(
            "{},db,{minute},error,gate,caller,GET /a,t{minute},s{minute},p{minute}\n",
            at(minute)
        );
    }
    vec![
        ("bundle.json", manifest.to_string()),
        ("alerts.json", json!([alert("gate", 70), alert("db", 68)]).to_string()),
        ("changes.json", json!([change]).to_string()),
        ("metrics.csv", metrics),
        ("events.csv", events),
        ("logs.csv", logs),
        ("spans.csv", spans),
    ]
}

/// A snapshot with a record of every kind.
fn snapshot() -> Files {
    let alerts = json!([{"labels": {"alertname": "HighErrorRate", "service_name": "cart",
        "namespace": "shop", "severity": "critical"}, "annotations": {"description": "it fails"},
        "state": "firing", "activeAt": "2026-01-01T10:00:00Z", "value": "1e-01"}]);
    let event = json!({"object": {"apiVersion": "v1", "metadata": {"uid": "web-1"},
        "involvedObject": {"kind": "Pod", "name": "web-1", "namespace": "shop", "apiVersion": "v1"},
        "reason": "Unhealthy", "type": "Warning", "message": "probe failed", "count": 2,
        "source": {"component": "kubelet", "host": "node-1"}, "lastTimestamp": "2026-01-01T10:00:00Z"}});
    let pod = |image: &str| {
        json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web-1", "namespace": "shop",
            "uid": "web-1", "labels": {"app": "cart"}, "annotations": {"note": "x"}},
            "spec": {"nodeName": "node-1", "containers": [{"name": "web", "image": image,
                "args": ["--verbose"], "env": [{"name": "MODE", "value": "fast"}]}]},
            "status": {"phase": "Failed", "message": "m", "reason": "Evicted"}})
    };
    let table = |head: &str, rows: &[Vec<String>]| {
        let mut writer = csv::WriterBuilder::new().delimiter(b'\t').from_writer(Vec::new());
        writer.write_record(head.split(' ')).unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        String::from_utf8(writer.into_inner().unwrap()).unwrap()
    };
    let row = |cells: &[&str]| cells.iter().map(|cell| (*cell).to_owned()).collect::<Vec<_>>();
    let resource =
        "{'k8s.namespace.name': 'shop', 'k8s.pod.name': 'web-1', 'service.version': '1'}";
    let at = |minute: i64| format!("2026-01-01 {:02}:{:02}:00", 9 + minute / 60, minute % 60);
    let logs: Vec<Vec<String>> = (50..65)
        .map(|minute| {
            row(&[&at(minute), "cannot write block", "cart", resource, "17", "ERROR", "ab12"])
        })
        .collect();
    let spans: Vec<Vec<String>> = (30..65)
        .map(|minute| {
            row(&[
                &at(minute),
                &format!("ab{minute}"),
                &format!("cd{minute}"),
                "",
                "GET /a",
                "cart",
                "9000000",
                "SPAN_KIND_CLIENT",
                resource,
                "{'server.address': 'db'}",
                "STATUS_CODE_ERROR",
                "refused",
            ])
        })
        .collect();
    let metrics: Vec<Vec<String>> = (0..65)
        .map(|minute| {
            row(&["cpu", &at(minute), &minute.to_string(), "web-1", "shop", "{'mode': 'user'}"])
        })
        .collect();
    vec![
        ("alerts/alerts_at_2026-01-01T10-01-00.json", alerts.to_string()),
        ("k8s_events_raw.tsv", table("Timestamp Body", &[row(&[&at(60), &event.to_string()])])),
        (
            "k8s_objects_raw.tsv",
            table(
                "Timestamp Body",
                &[
                    row(&[&at(59), &pod("a:1").to_string()]),
                    row(&[&at(60), &pod("a:2").to_string()]),
                ],
            ),
        ),
        (
            "otel_logs_raw.tsv",
            table(
                "Timestamp Body ServiceName ResourceAttributes SeverityNumber SeverityText TraceId",
                &logs,
            ),
        ),
        (
            "otel_traces_raw.tsv",
            table(
                "Timestamp TraceId SpanId ParentSpanId SpanName ServiceName Duration SpanKind \
                 ResourceAttributes SpanAttributes StatusCode StatusMessage",
                &spans,
            ),
        ),
        (
            "metrics/pod_web-1_raw.tsv",
            table("metric_name timestamp value pod_name namespace tags", &metrics),
        ),
    ]
}

/// Every variant of an input with the token in one place, written below a folder: the place, and the folder.
fn variants(files: &Files, below: &Path) -> Vec<(String, PathBuf)> {
    let mut found = Vec::new();
    let write = |number: usize, changed: Option<(&str, &str)>| {
        let folder = below.join(format!("{number:03}"));
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            let changed = changed.filter(|(changed, _)| changed == name);
            fs::write(path, changed.map_or(text.as_str(), |(_, text)| text)).unwrap();
        }
        folder
    };
    for (name, text) in files {
        let all: Vec<(String, String)> = match name.rsplit('.').next() {
            Some("json") => places(&serde_json::from_str(text).unwrap())
                .into_iter()
                .map(|(at, value)| (at, value.to_string()))
                .collect(),
            Some("csv") => tables(text, b','),
            _ => tables(text, b'\t'),
        };
        for (at, text) in all {
            let folder = write(found.len(), Some((*name, &text)));
            found.push((format!("{name}{at}"), folder));
        }
    }
    // Names of files and folders.
    let folder = write(found.len(), None);
    let renamed = below.join(planted("all"));
    fs::rename(folder, &renamed).unwrap();
    found.push(("the folder".to_owned(), renamed));
    found
}

/// A server of MCP on standard input and output, that is asked one thing after the other.
struct Mcp(Child, BufReader<std::process::ChildStdout>);

impl Mcp {
    fn start(root: &Path, state: &Path) -> Self {
        let mut command = command!("mcp", "serve", "--root", root, "--state", state);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn().unwrap();
        let answers = BufReader::new(child.stdout.take().unwrap());
        let mut server = Self(child, answers);
        let asked = json!({"protocolVersion": "2025-06-18", "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"}});
        server.ask("initialize", asked);
        server.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}));
        server
    }

    fn send(&mut self, message: &Value) {
        writeln!(self.0.stdin.as_mut().unwrap(), "{message}").unwrap();
    }

    #[expect(clippy::needless_pass_by_value, reason = "parameters are written where they are sent")]
    fn ask(&mut self, method: &str, params: Value) -> String {
        self.send(&json!({"jsonrpc": "2.0", "id": 7, "method": method, "params": params}));
        let mut said = String::new();
        while !said.lines().last().is_some_and(|line| line.contains("\"id\":7")) {
            assert!(self.1.read_line(&mut said).unwrap() > 0, "{said}");
        }
        said
    }
}

impl Drop for Mcp {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Investigates every variant by the command, with everything that it writes, and over MCP.
fn investigate_all(files: &Files, minimum: usize, more: impl Fn(&Path)) {
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("root");
    fs::create_dir(&root).unwrap();
    more(&root);
    let all = variants(files, &root);
    assert!(all.len() >= minimum, "{}", all.len());
    let mut server = Mcp::start(&root, &dir.path().join("state"));
    let mut leaks = Vec::new();
    let mut diagnosed = 0;
    for (number, (place, folder)) in all.iter().enumerate() {
        let out = dir.path().join(format!("out-{number}"));
        let journal = dir.path().join(format!("journal-{number}"));
        let mut written = Written::default();
        let mut command = command!("investigate", folder, "--no-fsync", "--out", out);
        written.run(command.arg("--journal").arg(&journal), 4);
        if out.exists() {
            written.folder(&out);
        }
        if let Ok(bytes) = fs::read(&journal) {
            diagnosed += 1;
            written.0.push(("the journal".to_owned(), bytes));
        }
        let path = folder.file_name().unwrap().to_str().unwrap();
        let asked = json!({"name": "investigate", "arguments": {"path": path}});
        written.text("MCP", &server.ask("tools/call", asked));
        for sink in written.places_of(TOKEN) {
            leaks.push(format!("{place}: in {}", sink.rsplit('/').next().unwrap()));
        }
    }
    assert!(diagnosed * 2 > all.len(), "{diagnosed} of {}", all.len());
    assert!(
        leaks.is_empty(),
        "{} leaks from {} places:\n{}",
        leaks.len(),
        all.len(),
        leaks.join("\n")
    );
    // What the server stored.
    let mut stored = Written::default();
    stored.folder(&dir.path().join("state"));
    let renamed = planted("all");
    for (sink, bytes) in &stored.0 {
        // The folder's own name is what an investigation is resumed by.
        let text = String::from_utf8_lossy(bytes).replace(&renamed, "all");
        assert!(!text.contains(TOKEN), "{sink}");
    }
}

#[test]
fn no_text_of_a_bundle_leaks_whatever_its_field() {
    investigate_all(&bundle(), 100, |root| {
        let usual = root.join("usual");
        fs::create_dir(&usual).unwrap();
        fs::write(
            usual.join("bundle.json"),
            r#"{"format": "eog-bundle", "version": 1, "name": "u"}"#,
        )
        .unwrap();
        let metrics = "time,entity,metric,value\n2025-12-31T10:00:00Z,db,other,1\n";
        fs::write(usual.join("metrics.csv"), metrics).unwrap();
    });
}

#[test]
fn no_text_of_a_snapshot_leaks_whatever_its_field() {
    investigate_all(&snapshot(), 100, |_| ());
}

/// The texts that the schemas of a bundle know are all among those that are planted.
#[test]
fn every_text_of_the_schemas_is_planted() {
    let files = bundle();
    let of = |name: &str| -> Value {
        let (_, text) = files.iter().find(|(file, _)| *file == name).unwrap();
        serde_json::from_str(text).unwrap()
    };
    let documents = ["bundle.json", "alerts.json", "changes.json"].map(of);
    for ((name, schema), document) in eog_evidence::bundle_schemas().iter().zip(documents) {
        let mut texts = BTreeSet::new();
        texts_of(schema, schema, String::new(), &mut texts);
        assert!(texts.len() >= 5, "{name}: {texts:?}");
        for text in texts {
            assert!(document.pointer(&text).is_some_and(Value::is_string), "{name}: {text}");
        }
    }
}

/// Where texts stand in what a schema describes; of a list its first entry.
fn texts_of(schema: &Value, whole: &Value, at: String, found: &mut BTreeSet<String>) {
    if let Some(name) = schema["$ref"].as_str().and_then(|name| name.strip_prefix('#')) {
        return texts_of(whole.pointer(name).unwrap(), whole, at, found);
    }
    let kinds = match &schema["type"] {
        Value::Array(kinds) => kinds.iter().filter_map(Value::as_str).collect(),
        kind => kind.as_str().into_iter().collect::<Vec<_>>(),
    };
    if kinds.contains(&"string") {
        found.insert(at.clone());
    }
    // Of several forms the first that is not null.
    for several in ["anyOf", "oneOf", "allOf"] {
        let forms = schema[several].as_array().into_iter().flatten();
        if let Some(form) = forms.into_iter().find(|form| form["type"] != "null") {
            texts_of(form, whole, at.clone(), found);
        }
    }
    if schema["items"].is_object() {
        texts_of(&schema["items"], whole, format!("{at}/0"), found);
    }
    for (name, inner) in schema["properties"].as_object().into_iter().flatten() {
        texts_of(inner, whole, format!("{at}/{name}"), found);
    }
}

#[test]
fn no_text_of_an_alert_leaks_whatever_its_field() {
    let place = folder("[pace]\nsettle = '0s'\n", "");
    let mut service = Service::start(place.path());
    let mut whole = json_of(&alert("g", "f", "A", "web", None));
    whole["groupLabels"] = json!({"job": "web"});
    whole["alerts"][0]["annotations"] = json!({"summary": "s", "description": "d"});
    let mut written = Written::default();
    let all = places(&whole);
    assert!(all.len() > 20, "{}", all.len());
    let mut taken = 0;
    for (number, (at, mut body)) in all.into_iter().enumerate() {
        if let Some(Value::String(key)) = body.get_mut("groupKey") {
            *key += &format!(" {number}");
        }
        let (status, answer) = service.post("/alerts", &body.to_string()).unwrap();
        taken += usize::from(status == 200);
        written.text(&format!("{at}: answered"), &answer);
    }
    assert!(taken > 10, "{taken}");
    let incidents = wait_for(|| {
        let incidents = service.json("/incidents");
        let done = |it: &Value| it["investigation"].is_string() || it["problem"].is_string();
        incidents["incidents"].as_array()?.iter().all(done).then_some(incidents)
    });
    written.text("incidents", &incidents.to_string());
    for one in incidents["incidents"].as_array().unwrap() {
        let id = one["id"].as_str().unwrap();
        written.text(id, &service.get(&format!("/incidents/{id}")).unwrap().1);
    }
    written.text("said", &service.lines().join("\n"));
    service.kill();
    written.folder(&place.path().join("state"));
    assert_eq!(written.places_of(TOKEN), [""; 0]);
}

/// A program that judges puts the token into every text of its decision, for one entity after the other.
#[test]
fn no_text_of_a_decision_leaks_whatever_its_field() {
    let decision = json!({"label": "symptom", "summary": "s", "evidence": ["met-00112233445566778899"],
        "claims": [{"cause": "gate", "effect": "ENTITY", "condition": "c", "observed": "o", "evidence": []}],
        "proposals": [{"entity": "gate", "direction": "downstream", "reason": "r"}],
        "scores": [], "rule": "rule", "alternatives": [{"label": "symptom", "rule": "r", "summary": "s", "lost": "l"}]});
    let all = places(&decision);
    let dir = planted_bundle(&calm(&secrets()[..all.len()]));
    let program = dir.path().join("judge.sh");
    let answers = dir.path().join("judge.sh.answers");
    fs::create_dir(&answers).unwrap();
    for (number, (_, decision)) in all.iter().enumerate() {
        let entity = format!("service-{number}");
        let text = decision.to_string().replace("ENTITY", &entity);
        fs::write(answers.join(entity), text).unwrap();
    }
    let script = "entity=$(grep -o '\"entity\":\"[^\"]*\"' | head -1 | cut -d'\"' -f4)\n\
                  cat \"$0.answers/$entity\" 2>/dev/null || \
                  echo '{\"label\": \"symptom\", \"summary\": \"it fails\"}'\n";
    fs::write(&program, script).unwrap();
    let (written, ledger) = judged(dir.path(), &program);
    assert!(ledger.matches("[masked]").count() >= 5, "decisions are there");
    assert_eq!(written.places_of(TOKEN), [""; 0]);
}
