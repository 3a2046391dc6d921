//! Cases that a model has judged, investigated again.

use super::lab::{Lab, Run, flash_sale};
use super::reader::{Start, read};
use super::server::{Asked, Server};
use crate::common::copy_tree;

fn checked(lab: &Lab, options: &[&str]) -> Run {
    lab.run(&[&["cases", "check", "-v"], options].concat())
}

#[test]
fn recorded_answers_are_used_until_the_prompts_change() {
    let server = Server::start(|asked: &Asked| read(asked, Start::Alerts));
    let lab = Lab::at(&server, "");
    // The model chooses the start, too.
    let run = lab.investigate(&["--out", "out"]);
    assert_eq!(run.code, Some(0), "{}", run.said);
    let sale = flash_sale();
    let closed = lab.run(&["close", "out", sale.to_str().unwrap(), "--cause", "frontend"]);
    assert!(
        closed.printed.contains("answers from the ledger"),
        "{} {}",
        closed.printed,
        closed.said
    );
    server.take();

    let same = checked(&lab, &[]);
    assert_eq!((same.code, server.take().len()), (Some(0), 0), "{} {}", same.printed, same.said);
    assert!(same.printed.contains("1 identical"), "{}", same.printed);

    assert_eq!(lab.run(&["prompt", "export", "own"]).code, Some(0));
    let template = lab.path("own/explore.system.hbs");
    let text = std::fs::read_to_string(&template).unwrap();
    std::fs::write(&template, format!("{text}\nThink twice.\n")).unwrap();
    let other = checked(&lab, &["--prompts", "own"]);
    assert_eq!((other.code, server.take().len()), (Some(1), 0), "{} {}", other.printed, other.said);
    assert!(other.printed.contains("the prompts have changed since"), "{}", other.printed);
    let again = checked(&lab, &["--prompts", "own", "--policy", "llm"]);
    assert_eq!(again.code, Some(0), "{} {}", again.printed, again.said);
    assert!(!server.take().is_empty(), "the model is asked again");
    assert!(again.printed.contains("judged by llm:openai/test, prompts "), "{}", again.printed);
}

#[test]
fn what_a_suite_asked_a_model_is_not_asked_again() {
    let server = Server::start(|asked: &Asked| read(asked, Start::Alerts));
    let lab = Lab::at(&server, "");
    copy_tree(flash_sale(), lab.path("suite/sale"));
    std::fs::write(lab.path("suite/sale.truth.json"), r#"{"causes": ["frontend"]}"#).unwrap();
    for (controller, runs) in [("eog", "2"), ("linear", "2")] {
        let model = ["--model", "openai/test", "--bootstrap", "rules", "--finalize", "rules"];
        let more = ["--controller", controller, "--runs", runs, "--memory", controller];
        let suite = || lab.run(&[&["eval", "suite", "suite"], &model[..], &more[..]].concat());
        let first = suite();
        assert_eq!(first.code, Some(0), "{controller}: {}", first.said);
        for part in ["Pass@2", "Majority@2", "models: median "] {
            assert!(first.printed.contains(part), "{controller}: {}", first.printed);
        }
        assert!(!server.take().is_empty(), "{controller}");
        let again = suite();
        assert_eq!((again.code, server.take().len()), (Some(0), 0), "{controller}: {}", again.said);
    }
}
