//! Levels that a planner expands, against a naive model, and plans that are applied all or none.

use crate::common;

use std::cmp::Reverse;
use std::sync::Arc;

use common::{Row, World, rows, seeds, wide};
use eog_core::machine::Ticket;
use eog_core::{EntityId, Input, Machine, Output, Usage};
use eog_search::planted::{PlantedFault, plant};
use eog_search::{
    Action, Answer, Ask, End, Evaluation, NodeId, Phase, PlanAction, PlanTry, Purpose, Role,
    SearchBody, SearchConfig, SearchController,
};

/// A node of the model.
#[derive(Clone, Debug)]
struct Naive {
    id: NodeId,
    path: Vec<EntityId>,
    phase: Phase,
    score: Option<u16>,
    held: bool,
    children: u32,
    failed_child: bool,
}

/// The tree that the same world gives level by level, with the best few of each level if there is a beam.
fn model(world: &World, beam: Option<usize>, most: usize, depth: usize, plans: u32) -> Vec<Row> {
    let root = Naive {
        id: NodeId::root(),
        path: Vec::new(),
        phase: Phase::Scored,
        score: None,
        held: false,
        children: 0,
        failed_child: false,
    };
    let mut nodes = vec![root];
    for _ in 0..plans {
        if let Some(beam) = beam {
            let scored = |node: &&Naive| node.phase == Phase::Scored && !node.id.is_root();
            let deepest = nodes.iter().filter(scored).map(|node| node.path.len()).max();
            let mut level: Vec<NodeId> = nodes
                .iter()
                .filter(scored)
                .filter(|node| Some(node.path.len()) == deepest)
                .map(|node| node.id.clone())
                .collect();
            level.sort_by_key(|id| {
                let node = nodes.iter().find(|node| node.id == *id).expect("it is there");
                (Reverse(node.score), id.clone())
            });
            for cut in level.into_iter().skip(beam) {
                for node in nodes.iter_mut().filter(|node| cut.holds(&node.id)) {
                    node.phase = Phase::Pruned;
                }
            }
        }
        let open = |node: &&Naive| {
            let lacks = node.children == 0 || node.failed_child;
            node.phase == Phase::Scored && !node.held && lacks && node.path.len() < depth
        };
        let level = match beam {
            None => nodes.iter().filter(open).map(|node| node.path.len()).min(),
            Some(_) => {
                let scored = nodes.iter().filter(|node| node.phase == Phase::Scored);
                scored.map(|node| node.path.len()).max()
            }
        };
        let mut parents: Vec<NodeId> = nodes
            .iter()
            .filter(open)
            .filter(|node| Some(node.path.len()) == level)
            .map(|node| node.id.clone())
            .collect();
        parents.sort();
        if parents.is_empty() || nodes.len() >= most {
            break;
        }
        let mut room = most - nodes.len();
        let mut fresh = Vec::new();
        for parent in parents {
            let at = nodes.iter().position(|node| node.id == parent).expect("it is there");
            let path = nodes[at].path.clone();
            let done: Vec<EntityId> = nodes
                .iter()
                .filter(|node| node.id.parent().as_ref() == Some(&parent))
                .map(|node| node.path.last().expect("below the root").clone())
                .collect();
            let mut children = world.children(&path, 4);
            children.retain(|child| !done.contains(child));
            children.truncate(room);
            room -= children.len();
            nodes[at].held = children.is_empty();
            for child in children {
                nodes[at].children += 1;
                let path = [path.clone(), vec![child.clone()]].concat();
                let (phase, score) = match world.look(&child) {
                    None => (Phase::Failed, None),
                    Some(_) => match world.score(&path, Purpose::Judgement) {
                        Some(score) => (Phase::Scored, Some(score)),
                        None => (Phase::EvalFailed, None),
                    },
                };
                nodes[at].failed_child |= matches!(phase, Phase::Failed | Phase::EvalFailed);
                let id = parent.child(nodes[at].children);
                let (held, failed_child) = (false, false);
                fresh.push(Naive { id, path, phase, score, held, children: 0, failed_child });
            }
        }
        nodes.extend(fresh);
    }
    let below = nodes.iter().filter(|node| !node.id.is_root());
    let row = |node: &Naive| {
        let entity = node.path.last().map_or("", EntityId::as_str).to_owned();
        (node.id.to_string(), entity, node.phase, node.score, 0, 0)
    };
    let mut rows: Vec<Row> = below.map(row).collect();
    rows.sort();
    rows
}

fn configs() -> [(SearchConfig, Option<usize>); 2] {
    let usual = [(SearchConfig::bfs(), None), (SearchConfig::beam(), Some(3))];
    usual.map(|(config, beam)| (config.with_depth(5).expect("planned").with_rounds(12), beam))
}

fn agrees(seed: u64) -> Result<(), String> {
    let world = World { highest: 840, ..World::new(seed) };
    for (config, beam) in configs() {
        for width in [1, 3, 8] {
            let search = world.run(config.clone().with_width(wide(width)), seed);
            let (ours, theirs) = (rows(&search), model(&world, beam, 50, 5, 12));
            // With more at a time nodes of equal parents are the same; only the order of entries differs.
            if ours != theirs {
                let apart = ours.iter().zip(&theirs).find(|(a, b)| a != b);
                let (a, b) = (ours.len(), theirs.len());
                return Err(format!("seed {seed}, {beam:?}, width {width}: {apart:?}, {a}, {b}"));
            }
            shallow_first(&search)?;
            let scored = |row: &&Row| row.2 == Phase::Scored;
            let best = ours.iter().filter(scored).map(|row| row.3).max().flatten();
            if search.best().map(|(_, score)| score) != best {
                return Err(format!("seed {seed}: best {:?}, not {best:?}", search.best()));
            }
        }
    }
    Ok(())
}

/// No node of a breadth-first search is expanded while one nearer to the root waits.
fn shallow_first(search: &SearchController) -> Result<(), String> {
    if search.settings().branch().is_some() {
        return Ok(());
    }
    let mut before = 0;
    for entry in search.ledger().entries() {
        let SearchBody::Planned(planned) = &entry.body else { continue };
        let Some(PlanTry::Applied(actions)) = planned.tries.last() else { continue };
        let depths = actions.iter().filter_map(|action| match action {
            PlanAction::Expand { parent, .. } => Some(parent.depth()),
            PlanAction::Hold { node, .. } => Some(node.depth()),
            _ => None,
        });
        let depths: Vec<usize> = depths.collect();
        if depths.iter().any(|depth| Some(depth) != depths.first()) {
            return Err(format!("plan {}: depths {depths:?}", planned.iteration));
        }
        let depth = depths.first().copied().unwrap_or(before);
        if depth < before {
            return Err(format!("plan {}: back from {before} to {depth}", planned.iteration));
        }
        before = depth;
    }
    Ok(())
}

#[test]
fn it_is_a_naive_search_by_levels() {
    for seed in 0..seeds(150) {
        agrees(seed).unwrap_or_else(|error| panic!("{error}"));
    }
}

#[test]
fn planted_faults_are_found_by_the_model() {
    for fault in [
        PlantedFault::BeamKeepsWorst,
        PlantedFault::SkipsLevels,
        // kyegomez/swarms #1266.
        PlantedFault::UnreadableIsHalf,
    ] {
        let _planted = plant(fault);
        assert!((0..40).any(|seed| agrees(seed).is_err()), "{fault:?} is not found");
    }
}

#[test]
fn a_width_is_one_search_whatever_comes_first() {
    for (seed, (config, _)) in (0..seeds(30)).flat_map(|seed| configs().map(|it| (seed, it))) {
        let world = World { highest: 1000, ..World::new(seed) };
        common::width_is_one_search(&world, &config, &(seed + 2..seed + 3));
    }
}

/// What a planner answers in a test, given which plan it is and what it sees.
fn planned(
    config: SearchConfig,
    plan: impl Fn(u32, &eog_search::ask::PlanAsk) -> Vec<PlanAction>,
    scores: impl Fn(&[EntityId]) -> u16,
) -> SearchController {
    let world = World { failing: 0, ..World::new(1) };
    let mut search = SearchController::open(config, world.case());
    let mut plans = 0;
    loop {
        let input = match search.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question } => {
                let answer = match &question.role {
                    Role::Plan(ask) => {
                        plans += 1;
                        Answer::Plan(plan(plans, ask))
                    }
                    Role::Evaluate(ask) => {
                        let path: Vec<EntityId> =
                            ask.path.iter().map(|seen| seen.action.entity().clone()).collect();
                        Answer::Verdict(eog_search::Verdict::new(scores(&path), "as scripted"))
                    }
                    _ => world.answer(&question).expect("nothing fails"),
                };
                Input::Answer(ticket, answer, Usage::default())
            }
            Output::Done(_) => return search,
            Output::Idle => panic!("it is answered at once"),
        };
        search.handle(input).expect("it fits");
    }
}

fn expand(parent: &str, entity: u64, score: Option<u16>) -> PlanAction {
    let action = Arc::new(Action::look(World::name(entity), "as scripted"));
    PlanAction::Expand { parent: parent.parse().expect("a node"), action, score }
}

fn converge(node: &str) -> PlanAction {
    PlanAction::Converge { node: node.parse().expect("a node") }
}

fn last_tries(search: &SearchController) -> Vec<PlanTry> {
    let planned = search.ledger().entries().iter().rev().find_map(|entry| match &entry.body {
        SearchBody::Planned(planned) => Some(planned.tries.clone()),
        _ => None,
    });
    planned.expect("there was a plan")
}

/// kubeswarm applied half of an "atomic" answer.
#[test]
fn one_bad_action_leaves_the_tree_as_it_was() {
    let prune = |node: &str| PlanAction::Prune {
        node: node.parse().expect("a node"),
        reason: "as scripted".to_owned(),
    };
    let bad: Vec<(PlanAction, &str)> = vec![
        (expand("2", 5, None), "there is no node 2"),
        (expand("root", 5, None), "node root cannot be expanded now"),
        (expand("1", 1, None), "on the way to node 1 it was done already: look at e1"),
        (expand("1", 3, None), "node 1 is to look at e3 twice"),
        (expand("1", 24, None), "nobody named the entity e24"),
        (prune("root"), "the root cannot be pruned"),
        (prune("1"), "node 1 is pruned by the same plan"),
        (converge("root"), "node root has no score to converge on"),
    ];
    for (bad, reason) in bad {
        let plan = |number: u32, _: &eog_search::ask::PlanAsk| match number {
            1 => vec![expand("root", 1, None)],
            _ => vec![expand("1", 3, None), bad.clone()],
        };
        let search = planned(SearchConfig::bfs(), plan, |_| 400);
        assert_eq!(search.end(), Some(End::PlannerFailed), "{reason}");
        let tries = last_tries(&search);
        assert_eq!(tries.len(), 3, "a plan that is refused is asked for twice more");
        assert!(
            tries.iter().all(
                |tried| matches!(tried, PlanTry::Refused { reason: why, .. } if why == reason)
            ),
            "{tries:?}"
        );
        assert_eq!(rows(&search).len(), 1);
    }
    let plan = |number: u32, _: &eog_search::ask::PlanAsk| match number {
        1 => vec![expand("root", 1, None)],
        _ => vec![expand("1", 3, None), expand("2", 5, None)],
    };
    let _planted = plant(PlantedFault::HalfApplied);
    assert_ne!(rows(&planned(SearchConfig::bfs(), plan, |_| 400)).len(), 1, "the fault is seen");
}

#[test]
fn an_empty_plan_is_refused() {
    let search = planned(SearchConfig::bfs(), |_, _| Vec::new(), |_| 400);
    assert_eq!(search.end(), Some(End::PlannerFailed));
    assert!(search.best().is_none());
}

#[test]
fn a_score_is_accepted_at_850_and_not_at_849() {
    for (score, end) in [(849, End::Converged), (850, End::Accepted)] {
        let plan = |number: u32, _: &eog_search::ask::PlanAsk| match number {
            1 => vec![expand("root", 1, None)],
            _ => vec![converge("1")],
        };
        let search = planned(SearchConfig::bfs(), plan, |_| score);
        assert_eq!(search.end(), Some(end));
        assert_eq!(
            search.best().map(|(at, score)| (at.to_string(), score)),
            Some(("1".to_owned(), score))
        );
    }
}

fn scored_by_planner(config: &SearchConfig) -> Result<SearchConfig, eog_search::Incoherent> {
    SearchConfig::new(
        config.selection(),
        config.expansion(),
        Evaluation::Planner,
        eog_search::Backup::None,
        config.pruning(),
        config.stop(),
    )
}

/// kubeswarm let what a planner expects of a node end the search before the node ran.
#[test]
fn what_a_planner_expects_counts_once_the_node_has_run() {
    let config = scored_by_planner(&SearchConfig::bfs()).expect("they fit");
    let looks_before_the_end = || {
        let search = planned(config.clone(), |_, _| vec![expand("root", 1, Some(990))], |_| 0);
        assert_eq!(search.end(), Some(End::Accepted));
        common::count(&search, |body| matches!(body, SearchBody::Looked(_)))
    };
    assert_eq!(looks_before_the_end(), 1, "it is evaluated before it counts");
    {
        let _planted = plant(PlantedFault::PriorCounts);
        assert_eq!(looks_before_the_end(), 0, "the fault is seen");
    }
    let search = planned(config, |_, _| vec![expand("root", 1, None)], |_| 0);
    assert_eq!(search.end(), Some(End::PlannerFailed), "each new node needs a score");
}

/// kubeswarm's evaluator was never asked, so that its beam cut nothing.
#[test]
fn a_beam_without_an_evaluator_is_refused() {
    let refused = scored_by_planner(&SearchConfig::beam());
    assert_eq!(refused, Err(eog_search::Incoherent::BeamWithoutEvaluator));
}

/// 20 plans with two retries each, 49 evaluations and scores.
#[test]
fn bounds_hold_as_numbers() {
    for seed in 0..seeds(60) {
        for config in [SearchConfig::bfs(), SearchConfig::beam()] {
            let most = config.most_asked();
            assert_eq!((most.looks, most.roles), (49, 20 * 3 + 49 * 3));
            let world = World { highest: 840, failing: 0, ..World::new(seed) };
            let search = world.run(config, seed);
            let count = |is: fn(&SearchBody) -> bool| common::count(&search, is);
            assert!(search.tree().len() <= 50);
            assert!(count(|body| matches!(body, SearchBody::Looked(_))) <= 49);
            assert!(count(|body| matches!(body, SearchBody::Scored(_))) <= 49);
            assert!(count(|body| matches!(body, SearchBody::Planned(_))) <= 20);
        }
    }
}

/// A ticket that was answered is unknown from then on, and nothing changes.
#[test]
fn a_ticket_answered_twice_changes_nothing() {
    let twice = || {
        let world = World { failing: 0, ..World::new(3) };
        let config = SearchConfig::bfs().with_width(wide(3));
        let mut search = SearchController::open(config, world.case());
        let (mut open, mut refused): (Vec<(Ticket, Ask)>, u32) = (Vec::new(), 0);
        loop {
            match search.poll() {
                Output::Append(entry) => {
                    search.handle(Input::Appended(entry.seq)).expect("in order");
                }
                Output::Ask { ticket, question } => open.push((ticket, question)),
                Output::Done(_) => return Ok(refused),
                Output::Idle => {
                    // The youngest first, so that answers wait for older ones.
                    let (ticket, ask) = open.pop().ok_or(())?;
                    let answer = || {
                        Input::Answer(ticket, world.answer(&ask).expect("sound"), Usage::default())
                    };
                    search.handle(answer()).expect("it was asked");
                    let before = search.ledger().clone();
                    if search.handle(answer()).is_ok() || *search.ledger() != before {
                        return Err(());
                    }
                    refused += 1;
                }
            }
        }
    };
    assert!(twice().is_ok_and(|refused| refused > 20));
    let _planted = plant(PlantedFault::TakesTwice);
    assert_eq!(twice(), Err(()), "the fault is seen");
}
