//! How answers and failures of providers are read.

use crate::support;

use std::time::Duration;

use eog_llm::{RetryPolicy, Retrying};
use eog_prompts::{ChatError, ChatErrorKind, ChatModel, ChatResponse, Finish};
use serde_json::json;
use support::{KEY, Reply, Server, anthropic, event, gemini, model, openai, request, settings};

async fn ask(name: &str, reply: Reply) -> Result<ChatResponse, ChatError> {
    let server = Server::start(vec![reply]).await;
    let mut settings = settings(&server.url);
    settings.max_response_bytes = 20_000;
    model(name, settings).chat(&request()).await
}

async fn fails(reply: Reply) -> ChatError {
    let error = ask("vllm/some", reply).await.expect_err("no answer");
    assert!(!error.message.contains(KEY), "{error}");
    error
}

fn status(status: u16, body: &str) -> Reply {
    Reply::Status(status, vec![("content-type", "application/json".to_owned())], body.to_owned())
}

#[tokio::test]
async fn text_that_is_no_json_is_an_answer_all_the_same() {
    let response = ask("vllm/some", Reply::Events(openai("no JSON", "stop"))).await.expect("text");
    assert_eq!((response.text.as_str(), response.finish), ("no JSON", Finish::Complete));
}

#[tokio::test]
async fn an_empty_answer_is_complete() {
    let response = ask("vllm/some", Reply::Events(openai("", "stop"))).await.expect("an answer");
    assert_eq!((response.text.as_str(), response.finish), ("", Finish::Complete));
}

#[tokio::test]
async fn refusals_are_read_from_every_provider() {
    let refused = event(&json!({"choices": [{"delta": {"refusal": "I will not."}}]}));
    let done = openai("", "stop").split_off(2).concat();
    let response = ask("vllm/some", Reply::Events(vec![refused, done])).await.expect("an answer");
    assert_eq!((response.text.as_str(), response.finish), ("I will not.", Finish::Refused));

    let blocked = event(&json!({"promptFeedback": {"blockReason": "SAFETY"}}));
    for (name, events) in [
        ("vllm/some", openai("I", "content_filter")),
        ("anthropic/claude-sonnet-4-5", anthropic("I", "refusal")),
        ("gemini/gemini-2.5-flash", gemini("I", "SAFETY")),
        ("gemini/gemini-2.5-flash", vec![blocked]),
    ] {
        let response = ask(name, Reply::Events(events)).await.expect("an answer");
        assert_eq!(response.finish, Finish::Refused, "{name}");
    }
}

#[tokio::test]
async fn answers_are_cut_by_their_length_or_by_the_connection() {
    let mut whole = openai("half an answer", "length");
    let response = ask("vllm/some", Reply::Events(whole.clone())).await.expect("an answer");
    assert_eq!(response.finish, Finish::Cut);
    whole.truncate(1);
    for reply in [Reply::Broken(whole.clone()), Reply::Events(whole)] {
        let response = ask("vllm/some", reply).await.expect("an answer");
        assert_eq!((response.text.as_str(), response.finish), ("half an", Finish::Cut));
    }
    for (name, events) in [
        ("anthropic/claude-sonnet-4-5", anthropic("half", "end_turn")[..3].to_vec()),
        ("anthropic/claude-sonnet-4-5", anthropic("half", "max_tokens")),
        ("gemini/gemini-2.5-flash", gemini("half", "MAX_TOKENS")),
    ] {
        let response = ask(name, Reply::Events(events)).await.expect("an answer");
        assert_eq!((response.text.as_str(), response.finish), ("half", Finish::Cut), "{name}");
    }
}

#[tokio::test]
async fn a_connection_that_breaks_before_the_answer_may_be_tried_again() {
    let start = event(&json!({"choices": [{"delta": {"role": "assistant"}}]}));
    for reply in
        [Reply::Broken(vec![]), Reply::Broken(vec![start.clone()]), Reply::Events(vec![start])]
    {
        let error = fails(reply).await;
        assert_eq!(error.kind, ChatErrorKind::Unavailable, "{error}");
    }
}

#[tokio::test]
async fn what_is_not_of_the_protocol_is_not_readable() {
    let page = Reply::Status(200, vec![("content-type", "text/html".to_owned())], "<p>".to_owned());
    let half = Reply::Events(vec!["data: {\"choices\n\n".to_owned()]);
    for reply in [page, half] {
        let error = fails(reply).await;
        assert_eq!(error.kind, ChatErrorKind::Unreadable, "{error}");
        assert!(error.message.contains("base_url"), "{error}");
    }
}

#[tokio::test]
async fn an_oversize_response_is_given_up() {
    let error = fails(Reply::Events(openai(&"x".repeat(30_000), "stop"))).await;
    assert_eq!(error.kind, ChatErrorKind::Unreadable);
    assert!(error.message.contains("max_response_bytes"), "{error}");
}

#[tokio::test]
async fn statuses_say_what_may_help() {
    use ChatErrorKind::{NotAccepted, NotAllowed, RateLimited, TimedOut, Unavailable};
    let quota = "{\"error\":{\"code\":\"insufficient_quota\"}}";
    for (code, body, kind) in [
        (401, "{}", NotAllowed),
        (403, "{}", NotAllowed),
        (404, "{}", NotAccepted),
        (400, "{}", NotAccepted),
        (429, "{}", RateLimited),
        (429, quota, NotAllowed),
        (504, "{}", TimedOut),
        (500, "{}", Unavailable),
        (529, "{}", Unavailable),
        (302, "{}", NotAccepted),
    ] {
        assert_eq!(fails(status(code, body)).await.kind, kind, "{code}");
    }
    let said = format!("{{\"error\": \"wrong key {KEY}\"}}");
    let error = fails(status(401, &said)).await;
    assert!(error.message.contains("wrong key [masked]"), "{error}");
}

#[tokio::test]
async fn an_error_inside_the_stream_is_one_of_the_provider() {
    let overloaded = event(&json!({"error": {"message": "overloaded"}}));
    assert_eq!(fails(Reply::Events(vec![overloaded])).await.kind, ChatErrorKind::Unavailable);
    let limited = event(&json!({"error": {"type": "rate_limit_error"}}));
    assert_eq!(fails(Reply::Events(vec![limited])).await.kind, ChatErrorKind::RateLimited);
}

#[tokio::test]
async fn a_key_goes_nowhere_else() {
    let other = Server::start(vec![Reply::Events(openai("{}", "stop"))]).await;
    let headers = vec![("location", format!("{}/chat/completions", other.url))];
    let error = fails(Reply::Status(307, headers, String::new())).await;
    assert_eq!(error.kind, ChatErrorKind::NotAccepted);
    assert!(other.seen().is_empty());
}

#[tokio::test]
async fn a_closed_port_is_unreachable() {
    let server = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let url = format!("http://{}", server.local_addr().expect("an address"));
    drop(server);
    let error =
        model("vllm/some", settings(&url)).chat(&request()).await.expect_err("nothing listens");
    assert_eq!(error.kind, ChatErrorKind::Unreachable, "{error}");
}

#[tokio::test]
async fn a_server_that_hangs_is_given_up_and_the_request_with_it() {
    let server = Server::start(vec![Reply::Hang]).await;
    let mut settings = settings(&server.url);
    settings.timeout = Duration::from_millis(200);
    let error = model("vllm/some", settings).chat(&request()).await.expect_err("no answer");
    assert_eq!(error.kind, ChatErrorKind::TimedOut);
    server.hung_up.notified().await;
}

#[tokio::test]
async fn dropping_a_call_ends_its_request() {
    let server = Server::start(vec![Reply::Hang]).await;
    let model = model("vllm/some", settings(&server.url));
    let asked = request();
    tokio::select! {
        _ = model.chat(&asked) => panic!("the server hangs"),
        () = server.hanging.notified() => {}
    }
    server.hung_up.notified().await;
}

#[tokio::test]
async fn failures_that_may_pass_are_tried_again() {
    let wait = vec![("retry-after", "0.01".to_owned())];
    let server = Server::start(vec![
        Reply::Status(429, wait, "{}".to_owned()),
        status(500, "{}"),
        Reply::Events(openai("{}", "stop")),
    ])
    .await;
    let quickly = RetryPolicy { first_delay: Duration::from_millis(1), ..RetryPolicy::default() };
    let model = Retrying::new(model("vllm/some", settings(&server.url)), quickly);
    let response = model.chat(&request()).await.expect("the third attempt");
    assert_eq!((response.text.as_str(), server.seen().len()), ("{}", 3));
    let bodies: Vec<_> = server.seen().into_iter().map(|seen| seen.body).collect();
    assert!(bodies.iter().all(|body| *body == bodies[0]), "the same request each time");
}

#[tokio::test]
async fn the_wait_that_a_provider_asks_for_is_reported() {
    let headers = vec![
        ("date", "Wed, 21 Oct 2015 07:28:00 GMT".to_owned()),
        ("retry-after", "Wed, 21 Oct 2015 07:28:30 GMT".to_owned()),
    ];
    let error = fails(Reply::Status(429, headers, "{}".to_owned())).await;
    assert_eq!(error.retry_after, Some(Duration::from_secs(30)));
}
