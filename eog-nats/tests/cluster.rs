//! Journals on a real cluster of three nodes, which `.ci/nats` starts.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::sync::Arc;
use std::time::{Duration, Instant};

use async_nats::jetstream::stream;
use eog::controller::EntryBody;
use eog::journal::{JournalError, Recovered};
use eog::side::{Durability, SideFile, SideRecord};
use eog::{Config, Engine, Journal, StopReason, Usage};
use eog_nats::{
    CheckpointObject, Cluster, JetStreamSubject, NatsError, Options, Part, Queue, StreamMedium,
};
use eog_testkit::{MemoryContext, Recorder, healthy, policy_fn, seeded, topology};

use support::{behind, bytes_on, cluster, entries, file_of, id, next, options};

fn opened(medium: StreamMedium<JetStreamSubject>) -> (Journal, Recovered) {
    Journal::on::<EntryBody>(medium).expect("the cluster is up")
}

/// What the cluster said, below the error of a journal.
fn cause(error: &JournalError) -> &NatsError {
    let (JournalError::NotWritten { source, .. } | JournalError::Unusable { source, .. }) = error
    else {
        panic!("{error}")
    };
    let inner = source.get_ref().expect("it comes from the cluster");
    inner.downcast_ref().expect("it is one of a cluster")
}

#[test]
fn the_bytes_are_those_of_a_file() {
    let Some((cluster, _)) = cluster() else { return };
    let (run, all) = (id("run"), entries((0..40).map(|number| format!("e{number}"))));
    let (mut journal, recovered) = opened(cluster.create(Part::Ledger, &run).unwrap());
    assert_eq!(recovered.ledger.next_seq(), 0);
    for group in all[..30].chunks(7) {
        journal.append(group).unwrap();
    }
    drop(journal);
    // Another machine goes on.
    let (mut journal, recovered) = opened(cluster.take_over(Part::Ledger, &run).unwrap());
    assert_eq!((journal.entries(), recovered.cut), (30, None));
    journal.append(&all[30..]).unwrap();
    let medium = cluster.read(Part::Ledger, &run).unwrap();
    assert_eq!(bytes_on(&medium), file_of(&all));
    let read = Journal::read_on::<EntryBody>(&medium).unwrap();
    assert_eq!(read.ledger.entries(), all);
    // Readers do not write.
    let (mut reading, _) = opened(medium);
    reading.append(&[next(&all[40], "more")]).unwrap_err();
    assert_eq!(bytes_on(&cluster.read(Part::Ledger, &run).unwrap()), file_of(&all));
}

#[test]
fn what_is_too_long_for_a_message_is_a_block() {
    let Some((cluster, _)) = cluster() else { return };
    // More than the server takes at once: 1 MiB.
    let all = entries((0..12_000).map(|number| format!("entity-{number}")));
    let (mut journal, _) = opened(cluster.create(Part::Ledger, &id("large")).unwrap());
    journal.append(&all).unwrap();
    let bytes = bytes_on(&cluster.read(Part::Ledger, &id("large")).unwrap());
    assert!(bytes.len() > 2 << 20, "{} bytes are no test", bytes.len());
    assert_eq!(bytes, file_of(&all));
}

#[test]
fn two_writers_never_both_extend_a_ledger() {
    let Some((cluster, options)) = cluster() else { return };
    let (run, all) = (id("contended"), entries(["a", "b"]));
    let (mut paused, _) = opened(cluster.create(Part::Ledger, &run).unwrap());
    paused.append(&all[..2]).unwrap();
    // A connection of its own, as another machine has.
    let other = Cluster::connect(&options).unwrap();
    let (mut journal, recovered) = opened(other.take_over(Part::Ledger, &run).unwrap());
    assert_eq!(recovered.ledger.entries(), &all[..2]);
    // The first writer wakes up before the second one has written an entry.
    let error = paused.append(&[next(&all[1], "paused")]).unwrap_err();
    assert!(matches!(cause(&error), NatsError::TakenOver { .. }), "{error}");
    assert_eq!(
        cause(&error).to_string(),
        format!(
            "nats:{}.ledger.contended was taken over by another writer, which goes on with it; \
             nothing of this one is stored any more",
            options.prefix
        )
    );
    journal.append(&all[2..]).unwrap();
    let bytes = bytes_on(&cluster.read(Part::Ledger, &run).unwrap());
    assert_eq!(bytes, file_of(&all));
}

/// All of them at once, again and again: exactly one may begin, and each entry has one author.
#[test]
fn of_many_that_begin_or_append_at_once_one_succeeds() {
    let Some((_, options)) = cluster() else { return };
    let workers: Vec<Cluster> = (0..4).map(|_| Cluster::connect(&options).unwrap()).collect();
    for round in 0..10 {
        let (run, all) = (id(&format!("race-{round}")), entries(["a"]));
        let begun = at_once(&workers, |cluster, _| cluster.create(Part::Ledger, &run));
        let (mut won, lost): (Vec<_>, Vec<_>) = begun.into_iter().partition(Result::is_ok);
        assert_eq!((won.len(), lost.len()), (1, 3));
        for error in lost {
            let error = error.unwrap_err();
            assert!(matches!(error, NatsError::Exists { .. }), "{error}");
        }
        let (mut journal, _) = opened(won.pop().unwrap().unwrap());
        journal.append(&all).unwrap();

        let appended = at_once(&workers, |cluster, number| {
            let medium = cluster.take_over(Part::Ledger, &run).ok()?;
            let (mut journal, recovered) = Journal::on::<EntryBody>(medium).ok()?;
            let before = recovered.ledger.entries().last()?;
            let entry = next(before, &format!("by-{number}"));
            journal.append(&[Arc::clone(&entry)]).ok().map(|()| entry)
        });
        let medium = workers[0].read(Part::Ledger, &run).unwrap();
        let found = Journal::read_on::<EntryBody>(&medium).unwrap().ledger;
        for entry in appended.into_iter().flatten() {
            assert_eq!(found.entries()[entry.seq as usize], entry, "it was acknowledged");
        }
        assert_eq!(bytes_on(&medium), file_of(found.entries()));
    }
}

fn at_once<T: Send>(workers: &[Cluster], what: impl Fn(&Cluster, usize) -> T + Sync) -> Vec<T> {
    let start = std::sync::Barrier::new(workers.len());
    std::thread::scope(|scope| {
        let (start, what) = (&start, &what);
        let begin = |(number, cluster)| {
            scope.spawn(move || {
                start.wait();
                what(cluster, number)
            })
        };
        let threads: Vec<_> = workers.iter().enumerate().map(begin).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    })
}

#[test]
fn the_side_file_is_kept_alike() {
    let Some((cluster, _)) = cluster() else { return };
    let run = id("figures");
    let usage = Usage { model_calls: 2, ..Usage::default() };
    let record = SideRecord::Wasted { calls: 2, usage };
    let (mut side, _) = SideFile::on(cluster.take_over(Part::Side, &run).unwrap()).unwrap();
    side.append(std::slice::from_ref(&record), Durability::Lazy).unwrap();
    let (mut again, records) = SideFile::on(cluster.take_over(Part::Side, &run).unwrap()).unwrap();
    assert_eq!(records.usage_so_far(), usage);
    side.append(std::slice::from_ref(&record), Durability::Lazy).unwrap_err();
    again.append(&[record], Durability::Synced).unwrap();
    let medium = cluster.read(Part::Side, &run).unwrap();
    assert_eq!(SideFile::read_on(&medium).unwrap().usage_so_far().model_calls, 4);
}

/// On a runtime, as workers will: calls of the medium block, and dropping it must not panic.
#[tokio::test]
async fn an_engine_goes_on_elsewhere_by_way_of_a_checkpoint() {
    let Some((cluster, options)) = cluster() else { return };
    let run = id("engine");
    let names = ["a", "b", "c", "d", "e", "f"];
    let case = || seeded(topology(""), names);
    let whole = Engine::new(MemoryContext::default(), policy_fn(healthy));
    let whole = whole.investigate(Config::default(), case()).await;

    let (journal, _) = opened(cluster.create(Part::Ledger, &run).unwrap());
    let journal =
        journal.with_checkpoints(CheckpointObject::of(&cluster, &run)).checkpoint_every(2);
    // Another worker takes over while c is judged.
    let other = Cluster::connect(&options).unwrap();
    let taking = other.clone();
    let first = Recorder::new(policy_fn(move |packet| {
        if packet.entity.as_str() == "c" {
            drop(taking.take_over(Part::Ledger, &id("engine")).unwrap());
        }
        healthy(packet)
    }));
    let engine = Engine::new(MemoryContext::default(), &first).with_journal(journal);
    let ended = engine.investigate(Config::default(), case()).await;
    assert_eq!(ended.stop, StopReason::Cancelled);
    let error = ended.journal_error.expect("it was taken over");
    assert!(matches!(cause(&error), NatsError::TakenOver { .. }), "{error}");
    assert_eq!(first.asked(), ["a", "b", "c"]);

    let place = CheckpointObject::of(&other, &run);
    assert!(eog::journal::Checkpoints::read(&place).is_some(), "a checkpoint is there");
    let (journal, recovered) = opened(other.take_over(Part::Ledger, &run).unwrap());
    let second = Recorder::new(policy_fn(healthy));
    let engine = Engine::new(MemoryContext::default(), &second)
        .with_journal(journal.with_checkpoints(place).checkpoint_every(2));
    let ended = engine.resume(&recovered.ledger).await.unwrap();
    assert_eq!(second.asked(), ["c", "d", "e", "f"], "what was acknowledged is not asked again");
    assert_eq!(ended.ledger(), whole.ledger());
    let bytes = bytes_on(&cluster.read(Part::Ledger, &run).unwrap());
    assert_eq!(bytes, file_of(whole.ledger().entries()));
}

#[test]
fn errors_name_what_is_in_the_way() {
    let Some(options) = options() else { return };
    let error = Cluster::connect(&options).unwrap_err();
    assert!(matches!(&error, NatsError::StreamMissing { stream } if stream.ends_with("-ledgers")));

    let cluster = Cluster::prepare(&options, 3).unwrap();
    let error = cluster.read(Part::Ledger, &id("none")).unwrap_err();
    assert_eq!(error.to_string(), "there is no investigation none on the cluster");
    let mut journal = opened(cluster.create(Part::Ledger, &id("one")).unwrap()).0;
    journal.append(&entries(["a"])).unwrap();
    let error = cluster.create(Part::Ledger, &id("one")).unwrap_err();
    assert!(matches!(error, NatsError::Exists { .. }), "{error}");

    let mut closed = Options::new("nats://me:secret@127.0.0.1:1");
    closed.retries = 1;
    let error = Cluster::connect(&closed).unwrap_err().to_string();
    assert!(error.starts_with("cannot connect to NATS at nats://127.0.0.1:1: "), "{error}");

    let mut without = options.clone();
    without.ca = Some("no-such.pem".into());
    let error = Cluster::connect(&without).unwrap_err().to_string();
    assert!(error.starts_with("cannot use the certificates no-such.pem: "), "{error}");
    without.ca = None;
    without.require_tls = true;
    let error = Cluster::connect(&without).unwrap_err();
    assert!(!error.to_string().is_empty(), "TLS is required, and the server has none");
}

/// The worker is silent for longer than allowed, but for the signals.
#[test]
fn a_slow_worker_keeps_its_task_and_a_dropped_task_comes_again() {
    let Some((cluster, _)) = cluster() else { return };
    let queue = Queue::prepare(&cluster, 3, Duration::from_secs(2)).unwrap();
    assert!(queue.take(Duration::from_secs(1)).unwrap().is_none(), "there is none yet");
    assert!(queue.submit(&id("slow"), b"").unwrap());
    let task = queue.take(Duration::from_secs(10)).unwrap().expect("it waits");
    assert!(queue.take(Duration::from_secs(6)).unwrap().is_none(), "its worker is alive");
    drop(task);
    let again = queue.take(Duration::from_secs(30)).unwrap().expect("it comes again");
    assert_eq!(again.id(), &id("slow"));
    again.done().unwrap();
    assert!(queue.submit(&id("slow"), b"").unwrap(), "what is done may be submitted again");
}

/// No test, but what the protocol and replication cost: `.ci/nats --test cluster -- --ignored --nocapture`.
#[test]
#[ignore = "a measurement"]
fn time_for_each_entry() {
    // The same cluster, once with a single copy of each stream.
    let Some(single) = options() else { return };
    drop(Cluster::prepare(&single, 1).unwrap());
    let Some((_, options)) = cluster() else { return };
    let all = entries((0..200).map(|number| format!("e{number}")));
    let folder = tempfile::tempdir().unwrap();
    println!("| workers | medium | median | 99 % | entries/s |\n|---|---|---|---|---|");
    let report = |what: &str, workers: usize, took: Vec<Vec<Duration>>, whole: Duration| {
        let mut took: Vec<Duration> = took.into_iter().flatten().collect();
        took.sort_unstable();
        let (middle, late) = (took[took.len() / 2], took[took.len() * 99 / 100]);
        let rate = took.len() as f64 / whole.as_secs_f64();
        println!("| {workers} | {what} | {middle:.2?} | {late:.2?} | {rate:.0} |");
    };
    let append = |mut journal: Journal| -> Vec<Duration> {
        let one = |entry: &Arc<eog::Entry>| {
            let begun = Instant::now();
            journal.append(std::slice::from_ref(entry)).unwrap();
            begun.elapsed()
        };
        all.iter().map(one).collect()
    };
    for workers in [1, 2, 4, 8] {
        let files: Vec<_> = (0..workers).map(|_| Cluster::connect(&options).unwrap()).collect();
        let begun = Instant::now();
        let took = at_once(&files, |_, number| {
            append(Journal::create(folder.path().join(format!("{workers}-{number}"))).unwrap())
        });
        report("file", workers, took, begun.elapsed());
        for (what, options) in [("1 replica", &single), ("3 replicas", &options)] {
            let clusters: Vec<_> =
                (0..workers).map(|_| Cluster::connect(options).unwrap()).collect();
            let begun = Instant::now();
            let took = at_once(&clusters, |cluster, number| {
                let run = id(&format!("{workers}-{number}"));
                append(opened(cluster.create(Part::Ledger, &run).unwrap()).0)
            });
            report(what, workers, took, begun.elapsed());
        }
    }
}

/// Changes the settings of the stream behind the back of the program.
fn change(options: &Options, edit: fn(&mut stream::Config)) {
    let name = format!("{}-ledgers", options.prefix);
    behind(options, async |context| {
        let stream = context.get_stream(&name).await.unwrap();
        let mut config = stream.cached_info().config.clone();
        edit(&mut config);
        context.update_stream(config).await.unwrap();
    });
}

#[test]
fn a_stream_of_another_version_or_with_limits_is_refused() {
    let Some((_, options)) = cluster() else { return };
    change(&options, |config| config.description = Some("eog investigations, format 9".into()));
    let error = Cluster::connect(&options).unwrap_err();
    assert!(matches!(error, NatsError::OtherVersion { .. }), "{error}");
    change(&options, |config| {
        config.description = Some(eog_nats::FORMAT.into());
        config.max_age = Duration::from_secs(86_400);
    });
    let error = Cluster::connect(&options).unwrap_err();
    assert!(error.to_string().ends_with("its setting max_age would lose entries"), "{error}");
    change(&options, |config| {
        config.max_age = Duration::ZERO;
        config.max_bytes = 20_000;
    });
    let error = Cluster::connect(&options).unwrap_err();
    assert!(error.to_string().ends_with("its setting max_bytes would lose entries"), "{error}");
}

#[test]
fn a_full_stream_refuses_entries_and_forgets_none() {
    let Some((_, mut options)) = cluster() else { return };
    options.retries = 2;
    let cluster = Cluster::connect(&options).unwrap();
    change(&options, |config| config.max_messages = 20);
    let all = entries((0..100).map(|number| format!("e{number}")));
    let (mut journal, _) = opened(cluster.create(Part::Ledger, &id("run")).unwrap());
    let mut known = 0;
    let error = loop {
        match journal.append(&all[known..=known]) {
            Ok(()) => known += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(cause(&error), NatsError::Refused { .. }), "{error}");
    assert!(known > 5, "{known} entries");
    let bytes = bytes_on(&cluster.read(Part::Ledger, &id("run")).unwrap());
    assert_eq!(bytes, file_of(&all[..known]));
}

#[test]
fn a_removed_investigation_is_not_written_on() {
    let Some((_, mut options)) = cluster() else { return };
    options.retries = 2;
    let cluster = Cluster::connect(&options).unwrap();
    let all = entries(["a"]);
    let (mut journal, _) = opened(cluster.create(Part::Ledger, &id("run")).unwrap());
    journal.append(&all[..1]).unwrap();
    behind(&options, async |context| {
        let stream = context.get_stream(format!("{}-ledgers", options.prefix)).await.unwrap();
        stream.purge().filter(format!("{}.ledger.run", options.prefix)).await.unwrap();
    });
    let error = journal.append(&all[1..]).unwrap_err();
    assert!(matches!(cause(&error), NatsError::Removed { .. }), "{error}");
    let error = cluster.read(Part::Ledger, &id("run")).unwrap_err();
    assert!(matches!(error, NatsError::NoSuch { .. }), "{error}");
}
