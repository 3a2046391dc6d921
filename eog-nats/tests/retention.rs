//! Removing investigations, on a real cluster of three nodes, which `.ci/nats` starts.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::time::{Duration, Instant, SystemTime};

use async_nats::jetstream::{self, stream};
use eog::Journal;
use eog::controller::EntryBody;
use eog::journal::Checkpoints;
use eog::side::{Durability, SideFile, SideRecord};
use eog_nats::{CheckpointObject, Cluster, NatsError, Options, Part, Queue, Retention};

use support::{as_process, behind, bytes_on, cluster, entries, file_of, id};

const SILENCE: Duration = Duration::from_secs(3);

/// Removes all that has ended.
fn all() -> Retention {
    Retention { max_age: Some(Duration::ZERO), ..Retention::default() }
}

/// Later than anything was written.
fn later() -> SystemTime {
    SystemTime::now() + Duration::from_secs(86_400)
}

/// Everything that there can be of an investigation, with blocks.
fn written(cluster: &Cluster, name: &str) {
    // Each more than a record holds.
    let words = entries((0..2 * 2_500).map(|number| format!("{name}-entity-{number}")));
    let medium = cluster.create(Part::Ledger, &id(name)).unwrap();
    let (mut journal, _) = Journal::on::<EntryBody>(medium).unwrap();
    for group in words.chunks(2_500) {
        journal.append(group).unwrap();
    }
    let (mut side, _) = SideFile::on(cluster.take_over(Part::Side, &id(name)).unwrap()).unwrap();
    let record = SideRecord::Wasted { calls: 2, usage: eog::Usage::default() };
    side.append(&[record], Durability::Synced).unwrap();
    // One attempt each, which a busy machine may miss.
    let mut place = CheckpointObject::of(cluster, &id(name));
    let stored = (0..10).any(|_| place.write(&vec![7; 300_000]).is_ok());
    assert!(stored, "a checkpoint cannot be stored");
}

/// How many messages there are of an installation, by stream.
fn left(options: &Options) -> Vec<(String, u64)> {
    behind(options, async |context| {
        let mut left = Vec::new();
        for name in ["-ledgers", "-work"].map(|end| format!("{}{end}", options.prefix)) {
            left.push((name.clone(), count(&context, &name).await));
        }
        for name in ["-blocks", "-checkpoints"].map(|end| format!("OBJ_{}{end}", options.prefix)) {
            left.push((name.clone(), count(&context, &name).await));
        }
        left
    })
}

async fn count(context: &jetstream::Context, name: &str) -> u64 {
    context.get_stream(name).await.unwrap().cached_info().state.messages
}

fn names(ids: &[eog_nats::InvestigationId]) -> Vec<&str> {
    ids.iter().map(eog_nats::InvestigationId::as_str).collect()
}

#[test]
fn what_has_ended_goes_oldest_first_and_what_runs_stays() {
    let Some((cluster, options)) = cluster() else { return };
    let error = all().apply(&cluster, later()).unwrap_err();
    assert!(matches!(error, NatsError::StreamMissing { .. }), "what runs is unknown: {error}");
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    assert_eq!(all().apply(&cluster, later()).unwrap().investigations, []);

    assert!(queue.submit(&id("running"), b"").unwrap());
    let task = queue.take(Duration::from_secs(10)).unwrap().unwrap();
    written(&cluster, "running");
    assert!(queue.submit(&id("waiting"), b"").unwrap());
    for name in ["old", "b", "a"] {
        written(&cluster, name);
    }
    let states: Vec<_> = cluster
        .investigations()
        .unwrap()
        .into_iter()
        .map(|one| (one.id.to_string(), one.written.is_some(), one.queued))
        .collect();
    let state = |name: &str, written, queued| (name.to_owned(), written, queued);
    assert_eq!(
        states,
        [
            state("a", true, false),
            state("b", true, false),
            state("old", true, false),
            state("running", true, true),
            state("waiting", false, true),
        ]
    );
    assert_eq!(Retention::default().apply(&cluster, later()).unwrap().investigations, []);
    let young = Retention { max_age: Some(Duration::from_secs(2 * 86_400)), ..all() };
    assert_eq!(young.apply(&cluster, later()).unwrap().investigations, []);

    // By size: as many as needed.
    let whole = young.apply(&cluster, later()).unwrap().bytes;
    let smaller = Retention { max_bytes: Some(whole - 1), ..Retention::default() };
    let removed = smaller.apply(&cluster, later()).unwrap();
    assert_eq!(names(&removed.investigations), ["old"]);
    assert!(removed.bytes < whole * 4 / 5, "{} of {whole} bytes are left", removed.bytes);
    let error = cluster.read(Part::Ledger, &id("old")).unwrap_err();
    assert!(matches!(error, NatsError::NoSuch { .. }), "{error}");

    let none = Retention { max_bytes: Some(0), ..Retention::default() };
    let removed = none.apply(&cluster, later()).unwrap();
    assert_eq!(names(&removed.investigations), ["b", "a"]);
    assert_eq!(removed.remains, []);
    assert!(!cluster.remove(&id("running")).unwrap(), "it runs");
    assert!(!cluster.remove(&id("waiting")).unwrap(), "it waits");
    let bytes = bytes_on(&cluster.read(Part::Ledger, &id("running")).unwrap());
    assert!(bytes.len() > 256 << 10, "it is whole, with its blocks");

    task.done().unwrap();
    assert_eq!(names(&all().apply(&cluster, later()).unwrap().investigations), ["running"]);
    let waiting = queue.take(Duration::from_secs(10)).unwrap().unwrap();
    assert_eq!(waiting.id(), &id("waiting"));
    waiting.done().unwrap();
    assert!(left(&options).iter().all(|(_, messages)| *messages == 0), "{:?}", left(&options));
    // The name is free again.
    written(&cluster, "old");
}

#[test]
fn what_has_no_owner_is_found() {
    let Some((cluster, options)) = cluster() else { return };
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    written(&cluster, "kept");
    behind(&options, async |context| {
        for (bucket, object) in [("blocks", "ghost/0123"), ("checkpoints", "spirit")] {
            let name = format!("{}-{bucket}", options.prefix);
            let store = context.get_object_store(&name).await.unwrap();
            store.put(object, &mut [7_u8; 200_000].as_slice()).await.unwrap();
        }
        // An object whose writer died before it was finished.
        let subject = format!("$O.{}-blocks.C.unfinished", options.prefix);
        context.publish(subject, "half".into()).await.unwrap().await.unwrap();
    });
    let removed = Retention::default().apply(&cluster, SystemTime::now()).unwrap();
    assert_eq!(names(&removed.remains), ["ghost", "spirit"]);
    assert_eq!((removed.investigations.len(), removed.unfinished), (0, 0), "it may be under way");
    let removed = Retention::default().apply(&cluster, later()).unwrap();
    assert_eq!((removed.remains.len(), removed.unfinished), (0, 1));
    assert!(bytes_on(&cluster.read(Part::Ledger, &id("kept")).unwrap()).len() > 256 << 10);

    // One that begins has a place in the queue, and is left alone though it has no ledger yet.
    assert!(queue.submit(&id("begins"), b"").unwrap());
    let mut place = CheckpointObject::of(&cluster, &id("begins"));
    place.write(b"early").unwrap();
    assert_eq!(Retention::default().apply(&cluster, later()).unwrap().remains, []);
    assert_eq!(place.read().unwrap(), b"early");
    // The rest, with one that was removed by hand in part.
    queue.take(Duration::from_secs(10)).unwrap().unwrap().done().unwrap();
    let removed = all().apply(&cluster, later()).unwrap();
    assert_eq!(
        (names(&removed.remains), names(&removed.investigations)),
        (vec!["begins"], vec!["kept"])
    );
    assert!(left(&options).iter().all(|(_, messages)| *messages == 0), "{:?}", left(&options));
}

const REMOVER: &str = "EOG_NATS_TEST_REMOVER";

/// Removes everything, in a process of its own.
///
/// No test by itself: the next one starts it with variables that say what to do.
#[test]
fn remover() {
    let Ok(prefix) = std::env::var(REMOVER) else { return };
    let mut options = Options::new(std::env::var("EOG_NATS_URL").unwrap());
    options.prefix = prefix;
    all().apply(&Cluster::connect(&options).unwrap(), later()).unwrap();
}

/// At whatever moment it is killed, the next one removes the rest; so does a worker that asks for work.
#[test]
fn a_removal_that_was_killed_is_finished_by_others() {
    let Some((cluster, options)) = cluster() else { return };
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    let mut interrupted = 0;
    for round in 0..8_u64 {
        let run: Vec<String> = (0..3).map(|number| format!("run-{number}")).collect();
        run.iter().for_each(|name| written(&cluster, name));
        let before = left(&options);
        let mut remover = as_process("remover", REMOVER, &options.prefix);
        // Once it has begun, it is killed a few requests later.
        while left(&options) == before && remover.try_wait().unwrap().is_none() {}
        std::thread::sleep(Duration::from_millis(3 * round));
        remover.kill().unwrap();
        remover.wait().unwrap();
        let after = left(&options);
        interrupted += usize::from(after.iter().any(|(_, messages)| *messages > 0));
        if round % 2 == 0 {
            // A worker finds the order to remove, and carries it out, but no work.
            let work = after.iter().any(|(name, left)| name.ends_with("-work") && *left > 0);
            while work
                && left(&options).iter().any(|(name, left)| name.ends_with("-work") && *left > 0)
            {
                assert!(queue.take(Duration::from_secs(5)).unwrap().is_none());
            }
        }
        // A submission of the name meanwhile waits until it is free.
        all().apply(&cluster, later()).unwrap();
        let rest = left(&options);
        assert!(rest.iter().all(|(_, messages)| *messages == 0), "{rest:?}");
    }
    assert!(interrupted > 2, "{interrupted} removals were interrupted");
}

/// A worker that still writes finds that it was removed, and a new one of the name begins anew.
#[test]
fn an_order_to_remove_keeps_the_name_until_it_is_carried_out() {
    let Some((cluster, options)) = cluster() else { return };
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    written(&cluster, "run");
    let remove: bytes::Bytes = "eog: remove this investigation".into();
    behind(&options, async |context| {
        let subject = format!("{}.work.run", options.prefix);
        context.publish(subject, remove).await.unwrap().await.unwrap();
    });
    assert!(!queue.submit(&id("run"), b"").unwrap(), "it is being removed");
    assert!(queue.take(Duration::from_secs(2)).unwrap().is_none(), "that is no work");
    let state = behind(&options, async |context| {
        let name = format!("{}-ledgers", options.prefix);
        let state: stream::State =
            context.get_stream(&name).await.unwrap().cached_info().state.clone();
        state
    });
    assert_eq!(state.messages, 0);
    assert!(queue.submit(&id("run"), b"").unwrap());
    let medium = cluster.create(Part::Ledger, &id("run")).unwrap();
    let (mut journal, _) = Journal::on::<EntryBody>(medium).unwrap();
    let new = entries(["new"]);
    journal.append(&new).unwrap();
    assert_eq!(bytes_on(&cluster.read(Part::Ledger, &id("run")).unwrap()), file_of(&new));
}

#[test]
fn what_is_spared_keeps_its_incident() {
    let Some(mut options) = support::options() else { return };
    options.retries = 2;
    let cluster = Cluster::prepare(&options, 3).unwrap();
    let _queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    let block = cluster.store(&id("failed"), b"incident").unwrap();
    let spared = Retention { spared: [id("failed")].into(), ..all() };
    assert_eq!(spared.apply(&cluster, later()).unwrap().remains, []);
    assert_eq!(cluster.stored(&id("failed"), block).unwrap(), b"incident");
    assert_eq!(names(&all().apply(&cluster, later()).unwrap().remains), ["failed"]);
    let error = cluster.stored(&id("failed"), block).unwrap_err();
    assert!(matches!(error, NatsError::Altered { .. }), "{error}");
}

#[test]
fn what_is_no_order_is_taken_out_of_the_queue() {
    let Some((cluster, options)) = cluster() else { return };
    let queue = Queue::prepare(&cluster, 3, SILENCE).unwrap();
    let subject = format!("{}.work.no~name", options.prefix);
    behind(&options, async move |context| {
        context.publish(subject, "x".into()).await.unwrap().await.unwrap();
    });
    queue.submit(&id("one"), b"order").unwrap();
    let task = queue.take(Duration::from_secs(10)).unwrap().unwrap();
    assert_eq!(task.id(), &id("one"));
    task.done().unwrap();
    // The server removes messages some time after they are acknowledged.
    let end = Instant::now() + Duration::from_secs(10);
    while queue.waiting().unwrap() > 0 {
        assert!(Instant::now() < end, "something remains in the queue");
        std::thread::sleep(Duration::from_millis(50));
    }
}
