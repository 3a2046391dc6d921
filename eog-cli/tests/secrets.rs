//! A secret of every kind, planted in every text of a bundle, and searched for in everything that is
//! written: ledger, journal, reports, graphs, answers of tools, the terminal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

#[path = "../../eog-secrets/tests/table/mod.rs"]
#[allow(dead_code)]
mod kinds;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use kinds::{Drawn, KINDS};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde_json::{Value, json};

/// Shorter secrets are found in digests and times by chance.
const SEARCHABLE: usize = 10;

/// A form of a kind with its secret.
struct Planted {
    kind: &'static str,
    text: String,
    secret: Drawn,
}

fn planted() -> Vec<Planted> {
    let drawn = KINDS.iter().zip(1_000..).flat_map(|(kind, seed)| {
        kind.forms.iter().map(move |form| {
            let secret = kind.canary.draw(&mut ChaCha8Rng::seed_from_u64(seed));
            let text = form.replace("{}", &secret.text);
            Planted { kind: kind.name, text, secret }
        })
    });
    drawn.filter(|one| one.secret.text.len() >= SEARCHABLE).collect()
}

fn at(minute: i64) -> String {
    format!("2026-01-01T{:02}:{:02}:00Z", 10 + minute / 60, minute % 60)
}

/// A gate that calls one service for each planted text; all of them fail, and all texts of each speak
/// of its secret.
fn write_bundle(dir: &Path, all: &[Planted]) {
    let name = |place: usize| format!("service-{place}");
    let calls = |place| json!({"source": "gate", "target": name(place), "relation": "calls", "effects": "target_to_source"});
    let mut manifest = json!({
        "format": "eog-bundle", "version": 1, "name": "canaries",
        "window": {"start": at(60), "end": at(90)}, "baseline": {"start": at(0), "end": at(60)},
        "topology": {"edges": (0..all.len()).map(calls).collect::<Vec<Value>>()},
    });
    let mut alerts = vec![json!({
        "name": "ErrorRateHigh", "entity": "gate", "signal": "errors", "onset": at(70), "description": "it fails"
    })];
    let (mut changes, mut logs, mut events) = (Vec::new(), Vec::new(), Vec::new());
    for (place, one) in all.iter().enumerate() {
        alerts.push(json!({
            "name": "ErrorRateHigh", "entity": name(place), "signal": "errors", "onset": at(68),
            "description": one.text,
        }));
        changes.push(json!({
            "time": at(65), "entity": name(place), "path": "settings.text", "old": one.text,
            "new": format!("{} again", one.text), "description": one.text,
        }));
        for second in 0..12 {
            logs.push([
                format!("2026-01-01T11:08:{second:02}Z"),
                name(place),
                "error".into(),
                one.text.clone(),
            ]);
        }
        events.push([
            at(69),
            name(place),
            "OutOfMemory".into(),
            "exhaustion".into(),
            one.text.clone(),
        ]);
    }
    manifest["topology"]["entities"] = json!(["gate"]);
    let write = |file: &str, value: &Value| fs::write(dir.join(file), value.to_string()).unwrap();
    write("bundle.json", &manifest);
    write("alerts.json", &json!(alerts));
    write("changes.json", &json!(changes));
    let table = |file: &str, head: &[&str], rows: Vec<Vec<String>>| {
        let mut writer = csv::Writer::from_path(dir.join(file)).unwrap();
        writer.write_record(head).unwrap();
        rows.iter().for_each(|row| writer.write_record(row).unwrap());
        writer.flush().unwrap();
    };
    let rows = |rows: Vec<[String; 4]>| rows.into_iter().map(Vec::from).collect();
    table("logs.csv", &["time", "entity", "level", "message"], rows(logs));
    let head = ["time", "entity", "reason", "signal", "message"];
    table("events.csv", &head, events.into_iter().map(Vec::from).collect());
}

/// Everything that a run said and wrote.
#[derive(Default)]
struct Written(Vec<(String, Vec<u8>)>);

impl Written {
    fn said(&mut self, what: &str, output: &Output) {
        self.0.push((format!("{what}: output"), output.stdout.clone()));
        self.0.push((format!("{what}: errors"), output.stderr.clone()));
    }

    fn folder(&mut self, dir: &Path) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.folder(&path);
            } else {
                self.0.push((path.display().to_string(), fs::read(&path).unwrap()));
            }
        }
    }

    fn leaks(&self, all: &[Planted]) -> Vec<String> {
        let mut leaks = Vec::new();
        for (place, bytes) in &self.0 {
            let text = String::from_utf8_lossy(bytes);
            for one in all.iter().filter(|one| one.secret.survives(&text)) {
                leaks.push(format!("{}: in {place}", one.kind));
            }
        }
        leaks
    }
}

#[test]
fn no_secret_of_a_bundle_is_written_anywhere() {
    let all = planted();
    assert!(all.len() > 100, "{}", all.len());
    let dir = tempfile::tempdir().unwrap();
    let (bundle, out) = (dir.path().join("bundle"), dir.path().join("out"));
    fs::create_dir(&bundle).unwrap();
    write_bundle(&bundle, &all);
    let journal = dir.path().join("run.journal");

    let mut written = Written::default();
    let mut run = |what: &str, arguments: &[&str]| {
        let output = Command::new(env!("CARGO_BIN_EXE_eog")).args(arguments).output().unwrap();
        assert!(output.status.code().is_some_and(|code| code <= 3), "{what}: {output:?}");
        written.said(what, &output);
    };
    let [bundle, out, journal] =
        [&bundle, &out, &journal].map(|path| path.to_str().unwrap().to_owned());
    run("investigate", &["investigate", &bundle, "--out", &out, "--journal", &journal]);
    let ledger = format!("{out}/ledger.jsonl");
    for format in ["text", "markdown", "json"] {
        run(format, &["report", &ledger, "--format", format]);
    }
    run("explain", &["explain", &ledger, "service-0"]);
    run("tool", &["tool", "get_context_contract", &bundle, "--entity", "service-1"]);
    written.folder(Path::new(&out));
    written.0.push(("journal".into(), fs::read(&journal).unwrap()));

    let shown: Vec<&str> = written.0.iter().map(|(place, _)| place.as_str()).collect();
    assert!(shown.len() > 12, "{shown:?}");
    let told =
        written.0.iter().any(|(_, bytes)| String::from_utf8_lossy(bytes).contains("[masked]"));
    assert!(told, "the texts themselves are there");
    let leaks = written.leaks(&all);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}

/// Half of the texts stand in decisions, half on standard error of a program that fails.
#[test]
#[cfg(unix)]
fn no_secret_of_a_program_that_judges_is_written_anywhere() {
    let all = planted();
    let dir = tempfile::tempdir().unwrap();
    let (bundle, out) = (dir.path().join("bundle"), dir.path().join("out"));
    fs::create_dir(&bundle).unwrap();
    let calm = all.iter().map(|one| Planted {
        kind: one.kind,
        text: "it fails".to_owned(),
        secret: one.secret.clone(),
    });
    write_bundle(&bundle, &calm.collect::<Vec<_>>());
    // By the name of the entity: a decision, or words and an exit code.
    let answers = dir.path().join("answers");
    fs::create_dir(&answers).unwrap();
    for (place, one) in all.iter().enumerate() {
        let text = if place % 2 == 0 {
            let (claim, entity) = (&one.text, format!("service-{place}"));
            json!({ "label": "symptom", "summary": one.text, "evidence": [], "proposals": [
                { "entity": "gate", "direction": "downstream", "reason": one.text }
            ], "claims": [
                { "cause": entity, "effect": "gate", "condition": claim, "observed": claim, "evidence": [] }
            ] })
            .to_string()
        } else {
            one.text.clone()
        };
        let kind = if place % 2 == 0 { "out" } else { "err" };
        fs::write(answers.join(format!("service-{place}.{kind}")), text).unwrap();
    }
    let script = "entity=$(grep -o '\"entity\":\"[^\"]*\"' | head -1 | cut -d'\"' -f4)\n\
                  cat \"$0.answers/$entity.err\" >&2 2>/dev/null && exit 1\n\
                  cat \"$0.answers/$entity.out\" 2>/dev/null || \
                  echo '{\"label\": \"symptom\", \"summary\": \"it fails\"}'\n";
    let program = dir.path().join("judge.sh");
    fs::write(&program, script).unwrap();
    fs::rename(&answers, dir.path().join("judge.sh.answers")).unwrap();

    let journal = dir.path().join("run.journal");
    let paths = [&bundle, &out, &journal, &program];
    let [bundle, out, journal, program] = paths.map(|path| path.to_str().unwrap().to_owned());
    let mut written = Written::default();
    let judged = ["--policy", "command:/bin/sh", "--policy-arg", &program];
    let places = ["--out", &out, "--journal", &journal, "--no-fsync"];
    let output = Command::new(env!("CARGO_BIN_EXE_eog"))
        .args(["investigate", &bundle])
        .args(judged)
        .args(places)
        .output()
        .unwrap();
    written.said("investigate", &output);
    written.folder(Path::new(&out));
    written.0.push(("journal".into(), fs::read(&journal).unwrap()));
    let ledger = fs::read_to_string(format!("{out}/ledger.jsonl")).unwrap();
    let told = ledger.matches("[masked]").count();
    assert!(told > all.len() / 2, "the texts themselves are there: {told}");
    assert!(ledger.contains("exit status: 1"), "failures are recorded");
    let leaks = written.leaks(&all);
    assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
}
