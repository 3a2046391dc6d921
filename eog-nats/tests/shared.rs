//! What all workers share, on a real cluster of three nodes, which `.ci/nats` starts: the memory of decisions,
//! what may be spent, and how investigations stand.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use async_nats::jetstream::{self, kv};
use eog::purse::{Purse, PurseError};
use eog::{Budget, BudgetKind, Decision, DecisionMemory, Label, Remembering, Usage};
use eog_nats::{Cluster, NatsError, Options, Register, SharedPurse};
use eog_testkit::{Recorder, ask, healthy, packet, policy_fn};

use support::{as_process, cluster, id, runtime};

/// A bucket of values, behind the back of the program.
fn with_bucket<T>(
    options: &Options,
    bucket: &str,
    what: impl AsyncFnOnce(jetstream::Context, kv::Store) -> T,
) -> T {
    let addresses: Vec<String> = options.url.split(',').map(str::to_owned).collect();
    let name = format!("{}-{bucket}", options.prefix);
    runtime().block_on(async {
        for _ in 0..10 {
            // A busy machine may take its time.
            let Ok(client) = async_nats::connect(addresses.clone()).await else { continue };
            let context = jetstream::new(client);
            if let Ok(store) = context.get_key_value(name.clone()).await {
                return what(context, store).await;
            }
        }
        panic!("the bucket {name} cannot be reached")
    })
}

async fn keys(store: &kv::Store) -> Vec<String> {
    use futures_util::TryStreamExt;
    let mut keys: Vec<String> = store.keys().await.unwrap().try_collect().await.unwrap();
    keys.sort_unstable();
    keys
}

#[test]
fn what_one_worker_asked_no_other_asks_again() {
    let Some((cluster, options)) = cluster() else { return };
    let asked = Recorder::new(policy_fn(healthy));
    let first = Remembering::new(&asked, DecisionMemory::on(cluster.decisions()), "judge 1");
    let question = packet("../db > *.é").build();
    let answer = ask(&first, &question).unwrap();
    assert!(!answer.remembered);

    // Another worker, which would make no calls.
    let other = Cluster::connect(&options).unwrap();
    let memory = DecisionMemory::on(other.decisions());
    let never = policy_fn(|_| panic!("a known decision is not asked for"));
    let again = ask(&Remembering::new(never, memory.clone(), "judge 1"), &question).unwrap();
    assert!(again.remembered);
    assert_eq!(again.decision, answer.decision);
    assert_eq!((memory.figures().hits, memory.figures().damaged), (1, 0));
    // Another judge is another question.
    let second = Remembering::new(&asked, memory, "judge 2");
    assert!(!ask(&second, &question).unwrap().remembered);
    assert_eq!(asked.asked().len(), 2);

    // The bytes and the name are those of a file.
    let folder = tempfile::tempdir().unwrap();
    let files = DecisionMemory::open(folder.path().join("memory")).unwrap();
    ask(&Remembering::new(policy_fn(healthy), files.clone(), "judge 1"), &question).unwrap();
    let mut path = files.path().to_owned();
    while path.is_dir() {
        let inside = std::fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path());
        path = inside.filter(|path| !path.ends_with(".tmp")).max().unwrap();
    }
    let parts: Vec<_> = path
        .strip_prefix(files.path())
        .unwrap()
        .iter()
        .map(|part| part.to_str().unwrap())
        .collect();
    let key = format!("{}.{}", parts[0], parts[2].strip_suffix(".json").unwrap());
    let value = with_bucket(&options, "memory", async |_, store| store.get(key).await.unwrap());
    assert_eq!(value.unwrap(), std::fs::read(&path).unwrap());
}

#[test]
fn damaged_and_foreign_decisions_are_not_used_and_said() {
    let Some((cluster, options)) = cluster() else { return };
    let asked = Recorder::new(policy_fn(healthy));
    let judge = |memory: &DecisionMemory| Remembering::new(&asked, memory.clone(), "judge");
    let (db, web) = (packet("db").build(), packet("web").build());
    let memory = DecisionMemory::on(cluster.decisions());
    ask(&judge(&memory), &db).unwrap();
    let (key, value) = with_bucket(&options, "memory", async |_, store| {
        let key = keys(&store).await.remove(0);
        let value = store.get(key.clone()).await.unwrap().unwrap();
        (key, String::from_utf8(value.to_vec()).unwrap())
    });
    ask(&judge(&memory), &web).unwrap();
    let mut other = with_bucket(&options, "memory", async |_, store| {
        let keys = keys(&store).await;
        let other = keys.iter().find(|one| **one != key).unwrap().clone();
        String::from_utf8(store.get(other).await.unwrap().unwrap().to_vec()).unwrap()
    });
    let swapped = std::mem::take(&mut other);
    for (planted, said) in [
        ("\u{0}\u{1} no JSON".to_owned(), "it is no decision of format 1: "),
        (value.replace("\"format\": 1", "\"format\": 2"), "has format 2, and this program uses 1"),
        (value.replace("Healthy", "healthY").replace("healthy", "Healthy"), "not used: it "),
        (value.replace("\"model_calls\": 0", "\"model_calls\": 1"), "was changed after"),
        (swapped, "it answers another question"),
        ("block none".to_owned(), "a block is a digest and a length"),
        (format!("block {} 99", "0".repeat(64)), "is gone"),
        (format!("block {} 99999999999", "0".repeat(64)), "it would have 99999999999 bytes"),
    ] {
        if planted == value {
            continue;
        }
        with_bucket(&options, "memory", async |_, store| {
            store.put(&key, planted.clone().into()).await.unwrap();
        });
        let memory = DecisionMemory::on(cluster.decisions());
        let before = asked.asked().len();
        assert!(!ask(&judge(&memory), &db).unwrap().remembered, "{planted}");
        assert_eq!(asked.asked().len(), before + 1);
        let damage = memory.first_damage().unwrap();
        assert!(damage.contains(said), "{damage}");
        assert_eq!(memory.figures().damaged, 1);
        // It is replaced.
        assert!(ask(&judge(&memory), &db).unwrap().remembered);
    }
    // After a value is removed, the question is asked again, and nothing is wrong.
    with_bucket(&options, "memory", async |_, store| store.delete(&key).await.unwrap());
    let memory = DecisionMemory::on(cluster.decisions());
    assert!(!ask(&judge(&memory), &db).unwrap().remembered);
    assert_eq!(memory.figures().damaged, 0);
}

#[test]
fn a_long_decision_stands_in_a_block() {
    let Some((cluster, options)) = cluster() else { return };
    let long = "word ".repeat(400_000);
    let said = long.clone();
    let judge = policy_fn(move |_| Decision::new(Label::Healthy, said.clone()));
    let memory = DecisionMemory::on(cluster.decisions());
    let question = packet("db").build();
    ask(&Remembering::new(judge, memory.clone(), "judge"), &question).unwrap();
    assert_eq!(memory.first_write_error(), None);
    let value = with_bucket(&options, "memory", async |_, store| {
        let key = keys(&store).await.remove(0);
        store.get(key).await.unwrap().unwrap()
    });
    assert!(value.starts_with(b"block ") && value.len() < 100);

    let other = DecisionMemory::on(Cluster::connect(&options).unwrap().decisions());
    let never = policy_fn(|_| panic!("a known decision is not asked for"));
    let known = ask(&Remembering::new(never, other, "judge"), &question).unwrap();
    assert!(known.remembered);
    assert_eq!(known.decision.summary, long);
}

#[test]
fn buckets_of_another_version_or_that_forget_are_refused() {
    let Some((_, options)) = cluster() else { return };
    let change = |bucket: &str, edit: fn(&mut jetstream::stream::Config)| {
        with_bucket(&options, bucket, async |context, store| {
            let mut config = store.stream.cached_info().config.clone();
            edit(&mut config);
            context.update_stream(config).await.unwrap();
        });
    };
    change("spending", |config| config.max_age = Duration::from_secs(86_400));
    let error = Cluster::connect(&options).unwrap_err().to_string();
    assert!(error.ends_with("its setting max_age would lose spending"), "{error}");
    change("spending", |config| {
        config.max_age = Duration::ZERO;
        config.max_bytes = 20_000;
    });
    let error = Cluster::connect(&options).unwrap_err().to_string();
    assert!(error.ends_with("its setting max_bytes would lose spending"), "{error}");
    change("spending", |config| config.max_bytes = -1);
    change("memory", |config| config.description = Some("eog decisions, format 9".into()));
    let error = Cluster::connect(&options).unwrap_err();
    let NatsError::OtherVersion { stream, wanted, .. } = &error else { panic!("{error}") };
    assert_eq!(*stream, format!("KV_{}-memory", options.prefix));
    assert_eq!(*wanted, "eog decisions, format 1");
}

/// Of calls, and of tokens, which are used up first by the large ones.
const BUDGET: Budget =
    Budget { hops: None, model_calls: Some(60), tokens: Some(3_000), cost_micro_usd: None };

fn usage(tokens_in: u64) -> Usage {
    Usage { model_calls: 1, tokens_in, ..Usage::default() }
}

/// An account, as workers see it.
trait Spends {
    fn begin(&self, most: Usage) -> Result<(), PurseError>;
    fn end(&self, taken: Usage, used: Usage);
}

impl Spends for SharedPurse {
    fn begin(&self, most: Usage) -> Result<(), PurseError> {
        runtime().block_on(Purse::take(self, most))
    }

    fn end(&self, taken: Usage, used: Usage) {
        runtime().block_on(Purse::settle(self, taken, used)).unwrap();
    }
}

/// What an account must not be: it reads the sum, and writes another one.
struct Naive(Options);

impl Naive {
    fn change(&self, change: impl Fn(u64) -> Option<u64>) -> bool {
        with_bucket(&self.0, "memory", async |_, store| {
            let sum = store.get("sum").await.unwrap();
            let sum = sum.map_or(0, |sum| String::from_utf8_lossy(&sum).parse().unwrap());
            let Some(sum) = change(sum) else { return false };
            store.put("sum", sum.to_string().into()).await.unwrap();
            true
        })
    }
}

impl Spends for Naive {
    fn begin(&self, most: Usage) -> Result<(), PurseError> {
        match self.change(|sum| Some(sum + most.tokens_in).filter(|sum| *sum <= 3_000)) {
            true => Ok(()),
            false => Err(PurseError::Unreachable(String::new())),
        }
    }

    fn end(&self, taken: Usage, used: Usage) {
        self.change(|sum| Some(sum.saturating_sub(taken.tokens_in) + used.tokens_in));
    }
}

/// Several at once make calls until no more are allowed. Every third call never ends. What was spent in truth.
fn spend_at_once<S: Spends + Sync>(workers: &[S]) -> Usage {
    let (start, calls, tokens) =
        (Barrier::new(2 * workers.len()), AtomicU64::new(0), AtomicU64::new(0));
    let work = |worker: &S| {
        start.wait();
        for number in 0.. {
            let most = usage(40 + 7 * (number % 5));
            if worker.begin(most).is_err() {
                return;
            }
            calls.fetch_add(1, Ordering::Relaxed);
            let used = if number % 3 == 2 { most } else { usage(most.tokens_in / 2) };
            tokens.fetch_add(used.tokens_in, Ordering::Relaxed);
            if used != most {
                worker.end(most, used);
            }
        }
    };
    std::thread::scope(|scope| {
        for worker in workers {
            scope.spawn(|| work(worker));
            scope.spawn(|| work(worker));
        }
    });
    let (model_calls, tokens_in) = (calls.into_inner(), tokens.into_inner());
    Usage { model_calls, tokens_in, ..Usage::default() }
}

fn holds(spent: Usage) -> bool {
    spent.model_calls <= 60 && spent.tokens_in <= 3_000
}

#[test]
fn eight_at_once_never_spend_more_than_the_budget() {
    let Some((_, options)) = cluster() else { return };
    let connect = || Cluster::connect(&options).unwrap().purse(&id("all"), BUDGET);
    let workers = [connect(), connect(), connect(), connect()];
    let spent = spend_at_once(&workers);
    assert!(holds(spent), "{spent:?}");
    let found = connect().spending().unwrap();
    assert_eq!(found.total, spent, "what was taken and not settled counts in full");
    assert!(found.open_calls > 3 && found.open.model_calls == found.open_calls, "{found:?}");
    let Err(PurseError::Short(short)) = workers[0].begin(usage(1_000)) else {
        panic!("it is spent")
    };
    assert!(matches!(short.kind, BudgetKind::ModelCalls | BudgetKind::Tokens), "{short:?}");
    // Another account has a budget of its own.
    let other = Cluster::connect(&options).unwrap().purse(&id("tomorrow"), BUDGET);
    other.begin(usage(1_000)).unwrap();
}

/// A check that finds nothing proves nothing.
#[test]
fn an_account_without_a_condition_is_found_to_overspend() {
    let Some((_, options)) = cluster() else { return };
    let workers: Vec<Naive> = (0..4).map(|_| Naive(options.clone())).collect();
    let found = (0..5).any(|_| {
        with_bucket(&options, "memory", async |_, store| store.purge("sum").await.unwrap());
        !holds(spend_at_once(&workers))
    });
    assert!(found, "the same check finds nothing where nothing is checked");
}

const SPENDER: &str = "EOG_NATS_TEST_SPENDER";

/// Makes calls until no more are allowed, and says of each in a file that it begins, before it does.
///
/// No test by itself: the next one starts it with variables that say what to do.
#[test]
fn spender() {
    let Ok(settings) = std::env::var(SPENDER) else { return };
    let (prefix, begun) = settings.split_once(' ').unwrap();
    let mut options = Options::new(std::env::var("EOG_NATS_URL").unwrap());
    options.prefix = prefix.to_owned();
    let purse = Cluster::connect(&options).unwrap().purse(&id("all"), BUDGET);
    let mut file = std::fs::File::options().create(true).append(true).open(begun).unwrap();
    loop {
        match purse.begin(usage(50)) {
            Ok(()) => writeln!(file, "50").unwrap(),
            Err(PurseError::Short(_)) => return,
            Err(error) => panic!("{error}"),
        }
        // What it used is known when it ends.
        std::thread::sleep(Duration::from_millis(20));
        purse.end(usage(50), usage(45));
        writeln!(file, "-5").unwrap();
    }
}

fn start_spender(prefix: &str, begun: &Path) -> Child {
    as_process("spender", SPENDER, &format!("{prefix} {}", begun.display()))
}

#[test]
fn killed_workers_leave_their_calls_spent_and_no_more() {
    let Some((cluster, options)) = cluster() else { return };
    let folder = tempfile::tempdir().unwrap();
    let file = |number: usize| -> PathBuf { folder.path().join(number.to_string()) };
    let mut spenders: Vec<Child> =
        (0..3).map(|number| start_spender(&options.prefix, &file(number))).collect();
    let lines = |number: usize| {
        let text = std::fs::read_to_string(file(number)).unwrap_or_default();
        text.lines().map(|line| line.parse::<i64>().unwrap_or_default()).collect::<Vec<_>>()
    };
    // Killed with calls under way, and followed.
    while lines(0).len() < 8 {
        assert!(spenders[0].try_wait().unwrap().is_none(), "it has ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    spenders[0].kill().unwrap();
    spenders[0].wait().unwrap();
    spenders[0] = start_spender(&options.prefix, &file(3));
    for spender in &mut spenders {
        assert!(spender.wait().unwrap().success());
    }
    let all: Vec<i64> = (0..4).flat_map(lines).collect();
    let (calls, tokens) = (all.iter().filter(|line| **line == 50).count(), all.iter().sum::<i64>());
    let truth = usage(u64::try_from(tokens).unwrap());
    let truth = Usage { model_calls: calls as u64, ..truth };
    assert!(holds(truth), "{truth:?}");
    let found = cluster.purse(&id("all"), BUDGET).spending().unwrap();
    // The killed process may have taken or settled a call without having said so.
    let unsaid = found.total.model_calls - truth.model_calls;
    assert!(unsaid <= 1 && holds(found.total), "{found:?} and {truth:?}");
    assert!(found.total.tokens_in + 5 >= truth.tokens_in, "{found:?} and {truth:?}");
    assert!(found.open_calls <= 1, "{found:?}");
    assert!(truth.model_calls > 50, "they spend what they may: {truth:?}");
}

#[test]
fn an_account_that_was_removed_allows_nothing() {
    let Some((cluster, options)) = cluster() else { return };
    let purse = cluster.purse(&id("all"), BUDGET);
    purse.begin(usage(10)).unwrap();
    with_bucket(&options, "spending", async |_, store| store.delete("all").await.unwrap());
    let error = purse.begin(usage(10)).unwrap_err().to_string();
    assert!(error.contains("it has no header Eog-After"), "{error}");
}

#[test]
fn how_one_stands_is_not_said_over_what_was_said_meanwhile() {
    let Some((cluster, _)) = cluster() else { return };
    let register = Register::prepare(&cluster, 3).unwrap();
    let run = id("run");
    assert_eq!(register.standing(&run).unwrap(), None);
    assert!(register.set_state_after(&run, 0, b"waits").unwrap());
    assert!(!register.set_state_after(&run, 0, b"waits again").unwrap());
    let before = register.standing(&run).unwrap().unwrap();
    assert_eq!(&before.bytes[..], b"waits");
    // A worker is faster.
    register.set_state(&run, b"ended").unwrap();
    assert!(!register.set_state_after(&run, before.sequence, b"goes on").unwrap());
    assert_eq!(register.state(&run).unwrap().as_deref(), Some(&b"ended"[..]));
    let before = register.standing(&run).unwrap().unwrap();
    assert!(register.set_state_after(&run, before.sequence, b"goes on").unwrap());
}
