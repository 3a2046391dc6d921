//! A disk in memory that fails and crashes on demand.

use std::io::{self, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use eog::journal::Medium;

/// How much of a write reaches the disk at once.
pub(crate) const SECTOR: u64 = 512;

/// A disk in memory for [`eog::Journal::on`] and [`eog::side::SideFile::on`], which distinguishes what
/// was merely written from what outlives the machine.
///
/// A clone is another handle on the same disk: give one away and keep one. Reading and writing see
/// all that was written, as programs do. [`SimDisk::crash`] then loses what was not synced, or a
/// part of it that the seed chooses; equal seeds choose equally.
///
/// A sync that fails leaves its bytes in the memory of the machine, and no later sync stores them:
/// that is what systems do.
///
/// ```
/// use eog::Journal;
/// use eog_testkit::{MemoryContext, SimDisk, healthy, policy_fn, run, seeded, topology};
/// # use eog::Config;
/// let case = seeded(topology("a calls b"), ["a", "b"]);
/// let ended = run(Config::default(), case, &MemoryContext::default(), &policy_fn(healthy));
/// let entries = ended.machine.ledger().entries();
///
/// let disk = SimDisk::new();
/// let (mut journal, _) = Journal::on::<eog::controller::EntryBody>(disk.clone())?;
/// journal.append(&entries[..1])?;
/// disk.fail_sync();
/// assert!(journal.append(&entries[1..]).is_err());
///
/// disk.crash(7);
/// let (_, recovered) = Journal::on::<eog::controller::EntryBody>(disk)?;
/// assert_eq!(recovered.ledger.entries(), &entries[..1], "what was acknowledged is there");
/// # Ok::<(), eog::journal::JournalError>(())
/// ```
#[derive(Clone, Debug)]
pub struct SimDisk {
    name: PathBuf,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    /// What a program reads.
    seen: Vec<u8>,
    /// What outlives the machine.
    platter: Vec<u8>,
    /// What may, in the order of writing.
    pending: Vec<Change>,
    capacity: Option<u64>,
    sync_fails: bool,
    operations_left: Option<u64>,
    gone: bool,
    writes: u64,
    syncs: u64,
}

#[derive(Clone, Debug)]
enum Change {
    Write { offset: u64, bytes: Vec<u8> },
    SetLen(u64),
}

impl Default for SimDisk {
    fn default() -> Self {
        Self::new()
    }
}

impl SimDisk {
    /// An empty disk without faults.
    pub fn new() -> Self {
        Self::holding(Vec::new())
    }

    /// A disk on which these bytes are stored.
    pub fn holding(bytes: Vec<u8>) -> Self {
        let state = State { seen: bytes.clone(), platter: bytes, ..State::default() };
        Self { name: PathBuf::from("simulated.disk"), state: Arc::new(Mutex::new(state)) }
    }

    /// The machine crashes and starts again, with all faults off but [`SimDisk::full_at`].
    ///
    /// What was synced stays. Of what was not, the first writes stay, and one of them only up to
    /// some byte.
    pub fn crash(&self, seed: u64) {
        self.lock().restart(|pending| {
            let mut random = Random(seed);
            let whole = random.up_to(pending.len() as u64) as usize;
            let mut kept = pending[..whole].to_vec();
            if let Some(Change::Write { offset, bytes }) = pending.get(whole) {
                let torn = random.up_to(bytes.len() as u64) as usize;
                kept.push(Change::Write { offset: *offset, bytes: bytes[..torn].to_vec() });
            }
            kept
        });
    }

    /// As [`SimDisk::crash`], but of what was not synced any sectors of 512 bytes stay: later ones
    /// without earlier ones, too. Where nothing was, a lost sector leaves zeros.
    pub fn crash_out_of_order(&self, seed: u64) {
        self.lock().restart(|pending| {
            let mut random = Random(seed);
            pending.iter().flat_map(Change::sectors).filter(|_| random.up_to(1) == 1).collect()
        });
    }

    /// The disk has room for this many bytes. A write beyond that fails after its first part.
    pub fn full_at(&self, bytes: u64) {
        self.lock().capacity = Some(bytes);
    }

    /// Every sync fails from now on.
    pub fn fail_sync(&self) {
        self.lock().sync_fails = true;
    }

    /// The power goes after this many further operations (writes, cuts, syncs): the next one and
    /// all after it fail and change nothing. [`SimDisk::crash`] brings it back.
    pub fn cut_power_after(&self, operations: u64) {
        self.lock().operations_left = Some(operations);
    }

    /// The file is removed: from now on it is not there any more under its name.
    pub fn vanish(&self) {
        self.lock().gone = true;
    }

    /// Takes all faults back.
    pub fn repair(&self) {
        self.lock().repair();
        self.lock().capacity = None;
    }

    /// All that a program reads.
    pub fn bytes(&self) -> Vec<u8> {
        self.lock().seen.clone()
    }

    /// All that is sure to outlive the machine.
    pub fn synced(&self) -> Vec<u8> {
        self.lock().platter.clone()
    }

    /// How many writes were tried.
    pub fn writes(&self) -> u64 {
        self.lock().writes
    }

    /// How many syncs were tried.
    pub fn syncs(&self) -> u64 {
        self.lock().syncs
    }

    /// No change is left half done by a panic, so the disk stays usable after one.
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn restart(&mut self, survivors: impl FnOnce(&[Change]) -> Vec<Change>) {
        let pending = std::mem::take(&mut self.pending);
        for change in survivors(&pending) {
            change.apply(&mut self.platter);
        }
        self.seen = self.platter.clone();
        self.repair();
    }

    fn repair(&mut self) {
        self.sync_fails = false;
        self.operations_left = None;
        self.gone = false;
    }

    fn operate(&mut self) -> io::Result<()> {
        match &mut self.operations_left {
            Some(0) => Err(io::Error::other("the power is gone")),
            Some(left) => {
                *left -= 1;
                Ok(())
            }
            None => Ok(()),
        }
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.seen);
        self.pending.push(change);
    }

    fn sync(&mut self) -> io::Result<()> {
        self.syncs += 1;
        self.operate()?;
        let pending = std::mem::take(&mut self.pending);
        if self.sync_fails {
            return Err(io::Error::other("the disk does not answer"));
        }
        for change in pending {
            change.apply(&mut self.platter);
        }
        Ok(())
    }
}

impl Change {
    fn apply(&self, bytes: &mut Vec<u8>) {
        match self {
            Self::SetLen(size) => bytes.resize(*size as usize, 0),
            Self::Write { bytes: new, .. } if new.is_empty() => {}
            Self::Write { offset, bytes: new } => {
                let start = *offset as usize;
                let end = start + new.len();
                bytes.resize(bytes.len().max(end), 0);
                bytes[start..end].copy_from_slice(new);
            }
        }
    }

    /// The same change, in pieces that reach the disk one by one.
    fn sectors(&self) -> Vec<Self> {
        let Self::Write { mut offset, bytes } = self.clone() else { return vec![self.clone()] };
        let mut rest = bytes.as_slice();
        let mut sectors = Vec::new();
        while !rest.is_empty() {
            let room = (SECTOR - offset % SECTOR) as usize;
            let (sector, later) = rest.split_at(room.min(rest.len()));
            sectors.push(Self::Write { offset, bytes: sector.to_vec() });
            offset += sector.len() as u64;
            rest = later;
        }
        sectors
    }
}

impl Medium for SimDisk {
    fn path(&self) -> &Path {
        &self.name
    }

    fn size(&self) -> io::Result<u64> {
        Ok(self.lock().seen.len() as u64)
    }

    fn reader(&self) -> io::Result<Box<dyn Read + '_>> {
        Ok(Box::new(io::Cursor::new(self.bytes())))
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        let mut state = self.lock();
        state.writes += 1;
        state.operate()?;
        let room = state.capacity.map_or(u64::MAX, |capacity| capacity.saturating_sub(offset));
        let fits = usize::try_from(room).unwrap_or(usize::MAX).min(bytes.len());
        state.change(Change::Write { offset, bytes: bytes[..fits].to_vec() });
        if fits < bytes.len() {
            return Err(ErrorKind::StorageFull.into());
        }
        Ok(())
    }

    fn set_len(&mut self, size: u64) -> io::Result<()> {
        let mut state = self.lock();
        state.operate()?;
        state.change(Change::SetLen(size));
        Ok(())
    }

    fn sync_data(&mut self) -> io::Result<()> {
        self.lock().sync()
    }

    fn sync_all(&mut self) -> io::Result<()> {
        self.lock().sync()
    }

    fn is_still_there(&self) -> bool {
        !self.lock().gone
    }
}

/// SplitMix64: enough to choose what a crash loses.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// From 0 to this number, both included.
    pub(crate) fn up_to(&mut self, most: u64) -> u64 {
        self.next() % most.saturating_add(1).max(1)
    }
}
