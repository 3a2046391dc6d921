//! Generated incidents of domains unlike each other, whose causes are known: the same policy
//! without a setting must find them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod machine;
mod services;

use eog_eval::suite::{self, SuiteCase, SuiteReport, Truth, score_case};
use eog_evidence::BundleWriter;

fn report(cases: impl Iterator<Item = (BundleWriter, Truth)>) -> SuiteReport {
    let scores = cases.enumerate().map(|(number, (writer, truth))| {
        let bundle = writer.to_bundle();
        score_case(
            SuiteCase::new(format!("case {number}"), bundle, truth),
            &suite::Options::runs(1),
        )
        .unwrap()
    });
    let report = SuiteReport::new(scores.collect());
    println!("{report}");
    report
}

#[test]
fn a_slow_service_is_distinguished_from_its_callers() {
    let report = report((0..60).map(services::incident));
    let group = &report.groups[""];
    assert!(group.ours.top1 >= 0.75, "{report}\n{}", report.to_csv());
    let best = group.baselines.values().map(|figures| figures.top1).fold(0.0, f64::max);
    assert!(best <= 0.75, "the noise is too weak\n{report}");
}

#[test]
fn a_noisy_alert_without_a_fault_confirms_nothing() {
    // Services that got slower for a reason of their own are named as likely: a known weakness.
    let report = report((0..60).map(services::quiet));
    let sure = report.cases.iter().filter(|case| case.confidence > eog::Confidence::Likely);
    assert_eq!(sure.count(), 0, "{report}\n{}", report.to_csv());
}

#[test]
fn causes_of_machine_alarms_are_found_in_a_cyclic_expert_graph() {
    let report = report((0..60).map(machine::incident));
    let group = &report.groups[""];
    // Far from what rules for such graphs reached (.9): what several alarms have in common is not weighed.
    assert!(group.ours.map >= 0.25, "{report}\n{}", report.to_csv());
    let best = group.baselines.values().map(|figures| figures.map).fold(0.0, f64::max);
    assert!(best <= 0.5, "the noise is too weak\n{report}");
}

#[test]
fn a_suite_is_read_from_a_folder() {
    let dir = tempfile::tempdir().unwrap();
    for (number, (writer, truth)) in (0..3).map(machine::incident).enumerate() {
        writer.write(&dir.path().join(format!("m{number}"))).unwrap();
        truth.write(&dir.path().join(format!("m{number}.truth.json"))).unwrap();
    }
    std::fs::write(dir.path().join("README"), "not a case").unwrap();
    let evaluate = |dir: &tempfile::TempDir| {
        suite::evaluate(dir.path(), &suite::Options::runs(1), &mut |_, _, _| {})
    };
    let read = evaluate(&dir).unwrap();
    let made = report((0..3).map(machine::incident));
    for (read, made) in read.cases.iter().zip(&made.cases) {
        assert_eq!((&read.named, read.ranked), (&made.named, made.ranked));
    }
    // One bad case does not end the suite.
    std::fs::remove_dir_all(dir.path().join("m1")).unwrap();
    std::fs::write(dir.path().join("m2.truth.json"), "{").unwrap();
    let rest = evaluate(&dir).unwrap();
    assert_eq!((rest.cases.len(), rest.unusable.len()), (1, 2));
    let said = rest.unusable.join("; ");
    assert!(said.contains("m1 is missing") && said.contains("m2.truth.json"), "{said}");
    let empty = tempfile::tempdir().unwrap();
    let error = evaluate(&empty).unwrap_err().to_string();
    assert!(error.contains("contains nothing to use"), "{error}");
}
