//! Every machine on the same engine, journal, replay and fork: what holds of one holds of all.

use std::sync::atomic::{AtomicU64, Ordering};

use eog::controller::EntryBody;
use eog::ledger::{Body, ForkChanges, Observation};
use eog::linear::{LeadOrder, LinearBody};
use eog::machine::OfMachine;
use eog::{
    Budget, Case, Config, Controller, Decision, Engine, Event, Failure, Journal, Label, Ledger,
    Linear, LinearConfig, Machine, Replay, StopReason,
};
use eog_search::{Profile, SearchConfig};
use eog_testkit::truth::{TruthGraph, TruthPolicy, TruthSpec};
use eog_testkit::{
    Call, Faulty, MemoryContext, alert, case, entity, finding, healthy, origin, policy_fn, seeded,
    symptom_of, topology,
};

/// A chain of symptoms that leads to an origin, and a bystander.
fn incident() -> (Case, MemoryContext) {
    let alerts = ["web", "mail"].map(|name| alert(name, "Slow", "10:05"));
    let names = ["web", "app", "db", "mail"];
    let evidence = names.iter().fold(MemoryContext::default(), |context, name| {
        context.with(finding(name).change("pool", "50", "5").at("10:02"))
    });
    (case(topology("web calls app; app calls db; web calls mail"), alerts), evidence)
}

fn judge(packet: &eog::ContextPacket) -> Decision {
    match packet.entity.as_str() {
        "web" => symptom_of(packet, "app"),
        "app" => symptom_of(packet, "db"),
        "db" => origin(packet),
        _ => healthy(packet),
    }
}

/// Settings of both machines, each in a few shapes.
fn linear_configs() -> Vec<LinearConfig> {
    let usual = LinearConfig::default();
    vec![
        usual.clone(),
        LinearConfig { commits: false, ..usual.clone() },
        // What it forgets it evaluates again, until the budget ends it.
        LinearConfig { memory: Some(2), commits: false, budget: Budget::hops(12), ..usual.clone() },
        LinearConfig { repeats: [1, 2, 4].into(), ..usual.clone() },
        LinearConfig { order: LeadOrder::Permuted { seed: 3 }, commits: false, ..usual },
    ]
}

/// Investigates to the end, without a journal.
async fn live<S>(settings: S) -> eog::Finished<S::Machine>
where
    S: OfMachine,
    S::Machine: Machine<Settings = S>,
{
    let (case, evidence) = incident();
    let world = S::Machine::by_policy(evidence, policy_fn(judge));
    Engine::with_responder(world).investigate(settings, case).await
}

/// A folder for a journal: in memory where the system has such, since thousands of them would wait for the disk.
fn folder() -> tempfile::TempDir {
    let memory = tempfile::tempdir_in("/dev/shm");
    memory.or_else(|_| tempfile::tempdir()).expect("a folder")
}

/// What must hold of every machine.
async fn keeps_the_promises<S>(settings: S)
where
    S: OfMachine + Clone,
    S::Machine: Machine<Settings = S>,
    <S::Machine as Machine>::Body: OfMachine<Machine = S::Machine>,
{
    let whole = live(settings.clone()).await;
    let ledger = whole.ledger();
    ledger.verify().expect("the chain is whole");
    assert_eq!(live(settings.clone()).await.ledger(), ledger, "equal input gives equal bytes");

    // Written and read, it is the same, to the byte.
    let lines = ledger.to_json_lines();
    let read = Ledger::from_json_lines(&lines).expect("it was just written");
    assert_eq!(&read, ledger);
    let tag = format!("\"body\":{{\"{}\"", <S::Machine as Machine>::Body::OPENING);
    assert!(
        lines.starts_with("{\"seq\":0")
            && lines.lines().next().is_some_and(|first| first.contains(&tag))
    );

    // Replayed step by step, every prefix is what a restore of that prefix is.
    let mut replay = Replay::<S::Machine>::new(ledger).expect("it begins");
    let mut steps = 1;
    loop {
        let prefix = ledger.before(steps);
        let restored = eog::ledger::restore(&prefix).expect("every prefix follows");
        assert_eq!(restored.conclusion(), replay.machine().conclusion(), "after {steps} entries");
        assert_eq!(restored.ledger(), replay.machine().ledger());
        if replay.step().expect("it follows").is_none() {
            break;
        }
        steps += 1;
    }
    assert_eq!(steps, ledger.next_seq());
    assert_eq!(replay.machine().conclusion(), whole.conclusion());
    let again = replay.into_machine();
    assert_eq!(again.diagnosis().claims, whole.diagnosis().claims);

    // Stopped after any entry and resumed with the journal, it ends with the same ledger, and what
    // was answered before is not asked again.
    for kept in 1..=ledger.next_seq() {
        let folder = folder();
        let path = folder.path().join("run.journal");
        let mut journal = Journal::create(&path).expect("the folder is empty").without_fsync();
        journal.append(ledger.before(kept).entries()).expect("it follows");
        drop(journal);
        let (journal, recovered) =
            Journal::open_as::<<S::Machine as Machine>::Body>(&path).expect("it is whole");
        let (_, evidence) = incident();
        let asked = AtomicU64::new(0);
        let counting = policy_fn(|packet| {
            asked.fetch_add(1, Ordering::Relaxed);
            judge(packet)
        });
        let world = S::Machine::by_policy(evidence, &counting);
        let engine = Engine::with_responder(world).with_journal(journal);
        let ended = engine.resume(&recovered.ledger).await.expect("it follows");
        assert_eq!(ended.ledger().to_json_lines(), lines, "resumed after {kept}");
        let before: u64 = {
            let restored = eog::ledger::restore(&ledger.before(kept)).expect("it follows");
            restored.spent().hops
        };
        assert_eq!(asked.load(Ordering::Relaxed), whole.spent().hops - before);
        let stored = Journal::read_as::<<S::Machine as Machine>::Body>(&path).expect("it is whole");
        assert_eq!(stored.ledger.to_json_lines(), lines);
    }

    // A fork shares what stands before it, records itself, and goes its own way.
    for at in 0..ledger.next_seq() {
        let (_, evidence) = incident();
        let world = S::Machine::by_policy(evidence, policy_fn(healthy));
        let changes = ForkChanges { policy: Some("optimist".to_owned()), ..ForkChanges::default() };
        let fork =
            Engine::with_responder(world).fork(ledger, at, changes).await.expect("it is there");
        assert_eq!(fork.ledger().before(at + 1), ledger.before(at + 1));
        let diagnosis = fork.diagnosis();
        assert_eq!((diagnosis.forks.len(), diagnosis.forks[0].at), (1, at));
        assert_eq!(diagnosis.forks[0].policy.as_deref(), Some("optimist"));
        assert!(eog::ledger::restore(fork.ledger()).is_ok());
    }
}

#[tokio::test]
async fn the_controller_keeps_the_promises_of_every_machine() {
    keeps_the_promises(Config::default()).await;
    keeps_the_promises(Config::paper()).await;
}

#[tokio::test]
async fn the_linear_loop_keeps_the_promises_of_every_machine() {
    for config in linear_configs() {
        keeps_the_promises(config).await;
    }
}

/// Every profile of tree search in a few shapes.
fn search_configs() -> Vec<SearchConfig> {
    let wide = std::num::NonZeroU32::new(3).expect("not zero");
    let usual = Profile::ALL.map(Profile::config);
    // As far as a profile has the setting.
    type Changed = Result<SearchConfig, eog_search::Incoherent>;
    let where_used = |config: SearchConfig, change: fn(SearchConfig) -> Changed| {
        change(config.clone()).unwrap_or(config)
    };
    let strict = |profile: Profile| where_used(profile.config(), |it| it.with_accept(1000));
    let narrow = Profile::ALL
        .map(|profile| where_used(profile.config(), |it| it.with_depth(2)).with_rounds(3));
    let hard = Profile::ALL.map(|profile| where_used(strict(profile), |it| it.with_branch(1)));
    let short = Profile::ALL.map(|profile| profile.config().with_budget(Budget::hops(2)));
    let parallel = Profile::ALL.map(|profile| strict(profile).with_width(wide));
    [usual, narrow, hard, short, parallel].concat()
}

#[tokio::test]
async fn tree_searches_keep_the_promises_of_every_machine() {
    for config in search_configs() {
        keeps_the_promises(config).await;
    }
}

#[tokio::test]
async fn the_linear_loop_follows_the_newest_lead_to_the_first_origin() {
    let ended = live(LinearConfig::default()).await;
    assert_eq!(ended.stop, StopReason::Converged { refused_wakes: 0 });
    let evaluated: Vec<&str> = ended
        .ledger()
        .entries()
        .iter()
        .filter_map(|entry| Some(entry.body.look()?.entity.as_str()))
        .collect();
    assert_eq!(evaluated, ["web", "app", "db"], "it commits before it evaluates mail");
    let diagnosis = ended.diagnosis();
    assert_eq!(diagnosis.causes().next().unwrap().origins, [entity("db")]);
    assert_eq!(diagnosis.conclusion.unexplained, [1], "nothing reaches mail");

    let whole = live(LinearConfig { commits: false, ..LinearConfig::default() }).await;
    assert_eq!(whole.spent().evaluations, 4);
}

#[tokio::test]
async fn the_linear_loop_forgets_the_oldest_answer_with_its_claims() {
    let ended = live(LinearConfig { memory: Some(2), ..LinearConfig::default() }).await;
    assert!(ended.machine.beliefs().all(|(name, _)| *name != entity("web")));
    assert_eq!(ended.conclusion().unexplained, [0, 1], "the way to web is forgotten");
}

#[tokio::test]
async fn repeated_steps_make_no_call_and_count_against_the_budget() {
    let repeats: std::collections::BTreeSet<u64> = (1..100).collect();
    let budget = Budget::hops(7);
    let ended = live(LinearConfig { repeats, budget, ..LinearConfig::default() }).await;
    let spent = ended.spent();
    assert_eq!((spent.evaluations, spent.hops, spent.remembered), (7, 1, 6));
    let exhausted = StopReason::BudgetExhausted { which: eog::BudgetKind::Hops };
    assert_eq!(ended.stop, exhausted);
}

#[tokio::test]
async fn failures_of_a_linear_loop_are_recorded_and_it_goes_on() {
    let (case, evidence) = incident();
    let contract = Faulty::new(evidence).fail(Call::of("app"), Failure::context("no such table"));
    let engine = Engine::new(contract, policy_fn(judge));
    let ended = engine.investigate(LinearConfig::default(), case).await;
    let diagnosis = ended.diagnosis();
    assert_eq!(diagnosis.failures.len(), 1);
    assert_eq!(diagnosis.failures[0].entity, entity("app"));
    assert_eq!(diagnosis.belief(&entity("app")).unwrap().label, Label::Defer);
    assert!(diagnosis.belief(&entity("mail")).is_some(), "it went on with the other start");
    assert!(eog::ledger::restore(ended.ledger()).is_ok());
}

#[tokio::test]
async fn observations_are_refused_by_a_machine_that_takes_none() {
    let (handle, controls) = eog::handle();
    let (sender, mut events) = eog::events::<LinearBody>();
    handle.observe(Observation::NewEvidence(entity("db"))).await.expect("it is taken");
    let (case, evidence) = incident();
    let engine =
        Engine::new(evidence, policy_fn(judge)).with_controls(controls).with_events(sender);
    let ended = engine.investigate(LinearConfig::default(), case).await;
    assert_eq!(ended.stop, StopReason::Converged { refused_wakes: 0 });
    let mut refused = Vec::new();
    while let Some(event) = events.next().await {
        if let Event::Refused(reason) = event {
            refused.push(reason);
        }
    }
    let expected = "the controller \"linear\" takes no observations; start a new investigation";
    assert_eq!(refused, [expected]);
}

#[test]
fn a_ledger_of_one_machine_is_no_ledger_of_another() {
    let config = LinearConfig::default();
    let linear = Linear::open(config, seeded(topology("a calls b"), ["a"]));
    let lines = linear.ledger().to_json_lines();
    assert!(Ledger::<EntryBody>::from_json_lines(&lines).is_err());
    let controller = Controller::open(Config::default(), seeded(topology("a calls b"), ["a"]));
    let lines = controller.ledger().to_json_lines();
    assert!(Ledger::<LinearBody>::from_json_lines(&lines).is_err());
}

/// Every machine over generated incidents, where contexts and answers are of every shape.
#[tokio::test]
async fn generated_incidents_are_replayed_by_every_machine() {
    for seed in 0..20 {
        let truth =
            TruthGraph::generate(&TruthSpec::default(), seed).expect("a sound specification");
        replays(&truth, LinearConfig { commits: seed % 2 == 0, ..LinearConfig::default() }).await;
        replays(&truth, Config::default()).await;
        for config in search_configs() {
            replays(&truth, config).await;
        }
    }
}

async fn replays<S>(truth: &TruthGraph, settings: S)
where
    S: OfMachine,
    S::Machine: Machine<Settings = S>,
    <S::Machine as Machine>::Body: OfMachine<Machine = S::Machine>,
{
    let world = S::Machine::by_policy(truth, TruthPolicy);
    let ended = Engine::with_responder(world).investigate(settings, truth.case()).await;
    let restored = eog::ledger::restore(ended.ledger()).expect("it follows");
    assert_eq!(restored.conclusion(), ended.conclusion());
    assert_eq!(restored.ledger(), ended.ledger());
}
