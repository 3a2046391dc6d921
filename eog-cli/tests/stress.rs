//! `eog stress` of the real binary.

use crate::common;

use std::path::{Path, PathBuf};

use common::{eog, investigate_json};
use serde_json::{Value, json};

fn flash_sale() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale")
}

/// Exit code, standard output, standard error.
fn stress(bundle: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = eog().arg("stress").arg(bundle).args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn the_shipped_incident_is_robust_and_the_same_seed_says_the_same() {
    let (code, text, errors) = stress(&flash_sale(), &[]);
    assert_eq!((code, errors.as_str()), (0, ""));
    for part in [
        "the order does not matter: 40 runs, all with the same result as the baseline\n",
        "same frontier in 40 of 40, same minimum cover in 40 of 40; seed 1\n",
        "delays alone: 8 of 8 ledgers identical\n",
        "40 × frontend\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (_, json, _) = stress(&flash_sale(), &["--format", "json"]);
    let found: Value = serde_json::from_str(&json).unwrap();
    assert_eq!((&found["format"], &found["version"]), (&json!("eog-stress"), &json!(1)));
    assert_eq!(found["result"]["same_outcome"], 40);
    assert_eq!(stress(&flash_sale(), &["--format", "json"]).1, json);
}

/// A budget that ends the investigation where some orders have asked the cause, and some have not.
const HASTE: [&str; 4] = ["--budget", "6", "--max-delay", "0"];

#[test]
fn the_pair_is_written_and_told_apart_by_the_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("order");
    let out = out.to_str().unwrap();
    let (code, text, _) = stress(&flash_sale(), &[&HASTE[..], &["--out", out]].concat());
    assert_eq!(code, 3);
    for part in [
        "the order matters: ",
        "delays alone: not tried",
        "THE SMALLEST DIFFERENCE FOUND",
        "ENTITIES THAT DIFFER\n",
        "A budget ended a run shown here: try a larger --budget first.",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    // Every command that the text offers does what it says.
    let offered: Vec<&str> =
        text.lines().filter_map(|line| line.strip_prefix("    eog ")).collect();
    assert_eq!(offered.len(), 3, "{text}");
    let expected = ["they diverge at entry ", ": ", ": "];
    for (command, said) in offered.iter().zip(expected) {
        let output = eog().args(command.split(' ')).output().unwrap();
        assert!(output.status.success(), "{command}");
        assert!(String::from_utf8_lossy(&output.stdout).contains(said), "{command}");
    }
    // The baseline is what an investigation writes.
    let own = folder.path().join("own");
    investigate_json(&[
        flash_sale().as_os_str(),
        "--budget".as_ref(),
        "6".as_ref(),
        "--out".as_ref(),
        own.as_os_str(),
    ]);
    assert_eq!(
        std::fs::read_to_string(own.join("ledger.jsonl")).unwrap(),
        std::fs::read_to_string(Path::new(out).join("baseline.jsonl")).unwrap()
    );
}

#[test]
fn no_ledgers_are_written_where_all_runs_agree() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().to_str().unwrap();
    // Those of an earlier test go, too.
    for name in ["baseline.jsonl", "differing.jsonl"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let (code, text, _) = stress(&flash_sale(), &["--runs", "3", "--out", out]);
    assert_eq!(code, 0);
    assert!(text.contains("no run differs, so no ledgers were written"), "{text}");
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_second_test_with_the_same_memory_asks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join("memory");
    let arguments = ["--runs", "3", "--memory", memory.to_str().unwrap(), "--policy-calls", "1"];
    let first = stress(&flash_sale(), &arguments);
    let second = stress(&flash_sale(), &arguments);
    assert_eq!((first.0, &first.1), (second.0, &second.1));
    assert!(first.2.starts_with("memory: 0 of 18 decisions were known"), "{}", first.2);
    assert!(second.2.starts_with("memory: 18 of 18 decisions were known"), "{}", second.2);
}

#[cfg(unix)]
mod with_programs {
    use super::*;
    use std::os::unix::fs::PermissionsExt;
    use std::time::{Duration, Instant};

    /// Three services with an alert each; two of them call each other.
    fn feud(folder: &Path) -> PathBuf {
        let bundle = folder.join("bundle");
        std::fs::create_dir(&bundle).unwrap();
        let edge = json!({ "source": "a", "target": "b", "relation": "calls",
                           "effects": "target_to_source" });
        let topology = json!({ "entities": ["a", "b", "c"], "edges": [edge] });
        let manifest =
            json!({ "format": "eog-bundle", "version": 1, "name": "feud", "topology": topology });
        std::fs::write(bundle.join("bundle.json"), manifest.to_string()).unwrap();
        let alert = |name| {
            json!({ "name": "Errors", "entity": name, "signal": "errors",
                    "onset": "2026-01-01T10:05:00Z" })
        };
        let alerts = json!([alert("a"), alert("b"), alert("c")]);
        std::fs::write(bundle.join("alerts.json"), alerts.to_string()).unwrap();
        bundle
    }

    fn script(folder: &Path, text: &str) -> String {
        let path = folder.join("policy.sh");
        std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        format!("command:{}", path.display())
    }

    /// Whoever hears of no origin takes the blame, whatever it was itself. Writes down each call.
    const FIRST_COME: &str = r#"packet=$(cat)
packet=${packet%%'"former":'*}
echo call >> "$0.calls"
id=$(echo "$packet" | grep -o 'alr-[0-9a-f]*' | head -n 1)
case "$packet" in
  *'"label":"origin"'*) echo '{"label": "healthy", "summary": "the other one did it"}' ;;
  *) echo "{\"label\": \"origin\", \"summary\": \"mine\", \"evidence\": [\"$id\"]}" ;;
esac"#;

    #[test]
    fn a_program_that_hangs_on_the_order_is_found_out_and_asked_each_question_once() {
        let folder = tempfile::tempdir().unwrap();
        let (bundle, policy) = (feud(folder.path()), script(folder.path(), FIRST_COME));
        let (code, json, errors) =
            stress(&bundle, &["--policy", &policy, "--runs", "20", "--format", "json"]);
        assert_eq!(code, 3, "{errors}");
        let found: Value = serde_json::from_str(&json).unwrap();
        let result = &found["result"];
        assert_eq!(result["pair"]["factors"], json!(["seeds"]));
        let origins = |outcome: &Value| outcome["frontier"].clone();
        assert_eq!(origins(&result["baseline"]["outcome"]), json!([["a"], ["c"]]));
        assert_eq!(origins(&result["pair"]["differing"]["outcome"]), json!([["b"], ["c"]]));
        assert_eq!(result["delays_alone"]["defects"], json!([]));
        let calls = std::fs::read_to_string(folder.path().join("policy.sh.calls")).unwrap();
        assert_eq!(result["questions"]["decisions"]["distinct"], json!(calls.lines().count()));

        let text = stress(&bundle, &["--policy", &policy, "--runs", "20"]).1;
        for part in [
            "two seeds are swapped: a (position 1) and b (position 2)\n",
            "Do not rely on either result",
            "b\n    baseline:  healthy, last evaluated in entry 5, with messages from a (origin)\n",
        ] {
            assert!(text.contains(part), "{part}\n{text}");
        }
    }

    #[test]
    fn agreement_without_a_decision_is_no_success() {
        let folder = tempfile::tempdir().unwrap();
        let (bundle, policy) = (feud(folder.path()), script(folder.path(), "exit 1"));
        let (code, text, _) = stress(&bundle, &["--policy", &policy, "--runs", "2"]);
        assert_eq!(code, 1);
        assert!(text.contains("9 evaluations of the baseline failed"), "{text}");
    }

    /// Interrupts once the policy has been asked so often; exit code, standard output and error.
    fn interrupted_after(calls: usize, policy: &str) -> (Option<i32>, String, String) {
        let folder = tempfile::tempdir().unwrap();
        let (bundle, policy) = (feud(folder.path()), script(folder.path(), policy));
        let child = eog()
            .arg("stress")
            .arg(&bundle)
            .args(["--policy", &policy, "--runs", "100000", "--max-delay", "0"])
            .stdout(std::process::Stdio::piped())
            .stderr(std::process::Stdio::piped())
            .spawn()
            .unwrap();
        let asked = folder.path().join("policy.sh.calls");
        let patience = Instant::now() + Duration::from_secs(60);
        while std::fs::read_to_string(&asked).unwrap_or_default().lines().count() < calls {
            assert!(Instant::now() < patience, "the policy was never asked");
            std::thread::sleep(Duration::from_millis(10));
        }
        let pid = child.id().to_string();
        assert!(
            std::process::Command::new("kill").args(["-INT", &pid]).status().unwrap().success()
        );
        let output = child.wait_with_output().unwrap();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    #[test]
    fn an_interrupted_test_reports_what_was_run() {
        // The eighth question is not one of the baseline, and is never answered.
        let stuck = r#"echo call >> "$0.calls"
[ "$(wc -l < "$0.calls")" -gt 7 ] && exec sleep 600
"#;
        let policy = format!("{stuck}{}", FIRST_COME.replace("echo call >> \"$0.calls\"\n", ""));
        let (code, text, _) = interrupted_after(8, &policy);
        assert_eq!(code, Some(130));
        assert!(text.contains("of 100000 runs\n"), "{text}");

        let (code, text, errors) =
            interrupted_after(1, "echo call >> \"$0.calls\"; exec sleep 600");
        assert_eq!((code, text.as_str()), (Some(130), ""));
        assert!(errors.contains("interrupted before the first run ended"), "{errors}");
    }
}

#[test]
fn where_nothing_was_judged_there_is_no_result() {
    let options = ["--policy", "command:false", "--runs", "2", "--max-delay", "0"];
    let (code, text, errors) = stress(&flash_sale(), &options);
    assert_eq!(code, 1, "{errors}");
    assert!(text.contains("no result: every evaluation of the baseline failed"), "{text}");
    assert!(!text.contains("the order does not matter"), "{text}");
}
