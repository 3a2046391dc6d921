//! Calls through the recorder of the engine.

use crate::support;

use std::time::Duration;

use eog::CallRecorder;
use eog_llm::Recorded;
use eog_prompts::{ChatError, ChatErrorKind, ChatModel, ChatRequest, TokenUsage};
use support::{Reply, Server, model, openai, request, settings};

#[tokio::test]
async fn a_resumed_run_repeats_no_acknowledged_call() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("run.journal");
    let events = || Reply::Events(openai("{}", "stop"));
    let server = Server::start(vec![events(), events()]).await;
    let mut texts = Vec::new();
    for run in 0..2 {
        let (recorder, records) = CallRecorder::beside(&journal).expect("a side file");
        assert_eq!(records.records.len(), run);
        let model = Recorded::new(model("vllm/some", settings(&server.url)), recorder.clone());
        for _ in 0..2 {
            let response = model.chat(&request()).await.expect("an answer");
            assert_eq!(response.usage, TokenUsage::default(), "the recorder counts");
            texts.push((response.text, response.model));
        }
        let usage = recorder.take_usage();
        assert_eq!((usage.model_calls, usage.tokens_in), (1 - run as u64, 100 * (1 - run as u64)));
    }
    assert_eq!(server.seen().len(), 1);
    assert!(texts.iter().all(|text| *text == texts[0]));
    let stored = std::fs::read_dir(folder.path()).expect("a folder").flatten();
    let stored: String =
        stored.filter_map(|file| std::fs::read_to_string(file.path()).ok()).collect();
    assert!(stored.contains("\"chat explore\"") && stored.contains("\"cached\":64"), "{stored}");
}

#[tokio::test]
async fn other_requests_and_other_models_are_other_calls() {
    let server = Server::start((0..3).map(|_| Reply::Events(openai("{}", "stop"))).collect()).await;
    let recorder = CallRecorder::in_memory();
    let of = |name| Recorded::new(model(name, settings(&server.url)), recorder.clone());
    of("vllm/some").chat(&request()).await.expect("an answer");
    of("vllm/other").chat(&request()).await.expect("an answer");
    let shorter = ChatRequest { max_output_tokens: 10, ..request() };
    of("vllm/some").chat(&shorter).await.expect("an answer");
    assert_eq!(server.seen().len(), 3);
}

#[tokio::test]
async fn failures_keep_their_kind_and_are_asked_again() {
    let wait = vec![("retry-after", "7".to_owned())];
    let limited = Reply::Status(429, wait, "{}".to_owned());
    let server = Server::start(vec![limited, Reply::Events(openai("{}", "stop"))]).await;
    let model = Recorded::new(model("vllm/some", settings(&server.url)), CallRecorder::in_memory());
    let error: ChatError = model.chat(&request()).await.expect_err("too many requests");
    assert_eq!(error.kind, ChatErrorKind::RateLimited);
    assert_eq!(error.retry_after, Some(Duration::from_secs(7)));
    model.chat(&request()).await.expect("the second call is made");
}
