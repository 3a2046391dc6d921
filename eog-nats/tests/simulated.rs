//! The protocol of writers on a simulated stream, in virtual time: lost, late and duplicated publishes, lost
//! and reordered acknowledgements, stale reads, several writers. Three invariants are checked after every step:
//!
//! 1. nothing acknowledged is lost;
//! 2. two writers never both extend a ledger;
//! 3. its bytes are those of a file.
//!
//! A fault that is planted into the stream for each of them must be found by it.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::collections::BTreeMap;
use std::sync::Arc;

use eog::controller::EntryBody;
use eog::{Digest, Entry, Journal};
use eog_nats::{NatsError, StreamMedium};
use proptest::prelude::*;

use support::stream::{Plant, Simulated};
use support::{bytes_on, entries, file_of, next, opening};

/// Several workers, each with the journal that it believes it writes.
struct Workers {
    stream: Simulated,
    journals: Vec<Option<(Journal, Arc<Entry>)>>,
    begun: u32,
    /// By number: what was acknowledged to its writer.
    acknowledged: BTreeMap<u64, Digest>,
}

impl Workers {
    fn new(stream: &Simulated) -> Self {
        let journals = (0..3).map(|_| None).collect();
        Self { stream: stream.clone(), journals, begun: 0, acknowledged: BTreeMap::new() }
    }

    /// Takes over, or appends one entry, or two at once.
    fn step(&mut self, who: usize, take_over: bool, group: usize) -> Result<(), String> {
        if take_over || self.journals[who].is_none() {
            return self.take_over(who);
        }
        let Some((mut journal, last)) = self.journals[who].take() else { return Ok(()) };
        let mut news = Vec::new();
        let mut head = last;
        for number in 0..group {
            head = next(&head, &format!("worker-{who}-{}-{number}", self.begun));
            news.push(Arc::clone(&head));
        }
        if journal.append(&news).is_ok() {
            for entry in &news {
                self.acknowledge(entry)?;
            }
            self.journals[who] = Some((journal, head));
        }
        Ok(())
    }

    fn take_over(&mut self, who: usize) -> Result<(), String> {
        self.begun += 1;
        let name = format!("writer-{}", self.begun);
        let Ok(medium) = StreamMedium::take_over(self.stream.clone(), name) else { return Ok(()) };
        let (mut journal, found) = match Journal::on::<EntryBody>(medium) {
            Ok(opened) => opened,
            Err(eog::journal::JournalError::Unusable { .. }) => return Ok(()),
            Err(error) => return Err(format!("the ledger is damaged: {error}")),
        };
        self.holds(found.ledger.entries())?;
        // What opening finds, others act upon: from here on it counts.
        for entry in found.ledger.entries() {
            self.acknowledge(entry)?;
        }
        let last = match found.ledger.entries().last() {
            Some(last) => Arc::clone(last),
            None => {
                let opening = opening();
                if journal.append(&[Arc::clone(&opening)]).is_err() {
                    return Ok(());
                }
                self.acknowledge(&opening)?;
                opening
            }
        };
        self.journals[who] = Some((journal, last));
        Ok(())
    }

    fn acknowledge(&mut self, entry: &Entry) -> Result<(), String> {
        match self.acknowledged.insert(entry.seq, entry.hash) {
            Some(before) if before != entry.hash => {
                Err(format!("two writers extended the ledger at entry {}", entry.seq))
            }
            _ => Ok(()),
        }
    }

    /// Whether everything acknowledged is there.
    fn holds(&self, found: &[Arc<Entry>]) -> Result<(), String> {
        for (seq, hash) in &self.acknowledged {
            if found.get(*seq as usize).map(|entry| entry.hash) != Some(*hash) {
                return Err(format!("the acknowledged entry {seq} is lost"));
            }
        }
        Ok(())
    }

    fn end(mut self) -> Result<(), String> {
        self.stream.calm();
        self.journals.clear();
        let medium = StreamMedium::take_over(self.stream.clone(), "the-last".into());
        let medium = medium.map_err(|error| error.to_string())?;
        let bytes = bytes_on(&medium);
        let (_, found) = Journal::on::<EntryBody>(medium).map_err(|error| error.to_string())?;
        self.holds(found.ledger.entries())?;
        if found.ledger.entries().is_empty() || bytes == file_of(found.ledger.entries()) {
            return Ok(());
        }
        Err("the bytes are not those of a file".into())
    }
}

type Steps = Vec<(usize, bool, usize)>;

fn steps() -> impl Strategy<Value = (Steps, Vec<u8>)> {
    let step = (0..3_usize, prop::bool::weighted(0.2), 1..3_usize);
    (prop::collection::vec(step, 1..40), prop::collection::vec(any::<u8>(), 0..300))
}

fn course(plant: Plant, steps: &[(usize, bool, usize)], draws: &[u8]) -> Result<(), String> {
    let stream = Simulated::new(plant, draws.to_vec());
    let mut workers = Workers::new(&stream);
    for (who, take_over, group) in steps {
        workers.step(*who, *take_over, *group)?;
    }
    workers.end()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn nothing_acknowledged_is_lost_and_two_writers_never_both_extend(
        (steps, draws) in steps(),
        plant in prop::sample::select(Plant::HARMLESS.to_vec()),
    ) {
        prop_assert_eq!(course(plant, &steps, &draws), Ok(()));
    }
}

/// A check that finds nothing proves nothing.
#[test]
fn every_planted_fault_is_found() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    for (plant, invariant) in [
        (Plant::Forgets, "is lost"),
        (Plant::Disagrees, "two writers extended the ledger"),
        (Plant::Alters, "the ledger is damaged"),
    ] {
        let mut runner = TestRunner::deterministic();
        let found = (0..2_000).find_map(|_| {
            let (steps, draws) = steps().new_tree(&mut runner).unwrap().current();
            course(plant, &steps, &draws).err().filter(|error| error.contains(invariant))
        });
        assert!(found.is_some(), "{plant:?} was not found");
    }
}

/// What the property draws has to contain what it is about.
#[test]
fn rivals_do_occur_and_much_is_acknowledged() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    let mut runner = TestRunner::deterministic();
    let (mut rivals, mut acknowledged, mut seen) = (0, 0, [0; 3]);
    for _ in 0..200 {
        let (steps, draws) = steps().new_tree(&mut runner).unwrap().current();
        let stream = Simulated::new(Plant::NoExpectation, draws);
        let mut workers = Workers::new(&stream);
        for (who, take_over, group) in steps {
            workers.step(who, take_over, group).unwrap();
        }
        acknowledged += workers.acknowledged.len();
        let mut followed: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        let stream = stream.stream.lock().unwrap();
        for (sum, more) in
            seen.iter_mut().zip([stream.seen.stale, stream.seen.twice, stream.seen.reordered])
        {
            *sum += more;
        }
        for (_, record) in &stream.log {
            followed.entry(record.after).or_default().push(record.write.clone());
        }
        let different = |writes: &&Vec<String>| writes.iter().any(|write| *write != writes[0]);
        rivals += followed.values().filter(different).count();
    }
    assert!(rivals > 100, "{rivals} rivals");
    assert!(acknowledged > 1_000, "{acknowledged} entries were acknowledged");
    let [stale, twice, reordered] = seen;
    assert!(stale > 1_000, "{stale} answers were old");
    assert!(twice > 50, "{twice} records were delivered twice");
    assert!(reordered > 20, "{reordered} acknowledgements were those of other records");
}

#[test]
fn large_entries_become_blocks_with_the_same_bytes() {
    let all = entries((0..3_000).map(|number| format!("entity-{number}")));
    let stream = Simulated::new(Plant::Nothing, Vec::new());
    let medium = StreamMedium::create(stream.clone(), "one".into()).unwrap().unwrap();
    let (mut journal, _) = Journal::on::<EntryBody>(medium).unwrap();
    journal.append(&all).unwrap();
    let medium = StreamMedium::read(stream.clone()).unwrap().unwrap();
    assert_eq!(bytes_on(&medium), file_of(&all));
    let block = stream.stream.lock().unwrap().blocks.values().map(Vec::len).max();
    assert!(block.unwrap() > 256 << 10, "the group is one block");

    stream.stream.lock().unwrap().blocks.values_mut().for_each(|bytes| bytes[99] ^= 1);
    let error = StreamMedium::read(stream).unwrap_err();
    assert!(matches!(error, NatsError::Damaged { .. }), "{error}");
}
