//! What a step costs, how it grows with the tree, what a node takes, and how long a restore takes.
//!
//! `cargo bench -p eog-search --bench steps`; with `-- 1000000` up to that many nodes. Where Python has
//! the package `treequest`, its `StandardMCTS` runs beside it on the same free generator.

use std::process::Command;
use std::time::{Duration, Instant};

use eog_core::ledger::restore;
use eog_core::{
    Case, Decision, EntityId, Input, Label, Ledger, LocalContext, Machine, Output, Seed, Timestamp,
    Topology, Usage, Window,
};
use eog_search::{
    Action, Answer, Ask, Backup, Pruning, Role, SearchBody, SearchConfig, SearchController, Stop,
    Verdict,
};

/// Children of a node and length of a path: 6⁸ are 1.7 million leaves.
const CHILDREN: u32 = 6;
const DEPTH: u32 = 8;
/// Entities that nodes evaluate.
const ENTITIES: usize = 64;

struct Generator {
    entities: Vec<EntityId>,
    state: u64,
}

impl Generator {
    fn new() -> Self {
        let name = |number| EntityId::new(format!("service-{number}")).expect("a name");
        Self { entities: (0..ENTITIES).map(name).collect(), state: 1 }
    }

    /// A number below a limit (xorshift, Marsaglia 2003).
    fn draw(&mut self, limit: usize) -> usize {
        self.state ^= self.state << 13;
        self.state ^= self.state >> 7;
        self.state ^= self.state << 17;
        usize::try_from(self.state % limit as u64).expect("small")
    }

    fn answer(&mut self, ask: &Ask) -> Answer {
        match &ask.role {
            Role::Context(_) => Answer::Context(LocalContext::default()),
            Role::Decide(_) => Answer::Decision(Decision::new(Label::Defer, "free")),
            Role::Propose(ask) => {
                let first = self.draw(ENTITIES);
                let on_the_way =
                    |entity: &EntityId| ask.path.iter().any(|seen| seen.action.entity() == entity);
                let next = (0..ENTITIES).map(|at| &self.entities[(first + at) % ENTITIES]);
                let new = next.filter(|entity| !on_the_way(entity)).take(CHILDREN as usize);
                Answer::Actions(new.map(|entity| Action::look(entity.clone(), "free")).collect())
            }
            Role::Act(_) => Answer::Action(None),
            Role::Evaluate(_) => Answer::Verdict(Verdict::new(self.draw(800) as u16, "free")),
            _ => Answer::Reflection("free".to_owned()),
        }
    }
}

fn case() -> Case {
    let start: Timestamp = "2026-01-01T10:00:00Z".parse().expect("a time");
    let end: Timestamp = "2026-01-01T11:00:00Z".parse().expect("a time");
    let mut topology = Topology::default();
    Generator::new().entities.into_iter().for_each(|entity| topology.add_entity(entity));
    let window = Window::new(start, end).expect("in order");
    let mut case = Case::from_anomalies(topology, window, Vec::new());
    let entity = Generator::new().entities.remove(0);
    case.seeds.push(Seed { entity, reason: "free".to_owned() });
    case
}

fn config() -> SearchConfig {
    let lats = SearchConfig::lats().with_branch(CHILDREN).and_then(|lats| lats.with_depth(DEPTH));
    let lats = lats.expect("LATS has both");
    let stop = Stop { accept: 1000, rounds: std::num::NonZeroU32::MAX };
    let (selection, expansion, evaluation) =
        (lats.selection(), lats.expansion(), lats.evaluation());
    SearchConfig::new(selection, expansion, evaluation, Backup::Mean, Pruning::None, stop)
        .expect("they fit")
}

/// Goes on until the tree has so many nodes.
fn grow(search: &mut SearchController, generator: &mut Generator, nodes: usize) {
    while search.tree().len() < nodes {
        let input = match search.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question } => {
                Input::Answer(ticket, generator.answer(&question), Usage::default())
            }
            Output::Done(_) | Output::Idle => return,
        };
        search.handle(input).expect("it fits");
    }
}

/// What the process holds in memory, in bytes, where the system says so.
fn resident() -> Option<u64> {
    let statm = std::fs::read_to_string("/proc/self/statm").ok()?;
    let pages: u64 = statm.split(' ').nth(1)?.parse().ok()?;
    Some(pages * 4096)
}

fn main() {
    let most = std::env::args().filter_map(|text| text.parse().ok()).next_back().unwrap_or(100_000);
    println!("| nodes | entries | µs an entry | µs a node | bytes a node, with its entries |");
    println!("|---:|---:|---:|---:|---:|");
    let mut costs = Vec::new();
    let mut size = 1_000;
    while size <= most {
        let before = resident();
        let (mut search, mut generator) =
            (SearchController::open(config(), case()), Generator::new());
        grow(&mut search, &mut generator, size);
        let held = resident().zip(before).map(|(now, before)| now.saturating_sub(before));
        // The next thousand nodes at this size.
        let (nodes, entries) = (search.tree().len(), search.ledger().next_seq());
        let begun = Instant::now();
        grow(&mut search, &mut generator, size + 1_000);
        let took = begun.elapsed();
        let (nodes, steps) =
            ((search.tree().len() - nodes) as f64, (search.ledger().next_seq() - entries) as f64);
        let cost = took.as_secs_f64() * 1e6 / steps;
        costs.push(cost);
        println!(
            "| {size} | {entries} | {cost:.1} | {:.1} | {} |",
            took.as_secs_f64() * 1e6 / nodes,
            held.map_or("unknown".to_owned(), |held| (held / size as u64).to_string()),
        );
        size *= 10;
    }
    if let (Some(first), Some(last)) = (costs.first(), costs.last()) {
        println!("\nlargest against smallest: {:.2} times", last / first);
    }
    restored();
    beside_treequest();
}

fn fastest(times: u32, mut run: impl FnMut()) -> Duration {
    let timed = (0..times).map(|_| {
        let begun = Instant::now();
        run();
        begun.elapsed()
    });
    timed.min().unwrap_or_default()
}

fn restored() {
    let (mut search, mut generator) = (SearchController::open(config(), case()), Generator::new());
    grow(&mut search, &mut generator, 5_000);
    let lines = search.ledger().to_json_lines();
    let parse = fastest(5, || {
        Ledger::<SearchBody>::from_json_lines(&lines).expect("it was just written");
    });
    let again = fastest(5, || {
        restore(search.ledger()).expect("it follows");
    });
    println!(
        "restore of {} entries: {:.1} ms; parsing them: {:.1} ms; {:.2} times",
        search.ledger().next_seq(),
        again.as_secs_f64() * 1e3,
        parse.as_secs_f64() * 1e3,
        again.as_secs_f64() / parse.as_secs_f64()
    );
}

/// One process each: a node with its score, ours with entry and digest.
fn beside_treequest() {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/benches/treequest_steps.py");
    let ours = |nodes: usize| {
        let took = fastest(3, || {
            let (mut search, mut generator) =
                (SearchController::open(config(), case()), Generator::new());
            grow(&mut search, &mut generator, nodes);
        });
        took.as_secs_f64() * 1e6 / nodes as f64
    };
    for nodes in [300, 1_000, 3_000] {
        let output = Command::new("python3").arg(script).arg(nodes.to_string()).output();
        let theirs = output.ok().filter(|output| output.status.success());
        let theirs = theirs.map(|output| String::from_utf8_lossy(&output.stdout).trim().to_owned());
        let theirs = theirs.unwrap_or_else(|| "skipped, no python3 with treequest".to_owned());
        println!("{nodes} nodes: {:.1} µs a node; TreeQuest StandardMCTS: {theirs}", ours(nodes));
    }
}
