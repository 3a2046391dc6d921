//! Openings of whole incidents with scripted models.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its input must stop")]

mod flash_sale;
mod long_lists;
mod recorded;
mod wrong_answers;

use std::path::Path;
use std::sync::Arc;

use eog_core::{EntityId, Timestamp};
use eog_evidence::{Bundle, Incident};
use eog_prompts::{
    ChatRequest, MockModel, OpenedCase, Opening, OpeningLimits, Pack, Prompter, Role,
};
use serde_json::{Value, json};

fn flash_sale() -> Incident {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    Bundle::read(&folder).unwrap().incident()
}

/// Opens an incident with a model that is asked in every phase.
fn open(incident: &Incident, model: &Arc<MockModel>) -> OpenedCase {
    open_with(incident, model, OpeningLimits::asking_always())
}

fn open_with(incident: &Incident, model: &Arc<MockModel>, limits: OpeningLimits) -> OpenedCase {
    let prompter = Prompter::new(Arc::new(Pack::sre()), vec![Arc::<MockModel>::clone(model)]);
    let opening = Opening::new(Arc::new(prompter)).with_limits(limits);
    block_on(opening.open(incident, None)).unwrap()
}

fn block_on<T>(future: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(future)
}

/// What the user says in a request: the last message that is no correction is the first.
fn question(request: &ChatRequest) -> &str {
    let user = request.messages.iter().find(|message| message.role == Role::User);
    &user.unwrap().text
}

/// The lines of a data block.
fn block<'a>(request: &'a ChatRequest, label: &str) -> Vec<&'a str> {
    let text = question(request);
    let (_, rest) = text.split_once(&format!("<data {label}>\n")).unwrap();
    rest.split_once("</data>").unwrap().0.lines().collect()
}

/// What the first line that holds a text is called, such as `C1` or `[3]`.
fn called(lines: &[&str], text: &str) -> String {
    let line = lines.iter().find(|line| line.contains(text)).unwrap_or_else(|| panic!("{lines:?}"));
    line.split([' ', '*']).next().unwrap().to_owned()
}

/// Keeps the lines with these numbers, of as many relevant ones.
fn keep(numbers: impl IntoIterator<Item = usize>, total: usize) -> Value {
    let relevant: Vec<Value> =
        numbers.into_iter().map(|number| json!({ "number": number, "part": "cause" })).collect();
    json!({ "relevant": relevant, "total_relevant": total, "reasoning": "closest before" })
}

/// The number of a line that is called `[3]`.
fn number(called: &str) -> usize {
    called.trim_matches(['[', ']']).parse().unwrap()
}

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

fn at(text: &str) -> Timestamp {
    text.parse().unwrap()
}

fn seeds(opened: &OpenedCase) -> Vec<&str> {
    opened.case.seeds.iter().map(|seed| seed.entity.as_str()).collect()
}

/// The phases asked, in order.
fn phases(model: &MockModel) -> Vec<String> {
    model.requests().into_iter().map(|request| request.phase).collect()
}
