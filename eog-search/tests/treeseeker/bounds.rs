//! The most that a search by goals asks for: never exceeded, and reached by who goes on as long as possible.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard};

use eog_core::contract::Failure;
use eog_core::machine::drive;
use eog_core::{
    BoxFuture, Case, ContextContract, ContextPacket, ContextRequest, Decision, EntityId, Label,
    LocalContext, Machine as _, Seed, policy_fn,
};
use eog_search::ask::{DecomposeAsk, ProgressAsk, Status, SteerAsk, StepAsk};
use eog_search::roles::Reply;
use eog_search::{
    Action, Approach, By, End, Goal, GoalProgress, Move, MoveKind, NodeId, Phase, Progress, Roles,
    SearchBody, SearchController, SearchResponder, Signal, Steering, ToolSpec,
};
use eog_testkit::{alert, case, entity, finding, topology};

use crate::treeseeker::common::{World, count, seeds};
use crate::treeseeker::config;

const GOALS: u32 = 5;
const PATHS: u32 = 5;
const ROUNDS: u32 = 30;

/// Each path evaluates entities of its own.
fn name(goal: u32, path: u32, step: usize) -> EntityId {
    entity(&format!("e{goal}-{path}-{step}"))
}

/// Sets as many goals with as many paths as there can be, and lets each path make a step in each round. In
/// every tenth round all goals come closer, so that no path has to go back, and none is ever complete.
#[derive(Default)]
struct Tireless {
    /// Every answer that can be refused is at first, as often as it is asked for again; so it is with failures.
    errs: bool,
    asked: Mutex<BTreeMap<&'static str, u32>>,
}

impl Tireless {
    fn asked(&self) -> MutexGuard<'_, BTreeMap<&'static str, u32>> {
        self.asked.lock().expect("no holder panicked")
    }

    /// How often this was asked, now included.
    fn count(&self, role: &'static str) -> u32 {
        *self.asked().entry(role).and_modify(|times| *times += 1).or_insert(1)
    }
}

fn answer<'a, T: Send + 'a>(answer: T) -> Reply<'a, T> {
    Box::pin(async { Ok(answer.into()) })
}

fn approach(goal: u32, path: u32) -> Approach {
    let way = format!("way {path}");
    Approach { start: name(goal, path, 0), approach: way, success: "an origin".to_owned() }
}

impl Roles for &Tireless {
    fn decompose<'a>(&'a self, _: &'a DecomposeAsk) -> Reply<'a, Vec<Goal>> {
        if self.count("decompose") <= 2 && self.errs {
            return answer(Vec::new());
        }
        let goal = |goal| Goal {
            about: name(goal, 1, 0),
            question: "what happened?".to_owned(),
            needs: Vec::new(),
            paths: (1..=PATHS).map(|path| approach(goal, path)).collect(),
        };
        answer((1..=GOALS).map(goal).collect())
    }

    fn steer<'a>(&'a self, ask: &'a SteerAsk) -> Reply<'a, Steering> {
        self.count("steer");
        if self.errs && ask.refused.is_none() {
            return answer(Steering::default());
        }
        let explore = |goal: &u32| {
            let view = &ask.goals[*goal as usize - 1];
            let open = view.paths.iter().filter(|path| path.status == Status::Open);
            let paths: Vec<NodeId> = open.map(|path| path.path.clone()).collect();
            let said = || "some".to_owned();
            let signal = |path: &NodeId| Signal {
                path: path.clone(),
                value: said(),
                uncertainty: said(),
                risk: said(),
            };
            let signals = paths.iter().map(signal).collect();
            Move { goal: *goal, kind: MoveKind::Explore, paths, signals }
        };
        answer(Steering { finished: false, moves: ask.active.iter().map(explore).collect() })
    }

    fn step<'a>(&'a self, ask: &'a StepAsk, _: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        self.count("step");
        let [goal, path] = ask.path.path.ordinals() else { panic!("no path: {}", ask.path.path) };
        answer(Some(Action::look(name(*goal, *path, ask.been.len()), "it comes next")))
    }

    fn progress<'a>(&'a self, ask: &'a ProgressAsk) -> Reply<'a, Progress> {
        let times = self.count("progress");
        let tries = if self.errs { 3 } else { 1 };
        if !times.is_multiple_of(tries) {
            return Box::pin(async { Err(Failure::policy("overloaded")) });
        }
        let ratio = u16::try_from(100 * (times / tries / 10)).expect("small");
        let goal = |goal| GoalProgress { goal, ratio, summary: "further".to_owned() };
        assert_eq!(ask.ran.len(), (GOALS * PATHS) as usize);
        answer(Progress { goals: (1..=GOALS).map(goal).collect(), ..Progress::default() })
    }
}

struct OneFinding;

impl ContextContract for OneFinding {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let found = finding(request.entity.as_str()).change("pool", "50", "5").at("10:02");
        let context = LocalContext { findings: vec![found.into()], ..LocalContext::default() };
        Box::pin(async { Ok(context) })
    }
}

fn incident() -> Case {
    let mut topology = topology("a calls b");
    for (goal, path) in (1..=GOALS).flat_map(|goal| (1..=PATHS).map(move |path| (goal, path))) {
        (0..ROUNDS as usize).for_each(|step| topology.add_entity(name(goal, path, step)));
    }
    let mut case = case(topology, [alert("a", "Slow", "10:05")]);
    case.seeds = vec![Seed { entity: entity("a"), reason: "alert".to_owned() }];
    case
}

fn puzzled(packet: &ContextPacket) -> Decision {
    Decision::new(Label::Defer, "unknown").citing(&packet.context.findings)
}

/// 1 + 30·(1 + 25 + 1) questions, corrections apart; 30·25 evaluations.
#[test]
fn going_on_as_long_as_possible_reaches_every_bound() {
    let most = config().most_asked();
    // A step is an evaluation or a call, which is tried three times.
    assert_eq!((most.looks, most.tools), (750, 2250));
    // Corrections: 2 of goals, one for each round; the outcome of a round is asked for three times.
    assert_eq!(most.roles, 811 + 2 + 30 + 30 * 2);
    for (errs, questions) in [(false, 811), (true, most.roles)] {
        let roles = Tireless { errs, ..Tireless::default() };
        let responder = SearchResponder::new(OneFinding, policy_fn(puzzled)).with_roles(&roles);
        let mut search = SearchController::open(config(), incident());
        drive(&mut search, &responder).expect("it follows");
        let asked = roles.asked().clone();
        println!("{asked:?}");
        assert_eq!(search.end(), Some(End::Rounds));
        assert_eq!(u64::from(asked.values().sum::<u32>()), questions, "{asked:?}");
        assert_eq!(count(&search, |it| matches!(it, SearchBody::Looked(_))), 750);
        assert_eq!(search.spent().hops, 750, "each is judged once");
        assert!(search.goals().iter().all(|goal| *goal == (300, false)));
        for entry in search.ledger().entries() {
            if let SearchBody::Steered(steered) = &entry.body {
                assert!(steered.taken.iter().all(|it| it.by == By::Role && it.paths.len() == 5));
            }
        }
    }
}

/// Whatever a world is like.
#[test]
fn no_drawn_world_exceeds_a_bound() {
    let mut most_open = 0;
    for seed in 0..seeds(50) {
        let search = World::new(seed).run(config(), seed);
        assert!(search.begun() <= 30);
        assert!(count(&search, |it| matches!(it, SearchBody::Steered(_))) <= 30);
        assert!(count(&search, |it| matches!(it, SearchBody::Progressed(_))) <= 30);
        assert!(count(&search, |it| matches!(it, SearchBody::Stepped(_))) <= 750);
        let nodes: Vec<_> = search.tree().nodes().collect();
        let goals = nodes.iter().filter(|node| node.id.depth() == 1).count();
        assert!(goals <= 5);
        for goal in 1..=goals {
            let goal = NodeId::root().child(u32::try_from(goal).expect("few"));
            let paths = nodes.iter().filter(|node| node.id.parent() == Some(goal.clone()));
            let open = paths.filter(|path| path.phase != Phase::Pruned).count();
            assert!(open <= 5);
            most_open = most_open.max(open);
        }
    }
    assert_eq!(most_open, 5, "the bound is reached");
}
