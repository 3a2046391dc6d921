//! A journal on a simulated disk: crashes of the machine, at every write and sync.

use std::io::ErrorKind;
use std::sync::{Arc, OnceLock};

use eog::controller::Wake;
use eog::journal::{JournalError, Medium, Recovered};
use eog::{Config, Entry, Journal, Ledger};
use eog_testkit::{MemoryContext, SimDisk, finding, policy_fn, run, seeded, symptom_of, topology};
use proptest::prelude::*;

use crate::making::{arrivals, bytes_of, ledger_of};

/// The entries of a small investigation, with evidence, claims and wakes.
fn investigation() -> &'static [Arc<Entry>] {
    static ENTRIES: OnceLock<Vec<Arc<Entry>>> = OnceLock::new();
    ENTRIES.get_or_init(|| {
        let case = seeded(topology("web calls api; api calls db"), ["web", "api"]);
        let contract = ["web", "api", "db"]
            .into_iter()
            .fold(MemoryContext::default(), |contract, name| contract.with(finding(name)));
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "api"),
            "api" => symptom_of(packet, "db"),
            _ => eog_testkit::origin(packet),
        });
        let config = Config { wake: Wake::Visited, ..Config::default() };
        let ended = run(config, case, &contract, &policy);
        let entries = ended.machine.ledger().entries().to_vec();
        assert!(entries.len() > 5, "{} entries are too few", entries.len());
        entries
    })
}

fn opened(disk: &SimDisk) -> (Journal, Recovered) {
    Journal::on::<eog::controller::EntryBody>(disk.clone())
        .expect("no fault of this disk is an error")
}

/// Appends groups until all is in or something fails; returns how many entries were acknowledged.
fn append_all(journal: &mut Journal, entries: &[Arc<Entry>], group: usize) -> usize {
    let mut known = journal.entries() as usize;
    while known < entries.len() {
        let until = (known + group).min(entries.len());
        if journal.append(&entries[known..until]).is_err() {
            break;
        }
        known = until;
    }
    known
}

/// One life of the process: how it appends, after how many operations it ends, and what the crash
/// leaves, if the machine ends with it.
fn lives() -> impl Strategy<Value = Vec<(usize, u64, Option<u64>)>> {
    prop::collection::vec((1..4_usize, 0..12_u64, prop::option::of(any::<u64>())), 1..8)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn no_acknowledged_entry_is_lost_in_a_crash(lives in lives()) {
        let entries = investigation();
        let disk = SimDisk::new();
        let mut known = 0;
        for (group, operations, seed) in lives {
            disk.cut_power_after(operations);
            if let Ok((mut journal, recovered)) = Journal::on::<eog::controller::EntryBody>(disk.clone()) {
                let stored = recovered.ledger.entries().len();
                prop_assert!(stored >= known, "{} of {} are there", stored, known);
                prop_assert_eq!(recovered.ledger, ledger_of(&entries[..stored]));
                // What opening finds, others act upon: from here on it counts.
                known = append_all(&mut journal, entries, group);
            }
            match seed {
                Some(seed) => disk.crash(seed),
                None => disk.repair(),
            }
        }
        let (mut journal, _) = opened(&disk);
        prop_assert!(journal.entries() as usize >= known);
        append_all(&mut journal, entries, 1);
        prop_assert_eq!(disk.bytes(), bytes_of(entries));
        prop_assert_eq!(disk.synced(), bytes_of(entries));
    }

    /// The file then says less than the journal knew: a hole within the last group looks like any
    /// other. Cut to the byte that the error names, it holds all that was acknowledged.
    #[test]
    fn a_hole_in_the_last_group_costs_nothing_acknowledged(lives in lives()) {
        let entries = investigation();
        let disk = SimDisk::new();
        let mut known = 0;
        for (group, operations, seed) in lives {
            disk.cut_power_after(operations);
            if let Ok((mut journal, _)) = Journal::on::<eog::controller::EntryBody>(disk.clone()) {
                prop_assert!(journal.entries() as usize >= known);
                known = append_all(&mut journal, entries, group);
            }
            match seed {
                Some(seed) => disk.crash_out_of_order(seed),
                None => disk.repair(),
            }
            if let Err(error) = Journal::on::<eog::controller::EntryBody>(disk.clone()) {
                let JournalError::Damaged { entry, offset, .. } = error else {
                    panic!("{error}");
                };
                prop_assert!(entry as usize >= known, "entry {} of {}", entry, known);
                disk.clone().set_len(offset).unwrap();
                disk.clone().sync_data().unwrap();
            }
            let (journal, recovered) = opened(&disk);
            let stored = journal.entries() as usize;
            prop_assert!(stored >= known);
            prop_assert_eq!(recovered.ledger, ledger_of(&entries[..stored]));
            known = stored;
        }
    }
}

/// A process may die between a write and its sync, and the machine after the next one has begun.
#[test]
fn what_opening_found_outlives_the_machine() {
    let entries = investigation();
    for seed in 0..20 {
        let disk = SimDisk::new();
        let (journal, _) = opened(&disk);
        journal.without_fsync().append(entries).unwrap();
        let (_, recovered) = opened(&disk);
        assert_eq!(recovered.ledger, ledger_of(entries));
        disk.crash(seed);
        assert_eq!(opened(&disk).1.ledger, ledger_of(entries));
    }
}

#[test]
fn a_full_disk_keeps_what_was_acknowledged_wherever_it_ends() {
    let entries = arrivals(6);
    let whole = bytes_of(&entries);
    for size in 0..whole.len() as u64 {
        let disk = SimDisk::new();
        disk.full_at(size);
        let Ok((mut journal, _)) = Journal::on::<eog::controller::EntryBody>(disk.clone()) else {
            assert!(size < 12, "the header has room");
            continue;
        };
        let known = append_all(&mut journal, &entries, 2);
        assert!(known < entries.len());
        let error = journal.append(&entries[known..]).unwrap_err();
        assert!(matches!(error, JournalError::Poisoned { .. }), "{error}");
        assert_eq!(disk.bytes(), bytes_of(&entries[..known]), "the part is cut off again");

        disk.crash(size);
        disk.repair();
        let (mut journal, recovered) = opened(&disk);
        assert_eq!((recovered.ledger, recovered.cut), (ledger_of(&entries[..known]), None));
        append_all(&mut journal, &entries, 1);
        assert_eq!(disk.synced(), whole);
    }
    let disk = SimDisk::new();
    let (mut journal, _) = opened(&disk);
    disk.full_at(100);
    let error = journal.append(&entries).unwrap_err();
    let JournalError::NotWritten { source, entries: 0, .. } = error else { panic!("{error}") };
    assert_eq!(source.kind(), ErrorKind::StorageFull);
}

#[test]
fn a_failed_sync_acknowledges_nothing() {
    let entries = arrivals(4);
    for seed in 0..50 {
        let disk = SimDisk::new();
        let (mut journal, _) = opened(&disk);
        journal.append(&entries[..2]).unwrap();
        disk.fail_sync();
        let error = journal.append(&entries[2..]).unwrap_err();
        assert!(matches!(error, JournalError::NotWritten { entries: 2, .. }), "{error}");
        assert_eq!(journal.entries(), 2);
        if seed % 2 == 0 {
            disk.crash(seed);
        }
        disk.repair();
        assert_eq!(opened(&disk).1.ledger, ledger_of(&entries[..2]));
    }
}

#[test]
fn a_group_is_one_write_and_one_sync() {
    let entries = arrivals(4);
    let disk = SimDisk::new();
    let (mut journal, recovered) = opened(&disk);
    assert_eq!((recovered.ledger, recovered.cut), (Ledger::default(), None));
    let (writes, syncs) = (disk.writes(), disk.syncs());
    journal.append(&entries).unwrap();
    assert_eq!((disk.writes(), disk.syncs()), (writes + 1, syncs + 1));
    assert_eq!(disk.synced(), bytes_of(&entries));
    assert_eq!(journal.path(), disk.path());
}

#[test]
fn a_medium_that_vanished_acknowledges_nothing() {
    let entries = arrivals(2);
    let disk = SimDisk::new();
    let (mut journal, _) = opened(&disk);
    disk.vanish();
    let error = journal.append(&entries).unwrap_err();
    assert!(matches!(error, JournalError::Vanished { .. }), "{error}");
    assert_eq!(journal.entries(), 0);
}

/// The disk itself: a crash must lose something, or the tests above say nothing.
#[test]
fn a_crash_loses_what_its_seed_says() {
    let stored = |crash: fn(&SimDisk, u64), seed: u64| {
        let disk = SimDisk::holding(vec![9; 700]);
        let mut medium = disk.clone();
        medium.write_at(700, &[1; 600]).unwrap();
        medium.sync_data().unwrap();
        medium.write_at(1300, &[2; 2000]).unwrap();
        medium.write_at(3300, &[3; 2000]).unwrap();
        assert_eq!(disk.bytes().len(), 5300);
        crash(&disk, seed);
        assert_eq!(disk.bytes(), disk.synced());
        disk.bytes()
    };
    let mut sizes = std::collections::BTreeSet::new();
    let mut holes = 0;
    for seed in 0..200 {
        let torn = stored(SimDisk::crash, seed);
        assert_eq!(torn, stored(SimDisk::crash, seed), "equal seeds lose equally");
        assert!(torn.len() >= 1300 && !torn.contains(&0), "a prefix of what was written");
        sizes.insert(torn.len());
        let out_of_order = stored(SimDisk::crash_out_of_order, seed);
        assert!(out_of_order.len() >= 1300 && !out_of_order[..1300].contains(&0));
        holes += usize::from(out_of_order.contains(&0));
    }
    assert!(sizes.len() > 100, "torn at {} places only", sizes.len());
    assert!(holes > 50, "{holes} holes only");
}
