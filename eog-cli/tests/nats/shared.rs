//! What workers share beside the queue: decisions, and what may be spent.

use crate::lab::{Lab, run};
use crate::said::Model;

#[test]
fn workers_share_decisions_and_an_account() {
    let Some(lab) = Lab::new() else { return };
    let model = Model::waiting_at(usize::MAX);
    std::fs::write(lab.path("eog.toml"), model.settings()).unwrap();
    let work = |arguments: &[&str]| {
        let fixed = ["worker", "--until-empty"];
        run(lab.eog(&[&fixed, arguments].concat()).env("OPENAI_API_KEY", "k"))
    };
    lab.submit("one", &[]);
    assert_eq!(work(&["--memory"]).code, Some(0));
    let asked = model.server.take();
    let explored = asked.iter().filter(|asked| asked.phase() == "explore").count();
    assert!(explored > 1, "{explored}");
    lab.submit("two", &[]);
    assert_eq!(work(&["--memory"]).code, Some(0));
    let again = model.server.take();
    assert_eq!(again.iter().filter(|asked| asked.phase() == "explore").count(), 0);
    assert!(lab.fetch("one").0 == lab.fetch("two").0, "the same ledger, with any memory");

    // So many calls are enough for one and a half.
    let most = (asked.len() + asked.len() / 2).to_string();
    let limits = ["--account", "today", "--max-model-calls", &most];
    lab.submit("three", &[]);
    assert_eq!(work(&limits).code, Some(0));
    assert_eq!(lab.listed("three")["status"], "finished");
    lab.submit("four", &[]);
    assert_eq!(work(&limits).code, Some(0));
    let listed = lab.listed("four");
    assert_eq!(listed["status"], "interrupted", "{listed}");
    assert_eq!(model.server.take().len().to_string(), most, "not one call more");
    // Another account is another budget, and it goes on.
    let idle = work(&["--policy", "evidence", "--account", "today"]);
    assert!(idle.err.contains("--account has no effect"), "{idle:?}");
}
