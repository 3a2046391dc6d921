//! Control from outside: cancelling, observing, dropping.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use eog::incident::{Edge, EffectDirection};
use eog::ledger::Observation;
use eog::machine::QuestionKind;
use eog::{
    AbductivePolicy, Answer, BoxFuture, Budget, Config, ContextPacket, Decision, Engine, Event,
    EventStream, Failure, Handle, Label, Limits, StopReason,
};
use eog_testkit::{
    Call, Faulty, MemoryContext, Recorder, alert, assert_that, entity, finding, healthy, origin,
    policy_fn, seeded, symptom_of, topology,
};

fn all_healthy() -> impl AbductivePolicy {
    policy_fn(healthy)
}

/// Waits until the policy is asked about this entity.
async fn until_deciding(events: &mut EventStream, name: &str) {
    while let Some(event) = events.next().await {
        if matches!(&event, Event::Asking { about, kind: QuestionKind::Policy } if about.as_str() == name)
        {
            return;
        }
    }
    panic!("the policy was never asked about {name}");
}

#[tokio::test]
async fn cancelling_discards_the_call_and_keeps_its_entity_queued() {
    let policy = Faulty::new(all_healthy()).hang(Call::of("b"));
    let (handle, controls) = eog::handle();
    let (sender, mut events) = eog::events();
    let engine =
        Engine::new(MemoryContext::default(), policy).with_controls(controls).with_events(sender);
    let case = seeded(topology(""), ["a", "b", "c"]);
    let run = tokio::spawn(engine.investigate(Config::default(), case));
    until_deciding(&mut events, "b").await;
    handle.cancel();
    let ended = run.await.expect("it does not panic");
    assert_that(&ended).evaluated(["a"]).stopped(StopReason::Cancelled).is_intact();
    let waiting: Vec<&str> = ended.machine.active().map(|(name, _)| name.as_str()).collect();
    assert_eq!(waiting, ["b", "c"]);
    assert_eq!(ended.spent().hops, 1, "the discarded call is no hop");
}

#[tokio::test]
async fn a_run_that_never_waits_can_be_cancelled() {
    // Contract and policy are ready at once, and both futures share one task.
    let (handle, controls) = eog::handle();
    let engine = Engine::new(MemoryContext::default(), all_healthy()).with_controls(controls);
    let case = seeded(topology(""), ["a", "b", "c", "d", "e"]);
    let (ended, ()) =
        tokio::join!(engine.investigate(Config::default(), case), async { handle.cancel() });
    assert_that(&ended).stopped(StopReason::Cancelled).is_intact();
    assert!(ended.spent().evaluations < 5);
}

#[tokio::test]
async fn a_run_that_never_waits_meets_its_deadline() {
    // Under the paper's rules without a visit limit, rewording goes on until the hops are used up.
    let calls = AtomicUsize::new(0);
    let rewording = policy_fn(move |_| {
        Decision::new(Label::Healthy, calls.fetch_add(1, Ordering::Relaxed).to_string())
    });
    let config = Config { max_visits: None, budget: Budget::hops(200_000), ..Config::paper() };
    let limits = Limits { deadline: Some(Duration::from_millis(20)), ..Limits::default() };
    let engine = Engine::new(MemoryContext::default(), rewording).with_limits(limits);
    let ended = engine.investigate(config, seeded(topology("a calls b"), ["a"])).await;
    assert_that(&ended).stopped(StopReason::Deadline);
}

#[tokio::test]
async fn cancelling_before_the_start_makes_no_call() {
    let (contract, policy) = (MemoryContext::default(), Recorder::new(all_healthy()));
    let (handle, controls) = eog::handle();
    handle.cancel();
    let engine = Engine::new(&contract, &policy).with_controls(controls);
    let ended = engine.investigate(Config::default(), seeded(topology(""), ["a"])).await;
    assert_that(&ended).evaluated([]).stopped(StopReason::Cancelled).is_intact();
    assert!(contract.requests().is_empty() && policy.asked().is_empty());
}

#[tokio::test(start_paused = true)]
async fn an_observation_while_running_joins_in_between_two_commits() {
    let policy = Faulty::new(all_healthy()).delay(Call::nth(1), Duration::from_secs(5));
    let (handle, controls) = eog::handle();
    let (sender, mut events) = eog::events();
    let engine =
        Engine::new(MemoryContext::default(), policy).with_controls(controls).with_events(sender);
    let run = tokio::spawn(engine.investigate(Config::default(), seeded(topology(""), ["a", "b"])));
    until_deciding(&mut events, "a").await;
    for news in
        [Observation::Anomaly(alert("c", "Slow", "10:07")), Observation::NewEvidence(entity("a"))]
    {
        handle.observe(news).await.expect("it still runs");
    }
    let ended = run.await.expect("it does not panic");
    // Nothing explains the alert on c, so c is evaluated twice more.
    assert_that(&ended).evaluated(["a", "b", "c", "a", "c", "c"]).converged().is_intact();
    assert_eq!(ended.machine.anomalies().len(), 1);
}

/// A policy that brings news from outside while it judges the last entity.
struct Tipster<P> {
    inner: P,
    handle: Handle,
    news: Observation,
    left: AtomicUsize,
}

impl<P: AbductivePolicy> AbductivePolicy for Tipster<P> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            if self.left.fetch_sub(1, Ordering::Relaxed) == 1 {
                self.handle.observe(self.news.clone()).await.expect("it still runs");
            }
            self.inner.decide(packet).await
        })
    }
}

#[tokio::test]
async fn an_observation_just_before_the_end_reopens() {
    let (handle, controls) = eog::handle();
    let policy = Tipster {
        inner: all_healthy(),
        handle: handle.clone(),
        news: Observation::Anomaly(alert("late", "Slow", "10:07")),
        left: AtomicUsize::new(1),
    };
    let engine = Engine::new(MemoryContext::default(), policy).with_controls(controls);
    let ended = engine.investigate(Config::default(), seeded(topology(""), ["a"])).await;
    // Nothing explains its alert, so it is evaluated twice more.
    assert_that(&ended).evaluated(["a", "late", "late", "late"]).converged().is_intact();
    let too_late = Observation::NewEvidence(entity("a"));
    assert_eq!(handle.observe(too_late.clone()).await, Err(too_late));
}

#[tokio::test]
async fn an_answer_from_memory_makes_no_call() {
    let (handle, controls) = eog::handle();
    let contract = MemoryContext::default().with(finding("a"));
    let policy = Recorder::new(Tipster {
        inner: all_healthy(),
        handle,
        // No news at all: the packet is the same as before.
        news: Observation::NewEvidence(entity("a")),
        left: AtomicUsize::new(1),
    });
    let engine = Engine::new(&contract, &policy).with_controls(controls);
    let ended = engine.investigate(Config::default(), seeded(topology(""), ["a"])).await;
    assert_that(&ended).evaluated(["a", "a"]).converged().is_intact();
    assert_eq!(contract.requests().len(), 2);
    assert_eq!(policy.asked(), ["a"]);
    assert_eq!((ended.spent().hops, ended.spent().remembered), (1, 1));
}

#[tokio::test]
async fn observations_made_before_the_start_are_taken_in() {
    let (handle, controls) = eog::handle();
    let edge = Edge {
        source: entity("web"),
        target: entity("db"),
        relation: "calls".to_owned(),
        effects: EffectDirection::TargetToSource,
    };
    let absent = Edge { relation: "mounts".to_owned(), ..edge.clone() };
    for news in [
        Observation::EdgeAdded(edge),
        Observation::EdgeRemoved(absent),
        Observation::Anomaly(alert("web", "HttpErrors", "10:05")),
    ] {
        handle.observe(news).await.expect("there is room");
    }
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    let contract = MemoryContext::default()
        .with(finding("web"))
        .with(finding("db").change("pool", "50", "5").at("10:01"));
    let (sender, mut events) = eog::events();
    let engine = Engine::new(contract, policy).with_controls(controls).with_events(sender);
    let ended = engine.investigate(Config::default(), seeded(topology(""), [])).await;
    // Before db is named, web reads its message, and db gives a second opinion.
    assert_that(&ended).evaluated(["web", "db", "web", "db"]).frontier(["db"]).is_intact();

    let mut refused = Vec::new();
    while let Some(event) = events.next().await {
        if let Event::Refused(reason) = event {
            refused.push(reason);
        }
    }
    assert_eq!(refused, ["there is no edge \"web mounts db\" to remove"]);
}

#[tokio::test]
async fn a_handle_that_is_gone_changes_nothing() {
    let (handle, controls) = eog::handle();
    drop(handle);
    let engine = Engine::new(MemoryContext::default(), all_healthy()).with_controls(controls);
    let ended = engine.investigate(Config::default(), seeded(topology(""), ["a"])).await;
    assert_that(&ended).ends_with_label("a", Label::Healthy).converged();
}

/// Counts calls that begin and calls that are dropped.
#[derive(Default)]
struct Watched {
    begun: AtomicUsize,
    dropped: Arc<AtomicUsize>,
}

struct OnDrop(Arc<AtomicUsize>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }
}

impl AbductivePolicy for Watched {
    fn decide<'a>(&'a self, _packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        self.begun.fetch_add(1, Ordering::Relaxed);
        let guard = OnDrop(Arc::clone(&self.dropped));
        Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        })
    }
}

#[tokio::test(start_paused = true)]
async fn dropping_the_future_stops_everything() {
    let policy = Watched::default();
    let engine = Engine::new(MemoryContext::default(), &policy);
    let run = engine.investigate(Config::default(), seeded(topology(""), ["a", "b"]));
    let outcome = tokio::time::timeout(Duration::from_secs(1), run).await;
    assert!(outcome.is_err(), "the policy never answers");
    assert_eq!(policy.begun.load(Ordering::Relaxed), 1);
    assert_eq!(policy.dropped.load(Ordering::Relaxed), 1);
    tokio::time::sleep(Duration::from_secs(1000)).await;
    assert_eq!(policy.begun.load(Ordering::Relaxed), 1, "nothing goes on behind our back");
}

#[tokio::test]
async fn a_flood_of_observations_stops_neither_the_deadline_nor_the_answers() {
    let (handle, controls) = eog::handle();
    let limits = Limits { deadline: Some(Duration::from_millis(100)), ..Limits::default() };
    let policy = Faulty::new(all_healthy()).delay(Call::of("a"), Duration::from_millis(5));
    let engine =
        Engine::new(MemoryContext::default(), policy).with_controls(controls).with_limits(limits);
    let run = tokio::spawn(engine.investigate(Config::default(), seeded(topology(""), ["a"])));
    let flood =
        async { while handle.observe(Observation::NewEvidence(entity("z"))).await.is_ok() {} };
    let within = Duration::from_secs(60);
    let (ended, ()) = tokio::time::timeout(within, async { tokio::join!(run, flood) })
        .await
        .expect("the deadline ends it");
    assert_that(&ended.expect("it does not panic")).evaluated(["a"]);
}
