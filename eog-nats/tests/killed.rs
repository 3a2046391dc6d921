//! A worker that is killed, and nodes that are: on a real cluster of three nodes, which `.ci/nats` starts.
//!
//! Tests stop nodes, so one runs at a time.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use eog::controller::EntryBody;
use eog::journal::JournalError;
use eog::{Case, Config, Engine, Journal};
use eog_nats::{Cluster, NatsError, Options, Part, Queue};
use eog_testkit::{MemoryContext, healthy, policy_fn, seeded, topology};

use support::{as_process, bytes_on, cluster, entries, file_of, id, runtime};

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

/// After which a worker counts as dead.
const SILENCE: Duration = Duration::from_secs(3);
const WORKER: &str = "EOG_NATS_TEST_WORKER";
const NAMES: [&str; 6] = ["a", "b", "c", "d", "e", "f"];

fn case() -> Case {
    seeded(topology(""), NAMES)
}

/// A worker of its own process: takes an investigation from the queue, notes what it asks in a file, and waits at one entity until a file says go.
///
/// No test by itself: the next one starts it with variables that say what to do.
#[test]
fn worker() {
    let Ok(settings) = std::env::var(WORKER) else { return };
    let settings: Vec<&str> = settings.split(' ').collect();
    let [prefix, asked, stop_at] = settings[..] else { panic!("three words are wanted") };
    let (asked, stop_at) = (PathBuf::from(asked), stop_at.to_owned());
    let mut options = Options::new(std::env::var("EOG_NATS_URL").unwrap());
    options.prefix = prefix.to_owned();
    let cluster = Cluster::connect(&options).unwrap();
    // Kept until this process ends, so that the cluster is notified that the work goes on.
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    let task = loop {
        if let Some(task) = queue.take(Duration::from_secs(1)).unwrap() {
            break task;
        }
    };
    assert_eq!((task.id(), task.order()), (&id("run"), b"investigate".as_slice()));
    let medium = cluster.take_over(Part::Ledger, task.id()).unwrap();
    let (journal, recovered) = Journal::on::<EntryBody>(medium).unwrap();
    let policy = policy_fn(move |packet| {
        let mut file = std::fs::File::options().create(true).append(true).open(&asked).unwrap();
        writeln!(file, "{}", packet.entity).unwrap();
        while packet.entity.as_str() == stop_at && !asked.with_extension("go").exists() {
            std::thread::sleep(Duration::from_millis(50));
        }
        healthy(packet)
    });
    let engine = Engine::new(MemoryContext::default(), policy).with_journal(journal);
    let ended = runtime().block_on(async {
        match recovered.ledger.next_seq() {
            0 => engine.investigate(Config::default(), case()).await,
            _ => engine.resume(&recovered.ledger).await.unwrap(),
        }
    });
    assert!(ended.journal_error.is_none(), "{:?}", ended.journal_error);
    task.done().unwrap();
}

fn signal(name: &str, pid: &str) {
    assert!(Command::new("kill").args([name, pid]).status().unwrap().success());
}

/// What an undisturbed run has in its file.
fn undisturbed() -> Vec<u8> {
    let whole = Engine::new(MemoryContext::default(), policy_fn(healthy));
    file_of(runtime().block_on(whole.investigate(Config::default(), case())).ledger().entries())
}

#[test]
fn a_paused_worker_that_wakes_up_after_a_takeover_writes_nothing() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((cluster, options)) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    let asked = folder.path().join("asked");
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    assert!(queue.submit(&id("run"), b"investigate").unwrap());
    let mut paused = start_worker(&options.prefix, &asked, "c");
    until_asked(&mut paused, &asked, "c");
    signal("-STOP", &paused.id().to_string());
    assert!(start_worker(&options.prefix, &asked, "-").wait().unwrap().success());
    std::fs::write(asked.with_extension("go"), "").unwrap();
    signal("-CONT", &paused.id().to_string());
    assert!(!paused.wait().unwrap().success(), "it finds that it was taken over");
    assert_eq!(lines(&asked), ["a", "b", "c", "c", "d", "e", "f"], "and asks nothing more");
    assert_eq!(bytes_on(&cluster.read(Part::Ledger, &id("run")).unwrap()), undisturbed());
}

fn start_worker(prefix: &str, asked: &Path, stop_at: &str) -> Child {
    as_process("worker", WORKER, &format!("{prefix} {} {stop_at}", asked.display()))
}

/// Waits until a worker asks about an entity.
fn until_asked(worker: &mut Child, asked: &Path, entity: &str) {
    while lines(asked).last().map(String::as_str) != Some(entity) {
        assert!(worker.try_wait().unwrap().is_none(), "the worker has ended");
        std::thread::sleep(Duration::from_millis(20));
    }
}

fn lines(path: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    text.lines().map(str::to_owned).collect()
}

#[test]
fn a_killed_worker_is_followed_by_another_without_a_repeated_call() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let Some((cluster, options)) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    let asked = folder.path().join("asked");
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    assert!(queue.submit(&id("run"), b"investigate").unwrap());
    assert!(!queue.submit(&id("run"), b"investigate").unwrap(), "it is there once");
    // Each worker is killed with a call under way; the next one repeats that one alone.
    for stop_at in ["c", "e"] {
        let mut worker = start_worker(&options.prefix, &asked, stop_at);
        until_asked(&mut worker, &asked, stop_at);
        worker.kill().unwrap();
        worker.wait().unwrap();
    }
    assert!(start_worker(&options.prefix, &asked, "-").wait().unwrap().success());
    assert!(queue.take(Duration::from_secs(1)).unwrap().is_none(), "it is done");
    assert_eq!(lines(&asked), ["a", "b", "c", "c", "d", "e", "e", "f"]);

    assert_eq!(bytes_on(&cluster.read(Part::Ledger, &id("run")).unwrap()), undisturbed());
}

/// Nodes of the cluster, by the files that `.ci/nats` made. Those stopped are started again in the end.
struct Nodes {
    folder: PathBuf,
    stopped: Vec<u32>,
    /// Those started again. They outlive the test; `.ci/nats` ends them.
    running: Vec<Child>,
}

impl Nodes {
    /// None where no test made them. A test before this one may just have started some again.
    fn known() -> Option<Self> {
        let folder = std::env::var_os("EOG_NATS_NODES")?.into();
        let nodes = Self { folder, stopped: Vec::new(), running: Vec::new() };
        nodes.wait();
        Some(nodes)
    }

    /// Waits until every node that was not stopped says that it has all that the others have. One that still
    /// reads what it has stored does not vote, and when another ends meanwhile, the third has no majority.
    fn wait(&self) {
        for node in (1..=3).filter(|node| !self.stopped.contains(node)) {
            let conf = std::fs::read_to_string(self.folder.join(format!("{node}.conf"))).unwrap();
            let monitor = conf.lines().find_map(|line| line.strip_prefix("http: ")).unwrap();
            let began = Instant::now();
            while let Err(reason) = healthy_at(monitor) {
                let is_late = began.elapsed() > Duration::from_secs(60);
                assert!(!is_late, "node {node} does not catch up: {reason}");
                std::thread::sleep(Duration::from_millis(50));
            }
        }
    }

    fn kill(&mut self, node: u32) {
        let pid = std::fs::read_to_string(self.folder.join(format!("{node}.pid"))).unwrap();
        signal("-KILL", pid.trim());
        self.stopped.push(node);
    }

    fn start_again(&mut self) {
        for node in self.stopped.drain(..) {
            let file = |ending: &str| self.folder.join(format!("{node}.{ending}"));
            let started = Command::new("nats-server")
                .arg("-c")
                .arg(file("conf"))
                .arg("-l")
                .arg(file("log"))
                .stdout(Stdio::null())
                .stderr(Stdio::null())
                .spawn()
                .unwrap();
            self.running.push(started);
        }
    }
}

/// Why a node is not up to date, by its monitoring.
fn healthy_at(monitor: &str) -> std::io::Result<()> {
    let mut stream = TcpStream::connect(monitor)?;
    stream.set_read_timeout(Some(Duration::from_secs(2)))?;
    stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    match answer.split(' ').nth(1) {
        Some("200") => Ok(()),
        _ => Err(std::io::Error::other(answer)),
    }
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.start_again();
    }
}

#[test]
fn one_node_after_another_is_killed_without_a_loss() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(mut nodes), Some((cluster, _))) = (Nodes::known(), cluster()) else { return };
    let all = entries((0..60).map(|number| format!("e{number}")));
    let medium = cluster.create(Part::Ledger, &id("run")).unwrap();
    let (mut journal, _) = Journal::on::<EntryBody>(medium).unwrap();
    for (number, entry) in all.iter().enumerate() {
        if number % 20 == 10 {
            // The one before may still be catching up, and only one may be missing.
            nodes.wait();
            nodes.kill(1 + number as u32 / 20);
        }
        journal.append(std::slice::from_ref(entry)).unwrap();
        if number % 20 == 18 {
            nodes.start_again();
        }
    }
    let bytes = bytes_on(&cluster.read(Part::Ledger, &id("run")).unwrap());
    assert_eq!(bytes, file_of(&all));
}

#[test]
fn without_a_majority_nothing_is_acknowledged_and_nothing_is_lost() {
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let (Some(mut nodes), Some((cluster, mut options))) = (Nodes::known(), cluster()) else {
        return;
    };
    drop(cluster);
    options.retries = 4;
    options.timeout = Duration::from_secs(1);
    let cluster = Cluster::connect(&options).unwrap();
    let all = entries(["a", "b", "c"]);
    let medium = cluster.create(Part::Ledger, &id("run")).unwrap();
    let (mut journal, _) = Journal::on::<EntryBody>(medium).unwrap();
    journal.append(&all[..2]).unwrap();
    nodes.kill(1);
    nodes.kill(2);
    let error = journal.append(&all[2..3]).unwrap_err();
    let JournalError::NotWritten { source, entries: 2, .. } = &error else { panic!("{error}") };
    let cause = source.get_ref().and_then(|cause| cause.downcast_ref());
    assert!(matches!(cause, Some(NatsError::NoLeader { .. })), "{error}");
    let again = journal.append(&all[2..3]).unwrap_err();
    assert!(matches!(again, JournalError::Poisoned { entries: 2, .. }), "{again}");

    nodes.start_again();
    options.retries = 20;
    let cluster = Cluster::connect(&options).unwrap();
    let medium = cluster.take_over(Part::Ledger, &id("run")).unwrap();
    let (mut journal, recovered) = Journal::on::<EntryBody>(medium).unwrap();
    let known = recovered.ledger.entries().len();
    assert!(known == 2 || known == 3, "what was not acknowledged may be there");
    journal.append(&all[known..]).unwrap();
    assert_eq!(bytes_on(&cluster.read(Part::Ledger, &id("run")).unwrap()), file_of(&all));
}
