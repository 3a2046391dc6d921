//! Suites of bundles: what is left out or odd is said, and several runs are compared.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::io::Write;
use std::path::Path;

use eog_eval::Funnel;
use eog_eval::fit::{Prior, Tried};
use eog_eval::suite::{self, SuiteReport};
use eog_eval::trajectory::Mode;
use eog_evidence::BundleSource;

/// A folder with copies of the shipped example, each with this truth.
fn suite_of(truths: &[(&str, &str)]) -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    for (name, truth) in truths {
        let folder = dir.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        for entry in example.read_dir().unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        std::fs::write(dir.path().join(format!("{name}.truth.json")), truth).unwrap();
    }
    dir
}

fn evaluate(dir: &tempfile::TempDir, runs: usize) -> SuiteReport {
    suite::evaluate(dir.path(), &suite::Options::runs(runs), &mut |_, _, _| {}).unwrap()
}

#[test]
fn a_cause_that_no_incident_has_is_reported_with_its_file_and_names_like_it() {
    let dir = suite_of(&[
        ("right", r#"{"causes": ["frontend"]}"#),
        ("slip", r#"{"causes": ["frontnd"]}"#),
    ]);
    std::fs::create_dir(dir.path().join("notes")).unwrap();
    let report = evaluate(&dir, 1);
    let notes = report.notes();
    assert_eq!(notes.len(), 2, "{notes:?}");
    assert!(notes[0].ends_with("folders without bundle.json: notes"), "{notes:?}");
    let file = dir.path().join("slip.truth.json").display().to_string();
    assert!(
        notes[1].starts_with(&format!("{file}: the incident has no entity \"frontnd\"")),
        "{notes:?}"
    );
    assert!(notes[1].contains("nearest: frontend"), "{notes:?}");
    let text = report.to_string();
    assert!(notes.iter().all(|note| text.contains(note)), "{text}");
}

#[test]
fn a_bundle_without_its_truth_names_the_file_to_be_written() {
    let dir = suite_of(&[("right", r#"{"causes": ["frontend"]}"#)]);
    let file = dir.path().join("right.truth.json");
    std::fs::remove_file(&file).unwrap();
    let refused = suite::evaluate(dir.path(), &suite::Options::runs(1), &mut |_, _, _| {});
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains(&format!("{}: it is missing", file.display())), "{refused}");
    assert!(refused.contains(r#"{"causes": []} for a normal time"#), "{refused}");
}

#[test]
fn counts_shares_and_failures_stand_in_text_and_table() {
    let dir = suite_of(&[
        ("right", r#"{"causes": ["frontend"]}"#),
        ("wrong", r#"{"causes": ["catalog", "gateway"]}"#),
    ]);
    // In a longer record the sale is no coincidence: both incidents are confirmed.
    for name in ["right", "wrong"] {
        let path = dir.path().join(name).join("metrics.csv");
        let mut metrics = std::fs::OpenOptions::new().append(true).open(path).unwrap();
        writeln!(metrics, "2026-03-20T09:20:00Z,mailer,queue,1,,,,").unwrap();
    }
    let report = evaluate(&dir, 1);
    let funnel = &report.groups[""].funnel;
    assert_eq!(funnel.count(Funnel::Named), 1);
    assert!((funnel.share(Funnel::Named) - 1.0 / 3.0).abs() < 1e-9);
    let shares: f64 = Funnel::ALL.iter().map(|stage| funnel.share(*stage)).sum();
    assert!((shares - 1.0).abs() < 1e-9, "{funnel:?}");
    // The frontend is confirmed where the truth says otherwise.
    assert_eq!(report.failures.modes[&Mode::WrongVerification], (1, 1, 2));
    let text = report.to_string();
    assert!(text.contains("used (named)          1  0.333"), "{text}");
    assert!(text.contains("3.3 accepted the wrong one               1     1     2"), "{text}");

    let csv = report.to_csv();
    let mut rows = csv.lines().map(|line| line.split(',').collect::<Vec<_>>());
    let header = rows.next().unwrap();
    let of = |row: &[&str], column: &str| {
        row[header.iter().position(|name| *name == column).unwrap()].to_owned()
    };
    let (right, wrong) = (rows.next().unwrap(), rows.next().unwrap());
    assert_eq!(of(&right, "funnel"), "frontend: used (named)");
    assert_eq!(of(&right, "mast_3_3"), "0");
    assert_eq!(of(&wrong, "mast_3_3"), "1");
    assert!(of(&wrong, "funnel").starts_with("catalog: "), "{wrong:?}");
    assert!(of(&wrong, "funnel").contains(" | gateway: ignored"), "{wrong:?}");
}

#[test]
fn several_runs_are_compared_and_the_scores_are_of_the_first() {
    let dir = suite_of(&[
        ("right", r#"{"causes": ["frontend"]}"#),
        ("wrong", r#"{"causes": ["catalog"]}"#),
    ]);
    let updates = std::cell::RefCell::new(Vec::new());
    let several = suite::evaluate(dir.path(), &suite::Options::runs(3), &mut |done, all, name| {
        updates.borrow_mut().push((done, all, name.to_owned()));
    })
    .unwrap();
    assert_eq!(*updates.borrow(), [(0, 2, "right".to_owned()), (1, 2, "wrong".to_owned())]);
    let runs = several.over_runs.as_ref().unwrap();
    assert_eq!(runs.runs, 3);
    assert_eq!(
        (runs.repeated.pass.value, runs.repeated.always.value, runs.repeated.consistent.value),
        (0.5, 0.5, 1.0)
    );
    assert_eq!(several.cases[0].runs.len(), 3);

    let one = evaluate(&dir, 1);
    assert!(one.over_runs.is_none());
    for (case, other) in one.cases.iter().zip(&several.cases) {
        assert_eq!((&case.named, case.ranked), (&other.named, other.ranked));
    }
}

#[test]
fn runs_that_disagree_are_not_consistent() {
    let dir = suite_of(&[("right", r#"{"causes": ["frontend"]}"#)]);
    let mut cases = evaluate(&dir, 3).cases;
    cases[0].runs[2].clear();
    let runs = SuiteReport::new(cases).over_runs.unwrap();
    let all = runs.repeated;
    let values = [all.pass, all.majority, all.reliability_gap, all.always, all.consistent]
        .map(|share| share.value);
    assert_eq!(values, [1.0, 1.0, 0.0, 0.0, 0.0]);
    assert_eq!(runs.same_causes.value, 0.0);
}

#[test]
fn each_source_of_evidence_is_taken_out_in_turn() {
    let dir = suite_of(&[("sale", r#"{"causes": ["frontend"]}"#)]);
    let options = suite::Options { ablations: true, ..suite::Options::runs(1) };
    let report = suite::evaluate(dir.path(), &options, &mut |_, _, _| {}).unwrap();
    let ablations = report.ablations.as_ref().unwrap();
    assert_eq!(ablations.whole.f1, 1.0);
    let held = |source: BundleSource| ablations.without[&source].holding;
    let files = ["spans.csv", "logs.csv", "metrics.csv", "changes.json", "events.csv"];
    for (source, file) in BundleSource::ALL.into_iter().zip(files) {
        let is_there = dir.path().join("sale").join(file).exists();
        assert_eq!(held(source) == 1, is_there, "{source}");
    }
    // The sale is on record as a change.
    let score = ablations.without[&BundleSource::Changes].score;
    assert!(score.f1 < 1.0 && score.incidents == 1, "{score:?}");
    let text = report.to_string();
    assert!(text.contains("by source of evidence, 1 incident in all"), "{text}");
    assert!(text.contains("without changes"), "{text}");

    // The same as if the file had never been written.
    std::fs::remove_file(dir.path().join("sale/metrics.csv")).unwrap();
    let without = evaluate(&dir, 1);
    let ablated = ablations.without[&BundleSource::Metrics].score;
    assert_eq!(without.cases[0].set.f1, ablated.f1);
    assert!(without.ablations.is_none());
}

#[test]
fn all_data_sets_of_a_folder_are_on_one_page() {
    let dir = tempfile::tempdir().unwrap();
    let truths = [("sale", r#"{"causes": ["frontend"]}"#)];
    for set in ["shop", "nested/other"] {
        let made = suite_of(&truths);
        let to = dir.path().join(set);
        std::fs::create_dir_all(to.parent().unwrap()).unwrap();
        std::fs::rename(made.path(), &to).unwrap();
    }
    std::fs::create_dir(dir.path().join("notes")).unwrap();
    let broken = dir.path().join("broken");
    std::fs::rename(suite_of(&[("sale", "{")]).path(), &broken).unwrap();
    let mut seen = Vec::new();
    let mut progress = |_: usize, _: usize, case: &str| seen.push(case.to_owned());
    let report =
        eog_eval::all::evaluate(dir.path(), &suite::Options::runs(1), &mut progress).unwrap();
    let sets: Vec<&str> = report.sets.iter().map(|set| set.name.as_str()).collect();
    assert_eq!(sets, ["nested/other", "shop"]);
    assert_eq!((report.sets[0].figures.incidents, report.sets[0].confirmed), (1, [1, 0]));
    assert!(report.notes()[0].contains("broken: "), "{:?}", report.notes());
    assert_eq!(report.to_csv().lines().count(), 3);
    assert!(report.to_string().contains("mean of the sets                   1.000"), "{report}");
    assert!(seen.contains(&"shop/sale".to_owned()), "{seen:?}");

    let none = eog_eval::all::evaluate(
        &dir.path().join("notes"),
        &suite::Options::runs(1),
        &mut |_, _, _| {},
    );
    assert!(none.unwrap_err().to_string().contains("each with NAME.truth.json beside it"));
}

#[test]
fn weights_of_a_system_that_is_left_out_are_fitted_on_the_others() {
    let right = || suite_of(&[("sale", r#"{"causes": ["frontend"]}"#)]);
    let misleading = suite_of(&[("sale", r#"{"causes": ["cache"]}"#)]);
    let fit = |dirs: &[&tempfile::TempDir]| {
        let dirs: Vec<_> = dirs.iter().map(|dir| dir.path().to_path_buf()).collect();
        let tried = Tried { held: &dirs[..1], generated: 1 };
        let prior = Prior::Units { strength: 0.01 };
        eog_eval::fit::evaluate(&dirs, &prior, tried, &mut |_, _, _| {}).unwrap()
    };
    let (a, b) = (right(), right());
    let agreeing = fit(&[&a, &b]);
    assert_eq!(agreeing.systems[1].others.top1, 1.0);
    // What the others teach counts, and not what the system itself says.
    let against = fit(&[&misleading, &a]);
    assert!(against.systems[1].others.top1 < 1.0, "{against}");
    let fitted: Vec<i32> = agreeing.weights.iter().map(|it| it.fitted).collect();
    assert!(agreeing.table.terms().map(|(_, weight)| weight).eq(fitted));
    // Two that it was fitted on, one of them again as if it were another, and each kind of generated system.
    let effects = &agreeing.effects;
    assert_eq!(effects.iter().filter(|it| it.is_fitted).count(), 2);
    assert_eq!((effects.len(), effects[2].after), (10, effects[0].after));
    assert!(agreeing.to_string().contains("generated services"), "{agreeing}");
    assert_eq!(agreeing.to_csv().lines().count(), 3);
}
