//! A simulated stream in virtual time: what happens next is drawn, and time passes by what is done.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::path::Path;
use std::sync::{Arc, Mutex};

use eog_nats::{Block, Body, NatsError, Place, Record, Refused, Subject, Trouble};

/// What is wrong with a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Plant {
    Nothing,
    /// It stores a record whatever its writer believes is the last one, as some servers do when
    /// several publish at once. Harmless.
    NoExpectation,
    /// It acknowledges what it does not store. Harmless: the writer checks.
    AcknowledgedUnstored,
    /// It stores a record a second time, as another one. Harmless.
    StoredTwice,
    /// It forgets the last record.
    Forgets,
    /// Its replicas do not agree on the order of records.
    Disagrees,
    /// It alters a record that it has.
    Alters,
}

impl Plant {
    /// Those that no writer may mind.
    pub(crate) const HARMLESS: [Self; 4] =
        [Self::Nothing, Self::NoExpectation, Self::AcknowledgedUnstored, Self::StoredTwice];
}

/// What a server answers to a publish.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Answer {
    Stored,
    OutOfTurn,
}

pub(crate) struct Stream {
    plant: Plant,
    pub(crate) log: Vec<(u64, Record)>,
    sequence: u64,
    /// How many records are kept; all of them by default.
    pub(crate) kept: usize,
    /// Sent, but not there yet.
    late: VecDeque<(u64, Record)>,
    /// Answers that were overtaken by later ones.
    overtaken: VecDeque<Answer>,
    pub(crate) blocks: BTreeMap<String, Vec<u8>>,
    /// What happens next, one number a decision; then nothing fails any more.
    draws: VecDeque<u8>,
    /// What others do before the next record arrives.
    pub(crate) rival: Option<Rival>,
    pub(crate) seen: Seen,
}

/// What another writer does in between.
pub(crate) type Rival = Box<dyn FnOnce() + Send>;

/// How often things happened, so that tests can check that they do.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Seen {
    pub(crate) stale: usize,
    pub(crate) twice: usize,
    pub(crate) reordered: usize,
}

impl fmt::Debug for Stream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Stream").field("plant", &self.plant).finish_non_exhaustive()
    }
}

impl Stream {
    pub(crate) fn draw(&mut self) -> u8 {
        self.draws.pop_front().unwrap_or(0)
    }

    fn last(&self) -> u64 {
        self.log.last().map_or(0, |(sequence, _)| *sequence)
    }

    fn arrive(&mut self, last: u64, record: &Record) -> Answer {
        let anything = matches!(self.plant, Plant::NoExpectation | Plant::Disagrees);
        if last != self.last() && !anything {
            return Answer::OutOfTurn;
        }
        let copies = if self.plant == Plant::StoredTwice { 2 } else { 1 };
        for _ in 0..copies {
            // Other subjects of the stream have sequences, too.
            self.sequence += 1 + u64::from(self.draw() % 3);
            self.log.push((self.sequence, record.clone()));
        }
        let gone = self.log.len().saturating_sub(self.kept);
        self.log.drain(..gone);
        Answer::Stored
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

    fn alter(&mut self) {
        for (_, record) in &mut self.log {
            if let Body::Inline(bytes) = &mut record.body
                && let [.., _, _] = **bytes
            {
                let mut other = bytes.to_vec();
                let middle = other.len() / 2;
                other[middle] ^= 1;
                *bytes = other.into();
                return;
            }
        }
    }
}

/// A connection to a simulated stream.
#[derive(Clone, Debug)]
pub(crate) struct Simulated {
    pub(crate) stream: Arc<Mutex<Stream>>,
    /// Whether the process that uses this connection has died. Its clones die with it.
    dead: Arc<Mutex<bool>>,
}

impl Simulated {
    pub(crate) fn new(plant: Plant, draws: Vec<u8>) -> Self {
        let stream = Stream {
            plant,
            log: Vec::new(),
            sequence: 0,
            kept: usize::MAX,
            late: VecDeque::new(),
            overtaken: VecDeque::new(),
            blocks: BTreeMap::new(),
            draws: draws.into(),
            rival: None,
            seen: Seen::default(),
        };
        Self { stream: Arc::new(Mutex::new(stream)), dead: Arc::default() }
    }

    /// Another connection to the same stream.
    pub(crate) fn connect(&self) -> Self {
        Self { stream: Arc::clone(&self.stream), dead: Arc::default() }
    }

    /// From here on nothing more comes of this connection.
    pub(crate) fn die(&self) {
        *self.dead.lock().unwrap() = true;
    }

    pub(crate) fn draw(&self) -> u8 {
        self.stream.lock().unwrap().draw()
    }

    /// Nothing fails any more.
    pub(crate) fn calm(&self) {
        let mut stream = self.stream.lock().unwrap();
        stream.draws.clear();
        stream.late.clear();
        stream.overtaken.clear();
    }

    fn alive(&self) -> Result<(), Trouble> {
        match *self.dead.lock().unwrap() {
            true => Err(Trouble::Passing("its process has died".into())),
            false => Ok(()),
        }
    }

    /// What can be read now: all records, or those of a moment ago.
    fn visible(&self) -> Result<Vec<Place>, Trouble> {
        self.alive()?;
        let mut stream = self.stream.lock().unwrap();
        let stale = match stream.draw() % 6 {
            5 => return Err(Trouble::Passing("no answer".into())),
            4 => 2,
            3 => 1,
            _ => 0,
        };
        let log = stream.read();
        stream.seen.stale += usize::from(stale > 0 && !log.is_empty());
        let until = log.len().saturating_sub(stale);
        let place = |(sequence, record): &(u64, Record)| Place {
            sequence: *sequence,
            record: record.clone(),
        };
        Ok(log[..until].iter().map(place).collect())
    }
}

impl Subject for Simulated {
    fn path(&self) -> &Path {
        Path::new("simulated")
    }

    fn publish(&self, last: u64, record: &Record) -> Result<(), Refused> {
        let rival = self.stream.lock().unwrap().rival.take();
        if let Some(rival) = rival {
            rival();
        }
        let lost = || Refused::Unknown(Trouble::Passing("no answer".into()));
        self.alive().map_err(Refused::Unknown)?;
        let mut stream = self.stream.lock().unwrap();
        let answer = match stream.draw() % 9 {
            // Not there, or not yet.
            1 => return Err(lost()),
            2 => {
                stream.late.push_back((last, record.clone()));
                return Err(lost());
            }
            // There, or refused, but without an answer.
            3 => {
                stream.arrive(last, record);
                return Err(lost());
            }
            4 if stream.plant == Plant::AcknowledgedUnstored => Answer::Stored,
            4 if stream.plant == Plant::Forgets => {
                stream.log.pop();
                return Err(lost());
            }
            4 if stream.plant == Plant::Alters => {
                stream.alter();
                return Err(lost());
            }
            // Something late comes first.
            5 => {
                if let Some((last, record)) = stream.late.pop_front() {
                    stream.arrive(last, &record);
                }
                stream.arrive(last, record)
            }
            // Delivered twice.
            6 => {
                let first = stream.arrive(last, record);
                stream.seen.twice += usize::from(stream.arrive(last, record) == Answer::Stored);
                first
            }
            // Its answer comes after that of a later one, and the one before it comes now, if there is any.
            7 | 8 => {
                let answer = stream.arrive(last, record);
                stream.overtaken.push_back(answer);
                if stream.overtaken.len() < 2 {
                    return Err(lost());
                }
                stream.seen.reordered += 1;
                stream.overtaken.pop_front().unwrap_or(answer)
            }
            _ => stream.arrive(last, record),
        };
        match answer {
            Answer::Stored => Ok(()),
            Answer::OutOfTurn => Err(Refused::OutOfTurn),
        }
    }

    fn last(&self) -> Result<Option<Place>, Trouble> {
        Ok(self.visible()?.pop())
    }

    fn next(&self, sequence: u64) -> Result<Option<Place>, Trouble> {
        Ok(self.visible()?.into_iter().find(|place| place.sequence > sequence))
    }

    fn records(&self, until: u64) -> Result<Vec<(u64, Record)>, Trouble> {
        self.alive()?;
        let mut stream = self.stream.lock().unwrap();
        if stream.draw() % 4 == 3 {
            return Err(Trouble::Passing("the replica lags behind".into()));
        }
        let log = stream.read();
        Ok(log.into_iter().filter(|(sequence, _)| *sequence <= until).collect())
    }

    fn put(&self, block: Block, bytes: &[u8]) -> Result<(), Trouble> {
        self.alive()?;
        let mut stream = self.stream.lock().unwrap();
        if stream.draw() % 4 == 3 {
            return Err(Trouble::Passing("no answer".into()));
        }
        stream.blocks.insert(block.digest(), bytes.to_vec());
        Ok(())
    }

    fn get(&self, block: Block) -> Result<Vec<u8>, Trouble> {
        self.alive()?;
        let stream = self.stream.lock().unwrap();
        let found = stream.blocks.get(&block.digest()).cloned();
        found.ok_or_else(|| Trouble::Passing("not there".into()))
    }

    fn wait(&self, attempt: u32) -> bool {
        attempt < 12
    }

    fn diagnose(&self, last: Trouble) -> NatsError {
        match last {
            Trouble::Lasting(error) => error,
            Trouble::Passing(reason) => NatsError::NoLeader { stream: "simulated".into(), reason },
        }
    }
}
