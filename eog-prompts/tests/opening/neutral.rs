//! The phases of an opening know no domain.

use std::sync::Arc;

use eog_prompts::{MockModel, Reply};

use super::*;

/// Words of software operations, as whole words.
const FOREIGN: [&str; 16] = [
    "pod",
    "pods",
    "node",
    "nodes",
    "kubernetes",
    "service",
    "services",
    "container",
    "deployment",
    "replica",
    "replicas",
    "namespace",
    "http",
    "cpu",
    "latency",
    "sre",
];

#[test]
fn a_plant_is_asked_about_in_its_own_words() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/bottling-line");
    let incident = Bundle::read(&folder).unwrap().incident();
    let model = MockModel::new("mock/mute").answering(|_| Some(Reply::from("not today")));
    let model = Arc::new(model);
    let pack = Arc::new(Pack::named("plant").unwrap());
    let prompter = Prompter::new(pack, vec![Arc::<MockModel>::clone(&model)]);
    block_on(Opening::new(Arc::new(prompter)).open(&incident, None)).unwrap();
    let mut asked = phases(&model);
    asked.dedup();
    assert_eq!(asked.first().map(String::as_str), Some("select_investigation_window"));
    assert_eq!(asked.last().map(String::as_str), Some("bootstrap"));
    for request in model.requests() {
        let texts = request.messages.iter().map(|message| message.text.to_lowercase());
        let text = texts.collect::<Vec<_>>().join("\n");
        let words: Vec<&str> = text.split(|c: char| !c.is_alphanumeric()).collect();
        for foreign in FOREIGN {
            assert!(!words.contains(&foreign), "{foreign} in {}:\n{text}", request.phase);
        }
    }
}
