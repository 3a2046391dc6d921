//! Robustness to order, through the public API. The clock is paused where delays are injected.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use eog::stress::{Cancelled, Factor, Stress, StressProgress, StressReport, Watch, stress};
use eog::{
    AbductivePolicy, Case, Config, ContextAndPolicy, ContextContract, ContextPacket, Decision,
    EntityId, Failure, Label, Limits, StopReason,
};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_testkit::{
    Call, Faulty, MemoryContext, Recorder, alert, case, entity, finding, healthy, origin,
    policy_fn, symptom_of, topology,
};

/// Two services that call each other, and three that have nothing to do with them.
fn feud() -> Case {
    let alerts = ["a", "b", "c", "d", "e"].map(|name| alert(name, "Slow", "10:05"));
    case(topology("a calls b; c; d; e"), alerts)
}

fn evidence() -> MemoryContext {
    let all = ["a", "b", "c", "d", "e"].into_iter();
    all.fold(MemoryContext::default(), |context, name| context.with(finding(name)))
}

/// An entity without an accusation calls itself the origin, so the first of two that speaks does.
fn first_come(packet: &ContextPacket) -> Decision {
    match packet.inbox.iter().find(|message| message.belief.label == Label::Origin) {
        Some(message) => symptom_of(packet, message.sender.as_str()),
        None if ["a", "b"].contains(&packet.entity.as_str()) => origin(packet),
        None => healthy(packet),
    }
}

fn world<P>(policy: P) -> ContextAndPolicy<MemoryContext, P> {
    ContextAndPolicy { contract: evidence(), policy }
}

async fn stressed(policy: impl AbductivePolicy, how: &Stress) -> StressReport {
    let report = stress(Config::default(), feud(), world(policy), how, Watch::default()).await;
    report.expect("it is not cancelled")
}

fn names(entities: &[EntityId]) -> Vec<&str> {
    entities.iter().map(EntityId::as_str).collect()
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_hangs_on_the_order_is_found_out_by_one_swap() {
    let report = stressed(policy_fn(first_come), &Stress::default()).await;
    assert_eq!(report.runs, 40);
    assert!((5..36).contains(&report.same_outcome), "{report:#?}");
    assert_eq!(report.baseline.outcome.frontier, [[entity("a")]]);
    assert_eq!(report.frontiers[0].outcome, report.baseline.outcome);
    assert_eq!(report.frontiers.iter().map(|count| count.runs).sum::<u32>(), 40);

    let pair = report.pair.expect("runs differ");
    assert_eq!(pair.factors, [Factor::Seeds]);
    assert_eq!(names(&report.baseline.seeds), ["a", "b", "c", "d", "e"]);
    assert_eq!(names(&pair.differing.seeds), ["b", "a", "c", "d", "e"]);
    assert_eq!(pair.differing.setting.displaced(), [0, 1]);
    assert_eq!(pair.differing.outcome.frontier, [[entity("b")]]);
    assert_eq!(pair.differing.stop, StopReason::Converged { refused_wakes: 0 });

    // The report says what became of those two, and why: the messages of each.
    let reported: Vec<_> = pair
        .entities
        .iter()
        .map(|one| (one.entity.as_str(), one.in_one_frontier, one.differing.label))
        .collect();
    let expected = [("a", true, Some(Label::Symptom)), ("b", true, Some(Label::Origin))];
    assert_eq!(reported, expected);
    assert_eq!(pair.entities[0].baseline.received, [(entity("b"), Label::Symptom)]);
    assert_eq!(pair.entities[0].differing.received, [(entity("b"), Label::Origin)]);
    assert!(pair.parting.is_some());

    // Both ledgers are whole, and differ in their seeds alone.
    let difference = eog::travel::diff(&report.baseline.ledger, &pair.differing.ledger);
    assert_eq!((difference.settings.len(), difference.other_case), (0, true));
    assert!(pair.differing.ledger.verify().is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_policy_that_does_not_hang_on_the_order_agrees_in_all_runs() {
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "a" => symptom_of(packet, "b"),
        "b" => origin(packet),
        _ => healthy(packet),
    });
    let report = stressed(policy, &Stress::default()).await;
    assert_eq!((report.runs, report.same_outcome), (40, 40));
    assert_eq!((report.same_frontier, report.same_cover), (40, 40));
    assert_eq!(report.frontiers.len(), 1);
    assert!(report.pair.is_none());
    assert_eq!(report.shrinking.runs, 0);
}

#[tokio::test(start_paused = true)]
async fn equal_arguments_give_equal_reports_and_another_seed_another() {
    let report = async |seed| {
        let how = Stress { seed, ..Stress::default() };
        let report = stressed(policy_fn(first_come), &how).await;
        let ledger = report.pair.as_ref().expect("runs differ").differing.ledger.to_json_lines();
        (serde_json::to_string(&report).expect("it is JSON"), ledger)
    };
    let first = report(7).await;
    assert_eq!(first, report(7).await);
    assert_ne!(first.0.replace("\"seed\":7", ""), report(8).await.0.replace("\"seed\":8", ""));
}

#[tokio::test(start_paused = true)]
async fn delays_alone_change_no_byte() {
    let report = stressed(policy_fn(first_come), &Stress::default()).await;
    assert_eq!((report.delays_alone.runs, report.delays_alone.identical), (8, 8));
    let none = Stress { max_delay: Duration::ZERO, ..Stress::default() };
    let report = stressed(policy_fn(first_come), &none).await;
    assert_eq!(report.delays_alone.runs, 0);
}

/// Says something else each time it is asked, and sometimes nothing.
fn moody() -> impl AbductivePolicy {
    let asked = AtomicU64::new(0);
    eog_testkit::try_policy_fn(move |packet| match asked.fetch_add(1, Ordering::Relaxed) % 4 {
        0 => Ok(origin(packet)),
        1 => Err(Failure::policy("not today")),
        2 => Ok(healthy(packet)),
        _ => Ok(first_come(packet)),
    })
}

#[tokio::test(start_paused = true)]
async fn nothing_is_asked_twice_so_moods_change_nothing() {
    let policy = Recorder::new(moody());
    let contract = Recorder::new(evidence());
    let how = Stress { delay_runs: 20, ..Stress::default() };
    let watch = Watch::default();
    let report = stress(
        Config::default(),
        feud(),
        ContextAndPolicy { contract: &contract, policy: &policy },
        &how,
        watch,
    )
    .await;
    let report = report.expect("it is not cancelled");
    assert_eq!(report.delays_alone.identical, 20);
    assert!(report.baseline.failures > 0, "a failure was kept, too");

    let packets = policy.packets();
    let mut distinct: Vec<String> =
        packets.iter().map(|packet| eog::Digest::of(packet).to_string()).collect();
    distinct.sort();
    distinct.dedup();
    assert_eq!(distinct.len(), packets.len());
    assert_eq!(report.questions.decisions.distinct, packets.len() as u64);
    assert_eq!(report.questions.contexts.distinct, contract.requests().len() as u64);
    assert!(report.questions.decisions.again > report.questions.decisions.distinct);
}

#[tokio::test(start_paused = true)]
async fn panics_and_time_outs_are_answers_that_are_kept() {
    let policy = Faulty::new(policy_fn(healthy)).panic(Call::nth_of("c", 1), "once");
    let contract = Faulty::new(evidence()).hang(Call::nth_of("d", 1));
    let limits = Limits { context_timeout: Duration::from_secs(5), ..Limits::default() };
    let how = Stress { limits, ..Stress::default() };
    let report = stress(
        Config::default(),
        feud(),
        ContextAndPolicy { contract, policy },
        &how,
        Watch::default(),
    )
    .await;
    let report = report.expect("it is not cancelled");
    assert_eq!(report.baseline.failures, 2);
    assert_eq!((report.same_outcome, report.delays_alone.identical), (40, 8));
}

#[tokio::test(start_paused = true)]
async fn when_no_more_runs_are_allowed_the_report_says_so() {
    let how = Stress { max_shrink_runs: 2, ..Stress::default() };
    let report = stressed(policy_fn(first_come), &how).await;
    assert_eq!((report.shrinking.runs, report.shrinking.gave_up), (2, true));
    assert!(report.pair.is_some(), "the smallest so far");
}

/// Cancels when the progress has come so far.
async fn cancelled_at(
    step: impl Fn(StressProgress) -> bool + Send + Sync,
) -> Result<StressReport, Cancelled> {
    let (handle, controls) = eog::handle();
    let mut progress = |now| {
        if step(now) {
            handle.cancel();
        }
    };
    let watch = Watch::default().with_progress(&mut progress).with_controls(controls);
    let policy = policy_fn(first_come);
    stress(Config::default(), feud(), world(policy), &Stress::default(), watch).await
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_test_reports_what_was_run() {
    let report = cancelled_at(|now| matches!(now, StressProgress::Run { number: 6, .. })).await;
    let report = report.expect("the baseline had ended");
    assert_eq!((report.runs, report.planned, report.interrupted), (5, 40, true));
    assert_eq!(report.shrinking.runs, 1, "the first was cancelled at once");
    assert_eq!(cancelled_at(|now| now == StressProgress::Baseline).await.err(), Some(Cancelled));
}

#[tokio::test(start_paused = true)]
async fn the_shipped_incident_is_robust() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flash-sale");
    let bundle = Bundle::read(&folder).expect("the bundle ships with the project");
    let case = open_case(&bundle.incident(), None).expect("it has alerts");
    let contract: &dyn ContextContract = &BundleContext::new(bundle);
    let policy = EvidencePolicy::default();
    let how = Stress::default();
    let report = stress(
        Config::default(),
        case,
        ContextAndPolicy { contract, policy },
        &how,
        Watch::default(),
    )
    .await;
    let report = report.expect("it is not cancelled");
    assert_eq!((report.runs, report.same_outcome), (40, 40), "{:#?}", report.frontiers);
    assert_eq!(report.delays_alone.identical, 8);
}
