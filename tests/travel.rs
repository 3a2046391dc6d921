//! Time travel over ledgers, through the public API.

use std::collections::BTreeMap;

use eog::controller::Reason;
use eog::ledger::RecordedAnswer;
use eog::travel::{Part, Parting, Unjudged, diff, explain, packet_of, unjudged};
use eog::{
    AbductivePolicy, Answer, BoxFuture, Budget, BudgetKind, Config, ContextPacket, Controller,
    Digest, Engine, Failure, Finished, Label, Ledger, StopReason,
};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_testkit::{
    MemoryContext, Recorder, entity, finding, origin, policy_fn, symptom_of, topology,
};

/// Only what claims name is evaluated.
fn without_proposals() -> Config {
    Config { max_proposals: Some(0), widening: None, ..Config::default() }
}

/// The shipped incident, judged by the evidence policy; every packet that was judged.
async fn flash_sale(config: Config) -> (Finished, Vec<ContextPacket>) {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flash-sale");
    let bundle = Bundle::read(&folder).expect("the bundle ships with the project");
    let case = open_case(&bundle.incident(), None).expect("it has alerts");
    let policy = Recorder::new(EvidencePolicy::default());
    let finished = Engine::new(BundleContext::new(bundle), &policy).investigate(config, case).await;
    (finished, policy.packets())
}

#[tokio::test]
async fn every_packet_is_rebuilt_as_the_policy_saw_it() {
    let (finished, asked) = flash_sale(Config::default()).await;
    let ledger = finished.ledger();
    let mut asked = asked.into_iter();
    for entry in ledger.entries() {
        let packet = packet_of(ledger, entry.seq).expect("the ledger follows");
        match entry.evaluation().map(|evaluation| &evaluation.answer) {
            Some(RecordedAnswer::Decided(_)) => assert_eq!(packet, asked.next()),
            Some(RecordedAnswer::Remembered { .. }) => assert!(packet.is_some()),
            _ => assert_eq!(packet, None),
        }
    }
    assert_eq!(asked.next(), None);
    assert_eq!(packet_of(ledger, 999).expect("nothing is asked"), None);
}

#[tokio::test]
async fn an_explanation_shows_the_messages_before_a_change_of_mind() {
    let (finished, _) = flash_sale(Config::default()).await;
    let policy = EvidencePolicy::default();
    let database = entity("database");
    let explanation =
        explain(finished.ledger(), &database, Some(&policy), eog::Limits::default()).await;
    let explanation = explanation.expect("the ledger follows");
    let last = explanation.steps.last().expect("it was judged");
    assert_eq!(last.belief.label, Label::Symptom);
    let received: Vec<_> =
        last.received.iter().filter(|it| it.sender.as_str() == "processor").collect();
    let [message] = received.as_slice() else { panic!("{received:?}") };
    assert!(message.label != Label::Healthy && message.entry < last.entry);
    assert!(last.belief.claims.iter().any(|claim| claim.cause == entity("processor")));

    // The frontend is an origin by its change and the traffic that rose with it.
    let frontend = entity("frontend");
    let explanation =
        explain(finished.ledger(), &frontend, Some(&policy), eog::Limits::default()).await;
    let explanation = explanation.expect("the ledger follows");
    let kinds: Vec<&str> = explanation
        .hangs_on
        .iter()
        .map(|dependence| match &dependence.without {
            Part::Finding(id) => &id.as_str()[..3],
            Part::Message(_) => "message",
        })
        .collect();
    assert!(kinds.contains(&"chg"), "{kinds:?}");
    assert!(explanation.hangs_on.iter().all(|dependence| dependence.label != Label::Origin));
}

#[tokio::test]
async fn an_entity_that_was_never_evaluated_has_no_steps() {
    let (finished, _) = flash_sale(without_proposals()).await;
    let explanation =
        explain(finished.ledger(), &entity("mailer"), None, eog::Limits::default()).await;
    let explanation = explanation.expect("the ledger follows");
    assert_eq!((explanation.belief, explanation.steps.len()), (None, 0));
}

#[tokio::test]
async fn why_an_entity_was_not_judged_is_explained() {
    let (whole, _) = flash_sale(without_proposals()).await;
    let why = |finished: &Finished, name: &str| {
        unjudged(finished.ledger(), &entity(name)).expect("the ledger follows")
    };
    assert_eq!(why(&whole, "gateway"), None);
    assert_eq!(why(&whole, "missing"), Some(Unjudged::Unknown));
    assert_eq!(why(&whole, "search"), Some(Unjudged::BeyondCap { entry: 1 }));
    let budget = Config { budget: Budget::hops(2), ..Config::default() };
    let (short, _) = flash_sale(budget).await;
    let left_out = vec!["Heartbeat on mailer: listed in ignore_alerts".to_owned()];
    assert_eq!(why(&short, "mailer"), Some(Unjudged::LeftOut(left_out)));
    let stop = Some(StopReason::BudgetExhausted { which: BudgetKind::Hops });
    let waiting = Unjudged::Waiting { reason: Reason::Claim, stop };
    assert_eq!(why(&short, "processor"), Some(waiting));

    let narrow = Config { max_entities: 3, ..Config::default() };
    let (narrow, _) = flash_sale(narrow).await;
    let why = why(&narrow, "database");
    assert!(!matches!(why, None | Some(Unjudged::Unknown)), "{why:?}");
}

#[tokio::test]
async fn runs_part_where_their_courses_do() {
    let (with, _) = flash_sale(Config::default()).await;
    let (without, _) = flash_sale(Config { broadcast: false, ..Config::default() }).await;
    let difference = diff(with.ledger(), without.ledger());
    assert_eq!(difference.settings.len(), 1);
    assert_eq!(difference.settings[0].name, "broadcast");
    assert!(!difference.other_case);
    assert!(matches!(difference.parting, Parting::At { first, .. } if first.seq == 1));
    assert!(diff(with.ledger(), with.ledger()).is_none());

    let lines = with.ledger().to_json_lines();
    let part: String = lines.lines().take(4).map(|line| format!("{line}\n")).collect();
    let part = Ledger::from_json_lines(&part).expect("a part is a ledger");
    let parting = diff(&part, with.ledger()).parting;
    assert_eq!(parting, Parting::OneGoesOn { shared: 4, first: false });
}

/// Judges nothing: what is asked of it is a mistake.
struct Uncalled;

impl AbductivePolicy for Uncalled {
    fn decide<'a>(&'a self, _: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Err(Failure::policy("this policy is not to be called")) })
    }
}

#[tokio::test]
async fn a_restored_run_goes_on_in_the_engine_s_place() {
    let (finished, _) = flash_sale(Config::default()).await;
    let restored = Controller::restore(finished.ledger()).expect("the ledger follows");
    assert_eq!(restored.conclusion(), finished.conclusion());
    let explanation =
        explain(finished.ledger(), &entity("gateway"), Some(&Uncalled), eog::Limits::default())
            .await;
    assert!(explanation.expect("the ledger follows").hangs_on.is_empty());
}

/// Three entities that are all evaluated from the start, each the cause of the one before.
async fn chain(config: Config) -> (Finished, Vec<ContextPacket>) {
    let policy = Recorder::new(policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "app"),
        "app" => symptom_of(packet, "db"),
        _ => origin(packet),
    }));
    let contract = ["web", "app", "db"]
        .map(finding)
        .into_iter()
        .fold(MemoryContext::default(), eog_testkit::MemoryContext::with);
    let graph = topology("web calls app; app calls db");
    let case = eog_testkit::seeded(graph, ["db", "app", "web"]);
    let finished = Engine::new(contract, &policy).investigate(config, case).await;
    (finished, policy.packets())
}

/// The messages before each evaluation of every entity are those in the packet of that evaluation,
/// whatever else was under way.
#[tokio::test]
async fn messages_are_those_that_evaluations_were_begun_with_at_any_width() {
    let mut overtaken = 0;
    for width in [1, 2, 4, 16] {
        let width = std::num::NonZeroU32::new(width).expect("not 0");
        let config = Config {
            concurrency: eog::controller::Concurrency::Window(width),
            ..Config::default()
        };
        for (finished, packets) in [flash_sale(config.clone()).await, chain(config).await] {
            overtaken += messages_as_begun(&finished, packets).await;
        }
    }
    assert!(overtaken > 0, "no message came while its receiver was being judged");
}

/// Checks it for one run. Gives the number of messages that, by the order of entries, had come before an
/// evaluation that was begun without them.
async fn messages_as_begun(finished: &Finished, packets: Vec<ContextPacket>) -> usize {
    let packets: BTreeMap<Digest, ContextPacket> =
        packets.into_iter().map(|packet| (Digest::of(&packet), packet)).collect();
    let ledger = finished.ledger();
    let mut overtaken = 0;
    for (entity, _) in finished.machine.beliefs() {
        let explanation = explain(ledger, entity, None, eog::Limits::default()).await;
        let mut received = BTreeMap::new();
        for step in explanation.expect("the ledger follows").steps {
            for one in step.received {
                received.insert(one.sender, (one.label, one.claims));
            }
            let evaluation = ledger.entries()[step.entry as usize].evaluation();
            let evaluation = evaluation.expect("a step is an evaluation");
            let packet = &packets[&evaluation.packet.expect("it had a context")];
            let inbox: BTreeMap<_, _> = packet
                .inbox
                .iter()
                .map(|message| {
                    let claims: Vec<_> =
                        message.belief.claims.iter().map(eog::Claim::edge).collect();
                    (message.sender.clone(), (message.belief.label, claims))
                })
                .collect();
            assert_eq!(received, inbox, "{entity}, entry {}", step.entry);
            let before = &ledger.entries()[..step.entry as usize];
            let spoken = before.iter().filter_map(|entry| entry.evaluation()).filter(|other| {
                other.outcome.broadcast_to.contains(entity) && !inbox.contains_key(&other.entity)
            });
            overtaken += spoken.count();
        }
    }
    overtaken
}

#[tokio::test]
async fn a_message_that_a_new_edge_brings_is_listed() {
    let graph = topology("web calls app; store calls db");
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    let contract = ["web", "db"]
        .map(finding)
        .into_iter()
        .fold(MemoryContext::default(), eog_testkit::MemoryContext::with);
    let case = eog_testkit::seeded(graph, ["db", "web"]);
    let finished = Engine::new(contract, policy).investigate(Config::default(), case).await;
    let explanation =
        explain(finished.ledger(), &entity("web"), None, eog::Limits::default()).await;
    let steps = explanation.expect("the ledger follows").steps;
    let reasons: Vec<Reason> = steps.iter().map(|step| step.reason).collect();
    assert_eq!(reasons, [Reason::Seed, Reason::LateMessage]);
    assert!(steps[0].received.is_empty());
    let received: Vec<_> =
        steps[1].received.iter().map(|one| (one.sender.as_str(), one.entry)).collect();
    assert_eq!(received, [("db", 1)]);
}
