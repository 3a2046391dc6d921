//! Golden ledgers: what a released program wrote can be read and derived again by every later one.
//! `README.md` beside this file says how they are made.

mod making;

use std::fs;
use std::path::{Path, PathBuf};

use eog::controller::LEDGER_FORMAT;
use eog::journal::JournalError;
use eog::ledger::LedgerError;
use eog::{Confidence, Controller, Journal, Ledger};
use serde_json::Value;

fn home() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden")
}

fn folder_of(format: u32) -> PathBuf {
    home().join(format!("format-{format}"))
}

/// Files of this ending below a folder of any format, sorted.
fn stored(ending: &str) -> Vec<PathBuf> {
    let listed = |folder: &Path| {
        let entries = fs::read_dir(folder).expect("it is a folder");
        entries.map(|entry| entry.expect("it can be listed").path()).collect::<Vec<_>>()
    };
    let formats = listed(&home()).into_iter().filter(|path| path.is_dir());
    let mut files: Vec<_> = formats.flat_map(|folder| listed(&folder)).collect();
    files.retain(|path| path.to_string_lossy().ends_with(&format!(".{ending}")));
    files.sort();
    assert!(!files.is_empty(), "there are no golden files that end in .{ending}");
    files
}

fn text(path: &Path) -> String {
    fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn ledger(path: &Path) -> Ledger {
    let read = Ledger::from_json_lines(&text(path));
    read.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_golden_ledger_of_the_current_format_is_there() {
    let folder = folder_of(LEDGER_FORMAT);
    for (name, make) in making::GOLDEN {
        if std::env::var_os("EOG_UPDATE_GOLDEN").is_some() {
            making::add_missing(&folder, name, *make);
        }
        for ending in ["jsonl", "journal", "conclusion.json"] {
            let file = folder.join(format!("{name}.{ending}"));
            assert!(
                file.exists(),
                "{} is missing; add it with EOG_UPDATE_GOLDEN=1 cargo test -p eog --test golden \
                 every_golden",
                file.display()
            );
        }
    }
}

#[test]
fn every_ledger_is_read_and_every_entry_derived_again() {
    for path in stored("jsonl") {
        let stored = ledger(&path);
        stored.verify().unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let restored = Controller::restore(&stored)
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        assert_eq!(restored.ledger(), &stored, "{}", path.display());
        let conclusion = path.with_extension("conclusion.json");
        let expected: Value = serde_json::from_str(&text(&conclusion)).expect("it is JSON");
        let found = serde_json::to_value(restored.conclusion()).expect("it is JSON");
        assert_still_says(&expected, &found, &conclusion.display().to_string());
    }
}

#[test]
fn every_journal_holds_the_same_ledger() {
    for path in stored("journal") {
        let before = fs::read(&path).expect("it can be read");
        let read = Journal::read(&path).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.cut, None, "{}", path.display());
        assert_eq!(read.ledger, ledger(&path.with_extension("jsonl")), "{}", path.display());
        // One that is gone on with is opened for writing, which must not change it.
        let copy = tempfile::NamedTempFile::new().expect("there is a place for it");
        fs::write(copy.path(), &before).expect("it is ours");
        let (journal, recovered) = Journal::open(copy.path()).expect("it is whole");
        assert_eq!(recovered, read);
        drop(journal);
        assert_eq!(fs::read(copy.path()).expect("it is ours"), before);
    }
}

/// A later program may say more than the stored conclusion, but nothing else; and it may ask more of
/// `confirmed`: it may be less sure and have further doubts, never be surer or drop one.
fn assert_still_says(expected: &Value, found: &Value, place: &str) {
    match (expected, found) {
        (Value::Object(expected), Value::Object(found)) => {
            for (name, value) in expected {
                let found = found.get(name).unwrap_or(&Value::Null);
                let place = format!("{place}: {name}");
                match name.as_str() {
                    "confidence" => assert!(confidence(found) <= confidence(value), "{place}"),
                    "doubts" => assert_still_doubts(value, found, &place),
                    _ => assert_still_says(value, found, &place),
                }
            }
        }
        (Value::Array(expected), Value::Array(found)) => {
            assert_eq!(expected.len(), found.len(), "{place}: {found:?}");
            for (index, (expected, found)) in expected.iter().zip(found).enumerate() {
                assert_still_says(expected, found, &format!("{place}[{index}]"));
            }
        }
        _ => assert_eq!(expected, found, "{place}"),
    }
}

fn confidence(value: &Value) -> Confidence {
    serde_json::from_value(value.clone()).expect("it is a confidence")
}

fn assert_still_doubts(expected: &Value, found: &Value, place: &str) {
    let doubts = |value: &Value| value.as_array().expect("it is a list").clone();
    let found = doubts(found);
    for doubt in doubts(expected) {
        assert!(found.contains(&doubt), "{place}: {doubt} is not among {found:?}");
    }
}

#[test]
fn the_ledgers_of_format_1_show_all_that_the_format_has() {
    let all: String = stored("jsonl")
        .iter()
        .filter(|path| path.starts_with(folder_of(1)))
        .map(|path| text(path))
        .collect();
    for part in [
        "\"format\":1",
        // Configurations.
        "\"change\":\"text\"",
        "\"wake\":\"all\"",
        "\"claims\":\"accumulate\"",
        "\"damping\":\"label_override\"",
        "\"damping\":\"absorbing\"",
        "\"damping\":\"last_word\"",
        "\"chains_read\":true",
        "\"checks\":\"unknown_entities_only\"",
        "\"order\":\"priority\"",
        "\"order\":{\"permuted\":{\"seed\":7}}",
        "\"window\":3}",
        "\"hops\":2",
        // Answers and their outcomes.
        "\"answer\":{\"decided\":",
        "\"answer\":{\"remembered\":{\"entry\":",
        "\"kind\":\"policy_failed\"",
        "\"kind\":\"context_failed\"",
        "\"damped\":true",
        "\"stale\":true",
        "\"change\":\"first\"",
        "\"change\":\"signature\"",
        "\"change\":\"new_evidence\"",
        // Observations.
        "\"observation\":{\"anomaly\":",
        "\"observation\":{\"edge_added\":",
        "\"observation\":{\"edge_removed\":",
        "\"observation\":{\"new_evidence\":",
        // Halts, and going on after them.
        "\"halted\":\"deadline\"",
        "\"halted\":\"tokens\"",
        "\"halted\":\"cost\"",
        "\"halted\":\"cancelled\"",
        "\"body\":\"resumed\"",
        // Forks.
        "\"forked\":{\"parent\":",
        "\"changes\":{\"policy\":\"all is well\",\"config\":{",
        "\"changes\":{\"config\":{",
        // Why entities became active, and why not.
        "\"reason\":\"seed\"",
        "\"reason\":\"claim\"",
        "\"reason\":\"wake\"",
        "\"reason\":\"late_message\"",
        "\"reason\":\"proposal\"",
        "\"reason\":\"observation\"",
        "\"refused\":\"damped\"",
        "\"refused\":\"visit_limit\"",
        "\"refused\":\"entity_cap\"",
        // Refusals and warnings.
        "\"origin_without_local_evidence\"",
        "\"text_cut\"",
        "\"unknown_evidence\":",
        "\"claim_without_evidence\":",
        "\"claim_between_others\":",
        "\"claim_on_itself\":",
        "\"claim_on_unknown_entity\":",
        "\"claim_beyond_entity_cap\":",
        "\"proposal_unknown\":",
        "\"proposal_visited\":",
        "\"proposal_queued\":",
        "\"proposal_repeated\":",
        "\"proposal_beyond_cap\":",
        "\"uncited\"",
        "\"symptom_without_cause\"",
        "\"claim_against_time\":",
        "\"origin_after_what_it_explains\"",
        // Evaluating again.
        "\"wake\":\"at_odds\"",
        "\"widening\":{",
        "\"anomalies_in_packets\":true",
        "\"reason\":\"settle\"",
        "\"reason\":\"check\"",
        "\"reason\":\"dead_end\"",
        "\"reason\":\"widen\"",
        "\"reason\":\"second_opinion\"",
        // What packets include, pages, and routes.
        "\"wake\":\"contradicted\"",
        "\"briefing\":{",
        "\"reason\":\"page\"",
        "\"next_page\":true",
        "\"no_further_page\"",
        "\"routes\":[",
        "\"coverage\":{",
        "\"pages_left\":",
        // Times, and what they are measured against.
        "\"since\":",
        "\"cause_since\":",
        "\"effect_since\":",
        "\"explains\":[",
        "\"onset\":{",
        "\"rule\":\"own change\"",
        "\"alternatives\":[",
        "\"record\":{\"span\":",
        "\"unusable\":[",
    ] {
        assert!(all.contains(part), "no golden ledger of format 1 has {part}");
    }
}

#[test]
fn an_unknown_format_is_refused_by_its_number() {
    let known = text(&folder_of(1).join("flash-sale.jsonl"));
    let unknown = known.replacen("\"format\":1,", "\"format\":99,", 1);
    assert_ne!(known, unknown);
    let error = Ledger::<eog::controller::EntryBody>::from_json_lines(&unknown)
        .expect_err("format 99 is unknown");
    assert_eq!(error, LedgerError::UnknownFormat { format: 99, reads: 1 });
    assert!(error.to_string().contains("format 99"), "{error}");

    // The same in a journal: its first frame, in order but for the format.
    let folder = tempfile::tempdir().expect("there is a place for it");
    let path = folder.path().join("run.journal");
    drop(Journal::create(&path).expect("it is new"));
    let mut bytes = fs::read(&path).expect("it was written");
    let opening = unknown.lines().next();
    bytes.extend(frame(opening.expect("it has a first entry").as_bytes()));
    fs::write(&path, &bytes).expect("it is ours");
    for error in [
        Journal::read(&path).expect_err("format 99 is unknown"),
        Journal::open(&path).expect_err("format 99 is unknown"),
    ] {
        assert!(matches!(error, JournalError::UnknownFormat { format: 99, .. }), "{error}");
        assert!(error.to_string().contains("format 99"), "{error}");
    }
    assert_eq!(fs::read(&path).expect("it is ours"), bytes, "it is left as it is");
}

/// A frame of a journal, as docs/embedding.md describes it.
fn frame(payload: &[u8]) -> Vec<u8> {
    let length = u32::try_from(payload.len()).expect("an entry is small").to_le_bytes();
    let checksum = blake3::Hasher::new().update(&length).update(payload).finalize();
    [&length, &checksum.as_bytes()[..8], payload].concat()
}
