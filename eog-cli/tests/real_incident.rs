//! The real binary on a real, noisy, partial recording, and on mutants of it. The recording lies
//! beside the checkout; the tests skip, and say so, where it is absent.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::common::{
    Run, causes, command, copy_tree, factors, in_shell, investigate_json, read, recording, run,
};

const CULPRIT: &str = "otel-demo/ConfigMap/flagd-config";
const CHANGE_TIME: &str = "2025-12-15T17:46:18Z";

/// A copy of the recording that a test may change.
struct Mutant {
    folder: tempfile::TempDir,
}

impl Mutant {
    fn new() -> Option<Self> {
        let (snapshot, architecture) = recording()?;
        let folder = tempfile::tempdir().unwrap();
        copy_tree(&snapshot, folder.path().join("snapshot"));
        std::fs::copy(architecture, folder.path().join("architecture.json")).unwrap();
        Some(Self { folder })
    }

    /// One in which some object dumps are others.
    fn of(edit: impl FnMut(&mut Vec<Dump>)) -> Option<Self> {
        let mutant = Self::new()?;
        mutant.edit_objects(edit);
        Some(mutant)
    }

    fn snapshot(&self) -> PathBuf {
        self.folder.path().join("snapshot")
    }

    /// Diagnoses it: these are the causes.
    fn blames(&self, expected: &[&str]) -> Value {
        let architecture = self.folder.path().join("architecture.json");
        let (code, result, _) = investigate_json!(self.snapshot(), "--architecture", architecture);
        assert_eq!(causes(&result), expected, "{:#}", result["conclusion"]);
        assert_eq!(code, if expected.is_empty() { 3 } else { 0 });
        result
    }

    /// Rewrites the object dumps row by row.
    fn edit_objects(&self, edit: impl FnMut(&mut Vec<Dump>)) {
        self.edit_file("k8s_objects_raw.tsv", edit);
    }

    fn edit_file(&self, name: &str, mut edit: impl FnMut(&mut Vec<Dump>)) {
        let path = self.snapshot().join(name);
        let text = read(&path);
        let mut reader = csv::ReaderBuilder::new().delimiter(b'\t').from_reader(text.as_bytes());
        let header = reader.headers().unwrap().clone();
        let body = header.iter().position(|column| column == "Body").unwrap();
        let mut dumps: Vec<Dump> = reader
            .records()
            .map(|record| {
                let cells: Vec<String> = record.unwrap().iter().map(str::to_owned).collect();
                Dump { object: serde_json::from_str(&cells[body]).unwrap(), cells }
            })
            .collect();
        edit(&mut dumps);
        let mut writer = csv::WriterBuilder::new().delimiter(b'\t').from_path(&path).unwrap();
        writer.write_record(&header).unwrap();
        for mut dump in dumps {
            dump.cells[body] = dump.object.to_string();
            writer.write_record(&dump.cells).unwrap();
        }
        writer.flush().unwrap();
    }
}

/// One observation of one object.
#[derive(Clone)]
struct Dump {
    cells: Vec<String>,
    object: Value,
}

impl Dump {
    /// The object itself; some recordings wrap it.
    fn inner(&mut self) -> &mut Value {
        if self.object.get("object").is_some() {
            &mut self.object["object"]
        } else {
            &mut self.object
        }
    }

    fn identity(&mut self) -> (String, String) {
        let object = self.inner();
        (object["kind"].to_string(), object["metadata"]["name"].to_string())
    }

    fn time(&self) -> &str {
        &self.cells[0]
    }
}

/// Whether causal claims lead from one entity to another.
fn leads(result: &Value, from: &str, to: &str) -> bool {
    let claims = result["causal_claims"].as_array().unwrap();
    let mut reached = vec![from.to_owned()];
    let mut next = 0;
    while let Some(entity) = reached.get(next).cloned() {
        next += 1;
        for claim in claims.iter().filter(|claim| claim["cause"] == entity.as_str()) {
            let effect = claim["effect"].as_str().unwrap().to_owned();
            if !reached.contains(&effect) {
                reached.push(effect);
            }
        }
    }
    reached.iter().any(|entity| entity == to)
}

/// What `kubectl get -o json` printed of this cluster at the end, and its active alerts.
#[test]
fn a_dump_of_the_cluster_is_imported_and_diagnosed() {
    let Some(mutant) = Mutant::new() else { return };
    let dump = tempfile::tempdir().unwrap();
    let (objects, events) = (dump.path().join("objects.json"), dump.path().join("events.json"));
    for (file, written) in [("k8s_objects_raw.tsv", &objects), ("k8s_events_raw.tsv", &events)] {
        let mut last = BTreeMap::new();
        mutant.edit_file(file, |dumps| {
            last.extend(dumps.iter_mut().map(|dump| (dump.identity(), dump.inner().clone())));
        });
        let items: Vec<Value> = last.into_values().collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        std::fs::write(written, list.to_string()).unwrap();
    }
    let alerts = std::fs::read_dir(mutant.snapshot().join("alerts")).unwrap().flatten();
    let is_answer = |path: &PathBuf| path.to_string_lossy().contains("in_alerting_state");
    let alerts = alerts.map(|entry| entry.path()).find(is_answer).unwrap();
    let out = dump.path().join("bundle");
    run!("import", out, objects, events, alerts)
        .exits(0)
        .prints(&["Kubernetes objects: 4 objects"]);
    let (code, result, _) = investigate_json!(out);
    assert_eq!((causes(&result), code), (vec![CULPRIT.to_owned()], 0), "{result:#}");
}

#[test]
fn the_changed_flag_is_the_sole_contributing_factor() {
    let Some((snapshot, architecture)) = recording() else { return };
    let out = tempfile::tempdir().unwrap();
    let (code, result, _) =
        investigate_json!(snapshot, "--architecture", architecture, "--out", out);
    assert_eq!(code, 0);
    assert_eq!(causes(&result), [CULPRIT]);
    assert_eq!(result["conclusion"]["confidence"], "likely");
    assert!(leads(&result, CULPRIT, "otel-demo/Service/frontend-proxy"), "{result:#}");
    assert!(leads(&result, CULPRIT, "otel-demo/Service/fraud-detection"), "{result:#}");

    let cited = result["beliefs"][CULPRIT]["evidence"].as_array().unwrap();
    let change =
        result["evidence"].as_array().unwrap().iter().find(|finding| {
            cited.contains(&finding["id"]) && finding["content"]["kind"] == "change"
        });
    let content = &change.expect("the cited change")["content"];
    assert!(content["change"]["path"].as_str().unwrap().contains("cartFailure"), "{content:#}");
    assert!(content["change"]["old"].as_str().unwrap().contains("off"));
    assert!(content["change"]["new"].as_str().unwrap().contains("on"));
    assert_eq!(content["time"]["at"], CHANGE_TIME);

    // The flapping alert began, and began again, before the change: nothing that is on record
    // explains it, although claims lead there.
    let anomalies = result["anomalies"].as_array().unwrap();
    let flapping =
        anomalies.iter().position(|a| a["entity"] == "otel-demo/Service/frontend-proxy").unwrap();
    assert_eq!(anomalies[flapping]["onset"], "2025-12-15T17:24:50.488970782Z");
    assert_eq!(anomalies[flapping]["renewed"], json!(["2025-12-15T17:43:50.488970782Z"]));
    assert_eq!(result["conclusion"]["unexplained"], json!([flapping]));
    assert_eq!(result["conclusion"]["frontier"][0]["covers"], json!([1 - flapping]));
    assert_eq!(result["conclusion"]["earlier_onset"], json!([]));

    assert_eq!(factors(out.path().join("agent_output.json")), [CULPRIT]);
    for file in ["ledger.jsonl", "graph.dot", "report.md"] {
        assert!(std::fs::metadata(out.path().join(file)).unwrap().len() > 0, "{file}");
    }
}

#[test]
fn the_flag_is_found_without_an_architecture_file() {
    let Some((snapshot, _)) = recording() else { return };
    let (code, result, _) = investigate_json!(snapshot);
    assert_eq!((code, causes(&result)), (0, vec![CULPRIT.to_owned()]));
    assert!(leads(&result, CULPRIT, "otel-demo/Service/fraud-detection"));
}

#[test]
fn an_unconnected_decoy_changes_nothing() {
    let mutant = Mutant::of(|dumps| {
        let mut decoys = dumps.clone();
        decoys.retain_mut(|dump| dump.identity().0.contains("ConfigMap"));
        for mut decoy in decoys {
            let late = decoy.time() > "2025-12-15 17:46";
            let object = decoy.inner();
            object["metadata"]["name"] = json!("release-notes");
            object["metadata"]["uid"] = json!("00000000-0000-4000-8000-000000000001");
            object["data"] = json!({ "banner": if late { "on" } else { "off" } });
            if late {
                object["metadata"]["managedFields"][1]["time"] = json!("2025-12-15T17:46:40Z");
            }
            dumps.push(decoy);
        }
    });
    let Some(mutant) = mutant else { return };
    mutant.blames(&[CULPRIT]);
}

#[test]
fn without_changes_the_result_is_inconclusive() {
    let mutant = Mutant::of(|dumps| {
        let mut first: Vec<((String, String), Value)> = Vec::new();
        for dump in dumps {
            let identity = dump.identity();
            match first.iter().find(|(seen, _)| *seen == identity) {
                Some((_, object)) => dump.object = object.clone(),
                None => first.push((identity, dump.object.clone())),
            }
        }
    });
    let Some(mutant) = mutant else { return };
    let result = mutant.blames(&[]);
    assert_eq!(result["conclusion"]["confidence"], "inconclusive");
    assert!(!result["conclusion"]["ranking"].as_array().unwrap().is_empty());
}

#[test]
fn a_change_after_every_alert_is_not_blamed() {
    let mutant = Mutant::of(|dumps| {
        // Every object keeps its early state until the last dump; changes then bear a later time.
        let mut first: Vec<((String, String), Value)> = Vec::new();
        for dump in dumps {
            let identity = dump.identity();
            let known =
                first.iter().find(|(seen, _)| *seen == identity).map(|(_, object)| object.clone());
            match known {
                None => first.push((identity, dump.object.clone())),
                Some(object) if dump.time() < "2025-12-15 17:53" => dump.object = object,
                Some(_) => {
                    let text = dump.object.to_string();
                    let text = text
                        .replace("2025-12-15T17:46:", "2025-12-15T17:53:")
                        .replace("17:51:52", "17:53:12");
                    dump.object = serde_json::from_str(&text).unwrap();
                }
            }
        }
    });
    let Some(mutant) = mutant else { return };
    mutant.blames(&[]);
}

#[test]
fn a_change_that_says_it_was_written_after_every_alert_is_not_blamed() {
    let mutant = Mutant::of(|dumps| {
        for dump in dumps {
            let text = dump.object.to_string().replace("2025-12-15T17:46:", "2025-12-15T17:59:");
            dump.object = serde_json::from_str(&text).unwrap();
        }
    });
    let Some(mutant) = mutant else { return };
    mutant.blames(&[]);
}

#[test]
fn renaming_everything_renames_the_answer() {
    // Longer names first, so that no name is rewritten as part of another.
    for (renamed, culprit) in [
        (
            ["edge-gate", "zz-switch", "portal", "basket", "swindle-check", "shop-prod"],
            "shop-prod/ConfigMap/zz-switch-config",
        ),
        (
            ["zulu", "aaron", "yankee", "xray", "bravo", "november"],
            "november/ConfigMap/aaron-config",
        ),
    ] {
        let Some(mutant) = Mutant::new() else { return };
        let names = ["frontend-proxy", "flagd", "frontend", "cart", "fraud-detection", "otel-demo"];
        rename_tree(mutant.folder.path(), &|text| {
            names
                .iter()
                .zip(renamed)
                .fold(text.to_owned(), |text, (name, new)| text.replace(name, new))
        });
        let result = mutant.blames(&[culprit]);
        let [proxy, _, _, _, fraud, namespace] = renamed;
        assert!(leads(&result, culprit, &format!("{namespace}/Service/{proxy}")));
        assert!(leads(&result, culprit, &format!("{namespace}/Service/{fraud}")));
    }
}

fn rename_tree(folder: &Path, rename: &impl Fn(&str) -> String) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            rename_tree(&path, rename);
            continue;
        }
        let text = rename(&std::fs::read_to_string(&path).unwrap());
        let name = rename(path.file_name().unwrap().to_str().unwrap());
        std::fs::remove_file(&path).unwrap();
        std::fs::write(path.with_file_name(name), text).unwrap();
    }
}

#[test]
fn the_same_recording_gives_the_same_bytes() {
    let Some((snapshot, architecture)) = recording() else { return };
    let run = || run!("investigate", snapshot, "--architecture", architecture, "--format", "json");
    assert_eq!(run().out, run().out);
}

#[test]
fn every_command_that_the_report_prints_shows_its_evidence() {
    let Some(incident) = Mutant::new() else { return };
    let folder = incident.folder.path();
    let options = ["--architecture", "architecture.json", "--verbose"];
    let report = Run::of(command!("investigate", "snapshot", options).current_dir(folder)).out;
    let commands = report.lines().map(str::trim).filter(|line| line.starts_with("eog tool "));
    let commands: Vec<&str> = commands.collect();
    assert!(!commands.is_empty(), "{report}");
    for command in commands {
        let shown = in_shell(command, folder).exits(0).json();
        assert_eq!(shown["finding"]["id"], command.split(' ').nth(4).unwrap(), "{command}");
    }
}
