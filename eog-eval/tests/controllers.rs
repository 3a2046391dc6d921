//! All controllers on the same generated incidents: every table has its rows, limits hold, nothing depends on chance.

use std::collections::BTreeSet;

use eog_eval::controllers::{
    CONTROLLERS, Comparison, Condition, Incidents, Settings, Tables, compare,
};
use eog_eval::generated::Kind;
use eog_eval::trajectory::Mode;

fn compared(tables: Tables, wrong: f64, incidents: u64) -> Comparison {
    let incidents = Incidents::Generated { world: Kind::Pipeline.into(), seeds: 1..=incidents };
    let settings = Settings { wrong, runs: 2, seed: 1, tables };
    compare(&[incidents], &settings, &mut |_, _, _| ()).expect("they can be generated")
}

#[test]
fn without_more_there_are_two_judges_and_no_other_table() {
    let report = compared(Tables::default(), 0.2, 2);
    // Once by the rules, twice by rules that err.
    assert_eq!(report.results.len(), 2 * CONTROLLERS.len() * 3);
    let text = report.to_string();
    assert_eq!(text.matches("\nJudged by").count(), 2, "{text}");
    for no in ["by errors", "by the most questions", "One choice changed", "MAST"] {
        assert!(!text.contains(no), "{no}: {text}");
    }
    assert!(!report.to_csv().contains("mast_1_1"));
    assert!(report.charts().expect("there is nothing to draw").is_empty());
    // A judge without errors is the only one where none errs.
    let report = compared(Tables::default(), 0.0, 2);
    assert_eq!(report.results.len(), 2 * CONTROLLERS.len());
    assert_eq!(report.to_string().matches("\nJudged by").count(), 1);
}

#[test]
fn every_table_has_its_rows_and_equal_settings_give_equal_bytes() {
    let all = Tables { by_errors: true, by_calls: true, ablations: true, failures: true };
    let report = compared(all, 0.2, 1);
    let small = || {
        let report = compared(Tables { failures: true, ..Tables::default() }, 0.2, 1);
        (report.to_csv(), report.to_string())
    };
    assert_eq!(small(), small());
    assert_eq!(report.charts().expect("they can be drawn").len(), 2);

    let text = report.to_string();
    for (title, tables, rows) in [
        ("by errors of the judge", 1, CONTROLLERS.len()),
        ("by the most questions", 2, CONTROLLERS.len()),
        // Six of eight controllers with their defaults, and 23 rows.
        ("One choice changed", 2, 23),
    ] {
        let mut parts = text.split(title).skip(1).map(|rest| {
            let lines = rest.lines().skip_while(|line| !line.starts_with("|---")).skip(1);
            lines.take_while(|line| line.starts_with("| ")).count()
        });
        assert_eq!(parts.by_ref().collect::<Vec<_>>(), vec![rows; tables], "{title}: {text}");
    }
    let counted = Mode::ALL.iter().filter(|mode| text.contains(&format!("| {mode} |"))).count();
    assert!(counted >= 10, "{text}");

    let mut seen = BTreeSet::new();
    for it in &report.results {
        let Condition { contender, wrong, most } = it.condition;
        let key = (it.incident.clone(), contender.to_string(), wrong.to_bits(), most, it.run);
        assert!(seen.insert(key), "{it:?} was investigated twice");
        assert!(most.is_none_or(|most| it.questions <= most), "{it:?}");
        assert_eq!(it.run == 0, wrong == 0.0);
        assert_eq!(it.failures.is_some(), most.is_none());
    }
    // Each run is in one of the two columns of the table of failures.
    for controller in CONTROLLERS {
        let [right, wrong] = report.failures(controller, 0.2);
        assert_eq!(right.len() + wrong.len(), 2, "{controller}");
    }
}

/// A folder with copies of the shipped example, each with this truth.
fn set_of(dir: &std::path::Path, cases: &[(&str, &str)]) {
    let example = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    for (name, truth) in cases {
        let folder = dir.join(name);
        std::fs::create_dir_all(&folder).expect("it is a fresh folder");
        for entry in example.read_dir().expect("it is shipped") {
            let entry = entry.expect("it can be listed");
            std::fs::copy(entry.path(), folder.join(entry.file_name())).expect("it can be copied");
        }
        std::fs::write(dir.join(format!("{name}.truth.json")), truth).expect("it can be written");
    }
}

#[test]
fn a_folder_of_sets_has_tables_for_each_and_names_apart_from_confirmed() {
    let dir = tempfile::tempdir().expect("a folder");
    set_of(&dir.path().join("shop"), &[("sale", r#"{"causes": ["frontend"]}"#)]);
    let other = [("sale", r#"{"causes": ["mailer"]}"#), ("calm", r#"{"causes": []}"#)];
    set_of(&dir.path().join("other"), &other);
    let settings = Settings { wrong: 0.0, runs: 1, seed: 1, tables: Tables::default() };
    let incidents = Incidents::Suite(dir.path().to_owned());
    let report = compare(&[incidents], &settings, &mut |_, _, _| ()).expect("it has bundles");
    assert_eq!(report.results.len(), 3 * CONTROLLERS.len());
    let text = report.to_string();
    let sets: Vec<&str> = text.lines().filter(|line| line.starts_with("## ")).collect();
    assert_eq!(sets, ["## other", "## shop"], "{text}");
    assert_eq!(text.matches("\nJudged by").count(), 2, "{text}");
    assert!(text.contains("Incidents: 2. Normal times: 1."), "{text}");
    for it in &report.results {
        // An answer with causes names these, and every answer chooses something.
        assert!(it.named.is_empty() || it.named == it.chosen, "{it:?}");
        assert!(!it.chosen.is_empty(), "{it:?}");
    }
    let eog = report.judged(&Condition::usual(CONTROLLERS[0], 0.0)).expect("it was compared");
    // It names the cause of one of two incidents; all three results are confirmed, two of them wrong.
    assert_eq!((eog.named.value, eog.found.value, eog.confirmed.value), (0.5, 0.5, 0.5));
    assert!((eog.wrongly - 2.0 / 3.0).abs() < 1e-9, "{eog:?}");
    assert_eq!(report.to_csv().lines().next().expect("a header").split(',').next(), Some("set"));
}

#[test]
fn several_sets_have_one_table_across_them() {
    let dir = tempfile::tempdir().expect("a folder");
    set_of(&dir.path().join("shop"), &[("sale", r#"{"causes": ["frontend"]}"#)]);
    let settings = Settings { wrong: 0.0, runs: 1, seed: 1, tables: Tables::default() };
    let sets = [
        Incidents::Suite(dir.path().join("shop")),
        Incidents::Generated { world: Kind::Pipeline.into(), seeds: 1..=2 },
    ];
    let report = compare(&sets, &settings, &mut |_, _, _| ()).expect("both can be read");
    let text = report.to_string();
    assert_eq!((report.all, report.results.len()), (3, 3 * CONTROLLERS.len()));
    for share in ["named", "found", "confirmed"] {
        let title = format!("All sets, {share}, judged by the rules\n");
        let rows = text.split(&title).nth(1).unwrap_or_else(|| panic!("{title}: {text}"));
        let rows: Vec<&str> = rows.lines().skip(3).take(2).collect();
        assert!(rows[0].starts_with("| generated pipeline (2) | "), "{rows:?}");
        assert!(rows[1].starts_with("| shop (1) | "), "{rows:?}");
        assert_eq!(rows[0].matches(" | ").count(), CONTROLLERS.len(), "{rows:?}");
    }
    assert_eq!(text.matches("\n## ").count(), 2, "{text}");
}
