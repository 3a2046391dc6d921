//! The drill: many investigations by a language model, over several workers, while workers and one node at a
//! time are killed at random. Every one ends with the ledger of an undisturbed run; no call whose answer was
//! stored is made again; no two workers go on with the same one.
//!
//! `EOG_DRILL=300 EOG_DRILL_WORKERS=6 .ci/nats --drill` runs it whole; by default it is a sample.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rand::rngs::ChaCha8Rng;
use rand::{RngExt as _, SeedableRng as _};
use serde_json::Value;

use crate::lab::{Lab, flash_sale};
use crate::nodes::Nodes;
use crate::reader::{Start, read};
use crate::server::{Asked, FIRST_NUMBER, Reply, Server};

/// How long the model takes for an answer to a worker.
const THOUGHT: Duration = Duration::from_millis(100);

fn number(name: &str, usual: usize) -> usize {
    std::env::var(name).ok().and_then(|text| text.parse().ok()).unwrap_or(usual)
}

/// The entities of the example.
const NAMES: [&str; 7] =
    ["frontend", "gateway", "processor", "database", "search", "catalog", "mailer"];

/// Incidents that differ in the names of their entities, some of which stand in every prompt.
fn incidents(lab: &Lab, count: usize) -> Vec<PathBuf> {
    (0..count)
        .map(|number| {
            let folder = lab.path(&format!("case-{number:03}"));
            std::fs::create_dir(&folder).unwrap();
            for file in flash_sale().read_dir().unwrap() {
                let file = file.unwrap();
                let text = std::fs::read_to_string(file.path()).unwrap();
                let text = NAMES
                    .iter()
                    .fold(text, |text, name| text.replace(name, &format!("{name}-{number:03}")));
                std::fs::write(folder.join(file.file_name()), text).unwrap();
            }
            folder
        })
        .collect()
}

/// The incident that a request is about.
fn mark(asked: &Asked) -> String {
    let question = asked.question();
    let after = NAMES.iter().find_map(|name| question.split_once(&format!("{name}-")));
    let (_, rest) = after.unwrap_or_else(|| panic!("a prompt without an entity: {question}"));
    rest.chars().take(3).collect()
}

/// The process that asks: each has a key of its own.
fn who(asked: &Asked) -> String {
    let line = asked.head.lines().find(|line| line.to_lowercase().starts_with("authorization:"));
    line.unwrap().rsplit(' ').next().unwrap().to_owned()
}

const LOCAL: &str = "undisturbed";

fn settings(server: &Server) -> String {
    format!(
        "policy = \"llm\"\nfinalize = \"model\"\n[llm]\nmodel = \"openai/test\"\n\
         [llm.models.\"openai/test\"]\nbase_url = \"{}\"\n\
         capabilities = {{ tokenizer = \"gpt2\" }}\n",
        server.url
    )
}

/// Every third investigation is one of a baseline.
fn controller(number: usize) -> &'static str {
    if number % 3 == 2 { "linear" } else { "eog" }
}

/// Runs something for all numbers, two at a time.
fn each(count: usize, what: impl Fn(usize) + Sync) {
    let next = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return;
                    }
                    what(number);
                }
            });
        }
    });
}

/// Which process asks for which investigation at this moment.
#[derive(Default)]
struct Watch {
    /// Those whose answer is under way, by incident.
    active: Mutex<BTreeMap<String, Vec<String>>>,
    dead: Mutex<BTreeSet<String>>,
    /// An incident, the process that was asking for it and is alive, and the one that asked beside it.
    overlaps: Mutex<Vec<(String, String, String)>>,
}

impl Watch {
    fn begin(&self, mark: &str, who: &str) {
        let mut active = self.active.lock().unwrap();
        let others = active.entry(mark.to_owned()).or_default();
        let dead = self.dead.lock().unwrap();
        for other in others.iter().filter(|other| *other != who && !dead.contains(*other)) {
            let overlap = (mark.to_owned(), other.clone(), who.to_owned());
            self.overlaps.lock().unwrap().push(overlap);
        }
        others.push(who.to_owned());
    }

    fn end(&self, mark: &str, who: &str) {
        let mut active = self.active.lock().unwrap();
        let others = active.get_mut(mark).unwrap();
        let place = others.iter().position(|other| other == who).unwrap();
        others.swap_remove(place);
    }
}

/// A worker that is started again whenever it dies.
struct Slot {
    watch: Arc<Watch>,
    number: usize,
    life: usize,
    process: Option<Child>,
}

impl Slot {
    fn key(&self) -> String {
        format!("w{}-{}", self.number, self.life)
    }

    fn start(&mut self, lab: &Lab) {
        self.life += 1;
        let log = lab.path(&format!("worker-{}.log", self.number));
        let log = std::fs::File::options().create(true).append(true).open(log).unwrap();
        let mut eog = lab.eog(&["worker"]);
        eog.env("OPENAI_API_KEY", self.key()).stdout(Stdio::null()).stderr(log);
        self.process = Some(eog.spawn().unwrap());
    }

    fn kill(&mut self) {
        if let Some(mut process) = self.process.take() {
            self.watch.dead.lock().unwrap().insert(self.key());
            process.kill().unwrap();
            process.wait().unwrap();
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.kill();
    }
}

/// What was done to the system.
#[derive(Debug, Default)]
struct Harm {
    workers: usize,
    nodes: usize,
}

#[test]
fn investigations_outlive_workers_and_nodes() {
    let count = number("EOG_DRILL", 12);
    let workers = number("EOG_DRILL_WORKERS", 3);
    let seed = number("EOG_DRILL_SEED", 21) as u64;
    let (Some(lab), Some(mut nodes)) = (Lab::new(), Nodes::known()) else { return };
    let watch: Arc<Watch> = Arc::default();
    let watching = Arc::clone(&watch);
    let server = Arc::new(Server::start(move |asked| {
        let (mark, who) = (mark(asked), who(asked));
        if who != LOCAL {
            watching.begin(&mark, &who);
            std::thread::sleep(THOUGHT);
            watching.end(&mark, &who);
        }
        match read(asked, Start::Alerts) {
            Reply::Answer(text) => Reply::Numbered(text),
            other => other,
        }
    }));
    std::fs::write(lab.path("eog.toml"), settings(&server)).unwrap();
    let folders = incidents(&lab, count);

    let undisturbed: Mutex<BTreeMap<usize, Vec<u8>>> = Mutex::default();
    each(count, |number| {
        let journal = lab.path(&format!("local-{number:03}"));
        let path = folders[number].to_str().unwrap();
        let file = journal.to_str().unwrap();
        let fixed = ["investigate", path, "--journal", file, "--controller", controller(number)];
        let run = crate::lab::run(lab.eog(&fixed).env("OPENAI_API_KEY", LOCAL));
        assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
        undisturbed.lock().unwrap().insert(number, std::fs::read(&journal).unwrap());
    });
    let undisturbed = undisturbed.into_inner().unwrap();
    let calls_undisturbed = server.take().len();

    // The first makes the streams.
    submit(&lab, &folders[0], 0);
    each(count - 1, |number| submit(&lab, &folders[number + 1], number + 1));

    let began = Instant::now();
    let is_over = AtomicBool::new(false);
    let slot = |number| Slot { watch: Arc::clone(&watch), number, life: 0, process: None };
    let mut slots: Vec<Slot> = (0..workers).map(slot).collect();
    for slot in &mut slots {
        slot.start(&lab);
    }
    let mut harm = Harm::default();
    std::thread::scope(|scope| {
        let nodes_killed = scope.spawn(|| {
            let mut random = ChaCha8Rng::seed_from_u64(seed);
            let mut killed = 0;
            pause(&is_over, Duration::from_secs(4));
            while !is_over.load(Ordering::Relaxed) {
                let node = random.random_range(1..=3);
                nodes.kill(node);
                killed += 1;
                pause(&is_over, Duration::from_millis(random.random_range(1_000..4_000)));
                nodes.start_again();
                // One at a time: the next one only when this one has all that the others have.
                nodes.wait(node);
                pause(&is_over, Duration::from_millis(random.random_range(3_000..8_000)));
            }
            killed
        });
        let mut random = ChaCha8Rng::seed_from_u64(seed + 1);
        let mut counted = Instant::now();
        loop {
            std::thread::sleep(Duration::from_millis(random.random_range(300..1_500)));
            let slot = random.random_range(0..slots.len());
            slots[slot].kill();
            harm.workers += 1;
            slots[slot].start(&lab);
            if counted.elapsed() > Duration::from_secs(3) {
                counted = Instant::now();
                let ended = ended(&lab);
                if ended == count {
                    break;
                }
                assert!(
                    began.elapsed() < Duration::from_secs(60 + 10 * count as u64),
                    "{ended} of {count} have ended"
                );
            }
        }
        is_over.store(true, Ordering::Relaxed);
        harm.nodes = nodes_killed.join().unwrap();
    });
    let took = began.elapsed();
    drop(slots);

    let seen = server.take();
    let figures = check(&lab, &undisturbed, &seen);
    // A worker that lives and was taken over, as while a node is down, has one call under way at most.
    let mut overlaps = std::mem::take(&mut *watch.overlaps.lock().unwrap());
    let beside = overlaps.len();
    overlaps.sort();
    overlaps.dedup();
    assert_eq!(overlaps.len(), beside, "two go on at once: {overlaps:?}");
    println!(
        "drill: {count} investigations over {workers} workers in {:.0} s; kill -9 of {} workers and {} \
         nodes; {} ledgers equal to undisturbed runs; {} model calls stored, {} asked again without a \
         stored answer ({calls_undisturbed} calls undisturbed), {beside} of them beside that of a live worker \
         that was taken over; {} entries",
        took.as_secs_f64(),
        harm.workers,
        harm.nodes,
        undisturbed.len(),
        figures.stored,
        figures.again,
        figures.entries,
    );
    assert!(figures.again <= harm.workers + harm.nodes * workers, "more than what was under way");
}

fn submit(lab: &Lab, folder: &Path, number: usize) {
    let id = format!("case-{number:03}");
    let path = folder.to_str().unwrap();
    lab.done(&[
        "submit",
        path,
        "--id",
        &id,
        "--nats-silence",
        "4",
        "--controller",
        controller(number),
    ]);
}

/// How many have ended. A node may be down at this moment.
fn ended(lab: &Lab) -> usize {
    let run = lab.run(&["list", "--format", "json"]);
    let all: Value = serde_json::from_str(&run.out).unwrap_or_default();
    let all = all.as_array().cloned().unwrap_or_default();
    let failed = all.iter().find(|one| one["status"] == "failed");
    assert!(failed.is_none(), "{failed:?}");
    all.iter().filter(|one| one["status"] == "finished").count()
}

fn pause(is_over: &AtomicBool, most: Duration) {
    let end = Instant::now() + most;
    while !is_over.load(Ordering::Relaxed) && Instant::now() < end {
        std::thread::sleep(Duration::from_millis(100));
    }
}

#[derive(Default)]
struct Figures {
    stored: usize,
    again: usize,
    entries: usize,
}

/// Every ledger is that of an undisturbed run. Of each question the answer that is stored is the last one
/// that was given: none was asked again once its answer was stored.
fn check(lab: &Lab, undisturbed: &BTreeMap<usize, Vec<u8>>, seen: &[Asked]) -> Figures {
    let mut figures = Figures::default();
    for (number, expected) in undisturbed {
        let id = format!("case-{number:03}");
        let (journal, side) = lab.fetch(&id);
        assert!(journal == *expected, "{id}: another ledger than that of an undisturbed run");
        let ledger = lab.path(&format!("fetched-{id}/ledger.jsonl"));
        figures.entries += std::fs::read_to_string(ledger).unwrap().lines().count();

        let asked: Vec<&Asked> =
            seen.iter().filter(|asked| mark(asked) == id["case-".len()..]).collect();
        let stored = stored(&side);
        figures.stored += stored.len();
        let mut by_question: BTreeMap<String, Vec<usize>> = BTreeMap::new();
        for asked in &asked {
            by_question.entry(asked.body.to_string()).or_default().push(asked.at);
        }
        assert_eq!(by_question.len(), stored.len(), "{id}: of every question one answer is stored");
        for places in by_question.values() {
            let kept: Vec<usize> =
                places.iter().copied().filter(|place| stored.contains(place)).collect();
            assert_eq!(kept, [places[places.len() - 1]], "{id}: asked again after {kept:?}");
            figures.again += places.len() - 1;
        }
    }
    figures
}

/// The places of the requests whose answers are stored.
fn stored(side: &str) -> BTreeSet<usize> {
    let records = side.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let tokens = records.filter_map(|record| find(&record, "tokens_in"));
    let places = tokens.filter_map(|tokens| (tokens as usize).checked_sub(FIRST_NUMBER));
    places.collect()
}

/// The input tokens of a stored answer of a model.
fn find(record: &Value, name: &str) -> Option<u64> {
    let outside = record.get("outside").unwrap_or(record);
    let kind = outside["name"].as_str()?;
    kind.starts_with("chat ").then(|| outside["usage"][name].as_u64()).flatten()
}
