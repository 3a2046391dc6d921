//! Calls within their limits: how many at once, what is tried again, what is asked ahead and wasted.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use eog::controller::Concurrency;
use eog::side::SideRecord;
use eog::{
    AbductivePolicy, Answer, BoxFuture, Budget, CallRecorder, Config, ContextContract,
    ContextPacket, ContextRequest, Engine, Failure, Label, Limits, LocalContext, Retry,
    Speculation, StopReason, Usage,
};
use eog_testkit::{
    Call, Faulty, MemoryContext, Recorder, assert_that, finding, healthy, policy_fn, seeded,
    symptom_of, topology, try_policy_fn,
};
use tokio::time::Instant;

/// Takes a second for each call, and counts how many are under way.
#[derive(Default)]
struct Busy {
    now: AtomicU32,
    most: AtomicU32,
}

impl Busy {
    async fn work(&self) {
        let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
        self.most.fetch_max(now, Ordering::SeqCst);
        tokio::time::sleep(Duration::from_secs(1)).await;
        self.now.fetch_sub(1, Ordering::SeqCst);
    }

    fn most(&self) -> u32 {
        self.most.load(Ordering::SeqCst)
    }
}

impl ContextContract for Busy {
    fn get_context<'a>(
        &'a self,
        _: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async {
            self.work().await;
            Ok(LocalContext::default())
        })
    }
}

impl AbductivePolicy for Busy {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async {
            self.work().await;
            Ok(healthy(packet).into())
        })
    }
}

fn number(number: u32) -> NonZeroU32 {
    NonZeroU32::new(number).expect("is not 0")
}

fn eight() -> eog::Case {
    seeded(topology(""), ["a", "b", "c", "d", "e", "f", "g", "h"])
}

#[tokio::test(start_paused = true)]
async fn each_kind_of_call_has_its_own_limit() {
    let (contract, policy) = (Busy::default(), Busy::default());
    let limits = Limits {
        context_calls: NonZeroU32::new(3),
        policy_calls: NonZeroU32::new(2),
        ..Limits::default()
    };
    let config = Config { concurrency: Concurrency::Window(number(8)), ..Config::default() };
    let began = Instant::now();
    let ended =
        Engine::new(&contract, &policy).with_limits(limits).investigate(config, eight()).await;
    assert_that(&ended).converged();
    assert_eq!((contract.most(), policy.most()), (3, 2));
    // Eight decisions in pairs, after the first contexts.
    assert_eq!(began.elapsed().as_secs(), 5);
}

#[tokio::test(start_paused = true)]
async fn a_call_that_waits_for_its_turn_does_not_time_out() {
    let policy = Busy::default();
    let limits = Limits {
        policy_calls: NonZeroU32::new(1),
        policy_timeout: Some(Duration::from_secs(2)),
        ..Limits::default()
    };
    let config = Config { concurrency: Concurrency::Window(number(8)), ..Config::default() };
    let engine = Engine::new(MemoryContext::default(), &policy).with_limits(limits);
    let ended = engine.investigate(config, eight()).await;
    assert_eq!(ended.spent().failures, 0, "the last one waited for seven seconds");
}

#[tokio::test(start_paused = true)]
async fn what_may_pass_is_tried_again_and_nothing_else_is() {
    let usage = Usage { tokens_in: 7, ..Usage::default() };
    let busy = Failure { usage, ..Failure::policy("too many requests").transient() };
    let wait = Failure { retry_after: Some(Duration::from_secs(90)), ..busy.clone() };
    let policy = Faulty::new(policy_fn(healthy))
        .fail(Call::nth_of("a", 1), busy.clone())
        .fail(Call::nth_of("a", 2), wait)
        .fail(Call::of("b"), busy)
        .fail(Call::nth_of("c", 1), Failure::policy("unknown to the policy"));
    let asked = Recorder::new(policy);
    let contract = Recorder::new(
        Faulty::new(MemoryContext::default())
            .fail(Call::nth_of("d", 1), Failure { usage, ..Failure::context("busy").transient() }),
    );
    let case = seeded(topology(""), ["a", "b", "c", "d"]);
    let began = Instant::now();
    let recorder = CallRecorder::in_memory();
    let engine = Engine::new(&contract, &asked).with_recorder(recorder, Usage::default());
    let ended = engine.investigate(Config::default(), case).await;
    assert_that(&ended).failed("b").failed("c").ends_with_label("a", Label::Healthy);
    assert_eq!(asked.asked(), ["a", "a", "a", "b", "b", "b", "c", "d"]);
    assert!(began.elapsed() >= Duration::from_secs(90), "it waited as it was asked to");
    assert_eq!(ended.spent().hops, 4, "attempts are no hops");
    let spent = ended.spent().usage.tokens_in;
    assert_eq!(spent, 7 * 6, "every failed attempt is counted, that of the context, too");
}

#[tokio::test(start_paused = true)]
async fn nothing_is_tried_again_when_it_is_not_wanted() {
    let busy = Failure::policy("too many requests").transient();
    let policy = Recorder::new(Faulty::new(policy_fn(healthy)).fail(Call::any(), busy));
    let limits = Limits { retry: Retry::never(), ..Limits::default() };
    let engine = Engine::new(MemoryContext::default(), &policy).with_limits(limits);
    let ended = engine.investigate(Config::default(), seeded(topology(""), ["a"])).await;
    assert_that(&ended).failed("a");
    assert_eq!(policy.asked(), ["a"]);
}

/// Ten entities with a message from their neighbour before their turn: every early packet is
/// outdated.
#[tokio::test(start_paused = true)]
async fn waste_is_counted_and_capped() {
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let pairs = names.windows(2).map(|pair| format!("{} calls {}", pair[0], pair[1]));
    let case = seeded(topology(&pairs.collect::<Vec<_>>().join("; ")), names);
    let usage = Usage { model_calls: 1, tokens_in: 10, ..Usage::default() };
    let contract = MemoryContext::default().with_all(names.map(finding));
    let slow = |packet: &ContextPacket| {
        let next = names.iter().skip_while(|name| **name != packet.entity.as_str()).nth(1);
        next.map_or_else(|| healthy(packet), |next| symptom_of(packet, next))
    };
    let policy = Paid { usage, decide: slow };
    let run = |max_wasted_calls| {
        let ahead = Speculation { width: number(10), max_wasted_calls };
        Engine::new(&contract, &policy)
            .with_speculation(ahead)
            .investigate(Config::default(), case.clone())
    };
    let alone = Engine::new(&contract, &policy).investigate(Config::default(), case.clone()).await;
    let uncapped = run(u64::MAX).await;
    assert_eq!(uncapped.ledger(), alone.ledger());
    let wasted = uncapped.speculation.wasted_calls;
    assert!(wasted > 5, "{:?}", uncapped.speculation);
    let calls = |run: &eog::Finished| run.spent().usage.model_calls;
    assert!(calls(&uncapped) > calls(&alone), "answers that were not used cost something, too");

    let capped = run(3).await;
    assert_eq!(capped.ledger(), alone.ledger());
    assert_eq!(capped.speculation.wasted_calls, 3);
    let none = run(0).await;
    assert_eq!(none.speculation.early_calls, 0);
}

struct Paid<F> {
    usage: Usage,
    decide: F,
}

impl<F: Fn(&ContextPacket) -> eog::Decision + Send + Sync> AbductivePolicy for Paid<F> {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let seconds = if packet.entity.as_str() == "a" { 3 } else { 1 };
            tokio::time::sleep(Duration::from_secs(seconds)).await;
            Ok(Answer { usage: self.usage, ..(self.decide)(packet).into() })
        })
    }
}

#[tokio::test(start_paused = true)]
async fn budgets_hold_over_a_resume() {
    let usage = Usage { tokens_in: 10, ..Usage::default() };
    let policy = Recorder::new(Paid { usage, decide: healthy });
    let budget = Budget { tokens: Some(25), ..Budget::default() };
    let config = Config { budget, ..Config::default() };
    let case = seeded(topology(""), ["a", "b", "c", "d", "e"]);
    let ended = Engine::new(MemoryContext::default(), &policy).investigate(config, case).await;
    let exhausted = StopReason::BudgetExhausted { which: eog::BudgetKind::Tokens };
    assert_eq!(ended.stop, exhausted);
    assert_eq!(policy.asked(), ["a", "b", "c"]);

    let resumed = Engine::new(MemoryContext::default(), &policy)
        .with_recorder(CallRecorder::in_memory(), ended.spent().usage)
        .resume(ended.ledger())
        .await
        .expect("it follows");
    assert_eq!(resumed.stop, exhausted);
    assert_eq!(policy.asked(), ["a", "b", "c"], "what was spent before counts");
    assert_eq!(resumed.ledger(), ended.ledger());

    let forgetful = Engine::new(MemoryContext::default(), &policy).resume(ended.ledger()).await;
    assert_that(&forgetful.expect("it follows")).converged();
}

#[tokio::test(start_paused = true)]
async fn a_question_that_no_budget_allows_ends_the_run_and_is_asked_again_later() {
    let allowed = std::sync::atomic::AtomicU64::new(2);
    let usage = Usage { model_calls: 1, ..Usage::default() };
    let policy = Recorder::new(try_policy_fn(|packet: &ContextPacket| {
        use std::sync::atomic::Ordering::Relaxed;
        let spend = |left: u64| left.checked_sub(1);
        match allowed.fetch_update(Relaxed, Relaxed, spend) {
            Ok(_) => Ok(Answer { usage, ..healthy(packet).into() }),
            Err(_) => Err(Failure::policy("no money").for_want_of(eog::BudgetKind::Cost)),
        }
    }));
    let case = || seeded(topology(""), ["a", "b", "c", "d", "e"]);
    for width in [1, 3] {
        allowed.store(2, std::sync::atomic::Ordering::Relaxed);
        let config =
            Config { concurrency: Concurrency::Window(number(width)), ..Config::default() };
        let engine = || Engine::new(MemoryContext::default(), &policy);
        let ended = engine().investigate(config.clone(), case()).await;
        assert_eq!(ended.stop, StopReason::BudgetExhausted { which: eog::BudgetKind::Cost });
        assert!(ended.ledger().entries().iter().filter_map(|e| e.evaluation()).all(|evaluation| {
            matches!(evaluation.answer, eog::ledger::RecordedAnswer::Decided(_))
        }));
        let committed = ended.ledger().entries().iter().filter_map(|e| e.evaluation()).count();
        assert_eq!(committed, 2, "width {width}");

        allowed.store(9, std::sync::atomic::Ordering::Relaxed);
        let resumed = engine().resume(ended.ledger()).await.expect("it follows");
        assert_that(&resumed).converged().evaluated(["a", "b", "c", "d", "e"]).is_intact();
        if width == 1 {
            let at_once = engine().investigate(config, case()).await;
            assert_eq!(resumed.ledger(), at_once.ledger(), "the stop left no trace");
        }
    }
}

#[tokio::test(start_paused = true)]
async fn model_calls_have_a_budget() {
    let usage = Usage { model_calls: 2, ..Usage::default() };
    let policy = Paid { usage, decide: healthy };
    let budget = Budget { model_calls: Some(3), ..Budget::default() };
    let config = Config { budget, ..Config::default() };
    let case = seeded(topology(""), ["a", "b", "c"]);
    let ended = Engine::new(MemoryContext::default(), policy).investigate(config, case).await;
    let which = eog::BudgetKind::ModelCalls;
    assert_that(&ended).evaluated(["a", "b"]).stopped(StopReason::BudgetExhausted { which });
}

#[tokio::test(start_paused = true)]
async fn figures_are_in_a_file_beside_the_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let journal = folder.path().join("run.journal");
    let (recorder, before) = CallRecorder::beside(&journal).expect("it is new");
    let summary: String = recorder
        .call("window", &"alerts", async || {
            Ok(("an hour".to_owned(), Usage { tokens_in: 5, ..Usage::default() }))
        })
        .await
        .expect("it is answered");
    assert_eq!(summary, "an hour");
    let usage = Usage { tokens_in: 10, ..Usage::default() };
    let busy = Failure::policy("busy").transient();
    let policy = Faulty::new(Paid { usage, decide: healthy }).fail(Call::nth_of("b", 1), busy);
    let engine = Engine::new(MemoryContext::default(), policy)
        .with_journal(eog::Journal::create(&journal).expect("it is new"))
        .with_recorder(recorder, before.usage_so_far());
    let ended = engine.investigate(Config::default(), seeded(topology(""), ["a", "b"])).await;
    assert_eq!(ended.spent().usage.tokens_in, 25, "the call outside the loop counts");
    assert!(ended.side_error.is_none());

    let side =
        eog::side::SideFile::read(eog::side::SideFile::path_beside(&journal)).expect("it is whole");
    assert_eq!(side.usage_so_far().tokens_in, 25);
    let evaluations: Vec<_> = side
        .records
        .iter()
        .filter_map(|record| match record {
            SideRecord::Evaluation { entry, policy: Some(policy), context: Some(_), .. } => {
                Some((*entry, policy.attempts, policy.failures.len(), policy.took_us >= 1_000_000))
            }
            _ => None,
        })
        .collect();
    assert_eq!(evaluations, [(1, 1, 0, true), (2, 2, 1, true)]);
    let stopped = side.records.last().expect("there are records");
    let SideRecord::Stopped { entries: 3, reason, spent, .. } = stopped else {
        panic!("the run ended by itself: {stopped:?}")
    };
    assert_eq!((*reason, *spent), (ended.stop, ended.spent()));
}

#[tokio::test(start_paused = true)]
async fn no_attempt_begins_after_the_deadline() {
    let busy = Failure::policy("too many requests").transient();
    let busy = Failure { retry_after: Some(Duration::from_secs(600)), ..busy };
    let policy = Recorder::new(Faulty::new(policy_fn(healthy)).fail(Call::any(), busy));
    let limits = Limits { deadline: Some(Duration::from_secs(30)), ..Limits::default() };
    let engine = Engine::new(MemoryContext::default(), &policy).with_limits(limits);
    let began = Instant::now();
    let ended = engine.investigate(Config::default(), seeded(topology(""), ["a"])).await;
    assert_that(&ended).failed("a");
    assert_eq!((policy.asked().len(), began.elapsed()), (1, Duration::ZERO));
}

/// What was spent is what the file beside the journal holds, whatever became of the answers.
#[tokio::test(start_paused = true)]
async fn nothing_that_was_paid_for_is_missing_beside_the_journal() {
    let folder = tempfile::tempdir().expect("a folder");
    let usage = Usage { tokens_in: 500, ..Usage::default() };
    let wide = Config { concurrency: Concurrency::Window(number(2)), ..Config::default() };
    let beside = |name: &str| {
        let (recorder, _) = CallRecorder::beside(folder.path().join(name)).expect("it is new");
        (recorder, folder.path().join(name))
    };
    let in_file = |path: &std::path::Path| {
        let side =
            eog::side::SideFile::read(eog::side::SideFile::path_beside(path)).expect("it is whole");
        (side.usage_so_far(), side.records.last().cloned())
    };

    // An early fetch that fails at a price.
    let (recorder, path) = beside("early");
    let down = Failure { usage, ..Failure::context("down") };
    let contract = Faulty::new(MemoryContext::default()).fail(Call::nth_of("b", 1), down);
    let ended = Engine::new(contract, Paid { usage, decide: healthy })
        .with_speculation(Speculation::of(number(2)))
        .with_recorder(recorder, Usage::default())
        .investigate(Config::default(), seeded(topology(""), ["a", "b"]))
        .await;
    assert_eq!(ended.spent().usage.tokens_in, 1_500);
    assert_eq!(in_file(&path).0, ended.spent().usage);

    // Answers whose entries find no room.
    let (recorder, path) = beside("full");
    let disk = eog_testkit::SimDisk::new();
    let (journal, _) =
        eog::Journal::on::<eog::controller::EntryBody>(disk.clone()).expect("it is empty");
    disk.full_at(2_200);
    let ended = Engine::new(MemoryContext::default(), Paid { usage, decide: healthy })
        .with_journal(journal)
        .with_recorder(recorder, Usage::default())
        .investigate(wide, eight())
        .await;
    assert!(ended.journal_error.is_some());
    let (spent, last) = in_file(&path);
    assert!(spent.tokens_in >= ended.spent().usage.tokens_in, "{spent:?}");
    disk.repair();
    let stored =
        eog::Journal::on::<eog::controller::EntryBody>(disk).expect("it is whole").0.entries();
    assert!(matches!(last, Some(SideRecord::Stopped { entries, .. }) if entries == stored));
}
