//! A chain: equal to a model in a few lines, bounded, and what it concludes is what counts.

mod common;

use std::collections::{BTreeMap, BTreeSet};

use common::{World, deed_about, seeds, wide};
use eog_core::machine::drive;
use eog_core::{EntityId, InMemoryContext, Label, Machine, policy_fn};
use eog_search::chain::{MAX_PLAN, RefusedDeed};
use eog_search::lane::Came;
use eog_search::{
    Deed, End, PlanStatus, Role, SearchBody, SearchConfig, SearchController, SearchResponder,
};
use eog_testkit::{alert, case, entity, healthy, origin, symptom_of, topology};

/// What a chain did, told by the model and by the ledger.
#[derive(Debug, Default, PartialEq)]
struct Told {
    steps: Vec<String>,
    causes: Option<BTreeSet<EntityId>>,
    end: Option<End>,
}

/// The chain of a world, with all of its steps shown.
fn model(world: &World, rounds: u32) -> Told {
    let mut told = Told::default();
    let mut about: Vec<EntityId> = Vec::new();
    let mut found: BTreeMap<EntityId, Option<bool>> = BTreeMap::new();
    let mut origins: Vec<EntityId> = Vec::new();
    for step in 1..=rounds + 1 {
        let Some(deed) = world.next_deed(&about, &origins) else {
            told.end = Some(End::Unanswered);
            return told;
        };
        match &deed {
            Deed::Conclude { causes, .. } => {
                let holds = |cause: &&EntityId| found.get(*cause) == Some(&Some(true));
                told.causes = Some(causes.iter().filter(holds).cloned().collect());
                told.end = Some(End::Concluded);
                return told;
            }
            _ if step > rounds => break,
            Deed::Look(entity) if *entity == World::name(common::ENTITIES) => {
                told.steps.push(format!("{entity} is unknown"));
            }
            Deed::Look(entity) => {
                let came = world.look(entity);
                if came == Some(true) {
                    origins.push(entity.clone());
                }
                found.insert(entity.clone(), came);
                told.steps.push(format!("look {entity} {came:?}"));
            }
            Deed::Call(call) => {
                let entity = deed_about(&deed);
                let came = match (call.tool.as_str(), world.look(&entity)) {
                    ("get_context", Some(_)) => "answered",
                    ("get_context", None) => "failed",
                    _ => "refused",
                };
                told.steps.push(format!("call {entity} {came}"));
            }
        }
        about.push(deed_about(&deed));
    }
    told.end = Some(End::Rounds);
    told
}

fn told(search: &SearchController) -> Told {
    let mut told = Told { causes: search.concluded().cloned(), ..Told::default() };
    for entry in search.ledger().entries() {
        match &entry.body {
            SearchBody::Reacted(reacted) if reacted.not_done.is_some() => {
                let action = reacted.action.as_ref().expect("it was refused");
                if reacted.step <= search.settings().stop().rounds.get() {
                    told.steps.push(format!("{} is unknown", deed_about(&action.deed)));
                }
            }
            SearchBody::Looked(looked) => {
                let failed = matches!(looked.answer, eog_core::ledger::RecordedAnswer::Failed(_));
                let came = (!failed).then_some(looked.belief.label == Label::Origin);
                told.steps.push(format!("look {} {came:?}", looked.entity));
            }
            SearchBody::Called(called) => {
                let came = match &called.came {
                    Came::Answered(_) => "answered",
                    Came::Failed(_) => "failed",
                    _ => "refused",
                };
                let deed = Deed::Call(called.call.clone());
                told.steps.push(format!("call {} {came}", deed_about(&deed)));
            }
            SearchBody::Ended(ended) => told.end = Some(ended.reason),
            _ => {}
        }
    }
    told
}

#[test]
fn a_chain_equals_the_model() {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..seeds(300) {
        let world = World::new(seed);
        let rounds = 1 + u32::try_from(seed % 30).expect("small");
        let config = SearchConfig::react().with_rounds(rounds).with_shown(u32::MAX);
        let search = world.run(config.clone(), seed);
        let told = told(&search);
        assert_eq!(told, model(&world, rounds), "seed {seed}");
        *ends.entry(format!("{:?}", told.end)).or_default() += 1;
        // One thing after the other: width has no effect but on the opening.
        let wider = world.run(config.with_width(wide(8)), seed + 1);
        assert_eq!(wider.ledger().next_seq(), search.ledger().next_seq(), "seed {seed}");
    }
    assert_eq!(ends.len(), 3, "{ends:?}");
}

#[test]
fn a_chain_keeps_its_bounds() {
    for seed in 0..seeds(60) {
        let world = World { failing: 0, ..World::new(seed) };
        let config = SearchConfig::react().with_shown(6_000);
        let most = config.most_asked();
        let search = world.run(config, seed);
        let (mut acts, mut looks, mut calls, mut summaries) = (0, 0, 0, 0);
        for entry in search.ledger().entries() {
            match &entry.body {
                SearchBody::Reacted(_) => acts += 1,
                SearchBody::Looked(_) => looks += 1,
                SearchBody::Called(_) => calls += 1,
                SearchBody::Compacted(_) => summaries += 1,
                _ => {}
            }
        }
        assert!(acts <= 61 && looks + calls <= 60, "{acts} acts, {looks} looks, {calls} calls");
        assert!(acts + summaries <= most.roles && looks <= most.looks && calls <= most.tools);
        assert!(search.plan_of_chain().len() <= MAX_PLAN);
    }
}

#[test]
fn the_oldest_steps_become_a_summary_of_at_most_a_quarter() {
    let mut summarised = 0;
    for seed in 0..seeds(60) {
        let world = World::new(seed);
        let mut search =
            SearchController::open(SearchConfig::react().with_shown(6_000), world.case());
        let mut last = 0;
        world.drive_and(&mut search, seed, |ask| {
            let Role::React(ask) = &ask.role else { return };
            assert!(ask.summary.chars().count() <= 1_500);
            let first = ask.steps.first().map_or(last, |step| step.number);
            assert!(first >= last, "what was summarised does not come back");
            summarised += u32::from(first > last && last > 0);
            last = first;
            // The newest step is always shown.
            let newest = ask.steps.last().map_or(0, |step| step.number);
            assert_eq!(newest + ask.left, if newest == 0 { ask.left } else { 60 });
        });
    }
    assert!(summarised > 50, "{summarised}");
}

#[test]
fn a_plan_is_numbered_and_steps_are_settled_once() {
    let mut refused: BTreeSet<String> = BTreeSet::new();
    for seed in 0..seeds(100) {
        let search = World::new(seed).run(SearchConfig::react(), seed);
        let numbers: Vec<u32> = search.plan_of_chain().iter().map(|step| step.number).collect();
        assert_eq!(numbers, (1..).take(numbers.len()).collect::<Vec<u32>>());
        for entry in search.ledger().entries() {
            if let SearchBody::Reacted(reacted) = &entry.body {
                refused.extend(reacted.refused.iter().map(|(_, why)| format!("{why:?}")));
            }
        }
    }
    let all = [
        RefusedDeed::UnknownStep,
        RefusedDeed::SettledStep,
        RefusedDeed::TooMany,
        RefusedDeed::NotLookedAt,
        RefusedDeed::NoOrigin,
    ];
    assert_eq!(refused, all.iter().map(|why| format!("{why:?}")).collect());
}

/// `web` calls `app`, which calls `db`; both `app` and `db` are called origins by whoever judges.
fn incident() -> eog_core::Case {
    case(
        topology("web calls app; app calls db; mail calls db"),
        [alert("web", "HttpErrors", "10:05"), alert("mail", "HttpErrors", "10:06")],
    )
}

#[test]
fn by_rules_it_ends_with_the_first_origin_and_leaves_the_rest_of_its_plan() {
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "app"),
        "app" | "db" => origin(packet),
        _ => healthy(packet),
    });
    let mut evidence = InMemoryContext::default();
    for name in ["web", "app", "db", "mail"] {
        evidence.add(eog_testkit::finding(name).change("pool", "50", "5").at("10:02").into());
    }
    let mut search = SearchController::open(SearchConfig::react(), incident());
    drive(&mut search, &SearchResponder::new(evidence, policy)).expect("it runs");
    assert_eq!(search.end(), Some(End::Concluded));
    assert_eq!(search.concluded(), Some(&BTreeSet::from([entity("app")])));
    let looks: Vec<String> =
        search.tree().nodes().filter_map(|node| Some(node.action?.entity().to_string())).collect();
    assert_eq!(looks, ["web", "app"]);
    let status: Vec<PlanStatus> = search.plan_of_chain().iter().map(|step| step.status).collect();
    assert_eq!(status, [PlanStatus::Done, PlanStatus::Open]);
}

#[test]
fn without_an_origin_it_goes_through_its_plan_and_names_nobody() {
    let policy = policy_fn(healthy);
    let mut search = SearchController::open(SearchConfig::react(), incident());
    drive(&mut search, &SearchResponder::new(InMemoryContext::default(), policy)).expect("it runs");
    assert_eq!(search.end(), Some(End::Concluded));
    assert_eq!(search.concluded(), Some(&BTreeSet::new()));
    assert!(search.conclusion().frontier.is_empty());
    assert_eq!(search.tree().len(), 5, "the root, and every entity once");
}

/// A ledger that an earlier program wrote is read, derived again, and concludes the same. Written by
/// `EOG_UPDATE_GOLDEN=1 cargo test -p eog-search --test react golden`, where it is missing.
#[test]
fn golden_ledgers_are_derived_again() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden/format-1");
    for (name, seed, shown, end) in
        [("react", 2, u32::MAX, End::Rounds), ("react-summarised", 3, 6_000, End::Concluded)]
    {
        let path = |ending: &str| folder.join(format!("{name}.{ending}"));
        let (lines, conclusion) = (path("jsonl"), path("conclusion.json"));
        if std::env::var_os("EOG_UPDATE_GOLDEN").is_some() && !lines.exists() {
            let world = World { failing: 0, ..World::new(seed) };
            let search = world.run(SearchConfig::react().with_shown(shown), 0);
            let told = serde_json::to_string_pretty(&search.conclusion()).expect("it is JSON");
            std::fs::write(&lines, search.ledger().to_json_lines()).expect("it can be written");
            std::fs::write(&conclusion, told + "\n").expect("it can be written");
        }
        let stored = std::fs::read_to_string(&lines).expect("it is there");
        let ledger = eog_core::Ledger::<SearchBody>::from_json_lines(&stored).expect("it is read");
        let is_summary = |body: &SearchBody| matches!(body, SearchBody::Compacted(_));
        let summarised = ledger.entries().iter().any(|entry| is_summary(&entry.body));
        assert_eq!(summarised, name == "react-summarised");
        let search: SearchController = eog_core::ledger::restore(&ledger).expect("it follows");
        assert_eq!(search.end(), Some(end));
        assert_eq!(search.ledger().to_json_lines(), stored);
        let told = serde_json::to_string_pretty(&search.conclusion()).expect("it is JSON");
        assert_eq!(told + "\n", std::fs::read_to_string(&conclusion).expect("it is there"));
    }
}
