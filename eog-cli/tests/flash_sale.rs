//! The shipped incident through the real binary: what README promises.

use crate::common;

use std::fs;
use std::path::{Path, PathBuf};

use common::{eog, investigate_json};
use serde_json::{Value, json};

fn bundle() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale")
}

/// A copy of the bundle in which one file was changed.
fn variant(file: &str, edit: impl Fn(&str) -> String) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for entry in fs::read_dir(bundle()).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_owned();
        let text = fs::read_to_string(&path).unwrap();
        let text = if name == file { edit(&text) } else { text };
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

/// Exit code, confidence, origins that explain an alert, and the evaluated entities in order.
fn diagnose(folder: &Path, options: &[&str]) -> (i32, String, Vec<String>, Vec<String>) {
    let out = tempfile::tempdir().unwrap();
    let mut arguments = vec![folder.as_os_str(), "--out".as_ref(), out.path().as_os_str()];
    arguments.extend(options.iter().map(|option| -> &std::ffi::OsStr { option.as_ref() }));
    let (code, result, _) = investigate_json(&arguments);
    let conclusion = &result["conclusion"];
    let strings = |value: &Value| -> Vec<String> {
        value.as_array().unwrap().iter().map(|v| v.as_str().unwrap().to_owned()).collect()
    };
    let groups = conclusion["frontier"].as_array().unwrap();
    let linked = groups.iter().filter(|group| group["covers"] != json!([]));
    let origins = linked.flat_map(|group| strings(&group["origins"])).collect();
    let ledger = fs::read_to_string(out.path().join("ledger.jsonl")).unwrap();
    let evaluated = ledger.lines().filter_map(|line| {
        let entry: Value = serde_json::from_str(line).unwrap();
        entry["body"]["evaluated"]["entity"].as_str().map(str::to_owned)
    });
    (code, conclusion["confidence"].as_str().unwrap().to_owned(), origins, evaluated.collect())
}

#[test]
fn the_sale_is_found_from_the_alert() {
    let (code, confidence, origins, evaluated) = diagnose(&bundle(), &[]);
    assert_eq!((code, confidence.as_str()), (0, "confirmed"));
    assert_eq!(origins, ["frontend"]);
    assert_eq!(evaluated[0], "gateway");
    for entity in ["processor", "database", "frontend"] {
        assert!(evaluated.iter().any(|one| one == entity), "{entity}: {evaluated:?}");
    }
    assert!(evaluated.len() <= 20, "{evaluated:?}");
}

/// Within the hour that the metrics cover, a change may lie eight minutes before the harm by chance.
/// Nothing else would be missing.
#[test]
fn only_the_stated_record_of_changes_or_a_longer_one_of_metrics_confirms_the_sale() {
    let (_, result, _) = investigate_json(&[bundle().as_os_str()]);
    let group = &result["conclusion"]["frontier"][0];
    let chance = json!({ "changes": 1, "delay_s": 480, "span_s": 10_800, "basis_points": 444 });
    assert_eq!(group["chance"], chance);

    let not_stated = |text: &str| {
        let mut manifest: Value = serde_json::from_str(text).unwrap();
        manifest.as_object_mut().unwrap().remove("changes_recorded").unwrap();
        manifest.to_string()
    };
    let folder = variant("bundle.json", not_stated);
    let (_, result, _) = investigate_json(&[folder.path().as_os_str()]);
    let group = &result["conclusion"]["frontier"][0];
    let chance = json!({ "changes": 1, "delay_s": 480, "span_s": 3601, "basis_points": 1333 });
    assert_eq!(group["doubts"], json!([{ "by_chance": chance }]));
    assert_eq!(group["harm"]["entity"], "gateway");
    assert_eq!(group["harm"]["onset"]["latest"], "2026-03-20T12:08:00Z");

    // Two hours more, as usual: the half-hour before the sale once more for each half-hour.
    let metrics = folder.path().join("metrics.csv");
    let text = fs::read_to_string(&metrics).unwrap();
    let longer = {
        let (header, rows) = text.split_once('\n').unwrap();
        let begins = [("09", 30), ("10", 0), ("10", 30), ("11", 0)];
        let earlier = begins.into_iter().flat_map(|(hour, begin)| {
            let usual = rows.lines().filter(|row| row.starts_with("2026-03-20T11:"));
            usual.map(move |row| {
                let minute = row[14..16].parse::<u32>().unwrap() - 30 + begin;
                format!("2026-03-20T{hour}:{minute:02}{}\n", &row[16..])
            })
        });
        format!("{header}\n{}{rows}", earlier.collect::<String>())
    };
    fs::write(metrics, longer).unwrap();
    let (code, confidence, origins, _) = diagnose(folder.path(), &[]);
    assert_eq!((code, confidence.as_str()), (0, "confirmed"));
    assert_eq!(origins, ["frontend"]);
}

#[test]
fn without_messages_the_sale_is_found_as_well() {
    for options in [&["--no-messages"][..], &["--no-messages", "--profile", "paper"]] {
        let (code, confidence, origins, _) = diagnose(&bundle(), options);
        assert_eq!((code, confidence.as_str()), (0, "confirmed"), "{options:?}");
        assert_eq!(origins, ["frontend"], "{options:?}");
    }
}

#[test]
fn without_traffic_metrics_the_sale_is_not_named() {
    let folder = variant("metrics.csv", |text| {
        let kept = text.lines().filter(|line| !line.contains(",traffic,"));
        kept.collect::<Vec<_>>().join("\n") + "\n"
    });
    let (code, confidence, origins, _) = diagnose(folder.path(), &[]);
    assert_eq!((code, confidence.as_str()), (0, "likely"));
    assert_eq!(origins, ["processor"]);
}

#[test]
fn without_the_sale_nothing_is_confirmed() {
    let folder = variant("changes.json", |text| {
        let mut changes: Vec<Value> = serde_json::from_str(text).unwrap();
        changes.retain(|change| change["signal"] != "demand");
        serde_json::to_string(&changes).unwrap()
    });
    let (code, confidence, origins, _) = diagnose(folder.path(), &[]);
    assert_eq!((code, confidence.as_str()), (0, "likely"));
    assert_eq!(origins, ["processor"], "where the time is lost");
}

/// Prints what both profiles do with both examples; the real recording only where it is present.
#[test]
fn both_profiles_on_both_examples() {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let recording = data.join("scenario-2-partial");
    let architecture = data.join("architecture.json");
    let mut examples = vec![("flash sale", bundle(), vec![], "frontend")];
    if recording.is_dir() {
        let options = vec!["--architecture", architecture.to_str().unwrap()];
        examples.push(("recording", recording, options, "otel-demo/ConfigMap/flagd-config"));
    } else {
        eprintln!("skipped: no recording at {}", data.display());
    }
    println!("example     profile  evaluations  frontier");
    for (name, folder, options, culprit) in examples {
        for profile in ["default", "paper"] {
            let mut options = options.clone();
            options.extend(["--profile", profile]);
            let (code, confidence, origins, evaluated) = diagnose(&folder, &options);
            println!("{name:<11} {profile:<8} {:<12} {origins:?} ({confidence})", evaluated.len());
            // Packets of the paper's profile do not say which alerts an entity can reach.
            if (name, profile) != ("recording", "paper") {
                assert_eq!((code, origins), (0, vec![culprit.to_owned()]));
            }
        }
    }
}

#[test]
fn every_format_is_what_it_says() {
    let print = |format: &str| {
        let output = eog().arg("investigate").arg(bundle()).args(["--format", format]).output();
        let output = output.unwrap();
        assert!(output.status.success());
        assert!(output.stderr.is_empty(), "{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8(output.stdout).unwrap()
    };
    let text = print("text");
    for part in ["ROOT CAUSE (confirmed)", "HOW IT SPREAD", "└─ gateway  ⚠ HttpErrorRate"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(!text.contains('\u{1b}'), "plain when not a terminal");
    assert!(print("dot").starts_with("digraph eog {"));
    assert!(print("dot").contains(" -> n"), "claims are edges");
    assert!(print("mermaid").starts_with("flowchart LR\n"));
    assert!(print("markdown").starts_with("# "));
    let json: Value = serde_json::from_str(&print("json")).unwrap();
    assert_eq!((&json["format"], &json["version"]), (&json!("eog-result"), &json!(1)));
}

#[test]
fn colours_are_for_terminals_unless_asked_for() {
    let printed = |options: &[&str]| {
        let output = eog().args(options).arg("investigate").arg(bundle()).output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    };
    let plain = printed(&[]);
    assert!(!plain.contains('\u{1b}'));
    assert_eq!(printed(&["--color", "never"]), plain);
    let coloured = printed(&["--color", "always"]);
    assert!(coloured.contains("\u{1b}["), "{coloured}");
    let (code, _, errors) = {
        let output = eog().args(["--color", "blue", "doctor"]).output().unwrap();
        (output.status.code(), output.stdout, String::from_utf8(output.stderr).unwrap())
    };
    assert_eq!(code, Some(2));
    assert!(errors.contains("auto, always, never"), "{errors}");
}

#[test]
fn readme_shows_what_the_first_command_prints() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    let readme = fs::read_to_string(root.join("README.md")).unwrap();
    assert!(readme.contains("$ cargo run -- investigate examples/flash-sale"));
    for format in ["text", "mermaid"] {
        let mut command = eog();
        command.current_dir(&root).args(["investigate", "examples/flash-sale", "--format", format]);
        let printed = String::from_utf8(command.output().unwrap().stdout).unwrap();
        let block = format!("```{format}\n{printed}```\n");
        assert!(readme.contains(&block), "README.md should hold this block:\n{block}");
    }
}

#[test]
fn the_written_files_are_whole() {
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("new/result");
    let status =
        eog().arg("investigate").arg(bundle()).arg("--out").arg(&folder).output().unwrap().status;
    assert!(status.success());
    let mut names: Vec<String> = fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect();
    names.sort();
    assert_eq!(
        names,
        ["agent_output.json", "graph.dot", "ledger.jsonl", "report.html", "report.md"]
    );

    let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
    let ledger =
        eog::Ledger::<eog::controller::EntryBody>::from_json_lines(&read("ledger.jsonl")).unwrap();
    assert!(ledger.evaluations().count() >= 7);

    // The schema of the paper's appendix A.3, strictly.
    let text = json!({ "type": "string" });
    let object = |properties: Value| {
        let required: Vec<&String> = properties.as_object().unwrap().keys().collect();
        json!({ "type": "object", "required": required, "properties": properties,
                "additionalProperties": false })
    };
    let list = |items: Value| json!({ "type": "array", "items": items });
    let flag = json!({ "type": "boolean" });
    let schema = object(json!({
        "entities": list(object(json!({ "name": text, "contributing_factor": flag,
                                        "reasoning": text, "evidence": text }))),
        "propagations": list(object(json!({ "source": text, "target": text,
                                            "condition": text, "effect": text }))),
        "alerts_explained": list(object(json!({ "alert": text, "explanation": text,
                                                "explained": flag }))),
    }));
    let output: Value = serde_json::from_str(&read("agent_output.json")).unwrap();
    jsonschema::validate(&schema, &output).unwrap();
    let factors: Vec<&Value> = output["entities"]
        .as_array()
        .unwrap()
        .iter()
        .filter(|entity| entity["contributing_factor"] == true)
        .map(|entity| &entity["name"])
        .collect();
    assert_eq!(factors, ["frontend"]);
    assert!(read("report.md").starts_with("# Root causes: flash sale"));
}

#[cfg(unix)]
mod with_programs {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    fn script(folder: &Path, text: &str) -> String {
        let path = folder.join("policy.sh");
        fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(0o755)).unwrap();
        format!("command:{}", path.display())
    }

    #[test]
    fn a_program_can_be_the_policy() {
        let folder = tempfile::tempdir().unwrap();
        // Reads the packet, and finds everything healthy.
        let policy = script(
            folder.path(),
            r#"grep -q '"entity"' && echo '{"label": "healthy", "summary": "looks fine to me"}'"#,
        );
        let (code, result, _) =
            investigate_json(&[bundle().as_os_str(), "--policy".as_ref(), policy.as_ref()]);
        assert_eq!(code, 3);
        assert_eq!(result["beliefs"]["gateway"]["label"], "healthy");
        assert_eq!(result["beliefs"]["gateway"]["summary"], "looks fine to me");
    }

    #[test]
    fn a_slow_program_is_stopped_and_recorded() {
        let folder = tempfile::tempdir().unwrap();
        let policy = script(folder.path(), "sleep 600");
        let (code, result, _) = investigate_json(&[
            bundle().as_os_str(),
            "--policy".as_ref(),
            policy.as_ref(),
            "--policy-timeout".as_ref(),
            "0.2".as_ref(),
        ]);
        assert_eq!(code, 1, "nothing was decided");
        assert!(result["failures"][0].as_str().unwrap().contains("no decision in time"));
    }

    #[test]
    fn arguments_reach_the_program_and_refusals_are_said() {
        let folder = tempfile::tempdir().unwrap();
        let policy = script(folder.path(), r#"echo "{\"label\": \"$1\", \"summary\": \"$2\"}""#);
        let (code, result, _) = investigate_json(&[
            bundle().as_os_str(),
            "--policy".as_ref(),
            policy.as_ref(),
            "--policy-arg".as_ref(),
            "origin".as_ref(),
            "--policy-arg".as_ref(),
            "-- just so".as_ref(),
        ]);
        assert_eq!(code, 3);
        assert_eq!(result["beliefs"]["gateway"]["summary"], "-- just so");
        assert!(result["refusals"][0].as_str().unwrap().contains("without citing evidence"));
    }

    #[test]
    fn signals_end_it_with_what_was_found_so_far() {
        for signal in ["-INT", "-TERM", "-HUP"] {
            interrupt_with(signal);
        }
    }

    fn interrupt_with(signal: &str) {
        let folder = tempfile::tempdir().unwrap();
        let policy = script(folder.path(), "sleep 600 & echo $! > \"$0.asked\"; wait");
        let out = folder.path().join("out");
        let child = eog()
            .arg("investigate")
            .arg(bundle())
            .args(["--policy", &policy, "--out"])
            .arg(&out)
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let asked = folder.path().join("policy.sh.asked");
        let patience = Instant::now() + Duration::from_secs(60);
        let child_of_policy = loop {
            match fs::read_to_string(&asked) {
                Ok(text) if text.ends_with('\n') => break text.trim().to_owned(),
                _ if Instant::now() > patience => panic!("the policy was never asked"),
                _ => std::thread::sleep(Duration::from_millis(10)),
            }
        };
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill").args([signal, &pid]).status().unwrap().success()
        );
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(130));
        assert!(String::from_utf8_lossy(&output.stdout).contains("interrupted"));
        let ledger = fs::read_to_string(out.join("ledger.jsonl")).unwrap();
        assert!(eog::Ledger::<eog::controller::EntryBody>::from_json_lines(&ledger).is_ok());
        while is_alive(&child_of_policy) {
            assert!(Instant::now() < patience, "process {child_of_policy} outlived eog");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    fn is_alive(pid: &str) -> bool {
        let mut probe = std::process::Command::new("kill");
        probe.args(["-0", pid]).stderr(std::process::Stdio::null()).status().unwrap().success()
    }
}
