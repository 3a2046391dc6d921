//! A bundle, and everything that commands write of it.

use super::planted::{Written, planted, planted_bundle};
use crate::common::command;

#[test]
fn no_secret_of_a_bundle_is_written_anywhere() {
    let all = planted();
    assert!(all.len() > 100, "{}", all.len());
    let dir = planted_bundle(&all);
    let path = |name: &str| dir.path().join(name);
    let (out, ledger) = (path("out"), path("out/ledger.jsonl"));

    let mut written = Written::default();
    let (bundle, journal) = (path("bundle"), path("run.journal"));
    let options = ["--out", out.to_str().unwrap(), "--journal", journal.to_str().unwrap()];
    written.run(&mut command!("investigate", bundle, options), 3);
    for format in ["text", "markdown", "json"] {
        written.run(&mut command!("report", ledger, "--format", format), 3);
    }
    written.run(&mut command!("explain", ledger, "service-0"), 3);
    let entity = ["--entity", "service-1"];
    written.run(&mut command!("tool", "get_context_contract", bundle, entity), 3);
    written.folder(&out);
    written.file(&journal);
    assert!(written.0.len() > 12, "{}", written.0.len());
    written.check(&all, 1);
}
