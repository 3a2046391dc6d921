//! One engine serves any number of runs at once, each with its own handle, progress and outcome.

use std::num::NonZeroU32;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use eog::{
    AbductivePolicy, Answer, BoxFuture, Config, ContextPacket, Engine, Event, Failure, Journal,
    Label, Limits, StopReason,
};
use eog_testkit::{
    Call, Faulty, MemoryContext, assert_that, entity, finding, healthy, policy_fn, seeded, topology,
};

const RUNS: usize = 20;

/// Judges slowly, and notes how many calls are under way at once.
#[derive(Default)]
struct Slow {
    now: AtomicU32,
    most: AtomicU32,
}

impl AbductivePolicy for Slow {
    fn decide<'a>(&'a self, packet: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async move {
            let now = self.now.fetch_add(1, Ordering::SeqCst) + 1;
            self.most.fetch_max(now, Ordering::SeqCst);
            tokio::time::sleep(Duration::from_millis(10)).await;
            self.now.fetch_sub(1, Ordering::SeqCst);
            Ok(healthy(packet).into())
        })
    }
}

fn contract() -> MemoryContext {
    MemoryContext::default().with(finding("web")).with(finding("db"))
}

#[tokio::test(start_paused = true)]
async fn runs_at_once_share_their_limits_and_nothing_else() {
    let slow = std::sync::Arc::new(Slow::default());
    let limits = Limits { policy_calls: NonZeroU32::new(3), ..Limits::default() };
    let engine = Engine::new(contract(), std::sync::Arc::clone(&slow)).with_limits(limits);
    let case = || seeded(topology("web calls db"), ["web", "db"]);
    let runs: Vec<_> = (0..RUNS).map(|_| engine.share().start(Config::default(), case())).collect();
    let alone = engine.share().investigate(Config::default(), case()).await;
    for run in runs {
        let finished = run.outcome().await.expect("the runtime lives");
        assert_that(&finished).converged().evaluated(["web", "db"]).is_intact();
        assert_eq!(finished.ledger().to_json_lines(), alone.ledger().to_json_lines());
    }
    assert_eq!(slow.most.load(Ordering::SeqCst), 3, "of all runs together");
}

#[tokio::test(start_paused = true)]
async fn one_run_is_cancelled_and_the_other_goes_on() {
    let policy = Faulty::new(policy_fn(healthy)).hang(Call::nth_of("web", 1));
    let engine = Engine::new(contract(), policy);
    let mut hangs = engine.share().start(Config::default(), seeded(topology("web"), ["web"]));
    let goes_on = engine.share().start(Config::default(), seeded(topology("db"), ["db"]));
    let mut progress = hangs.progress();
    // Until it asks the policy that hangs.
    loop {
        let event = progress.next().await.expect("it has not ended");
        let Event::Asking { about, kind } = event else { continue };
        if kind == eog::machine::QuestionKind::Policy {
            assert_eq!(about, entity("web"));
            break;
        }
    }
    let finished = goes_on.outcome().await.expect("the runtime lives");
    assert_that(&finished).converged().ends_with_label("db", Label::Healthy);
    assert!(!hangs.is_finished());
    hangs.handle().cancel();
    let stopped = hangs.outcome().await.expect("the runtime lives");
    assert_that(&stopped).stopped(StopReason::Cancelled).is_intact();
}

#[tokio::test]
async fn progress_is_received_from_the_beginning_to_the_end() {
    let engine = Engine::new(contract(), policy_fn(healthy));
    let mut run = engine.share().start(Config::default(), seeded(topology("web"), ["web"]));
    let mut progress = run.progress();
    let mut entries = 0;
    // Ends by itself, while the run is still held.
    while let Some(event) = progress.next().await {
        entries += u64::from(matches!(event, Event::Appended(_)));
    }
    assert!(
        run.progress().next().await.is_none(),
        "a listener that comes too late receives the end"
    );
    assert_eq!(run.outcome().await.expect("the runtime lives").ledger().next_seq(), entries);
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_dropped_is_cancelled_and_its_journal_goes_on() {
    let folder = tempfile::tempdir().expect("there is room");
    let file = folder.path().join("run.journal");
    let hanging = Faulty::new(policy_fn(healthy)).hang(Call::nth_of("db", 1));
    let engine = Engine::new(contract(), hanging);
    let journal = Journal::create(&file).expect("it is new");
    let case = seeded(topology("web; db"), ["web", "db"]);
    let mut run = engine.share().with_journal(journal).start(Config::default(), case);
    let mut progress = run.progress();
    // Until web is stored, and db is asked about.
    while let Some(event) = progress.next().await {
        if matches!(event, Event::Asking { about, kind: eog::machine::QuestionKind::Policy } if about == entity("db"))
        {
            break;
        }
    }
    drop(run);
    while progress.next().await.is_some() {}

    let (journal, recovered) = Journal::open(&file).expect("it is whole");
    let engine = Engine::new(contract(), policy_fn(healthy));
    let run =
        engine.share().with_journal(journal).start_from(&recovered.ledger).expect("it follows");
    let finished = run.outcome().await.expect("the runtime lives");
    assert_that(&finished).converged().evaluated(["web", "db"]).is_intact();
}
