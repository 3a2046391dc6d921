//! `eog eval` through the real binary.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

fn eog() -> Command {
    Command::new(env!("CARGO_BIN_EXE_eog"))
}

fn printed(arguments: &[&str]) -> String {
    let output = eog().args(arguments).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn a_suite_of_bundles_is_scored_against_truths_that_no_investigation_sees() {
    let suite = tempfile::tempdir().unwrap();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    for (name, truth) in [("right", "frontend"), ("wrong", "catalog")] {
        let folder = suite.path().join(name);
        std::fs::create_dir(&folder).unwrap();
        for entry in example.read_dir().unwrap() {
            let entry = entry.unwrap();
            std::fs::copy(entry.path(), folder.join(entry.file_name())).unwrap();
        }
        let truth = format!("{{\"causes\": [\"{truth}\"]}}");
        std::fs::write(suite.path().join(format!("{name}.truth.json")), truth).unwrap();
    }
    let dir = suite.path().to_str().unwrap();
    let csv = suite.path().join("results.csv");
    let json = printed(&["eval", "suite", dir, "--format", "json", "--csv", csv.to_str().unwrap()]);
    let report: Value = serde_json::from_str(&json).unwrap();
    assert!(report.is_object());
    let rows = std::fs::read_to_string(&csv).unwrap();
    let row = |name: &str| rows.lines().find(|line| line.starts_with(name)).unwrap().to_owned();
    assert!(rows.lines().count() == 3, "{rows}");
    assert!(row("right").contains("frontend") && row("wrong").contains("catalog"), "{rows}");
    let text = printed(&["eval", "suite", dir]);
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
    let text = printed(&["eval", "petshop", dir.to_str().unwrap()]);
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
    for what in ["suite", "petshop"] {
        let output = eog().args(["eval", what]).arg(empty.path()).output().unwrap();
        assert_eq!(output.status.code(), Some(4));
        let said = String::from_utf8(output.stderr).unwrap();
        assert!(said.contains(empty.path().to_str().unwrap()), "{said}");
    }
}

#[test]
fn a_folder_is_no_name_for_a_table() {
    let empty = tempfile::tempdir().unwrap();
    for csv in [".", "..", "gone/.."] {
        let mut command = eog();
        command.current_dir(empty.path()).args(["eval", "suite", ".", "--csv", csv]);
        let output = command.output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        let said = String::from_utf8(output.stderr).unwrap();
        assert_eq!(said, format!("eog: --csv: {csv} is a folder; give a file\n"));
    }
}

#[test]
fn one_scenario_is_counted_as_one() {
    let dir = outputs();
    std::fs::remove_dir_all(dir.path().join("outputs/7/2")).unwrap();
    let at = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
    let text = printed(&["eval", "itbench", &at("truths.json"), &at("outputs"), "-k", "1"]);
    assert!(text.contains("1 scenario, 1 run each; 95 % intervals in brackets"), "{text}");
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

#[test]
fn runs_that_are_not_there_are_a_wrong_command_line() {
    let dir = outputs();
    let eval = |k: &str| {
        let (truths, outputs) = (dir.path().join("truths.json"), dir.path().join("outputs"));
        let output =
            eog().args(["eval", "itbench"]).args([truths, outputs]).args(["-k", k]).output();
        let output = output.unwrap();
        (output.status.code(), String::from_utf8(output.stderr).unwrap(), output.stdout)
    };
    for (k, expected) in
        [("0", "expected a whole number from 1 to 1000"), ("3", "scenario 7 has 2 runs")]
    {
        let (code, said, printed) = eval(k);
        assert_eq!((code, printed.as_slice()), (Some(2), &b""[..]), "{said}");
        assert!(said.contains(expected), "{said}");
    }
    let (code, said, printed) = eval("2");
    assert_eq!((code, said.as_str()), (Some(0), ""));
    let text = String::from_utf8(printed).unwrap();
    assert!(text.contains("scenario 8 is skipped: it has no ground truth"), "{text}");
    assert!(text.contains("reasoning") && text.contains("not scored: there is no judge"), "{text}");
}

#[test]
fn what_a_table_has_no_room_for_is_said_beside_it() {
    let dir = outputs();
    let (truths, folder) = (dir.path().join("truths.json"), dir.path().join("outputs"));
    let output =
        eog().args(["eval", "itbench"]).args([truths, folder]).args(["--format", "csv"]).output();
    let output = output.unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert_eq!(said, "eog: note: scenario 8 is skipped: it has no ground truth\n");
    assert_eq!(String::from_utf8(output.stdout).unwrap().lines().count(), 3);
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

/// `eog simulate` of such a folder: its code and what it says on standard error.
fn simulated(folder: &Path, options: &[&str]) -> (Option<i32>, String) {
    let output = eog()
        .current_dir(folder)
        .args(["simulate", "truths", "architecture.json", "--out", "out"])
        .args(options)
        .output()
        .unwrap();
    (output.status.code(), String::from_utf8(output.stderr).unwrap())
}

#[test]
fn a_folder_that_is_there_is_not_simulated_into() {
    let folder = scenarios(&["7"]);
    std::fs::create_dir(folder.path().join("out")).unwrap();
    let (code, said) = simulated(folder.path(), &[]);
    assert!(code == Some(2) && said.contains("exists already"), "{said}");
}

#[test]
fn scenarios_are_listed_by_number_and_each_has_an_id_of_its_own() {
    let ids = ["scenario-10", "scenario-9", "scenario-100"];
    let folder = scenarios(&ids);
    let listed = "choose one with --scenario: scenario-9, scenario-10, scenario-100";
    let (code, said) = simulated(folder.path(), &[]);
    assert!(code == Some(4) && said.contains(listed), "{said}");
    let (code, said) = simulated(folder.path(), &["--scenario", "scenario-1"]);
    let none = format!("it has no scenario \"scenario-1\"; {listed}");
    assert!(code == Some(4) && said.contains(&none), "{said}");

    let folder = scenarios(&["7", "8", "7"]);
    for options in [&[] as &[&str], &["--scenario", "7"]] {
        let (code, said) = simulated(folder.path(), options);
        assert_eq!(code, Some(4), "{said}");
        assert!(said.contains("several ground truths have the id \"7\""), "{said}");
    }
    assert!(!folder.path().join("out").exists());
    let (code, said) = simulated(folder.path(), &["--scenario", "8"]);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn a_simulation_that_needs_more_than_was_asked_for_says_so() {
    let folder = scenarios(&["7"]);
    let note = "eog: note: 1000000 bytes were requested, but this scenario needs at least ";
    let (code, said) = simulated(folder.path(), &["--size", "1MB"]);
    assert!(code == Some(0) && said.starts_with(note), "{said}");
    std::fs::remove_dir_all(folder.path().join("out")).unwrap();
    let (code, said) = simulated(folder.path(), &["--size", "10MB"]);
    assert_eq!((code, said.as_str()), (Some(0), ""));
}

/// Scores that took hours are not lost by a signal.
#[cfg(unix)]
#[test]
fn an_interrupted_evaluation_tells_what_it_has_scored() {
    use std::process::Stdio;

    let folder = tempfile::tempdir().unwrap();
    let ledgers = folder.path().join("ledgers");
    let child = eog()
        .args(["eval", "generated", "pipeline", "--seeds", "10000", "--out"])
        .arg(&ledgers)
        .env("TMPDIR", folder.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let kept = || std::fs::read_dir(&ledgers).map_or(0, Iterator::count);
    while kept() < 2 {
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    let id = child.id().to_string();
    assert!(Command::new("kill").args(["-INT", &id]).status().unwrap().success());
    let output = child.wait_with_output().unwrap();
    let (told, said) = (String::from_utf8(output.stdout).unwrap(), output.stderr);
    let said = String::from_utf8(said).unwrap();
    assert_eq!(output.status.code(), Some(130), "{said}");
    assert!(told.contains("  eog ") && told.contains("more cases are not scored"), "{told}");
    assert!(said.contains("interrupted"), "{said}");
    // Nor is a temporary folder left behind.
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1);
}

#[test]
fn options_of_a_model_are_refused_where_nothing_names_one() {
    let run = eog().args(["eval", "suite", "anywhere", "--max-usd", "1"]).output().unwrap();
    let said = String::from_utf8(run.stderr).unwrap();
    assert_eq!(run.status.code(), Some(2), "{said}");
    assert!(said.contains("need --model or --policy"), "{said}");
}
