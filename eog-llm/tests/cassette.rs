//! Recording and replaying traffic.

use crate::support;

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;
use std::sync::Arc;

use eog_llm::{Cassette, CassetteMode, CassetteModel, LlmConfig};
use eog_llm::{Masker, Secret};
use eog_prompts::{ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ModelInfo};
use support::{KEY, Reply, Server, model, openai, request, settings};

const BEARER: &str = "eyPlantedBearerToken0123456789abcdef";

fn masker() -> Masker {
    Masker::of([Secret::new(KEY)])
}

fn info() -> ModelInfo {
    model("vllm/some", settings("http://127.0.0.1:1")).info().clone()
}

fn saying(text: &str) -> ChatRequest {
    ChatRequest { messages: vec![ChatMessage::user(text)], ..request() }
}

fn recording(path: &Path, mode: CassetteMode, server: &Server) -> CassetteModel {
    let cassette = Cassette::create(path, masker()).expect("a cassette");
    CassetteModel::new(cassette, mode, Arc::new(model("vllm/some", settings(&server.url))))
}

fn replaying(path: &Path) -> CassetteModel {
    CassetteModel::replaying(Cassette::open(path, masker()).expect("a cassette"), info())
}

fn answers(texts: &[&str]) -> Vec<Reply> {
    texts.iter().map(|text| Reply::Events(openai(text, "stop"))).collect()
}

#[tokio::test]
async fn what_was_recorded_is_replayed() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.jsonl");
    let server = Server::start(answers(&["one", "two"])).await;
    let live = recording(&path, CassetteMode::Auto, &server);
    let recorded = live.chat(&saying("first")).await.expect("an answer");
    // Known by now, so not asked again.
    assert_eq!(live.chat(&saying("first")).await.as_ref(), Ok(&recorded));
    live.chat(&saying("second")).await.expect("an answer");
    assert_eq!(server.seen().len(), 2);

    let replay = replaying(&path);
    assert_eq!(replay.chat(&saying("first")).await, Ok(recorded));
    assert_eq!(replay.chat(&saying("second")).await.expect("recorded").text, "two");
    assert_eq!(server.seen().len(), 2);
}

#[tokio::test]
async fn recording_replaces_what_was_recorded() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.jsonl");
    let server = Server::start(answers(&["old", "new"])).await;
    for text in ["old", "new"] {
        let live = recording(&path, CassetteMode::Record, &server);
        assert_eq!(live.chat(&request()).await.expect("an answer").text, text);
    }
    assert_eq!(replaying(&path).chat(&request()).await.expect("recorded").text, "new");
}

#[tokio::test]
async fn a_miss_names_the_phase_the_key_and_the_first_difference() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.jsonl");
    let server = Server::start(answers(&["far", "near"])).await;
    let live = recording(&path, CassetteMode::Auto, &server);
    live.chat(&saying("quite another thing")).await.expect("an answer");
    live.chat(&saying("the disk of node 4 is full")).await.expect("an answer");
    let error = replaying(&path).chat(&saying("the disk of node 5 is full")).await;
    let error = error.expect_err("not recorded");
    assert_eq!(error.kind, ChatErrorKind::NotRecorded);
    let recorded = fs::read_to_string(&path).expect("a file");
    let key = recorded.lines().nth(2).expect("two entries").split('"').nth(3).expect("a key");
    for part in ["phase \"explore\"", key, "messages[0].text, character 17", "node 4", "node 5"] {
        assert!(error.message.contains(part), "{part} in {error}");
    }
    assert!(error.message.contains("traffic.jsonl"), "{error}");
}

#[tokio::test]
async fn no_secret_is_written() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.jsonl");
    let echo = format!("you said {KEY} and Authorization: Bearer {BEARER}");
    let server = Server::start(answers(&[&echo])).await;
    let config = format!(
        "model = \"vllm/some\"\n\
         providers.vllm = {{ base_url = {:?}, key_env = \"PLANTED\" }}\n\
         cassette = {{ path = {:?}, mode = \"auto\" }}",
        server.url,
        path.to_str().expect("text")
    );
    let config: LlmConfig = toml::from_str(&config).expect("a configuration");
    let env = |name: &str| (name == "PLANTED").then(|| KEY.to_owned());
    let models = config.build(&env).expect("models");
    let mut asked = saying(&format!("Authorization: Bearer {BEARER}, and the key {KEY}"));
    asked.phase = format!("explore {KEY}");
    let form = asked.answer.as_mut().expect("a form");
    form.schema["properties"]["label"]["description"] = KEY.into();
    let response = models.explore[0].chat(&asked).await.expect("an answer");
    assert!(!response.text.contains(KEY) && response.text.contains("[masked]"));
    let sent = &server.seen()[0];
    assert_eq!(sent.headers["authorization"], format!("Bearer {KEY}"), "it was sent");
    assert!(sent.body.to_string().contains(BEARER), "only the record is masked");
    let written = fs::read_to_string(&path).expect("a file");
    assert!(written.contains("[masked]"));
    for secret in [KEY, BEARER] {
        assert!(!written.contains(secret), "{secret} in {written}");
    }
    // The replay, without any key, knows the request by its content without secrets.
    let replay = LlmConfig {
        cassette: config
            .cassette
            .clone()
            .map(|it| eog_llm::CassetteConfig { mode: CassetteMode::Replay, ..it }),
        ..config
    };
    let mut masked = asked.clone();
    masked.phase = "explore [masked]".to_owned();
    masked.messages[0].text = masked.messages[0].text.replace(KEY, "[masked]");
    let form = masked.answer.as_mut().expect("a form");
    form.schema["properties"]["label"]["description"] = "[masked]".into();
    let models = replay.build(&|_: &str| None).expect("no key is needed");
    assert_eq!(models.explore[0].chat(&masked).await, Ok(response));
}

#[tokio::test]
async fn two_writers_see_each_other() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.jsonl");
    let server = Server::start(answers(&["one", "two"])).await;
    let first = recording(&path, CassetteMode::Auto, &server);
    let second = recording(&path, CassetteMode::Auto, &server);
    first.chat(&saying("a")).await.expect("an answer");
    assert_eq!(second.chat(&saying("a")).await.expect("known").text, "one");
    second.chat(&saying("b")).await.expect("an answer");
    assert_eq!(first.chat(&saying("b")).await.expect("known").text, "two");
    assert_eq!(fs::read_to_string(&path).expect("a file").lines().count(), 3);
}

#[tokio::test]
async fn half_a_line_of_a_process_that_died_is_no_harm() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("traffic.jsonl");
    let server = Server::start(answers(&["one", "two"])).await;
    recording(&path, CassetteMode::Auto, &server).chat(&saying("a")).await.expect("an answer");
    let mut file = OpenOptions::new().append(true).open(&path).expect("a file");
    file.write_all(b"{\"key\":\"half").expect("written");
    assert_eq!(replaying(&path).chat(&saying("a")).await.expect("known").text, "one");
    recording(&path, CassetteMode::Auto, &server).chat(&saying("b")).await.expect("an answer");
    assert_eq!(replaying(&path).chat(&saying("b")).await.expect("known").text, "two");
}

#[test]
fn what_is_no_cassette_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("notes.txt");
    let opened = |text: &str| {
        fs::write(&path, text).expect("written");
        let read = Cassette::open(&path, masker()).expect_err("no cassette").to_string();
        assert_eq!(Cassette::create(&path, masker()).expect_err("none").to_string(), read);
        assert_eq!(fs::read_to_string(&path).expect("a file"), text, "nothing was changed");
        read
    };
    assert!(opened("some notes\n").contains("line 1"));
    assert!(opened("{\"eog_cassette\":2}\n").contains("version"));
    assert!(opened("{\"eog_cassette\":1}\n{}\n").contains("line 2"));
    assert!(Cassette::open(folder.path().join("none"), masker()).is_err());
}
