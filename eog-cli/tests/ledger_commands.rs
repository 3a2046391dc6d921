//! `replay`, `explain` and `diff` of the real binary.

use crate::common;

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use common::{eog, investigate_json};

/// Investigates the shipped incident into a folder.
fn run_into(folder: &Path, options: &[&str]) -> serde_json::Value {
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let mut arguments = vec![bundle.as_os_str(), "--out".as_ref(), folder.as_os_str()];
    arguments.extend(options.iter().map(|option| -> &std::ffi::OsStr { option.as_ref() }));
    investigate_json(&arguments).1
}

/// Exit code, standard output, standard error.
fn run(arguments: &[&str]) -> (i32, String, String) {
    let output = eog().args(arguments).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (output.status.code().unwrap(), text(output.stdout), text(output.stderr))
}

#[test]
fn a_replay_concludes_what_the_run_did() {
    let folder = tempfile::tempdir().unwrap();
    let result = run_into(folder.path(), &[]);
    let path = folder.path().to_str().unwrap();
    let (code, json, _) = run(&["replay", path, "--format", "json"]);
    let replayed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(code, 0);
    for field in ["conclusion", "beliefs", "causal_claims", "evidence", "spent", "stop"] {
        assert_eq!(replayed[field], result[field], "{field}");
    }
    let (_, text, _) = run(&["replay", path]);
    let (first, _) = text.split_once('\n').unwrap();
    assert!(first.ends_with(" entries verified"), "{text}");
}

#[test]
fn a_ledger_that_ends_early_is_said_to_be_interrupted_at_once() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &[]);
    let file = folder.path().join("ledger.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    let begin: Vec<&str> = whole.lines().take(2).collect();
    std::fs::write(&file, begin.join("\n") + "\n").unwrap();
    let path = file.to_str().unwrap();
    let (code, text, _) = run(&["replay", path]);
    assert_eq!(code, 3);
    let headline = "\nINCONCLUSIVE, interrupted: no origin was found that explains an alert\n";
    assert!(text.contains(headline), "{text}");
}

#[test]
fn a_ledger_that_is_cut_off_names_the_line_in_the_file() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &[]);
    let file = folder.path().join("ledger.jsonl");
    let whole = std::fs::read_to_string(&file).unwrap();
    let third = whole.match_indices('\n').nth(2).unwrap().0;
    std::fs::write(&file, &whole[..third - 10]).unwrap();
    let (code, _, error) = run(&["replay", file.to_str().unwrap()]);
    assert_eq!(code, 4);
    assert!(error.contains("line 3 is not a ledger entry: it ends in the middle"), "{error}");
    assert!(!error.contains("line 1"), "{error}");
}

#[test]
fn a_forged_ledger_is_refused_by_entry() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &[]);
    let file = folder.path().join("ledger.jsonl");
    let text = std::fs::read_to_string(&file).unwrap();
    std::fs::write(&file, text.replacen("\"label\":\"origin\"", "\"label\":\"healthy\"", 1))
        .unwrap();
    let (code, _, errors) = run(&["replay", file.to_str().unwrap()]);
    assert_eq!(code, 4);
    assert!(errors.contains("entry 2 breaks the chain"), "{errors}");
    let (code, _, errors) = run(&["replay", folder.path().join("none").to_str().unwrap()]);
    assert_eq!(code, 4);
    assert!(errors.contains("none"), "{errors}");
}

#[test]
fn an_unknown_format_is_refused_by_its_number() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/format-1");
    let (code, text, _) = run(&["replay", golden.join("refusals.jsonl").to_str().unwrap()]);
    assert_eq!(code, 3, "{text}");
    let (code, same, _) = run(&["replay", golden.join("refusals.journal").to_str().unwrap()]);
    assert_eq!((code, same), (3, text));
    let known = std::fs::read_to_string(golden.join("refusals.jsonl")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.jsonl");
    std::fs::write(&file, known.replacen("\"format\":1,", "\"format\":99,", 1)).unwrap();
    let (code, _, errors) = run(&["replay", file.to_str().unwrap()]);
    assert_eq!(code, 4);
    assert!(errors.contains("has format 99, but this program reads format 1"), "{errors}");
}

#[test]
fn an_explanation_names_what_the_label_hangs_on() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &[]);
    let path = folder.path().to_str().unwrap();
    let (code, text, _) = run(&["explain", path, "frontend"]);
    assert_eq!(code, 0);
    for part in ["frontend: origin", "WHAT IT DEPENDS ON", "without chg-", "it would be defer"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let (_, text, _) = run(&["explain", path, "database"]);
    let heard = "message: processor is a symptom: database → processor\n";
    assert!(text.contains(heard), "{text}");
    let (code, _, errors) = run(&["explain", path, "databas"]);
    assert_eq!(code, 4);
    assert!(errors.contains("there is no entity databas; did you mean database?"), "{errors}");
    let (_, _, errors) = run(&["explain", path, "xyz"]);
    assert!(errors.contains("there is no entity xyz; evaluated entities include "), "{errors}");
}

#[test]
fn no_commands_are_printed_that_would_show_nothing() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &[]);
    let path = folder.path().to_str().unwrap();
    let examples = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples");
    let other = examples.join("bottling-line");
    for (wrong, why) in [
        ("nowhere", "there is no such folder"),
        (path, "neither a bundle"),
        (other.to_str().unwrap(), "was started with a different input"),
    ] {
        let (code, text, errors) = run(&["explain", path, "frontend", wrong]);
        assert_eq!((code, text.as_str()), (4, ""), "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
    let own = examples.join("flash-sale");
    let own = own.to_str().unwrap();
    let (code, text, _) = run(&["explain", path, "frontend", own]);
    assert_eq!(code, 0);
    assert!(text.contains("eog tool evidence"), "{text}");

    // The page and the explanation read it alike, within the same bounds.
    let page = folder.path().join("page.html");
    for command in [
        &["explain", path, "frontend", own] as &[&str],
        &["report", path, own, "--html", page.to_str().unwrap()],
    ] {
        let (code, text, errors) = run(&[command, &["--max-memory", "1K"]].concat());
        assert_eq!((code, text.as_str()), (4, ""), "{errors}");
        assert!(errors.contains("--max-memory"), "{errors}");
    }
    assert!(!page.exists());
    let (code, _, errors) = run(&["explain", path, "frontend", "--max-memory", "1K"]);
    assert_eq!(code, 2);
    assert!(errors.contains("<PATH>"), "{errors}");
}

/// A journal of the shipped incident, and `source.toml` with live sources at an address where this test listens.
fn journal_of_live_sources(folder: &Path) -> TcpListener {
    let journal = folder.join("run.journal");
    run_into(&folder.join("out"), &["--journal", journal.to_str().unwrap()]);
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.set_nonblocking(true).unwrap();
    let config = format!("[prometheus]\nurl = 'http://{}'\n", listener.local_addr().unwrap());
    std::fs::write(folder.join("source.toml"), config).unwrap();
    listener
}

/// Nobody has connected.
fn nobody_asked(listener: &TcpListener) {
    let error = listener.accept().map(|(_, from)| from).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::WouldBlock);
}

/// Leaves an unfinished capture of another configuration beside the journal, and names its file.
fn begin_another_capture(folder: &Path) -> PathBuf {
    let kept = folder.join("run.journal.capture/.capture");
    std::fs::create_dir_all(&kept).unwrap();
    let plan = serde_json::json!({
        "version": 1, "digest": "of another", "window": null, "now": "2026-01-01T10:00:00Z"
    });
    std::fs::write(kept.join("plan.json"), plan.to_string()).unwrap();
    kept.join("plan.json")
}

#[test]
fn an_explanation_asks_no_live_sources_and_starts_no_servers() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let listener = journal_of_live_sources(folder.path());
    let servers = format!(
        "[servers.own]\ncommand = '/bin/sh'\nargs = ['-c', 'touch {}']\n[context]\nserver = 'own'\n\
         tool = 'get_context'\n",
        at("started")
    );
    std::fs::write(at("servers.toml"), servers).unwrap();
    let explain = |file: &str| {
        let (code, text, errors) = run(&["explain", &at("run.journal"), "frontend", &at(file)]);
        assert_eq!(code, 0, "{errors}");
        assert!(text.contains("eog tool evidence") && text.contains(file), "{text}");
    };
    explain("source.toml");
    explain("servers.toml");
    assert!(!Path::new(&at("run.journal.capture")).exists());
    let plan = begin_another_capture(folder.path());
    let then = std::fs::read(&plan).unwrap();
    explain("source.toml");
    assert_eq!(std::fs::read(&plan).unwrap(), then);
    assert_eq!(std::fs::read_dir(at("run.journal.capture")).unwrap().count(), 1);
    nobody_asked(&listener);
    assert!(!Path::new(&at("started")).exists());

    let command = ["explain", &at("run.journal"), "frontend", &at("source.toml"), "--cache", "c"];
    let (code, _, errors) = run(&command);
    assert_eq!(code, 2, "{errors}");
}

#[test]
fn an_explanation_compares_a_finished_capture_beside_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let listener = journal_of_live_sources(folder.path());
    let capture = folder.path().join("run.journal.capture");
    let report = serde_json::json!({
        "format": "eog-capture", "version": 1, "name": "captured", "sources": [], "counts": [],
        "captured": { "start": "2026-01-01T10:00:00Z", "end": "2026-01-01T11:00:00Z" },
        "missing": [], "notes": []
    });
    for (incident, expected) in [("flash-sale", 0), ("bottling-line", 4)] {
        let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(incident);
        std::fs::create_dir(&capture).unwrap();
        for entry in std::fs::read_dir(bundle).unwrap() {
            let entry = entry.unwrap();
            if entry.file_type().unwrap().is_file() {
                std::fs::copy(entry.path(), capture.join(entry.file_name())).unwrap();
            }
        }
        std::fs::write(capture.join("capture.json"), report.to_string()).unwrap();
        let command = ["explain", &at("run.journal"), "frontend", &at("source.toml")];
        let (code, text, errors) = run(&command);
        assert_eq!(code, expected, "{errors}");
        assert_eq!(text.contains("eog tool evidence"), expected == 0, "{text}");
        assert_eq!(
            errors.contains("was started with a different input"),
            expected == 4,
            "{errors}"
        );
        std::fs::remove_dir_all(&capture).unwrap();
    }
    nobody_asked(&listener);
}

#[test]
fn an_unfinished_capture_of_another_configuration_is_an_input_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let listener = journal_of_live_sources(folder.path());
    begin_another_capture(folder.path());
    let (journal, config) = (at("run.journal"), at("source.toml"));
    let refused = |expected: i32, command: &[&str]| {
        let (code, _, errors) = run(command);
        assert_eq!(code, expected, "{command:?}: {errors}");
        assert!(errors.contains("an unfinished capture of another"), "{errors}");
    };
    refused(4, &["resume", &journal, &config]);
    refused(4, &["fork", &journal, &config, "--at", "2"]);
    // Who asks for that folder is to name another.
    refused(2, &["capture", "--from", &config, "--out", &at("run.journal.capture")]);
    nobody_asked(&listener);
}

#[test]
fn a_damaged_capture_is_an_input_that_cannot_be_used() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let listener = journal_of_live_sources(folder.path());
    let plan = begin_another_capture(folder.path());
    std::fs::write(&plan, "{").unwrap();
    let (journal, config, out) = (at("run.journal"), at("source.toml"), at("run.journal.capture"));
    for (expected, command) in [
        (4, &["resume", &journal, &config] as &[&str]),
        (4, &["fork", &journal, &config, "--at", "2"]),
        (2, &["capture", "--from", &config, "--out", &out]),
    ] {
        let (code, _, errors) = run(command);
        assert_eq!(code, expected, "{command:?}: {errors}");
        assert!(errors.contains("plan.json"), "{errors}");
    }
    nobody_asked(&listener);
}

#[test]
fn a_report_goes_on_with_no_capture_beside_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
    let listener = journal_of_live_sources(folder.path());
    let capture = folder.path().join("run.journal.capture");
    std::fs::create_dir(&capture).unwrap();
    let report = || {
        let page = at("page.html");
        let command = ["report", &at("run.journal"), &at("source.toml"), "--html", &page];
        let (code, _, errors) = run(&command);
        assert_eq!(code, 4, "{errors}");
        assert!(!Path::new(&page).exists());
        errors
    };
    let errors = report();
    assert!(errors.contains("not finished") && errors.contains("eog resume"), "{errors}");
    assert_eq!(std::fs::read_dir(&capture).unwrap().count(), 0);
    std::fs::write(capture.join("capture.json"), "{").unwrap();
    let errors = report();
    assert!(errors.contains("capture.json"), "{errors}");
    nobody_asked(&listener);
}

#[cfg(unix)]
#[test]
fn without_a_temporary_folder_live_sources_are_not_captured() {
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("source.toml");
    std::fs::write(&config, "[prometheus]\nurl = 'http://127.0.0.1:1'\n").unwrap();
    let output = eog()
        .args(["investigate", config.to_str().unwrap()])
        .env("TMPDIR", folder.path().join("absent"))
        .output()
        .unwrap();
    let errors = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(1), "{errors}");
    assert!(errors.contains("no temporary folder"), "{errors}");
}

#[test]
fn a_place_for_output_that_is_taken_is_a_wrong_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("taken");
    std::fs::write(&file, "notes").unwrap();
    let (file, folder) = (file.to_str().unwrap(), folder.path().to_str().unwrap());
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let bundle = bundle.to_str().unwrap();
    for (option, place, why) in [
        ("--out", file, "give a folder"),
        ("--journal", file, "exists already"),
        ("--journal", folder, "is a folder; give a file"),
    ] {
        let (code, _, errors) = run(&["investigate", bundle, option, place]);
        assert_eq!(code, 2, "{errors}");
        assert!(errors.contains(why), "{errors}");
    }
    let config = format!("{folder}/source.toml");
    std::fs::write(&config, "[prometheus]\nurl = 'http://127.0.0.1:1'\n").unwrap();
    let capture = |out| ["capture", "--from", &config, "--out", out];
    for command in [
        &["init", "settings", file] as &[&str],
        &["man", "--out", file],
        &["prompt", "export", file],
        &capture(file),
        &capture(folder),
    ] {
        let (code, _, errors) = run(command);
        assert_eq!(code, 2, "{command:?}: {errors}");
    }
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    let link = link.to_str().unwrap();
    let bundle = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale");
    let bundle = bundle.to_str().unwrap();
    for command in [
        &["init", "source", link] as &[&str],
        &["init", "bundle", link],
        &["investigate", bundle, "--out", link],
        &["investigate", bundle, "--journal", link],
        &["prompt", "export", link],
    ] {
        let (code, _, errors) = run(command);
        assert_eq!(code, 2, "{command:?}: {errors}");
        assert!(errors.contains("exists already"), "{errors}");
    }
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn what_speaks_against_an_entity_as_the_cause_is_explained() {
    let folder = tempfile::tempdir().unwrap();
    run_into(folder.path(), &[]);
    let path = folder.path().to_str().unwrap();
    let (_, cause, _) = run(&["explain", path, "frontend"]);
    assert!(!cause.contains("WHY IT IS NOT A ROOT CAUSE"), "{cause}");
    for (entity, against) in
        [("gateway", "it is a symptom: "), ("database", "named instead: frontend")]
    {
        let (code, text, _) = run(&["explain", path, entity]);
        assert_eq!(code, 0, "{text}");
        let told = text.split_once("WHY IT IS NOT A ROOT CAUSE").map(|(_, told)| told);
        assert!(told.is_some_and(|told| told.contains(against)), "{entity}: {text}");
    }
}

#[test]
fn why_an_entity_was_not_judged_is_explained() {
    let short = tempfile::tempdir().unwrap();
    run_into(short.path(), &["--budget", "2"]);
    let cases = [
        (&short, "mailer", "left out at the start: Heartbeat on mailer: listed in"),
        (
            &short,
            "processor",
            "waiting to be evaluated, because it was claimed as a cause, when the policy-call \
             budget was exhausted. A larger one may reach it.",
        ),
    ];
    for (folder, entity, said) in cases {
        let (code, text, _) = run(&["explain", folder.path().to_str().unwrap(), entity]);
        assert_eq!(code, 0, "{text}");
        assert!(text.starts_with(&format!("{entity}: not evaluated\n")), "{text}");
        assert!(text.contains(said), "{text}");
    }
}

#[test]
fn a_difference_names_setting_entry_and_both_conclusions() {
    let (with, without) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    run_into(with.path(), &["--profile", "paper"]);
    run_into(without.path(), &["--profile", "paper", "--no-messages"]);
    let (with, without) = (with.path().to_str().unwrap(), without.path().to_str().unwrap());
    let (code, text, _) = run(&["diff", with, without]);
    assert_eq!(code, 0);
    for part in ["broadcast: true | false", "they diverge at entry 1", "frontend (confirmed)"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    assert!(run(&["diff", with, with]).1.starts_with("the ledgers are equal\n"));
}

/// Investigates the flash sale by a tree search, and returns the folder that `--out` wrote.
fn searched(folder: &tempfile::TempDir, controller: &str) -> std::path::PathBuf {
    let out = folder.path().join(controller);
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/flash-sale");
    let output = std::process::Command::new(env!("CARGO_BIN_EXE_eog"))
        .args(["investigate", bundle, "--quiet", "--controller", controller, "--out"])
        .arg(&out)
        .output()
        .unwrap();
    assert_eq!(output.status.code(), Some(0), "{}", String::from_utf8_lossy(&output.stderr));
    out
}

fn said(arguments: &[&std::ffi::OsStr]) -> (Option<i32>, String, String) {
    let output =
        std::process::Command::new(env!("CARGO_BIN_EXE_eog")).args(arguments).output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
}

#[test]
fn tree_searches_find_the_cause_of_the_flash_sale_and_show_their_tree() {
    let folder = tempfile::tempdir().unwrap();
    for controller in ["lats", "bfs", "beam"] {
        let out = searched(&folder, controller);
        let (code, tree, _) = said(&["tree".as_ref(), out.as_os_str()]);
        assert_eq!(code, Some(0));
        assert!(tree.starts_with(controller), "{tree}");
        assert!(tree.contains("accepted: a score is high enough"), "{tree}");
        let (code, report, _) = said(&["replay".as_ref(), out.as_os_str()]);
        assert_eq!(code, Some(0), "{report}");
        assert!(report.contains(")\n  frontend\n"), "{report}");
        let (code, entries, _) = said(&["replay".as_ref(), out.as_os_str(), "--entries".as_ref()]);
        assert_eq!(code, Some(0));
        assert!(entries.contains("ended, accepted"), "{entries}");
        let (code, same, _) = said(&["diff".as_ref(), out.as_os_str(), out.as_os_str()]);
        assert_eq!(code, Some(0), "{same}");
    }
}

/// What every command does with the ledger of a search by hypotheses.
#[test]
fn hypotheses_are_investigated_by_specialists_and_every_command_reads_their_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let out = searched(&folder, "hypotheses");
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/flash-sale");
    let ledger = out.as_os_str();
    let told = |arguments: &[&std::ffi::OsStr]| {
        let (code, text, error) = said(arguments);
        assert_eq!(code, Some(0), "{arguments:?}: {text}{error}");
        text
    };
    let tree = told(&["tree".as_ref(), ledger]);
    assert!(tree.contains("1.1 frontend origin, score 900, 3 findings"), "{tree}");
    assert!(tree.contains("accepted: a score is high enough; best 1.1 with 900"), "{tree}");
    let report = told(&["replay".as_ref(), ledger]);
    assert!(report.contains(")\n  frontend\n"), "{report}");
    let entries = told(&["replay".as_ref(), ledger, "--entries".as_ref()]);
    for line in ["1: metrics, 3 findings, 3 calls, finished", "best is 1.1 with 900"] {
        assert!(entries.contains(line), "{line}\n{entries}");
    }
    assert!(told(&["diff".as_ref(), ledger, ledger]).starts_with("the ledgers are equal"));
    let page = folder.path().join("page.html");
    told(&["report".as_ref(), ledger, bundle.as_ref(), "--html".as_ref(), page.as_os_str()]);
    assert!(std::fs::read_to_string(&page).unwrap().contains("3 findings, 3 calls, finished"));

    // A fork that keeps first scores asks for none of the others.
    let fork = folder.path().join("fork");
    let arguments = ["fork", "--at", "4", "--no-rescore", "--rounds", "8", "--quiet", "--out"];
    let arguments = arguments.map(std::ffi::OsStr::new);
    told(
        &[&[arguments[0], ledger, bundle.as_ref()], &arguments[1..], &[fork.as_os_str()]].concat(),
    );
    let entries = told(&["replay".as_ref(), fork.as_os_str(), "--entries".as_ref()]);
    assert!(!entries.contains("another score"), "{entries}");
}

/// A cause that is suspected at once is joined to the alert by what other hypotheses bring to light.
#[test]
fn hypotheses_find_the_cause_of_the_bottling_line() {
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/bottling-line");
    let investigate = |more: &[&str]| {
        let arguments = [&["investigate", bundle, "--controller", "hypotheses"], more].concat();
        let arguments: Vec<&std::ffi::OsStr> = arguments.iter().map(std::ffi::OsStr::new).collect();
        said(&arguments)
    };
    let (code, report, _) = investigate(&[]);
    assert_eq!(code, Some(0), "{report}");
    assert!(report.contains("ROOT CAUSE ("), "{report}");
    for (option, why) in [
        (&["--roles", "rules", "--skills", "."][..], "--skills has no effect with --roles rules"),
        (&["--profile", "paper"], "--profile has no effect with the controller hypotheses"),
    ] {
        let (code, _, error) = investigate(option);
        assert_eq!(code, Some(2), "{error}");
        assert!(error.contains(why), "{error}");
    }
}

#[test]
fn a_tree_is_shown_of_tree_searches_alone_and_other_commands_say_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let (eog, lats) = (searched(&folder, "eog"), searched(&folder, "lats"));
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/flash-sale");
    let refused: [(&[&std::ffi::OsStr], &str); 6] = [
        (
            &[
                "investigate".as_ref(),
                bundle.as_ref(),
                "--controller".as_ref(),
                "lats".as_ref(),
                "--no-rescore".as_ref(),
            ],
            "--no-rescore has no effect with the controller lats",
        ),
        (&["tree".as_ref(), eog.as_os_str()], "controller eog, which has no search tree"),
        (&["explain".as_ref(), lats.as_os_str(), "databas".as_ref()], "did you mean database"),
        (
            &["investigate".as_ref(), bundle.as_ref(), "--rounds".as_ref(), "3".as_ref()],
            "--rounds has no effect with the controller eog",
        ),
        (
            &["stress".as_ref(), bundle.as_ref(), "--controller".as_ref(), "beam".as_ref()],
            "the controller beam has only one",
        ),
        (
            &[
                "fork".as_ref(),
                lats.as_os_str(),
                bundle.as_ref(),
                "--at".as_ref(),
                "3".as_ref(),
                "--profile".as_ref(),
                "paper".as_ref(),
            ],
            "--profile has no effect with the controller lats",
        ),
    ];
    for (arguments, why) in refused {
        let (code, _, error) = said(arguments);
        assert_ne!(code, Some(0), "{arguments:?}");
        assert!(error.contains(why), "{error}");
    }
}

/// An option that a controller does not use is refused, never ignored.
#[test]
fn options_without_effect_are_refused() {
    let bundle = concat!(env!("CARGO_MANIFEST_DIR"), "/../examples/flash-sale");
    let options: [&[&str]; 9] = [
        &["--depth", "3"],
        &["--branch", "3"],
        &["--accept", "900"],
        &["--no-rescore"],
        &["--backup", "mean"],
        &["--no-siblings"],
        &["--shown", "4000"],
        &["--textual", "random"],
        &["--width", "2"],
    ];
    let used: [(&str, &[&str]); 6] = [
        ("lats", &["--depth", "--branch", "--accept", "--backup", "--width"]),
        ("bfs", &["--depth", "--accept", "--width"]),
        ("beam", &["--depth", "--branch", "--accept", "--width"]),
        (
            "hypotheses",
            &[
                "--depth",
                "--branch",
                "--accept",
                "--no-rescore",
                "--backup",
                "--no-siblings",
                "--width",
            ],
        ),
        ("treeseeker", &["--branch", "--accept", "--textual", "--width"]),
        ("react", &["--shown"]),
    ];
    for (controller, used) in used {
        let idle = options.iter().filter(|option| !used.contains(&option[0]));
        for option in idle {
            let arguments =
                [&["investigate", bundle, "--controller", controller], *option].concat();
            let arguments: Vec<&std::ffi::OsStr> =
                arguments.iter().map(std::ffi::OsStr::new).collect();
            let (code, _, error) = said(&arguments);
            let why = format!("{} has no effect with the controller {controller}", option[0]);
            assert_eq!(code, Some(2), "{arguments:?}: {error}");
            assert!(error.contains(&why), "{error}");
        }
        // What it uses, all at once.
        let taken = options.iter().filter(|option| used.contains(&option[0]));
        let taken: Vec<&str> = taken.flat_map(|option| option.iter().copied()).collect();
        let arguments = [&["investigate", bundle, "--controller", controller], &taken[..]].concat();
        let arguments: Vec<&std::ffi::OsStr> = arguments.iter().map(std::ffi::OsStr::new).collect();
        let (code, _, error) = said(&arguments);
        assert_ne!(code, Some(2), "{arguments:?}: {error}");
    }
    let seeds = ["--textual", "signals", "--lot-seed", "3"];
    let arguments = [&["investigate", bundle, "--controller", "treeseeker"], &seeds[..]].concat();
    let arguments: Vec<&std::ffi::OsStr> = arguments.iter().map(std::ffi::OsStr::new).collect();
    let (code, _, error) = said(&arguments);
    assert_eq!(code, Some(2), "{error}");
    assert!(error.contains("--lot-seed has no effect with --textual signals"), "{error}");
}
