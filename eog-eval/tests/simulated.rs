//! Simulated snapshots are investigated and scored, and their causes are found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../../eog-simulate/tests/support/mod.rs"]
mod support;

use eog_eval::simulated::{Ablation, evaluate};
use eog_simulate::Scenario;
use support::{FAULTS, Made, truth};

const SIZE: u64 = 1_000_000;

#[test]
fn a_simulated_incident_is_investigated_and_scored() {
    let made = Made::new();
    let truth = made
        .truth(&truth("kind: ConfigMap, namespace: store, name: toggles-config", "a flag is set"));
    let parts = [Ablation::Whole, Ablation::Changes];
    let report = evaluate(&[truth], &made.architecture, 1, SIZE, &parts, |_| {}).unwrap();
    assert_eq!(report.means(Ablation::Whole).unwrap().2, 1.0, "{report:#?}");
    assert_eq!(report.means(Ablation::Changes).unwrap().0, 0.0, "{report:#?}");
    assert_eq!(report.to_csv().lines().count(), 3);
}

/// Another application than that of the data set, and every kind of fault.
#[test]
fn causes_of_every_kind_are_found_and_little_else_is_named() {
    let made = Made::new();
    let truths: Vec<Scenario> = FAULTS
        .iter()
        .enumerate()
        .map(|(number, (root, condition, _))| {
            let mut one = made.truth(&truth(root, condition));
            one.name = format!("{number}");
            one
        })
        .collect();
    let whole = [Ablation::Whole];
    let report = evaluate(&truths, &made.architecture, 2, SIZE, &whole, |_| {}).unwrap();
    println!("{report}");
    let (f1, _, recall) = report.means(Ablation::Whole).unwrap();
    assert!(recall >= 0.9 && f1 >= 0.8, "{}", report.to_csv());
    assert!(report.baselines().values().all(|f1| *f1 <= 0.5));
}
