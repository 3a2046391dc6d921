//! `eog stress` of the real binary.

use std::path::Path;

use serde_json::{Value, json};

use crate::common::{FLASH_SALE, Run, command, investigate_json, read, run};

fn stress(bundle: impl AsRef<Path>, arguments: &[&str]) -> Run {
    run!("stress", bundle.as_ref(), arguments)
}

#[test]
fn the_shipped_incident_is_robust_and_the_same_seed_says_the_same() {
    let robust = stress(FLASH_SALE, &[]).exits(0).prints(&[
        "the order does not matter: 40 runs, all with the same result as the baseline\n",
        "same frontier in 40 of 40, same minimum cover in 40 of 40; seed 1\n",
        "delays alone: 8 of 8 ledgers identical\n",
        "40 × frontend\n",
    ]);
    assert_eq!(robust.err, "");
    let run = stress(FLASH_SALE, &["--format", "json"]);
    let found = run.json();
    assert_eq!((&found["format"], &found["version"]), (&json!("eog-stress"), &json!(1)));
    assert_eq!(found["result"]["same_outcome"], 40);
    assert_eq!(stress(FLASH_SALE, &["--format", "json"]).out, run.out);
}

/// A budget that ends the investigation where some orders have asked the cause, and some have not.
const HASTE: [&str; 4] = ["--budget", "6", "--max-delay", "0"];

#[test]
fn the_pair_is_written_and_compared_by_the_other_commands() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("order");
    let out = out.to_str().unwrap();
    let text = stress(FLASH_SALE, &[&HASTE[..], &["--out", out]].concat()).exits(3).prints(&[
        "the order matters: ",
        "delays alone: not tried",
        "THE SMALLEST DIFFERENCE FOUND",
        "ENTITIES THAT DIFFER\n",
        "A budget ended a run shown here: try a larger --budget first.",
    ]);
    // Every command that the text offers does what it says.
    let offered = text.out.lines().filter_map(|line| line.strip_prefix("    eog "));
    let offered: Vec<Vec<&str>> = offered.map(|command| command.split(' ').collect()).collect();
    assert_eq!(offered.len(), 3, "{text:?}");
    for (words, said) in offered.into_iter().zip(["they diverge at entry ", ": ", ": "]) {
        run!(words).exits(0).prints(&[said]);
    }
    // The baseline is what an investigation writes.
    let own = folder.path().join("own");
    investigate_json!(FLASH_SALE, "--budget", "6", "--out", own);
    assert_eq!(read(own.join("ledger.jsonl")), read(Path::new(out).join("baseline.jsonl")));
}

#[test]
fn no_ledgers_are_written_where_all_runs_agree() {
    let folder = tempfile::tempdir().unwrap();
    // Those of an earlier test go, too.
    for name in ["baseline.jsonl", "differing.jsonl"] {
        std::fs::write(folder.path().join(name), "").unwrap();
    }
    let expected = "no run differs, so no ledgers were written";
    run!("stress", FLASH_SALE, "--runs", "3", "--out", folder).exits(0).prints(&[expected]);
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn a_second_test_with_the_same_memory_asks_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let memory = folder.path().join("memory");
    let arguments = ["--runs", "3", "--memory", memory.to_str().unwrap(), "--policy-calls", "1"];
    let [first, second] = [0, 1].map(|_| stress(FLASH_SALE, &arguments));
    assert_eq!((first.code, &first.out), (second.code, &second.out));
    assert!(first.err.starts_with("memory: 0 of 18 decisions were known"), "{first:?}");
    assert!(second.err.starts_with("memory: 18 of 18 decisions were known"), "{second:?}");
}

#[cfg(unix)]
mod with_programs {
    use super::*;
    use crate::common::{alerts_bundle, lines, script, signal, start, until};
    use std::path::PathBuf;

    /// Three services with an alert each, two of which call each other, and a policy.
    fn feud(folder: &Path, policy: &str) -> (PathBuf, String) {
        let bundle = folder.join("bundle");
        let edge = json!({ "source": "a", "target": "b", "relation": "calls",
                           "effects": "target_to_source" });
        let topology = json!({ "entities": ["a", "b", "c"], "edges": [edge] });
        alerts_bundle(&bundle, "feud", &["a", "b", "c"], &topology);
        (bundle, script(folder.join("policy.sh"), policy))
    }

    /// An entity without a message of an origin takes the blame, whatever it was itself. Writes down each call.
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
        let (bundle, policy) = feud(folder.path(), FIRST_COME);
        let options = ["--policy", &policy, "--runs", "20", "--format", "json"];
        let found = stress(&bundle, &options).exits(3).json();
        let result = &found["result"];
        assert_eq!(result["pair"]["factors"], json!(["seeds"]));
        let origins = |outcome: &Value| outcome["frontier"].clone();
        assert_eq!(origins(&result["baseline"]["outcome"]), json!([["a"], ["c"]]));
        assert_eq!(origins(&result["pair"]["differing"]["outcome"]), json!([["b"], ["c"]]));
        assert_eq!(result["delays_alone"]["defects"], json!([]));
        let calls = lines(folder.path().join("policy.sh.calls"));
        assert_eq!(result["questions"]["decisions"]["distinct"], json!(calls));
        stress(&bundle, &options[..4]).prints(&[
            "two seeds are swapped: a (position 1) and b (position 2)\n",
            "Do not rely on either result",
            "b\n    baseline:  healthy, last evaluated in entry 5, with messages from a (origin)\n",
        ]);
    }

    #[test]
    fn agreement_without_a_decision_is_no_success() {
        let folder = tempfile::tempdir().unwrap();
        let (bundle, policy) = feud(folder.path(), "exit 1");
        let expected = "9 evaluations of the baseline failed";
        stress(&bundle, &["--policy", &policy, "--runs", "2"]).exits(1).prints(&[expected]);
    }

    /// Interrupts once the policy has been asked so often.
    fn interrupted_after(calls: usize, policy: &str) -> Run {
        let folder = tempfile::tempdir().unwrap();
        let (bundle, policy) = feud(folder.path(), policy);
        let options = ["--policy", &policy, "--runs", "100000", "--max-delay", "0"];
        let child = start(&mut command!("stress", bundle, options));
        let asked = folder.path().join("policy.sh.calls");
        until("the policy is asked", || lines(&asked) >= calls);
        signal("-INT", &child);
        Run::from(child.wait_with_output().unwrap()).exits(130)
    }

    #[test]
    fn an_interrupted_test_reports_what_was_run() {
        // The eighth question is not one of the baseline, and is never answered.
        let stuck = r#"echo call >> "$0.calls"
[ "$(wc -l < "$0.calls")" -gt 7 ] && exec sleep 600
"#;
        let policy = format!("{stuck}{}", FIRST_COME.replace("echo call >> \"$0.calls\"\n", ""));
        interrupted_after(8, &policy).prints(&["of 100000 runs\n"]);
        let early = interrupted_after(1, "echo call >> \"$0.calls\"; exec sleep 600");
        assert_eq!(early.says(&["interrupted before the first run ended"]).out, "");
    }
}

#[test]
fn where_nothing_was_judged_there_is_no_result() {
    let options = ["--policy", "command:false", "--runs", "2", "--max-delay", "0"];
    let expected = "no result: every evaluation of the baseline failed";
    let text = stress(FLASH_SALE, &options).exits(1).prints(&[expected]).out;
    assert!(!text.contains("the order does not matter"), "{text}");
}
