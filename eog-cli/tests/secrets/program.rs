//! Programs that judge.

use std::fs;
use std::path::{Path, PathBuf};

use serde_json::json;

use super::planted::{Planted, Written, calm, planted, planted_bundle};
use crate::common::{command, read};

/// A program that says all of the texts: half of them in decisions, half on standard error as it fails.
pub(crate) fn judge(dir: &Path, all: &[Planted]) -> PathBuf {
    // By the name of the entity: a decision, or words and an exit code.
    let answers = dir.join("answers");
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
    let program = dir.join("judge.sh");
    fs::write(&program, script).unwrap();
    fs::rename(&answers, dir.join("judge.sh.answers")).unwrap();
    program
}

/// Has a program judge a bundle: what it said and wrote, and the ledger.
pub(crate) fn judged(dir: &Path, program: &Path) -> (Written, String) {
    let (out, journal) = (dir.join("out"), dir.join("run.journal"));
    let policy = ["--policy", "command:/bin/sh", "--policy-arg"];
    let mut command = command!("investigate", dir.join("bundle"), policy, program, "--no-fsync");
    command.arg("--out").arg(&out).arg("--journal").arg(&journal);
    let mut written = Written::default();
    written.run(&mut command, 4);
    written.folder(&out);
    written.file(&journal);
    (written, read(out.join("ledger.jsonl")))
}

/// Half of the texts stand in decisions, half on standard error of a program that fails.
#[test]
fn no_secret_of_a_program_that_judges_is_written_anywhere() {
    let all = planted();
    let dir = planted_bundle(&calm(&all));
    let (written, ledger) = judged(dir.path(), &judge(dir.path(), &all));
    let masked = ledger.matches("[masked]").count();
    assert!(masked > all.len() / 2, "the texts themselves are there: {masked}");
    assert!(ledger.contains("exit status: 1"), "failures are recorded");
    written.check(&all, 0);
}
