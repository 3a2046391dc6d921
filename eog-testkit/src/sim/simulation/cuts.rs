//! A crash at every offset: a journal that ends early.

use super::history::Life;
use super::life::from_cut;
use super::plan::Plan;
use super::process::Disks;
use crate::disk::SimDisk;

/// Where the header of a journal ends, and how long the head of a frame is (`docs/embedding.md`).
const HEADER: usize = 12;
const FRAME_HEAD: usize = 12;

/// The straight life, taken up from every end of an entry and from a byte within each frame.
pub(super) fn everywhere(plan: &Plan, disks: &Disks) -> Vec<Life> {
    let (journal, side) = (disks.journal.bytes(), disks.side.bytes());
    let mut draw = plan.seed.stream("cuts");
    let mut places = Vec::new();
    let mut from = 0;
    for to in ends(&journal) {
        places.push(from);
        // A place within: neither its first byte nor its last.
        places.push(from + 1 + draw.position(to.saturating_sub(from + 1)));
        from = to;
    }
    places.push(from);
    let life = |place: usize| {
        let disks = Disks {
            journal: SimDisk::holding(journal[..place].to_vec()),
            side: SimDisk::holding(side.clone()),
        };
        from_cut(plan, &format!("the straight life cut at byte {place}"), disks)
    };
    places.into_iter().filter(|place| *place <= journal.len()).map(life).collect()
}

/// Where header and frames end.
fn ends(journal: &[u8]) -> Vec<usize> {
    let mut ends = vec![HEADER];
    let mut at = HEADER;
    while let Some(length) = journal.get(at..at + 4).and_then(|head| <[u8; 4]>::try_from(head).ok())
    {
        at += FRAME_HEAD + u32::from_le_bytes(length) as usize;
        ends.push(at);
    }
    ends
}
