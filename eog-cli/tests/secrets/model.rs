//! Models: what they are sent, what they say, and what is recorded of both.

use std::fs;

use super::lab::Lab;
use super::planted::{Written, planted, write_bundle};
use super::reader::{Start, read};
use super::server::{Reply, Server};

#[test]
fn no_secret_is_sent_to_a_model_or_recorded_of_its_answers() {
    let all = planted();
    // Each answer repeats some of the secrets, as a model would that knows them.
    let texts: Vec<String> = all.iter().map(|one| one.text.clone()).collect();
    let server = Server::start(move |asked| match read(asked, Start::Alerts) {
        Reply::Answer(answer) => {
            let text = &texts[asked.at % texts.len()];
            let quoted = serde_json::to_string(&format!("explains it. {text}")).unwrap();
            let inner = quoted.trim_matches('"');
            Reply::Answer(answer.replace("explains it.", inner))
        }
        other => other,
    });
    let lab = Lab::at(&server, "");
    let bundle = lab.path("bundle");
    fs::create_dir(&bundle).unwrap();
    write_bundle(&bundle, &all);
    let files = ["--cassette", "traffic.jsonl", "--journal", "run.journal", "--out", "out"];
    let run = lab.run(&[&["investigate", "bundle", "--budget", "40"], &files[..]].concat());
    fs::remove_dir_all(&bundle).unwrap();
    let mut written = Written::default();
    let asked = server.take();
    assert!(asked.len() > 10, "{}: {}", asked.len(), run.said);
    for asked in &asked {
        written.text("prompt", &asked.body.to_string());
    }
    written.text("output", &run.printed);
    written.text("errors", &run.said);
    let files = lab.files();
    assert!(files.iter().any(|(path, _)| path.ends_with("traffic.jsonl")));
    for (path, text) in files {
        written.text(&path.display().to_string(), &text);
    }
    // Prompts, the cassette, the journal and the report at least.
    written.check(&all, 10);
}
