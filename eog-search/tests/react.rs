//! A chain: equal to a model in a few lines, bounded, and what it concludes is what counts.

use crate::common;

use std::collections::{BTreeMap, BTreeSet};

use common::{World, deed_about, seeds, wide};
use eog_core::machine::drive;
use eog_core::{EntityId, InMemoryContext, Label, Machine, policy_fn};
use eog_search::chain::{MAX_PLAN, RefusedDeed};
use eog_search::lane::Came;
use eog_search::planted::{PlantedFault, plant};
use eog_search::{
    Deed, End, PlanEdit, PlanStatus, Role, SearchBody, SearchConfig, SearchController,
    SearchResponder,
};
use eog_testkit::{alert, case, entity, healthy, origin, symptom_of, topology};

/// What a chain did, according to the model and to the ledger.
#[derive(Debug, Default, PartialEq)]
struct Done {
    steps: Vec<String>,
    /// The plan in the end, and what was refused on the way, by step.
    plan: Vec<PlanStatus>,
    refused: Vec<(u32, String, RefusedDeed)>,
    causes: Option<BTreeSet<EntityId>>,
    end: Option<End>,
}

impl Done {
    /// A step of the plan that is named, or why it cannot be.
    fn open(&self, number: u32) -> Result<usize, RefusedDeed> {
        let at = (number as usize).checked_sub(1).filter(|at| *at < self.plan.len());
        match at.map(|at| (at, self.plan[at])) {
            None => Err(RefusedDeed::UnknownStep),
            Some((at, PlanStatus::Open)) => Ok(at),
            Some(_) => Err(RefusedDeed::SettledStep),
        }
    }

    /// What a step does to the plan.
    fn edit(&mut self, step: u32, (edits, number): (Vec<PlanEdit>, u32)) {
        let mut refused = Vec::new();
        for (at, edit) in (1..).zip(edits) {
            let settled = |done: &Self, number, status| done.open(number).map(|at| (at, status));
            let done = match edit {
                PlanEdit::Add(_) if self.plan.len() == MAX_PLAN => Err(RefusedDeed::TooMany),
                PlanEdit::Add(_) => {
                    self.plan.push(PlanStatus::Open);
                    continue;
                }
                PlanEdit::Done(number) => settled(self, number, PlanStatus::Done),
                PlanEdit::Withdraw(number) => settled(self, number, PlanStatus::Withdrawn),
            };
            match done {
                Ok((at, status)) => self.plan[at] = status,
                Err(why) => refused.push((step, format!("plan {at}"), why)),
            }
        }
        refused.extend(self.open(number).err().map(|why| (step, "step".to_owned(), why)));
        self.refused.extend(refused);
    }
}

/// The chain of a world, with all of its steps shown.
fn model(world: &World, rounds: u32) -> Done {
    let mut done = Done::default();
    let mut about: Vec<EntityId> = Vec::new();
    let mut found: BTreeMap<EntityId, Option<bool>> = BTreeMap::new();
    let mut origins: Vec<EntityId> = Vec::new();
    for step in 1..=rounds + 1 {
        let Some(deed) = world.next_deed(&about, &origins) else {
            done.end = Some(End::Unanswered);
            return done;
        };
        done.edit(step, world.plan_edits(&about));
        match &deed {
            Deed::Conclude { causes, .. } => {
                for (at, cause) in (1..).zip(causes) {
                    let why = match found.get(cause) {
                        Some(Some(true)) => continue,
                        Some(_) => RefusedDeed::NoOrigin,
                        None => RefusedDeed::NotLookedAt,
                    };
                    done.refused.push((step, format!("cause {at}"), why));
                }
                let holds = |cause: &&EntityId| found.get(*cause) == Some(&Some(true));
                done.causes = Some(causes.iter().filter(holds).cloned().collect());
                done.end = Some(End::Concluded);
                return done;
            }
            _ if step > rounds => break,
            Deed::Look(entity) if *entity == World::name(common::ENTITIES) => {
                done.steps.push(format!("{entity} is unknown"));
            }
            Deed::Look(entity) => {
                let came = world.look(entity);
                if came == Some(true) {
                    origins.push(entity.clone());
                }
                found.insert(entity.clone(), came);
                done.steps.push(format!("look {entity} {came:?}"));
            }
            Deed::Call(call) => {
                let entity = deed_about(&deed);
                let came = match (call.tool.as_str(), world.look(&entity)) {
                    ("get_context", Some(_)) => "answered",
                    ("get_context", None) => "failed",
                    _ => "refused",
                };
                done.steps.push(format!("call {entity} {came}"));
            }
        }
        about.push(deed_about(&deed));
    }
    done.end = Some(End::Rounds);
    done
}

fn done_by(search: &SearchController) -> Done {
    let plan = search.plan_of_chain().iter().map(|step| step.status).collect();
    let mut done = Done { causes: search.concluded().cloned(), plan, ..Done::default() };
    for entry in search.ledger().entries() {
        if let SearchBody::Reacted(reacted) = &entry.body {
            let refused = reacted.refused.iter().cloned();
            done.refused.extend(refused.map(|(what, why)| (reacted.step, what, why)));
        }
        match &entry.body {
            SearchBody::Reacted(reacted) if reacted.not_done.is_some() => {
                let action = reacted.action.as_ref().expect("it was refused");
                if reacted.step <= search.settings().stop().rounds.get() {
                    done.steps.push(format!("{} is unknown", deed_about(&action.deed)));
                }
            }
            SearchBody::Looked(looked) => {
                let failed = matches!(looked.answer, eog_core::ledger::RecordedAnswer::Failed(_));
                let came = (!failed).then_some(looked.belief.label == Label::Origin);
                done.steps.push(format!("look {} {came:?}", looked.entity));
            }
            SearchBody::Called(called) => {
                let came = match &called.came {
                    Came::Answered(_) => "answered",
                    Came::Failed(_) => "failed",
                    _ => "refused",
                };
                let deed = Deed::Call(called.call.clone());
                done.steps.push(format!("call {} {came}", deed_about(&deed)));
            }
            SearchBody::Ended(ended) => done.end = Some(ended.reason),
            _ => {}
        }
    }
    done
}

/// The chain of a seed, with all of its steps shown.
fn whole(seed: u64) -> (World, u32, SearchConfig) {
    let rounds = 1 + u32::try_from(seed % 30).expect("small");
    let config = SearchConfig::react().with_rounds(rounds).with_shown(u32::MAX).expect("a chain");
    (World::new(seed), rounds, config)
}

fn equals_the_model(seed: u64) -> bool {
    let (world, rounds, config) = whole(seed);
    done_by(&world.run(config, seed)) == model(&world, rounds)
}

#[test]
fn a_chain_equals_the_model() {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..seeds(300) {
        let (world, rounds, config) = whole(seed);
        let search = world.run(config.clone(), seed);
        let done = done_by(&search);
        assert_eq!(done, model(&world, rounds), "seed {seed}");
        *ends.entry(format!("{:?}", done.end)).or_default() += 1;
        // One thing after the other: width has no effect but on the opening.
        let wider = world.run(config.with_width(wide(8)), seed + 1);
        assert_eq!(wider.ledger().next_seq(), search.ledger().next_seq(), "seed {seed}");
    }
    assert_eq!(ends.len(), 3, "{ends:?}");
}

#[test]
fn planted_faults_are_found_by_the_model() {
    for fault in [PlantedFault::SettlesTwice, PlantedFault::NamesUnseen, PlantedFault::GoesOn] {
        let _planted = plant(fault);
        assert!((0..80).any(|seed| !equals_the_model(seed)), "{fault:?} is not found");
    }
}

/// 60 steps, a conclusion, and a summary before each of them at most.
#[test]
fn a_chain_keeps_its_bounds() {
    let mut most_acts = 0;
    for seed in 0..seeds(60) {
        let world = World { failing: 0, ..World::new(seed) };
        let config = SearchConfig::react().with_shown(6_000).expect("a chain");
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
        most_acts = most_acts.max(acts);
        assert!(acts <= 61 && looks + calls <= 60, "{acts} acts, {looks} looks, {calls} calls");
        assert!(acts + summaries <= most.roles && looks <= most.looks && calls <= most.tools);
        assert!(search.plan_of_chain().len() <= MAX_PLAN);
    }
    assert_eq!(most_acts, 61, "the bound is reached");
}

/// How often the chain of a seed forgot something, and what was wrong with what it was shown.
fn forgets(seed: u64) -> (u32, Vec<&'static str>) {
    let world = World::new(seed);
    let config = SearchConfig::react().with_shown(6_000).expect("a chain");
    let mut search = SearchController::open(config, world.case());
    let (mut last, mut summarised, mut wrong) = (0, 0, Vec::new());
    world.drive_and(&mut search, seed, |ask| {
        let Role::React(ask) = &ask.role else { return };
        if ask.summary.chars().count() > 1_500 {
            wrong.push("a summary is longer than a quarter");
        }
        let first = ask.steps.first().map_or(last, |step| step.number);
        if first < last || (!ask.summary.is_empty() && first == 1) {
            wrong.push("what was summarised comes back");
        }
        summarised += u32::from(first > last && last > 0);
        last = first;
        let newest = ask.steps.last().map_or(0, |step| step.number);
        if newest + ask.left != 60 {
            wrong.push("the newest step is not shown");
        }
    });
    (summarised, wrong)
}

#[test]
fn the_oldest_steps_become_a_summary_of_at_most_a_quarter() {
    let mut summarised = 0;
    for seed in 0..seeds(60) {
        let (times, wrong) = forgets(seed);
        assert!(wrong.is_empty(), "seed {seed}: {wrong:?}");
        summarised += times;
    }
    assert!(summarised > 50, "{summarised}");
}

#[test]
fn a_planted_summary_that_forgets_or_keeps_too_much_is_found() {
    for (fault, said) in [
        (PlantedFault::ForgetsNewest, "the newest step is not shown"),
        (PlantedFault::ShowsAgain, "what was summarised comes back"),
        (PlantedFault::KeepsLongSummaries, "a summary is longer than a quarter"),
    ] {
        let _planted = plant(fault);
        assert!((0..40).any(|seed| forgets(seed).1.contains(&said)), "{fault:?} is not found");
    }
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

/// `web` calls `app`, which calls `db`; both `app` and `db` are called origins by the policy.
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
fn without_an_origin_it_goes_through_its_plan_and_names_no_cause() {
    let policy = policy_fn(healthy);
    let mut search = SearchController::open(SearchConfig::react(), incident());
    drive(&mut search, &SearchResponder::new(InMemoryContext::default(), policy)).expect("it runs");
    assert_eq!(search.end(), Some(End::Concluded));
    assert_eq!(search.concluded(), Some(&BTreeSet::new()));
    assert!(search.conclusion().frontier.is_empty());
    assert_eq!(search.tree().len(), 5, "the root, and every entity once");
}

/// Written by `EOG_UPDATE_GOLDEN=1 cargo test -p eog-search --test all react`, where they are missing.
#[test]
fn golden_ledgers_are_derived_again() {
    for (name, seed, shown, end) in
        [("react", 2, u32::MAX, End::Rounds), ("react-summarised", 3, 6_000, End::Concluded)]
    {
        let world = World { failing: 0, ..World::new(seed) };
        let config = SearchConfig::react().with_shown(shown).expect("a chain");
        let search = common::golden(name, || world.run(config, 0));
        let summaries = common::count(&search, |body| matches!(body, SearchBody::Compacted(_)));
        assert_eq!(summaries > 0, name == "react-summarised");
        assert_eq!(search.end(), Some(end));
    }
}
