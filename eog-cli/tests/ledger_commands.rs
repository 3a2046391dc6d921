//! `replay`, `explain`, `diff` and `tree` of the real binary.

use std::io::ErrorKind;
use std::net::TcpListener;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tempfile::TempDir;

use crate::common::{BOTTLING_LINE, FLASH_SALE, copy_tree, investigate_json, read, run};

/// The shipped incident, investigated into a folder.
fn investigated(options: &[&str]) -> (TempDir, Value) {
    let folder = tempfile::tempdir().unwrap();
    let result = investigate_json!(FLASH_SALE, "--out", folder, options).1;
    (folder, result)
}

/// The same, with something else in place of its ledger.
fn with_ledger(edit: impl Fn(&str) -> String) -> TempDir {
    let (folder, _) = investigated(&[]);
    let file = folder.path().join("ledger.jsonl");
    std::fs::write(&file, edit(&read(&file))).unwrap();
    folder
}

#[test]
fn a_replay_concludes_what_the_run_did() {
    let (folder, result) = investigated(&[]);
    let replayed = run!("replay", folder, "--format", "json").exits(0).json();
    for field in ["conclusion", "beliefs", "causal_claims", "evidence", "spent", "stop"] {
        assert_eq!(replayed[field], result[field], "{field}");
    }
    let text = run!("replay", folder).out;
    assert!(text.lines().next().unwrap().ends_with(" entries verified"), "{text}");
}

#[test]
fn a_ledger_that_ends_early_is_said_to_be_interrupted_at_once() {
    let folder = with_ledger(|text| text.split_inclusive('\n').take(2).collect());
    let headline = "\nINCONCLUSIVE, interrupted: no origin was found that explains an alert\n";
    run!("replay", folder.path().join("ledger.jsonl")).exits(3).prints(&[headline]);
}

#[test]
fn a_ledger_that_is_cut_off_names_the_line_in_the_file() {
    let folder = with_ledger(|text| {
        let third = text.match_indices('\n').nth(2).unwrap().0;
        text[..third - 10].to_owned()
    });
    let cut = run!("replay", folder.path().join("ledger.jsonl")).exits(4);
    let cut = cut.says(&["line 3 is not a ledger entry: it ends in the middle"]);
    assert!(!cut.err.contains("line 1"), "{}", cut.err);
}

#[test]
fn a_forged_ledger_is_refused_by_entry() {
    let folder =
        with_ledger(|text| text.replacen("\"label\":\"origin\"", "\"label\":\"healthy\"", 1));
    for (name, said) in [("ledger.jsonl", "entry 2 breaks the chain"), ("none", "none")] {
        run!("replay", folder.path().join(name)).exits(4).says(&[said]);
    }
}

#[test]
fn an_unknown_format_is_refused_by_its_number() {
    let golden = Path::new(env!("CARGO_MANIFEST_DIR")).join("../tests/golden/format-1");
    let known = run!("replay", golden.join("refusals.jsonl")).exits(3);
    assert_eq!(run!("replay", golden.join("refusals.journal")).exits(3).out, known.out);
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("ledger.jsonl");
    let text = read(golden.join("refusals.jsonl"));
    std::fs::write(&file, text.replacen("\"format\":1,", "\"format\":99,", 1)).unwrap();
    let expected = "has format 99, but this program reads format 1";
    run!("replay", file).exits(4).says(&[expected]);
}

#[test]
fn an_explanation_names_what_the_label_hangs_on() {
    let (folder, _) = investigated(&[]);
    let parts = ["frontend: origin", "WHAT IT DEPENDS ON", "without chg-", "it would be defer"];
    let cause = run!("explain", folder, "frontend").exits(0).prints(&parts);
    assert!(!cause.out.contains("WHY IT IS NOT A ROOT CAUSE"), "{}", cause.out);
    let message = "message: processor is a symptom: database → processor\n";
    run!("explain", folder, "database").prints(&[message]);
    for (entity, said) in [
        ("databas", "there is no entity databas; did you mean database?"),
        ("xyz", "there is no entity xyz; evaluated entities include "),
    ] {
        run!("explain", folder, entity).exits(4).says(&[said]);
    }
    // What speaks against it as the cause.
    for (entity, against) in
        [("gateway", "it is a symptom: "), ("database", "named instead: frontend")]
    {
        let text = run!("explain", folder, entity).exits(0).out;
        let part = text.split_once("WHY IT IS NOT A ROOT CAUSE").map(|(_, part)| part);
        assert!(part.is_some_and(|part| part.contains(against)), "{entity}: {text}");
    }
}

#[test]
fn no_commands_are_printed_that_would_show_nothing() {
    let (folder, _) = investigated(&[]);
    for (wrong, why) in [
        ("nowhere", "there is no such folder"),
        (folder.path().to_str().unwrap(), "neither a bundle"),
        (BOTTLING_LINE, "was started with a different input"),
    ] {
        let refused = run!("explain", folder, "frontend", wrong).exits(4).says(&[why]);
        assert_eq!(refused.out, "");
    }
    run!("explain", folder, "frontend", FLASH_SALE).exits(0).prints(&["eog tool evidence"]);

    // The page and the explanation read it alike, within the same bounds.
    let page = folder.path().join("page.html");
    let bound = ["--max-memory", "1K"];
    for refused in [
        run!("explain", folder, "frontend", FLASH_SALE, bound),
        run!("report", folder, FLASH_SALE, "--html", page, bound),
    ] {
        assert_eq!(refused.exits(4).says(&["--max-memory"]).out, "");
    }
    assert!(!page.exists());
    run!("explain", folder, "frontend", bound).exits(2).says(&["<PATH>"]);
}

/// A journal of the shipped incident, and `source.toml` with live sources that must not be asked.
struct Journal {
    folder: TempDir,
    source: TcpListener,
}

impl Journal {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let source = TcpListener::bind("127.0.0.1:0").unwrap();
        source.set_nonblocking(true).unwrap();
        let config = format!("[prometheus]\nurl = 'http://{}'\n", source.local_addr().unwrap());
        let journal = Self { folder, source };
        std::fs::write(journal.at("source.toml"), config).unwrap();
        let (out, file) = (journal.at("out"), journal.at("run.journal"));
        investigate_json!(FLASH_SALE, "--out", out, "--journal", file);
        journal
    }

    fn at(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// Leaves an unfinished capture of another configuration beside the journal, and names its file.
    fn begin_another_capture(&self) -> PathBuf {
        let plan = self.at("run.journal.capture/.capture/plan.json");
        std::fs::create_dir_all(plan.parent().unwrap()).unwrap();
        let text = json!({
            "version": 1, "digest": "of another", "window": null, "now": "2026-01-01T10:00:00Z"
        });
        std::fs::write(&plan, text.to_string()).unwrap();
        plan
    }

    /// The commands that would capture refuse what lies there.
    fn refuses_the_capture(&self, said: &str) {
        let (journal, config) = (self.at("run.journal"), self.at("source.toml"));
        run!("resume", journal, config).exits(4).says(&[said]);
        run!("fork", journal, config, "--at", "2").exits(4).says(&[said]);
        // To name that folder is a wrong command line.
        let out = self.at("run.journal.capture");
        run!("capture", "--from", config, "--out", out).exits(2).says(&[said]);
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            let error = self.source.accept().map(|(_, from)| from).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::WouldBlock, "the source was asked");
        }
    }
}

#[test]
fn an_explanation_asks_no_live_sources_and_starts_no_servers() {
    let journal = Journal::new();
    let started = journal.at("started");
    let servers = format!(
        "[servers.own]\ncommand = '/bin/sh'\nargs = ['-c', 'touch {}']\n[context]\nserver = 'own'\n\
         tool = 'get_context'\n",
        started.display()
    );
    std::fs::write(journal.at("servers.toml"), servers).unwrap();
    let explain = |file: &str| {
        let explained = run!("explain", journal.at("run.journal"), "frontend", journal.at(file));
        explained.exits(0).prints(&["eog tool evidence", file]);
    };
    explain("source.toml");
    explain("servers.toml");
    assert!(!journal.at("run.journal.capture").exists());
    let plan = journal.begin_another_capture();
    let then = read(&plan);
    explain("source.toml");
    assert_eq!(read(&plan), then);
    assert_eq!(std::fs::read_dir(journal.at("run.journal.capture")).unwrap().count(), 1);
    assert!(!started.exists());
    let (file, config) = (journal.at("run.journal"), journal.at("source.toml"));
    run!("explain", file, "frontend", config, "--cache", "c").exits(2);
}

#[test]
fn an_explanation_compares_a_finished_capture_beside_the_journal() {
    let journal = Journal::new();
    let capture = journal.at("run.journal.capture");
    let report = json!({
        "format": "eog-capture", "version": 1, "name": "captured", "sources": [], "counts": [],
        "captured": { "start": "2026-01-01T10:00:00Z", "end": "2026-01-01T11:00:00Z" },
        "missing": [], "notes": []
    });
    for (incident, expected) in [(FLASH_SALE, 0), (BOTTLING_LINE, 4)] {
        copy_tree(incident, &capture);
        std::fs::write(capture.join("capture.json"), report.to_string()).unwrap();
        let (file, config) = (journal.at("run.journal"), journal.at("source.toml"));
        let explained = run!("explain", file, "frontend", config).exits(expected);
        assert_eq!(explained.out.contains("eog tool evidence"), expected == 0, "{explained:?}");
        let differs = explained.err.contains("was started with a different input");
        assert_eq!(differs, expected == 4, "{explained:?}");
        std::fs::remove_dir_all(&capture).unwrap();
    }
}

#[test]
fn an_unfinished_capture_of_another_configuration_is_an_input_that_cannot_be_used() {
    let journal = Journal::new();
    journal.begin_another_capture();
    journal.refuses_the_capture("an unfinished capture of another");
}

#[test]
fn a_damaged_capture_is_an_input_that_cannot_be_used() {
    let journal = Journal::new();
    std::fs::write(journal.begin_another_capture(), "{").unwrap();
    journal.refuses_the_capture("plan.json");
}

#[test]
fn a_report_goes_on_with_no_capture_beside_the_journal() {
    let journal = Journal::new();
    let capture = journal.at("run.journal.capture");
    std::fs::create_dir(&capture).unwrap();
    let refuses = |said: &[&str]| {
        let (file, page) = (journal.at("run.journal"), journal.at("page.html"));
        run!("report", file, journal.at("source.toml"), "--html", page).exits(4).says(said);
        assert!(!page.exists());
    };
    refuses(&["not finished", "eog resume"]);
    assert_eq!(std::fs::read_dir(&capture).unwrap().count(), 0);
    std::fs::write(capture.join("capture.json"), "{").unwrap();
    refuses(&["capture.json"]);
}

#[cfg(unix)]
#[test]
fn without_a_temporary_folder_live_sources_are_not_captured() {
    use crate::common::{Run, command};
    let folder = tempfile::tempdir().unwrap();
    let config = folder.path().join("source.toml");
    std::fs::write(&config, "[prometheus]\nurl = 'http://127.0.0.1:1'\n").unwrap();
    let absent = folder.path().join("absent");
    let run = Run::of(command!("investigate", config).env("TMPDIR", absent));
    run.exits(1).says(&["no temporary folder"]);
}

#[test]
fn a_place_for_output_that_is_taken_is_a_wrong_command_line() {
    let folder = tempfile::tempdir().unwrap();
    let (file, config) = (folder.path().join("taken"), folder.path().join("source.toml"));
    std::fs::write(&file, "notes").unwrap();
    for (option, place, why) in [
        ("--out", &*file, "give a folder"),
        ("--journal", &file, "exists already"),
        ("--journal", folder.path(), "is a folder; give a file"),
    ] {
        run!("investigate", FLASH_SALE, option, place).exits(2).says(&[why]);
    }
    std::fs::write(&config, "[prometheus]\nurl = 'http://127.0.0.1:1'\n").unwrap();
    run!("init", "settings", file).exits(2);
    run!("man", "--out", file).exits(2);
    run!("prompt", "export", file).exits(2);
    run!("capture", "--from", config, "--out", file).exits(2);
    run!("capture", "--from", config, "--out", folder).exits(2);
}

#[cfg(unix)]
#[test]
fn a_link_that_leads_nowhere_takes_its_place() {
    let folder = tempfile::tempdir().unwrap();
    let link = folder.path().join("link");
    std::os::unix::fs::symlink("nowhere", &link).unwrap();
    for command in [
        &["init", "source"][..],
        &["init", "bundle"],
        &["investigate", FLASH_SALE, "--out"],
        &["investigate", FLASH_SALE, "--journal"],
        &["prompt", "export"],
    ] {
        run!(command, link).exits(2).says(&["exists already"]);
    }
    assert!(!folder.path().join("nowhere").exists());
}

#[test]
fn why_an_entity_was_not_judged_is_explained() {
    let (folder, _) = investigated(&["--budget", "2"]);
    for (entity, why) in [
        ("mailer", "left out at the start: Heartbeat on mailer: listed in"),
        (
            "processor",
            "waiting to be evaluated, because it was claimed as a cause, when the policy-call \
             budget was exhausted. A larger one may reach it.",
        ),
    ] {
        let text = run!("explain", folder, entity).exits(0).prints(&[why]).out;
        assert!(text.starts_with(&format!("{entity}: not evaluated\n")), "{text}");
    }
}

#[test]
fn a_difference_names_setting_entry_and_both_conclusions() {
    let (with, _) = investigated(&["--profile", "paper"]);
    let (without, _) = investigated(&["--profile", "paper", "--no-messages"]);
    let parts = ["broadcast: true | false", "they diverge at entry 1", "frontend (confirmed)"];
    run!("diff", with, without).exits(0).prints(&parts);
    assert!(run!("diff", with, with).out.starts_with("the ledgers are equal\n"));
}

/// Investigates the flash sale with a controller into a folder of that name.
fn searched(folder: &TempDir, controller: &str) -> PathBuf {
    let out = folder.path().join(controller);
    run!("investigate", FLASH_SALE, "-q", "--controller", controller, "--out", out).exits(0);
    out
}

#[test]
fn tree_searches_find_the_cause_of_the_flash_sale_and_show_their_tree() {
    let folder = tempfile::tempdir().unwrap();
    for controller in ["lats", "bfs", "beam"] {
        let out = searched(&folder, controller);
        let tree = run!("tree", out).exits(0).prints(&["accepted: a score is high enough"]);
        assert!(tree.out.starts_with(controller), "{}", tree.out);
        run!("replay", out).exits(0).prints(&[")\n  frontend\n"]);
        run!("replay", out, "--entries").exits(0).prints(&["ended, accepted"]);
        run!("diff", out, out).exits(0);
    }
}

/// What every command does with the ledger of a search by hypotheses.
#[test]
fn hypotheses_are_investigated_by_specialists_and_every_command_reads_their_ledger() {
    let folder = tempfile::tempdir().unwrap();
    let out = searched(&folder, "hypotheses");
    run!("tree", out).exits(0).prints(&[
        "1.1 frontend origin, score 995, 3 findings",
        "accepted: a score is high enough; best 1.1 with 995",
    ]);
    run!("replay", out).exits(0).prints(&[")\n  frontend\n"]);
    run!("replay", out, "--entries")
        .exits(0)
        .prints(&["1: metrics, 3 findings, 3 calls, finished", "best is 1.1 with 995"]);
    assert!(run!("diff", out, out).exits(0).out.starts_with("the ledgers are equal"));
    let page = folder.path().join("page.html");
    run!("report", out, FLASH_SALE, "--html", page).exits(0);
    assert!(read(&page).contains("3 findings, 3 calls, finished"));

    // A fork that keeps first scores asks for none of the others.
    let fork = folder.path().join("fork");
    let options = ["--at", "4", "--no-rescore", "--rounds", "8", "--quiet", "--out"];
    run!("fork", out, FLASH_SALE, options, fork).exits(0);
    let entries = run!("replay", fork, "--entries").exits(0).out;
    assert!(!entries.contains("another score"), "{entries}");
}

/// A cause that is suspected at once is joined to the alert by what other hypotheses bring to light.
#[test]
fn hypotheses_find_the_cause_of_the_bottling_line() {
    let by_hypotheses = ["investigate", BOTTLING_LINE, "--controller", "hypotheses"];
    run!(by_hypotheses).exits(0).prints(&["ROOT CAUSE ("]);
    let expected = "--skills has no effect with --roles rules";
    run!(by_hypotheses, ["--roles", "rules", "--skills", "."]).exits(2).says(&[expected]);
}

#[test]
fn a_tree_is_shown_of_tree_searches_alone_and_other_commands_say_why_not() {
    let folder = tempfile::tempdir().unwrap();
    let (eog, lats) = (searched(&folder, "eog"), searched(&folder, "lats"));
    for (refused, code, why) in [
        (run!("tree", eog), 4, "controller eog, which has no search tree"),
        (run!("explain", lats, "databas"), 4, "did you mean database"),
        (
            run!("investigate", FLASH_SALE, "--rounds", "3"),
            2,
            "--rounds has no effect with the controller eog",
        ),
        (run!("stress", FLASH_SALE, "--controller", "beam"), 2, "the controller beam has only one"),
        (
            run!("fork", lats, FLASH_SALE, "--at", "3", "--profile", "paper"),
            2,
            "--profile has no effect with the controller lats",
        ),
    ] {
        refused.exits(code).says(&[why]);
    }
}

/// An option that a controller does not use is refused, never ignored.
#[test]
fn options_without_effect_are_refused() {
    const OPTIONS: &str = "--depth 3,--branch 3,--accept 900,--no-rescore,--backup mean,\
                           --no-siblings,--shown 4000,--textual random,--width 2,--profile paper";
    for (controller, used) in [
        ("lats", "--depth --branch --accept --backup --width"),
        ("bfs", "--depth --accept --width"),
        ("beam", "--depth --branch --accept --width"),
        ("hypotheses", "--depth --branch --accept --no-rescore --backup --no-siblings --width"),
        ("treeseeker", "--branch --accept --textual --width"),
        ("react", "--shown"),
    ] {
        let investigate = ["investigate", FLASH_SALE, "--controller", controller];
        let options = OPTIONS.split(',').map(|option| option.split(' ').collect::<Vec<_>>());
        let (used, idle): (Vec<_>, Vec<_>) =
            options.partition(|option| used.split(' ').any(|name| name == option[0]));
        for option in idle {
            let why = format!("{} has no effect with the controller {controller}", option[0]);
            run!(investigate, option).exits(2).says(&[&why]);
        }
        // What it uses, all at once.
        let taken = run!(investigate, used.concat());
        assert_ne!(taken.code, Some(2), "{taken:?}");
    }
    let seeds = ["--controller", "treeseeker", "--textual", "signals", "--lot-seed", "3"];
    let why = "--lot-seed has no effect with --textual signals";
    run!("investigate", FLASH_SALE, seeds).exits(2).says(&[why]);
}
