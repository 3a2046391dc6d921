//! The engine: events, time-outs, panics, deadlines, concurrency, and what it spends.
//!
//! Where time matters the clock is paused: it moves on only when everything waits.

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use eog::contract::FailureKind;
use eog::controller::Concurrency;
use eog::machine::QuestionKind;
use eog::{
    AbductivePolicy, Answer, BoxFuture, Budget, BudgetKind, Case, Config, ContextContract,
    ContextPacket, ContextRequest, Decision, Engine, Event, EventStream, Failure, Finished, Label,
    Limits, LocalContext, StopReason, Usage,
};
use eog_testkit::{
    Call, Faulty, MemoryContext, assert_that, case, finding, healthy, policy_fn, seeded,
    symptom_of, topology, try_policy_fn,
};

const CONVERGED: StopReason = StopReason::Converged { refused_wakes: 0 };

fn config() -> Config {
    Config::default()
}

fn apart(names: &[&str]) -> Case {
    seeded(topology(""), names.iter().copied())
}

fn seconds(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn all_healthy() -> impl AbductivePolicy {
    policy_fn(healthy)
}

/// Every event until the engine has ended, one line each.
async fn received(mut events: EventStream) -> Vec<String> {
    let mut lines = Vec::new();
    while let Some(event) = events.next().await {
        lines.push(match event {
            Event::Asking { about, kind: QuestionKind::Context } => format!("fetching {about}"),
            Event::Asking { about, kind: QuestionKind::Policy } => format!("deciding {about}"),
            Event::Appended(entry) => format!("appended {}", entry.seq),
            Event::Spent(spent) => format!("spent {}", spent.hops),
            other => format!("{other:?}"),
        });
    }
    lines
}

#[tokio::test]
async fn events_tell_each_step_in_order() {
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => Decision::new(Label::Healthy, "calm"),
    });
    let contract = MemoryContext::default().with(finding("web"));
    let (sender, events) = eog::events();
    let engine = Engine::new(contract, policy).with_events(sender);
    let ended = engine.investigate(config(), seeded(topology("web calls db"), ["web"])).await;
    assert_that(&ended).evaluated(["web", "db", "web"]).stopped(CONVERGED);
    let expected = [
        "appended 0",
        "fetching web",
        "deciding web",
        "appended 1",
        "spent 1",
        "fetching db",
        "deciding db",
        "appended 2",
        "spent 2",
        "fetching web",
        "deciding web",
        "appended 3",
        "spent 3",
        "Stopped(Converged { refused_wakes: 0 })",
    ];
    assert_eq!(received(events).await, expected);
}

#[tokio::test]
async fn listeners_are_optional() {
    let (sender, events) = eog::events();
    drop(events);
    let deaf = Engine::new(MemoryContext::default(), all_healthy()).with_events(sender);
    assert_that(&deaf.investigate(config(), apart(&["a"])).await).converged();

    // Nor does one that reads nothing until the end keep more than the buffer: it gets the number
    // of events it missed, and the latest ones. Another that keeps up receives all of them.
    let names: Vec<String> = (0..500).map(|number| format!("e{number}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    let (sender, mut slow) = eog::events();
    let quick = tokio::spawn(received(sender.subscribe()));
    let unread = Engine::new(MemoryContext::default(), all_healthy()).with_events(sender);
    let ended = unread.investigate(config(), apart(&names)).await;
    assert_that(&ended).evaluated(names);
    let all = 1 + 500 * 4 + 1;
    let events = quick.await.expect("it does not panic");
    assert_eq!(events.len(), all);
    let missed = all - eog::EVENT_BUFFER;
    assert!(matches!(slow.next().await, Some(Event::Missed(count)) if count == missed as u64));
    assert_eq!(received(slow).await, events[missed..]);
}

#[tokio::test(start_paused = true)]
async fn calls_that_take_too_long_are_failures() {
    let contract = Faulty::new(MemoryContext::default()).hang(Call::of("a"));
    let policy = Faulty::new(all_healthy()).hang(Call::of("b")).delay(Call::of("c"), seconds(2));
    let limits = Limits {
        context_timeout: seconds(7),
        policy_timeout: Some(seconds(3)),
        ..Limits::default()
    };
    let started = tokio::time::Instant::now();
    let ended = Engine::new(contract, policy)
        .with_limits(limits)
        .investigate(config(), apart(&["a", "b", "c", "d"]))
        .await;
    assert_that(&ended)
        .evaluated(["a", "b", "c", "d"])
        .failed_with("a", FailureKind::ContextTimedOut, "no answer within 7 s")
        .failed_with("b", FailureKind::PolicyTimedOut, "no answer within 3 s")
        .ends_with_label("c", Label::Healthy)
        .ends_with_label("d", Label::Healthy)
        .stopped(CONVERGED)
        .is_intact();
    assert_eq!(started.elapsed().as_secs(), 7 + 3 + 2, "on the paused clock");
    assert_eq!(ended.spent().failures, 2);
}

/// Panics before there is a future to poll.
struct Hasty;

impl ContextContract for Hasty {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        assert_ne!(request.entity.as_str(), "a", "too hasty");
        Box::pin(async { Ok(LocalContext::default()) })
    }
}

impl AbductivePolicy for Hasty {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        assert_ne!(packet.entity.as_str(), "b", "too hasty");
        Box::pin(async { Ok(Decision::new(Label::Healthy, "well").into()) })
    }
}

#[tokio::test]
async fn panics_are_failures() {
    let late = Faulty::new(Hasty).panic(Call::of("c"), "as planned");
    let ended = Engine::new(Hasty, late).investigate(config(), apart(&["a", "b", "c", "d"])).await;
    assert_that(&ended)
        .failed_with("a", FailureKind::ContextFailed, "panicked")
        .failed_with("b", FailureKind::PolicyFailed, "panicked")
        .failed_with("c", FailureKind::PolicyFailed, "panicked")
        .ends_with_label("d", Label::Healthy)
        .converged();
}

#[tokio::test]
async fn a_failure_of_the_wrong_kind_does_not_stall_the_run() {
    let contract = MemoryContext::default().fail("a", Failure::policy("not mine"));
    let policy = try_policy_fn(|packet| match packet.entity.as_str() {
        "b" => Err(Failure::context("not mine either")),
        _ => Ok(healthy(packet)),
    });
    let ended = Engine::new(contract, policy).investigate(config(), apart(&["a", "b", "c"])).await;
    assert_that(&ended)
        .failed_with("a", FailureKind::ContextFailed, "not mine")
        .failed_with("b", FailureKind::PolicyFailed, "not mine either")
        .ends_with_label("c", Label::Healthy);
}

#[tokio::test(start_paused = true)]
async fn a_deadline_commits_what_is_under_way() {
    let policy = Faulty::new(all_healthy()).delay(Call::any(), seconds(10));
    let limits = Limits { deadline: Some(seconds(15)), ..Limits::default() };
    let ended = Engine::new(MemoryContext::default(), policy)
        .with_limits(limits)
        .investigate(config(), apart(&["a", "b", "c"]))
        .await;
    assert_that(&ended)
        .evaluated(["a", "b"])
        .ends_with_label("b", Label::Healthy)
        .stopped(StopReason::Deadline)
        .is_intact();
    assert_eq!(waiting(&ended), ["c"]);
}

/// Entities that are still to be evaluated.
fn waiting(ended: &Finished) -> Vec<&str> {
    ended.machine.active().map(|(entity, _)| entity.as_str()).collect()
}

fn window(width: u32) -> Config {
    let width = NonZeroU32::new(width).expect("a width is not zero");
    Config { concurrency: Concurrency::Window(width), ..config() }
}

#[tokio::test(start_paused = true)]
async fn a_window_runs_calls_at_once_and_its_ledger_ignores_latency() {
    let names = ["a", "b", "c", "d", "e", "f"];
    let mut ledgers = Vec::new();
    for delays in [[0; 6], [9, 1, 1, 1, 1, 1], [1, 2, 3, 4, 5, 6], [6, 5, 4, 3, 2, 1]] {
        let contract = MemoryContext::default().with_all(names.map(finding));
        let mut policy = Faulty::new(policy_fn(|packet| match packet.entity.as_str() {
            "f" => healthy(packet),
            _ => symptom_of(packet, "f"),
        }));
        for (name, delay) in names.into_iter().zip(delays) {
            policy = policy.delay(Call::of(name), seconds(delay));
        }
        let case = seeded(topology("a calls f"), names);
        let ended = Engine::new(contract, policy).investigate(window(3), case).await;
        assert_that(&ended).converged().is_intact();
        ledgers.push(ended.ledger().to_json_lines());
    }
    assert!(ledgers.iter().all(|ledger| *ledger == ledgers[0]));

    let policy = Faulty::new(all_healthy()).delay(Call::any(), seconds(10));
    let started = tokio::time::Instant::now();
    Engine::new(MemoryContext::default(), policy).investigate(window(3), apart(&names)).await;
    assert_eq!(started.elapsed().as_secs(), 20, "two rounds of three on the paused clock");
}

#[tokio::test]
async fn usage_is_counted_and_budgets_stop_the_run() {
    let policy = try_policy_fn(|packet| {
        let usage = Usage { model_calls: 1, tokens_in: 30, tokens_out: 10, cost_micro_usd: 5 };
        match packet.entity.as_str() {
            "a" => Err(Failure { usage, ..Failure::policy("costly failure") }),
            _ => Ok(Answer { usage, ..healthy(packet).into() }),
        }
    });
    let budget = Budget { tokens: Some(100), ..Budget::default() };
    let ended = Engine::new(MemoryContext::default(), policy)
        .investigate(Config { budget, ..config() }, apart(&["a", "b", "c", "d"]))
        .await;
    assert_that(&ended)
        .evaluated(["a", "b", "c"])
        .stopped(StopReason::BudgetExhausted { which: BudgetKind::Tokens });
    assert_eq!(ended.spent().usage.model_calls, 3);
    assert_eq!(ended.spent().usage.cost_micro_usd, 15);
    assert_eq!(waiting(&ended), ["d"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_investigation_can_be_spawned() {
    let contract: Arc<dyn ContextContract> = Arc::new(MemoryContext::default());
    let policy: Arc<dyn AbductivePolicy> = Arc::new(all_healthy());
    let engine = Engine::new(Arc::clone(&contract), Arc::clone(&policy));
    let task = tokio::spawn(engine.investigate(config(), apart(&["a", "b"])));
    assert_that(&task.await.expect("it does not panic")).evaluated(["a", "b"]).converged();
}

#[tokio::test]
async fn an_investigation_without_seeds_ends_at_once() {
    let engine = Engine::new(MemoryContext::default(), all_healthy());
    let ended = engine.investigate(config(), case(topology("a calls b"), [])).await;
    assert_that(&ended).evaluated([]).frontier([]).stopped(CONVERGED).is_intact();
}
