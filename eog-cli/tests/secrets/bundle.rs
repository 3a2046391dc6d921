//! A bundle, and everything that commands write of it.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::planted::{Written, planted, write_bundle};

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
