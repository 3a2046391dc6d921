//! Workers that take an investigation over from one another, in virtual time: the real engine on a simulated
//! stream. The queue delivers it twice, also while a call is under way, and loses or delays what acknowledges
//! it; workers die. Three invariants:
//!
//! 1. no acknowledged call is repeated;
//! 2. the investigation ends;
//! 3. its bytes are those of an undisturbed run.
//!
//! A fault that is planted for each must be found by it.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, OnceLock};

use eog::controller::EntryBody;
use eog::journal::JournalError;
use eog::{Case, Config, Engine, Journal};
use eog_nats::StreamMedium;
use eog_testkit::{MemoryContext, healthy, policy_fn, seeded, topology};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use support::stream::{Plant, Simulated};
use support::{bytes_on, file_of, runtime};

/// What is wrong with the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Queue {
    Sound,
    /// It forgets what it has delivered once.
    Loses,
    /// Its workers acknowledge what has not ended.
    Early,
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

/// After so many deliveries nothing fails any more, and soon it has ended.
const TROUBLED: usize = 12;

fn case() -> Case {
    seeded(topology(""), NAMES)
}

/// What an undisturbed run has in its file.
fn undisturbed() -> &'static [u8] {
    static BYTES: OnceLock<Vec<u8>> = OnceLock::new();
    BYTES.get_or_init(|| {
        let whole = Engine::new(MemoryContext::default(), policy_fn(healthy));
        let ended = runtime().block_on(whole.investigate(Config::default(), case()));
        file_of(ended.ledger().entries())
    })
}

/// What was asked of the model, by all workers.
#[derive(Debug, Default)]
struct Calls {
    asked: usize,
    acknowledged: BTreeSet<String>,
    repeated: Vec<String>,
    /// Deliveries while a call was under way.
    meanwhile: usize,
    died: usize,
}

#[derive(Clone)]
struct World {
    stream: Simulated,
    calls: Arc<Mutex<Calls>>,
}

/// A worker that takes the delivered investigation. Whether it brought it to its end.
fn work(world: &World, depth: usize) -> Result<bool, String> {
    let connection = world.stream.connect();
    let name = {
        static COUNT: std::sync::atomic::AtomicU64 = std::sync::atomic::AtomicU64::new(0);
        format!("w{}", COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed))
    };
    let Ok(medium) = StreamMedium::take_over(connection.clone(), name) else { return Ok(false) };
    let (journal, recovered) = match Journal::on::<EntryBody>(medium) {
        Ok(opened) => opened,
        Err(JournalError::Unusable { .. }) => return Ok(false),
        Err(error) => return Err(format!("the ledger is damaged: {error}")),
    };
    let under_way = Arc::new(Mutex::new(None::<String>));
    let (seen, asking) = (world.clone(), Arc::clone(&under_way));
    let policy = policy_fn(move |packet| {
        let entity = packet.entity.to_string();
        {
            let mut calls = seen.calls.lock().unwrap();
            // Nothing is asked before the answer to what was asked before is stored.
            calls.acknowledged.extend(asking.lock().unwrap().replace(entity.clone()));
            calls.asked += 1;
            if calls.acknowledged.contains(&entity) {
                calls.repeated.push(entity);
            }
        }
        match seen.stream.draw() % 8 {
            1 => {
                seen.calls.lock().unwrap().died += 1;
                connection.die();
            }
            // It counts as dead, and is not: it is delivered to another worker.
            2 if depth < 3 => {
                seen.calls.lock().unwrap().meanwhile += 1;
                let other = seen.clone();
                let _ = std::thread::spawn(move || work(&other, depth + 1)).join();
            }
            _ => {}
        }
        healthy(packet)
    });
    let engine = Engine::new(MemoryContext::default(), policy).with_journal(journal);
    let ended = runtime().block_on(async {
        match recovered.ledger.next_seq() {
            0 => Ok(engine.investigate(Config::default(), case()).await),
            _ => engine.resume(&recovered.ledger).await.map_err(|error| error.to_string()),
        }
    })?;
    if ended.journal_error.is_none() {
        world.calls.lock().unwrap().acknowledged.extend(under_way.lock().unwrap().take());
    }
    Ok(ended.journal_error.is_none())
}

fn course(plant: Plant, queue: Queue, draws: &[u8]) -> Result<Calls, String> {
    let stream = Simulated::new(plant, draws.to_vec());
    let world = World { stream: stream.clone(), calls: Arc::default() };
    // What says that it is done may arrive after the next delivery.
    let (mut waits, mut late) = (true, false);
    for delivery in 0..2 * TROUBLED {
        if !waits {
            break;
        }
        if delivery == TROUBLED {
            stream.calm();
        }
        let arrives = late;
        let done = work(&world, 0)? || queue == Queue::Early;
        match stream.draw() % 4 {
            _ if queue == Queue::Loses => waits = false,
            // What acknowledges it is lost, or late.
            1 => {}
            2 => late |= done,
            _ => waits &= !done,
        }
        waits &= !arrives;
    }
    stream.calm();
    let repeated = std::mem::take(&mut world.calls.lock().unwrap().repeated);
    if !repeated.is_empty() {
        return Err(format!("acknowledged calls were repeated: {repeated:?}"));
    }
    let medium = StreamMedium::read(stream).map_err(|error| error.to_string())?;
    let bytes = medium.map(|medium| bytes_on(&medium)).unwrap_or_default();
    let whole = undisturbed();
    match bytes == whole {
        true => Ok(std::mem::take(&mut world.calls.lock().unwrap())),
        false if whole.starts_with(&bytes) || bytes.is_empty() => {
            Err("the investigation does not end".to_owned())
        }
        false => Err("the bytes are not those of an undisturbed run".to_owned()),
    }
}

fn draws() -> impl Strategy<Value = Vec<u8>> {
    prop::collection::vec(any::<u8>(), 0..400)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn an_investigation_ends_alike_without_a_repeated_call(
        draws in draws(),
        plant in prop::sample::select(Plant::HARMLESS.to_vec()),
    ) {
        let ended = course(plant, Queue::Sound, &draws);
        prop_assert!(ended.is_ok(), "{:?}", ended);
    }
}

/// A check that finds nothing proves nothing.
#[test]
fn every_planted_fault_is_found() {
    for (plant, queue, invariant) in [
        (Plant::Forgets, Queue::Sound, "acknowledged calls were repeated"),
        (Plant::Nothing, Queue::Loses, "does not end"),
        (Plant::Nothing, Queue::Early, "does not end"),
        (Plant::Alters, Queue::Sound, "not those of an undisturbed run"),
    ] {
        let mut runner = TestRunner::deterministic();
        let found = (0..400).find_map(|_| {
            let draws = draws().new_tree(&mut runner).unwrap().current();
            course(plant, queue, &draws).err().filter(|error| error.contains(invariant))
        });
        assert!(found.is_some(), "{plant:?} and {queue:?} were not found: {invariant}");
    }
}

/// What the property draws has to contain what it is about.
#[test]
fn workers_do_die_and_are_followed() {
    let mut runner = TestRunner::deterministic();
    let mut sum = Calls::default();
    for _ in 0..60 {
        let draws = draws().new_tree(&mut runner).unwrap().current();
        let calls = course(Plant::Nothing, Queue::Sound, &draws).unwrap();
        sum.asked += calls.asked;
        sum.meanwhile += calls.meanwhile;
        sum.died += calls.died;
    }
    assert!(sum.meanwhile > 20 && sum.died > 20, "{sum:?}");
    assert!(sum.asked > 60 * NAMES.len() + 20, "calls under way are repeated: {sum:?}");
}
