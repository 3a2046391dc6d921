//! What goes over the wire, for each protocol: `genai` leaves out silently what it does not know.

use crate::support;

use eog_llm::{CapabilityChanges, ReasoningEffort, StructuredOutput};
use eog_prompts::{ChatModel, ChatResponse, Finish};
use serde_json::{Value, json};
use support::{KEY, Reply, Seen, Server, changed, model, request, settings};

async fn exchange(
    name: &str,
    path: &str,
    events: Vec<String>,
    adjust: impl FnOnce(&mut eog_llm::GenaiSettings),
) -> (Seen, ChatResponse) {
    let server = Server::start(vec![Reply::Events(events)]).await;
    let mut settings = settings(&format!("{}{path}", server.url));
    adjust(&mut settings);
    let response = model(name, settings).chat(&request()).await.expect("an answer");
    (server.seen().pop().expect("a request"), response)
}

fn check_usage(response: &ChatResponse, reasoning: u64) {
    let usage = response.usage;
    assert_eq!((usage.calls, usage.input, usage.cached), (1, 100, 64));
    assert_eq!((usage.output, usage.reasoning), (20, reasoning));
    assert_eq!((response.text.as_str(), response.finish), ("{\"label\":\"x\"}", Finish::Complete));
}

#[tokio::test]
async fn openai_gets_the_schema_the_seed_and_temperature_zero() {
    let answer = support::openai("{\"label\":\"x\"}", "stop");
    let (seen, response) = exchange("openai/gpt-4o-mini", "/v1", answer, |_| {}).await;
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.headers["authorization"], format!("Bearer {KEY}"));
    let schema = request().answer.expect("a form").schema;
    assert_eq!(
        seen.body,
        json!({
            "model": "gpt-4o-mini",
            "messages": [
                {"role": "system", "content": "Find the cause."},
                {"role": "user", "content": "What broke?"},
            ],
            "temperature": 0.0,
            "seed": 7,
            "max_tokens": 500,
            "response_format": {"type": "json_schema",
                "json_schema": {"name": "finding", "strict": true, "schema": schema}},
            "stream": true,
            "stream_options": {"include_usage": true},
        })
    );
    check_usage(&response, 8);
    assert_eq!(response.model, "openai/served-1");
}

#[tokio::test]
async fn a_reasoning_model_gets_an_effort_and_no_temperature() {
    let answer = support::openai("{\"label\":\"x\"}", "stop");
    let effort = |it: &mut eog_llm::GenaiSettings| it.reasoning_effort = Some(ReasoningEffort::Low);
    let (seen, _) = exchange("openai/gpt-5-mini", "/v1", answer, effort).await;
    assert_eq!(seen.body["reasoning_effort"], "low");
    assert_eq!(seen.body["max_completion_tokens"], 500);
    for absent in ["temperature", "seed", "max_tokens"] {
        assert_eq!(seen.body.get(absent), None, "{absent}");
    }
}

#[tokio::test]
async fn a_name_that_ends_like_an_effort_is_sent_whole() {
    let answer = support::openai("{\"label\":\"x\"}", "stop");
    let (seen, _) = exchange("vllm/qwen-max", "/v1", answer, |_| {}).await;
    assert_eq!(seen.body["model"], "qwen-max");
    assert_eq!(seen.body.get("reasoning_effort"), None);
}

#[tokio::test]
async fn anthropic_gets_the_schema_and_temperature_zero() {
    let answer = support::anthropic("{\"label\":\"x\"}", "end_turn");
    let (seen, response) = exchange("anthropic/claude-sonnet-4-5", "/v1", answer, |_| {}).await;
    assert_eq!(seen.path, "/v1/messages");
    assert_eq!(seen.headers["x-api-key"], KEY);
    let body = &seen.body;
    assert_eq!(body["model"], "claude-sonnet-4-5");
    assert_eq!(body["temperature"], 0.0);
    assert_eq!(body["max_tokens"], 500);
    assert_eq!(body["messages"], json!([{"role": "user", "content": "What broke?"}]));
    assert!(body["system"].to_string().contains("Find the cause."));
    let format = &body["output_config"]["format"];
    assert_eq!(format["type"], "json_schema");
    assert_eq!(format["schema"]["required"], json!(["label"]));
    assert_eq!(format["schema"]["additionalProperties"], false);
    assert_eq!(body.get("seed"), None);
    check_usage(&response, 0);
    assert_eq!(response.model, "anthropic/served-2");
}

#[tokio::test]
async fn gemini_gets_the_schema_the_seed_and_temperature_zero() {
    let answer = support::gemini("{\"label\":\"x\"}", "STOP");
    let (seen, response) = exchange("gemini/gemini-2.5-flash", "/v1beta", answer, |it| {
        it.reasoning_effort = Some(ReasoningEffort::Low);
    })
    .await;
    assert_eq!(seen.path, "/v1beta/models/gemini-2.5-flash:streamGenerateContent?alt=sse");
    assert_eq!(seen.headers["x-goog-api-key"], KEY);
    let config = &seen.body["generationConfig"];
    assert_eq!(config["temperature"], 0.0);
    assert_eq!(config["seed"], 7);
    assert_eq!(config["maxOutputTokens"], 500);
    assert_eq!(config["responseMimeType"], "application/json");
    assert_eq!(config["responseJsonSchema"], request().answer.expect("a form").schema);
    assert!(config["thinkingConfig"]["thinkingBudget"].is_u64(), "{config}");
    assert_eq!(seen.body["systemInstruction"]["parts"][0]["text"], "Find the cause.");
    check_usage(&response, 8);
}

#[tokio::test]
async fn ollama_gets_the_schema_the_seed_and_temperature_zero() {
    let answer = support::openai("{\"label\":\"x\"}", "stop");
    let (seen, response) = exchange("ollama/qwen3", "/v1", answer, |it| it.key = None).await;
    assert_eq!(seen.path, "/v1/chat/completions");
    assert_eq!(seen.headers["authorization"], "Bearer none");
    let body = &seen.body;
    assert_eq!((&body["temperature"], &body["seed"]), (&json!(0.0), &json!(7)));
    assert_eq!(body["response_format"]["json_schema"]["strict"], true);
    assert_eq!(response.model, "ollama/served-1");
}

#[tokio::test]
async fn without_structured_output_the_conversation_is_sent_as_it_is() {
    let cases = [
        (StructuredOutput::None, Value::Null),
        (StructuredOutput::JsonObject, json!({"type": "json_object"})),
    ];
    for (structured_output, format) in cases {
        let answer = support::openai("{\"label\":\"x\"}", "stop");
        let changes = CapabilityChanges {
            structured_output: Some(structured_output),
            ..CapabilityChanges::default()
        };
        let (seen, _) = exchange("vllm/some", "/v1", answer, |it| {
            it.capabilities = changed("vllm/some", &changes);
        })
        .await;
        assert_eq!(seen.body["response_format"], format);
        assert_eq!(seen.body["messages"][1]["content"], "What broke?");
    }
}

#[tokio::test]
async fn a_form_of_answer_that_is_rejected_is_replaced_by_a_weaker_one_for_good() {
    let rejected = |status: u16, body: &str| {
        Reply::Status(
            status,
            vec![("content-type", "application/json".to_owned())],
            json!({"error": {"message": body}}).to_string(),
        )
    };
    let answer = || Reply::Events(support::openai("{\"label\":\"x\"}", "stop"));
    let server = Server::start(vec![
        rejected(500, "body.response_format.type: Input should be 'text' or 'json_object'"),
        answer(),
        answer(),
        // A failure that says nothing of the form is one.
        rejected(500, "out of memory"),
        rejected(400, "'response_format' does not support schema"),
        rejected(400, "response_format is not supported"),
        answer(),
    ])
    .await;
    let model = model("llama-cpp/some", settings(&format!("{}/v1", server.url)));
    let schema = request().answer.expect("a form").schema;
    for _ in 0..2 {
        model.chat(&request()).await.expect("an answer");
    }
    let forms = |server: &Server| -> Vec<Value> {
        let form = |seen: Seen| seen.body.get("response_format").cloned().unwrap_or(Value::Null);
        server.seen().into_iter().map(form).collect()
    };
    let beside = json!({"type": "json_object", "schema": schema});
    let seen = forms(&server);
    assert_eq!(seen[0]["type"], "json_schema");
    assert_eq!(seen[1..], [beside.clone(), beside.clone()]);

    assert!(model.chat(&request()).await.expect_err("it failed").message.contains("out of memory"));
    model.chat(&request()).await.expect("an answer");
    let seen = forms(&server);
    assert_eq!(seen[4..], [beside, json!({"type": "json_object"}), Value::Null]);
}
