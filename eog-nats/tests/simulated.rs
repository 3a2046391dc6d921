//! The protocol of writers on a simulated stream, in virtual time: lost and late publishes, lost
//! acknowledgements, stale reads, several writers. What may never happen is checked after every step, and
//! faults that are planted into the stream must be found by these checks.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod support;

use std::collections::{BTreeMap, VecDeque};
use std::path::Path;
use std::sync::{Arc, Mutex};

use eog::controller::EntryBody;
use eog::{Digest, Entry, Journal};
use eog_nats::{Block, NatsError, Place, Record, Refused, StreamMedium, Subject, Trouble};
use proptest::prelude::*;

use support::{bytes_on, entries, file_of, next, opening};

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Plant {
    Nothing,
    /// It stores a record whatever its writer believes is the last one, as some servers do when
    /// several publish at once. Harmless.
    NoExpectation,
    /// It acknowledges what it does not store. Harmless: the writer looks.
    AcknowledgedUnstored,
    /// It stores a record a second time, as another one. Harmless.
    StoredTwice,
    /// It forgets the last record.
    Forgets,
    /// Its replicas do not agree on the order of records.
    Disagrees,
}

#[derive(Debug)]
struct Stream {
    plant: Plant,
    log: Vec<(u64, Record)>,
    sequence: u64,
    /// Sent, but not there yet.
    late: VecDeque<(u64, Record)>,
    blocks: BTreeMap<String, Vec<u8>>,
    /// What happens next, one number a decision; then nothing fails any more.
    draws: VecDeque<u8>,
}

impl Stream {
    fn draw(&mut self) -> u8 {
        self.draws.pop_front().unwrap_or(0)
    }

    fn last(&self) -> u64 {
        self.log.last().map_or(0, |(sequence, _)| *sequence)
    }

    fn arrive(&mut self, last: u64, record: &Record) -> Result<(), Refused> {
        let anything = matches!(self.plant, Plant::NoExpectation | Plant::Disagrees);
        if last != self.last() && !anything {
            return Err(Refused::OutOfTurn);
        }
        let copies = if self.plant == Plant::StoredTwice { 2 } else { 1 };
        for _ in 0..copies {
            // Other subjects of the stream have sequences, too.
            self.sequence += 1 + u64::from(self.draw() % 3);
            self.log.push((self.sequence, record.clone()));
        }
        Ok(())
    }

    /// The records as one of the replicas has them.
    fn read(&mut self) -> Vec<(u64, Record)> {
        let mut log = self.log.clone();
        if self.plant == Plant::Disagrees && self.draw() % 2 == 1 {
            for at in 1..log.len() {
                let (before, after) = log.split_at_mut(at);
                let (one, other) = (&mut before[at - 1].1, &mut after[0].1);
                if one.after == other.after {
                    std::mem::swap(one, other);
                }
            }
        }
        log
    }
}

#[derive(Clone, Debug)]
struct Simulated(Arc<Mutex<Stream>>);

impl Simulated {
    fn new(plant: Plant, draws: Vec<u8>) -> Self {
        let (log, late, blocks) = (Vec::new(), VecDeque::new(), BTreeMap::new());
        let draws = draws.into();
        Self(Arc::new(Mutex::new(Stream { plant, log, sequence: 0, late, blocks, draws })))
    }

    fn calm(&self) {
        let mut stream = self.0.lock().unwrap();
        stream.draws.clear();
        stream.late.clear();
    }
}

impl Simulated {
    /// What can be read now: all records, or those of a moment ago.
    fn visible(&self) -> Result<Vec<Place>, Trouble> {
        let mut stream = self.0.lock().unwrap();
        let stale = match stream.draw() % 6 {
            5 => return Err(Trouble::Passing("no answer".into())),
            4 => 2,
            3 => 1,
            _ => 0,
        };
        let log = stream.read();
        let until = log.len().saturating_sub(stale);
        let place = |(sequence, record): &(u64, Record)| Place {
            sequence: *sequence,
            after: record.after,
            write: record.write.clone(),
        };
        Ok(log[..until].iter().map(place).collect())
    }
}

impl Subject for Simulated {
    fn path(&self) -> &Path {
        Path::new("simulated")
    }

    fn publish(&self, last: u64, record: &Record) -> Result<(), Refused> {
        let mut stream = self.0.lock().unwrap();
        let lost = || Refused::Unknown(Trouble::Passing("no answer".into()));
        match stream.draw() % 8 {
            // Not there, or not yet.
            1 => Err(lost()),
            2 => {
                stream.late.push_back((last, record.clone()));
                Err(lost())
            }
            // There, or refused, but nobody says so.
            3 => {
                let _ = stream.arrive(last, record);
                Err(lost())
            }
            4 if stream.plant == Plant::AcknowledgedUnstored => Ok(()),
            4 if stream.plant == Plant::Forgets => {
                stream.log.pop();
                Err(lost())
            }
            // Something late comes first.
            5 => {
                if let Some((last, record)) = stream.late.pop_front() {
                    let _ = stream.arrive(last, &record);
                }
                stream.arrive(last, record)
            }
            // Delivered twice.
            6 => {
                let first = stream.arrive(last, record);
                let _ = stream.arrive(last, record);
                first
            }
            _ => stream.arrive(last, record),
        }
    }

    fn last(&self) -> Result<Option<Place>, Trouble> {
        Ok(self.visible()?.pop())
    }

    fn next(&self, sequence: u64) -> Result<Option<Place>, Trouble> {
        Ok(self.visible()?.into_iter().find(|place| place.sequence > sequence))
    }

    fn records(&self, until: u64) -> Result<Vec<(u64, Record)>, Trouble> {
        let mut stream = self.0.lock().unwrap();
        if stream.draw() % 4 == 3 {
            return Err(Trouble::Passing("the replica lags behind".into()));
        }
        let log = stream.read();
        Ok(log.into_iter().filter(|(sequence, _)| *sequence <= until).collect())
    }

    fn put(&self, block: Block, bytes: &[u8]) -> Result<(), Trouble> {
        let mut stream = self.0.lock().unwrap();
        if stream.draw() % 4 == 3 {
            return Err(Trouble::Passing("no answer".into()));
        }
        stream.blocks.insert(block.digest(), bytes.to_vec());
        Ok(())
    }

    fn get(&self, block: Block) -> Result<Vec<u8>, Trouble> {
        let stream = self.0.lock().unwrap();
        let found = stream.blocks.get(&block.digest()).cloned();
        found.ok_or_else(|| Trouble::Passing("not there".into()))
    }

    fn wait(&self, attempt: u32) -> bool {
        attempt < 12
    }

    fn diagnose(&self, last: Trouble) -> NatsError {
        let reason = format!("{last:?}");
        NatsError::NoLeader { stream: "simulated".into(), reason }
    }
}

/// Several workers, each with the journal that it believes it writes.
struct Workers {
    stream: Simulated,
    journals: Vec<Option<(Journal, Arc<Entry>)>>,
    begun: u32,
    /// By number: what was acknowledged to whoever wrote it.
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
        plant in prop::sample::select(vec![
            Plant::Nothing,
            Plant::NoExpectation,
            Plant::AcknowledgedUnstored,
            Plant::StoredTwice,
        ]),
    ) {
        prop_assert_eq!(course(plant, &steps, &draws), Ok(()));
    }
}

/// A check that finds nothing proves nothing.
#[test]
fn every_planted_fault_is_found() {
    use proptest::strategy::ValueTree;
    use proptest::test_runner::TestRunner;

    for plant in [Plant::Forgets, Plant::Disagrees] {
        let mut runner = TestRunner::deterministic();
        let found = (0..500).find_map(|_| {
            let (steps, draws) = steps().new_tree(&mut runner).unwrap().current();
            course(plant, &steps, &draws).err()
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
    let (mut rivals, mut acknowledged) = (0, 0);
    for _ in 0..200 {
        let (steps, draws) = steps().new_tree(&mut runner).unwrap().current();
        let stream = Simulated::new(Plant::NoExpectation, draws);
        let mut workers = Workers::new(&stream);
        for (who, take_over, group) in steps {
            workers.step(who, take_over, group).unwrap();
        }
        acknowledged += workers.acknowledged.len();
        let mut followed: BTreeMap<u64, Vec<String>> = BTreeMap::new();
        for (_, record) in &stream.0.lock().unwrap().log {
            followed.entry(record.after).or_default().push(record.write.clone());
        }
        let different = |writes: &&Vec<String>| writes.iter().any(|write| *write != writes[0]);
        rivals += followed.values().filter(different).count();
    }
    assert!(rivals > 100, "{rivals} rivals");
    assert!(acknowledged > 1_000, "{acknowledged} entries were acknowledged");
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
    let block = stream.0.lock().unwrap().blocks.values().map(Vec::len).max();
    assert!(block.unwrap() > 256 << 10, "the group is one block");

    stream.0.lock().unwrap().blocks.values_mut().for_each(|bytes| bytes[99] ^= 1);
    let error = StreamMedium::read(stream).unwrap_err();
    assert!(matches!(error, NatsError::Damaged { .. }), "{error}");
}
