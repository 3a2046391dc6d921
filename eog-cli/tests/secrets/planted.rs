//! What is planted, and where it is searched for.

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use super::kinds::{Drawn, KINDS};
use rand::SeedableRng;
use rand::rngs::ChaCha8Rng;
use serde_json::{Value, json};

/// Shorter secrets are found in digests and times by chance.
const SEARCHABLE: usize = 10;

/// A form of a kind with its secret.
pub(crate) struct Planted {
    pub(crate) kind: &'static str,
    pub(crate) text: String,
    pub(crate) secret: Drawn,
}

pub(crate) fn planted() -> Vec<Planted> {
    let drawn = KINDS.iter().zip(1_000..).flat_map(|(kind, seed)| {
        kind.forms.iter().map(move |form| {
            let secret = kind.canary.draw(&mut ChaCha8Rng::seed_from_u64(seed));
            let text = form.replace("{}", &secret.text);
            Planted { kind: kind.name, text, secret }
        })
    });
    drawn.filter(|one| one.secret.text.len() >= SEARCHABLE).collect()
}

pub(crate) fn at(minute: i64) -> String {
    format!("2026-01-01T{:02}:{:02}:00Z", 10 + minute / 60, minute % 60)
}

/// A gate that calls one service for each planted text; all of them fail, and all texts of each speak
/// of its secret.
pub(crate) fn write_bundle(dir: &Path, all: &[Planted]) {
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
            let time = format!("2026-01-01T11:08:{second:02}Z");
            logs.push([time, name(place), "error".into(), one.text.clone()]);
        }
        let [reason, signal] = ["OutOfMemory", "exhaustion"].map(str::to_owned);
        events.push([at(69), name(place), reason, signal, one.text.clone()]);
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

/// A folder with such a bundle in it, called `bundle`.
pub(crate) fn planted_bundle(all: &[Planted]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    fs::create_dir(dir.path().join("bundle")).unwrap();
    write_bundle(&dir.path().join("bundle"), all);
    dir
}

/// Texts without a secret, as many as others.
pub(crate) fn calm(all: &[Planted]) -> Vec<Planted> {
    let calm = |one: &Planted| Planted {
        kind: one.kind,
        text: "it fails".to_owned(),
        secret: one.secret.clone(),
    };
    all.iter().map(calm).collect()
}

/// Everything that a run said and wrote.
#[derive(Default)]
pub(crate) struct Written(pub(crate) Vec<(String, Vec<u8>)>);

impl Written {
    fn said(&mut self, what: &str, output: &Output) {
        self.0.push((format!("{what}: output"), output.stdout.clone()));
        self.0.push((format!("{what}: errors"), output.stderr.clone()));
    }

    /// Runs a command, which may end with any code up to this one.
    pub(crate) fn run(&mut self, command: &mut Command, worst: i32) {
        let output = command.output().unwrap();
        assert!(output.status.code().is_some_and(|code| code <= worst), "{command:?}: {output:?}");
        let name = command.get_args().next().unwrap().to_string_lossy().into_owned();
        self.said(&name, &output);
    }

    pub(crate) fn file(&mut self, path: &Path) {
        self.0.push((path.display().to_string(), fs::read(path).unwrap()));
    }

    pub(crate) fn folder(&mut self, dir: &Path) {
        for entry in fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                self.folder(&path);
            } else {
                self.file(&path);
            }
        }
    }

    /// The places in which a text is.
    pub(crate) fn places_of(&self, text: &str) -> Vec<&str> {
        let holds = |bytes: &[u8]| String::from_utf8_lossy(bytes).contains(text);
        self.0.iter().filter(|(_, bytes)| holds(bytes)).map(|(place, _)| &**place).collect()
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

    pub(crate) fn text(&mut self, what: &str, text: &str) {
        self.0.push((what.to_owned(), text.as_bytes().to_vec()));
    }

    /// Nothing leaks, although the texts themselves are there, in so many places at least.
    pub(crate) fn check(&self, all: &[Planted], places: usize) {
        let masked = self.places_of("[masked]");
        assert!(masked.len() >= places, "the texts themselves are there: {masked:?}");
        let leaks = self.leaks(all);
        assert!(leaks.is_empty(), "{} leaks:\n{}", leaks.len(), leaks.join("\n"));
    }
}
