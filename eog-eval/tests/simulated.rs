//! Simulated snapshots are investigated and scored, and their causes are found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../eog-simulate/tests/support/mod.rs"]
mod support;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use eog_eval::Method;
use eog_eval::simulated::{Ablation, Settings, evaluate};
use eog_simulate::Scenario;
use eog_simulate::snapshot::Harmless;
use eog_sre::Stop;
use support::{FAULTS, Made, truth};

const SIZE: u64 = 1_000_000;

fn settings(seeds: u64, ablations: &[Ablation]) -> Settings {
    let (harmless, ablations) = (Harmless::default(), ablations.to_vec());
    let method = Method::default();
    Settings { seeds: 1..=seeds, size: SIZE, harmless, ablations, method, stop: None }
}

#[test]
fn a_simulated_incident_is_investigated_and_scored() {
    let made = Made::new();
    let truth = made
        .truth(&truth("kind: ConfigMap, namespace: store, name: toggles-config", "a flag is set"));
    let parts = [Ablation::Whole, Ablation::Changes];
    let report = evaluate(&[truth], &made.architecture, &settings(1, &parts), |_| {}).unwrap();
    for part in parts {
        assert!(report.means(part).is_some(), "{report:#?}");
    }
    assert_eq!(report.to_csv().lines().count(), 3);
}

fn truths_of_every_kind(made: &Made) -> Vec<Scenario> {
    let truths = FAULTS.iter().enumerate().map(|(number, (root, condition, _))| {
        let mut one = made.truth(&truth(root, condition));
        one.name = format!("{number}");
        one
    });
    truths.collect()
}

#[test]
fn what_was_scored_stands_when_it_is_stopped() {
    let made = Made::new();
    let truths = &truths_of_every_kind(&made)[..3];
    let done = Arc::new(AtomicUsize::new(0));
    let seen = Arc::clone(&done);
    let stop = Some(Stop::when(move || seen.load(Ordering::Relaxed) >= 1));
    let settings = Settings { stop, ..settings(1, &[Ablation::Whole]) };
    let report = evaluate(truths, &made.architecture, &settings, |_| {
        done.fetch_add(1, Ordering::Relaxed);
    });
    let report = report.unwrap();
    assert_eq!((report.cases.len(), report.not_scored), (1, 2), "{report}");
    assert!(report.to_string().contains("stopped: 2 more truths are not scored"), "{report}");
}

/// Another application than that of the data set, and every kind of fault.
#[test]
fn causes_of_every_kind_are_found_and_little_else_is_named() {
    let made = Made::new();
    let truths = truths_of_every_kind(&made);
    let whole = [Ablation::Whole];
    let report = evaluate(&truths, &made.architecture, &settings(2, &whole), |_| {}).unwrap();
    println!("{report}");
    let (f1, _, recall) = report.means(Ablation::Whole).unwrap();
    assert!(recall >= 0.8 && f1 >= 0.75, "{}", report.to_csv());
    assert!(report.baselines().values().all(|f1| *f1 <= 0.5));
}

/// After a knock-out no finding speaks of the cause, nor of what it made.
#[test]
fn a_knock_out_leaves_nothing_of_the_cause() {
    let made = Made::new();
    let truths = truths_of_every_kind(&made);
    let both = [Ablation::Whole, Ablation::Causes];
    let report = evaluate(&truths, &made.architecture, &settings(1, &both), |_| {}).unwrap();
    println!("{report}");
    for case in report.cases.iter().filter(|case| case.ablation == Ablation::Causes) {
        let scored = case.scored.as_ref().unwrap_or_else(|| panic!("{}", case.reason));
        let expected = FAULTS[case.scenario.parse::<usize>().unwrap()].2;
        let made_by_cause = |named: &&eog::EntityId| named.as_str().starts_with(expected);
        let named_by_change = scored.named.iter().find(made_by_cause);
        let is_made = expected.contains("Chaos") || expected.contains("Schedule");
        assert!(!is_made || named_by_change.is_none(), "{expected}: {:?}", scored.named);
    }
    let calibration = report.calibration.unwrap();
    assert_eq!(calibration.knocked_out.unwrap().results, FAULTS.len());
}
