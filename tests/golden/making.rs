//! The investigations behind the golden ledgers, and the switch that adds what is missing.

use std::fs;
use std::num::NonZeroU32;
use std::path::Path;

use eog::belief::Explained;
use eog::contract::{Alternative, Coverage, NoticeReason};
use eog::controller::{Concurrency, Damping, Order, Wake};
use eog::evidence::{Signal, Trend};
use eog::incident::{
    ChangeRecord, Direction, Edge, EffectDirection, Onset, RecordedChange, Unusable,
};
use eog::ledger::{ForkChanges, Observation};
use eog::{
    AbductivePolicy, Budget, Claim, Config, ContextPacket, Controller, Decision, EvidenceKind,
    Failure, Finished, Input, Journal, Label, StopReason, Usage,
};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
use eog_testkit::{
    Call, Faulty, MemoryContext, TablePolicy, alert, at, case, claim, drive, entity, finding,
    healthy, on, on_any, origin, policy_fn, run, seeded, symptom_of, topology, window,
};

/// Runs an investigation to its end.
type Make = fn() -> Finished;

/// Every golden ledger of the current format, by name.
///
/// What is made here need not stay the same: a stored ledger is never made again.
pub(crate) const GOLDEN: &[(&str, Make)] = &[
    ("flash-sale", || flash_sale(Config::default())),
    ("flash-sale-paper", || flash_sale(Config::paper())),
    ("flash-sale-window-3", || flash_sale(Config { concurrency: three(), ..Config::default() })),
    ("observations", observations),
    ("failures", failures),
    ("oscillation", || oscillation(None)),
    ("visit-limit", || oscillation(Some(2))),
    ("late-message", late_message),
    ("refusals", refusals),
    ("budget", budget),
    ("halted", halted),
    ("cancelled", cancelled),
    ("out-of-money", out_of_money),
    ("fork", fork),
    ("looking-again", evaluating_again),
    ("briefed", briefed),
    ("last-word", last_word),
];

/// Writes the files of a golden ledger that are missing. Those that are there stay as they are.
pub(crate) fn add_missing(folder: &Path, name: &str, make: Make) {
    let path = |ending: &str| folder.join(format!("{name}.{ending}"));
    let (lines, journal, conclusion) = (path("jsonl"), path("journal"), path("conclusion.json"));
    if lines.exists() && journal.exists() && conclusion.exists() {
        return;
    }
    fs::create_dir_all(folder).expect("the folder can be made");
    let finished = make();
    let add = |path: &Path, content: String| {
        if !path.exists() {
            fs::write(path, content).expect("the folder can be written to");
        }
    };
    add(&lines, finished.ledger().to_json_lines());
    let json = serde_json::to_string_pretty(&finished.conclusion()).expect("it is JSON");
    add(&conclusion, json + "\n");
    if !journal.exists() {
        let mut journal = Journal::create(&journal).expect("the folder can be written to");
        journal.append(finished.ledger().entries()).expect("there is room");
    }
}

fn three() -> Concurrency {
    Concurrency::Window(NonZeroU32::MIN.saturating_add(2))
}

/// The incident that ships with the project.
fn flash_sale(config: Config) -> Finished {
    let bundle = flash_sale_bundle();
    let case = open_case(&bundle.incident(), None).expect("it has alerts");
    run(config, case, &BundleContext::new(bundle), &EvidencePolicy::default())
}

fn flash_sale_bundle() -> Bundle {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("examples/flash-sale");
    Bundle::read(&folder).expect("the bundle ships with the project")
}

/// The world goes on after the end: one observation of each kind.
fn observations() -> Finished {
    let contract = MemoryContext::default()
        .with(finding("web").at("10:05"))
        .from_visit(2, finding("web").at("10:06"))
        .from_visit(2, finding("db").change("pool.size", "50", "5").at("10:04"));
    let changed = |packet: &ContextPacket| !packet.context.findings.is_empty();
    let policy = TablePolicy::new([
        on("db").when("a finding", changed).answers(origin),
        on("db").answers(healthy),
        on("web").answers(|packet| symptom_of(packet, "db")),
        on_any().answers(healthy),
    ]);
    let case = case(topology("web calls db"), [alert("web", "HttpErrors", "10:05")]);
    let mut ended = run(Config::default(), case, &contract, &policy);
    let calls = Edge {
        source: entity("mail"),
        relation: "calls".to_owned(),
        target: entity("db"),
        effects: EffectDirection::TargetToSource,
    };
    for news in [
        Observation::NewEvidence(entity("db")),
        Observation::Anomaly(alert("mail", "QueueGrows", "10:20")),
        Observation::EdgeAdded(calls.clone()),
        Observation::EdgeRemoved(calls),
    ] {
        ended.machine.handle(Input::Observe(news)).expect("it fits");
        ended.stop = drive(&mut ended.machine, &contract, &policy).expect("ready at once");
    }
    ended
}

/// A context and decisions that fail, at a first visit and later.
fn failures() -> Finished {
    let contract = MemoryContext::default().with(finding("a")).with(finding("b")).fail_on_visit(
        "b",
        2,
        Failure::context("the source is down"),
    );
    let policy = Faulty::new(policy_fn(healthy))
        .fail(Call::nth_of("c", 1), Failure::policy("no \"reply\"\n\u{1f4a5}"))
        .fail(Call::nth_of("a", 2), Failure::policy("busy"));
    let order = Order::Permuted { seed: 7 };
    let config = Config { order, concurrency: three(), ..Config::default() };
    run(config, seeded(topology("a calls b; b calls c"), ["a", "b", "c"]), &contract, &policy)
}

/// What packets include beyond evidence, further pages, and claims along a route.
fn briefed() -> Finished {
    let coverage = Coverage { own: vec![EvidenceKind::Metric], others: vec![EvidenceKind::Log] };
    let contract = MemoryContext::default()
        .route(finding("web").at("10:04"), &["flags", "api", "web"])
        .on_page(2, finding("web").at("10:05"))
        .recorded("web", coverage)
        .with(finding("flags").change("timeout", "500ms", "5ms").at("10:04"));
    let policy = TablePolicy::new([
        on("web").answers(|packet| {
            let [route, rest @ ..] = packet.context.findings.as_slice() else {
                return healthy(packet);
            };
            let (flags, api, web) = (entity("flags"), entity("api"), entity("web"));
            let hop = |cause, effect| Claim::new(cause, effect, "a shorter timeout", "it gives up");
            let claims = [hop(&flags, &api), hop(&api, &web)];
            let claims = claims.map(|claim| claim.citing_ids([route.id()]));
            let decision = Decision::new(Label::Symptom, "its calls time out").citing(rest);
            // Asks for a page where there is none, too.
            Decision { claims: claims.to_vec(), next_page: true, ..decision }
        }),
        on("flags").answers(origin),
        on_any().answers(|_| Decision::new(Label::Defer, "nothing is known")),
    ]);
    let topology = topology("web calls api; api calls flags");
    let mut case = case(topology, [alert("web", "HttpErrors", "10:05")]);
    case.record = Some(ChangeRecord {
        span: case.window,
        changes: vec![RecordedChange {
            entity: entity("flags"),
            made: Onset::at(at("10:04")),
            what: "timeout".to_owned(),
            finding: None,
        }],
    });
    run(Config::default(), case, &contract, &policy)
}

/// Two that can never agree: they flip until both are damped or may not be visited again, and packets
/// repeat.
fn oscillation(max_visits: Option<u32>) -> Finished {
    let contract = MemoryContext::default().with(finding("a")).with(finding("b"));
    let policy = TablePolicy::new([
        on("a").receives("b", Label::Origin).answers(healthy),
        on("a").answers(origin),
        on("b").receives("a", Label::Origin).answers(origin),
        on("b").receives("a", Label::Defer).answers(|packet| symptom_of(packet, "a")),
        on("b").answers(healthy),
    ]);
    let case = seeded(topology("a calls b"), ["a", "b"]);
    run(Config { max_visits, ..Config::default() }, case, &contract, &policy)
}

/// Two that can never agree, damped with their last words, both of which are that they are origins. Only who is settled is
/// named for the alert.
fn last_word() -> Finished {
    let contract = MemoryContext::default().with_all(["a", "b", "c", "web"].map(finding));
    let policy = TablePolicy::new([
        on("web").answers(|packet| {
            let claims = ["a", "c"].map(|cause| symptom_of(packet, cause).claims).concat();
            Decision { claims, ..symptom_of(packet, "c") }
        }),
        on("a").receives("b", Label::Origin).answers(healthy),
        on("b").receives("a", Label::Origin).answers(origin),
        on("b").answers(healthy),
        on_any().answers(origin),
    ]);
    let graph = topology("web calls a; web calls c; a calls b");
    let case = case(graph, [alert("web", "HttpErrors", "10:05")]);
    let case = ["a", "b"]
        .into_iter()
        .fold(case, |case, name| case.with_seed(entity(name), "named by the test"));
    let config = Config {
        damping: Damping::LastWord,
        wake: Wake::Visited,
        max_visits: None,
        ..Config::default()
    };
    run(config, case, &contract, &policy)
}

/// A claim joins two entities that were not adjacent, after one has spoken.
fn late_message() -> Finished {
    let contract = MemoryContext::default().with(finding("a")).with(finding("b"));
    let policy = TablePolicy::new([
        on("b").answers(|packet| symptom_of(packet, "a")),
        on_any().answers(origin),
    ]);
    run(Config::default(), seeded(topology("a; b"), ["a", "b"]), &contract, &policy)
}

/// A policy that breaks every rule of the contract that it can.
fn refusals() -> Finished {
    let contract = MemoryContext::default().with(finding("web")).with(finding("db"));
    let policy = TablePolicy::new([
        on("web").answers(presume),
        // Without evidence of its own.
        on("db").says(Decision::new(Label::Origin, "it must be me")),
        on_any().says(Decision::new(Label::Symptom, "of something")),
    ]);
    let case = seeded(
        topology("web calls db; db calls disk; web calls cache; queue; mail; news"),
        ["web"],
    );
    let config = Config { max_entities: 3, order: Order::Priority, ..Config::default() };
    run(config, case, &contract, &policy)
}

fn presume(packet: &ContextPacket) -> Decision {
    let own = &packet.context.findings;
    let elsewhere = finding("elsewhere").build();
    let claims: [Claim; 7] = [
        claim("db", "web", own),
        claim("ghost", "web", own),
        claim("cache", "db", own),
        claim("web", "web", own),
        claim("cache", "web", []),
        claim("disk", "web", own),
        claim("queue", "web", own),
    ];
    let upstream = |decision: Decision, name: &str| {
        decision.proposing(entity(name), Direction::Upstream, "a hunch")
    };
    let mut decision = symptom_of(packet, "db");
    decision.summary = "far too long ".repeat(200);
    decision.evidence.push(elsewhere.id().clone());
    decision.claims.extend(claims);
    let names = ["ghost", "db", "web", "mail", "mail", "cache", "news"];
    names.into_iter().fold(decision, upstream)
}

/// Stopped while entities still wait.
fn budget() -> Finished {
    let config = Config { budget: Budget::hops(2), concurrency: three(), ..Config::default() };
    let names = ["a", "b", "c", "d"];
    run(config, seeded(topology(""), names), &MemoryContext::default(), &policy_fn(healthy))
}

/// Goes on until it stops by itself.
fn go_on(controller: &mut Controller, policy: &impl AbductivePolicy) -> StopReason {
    drive(controller, &MemoryContext::default(), policy).expect("ready at once")
}

fn take(controller: &mut Controller, input: Input) {
    controller.handle(input).expect("it fits");
}

/// Out of time with two under way, of which the second is committed after another would have been
/// dispatched, and gone on with.
fn halted() -> Finished {
    let concurrency = Concurrency::Window(NonZeroU32::MIN.saturating_add(1));
    let config = Config { concurrency, ..Config::default() };
    let mut controller = Controller::new(config, seeded(topology(""), ["a", "b", "c", "d"]));
    let policy = policy_fn(healthy);
    take(&mut controller, Input::Deadline);
    assert_eq!(go_on(&mut controller, &policy), StopReason::Deadline);
    take(&mut controller, Input::Resume);
    let stop = go_on(&mut controller, &policy);
    Finished::new(stop, controller)
}

/// Cancelled with one under way. The world goes on, which re-opens it.
fn cancelled() -> Finished {
    let mut controller = Controller::new(Config::default(), seeded(topology(""), ["a", "b"]));
    let policy = policy_fn(healthy);
    take(&mut controller, Input::Cancel);
    assert_eq!(go_on(&mut controller, &policy), StopReason::Cancelled);
    let news = Observation::Anomaly(alert("c", "Slow", "10:20"));
    take(&mut controller, Input::Observe(news));
    let stop = go_on(&mut controller, &policy);
    Finished::new(stop, controller)
}

/// Twice out of a budget that the chain knows nothing of, and each time forked with a larger one.
fn out_of_money() -> Finished {
    let budget = Budget { tokens: Some(100), cost_micro_usd: Some(50), ..Budget::default() };
    let config = Config { concurrency: three(), budget, ..Config::default() };
    let names = ["a", "b", "c", "d", "e", "f", "g", "h", "i", "j"];
    let mut controller = Controller::new(config.clone(), seeded(topology(""), names));
    let policy = policy_fn(healthy);
    take(&mut controller, Input::Spent(Usage { tokens_in: 100, ..Usage::default() }));
    go_on(&mut controller, &policy);
    let budget = Budget { tokens: Some(1000), ..budget };
    let mut controller = fork_of(&controller, Config { budget, ..config.clone() }, None);
    take(&mut controller, Input::Spent(Usage { cost_micro_usd: 50, ..Usage::default() }));
    go_on(&mut controller, &policy);
    let budget = Budget { cost_micro_usd: None, ..budget };
    let mut controller = fork_of(&controller, Config { budget, ..config }, None);
    let stop = go_on(&mut controller, &policy);
    Finished::new(stop, controller)
}

/// A fork at the last entry.
fn fork_of(parent: &Controller, config: Config, policy: Option<&str>) -> Controller {
    let policy = policy.map(str::to_owned);
    let changes = ForkChanges { config: Some(config), policy, ..ForkChanges::default() };
    let last = parent.ledger().next_seq() - 1;
    Controller::fork(parent.ledger(), last, changes).expect("it follows")
}

/// The shipped incident, judged by another policy within a smaller budget from the third
/// evaluation on.
fn fork() -> Finished {
    let parent = flash_sale(Config::default());
    let config = Config { budget: Budget::hops(5), ..Config::default() };
    let policy = Some("all is well".to_owned());
    let changes = ForkChanges { config: Some(config), policy, ..ForkChanges::default() };
    let mut controller = Controller::fork(parent.ledger(), 3, changes).expect("it follows");
    let contract = BundleContext::new(flash_sale_bundle());
    let stop = drive(&mut controller, &contract, &policy_fn(healthy)).expect("ready at once");
    Finished::new(stop, controller)
}

/// Two causes with times, against a record of changes. What explains the one is settled and checked; to
/// the other only a second evaluation of a dead end and widening lead.
fn evaluating_again() -> Finished {
    let onset = |from: &str, to: &str| Some(Onset::between(at(from), at(to)));
    let errors = |name: &str| finding(name).kind(EvidenceKind::Span).signal(Signal::Errors);
    let contract = MemoryContext::default()
        .with(errors("web").trend(Trend::Rising).at("10:05").began("10:05", "10:05:10"))
        .with(
            finding("db")
                .change("pool.size", "50", "5")
                .at("10:04:50")
                .began("10:04:50", "10:04:50"),
        )
        .with(
            finding("db")
                .signal(Signal::Saturation)
                .measured(98.0, 20.0, "%")
                .at("10:05")
                .began("10:04:55", "10:05"),
        )
        .with(errors("mail").at("10:20"))
        .with(finding("queue").at("10:20"))
        .with(finding("broker").at("10:15"));
    let explains = |name: &str, time: &str| {
        Some(vec![Explained { anomaly: name.to_owned(), onset: at(time) }])
    };
    let blames_db = move |packet: &ContextPacket| {
        let mut decision = symptom_of(packet, "db");
        decision.since = onset("10:05", "10:05:10");
        decision.claims[0].cause_since = onset("10:04:50", "10:05");
        decision.claims[0].effect_since = decision.since;
        decision.claims[0].explains = explains("HttpErrors", "10:05:30");
        decision
    };
    let guilty = move |packet: &ContextPacket| Decision {
        since: onset("10:04:50", "10:04:50"),
        rule: Some("own change".to_owned()),
        alternatives: vec![Alternative {
            label: Label::Symptom,
            rule: None,
            cause: Some(entity("disk")),
            summary: "the disk is full".to_owned(),
            lost: "no evidence of it".to_owned(),
            evidence: Vec::new(),
        }],
        ..origin(packet)
    };
    let turned_around = move |packet: &ContextPacket| {
        let backwards = Claim {
            cause_since: onset("10:40", "10:45"),
            effect_since: onset("10:10", "10:15"),
            ..claim("queue", "mail", &packet.context.findings)
        };
        healthy(packet).claiming(backwards)
    };
    let late = move |packet: &ContextPacket| Decision {
        since: onset("10:15", "10:16"),
        explains: explains("OldTrouble", "10:10"),
        ..origin(packet).claiming(claim("broker", "mail", &packet.context.findings))
    };
    let policy = TablePolicy::new([
        on("web").answers(blames_db),
        on("db").answers(guilty),
        on("mail").receives("broker", Label::Origin).answers(|packet| symptom_of(packet, "broker")),
        on("mail")
            .when("asked again", |packet| {
                let notice = packet.notice.as_ref();
                notice.is_some_and(|notice| notice.reason == NoticeReason::DeadEnd)
            })
            .answers(|packet| Decision {
                summary: "still unclear".to_owned(),
                ..unexplained(packet)
            }),
        on("mail").answers(unexplained),
        on("queue").answers(turned_around),
        on("broker").answers(late),
        on_any().answers(healthy),
    ]);
    let changed = |name: &str, time: &str| RecordedChange {
        entity: entity(name),
        made: Onset::at(at(time)),
        what: format!("{name} was changed"),
        finding: None,
    };
    let mut case = case(
        topology("web calls db; db calls disk; mail calls queue; queue calls broker"),
        [alert("web", "HttpErrors", "10:05:30"), alert("mail", "QueueGrows", "10:20")],
    );
    case.record = Some(ChangeRecord {
        span: window("09:00", "11:00"),
        changes: vec![changed("cache", "09:10"), changed("db", "10:04:50")],
    });
    case.bootstrap.unusable = vec![Unusable {
        source: "events.json".to_owned(),
        records: 100,
        unusable: 1,
        reason: "line 7: no time".to_owned(),
    }];
    run(Config::default(), case, &contract, &policy)
}

/// A symptom of an unknown cause.
fn unexplained(packet: &ContextPacket) -> Decision {
    Decision::new(Label::Symptom, "of something").citing(&packet.context.findings)
}
