//! A program that judges.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::json;

use super::planted::{Planted, Written, planted, write_bundle};

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

/// Half of the texts stand in decisions, half on standard error of a program that fails.
#[test]
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
    let program = judge(dir.path(), &all);
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
