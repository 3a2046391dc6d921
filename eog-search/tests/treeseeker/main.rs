//! Goals with alternative paths against a naive model; what may and must go back; bounds; draws by lot.

mod bounds;
use crate::common;
mod decisions;

use std::collections::{BTreeMap, BTreeSet};

use common::{ENTITIES, World, seeds, wide};
use eog_core::{EntityId, Machine as _};
use eog_search::planted::{PlantedFault, plant};
use eog_search::{
    By, End, MoveKind, NodeId, Phase, PrunedBy, RefusedPart, SearchBody, SearchConfig,
    SearchController, Taken, Try,
};

/// A path of the model. Its steps are entities; those before `mark` led to progress.
#[derive(Clone, Debug, Default)]
struct Path {
    name: Vec<u32>,
    steps: Vec<EntityId>,
    /// Every step that was ever evaluated, by the steps before it.
    looked: BTreeSet<Vec<EntityId>>,
    progressed: Option<usize>,
    returned: bool,
    closed: bool,
    rewritten: bool,
    selected: u32,
}

#[derive(Clone, Debug, Default)]
struct Aim {
    needs: Vec<u32>,
    ratio: u16,
    complete: bool,
    paths: Vec<Path>,
}

impl Aim {
    fn open(&self) -> Vec<(String, u32)> {
        let open = self.paths.iter().filter(|path| !path.closed);
        open.map(|path| (named(&path.name), path.selected)).collect()
    }

    fn add(&mut self, goal: u32) {
        let name = vec![goal, u32::try_from(self.paths.len() + 1).expect("few")];
        self.paths.push(Path { name, ..Path::default() });
    }

    fn path(&mut self, name: &str) -> &mut Path {
        self.paths.iter_mut().find(|path| named(&path.name) == name).expect("it is there")
    }
}

fn named(name: &[u32]) -> String {
    name.iter().map(u32::to_string).collect::<Vec<_>>().join(".")
}

type MoveRow = (u32, MoveKind, Vec<String>, By);
/// By round what was done; how each path ended up; ratios; how often each entity was evaluated; the end.
type Story = (Vec<Vec<MoveRow>>, Vec<(String, bool, u32, usize)>, Vec<u16>, usize, Option<End>);

/// What the world makes of a search.
fn model(world: &World, rounds: usize) -> Story {
    let unknown = World::name(ENTITIES);
    let hopeless = world.draw("decompose fails", &[], 1000) < world.failing;
    if hopeless {
        return (Vec::new(), Vec::new(), Vec::new(), 0, Some(End::PlannerFailed));
    }
    let mut aims: Vec<Aim> = Vec::new();
    for (number, goal) in (1..).zip(world.goals()) {
        let mut aim = Aim { needs: goal.needs, ..Aim::default() };
        goal.paths.iter().for_each(|_| aim.add(number));
        aims.push(aim);
    }
    let mut seen: BTreeMap<EntityId, bool> = BTreeMap::new();
    let (mut story, mut looks, mut candidates) = (Vec::new(), 0, 0);
    let end = loop {
        let met = |aim: &Aim| aim.needs.iter().all(|need| aims[*need as usize - 1].complete);
        let active: Vec<usize> = (0..aims.len())
            .filter(|at| !aims[*at].complete && met(&aims[*at]) && !aims[*at].open().is_empty())
            .collect();
        if aims.iter().all(|aim| aim.complete) {
            break End::Completed;
        } else if story.len() == rounds {
            break End::Rounds;
        } else if active.is_empty() {
            break End::Exhausted;
        }
        let counts: Vec<u32> =
            aims.iter().map(|aim| aim.paths.iter().map(|path| path.selected).sum()).collect();
        let finished = world.is_finished(candidates, seen.len(), &counts);
        let failed = world.draw("steer fails", &[], 1000) < world.failing;
        let moves = |refused: bool| -> Vec<(MoveKind, Vec<String>)> {
            let goal = |at: &usize| (u32::try_from(at + 1).expect("few"), aims[*at].open());
            active
                .iter()
                .map(goal)
                .map(|(number, open)| world.chosen(number, &open, refused))
                .collect()
        };
        let sound = |at: usize, (kind, paths): &(MoveKind, Vec<String>)| match kind {
            MoveKind::Exploit => true,
            MoveKind::Explore => paths.len() >= 2,
            MoveKind::Backtrack => {
                aims[at].open().iter().any(|(path, times)| *path == paths[0] && *times >= 8)
            }
        };
        // A failure is no refusal: the question is the same, and fails again.
        let first = moves(false);
        let refused = if finished {
            candidates == 0
        } else {
            active.iter().zip(&first).any(|(at, it)| !sound(*at, it))
        };
        let answered = match (failed, refused) {
            (true, _) => None,
            (false, true) => Some(moves(true)),
            (false, false) => Some(first),
        };
        if finished && !failed && candidates > 0 {
            story.push(Vec::new());
            break End::Finished;
        }
        let answered = answered.filter(|_| !finished);
        let mut done: Vec<MoveRow> = Vec::new();
        for (order, at) in active.iter().enumerate() {
            let number = u32::try_from(at + 1).expect("few");
            let open = aims[*at].open();
            let forced: Vec<String> = open
                .iter()
                .filter(|(_, times)| *times >= 12)
                .map(|(path, _)| path.clone())
                .collect();
            let asked = answered.as_ref().map(|moves| &moves[order]).filter(|it| sound(*at, it));
            done.push(match asked {
                _ if !forced.is_empty() => (number, MoveKind::Backtrack, forced, By::Forced),
                Some((kind, paths)) => (number, *kind, paths.clone(), By::Role),
                None => {
                    let least = open.iter().map(|(_, times)| *times).min().expect("one is open");
                    let first = open.into_iter().find(|(_, times)| *times == least);
                    let path = first.expect("it is there").0;
                    (number, MoveKind::Exploit, vec![path], By::Default)
                }
            });
        }
        let mut ran: Vec<(usize, String, bool)> = Vec::new();
        for (number, kind, paths, _) in &done {
            let at = *number as usize - 1;
            for name in paths {
                let path = aims[at].path(name);
                if *kind != MoveKind::Backtrack {
                    path.selected += 1;
                    ran.push((at, name.clone(), false));
                    continue;
                }
                match path.progressed {
                    Some(mark) if !path.returned => {
                        path.steps.truncate(mark);
                        (path.selected, path.returned) = (0, true);
                    }
                    _ => path.closed = true,
                }
            }
        }
        // All choose first, then all evaluate.
        let mut going = Vec::new();
        for (at, name, _) in &ran {
            let path = aims[*at].path(name);
            match world.next_step(&path.name, path.selected, path.steps.last()) {
                Ok(None) => path.closed = true,
                Ok(Some(entity)) => {
                    let way = [path.steps.clone(), vec![entity.clone()]].concat();
                    let new = !path.steps.contains(&entity) && !path.looked.contains(&way);
                    if new && entity != unknown {
                        path.looked.insert(way);
                        going.push((*at, name.clone(), entity));
                    }
                }
                Err(()) => {}
            }
        }
        for (at, name, entity) in going {
            looks += 1;
            let Some(is_origin) = world.look(&entity) else { continue };
            aims[at].path(&name).steps.push(entity.clone());
            if seen.insert(entity, is_origin).is_none() {
                let it = ran.iter_mut().find(|(of, path, _)| *of == at && *path == name);
                it.expect("it ran").2 = true;
            }
        }
        story.push(done);
        candidates = seen.values().filter(|origin| **origin).count();
        // What the answer is about is what was before it.
        let before = aims.clone();
        for (at, aim) in aims.iter_mut().enumerate().filter(|(_, aim)| !aim.complete) {
            let number = u32::try_from(at + 1).expect("few");
            let ratio = world.ratio(number, aim.ratio, seen.len());
            for (_, name, fresh) in ran.iter().filter(|(of, ..)| *of == at) {
                if *fresh && ratio >= aim.ratio + 50 {
                    let path = aim.path(name);
                    path.progressed = Some(path.steps.len());
                    (path.returned, path.selected) = (false, 0);
                }
            }
            aim.ratio = ratio;
            aim.complete = ratio >= 900;
        }
        for (at, aim) in before.iter().enumerate() {
            for path in aim.paths.iter().filter(|path| path.closed) {
                let start = world.changes(&named(&path.name), seen.len());
                if start.is_none_or(|start| start == unknown) {
                    continue;
                }
                if !aims[at].complete && !path.rewritten && aims[at].open().len() < 5 {
                    aims[at].path(&named(&path.name)).rewritten = true;
                    aims[at].add(u32::try_from(at + 1).expect("few"));
                }
            }
        }
        for (at, aim) in aims.iter_mut().enumerate() {
            let number = u32::try_from(at + 1).expect("few");
            let start = world.changes(&format!("goal {number}"), seen.len());
            let known = start.is_some_and(|start| start != unknown);
            if known && !aim.complete && aim.open().len() < 5 {
                aim.add(number);
            }
        }
    };
    let paths = aims.iter().flat_map(|aim| &aim.paths);
    let paths =
        paths.map(|it| (named(&it.name), it.closed, it.selected, it.looked.len())).collect();
    (story, paths, aims.iter().map(|aim| aim.ratio).collect(), looks, Some(end))
}

/// The same of a search.
fn done(search: &SearchController) -> Story {
    let (mut story, mut looks) = (Vec::new(), 0);
    for entry in search.ledger().entries() {
        match &entry.body {
            SearchBody::Steered(steered) => story.push(
                steered
                    .taken
                    .iter()
                    .map(|Taken { goal, kind, paths, by }| {
                        (*goal, *kind, paths.iter().map(NodeId::to_string).collect(), *by)
                    })
                    .collect(),
            ),
            SearchBody::Looked(_) => looks += 1,
            _ => {}
        }
    }
    let nodes: Vec<_> = search.tree().nodes().collect();
    let mut paths: Vec<_> = nodes
        .iter()
        .filter(|node| node.id.depth() == 2)
        .map(|path| {
            let steps = nodes.iter().filter(|node| path.id.holds(&node.id)).count() - 1;
            let closed = path.phase == Phase::Pruned;
            (path.id.clone(), closed, search.selected(&path.id).expect("a path"), steps)
        })
        .collect();
    paths.sort();
    let paths =
        paths.into_iter().map(|(id, closed, times, steps)| (id.to_string(), closed, times, steps));
    let ratios = search.goals().into_iter().map(|(ratio, _)| ratio).collect();
    (story, paths.collect(), ratios, looks, search.end())
}

fn config() -> SearchConfig {
    SearchConfig::treeseeker()
}

fn by_lot(seed: Option<u64>) -> SearchConfig {
    config().with_random(seed).expect("goals")
}

fn agrees(world: &World, width: u32) -> Result<(), String> {
    let search = world.run(config().with_width(wide(width)), world.seed);
    let (found, expected) = (done(&search), model(world, 30));
    match found == expected {
        true => Ok(()),
        false => Err(format!("seed {}:\n{found:#?}\n{expected:#?}", world.seed)),
    }
}

#[test]
fn it_is_a_naive_search_by_goals() {
    let mut ends: BTreeMap<String, u32> = BTreeMap::new();
    for seed in 0..seeds(60) {
        let world =
            World { failing: if seed.is_multiple_of(3) { 0 } else { 60 }, ..World::new(seed) };
        agrees(&world, 1 + u32::try_from(seed % 8).expect("small")).unwrap();
        *ends.entry(format!("{:?}", model(&world, 30).4)).or_default() += 1;
    }
    println!("{ends:?}");
    assert!(ends.len() >= 4, "{ends:?}");
}

/// With paths that no role rewrites or adds to, a search runs out of them: it ends there, as the model does, with
/// goals that are not complete and no path of theirs that is open and may run.
#[test]
fn a_search_ends_when_no_path_is_left() {
    let mut exhausted = 0;
    for seed in 0..seeds(200) {
        let world = World { failing: 0, ..World::new(seed) };
        let search = world.run(config().with_rounds(ROUNDS), seed);
        let (found, expected) = (done(&search), model(&world, ROUNDS as usize));
        assert_eq!(found, expected, "seed {seed}");
        if search.end() == Some(End::Exhausted) {
            exhausted += 1;
            assert!(search.begun() < ROUNDS);
            assert!(search.goals().iter().any(|(_, complete)| !complete));
        }
    }
    assert!(exhausted >= 3, "{exhausted}");
}

/// Enough for a search to run out of paths before it runs out of rounds.
const ROUNDS: u32 = 200;

#[test]
fn planted_faults_are_found_by_the_model() {
    for fault in [
        PlantedFault::ReturnsLate,
        PlantedFault::IgnoresNeeds,
        PlantedFault::RatioAlone,
        PlantedFault::ReturnsForEver,
        PlantedFault::ReturnsEarly,
    ] {
        let _planted = plant(fault);
        let differs = |seed: &u64| agrees(&World::new(*seed), 5).is_err();
        assert!((0..80).any(|seed| differs(&seed)), "{fault:?} is not found");
    }
}

fn steered(search: &SearchController) -> impl Iterator<Item = &eog_search::Steered> {
    search.ledger().entries().iter().filter_map(|entry| match &entry.body {
        SearchBody::Steered(steered) => Some(&**steered),
        _ => None,
    })
}

/// No path is ever selected a thirteenth time without progress, and some are forced after exactly twelve.
#[test]
fn a_path_must_go_back_after_exactly_twelve_selections_and_may_after_eight() {
    let (mut forced, mut early) = (0, 0);
    for seed in 0..seeds(40) {
        let world = World::new(seed);
        let search = world.run(config(), seed);
        let mut since: BTreeMap<NodeId, u32> = BTreeMap::new();
        let mut again: SearchController =
            eog_core::ledger::restore(&search.ledger().before(1)).expect("it follows");
        assert_eq!(again.begun(), 0);
        for entry in search.ledger().entries().iter().skip(1) {
            if let SearchBody::Steered(steered) = &entry.body {
                for taken in &steered.taken {
                    for path in &taken.paths {
                        let before = again.selected(path).expect("a path");
                        since.insert(path.clone(), before);
                        match (taken.kind, taken.by) {
                            (MoveKind::Backtrack, By::Forced) => {
                                assert_eq!(before, 12);
                                forced += 1;
                            }
                            (MoveKind::Backtrack, _) => {
                                assert!((8..12).contains(&before), "{path}: {before}");
                                early += 1;
                            }
                            _ => assert!(before < 12, "{path}: {before}"),
                        }
                    }
                }
            }
            again.repeat(entry, None).expect("it follows");
        }
        assert_eq!(again.ledger().head(), search.ledger().head());
        assert!(since.values().all(|times| *times <= 12));
    }
    assert!(forced >= 5 && early >= 5, "{forced} {early}");
}

#[test]
fn a_width_is_one_search_whatever_comes_first() {
    for (seed, is_random) in (0..seeds(3)).flat_map(|seed| [(seed, false), (seed, true)]) {
        let config = by_lot(is_random.then_some(seed));
        common::width_is_one_search(&World::new(seed), &config, &(1..4));
    }
}

/// Other seeds draw other moves, equal ones the same; no role is asked, and none says that it is finished.
#[test]
fn moves_by_lot_are_those_of_their_seed() {
    let mut different = BTreeSet::new();
    for lot in 0..6 {
        let world = World { failing: 0, ..World::new(1) };
        let run = || world.run(by_lot(Some(lot)), 0);
        let search = run();
        assert_eq!(search.ledger().head(), run().ledger().head());
        assert_ne!(search.end(), Some(End::Finished));
        for steered in steered(&search) {
            assert!(steered.tries.is_empty());
            assert!(steered.taken.iter().all(|it| matches!(it.by, By::Random | By::Forced)));
        }
        different.insert(format!("{:?}", done(&search).0));
    }
    assert!(different.len() >= 4);
}

/// Uniform over the kinds that are admissible.
#[test]
fn lots_are_fair() {
    let (mut both, mut exploits) = (0_u32, 0_u32);
    for lot in 0..400 {
        let world = World { failing: 0, ..World::new(lot % 20) };
        let search = world.run(by_lot(Some(lot)).with_rounds(1), 0);
        for taken in steered(&search).flat_map(|steered| &steered.taken) {
            let goal = NodeId::root().child(taken.goal);
            let paths = search.tree().nodes().filter(|it| it.id.parent() == Some(goal.clone()));
            if paths.count() > 1 {
                both += 1;
                exploits += u32::from(taken.kind == MoveKind::Exploit);
            }
        }
    }
    // Four standard deviations of a fair coin.
    let off = f64::from(exploits) - f64::from(both) / 2.0;
    assert!(both >= 300 && off.abs() < 2.0 * f64::from(both).sqrt(), "{exploits} of {both}");
}

/// What is wrong with what was kept: memory at a path that is not its own, values that no finding holds.
fn kept_wrongly(seed: u64) -> Vec<&'static str> {
    let search = World { failing: 0, ..World::new(seed) }.run(config(), seed);
    let mut wrong = Vec::new();
    for node in search.tree().nodes() {
        let Some(memory) = search.memory(&node.id) else { continue };
        let path = node.id.ordinals().iter().take(2).map(u32::to_string).collect::<Vec<_>>();
        if memory.progress != path.join(".") {
            wrong.push("memory of another path");
        }
    }
    if search.facts().iter().any(|fact| fact.values != ["50"]) {
        wrong.push("a value that its finding does not hold");
    }
    wrong
}

#[test]
fn planted_faults_of_memory_and_facts_are_found() {
    assert!((0..20).all(|seed| kept_wrongly(seed).is_empty()));
    for (fault, said) in [
        (PlantedFault::RemembersElsewhere, "memory of another path"),
        (PlantedFault::TakesAnyValue, "a value that its finding does not hold"),
    ] {
        let _planted = plant(fault);
        assert!((0..20).any(|seed| kept_wrongly(seed).contains(&said)), "{fault:?} is not found");
    }
}

/// What was learnt stays with the branch that taught it, and facts hold values to the letter.
#[test]
fn memory_stays_with_its_branch_and_facts_are_exact() {
    let (mut kept, mut facts, mut refused, mut given_up) = (0, 0, 0, 0);
    for seed in 0..seeds(20) {
        let search = World { failing: 0, ..World::new(seed) }.run(config(), seed);
        for node in search.tree().nodes() {
            if node.id.depth() >= 2 && search.memory(&node.id).is_some() {
                kept += 1;
                given_up += u32::from(node.pruned_by == Some(PrunedBy::Backtracked));
            }
        }
        for fact in search.facts() {
            assert_eq!(fact.values, ["50"]);
            facts += 1;
        }
        for entry in search.ledger().entries() {
            if let SearchBody::Progressed(progressed) = &entry.body {
                let wrong =
                    |(_, why): &&(String, RefusedPart)| *why == RefusedPart::ValueNotInFinding;
                refused += progressed.refused.iter().filter(wrong).count();
            }
        }
    }
    assert!(kept > 50 && facts > 50 && refused > 50 && given_up > 3);
}

/// Goals that cannot be are refused with the reason, and asked for again.
#[test]
fn goals_that_cannot_be_are_asked_for_again() {
    let mut reasons: BTreeSet<String> = BTreeSet::new();
    for seed in 0..seeds(80) {
        let world = World { failing: 0, ..World::new(seed) };
        let search = world.run(config().with_rounds(1), 0);
        let Some(SearchBody::Decomposed(decomposed)) =
            search.ledger().entry(1).map(|entry| &entry.body)
        else {
            panic!("goals come first");
        };
        for tried in &decomposed.tries {
            if let Try::Refused { reason, .. } = tried {
                reasons.insert(reason.clone());
            }
        }
        assert_ne!(search.end(), Some(End::PlannerFailed));
    }
    for part in ["goals; 1 to 5", "in a circle", "has 0 paths", "nobody named the entity"] {
        assert!(reasons.iter().any(|reason| reason.contains(part)), "{part}: {reasons:?}");
    }
}

/// Written by `EOG_UPDATE_GOLDEN=1 cargo test -p eog-search --test all treeseeker`, where they are missing.
#[test]
fn golden_ledgers_are_derived_again() {
    for (name, random) in [("treeseeker", None), ("treeseeker-random", Some(7))] {
        let world = World { failing: 0, ..World::new(2) };
        common::golden(name, || world.run(by_lot(random).with_rounds(15), 0));
    }
}

/// Without a model: rules set goals, move and go over rounds, on the incident that ships with the project.
#[test]
fn rules_find_the_cause_of_the_flash_sale() {
    use eog_evidence::{Bundle, BundleContext, EvidencePolicy, open_case};
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    for random in [None, Some(0)] {
        let bundle = Bundle::read(&folder).expect("it ships with the project");
        let case = open_case(&bundle.incident(), None).expect("it has alerts");
        let roles =
            eog_search::SearchResponder::new(BundleContext::new(bundle), EvidencePolicy::default());
        let mut search = SearchController::open(by_lot(random), case);
        eog_core::machine::drive(&mut search, &roles).expect("ready at once");
        let named: BTreeSet<EntityId> =
            search.conclusion().frontier.into_iter().flat_map(|group| group.origins).collect();
        println!(
            "{random:?}: {named:?}, {:?} after {} rounds, {:?}, {} calls, {} facts",
            search.end(),
            search.begun(),
            search.goals(),
            search.spent().hops,
            search.facts().len()
        );
        assert!(!search.facts().is_empty());
        assert!(named.iter().any(|name| ["database", "frontend"].contains(&name.as_str())));
        let again: SearchController =
            eog_core::ledger::restore(search.ledger()).expect("it follows");
        assert_eq!(again.ledger().head(), search.ledger().head());
        decisions::refuses_nothing(&search);
    }
}
