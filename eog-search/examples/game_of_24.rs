//! The Game of 24 by the search core with an exact reward: reach 24 from four numbers by +, -, × and ÷.
//!
//! A second domain in a hundred lines: a state is an entity, what is left to do is its context, and the reward is 1000
//! at 24 and 0 elsewhere. Nothing guides the search, no state is valued before it is reached, and 100 solvable puzzles
//! are drawn evenly from all of them. `cargo run --release -p eog-search --example game_of_24`.

use std::collections::BTreeSet;

use eog_core::contract::{Answer, Failure};
use eog_core::machine::drive;
use eog_core::{
    AbductivePolicy, BoxFuture, Case, ContextContract, ContextPacket, ContextRequest, Decision,
    Digest, EntityId, Label, LocalContext, Machine, Seed, Topology, Window,
};
use eog_search::ask::{EvaluateAsk, ProposeAsk, Seen};
use eog_search::{
    Action, End, Exploration, Reply, Roles, SQRT_2, SearchConfig, SearchController,
    SearchResponder, ToolSpec, Verdict,
};

type Fraction = (i64, i64);

/// Every state that one operation leads to, by name.
fn next(state: &str) -> BTreeSet<String> {
    let numbers: Vec<Fraction> = state.split(' ').filter_map(fraction).collect();
    let mut states = BTreeSet::new();
    for (i, &(a, b)) in numbers.iter().enumerate() {
        for (j, &(c, d)) in numbers.iter().enumerate().filter(|(j, _)| *j != i) {
            let results =
                [(a * d + c * b, b * d), (a * d - c * b, b * d), (a * c, b * d), (a * d, b * c)];
            for (top, bottom) in results.into_iter().filter(|(_, bottom)| *bottom != 0) {
                let others = (0..numbers.len()).filter(|k| *k != i && *k != j).map(|k| numbers[k]);
                let mut left: Vec<Fraction> = others.chain([reduced(top, bottom)]).collect();
                left.sort_unstable();
                let words: Vec<String> =
                    left.iter().map(|(top, bottom)| format!("{top}/{bottom}")).collect();
                states.insert(words.join(" "));
            }
        }
    }
    states
}

fn fraction(text: &str) -> Option<Fraction> {
    let (top, bottom) = text.split_once('/')?;
    Some((top.parse().ok()?, bottom.parse().ok()?))
}

fn reduced(top: i64, bottom: i64) -> Fraction {
    let (mut a, mut b) = (top.abs(), bottom.abs());
    while b != 0 {
        (a, b) = (b, a % b);
    }
    (top * bottom.signum() / a.max(1), bottom.abs() / a.max(1))
}

fn solvable(state: &str) -> bool {
    state == "24/1" || next(state).iter().any(|next| solvable(next))
}

fn look(state: &str) -> Option<Action> {
    Some(Action::look(EntityId::new(state).ok()?, "one operation"))
}

/// Contexts, decisions and roles: the rules of the game.
struct Game(String);

impl Game {
    /// What can be done after a path, in an order that is drawn for the state.
    fn moves(&self, path: &[Seen]) -> Vec<Action> {
        let state = path.last().map_or(self.0.as_str(), |seen| seen.action.entity().as_str());
        let mut states: Vec<String> = next(state).into_iter().collect();
        states.sort_by_cached_key(|next| Digest::of(&(state, next)));
        states.iter().filter_map(|state| look(state)).collect()
    }
}

impl ContextContract for Game {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let mentions =
            next(request.entity.as_str()).into_iter().filter_map(|state| EntityId::new(state).ok());
        let context = LocalContext { mentions: mentions.collect(), ..LocalContext::default() };
        Box::pin(async { Ok(context) })
    }
}

impl AbductivePolicy for Game {
    fn decide<'a>(&'a self, _: &'a ContextPacket) -> BoxFuture<'a, Result<Answer, Failure>> {
        Box::pin(async { Ok(Decision::new(Label::Healthy, "a state").into()) })
    }
}

impl Roles for Game {
    fn propose<'a>(&'a self, ask: &'a ProposeAsk, _: &'a [ToolSpec]) -> Reply<'a, Vec<Action>> {
        Box::pin(async { Ok(self.moves(&ask.path).into()) })
    }

    fn act<'a>(&'a self, ask: &'a ProposeAsk, _: &'a [ToolSpec]) -> Reply<'a, Option<Action>> {
        Box::pin(async { Ok(self.moves(&ask.path).into_iter().next().into()) })
    }

    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        let reached = ask.path.last().map_or("", |seen| seen.action.entity().as_str());
        let score = match reached {
            "24/1" => 1000,
            open if open.contains(' ') => 500,
            _ => 0,
        };
        Box::pin(async move { Ok(Verdict::new(score, "exact").into()) })
    }
}

/// Whether a search solves a puzzle within so many rounds, and how many nodes it has then.
fn solve(puzzle: &str, c: u64, rounds: u32) -> Result<(bool, usize), Box<dyn std::error::Error>> {
    let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
    let mut case = Case::from_anomalies(Topology::default(), window, Vec::new());
    for state in next(puzzle) {
        case.seeds.push(Seed { entity: EntityId::new(state)?, reason: "one operation".to_owned() });
    }
    let game = || Game(puzzle.to_owned());
    let responder = SearchResponder::new(game(), game()).with_roles(game());
    let config = SearchConfig::lats().with_rounds(rounds).with_branch(100)?.with_depth(3)?;
    let config = config.with_exploration(Exploration::Fixed(c))?.with_accept(1000)?;
    let mut search = SearchController::open(config, case);
    drive(&mut search, &responder)?;
    Ok((search.end() == Some(End::Accepted), search.tree().len()))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut puzzles: Vec<String> = Vec::new();
    for a in 1..=13 {
        for b in a..=13 {
            for c in b..=13 {
                puzzles.extend((c..=13).map(|d| format!("{a}/1 {b}/1 {c}/1 {d}/1")));
            }
        }
    }
    puzzles.retain(|puzzle| solvable(puzzle));
    let drawn: Vec<&String> = puzzles.iter().step_by(puzzles.len() / 100).take(100).collect();
    println!("{} of {} solvable puzzles", drawn.len(), puzzles.len());
    println!("| rounds | C = √2: solved, nodes | C = 0: solved, nodes |\n|---:|---:|---:|");
    for rounds in [1, 3, 10, 30, 100, 300] {
        let mut row = format!("| {rounds} |");
        for c in [SQRT_2, 0] {
            let (mut solved, mut nodes) = (0, 0);
            for puzzle in &drawn {
                let (is_solved, count) = solve(puzzle, c, rounds)?;
                solved += u32::from(is_solved);
                nodes += count;
            }
            row += &format!(" {solved} %, {} |", nodes / drawn.len());
        }
        println!("{row}");
    }
    Ok(())
}
