//! A side file on a simulated disk.

use eog::side::{Durability, SideError, SideFile, SideRecord};
use eog_testkit::SimDisk;
use proptest::prelude::*;

use crate::making::{bytes_of, evaluation, outside, records};

/// What is appended: many figures, now and then an answer.
fn story() -> Vec<SideRecord> {
    (0..30_i64)
        .map(|n| match n % 5 {
            4 => outside(n, &"x".repeat(n as usize * 40)),
            _ => evaluation(n as u64, 100 * (n as u64 + 1)),
        })
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    /// Power cuts at any write or sync: a prefix stays, with every answer that was acknowledged.
    #[test]
    fn no_acknowledged_answer_is_lost_in_a_crash(
        lives in prop::collection::vec((0..20_u64, prop::option::of(any::<u64>())), 1..6),
    ) {
        let story = story();
        let disk = SimDisk::new();
        // How many records there are, how many survive the machine, and how many there must be.
        let (mut written, mut safe, mut least) = (0, 0, 0);
        for (operations, crash) in lives {
            disk.cut_power_after(operations);
            if let Ok((mut side, found)) = SideFile::on(disk.clone()) {
                written = found.records.len();
                prop_assert!(written >= least, "{} of {} are there", written, least);
                prop_assert_eq!(found.records, &story[..written]);
                // Opening stores what it finds.
                safe = written;
                while written < story.len()
                    && side.append(&story[written..=written], Durability::Lazy).is_ok()
                {
                    written += 1;
                    if matches!(story[written - 1], SideRecord::Outside { .. }) {
                        safe = written;
                    }
                }
            }
            match crash {
                Some(seed) => {
                    disk.crash(seed);
                    (written, least) = (safe, safe);
                }
                None => {
                    disk.repair();
                    least = written;
                }
            }
        }
        let (_, found) = SideFile::on(disk).unwrap();
        prop_assert!(found.records.len() >= least);
        prop_assert_eq!(found.records.as_slice(), &story[..found.records.len()]);
    }
}

#[test]
fn answers_are_synced_and_figures_are_not() {
    let disk = SimDisk::new();
    let (mut side, _) = SideFile::on(disk.clone()).unwrap();
    let (writes, syncs) = (disk.writes(), disk.syncs());
    side.append(&[evaluation(1, 100), evaluation(2, 200)], Durability::Lazy).unwrap();
    assert_eq!((disk.writes(), disk.syncs()), (writes + 1, syncs));
    side.append(&[evaluation(3, 300)], Durability::Synced).unwrap();
    assert_eq!(disk.syncs(), syncs + 1);
    side.append(&[outside(1, &1), evaluation(4, 400)], Durability::Lazy).unwrap();
    assert_eq!(disk.syncs(), syncs + 2);
    assert_eq!(disk.synced(), disk.bytes());
}

#[test]
fn a_full_disk_is_an_error_and_leaves_whole_lines() {
    let whole = bytes_of(&records());
    for size in 0..whole.len() as u64 {
        let disk = SimDisk::new();
        disk.full_at(size);
        let Ok((mut side, _)) = SideFile::on(disk.clone()) else {
            assert!(size < 50, "the first line has room");
            continue;
        };
        let known = records()
            .iter()
            .take_while(|record| {
                side.append(std::slice::from_ref(*record), Durability::Lazy).is_ok()
            })
            .count();
        assert!(known < records().len());
        let error = side.append(&records()[known..], Durability::Lazy).unwrap_err();
        assert!(matches!(error, SideError::Poisoned { .. }), "{error}");
        assert_eq!(disk.bytes(), bytes_of(&records()[..known]));
        disk.repair();
        let (mut side, found) = SideFile::on(disk.clone()).unwrap();
        assert_eq!((found.records.as_slice(), found.cut), (&records()[..known], None));
        side.append(&records()[known..], Durability::Lazy).unwrap();
        assert_eq!(disk.bytes(), whole);
    }
}
