//! How often a model is asked, and for how long, inside an engine with default settings.

use crate::support;

use std::sync::{Arc, Mutex};
use std::time::Duration;

use eog::ledger::RecordedAnswer;
use eog::{AbductivePolicy, Config, DecisionMemory, Engine, Finished, Limits, Remembering, Retry};
use eog_core::BoxFuture;
use eog_llm::{LlmConfig, RetryPolicy, Retrying};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, LlmPolicy, ModelInfo, Pack,
    Prompter,
};
use eog_testkit::{MemoryContext, seeded, topology};
use support::{Reply, Server, openai};
use tokio::time::Instant;

const ANSWER: &str = r#"{ "because": "Nothing is known.", "label": "defer", "evidence": [],
    "next_page": false, "search": [], "claims": [], "proposals": [], "other_causes": [] }"#;

fn policy(models: Vec<Arc<dyn ChatModel>>) -> LlmPolicy {
    LlmPolicy::new(Prompter::new(Arc::new(Pack::sre()), models))
}

/// One entity, judged by the models of a configuration, with the limits that an engine has.
async fn judged(config: &str) -> Finished {
    let config: LlmConfig = toml::from_str(config).expect("a configuration");
    let none = |_: &str| None;
    let models = config.build(&none).expect("models");
    investigate(policy(models.explore), Limits::default()).await
}

async fn investigate(policy: impl AbductivePolicy, limits: Limits) -> Finished {
    Engine::new(MemoryContext::default(), policy)
        .with_limits(limits)
        .investigate(Config::default(), seeded(topology(""), ["db"]))
        .await
}

/// What the ledger says of the one evaluation: a failure in words, or nothing.
fn failure(ended: &Finished) -> Option<String> {
    let evaluation = ended.ledger().entries().iter().find_map(|entry| entry.evaluation());
    match &evaluation.expect("one evaluation").answer {
        RecordedAnswer::Failed(failure) => Some(failure.to_string()),
        _ => None,
    }
}

fn busy(status: u16, headers: Vec<(&'static str, String)>) -> Reply {
    Reply::Status(status, headers, "busy".to_owned())
}

/// A server that is busy more often than a call may be retried.
async fn always_busy(status: u16) -> Server {
    Server::start((0..20).map(|_| busy(status, vec![])).collect()).await
}

#[tokio::test]
async fn a_busy_provider_gets_the_configured_attempts_and_no_more() {
    let (first, second) = (always_busy(503).await, always_busy(429).await);
    let ended = judged(&format!(
        "model = \"vllm/a\"\nfallbacks = [\"vllm/b\"]\n\
         models.\"vllm/a\".base_url = \"{}\"\nmodels.\"vllm/b\".base_url = \"{}\"",
        first.url, second.url
    ))
    .await;
    assert_eq!((first.seen().len(), second.seen().len()), (3, 3), "retries = 2 by default");
    let said = failure(&ended).expect("no model answered");
    assert!(said.contains("HTTP status 503") && said.contains("HTTP status 429"), "{said}");
    assert_eq!(ended.retries, 0, "the engine has not tried again");
    assert_eq!(ended.spent().usage.model_calls, 6);
}

#[tokio::test]
async fn a_provider_that_names_a_wait_is_asked_again_after_it() {
    let wait = vec![("retry-after", "2".to_owned())];
    let server = Server::start(vec![busy(429, wait), Reply::Events(openai(ANSWER, "stop"))]).await;
    let began = Instant::now();
    let config = format!("model = \"vllm/a\"\nproviders.vllm.base_url = \"{}\"", server.url);
    let ended = judged(&config).await;
    assert_eq!((failure(&ended), server.seen().len()), (None, 2));
    assert!(began.elapsed() >= Duration::from_secs(2), "{:?}", began.elapsed());
}

#[tokio::test]
async fn each_request_that_hangs_has_its_own_time_out() {
    let server = Server::start((0..20).map(|_| Reply::Hang).collect()).await;
    let ended = judged(&format!(
        "model = \"vllm/a\"\nproviders.vllm.base_url = \"{}\"\ntimeout_s = 0.5\nretries = 1",
        server.url
    ))
    .await;
    let said = failure(&ended).expect("no model answered");
    assert!(said.contains("no answer within 0.5 s: raise llm.timeout_s"), "{said}");
    assert_eq!(server.seen().len(), 2);
}

/// Fails this often, each time with a wait of 100 s, then answers.
struct Busy {
    info: ModelInfo,
    left: Mutex<u32>,
}

impl Busy {
    fn first(times: u32, timeout: Option<Duration>) -> Self {
        let info = ModelInfo {
            name: "test/busy".to_owned(),
            context_tokens: 50_000,
            max_output_tokens: 1_000,
            tokenizer: "o200k_base".to_owned(),
            timeout,
        };
        Self { info, left: Mutex::new(times) }
    }
}

impl ChatModel for Busy {
    fn info(&self) -> &ModelInfo {
        &self.info
    }

    fn chat<'a>(&'a self, _: &'a ChatRequest) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        Box::pin(async {
            let mut left = self.left.lock().expect("whole");
            match left.checked_sub(1) {
                None => Ok(ChatResponse::complete("test/busy", ANSWER)),
                Some(fewer) => {
                    *left = fewer;
                    let busy = ChatError::new("test/busy", ChatErrorKind::RateLimited, "busy");
                    Err(ChatError { retry_after: Some(Duration::from_secs(100)), ..busy })
                }
            }
        })
    }
}

async fn patiently(model: Busy, limits: Limits) -> (Option<String>, u64) {
    let model = Retrying::new(model, RetryPolicy::default());
    let began = Instant::now();
    let ended = investigate(policy(vec![Arc::new(model)]), limits).await;
    (failure(&ended), began.elapsed().as_secs())
}

#[tokio::test(start_paused = true)]
async fn waits_between_attempts_do_not_use_up_the_time_for_a_decision() {
    let in_time = Some(Duration::from_secs(120));
    assert_eq!(patiently(Busy::first(2, in_time), Limits::default()).await, (None, 200));
}

#[tokio::test(start_paused = true)]
async fn a_memory_in_front_of_a_policy_leaves_it_its_time() {
    let folder = tempfile::tempdir().expect("a folder");
    let memory = DecisionMemory::open(folder.path()).expect("a memory");
    let model = Busy::first(2, Some(Duration::from_secs(120)));
    let model = Retrying::new(model, RetryPolicy::default());
    let policy = Remembering::new(policy(vec![Arc::new(model)]), memory, "test");
    assert_eq!(failure(&investigate(policy, Limits::default()).await), None);
}

#[tokio::test(start_paused = true)]
async fn a_time_out_that_the_user_sets_holds() {
    let limits = Limits { policy_timeout: Some(Duration::from_secs(30)), ..Limits::default() };
    let in_time = Some(Duration::from_secs(120));
    let (said, took) = patiently(Busy::first(2, in_time), limits).await;
    assert_eq!((said.as_deref(), took), (Some("no decision in time: no answer within 30 s"), 30));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_has_no_time_out_of_its_own_gets_that_of_the_engine() {
    let (said, took) = patiently(Busy::first(2, None), Limits::default()).await;
    assert_eq!((said.as_deref(), took), (Some("no decision in time: no answer within 120 s"), 120));
}

#[tokio::test(start_paused = true)]
async fn a_model_that_does_not_try_again_by_itself_is_tried_again_by_the_engine() {
    let limits = || Limits { policy_timeout: Some(Duration::from_secs(30)), ..Limits::default() };
    let ended = investigate(policy(vec![Arc::new(Busy::first(2, None))]), limits()).await;
    assert_eq!((failure(&ended), ended.retries), (None, 2));
    let limits = Limits { retry: Retry::never(), ..limits() };
    let ended = investigate(policy(vec![Arc::new(Busy::first(2, None))]), limits).await;
    assert!(failure(&ended).expect("one attempt").ends_with("busy"));
}
