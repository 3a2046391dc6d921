//! Packets and contexts that are longer than a prompt.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod support;

use std::sync::Arc;

use eog_core::evidence::Signal;
use eog_core::{ContextPacket, Finding, Label};
use eog_prompts::{
    CHUNK_TOKENS, ChatModel, ChatRequest, Condensed, LlmPolicy, MockModel, ModelInfo, Pack,
    PromptError, Prompter, Reply, TokenCounter, condense_packet,
};
use eog_testkit::{finding, packet};
use proptest::prelude::*;
use serde_json::json;

fn prompter(model: &Arc<MockModel>) -> Prompter {
    let model = Arc::clone(model) as Arc<dyn ChatModel>;
    Prompter::new(Arc::new(Pack::sre()), vec![model])
}

/// A model that takes prompts of at most so many tokens.
fn taking(tokens: u32) -> MockModel {
    MockModel::with_info(ModelInfo {
        name: "mock/sized".into(),
        context_tokens: tokens + 500,
        max_output_tokens: 500,
        tokenizer: "o200k_base".into(),
        timeout: None,
    })
}

fn events(count: usize, length: usize) -> Vec<Finding> {
    let text = "connection refused by the pool while writing ".repeat(length / 45 + 1);
    let event = |at: usize| {
        let excerpt = format!("event {at} {}", &text[..length]);
        finding("db").signal(Signal::Errors).excerpt(&excerpt).build()
    };
    (0..count).map(event).collect()
}

fn sample(findings: usize, length: usize, neighbours: usize) -> ContextPacket {
    let mut built = packet("db");
    for at in 0..neighbours {
        let name = format!("n{at:02}");
        built = built.callee(&name).message(&name, Label::Symptom, &"slow ".repeat(at * 9));
    }
    let mut built = built.build();
    built.context.findings = events(findings, length);
    built
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    /// Whatever a packet holds, the question about it fits, and says how much it does not show.
    #[test]
    fn questions_always_fit(
        findings in 0_usize..120,
        length in 0_usize..2_000,
        neighbours in 0_usize..40,
        budget in 500_u32..30_000,
    ) {
        let model = Arc::new(taking(budget));
        let policy = LlmPolicy::new(prompter(&model));
        let sample = sample(findings, length, neighbours);
        match policy.prompt(&sample) {
            Ok(request) => {
                let tokens = TokenCounter::new("o200k_base").request(&request);
                prop_assert!(tokens <= u64::from(budget), "{tokens} > {budget}");
                let text = &request.messages[1].text;
                let shown = (0..findings).filter(|at| text.contains(&format!("\"event {at} ")));
                let shown: Vec<usize> = shown.collect();
                prop_assert!(shown.iter().copied().eq(0..shown.len()), "{shown:?}");
                let said = format!("{} of {findings} findings", findings - shown.len());
                prop_assert_eq!(text.contains(&said), shown.len() < findings, "{}", text);
            }
            Err(PromptError::TooLong { tokens, limit, .. }) => {
                prop_assert_eq!(limit, u64::from(budget));
                // No evidence at all is too long, too.
                prop_assert!(tokens > limit);
                prop_assert!(policy.prompt(&packet("db").build()).is_err() || budget < 4_000);
            }
            Err(other) => prop_assert!(false, "{other}"),
        }
    }
}

fn condense(packet: &ContextPacket, model: &Arc<MockModel>, tokens: u64) -> Condensed {
    let prompter = prompter(model);
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    runtime.block_on(condense_packet(&prompter, packet, tokens))
}

/// Calls every finding of a chunk whose number ends with 7 a cause.
fn sevens(request: &ChatRequest) -> Option<Reply> {
    let lines = request.messages[1].text.lines().filter(|line| line.starts_with('['));
    let sevens = lines.filter_map(|line| {
        let number: usize = line[1..].split_once(']')?.0.parse().ok()?;
        let event = line.split_once("\"event ")?.1.split(' ').next()?;
        event.ends_with('7').then(|| json!({ "number": number, "part": "cause" }))
    });
    let sevens: Vec<_> = sevens.collect();
    let total = sevens.len();
    Some(Reply::from(json!({ "relevant": sevens, "total_relevant": total, "reasoning": "" })))
}

#[test]
fn a_long_context_is_read_in_overlapping_chunks() {
    let model = Arc::new(MockModel::new("mock/reader").answering(sevens));
    let sample = sample(300, 180, 2);
    let condensed = condense(&sample, &model, 5_000);
    let requests = model.requests();
    assert!(requests.len() > 2, "{}", requests.len());
    let counter = TokenCounter::new("o200k_base");
    assert!(requests.iter().all(|request| counter.request(request) < 6_500));

    // What ends a chunk begins the next.
    let first_line = requests[1].messages[1].text.lines().find(|line| line.starts_with("[1]"));
    let event = first_line.unwrap().split_once("\"event ").unwrap().1.split(' ').next().unwrap();
    assert!(requests[0].messages[1].text.contains(&format!("\"event {event} ")));

    let kept: Vec<&str> = condensed.packet.context.findings.iter().map(|f| &*f.excerpt).collect();
    let expected = (0..300).filter(|at| at % 10 == 7).map(|at| format!("event {at} "));
    assert_eq!(kept.len(), 30);
    assert!(expected.zip(&kept).all(|(begins, kept)| kept.starts_with(&begins)), "{kept:?}");
    let said = "270 of 300 findings (30 were relevant, the best 30 are kept)";
    assert_eq!(condensed.packet.context.omitted, [said]);
    assert_eq!(condensed.packet.inbox, sample.inbox);
    assert_eq!(condensed.usage.model_calls, requests.len() as u64);
}

#[test]
fn chunks_that_no_model_can_judge_keep_their_strongest() {
    let model = Arc::new(MockModel::new("mock/mute").answering(|_| Some(Reply::from("no"))));
    let condensed = condense(&sample(300, 180, 0), &model, 5_000);
    assert_eq!(model.requests().len(), 2);
    let context = &condensed.packet.context;
    assert!(!context.findings.is_empty() && context.findings.len() < 300);
    assert!(context.findings[0].excerpt.starts_with("event 0 "));
    assert!(context.omitted[1].starts_with("chosen by strength alone"), "{:?}", context.omitted);
}

#[test]
fn what_is_left_of_many_chunks_fits_one_prompt() {
    let all = |request: &ChatRequest| {
        let (_, rest) = request.messages[1].text.split_once("Keep at most ").unwrap();
        let cap: usize = rest.split(';').next().unwrap().parse().unwrap();
        let kept: Vec<_> =
            (1..=cap).map(|number| json!({ "number": number, "part": "context" })).collect();
        Some(Reply::from(json!({ "relevant": kept, "total_relevant": cap, "reasoning": "" })))
    };
    let model = Arc::new(MockModel::new("mock/greedy").answering(all));
    let condensed = condense(&sample(400, 180, 0), &model, 4_000);
    let counter = TokenCounter::new("o200k_base");
    let findings = condensed.packet.context.findings.iter();
    let left: u64 = findings.map(|finding| counter.text(&finding.excerpt)).sum();
    assert!(left > 500 && left < 2_000, "{left}");
    assert!(condensed.packet.context.omitted[0].contains("of 400 findings"));
}

#[test]
fn of_too_much_causes_stay_before_what_is_mere_context() {
    // One page of long lines: 60 win, of which the last ten are causes.
    let sort = |_: &ChatRequest| {
        let part = |number: usize| if number > 50 { "cause" } else { "context" };
        let kept = (1..=60).map(|number| json!({ "number": number, "part": part(number) }));
        let kept: Vec<_> = kept.collect();
        Some(Reply::from(json!({ "relevant": kept, "total_relevant": 60, "reasoning": "" })))
    };
    let model = Arc::new(MockModel::new("mock/sorter").then(sort(&request()).unwrap()));
    let condensed = condense(&sample(60, 180, 0), &model, 5_000);
    let begins: Vec<&str> = condensed
        .packet
        .context
        .findings
        .iter()
        .map(|finding| finding.excerpt.split(" connection").next().unwrap())
        .collect();
    for cause in 50..60 {
        assert!(begins.contains(&format!("event {cause}").as_str()), "{begins:?}");
    }
    assert!(begins.len() < 60 && begins.contains(&"event 0"), "{begins:?}");
    assert!(begins.is_sorted_by_key(|text| text[6..].parse::<u32>().unwrap()), "{begins:?}");
}

fn request() -> ChatRequest {
    let messages = vec![];
    ChatRequest { phase: String::new(), messages, answer: None, max_output_tokens: 1, drawn: None }
}

#[test]
fn the_same_context_asks_the_same() {
    let (first, second) = (
        Arc::new(MockModel::new("mock/reader").answering(sevens)),
        Arc::new(MockModel::new("mock/reader").answering(sevens)),
    );
    let sample = sample(200, 180, 0);
    let condensed = condense(&sample, &first, 5_000);
    assert_eq!(condense(&sample, &second, 5_000).packet, condensed.packet);
    assert_eq!(first.requests(), second.requests());
    assert_eq!(CHUNK_TOKENS, 80_000);
}

#[test]
fn findings_that_are_not_the_problem_are_left_as_they_are() {
    let model = Arc::new(MockModel::new("mock/never"));
    let sample = sample(10, 100, 40);
    assert_eq!(condense(&sample, &model, 5_000).packet, sample);
    assert!(model.requests().is_empty());
}

/// Futures go into runtimes with many threads.
#[test]
fn openings_can_be_sent_to_other_threads() {
    fn sendable<T: Send>(_: &T) {}
    let prompter = Arc::new(prompter(&Arc::new(MockModel::new("mock/a"))));
    let (incident, packet) = (eog_evidence::Incident::default(), packet("db").build());
    sendable(&eog_prompts::Opening::new(Arc::clone(&prompter)).open(&incident, None));
    sendable(&condense_packet(&prompter, &packet, CHUNK_TOKENS));
}

#[test]
fn the_record_says_what_the_model_was_not_shown() {
    let model = Arc::new(taking(4_000).answering(|request: &ChatRequest| match &*request.phase {
        "explore" => Some(Reply::from(json!({
            "because": "Its pool refuses connections.", "label": "defer", "evidence": [1],
            "next_page": false, "search": [], "claims": [], "proposals": [], "other_causes": []
        }))),
        _ => sevens(request),
    }));
    let policy = LlmPolicy::new(prompter(&model));
    let long = sample(200, 150, 0);
    let answer = eog_testkit::ask(&policy, &long).unwrap();
    let summary = &answer.decision.summary;
    assert!(summary.contains("[not shown to the model: "), "{summary}");
    assert!(summary.contains(" of 200 findings"), "{summary}");
    assert!(answer.usage.model_calls > 2, "chunks were read: {:?}", answer.usage);
}
