//! The algorithm as readable cases: `tests/cases/*.txt` hold an investigation and what must come
//! of it, one line per ledger entry. The language is described in `tests/cases/README.md`.
//!
//! `EOG_UPDATE_CASES=1 cargo test -p eog-core --test data_driven` writes the expected parts anew.
//! Read the difference before you keep it: the specification decides, not the program.

mod harness;

use std::path::{Path, PathBuf};

use harness::{check_or_update, parse};

fn case_files() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cases");
    let entries = std::fs::read_dir(&folder).expect("tests/cases can be listed");
    let mut files: Vec<PathBuf> = entries
        .map(|entry| entry.expect("a folder entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    files
}

#[test]
fn every_case_comes_out_as_written() {
    let files = case_files();
    assert!(!files.is_empty(), "tests/cases holds no case");
    let update = std::env::var_os("EOG_UPDATE_CASES").is_some();
    let failures: Vec<String> =
        files.iter().filter_map(|file| check_or_update(file, update).err()).collect();
    assert!(failures.is_empty(), "\n{}", failures.join("\n\n"));
}

#[test]
fn mistakes_are_named_by_file_and_line() {
    let cases = [
        ("profile fast", "x.txt:1: there is no profile \"fast\"; write `default` or `paper`"),
        ("seed A\nset speed 3", "x.txt:2: there is no setting \"speed\""),
        ("set cooldown soon", "x.txt:1: cooldown takes a number, not \"soon\""),
        ("edge A calls", "x.txt:1: an edge is `edge <source> <relation> <target>"),
        ("evidence e of A rumour at 10:00", "x.txt:1: there is no kind of evidence \"rumour\""),
        ("on A\n  received B", "x.txt:1: the rule has no `=>` line"),
        ("on A\n  sees smoke\n  => Healthy", "x.txt:2: no evidence is named \"smoke\""),
        ("  sees smoke", "x.txt:1: an indented line belongs to a rule, and there is none above"),
        ("on A\n  => Guilty", "x.txt:2: there is no label \"Guilty\""),
        ("observe after x: no edge A calls B", "x.txt:1: \"x\" is not the number of an entry"),
        ("seed A", "x.txt:1: the case ends without a `----` line"),
    ];
    for (text, message) in cases {
        let error = parse("x.txt", text).err().map(|error| error.to_string()).unwrap_or_default();
        assert!(error.starts_with(message), "{text:?} gives {error:?}");
    }
}
