//! `eog eval` through the real binary.

use std::path::Path;

use crate::common::{FLASH_SALE, Run, command, copy_tree, read, run};

#[test]
fn a_suite_of_bundles_is_scored_against_truths_that_no_investigation_sees() {
    let suite = tempfile::tempdir().unwrap();
    for (name, truth) in [("right", "frontend"), ("wrong", "catalog")] {
        copy_tree(FLASH_SALE, suite.path().join(name));
        let truth = format!("{{\"causes\": [\"{truth}\"]}}");
        std::fs::write(suite.path().join(format!("{name}.truth.json")), truth).unwrap();
    }
    let csv = suite.path().join("results.csv");
    let report = run!("eval", "suite", suite, "--format", "json", "--csv", csv).exits(0).json();
    assert!(report.is_object());
    let rows = read(&csv);
    let row = |name: &str| rows.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(rows.lines().count() == 3, "{rows}");
    assert!(row("right").contains("frontend") && row("wrong").contains("catalog"), "{rows}");
    let text = run!("eval", "suite", suite).exits(0).out;
    let ours = text.lines().find(|line| line.trim_start().starts_with("eog ")).unwrap();
    assert_eq!(ours.split_whitespace().nth(1), Some("0.500"), "one of two: {text}");
}

#[test]
fn petshop_is_scored_by_one_command() {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/petshop/low_traffic");
    if !dir.is_dir() {
        eprintln!("skipped: no data set at {}", dir.display());
        return;
    }
    let text = run!("eval", "petshop", dir).exits(0).out;
    let top = |kind: &str| {
        let below = text.split_once(&format!("{kind}: ")).unwrap().1;
        let line = below.lines().find(|line| line.trim_start().starts_with("eog ")).unwrap();
        let figures: Vec<f64> =
            line.split_whitespace().skip(1).take(2).map(|word| word.parse().unwrap()).collect();
        (figures[0], figures[1])
    };
    assert!(top("latency").0 >= 11.0 / 14.0 && top("latency").1 >= 13.0 / 14.0, "{text}");
    assert!(top("availability").0 >= 0.83 && top("availability").1 >= 1.0, "{text}");
}

#[test]
fn what_cannot_be_evaluated_is_said_with_its_place() {
    let empty = tempfile::tempdir().unwrap();
    let place = empty.path().to_str().unwrap();
    for what in ["suite", "petshop"] {
        run!("eval", what, place).exits(4).says(&[place]);
    }
    // A folder is no name for a table.
    for csv in [".", "..", "gone/.."] {
        let mut command = command!("eval", "suite", ".", "--csv", csv);
        let refused = Run::of(command.current_dir(empty.path())).exits(2);
        assert_eq!(refused.err, format!("eog: --csv: {csv} is a folder; give a file\n"));
    }
    // Nor are there options of a model where nothing names one.
    let expected = "need --model or --policy";
    run!("eval", "suite", "anywhere", "--max-usd", "1").exits(2).says(&[expected]);
}

/// A folder of outputs and truths: one scenario with two runs, one without a truth.
fn outputs() -> tempfile::TempDir {
    let dir = tempfile::tempdir().unwrap();
    let truth = r#"[{"id": "7", "groups": [
        {"id": "flags", "kind": "ConfigMap", "name": "flags", "root_cause": true}]}]"#;
    std::fs::write(dir.path().join("truths.json"), truth).unwrap();
    for run in ["7/1", "7/2", "8/1"] {
        let folder = dir.path().join("outputs").join(run);
        std::fs::create_dir_all(&folder).unwrap();
        std::fs::write(folder.join("agent_output.json"), r#"{"entities": []}"#).unwrap();
    }
    dir
}

fn itbench(dir: &tempfile::TempDir, options: &[&str]) -> Run {
    let at = |name: &str| dir.path().join(name);
    run!("eval", "itbench", at("truths.json"), at("outputs"), options)
}

#[test]
fn runs_that_are_not_there_are_a_wrong_command_line() {
    let dir = outputs();
    for (k, expected) in
        [("0", "expected a whole number from 1 to 1000"), ("3", "scenario 7 has 2 runs")]
    {
        assert_eq!(itbench(&dir, &["-k", k]).exits(2).says(&[expected]).out, "");
    }
    let scored = itbench(&dir, &["-k", "2"]).exits(0).prints(&[
        "scenario 8 is skipped: it has no ground truth",
        "reasoning",
        "not scored: there is no judge",
    ]);
    assert_eq!(scored.err, "");
    // What a table has no room for is said beside it.
    let table = itbench(&dir, &["--format", "csv"]);
    assert_eq!(table.err, "eog: note: scenario 8 is skipped: it has no ground truth\n");
    assert_eq!(table.out.lines().count(), 3);
    std::fs::remove_dir_all(dir.path().join("outputs/7/2")).unwrap();
    let expected = "1 scenario, 1 run each; 95 % intervals in brackets";
    itbench(&dir, &["-k", "1"]).exits(0).prints(&[expected]);
}

const ARCHITECTURE: &str = r#"{
  "components": {"services": [{"name": "web-service"}, {"name": "basket-service"}]},
  "dependencies": [{"source": "web-service", "target": "basket-service"}]}"#;

/// A folder with an architecture, and scenarios with these ids in the order of the list.
fn scenarios(ids: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("architecture.json"), ARCHITECTURE).unwrap();
    for (at, id) in ids.iter().enumerate() {
        let scenario = folder.path().join(format!("truths/{at}"));
        std::fs::create_dir_all(&scenario).unwrap();
        let truth = format!(
            "id: '{id}'\nfault: [{{category: Change, condition: it is lost}}]\n\
             groups:\n- {{id: root, root_cause: true, kind: Pod, namespace: store, name: basket-a-b}}\n\
             - {{id: web, kind: Service, namespace: store, filter: ['web\\b']}}\n\
             propagations:\n- {{source: root, target: web, condition: it is lost, effect: it fails}}\n"
        );
        std::fs::write(scenario.join("ground_truth.yaml"), truth).unwrap();
    }
    folder
}

/// `eog simulate` of such a folder.
fn simulated(folder: &Path, options: &[&str]) -> Run {
    let mut command = command!("simulate", "truths", "architecture.json", "--out", "out", options);
    Run::of(command.current_dir(folder))
}

#[test]
fn a_folder_that_is_there_is_not_simulated_into() {
    let folder = scenarios(&["7"]);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    simulated(folder.path(), &[]).exits(2).says(&["exists already"]);
}

#[test]
fn scenarios_are_listed_by_number_and_each_has_an_id_of_its_own() {
    let folder = scenarios(&["scenario-10", "scenario-9", "scenario-100"]);
    let listed = "choose one with --scenario: scenario-9, scenario-10, scenario-100";
    simulated(folder.path(), &[]).exits(4).says(&[listed]);
    let none = format!("it has no scenario \"scenario-1\"; {listed}");
    simulated(folder.path(), &["--scenario", "scenario-1"]).exits(4).says(&[&none]);

    let folder = scenarios(&["7", "8", "7"]);
    for options in [&[] as &[&str], &["--scenario", "7"]] {
        let expected = "several ground truths have the id \"7\"";
        simulated(folder.path(), options).exits(4).says(&[expected]);
    }
    assert!(!folder.path().join("out").exists());
    simulated(folder.path(), &["--scenario", "8"]).exits(0);
}

#[test]
fn recorded_snapshots_are_investigated_several_times_and_scored() {
    let folder = scenarios(&["7"]);
    let at = |name: &str| folder.path().join(name);
    simulated(folder.path(), &["--size", "1MB"]).exits(0);
    std::fs::create_dir(at("snapshots")).unwrap();
    let (csv, architecture) = (at("runs.csv"), at("architecture.json"));
    let evaluated = || {
        let options = ["--runs", "3", "--csv"];
        let architecture = ["--architecture".as_ref(), architecture.as_os_str()];
        run!("eval", "snapshots", at("truths"), at("snapshots"), architecture, options, csv)
    };
    evaluated().exits(4).says(&["folders of snapshots (Scenario-N), each with a ground truth"]);
    // Truths of a folder are known by the number of their own.
    std::fs::rename(at("out"), at("snapshots/Scenario-0")).unwrap();
    evaluated().exits(0).prints(&["Pass@3", "Majority@3", "1 scenario, 3 runs each"]);
    assert_eq!(read(&csv).lines().count(), 4);
}

#[test]
fn a_simulation_that_needs_more_than_was_asked_for_says_so() {
    let folder = scenarios(&["7"]);
    let note = "eog: note: 1000000 bytes were requested, but this scenario needs at least ";
    let small = simulated(folder.path(), &["--size", "1MB"]).exits(0);
    assert!(small.err.starts_with(note), "{small:?}");
    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    assert_eq!(simulated(folder.path(), &["--size", "10MB"]).exits(0).err, "");
}

/// Scores that took hours are not lost by a signal.
#[cfg(unix)]
#[test]
fn an_interrupted_evaluation_prints_what_it_has_scored() {
    use crate::common::{signal, start, until};

    let folder = tempfile::tempdir().unwrap();
    let ledgers = folder.path().join("ledgers");
    let generated = ["eval", "generated", "pipeline", "--seeds", "10000", "--out"];
    let child = start(command!(generated, ledgers).env("TMPDIR", folder.path()));
    let kept = || std::fs::read_dir(&ledgers).map_or(0, Iterator::count);
    until("two are scored", || kept() >= 2);
    signal("-INT", &child);
    let run = Run::from(child.wait_with_output().unwrap()).exits(130);
    run.prints(&["  eog ", "more cases are not scored"]).says(&["interrupted"]);
    // Nor is a temporary folder left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}
