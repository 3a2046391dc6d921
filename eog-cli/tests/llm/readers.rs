//! Answers that independent readers gave to the prompts, replayed through the binary.
//!
//! `tests/readers/INCIDENT-MANNER.json` are recordings, `replayed.json` says what they lead to now.
//!
//! - `EOG_RECORD_READERS=FOLDER cargo test -p eog-cli --test all llm::readers` makes recordings of a folder whose
//!   folders `INCIDENT-MANNER` hold `NNN.req.json`, the body of a request, and `NNN.resp.txt`, its answer.
//! - `EOG_UPDATE_READERS=1` writes `replayed.json` anew. Read the difference.
//! - `EOG_READERS_SNAPSHOTS=FOLDER` names a folder with snapshots, one folder for each incident, where they
//!   are neither part of the repository nor can be simulated.

mod incidents;
mod numbers;
mod player;
mod recording;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use self::incidents::{Incident, Snapshot};
use self::player::Player;
use self::recording::Recording;
use super::lab::{Lab, causes};
use super::reader::{Start, read};
use super::server::{Reply, Server};

/// All recordings together, in bytes.
const MOST_BYTES: u64 = 4 << 20;

/// What a recording leads to.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
struct Replayed {
    /// The entities that it ends with, and how sure it is of them.
    causes: Vec<String>,
    confidence: String,
    /// How many requests it takes.
    requests: usize,
    /// How many of them are other prompts than those that were answered.
    changed: usize,
    /// How many have no recorded answer at all.
    unanswered: usize,
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/readers")
}

/// The recordings of a folder, by name.
fn recordings() -> BTreeMap<String, Recording> {
    let files = std::fs::read_dir(folder()).unwrap().map(|entry| entry.unwrap().path());
    let name = |path: &Path| path.file_stem().unwrap().to_string_lossy().into_owned();
    let named = files.map(|path| (name(&path), path)).filter(|(name, _)| name.contains('-'));
    named.map(|(name, path)| (name, Recording::read(&path))).collect()
}

/// Plays a recording, and says what differed.
fn replay(recording: &Recording, snapshot: &Snapshot, more: &[&str]) -> (Replayed, String) {
    let player = Player::of(recording);
    let changes = player.changes();
    let server = Server::start(move |asked| player.answer(asked));
    let lab = Lab::with(&format!(
        "policy = \"llm\"\nfinalize = \"model\"\n[llm]\nmodel = \"openai/reader\"\nretries = 0\n\
         [llm.models.\"openai/reader\"]\nbase_url = \"{}\"\n",
        server.url
    ));
    let calls = recording.asked.len().to_string();
    let mut arguments = vec!["investigate", snapshot.path.to_str().unwrap(), "--format", "json"];
    arguments.extend(snapshot.arguments.iter().map(String::as_str));
    // One that was interrupted ends with its last answer.
    if !recording.complete {
        arguments.extend(["--max-model-calls", &calls]);
    }
    arguments.extend(more);
    let run = lab.run(&arguments);
    let result = run.result();
    let changes = changes.lock().unwrap();
    let replayed = Replayed {
        causes: causes(&result),
        confidence: result["conclusion"]["confidence"].as_str().unwrap_or_default().to_owned(),
        requests: server.seen().len(),
        changed: changes.changed,
        unanswered: changes.unanswered,
    };
    (replayed, changes.report.clone())
}

#[test]
fn recorded_readers_reach_what_they_reached() {
    record();
    let golden = folder().join("replayed.json");
    let expected: BTreeMap<String, Replayed> = std::fs::read(&golden)
        .map(|text| serde_json::from_slice(&text).unwrap())
        .unwrap_or_default();
    let mut all = BTreeMap::new();
    let reports = Path::new(env!("CARGO_TARGET_TMPDIR")).join("readers");
    std::fs::create_dir_all(&reports).unwrap();
    let mut snapshots: BTreeMap<String, Result<Snapshot, String>> = BTreeMap::new();
    for (name, recording) in recordings() {
        let incident = recording.incident.clone();
        let snapshot = snapshots
            .entry(incident.clone())
            .or_insert_with(|| Incident::named(&incident).snapshot(&incident));
        let snapshot = match snapshot {
            Ok(snapshot) => snapshot,
            Err(reason) => {
                eprintln!("{name} is not replayed: {reason}");
                all.extend(expected.get(&name).map(|then| (name, then.clone())));
                continue;
            }
        };
        let (replayed, report) = replay(&recording, snapshot, &[]);
        std::fs::write(reports.join(format!("{name}.txt")), report).unwrap();
        all.insert(name, replayed);
    }
    if std::env::var_os("EOG_UPDATE_READERS").is_some() {
        let text = serde_json::to_string_pretty(&all).unwrap() + "\n";
        std::fs::write(&golden, text).unwrap();
        return;
    }
    for (name, now) in &all {
        let then = expected.get(name);
        assert!(
            then == Some(now),
            "{name}: now {now:#?}\nbefore {then:#?}\nWhich prompts differ: {}\nIf that is meant, set \
             EOG_UPDATE_READERS=1, and read what it changes.",
            reports.join(format!("{name}.txt")).display()
        );
    }
    assert!(expected.keys().all(|name| all.contains_key(name)), "a recording is missing");
}

#[test]
fn recordings_are_small_and_hold_no_secret() {
    let mut bytes = 0;
    for (name, recording) in recordings() {
        bytes += std::fs::metadata(folder().join(format!("{name}.json"))).unwrap().len();
        recording.check().unwrap_or_else(|problem| panic!("{name}: {problem}"));
    }
    assert!(bytes <= MOST_BYTES, "{bytes} bytes");
}

/// Makes recordings, if that is asked for.
fn record() {
    let Some(runs) = std::env::var_os("EOG_RECORD_READERS") else { return };
    for entry in std::fs::read_dir(&runs).unwrap() {
        let run = entry.unwrap().path();
        let name = run.file_name().unwrap().to_string_lossy().into_owned();
        let (incident, manner) = name.rsplit_once('-').unwrap_or_else(|| {
            panic!("{}: the name must be INCIDENT-MANNER", run.display());
        });
        let recording = Recording::of(&run, incident, manner);
        recording.check().unwrap_or_else(|problem| panic!("{}: {problem}", run.display()));
        recording.write(&folder().join(format!("{name}.json")));
        eprintln!("recorded {name}: {} requests", recording.asked.len());
    }
}

/// What a bridge between the binary and readers leaves behind, of a model in a few rules.
fn bridged(folder: &Path) {
    let into = folder.to_owned();
    let server = Server::start(move |asked| {
        let base = into.join(format!("{:03}", asked.at + 1));
        std::fs::write(base.with_extension("req.json"), asked.body.to_string()).unwrap();
        let reply = read(asked, Start::Alerts);
        let Reply::Answer(text) = &reply else { panic!("no answer") };
        std::fs::write(base.with_extension("resp.txt"), text).unwrap();
        reply
    });
    let lab = Lab::with(&format!(
        "policy = \"llm\"\nfinalize = \"model\"\n[llm]\nmodel = \"openai/reader\"\n\
         [llm.models.\"openai/reader\"]\nbase_url = \"{}\"\n",
        server.url
    ));
    let run = lab.investigate(&["--format", "json"]);
    assert_eq!(causes(&run.result()), ["frontend"], "{}", run.said);
}

#[test]
fn what_was_recorded_is_replayed_and_compared() {
    let runs = tempfile::tempdir().unwrap();
    bridged(runs.path());
    let recording = Recording::of(runs.path(), "flash", "plain");
    let file = runs.path().join("flash-plain.json");
    recording.write(&file);
    let recording = Recording::read(&file);
    let sale = Incident::named("flash").snapshot("flash").unwrap();
    let (same, report) = replay(&recording, &sale, &[]);
    assert!(recording.complete && recording.check().is_ok());
    assert_eq!(
        (same.causes.as_slice(), same.changed, same.unanswered),
        (&["frontend".to_owned()][..], 0, 0),
        "{report}"
    );
    assert_eq!((same.requests, report.as_str()), (recording.asked.len(), ""));

    // In other words the same question is asked, and answered as it was.
    let (other, report) = replay(&recording, &sale, &["--prompts", "plant"]);
    assert_eq!((other.causes, other.confidence), (same.causes, same.confidence), "{report}");
    assert_eq!(other.changed + other.unanswered, other.requests, "{report}");
    assert!(report.contains("explore of gateway") && report.contains("\n+ "), "{report}");

    // One that ended early ends as early.
    std::fs::remove_file(runs.path().join("004.resp.txt")).unwrap();
    let cut = Recording::of(runs.path(), "flash", "plain");
    assert_eq!((cut.asked.len(), cut.complete), (3, false));
    let (ended, report) = replay(&cut, &sale, &[]);
    assert_eq!((ended.requests, ended.changed, ended.unanswered), (3, 0, 0), "{report}");

    // What had no recorded answer is reported.
    let mut without = recording.clone();
    without.asked.retain(|asked| asked.phase != "explore");
    let (_, report) = replay(&without, &sale, &[]);
    assert!(report.contains("explore of gateway: no recorded answer"), "{report}");
}
