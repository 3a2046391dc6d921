//! Arbitrary input to every reader: no panic, no record too many, and warnings that name the file
//! and the line.
//!
//! More cases: `PROPTEST_CASES=20000 cargo test -p eog-sre --test snapshots fuzz`. Fields of
//! 100 MB: `EOG_FUZZ_BIG=1`.

use std::fs;
use std::io::{self, Read, Write};
use std::sync::Arc;

use eog_sre::tools::Toolbox;
use eog_sre::{MAX_FIELD_BYTES, ReadOptions, Snapshot};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::json;

use crate::everything::{self, FILES, check_warnings};
use crate::support::{LOG_HEADER, Recording};

/// Values that readers take to be times, numbers, names, attributes, JSON, or none of them.
fn cell() -> impl Strategy<Value = String> {
    let odd = select(vec![
        "",
        " ",
        "0",
        "-1",
        "1e999",
        "-1e999",
        "nan",
        "inf",
        "18446744073709551616",
        "99999999999999999999999999999999999999",
        "1e-400",
        "2026-01-01 10:00:00",
        "2026-01-01 10:00:00.123456789",
        "2026-01-01T10:00:00Z",
        "9999-12-31 23:59:59.999999999",
        "-9999-01-01 00:00:00",
        "0000-00-00 00:00:00",
        "2026-02-30 25:61:61",
        "+262143-01-01T00:00:00Z",
        "shop",
        "a/b/c/d",
        "Server",
        "SPAN_KIND_CLIENT",
        "Error",
        "00000000000000000000000000000000",
        "ffffffffffffffff",
        "é\u{202e}\u{0}",
        "{'service.name': 'web', 'k8s.namespace.name': 'shop', 'k8s.pod.name': 'web-1'}",
        "{'le': '+Inf', 'status_code': 'STATUS_CODE_ERROR', 'span_name': 'router x egress'}",
        "{'a': {'b': ['c', ",
        "{'server.address': 'db:5432', 'x': None}",
        r#"{"object":{"kind":"Event","involvedObject":{"kind":"Pod","name":"p","namespace":"n"},"lastTimestamp":"9999-12-31T23:59:59Z","count":18446744073709551615}}"#,
        r#"{"kind":"ConfigMap","metadata":{"name":"c","namespace":"n"},"data":{"k":"a: 1\n b:\n- c"}}"#,
        r#"{"kind":"List","items":[{"kind":"Pod","metadata":{"name":"p"}},{"kind":""}]}"#,
        r#"{"kind":"Deployment","metadata":{"name":"d"},"spec":{"replicas":-1,"template":7},"status":[]}"#,
        r#"{"kind":1,"metadata":null}"#,
        "[[[[[[[[[[[[[[[[",
        "\"",
        "x\"y\"z",
        "line\nline\r\n",
    ]);
    prop_oneof![
        6 => odd.prop_map(str::to_owned),
        1 => ".{0,40}",
        1 => any::<i64>().prop_map(|number| number.to_string()),
        1 => any::<f64>().prop_map(|number| number.to_string()),
    ]
}

fn table(columns: Vec<String>, rows: &[Vec<String>]) -> Vec<u8> {
    let mut writer =
        csv::WriterBuilder::new().delimiter(b'\t').flexible(true).from_writer(Vec::new());
    writer.write_record(&columns).unwrap();
    for row in rows {
        writer.write_record(row.iter().take(columns.len())).unwrap();
    }
    writer.into_inner().unwrap()
}

/// One file of a kind: random bytes, or a table of odd cells, perhaps cut, with bytes broken, or
/// with a column missing.
fn file(at: usize) -> impl Strategy<Value = Vec<u8>> {
    let columns: Vec<String> = FILES[at].1.iter().map(|name| (*name).to_owned()).collect();
    let well_formed = match columns.is_empty() {
        true => alerts().boxed(),
        false => {
            let rows = vec(vec(cell(), columns.len()), 0..8);
            rows.prop_map(move |rows| table(columns.clone(), &rows)).boxed()
        }
    };
    let harm =
        (any::<prop::sample::Index>(), vec((any::<prop::sample::Index>(), any::<u8>()), 0..4));
    let broken = (well_formed.clone(), harm).prop_map(|(mut bytes, (cut, flips))| {
        for (at, byte) in flips {
            if !bytes.is_empty() {
                let at = at.index(bytes.len());
                bytes[at] = byte;
            }
        }
        bytes.truncate(cut.index(bytes.len() + 1));
        bytes
    });
    prop_oneof![4 => well_formed, 3 => broken, 1 => vec(any::<u8>(), 0..300)]
}

/// A dump of alerts with odd values.
fn alerts() -> impl Strategy<Value = Vec<u8>> {
    let alert = (cell(), cell(), cell(), cell()).prop_map(|(name, service, at, value)| {
        serde_json::json!({"labels": {"alertname": name, "service_name": service,
            "namespace": "shop"}, "state": "firing", "activeAt": at, "value": value})
    });
    vec(alert, 0..4).prop_map(|alerts| serde_json::to_vec(&alerts).unwrap())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 128, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_input_breaks_a_reader(at in 0..FILES.len(), bytes in (0..FILES.len()).prop_flat_map(file)) {
        // The content of one kind may come under the name of another.
        let recording = Recording::new();
        recording.file(FILES[at].0, bytes);
        everything::check(recording.path());
    }

    #[test]
    fn no_mixture_breaks_what_is_made_of_it(
        files in (file(0), file(1), file(2), file(3), file(4), file(5), file(6))
    ) {
        let recording = Recording::new();
        let (a, b, c, d, e, f, g) = files;
        for ((name, _), bytes) in FILES.iter().zip([a, b, c, d, e, f, g]) {
            recording.file(name, bytes);
        }
        everything::check(recording.path());
    }

    #[test]
    fn wrong_columns_are_named(
        at in 1..5_usize,
        names in vec(select(vec!["Timestamp", "Body", "TraceId", "x", "", "Duration"]), 1..6),
    ) {
        let recording = Recording::new();
        let (file, wanted) = FILES[at];
        let columns: Vec<String> = names.iter().map(|name| (*name).to_owned()).collect();
        let row = vec![String::from("v"); columns.len()];
        recording.file(file, table(columns, &[row]));
        if let Err(error) = Snapshot::open(recording.path(), &ReadOptions::default()) {
            let text = error.to_string();
            let lacking = wanted.iter().any(|column| text.contains(column));
            prop_assert!(text.contains(file) && lacking, "{text}");
        }
    }
}

#[test]
fn the_corpus_of_the_target_is_read() {
    crate::replay::replay("snapshot", everything::check_bytes);
}

/// One row with one long field in each file, and a good row behind it: what is kept is short.
fn long_fields(bytes: usize) {
    for (file, columns) in FILES.iter().filter(|(_, columns)| !columns.is_empty()) {
        for long in 0..columns.len() {
            for filler in ["x", "{'a': '", "[", "é", "\"\"", "\n"] {
                let recording = Recording::new();
                let good = good_row(columns);
                let mut row = good.clone();
                row[long] = filler.repeat(bytes / filler.len());
                let columns: Vec<String> = columns.iter().map(|name| (*name).to_owned()).collect();
                recording.file(file, table(columns, &[row, good]));
                let snapshot = Snapshot::open(recording.path(), &ReadOptions::default()).unwrap();
                check_warnings(&snapshot);
                let stored = format!("{snapshot:?}").len();
                assert!(stored < 50_000, "{file}: {stored}");
            }
        }
    }
}

fn good_row(columns: &[&str]) -> Vec<String> {
    let cell = |column: &&str| match column.to_ascii_lowercase().as_str() {
        "timestamp" => "2026-01-01 10:00:00",
        "value" | "duration" => "1",
        "body" => r#"{"kind":"Pod","metadata":{"name":"p","namespace":"n"}}"#,
        _ => "x",
    };
    columns.iter().map(|column| cell(column).to_owned()).collect()
}

#[test]
fn one_long_field_costs_no_more_than_its_row() {
    long_fields(if cfg!(debug_assertions) { 100_000 } else { 1_000_000 });
}

#[test]
fn fields_beyond_the_bound_are_skipped_and_reading_goes_on() {
    let recording = Recording::new();
    let columns: Vec<String> = LOG_HEADER.iter().map(|name| (*name).to_owned()).collect();
    let good = good_row(&LOG_HEADER);
    let mut long = good.clone();
    long[8] = "x".repeat(MAX_FIELD_BYTES + 1);
    recording.file("otel_logs_raw.tsv", table(columns, &[good.clone(), long, good]));
    let snapshot = recording.open();
    let said = snapshot.warnings().join("\n");
    assert!(said.contains("otel_logs_raw.tsv line 3: a field is longer"), "{said}");
    let answer = Toolbox::new(Arc::new(snapshot)).call("log_analysis", json!({})).unwrap();
    assert_eq!(answer["lines"], 2, "{answer:#}");
}

#[test]
fn very_long_fields_do_not_fill_the_memory() {
    if std::env::var_os("EOG_FUZZ_BIG").is_none() {
        eprintln!("skipped: set EOG_FUZZ_BIG=1 to try fields of 100 MB");
        return;
    }
    for (file, columns) in FILES.iter().filter(|(_, columns)| !columns.is_empty()) {
        let recording = Recording::new();
        // Written piece by piece, so that the peak of memory is the reader's.
        let mut big = fs::File::create(recording.file(file, "")).unwrap();
        let good = good_row(columns).join("\t").replace('"', "'");
        let rest = &good[good.find('\t').unwrap()..];
        writeln!(big, "{}", columns.join("\t")).unwrap();
        io::copy(&mut io::repeat(b'x').take(100_000_000), &mut big).unwrap();
        writeln!(big, "{rest}\n{good}").unwrap();
        let before = peak();
        let snapshot = Snapshot::open(recording.path(), &ReadOptions::default()).unwrap();
        let grown = peak().saturating_sub(before);
        let said = snapshot.warnings().join("\n");
        assert!(said.contains(&format!("{file} line 2: the record is longer")), "{said}");
        assert!(grown < 64 * 1024 * 1024, "{file}: {grown} bytes more");
    }
}

/// The most memory that this process ever held; 0 where the system does not report it.
fn peak() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
    let kilobytes = line.and_then(|line| line.split_whitespace().next()?.parse::<u64>().ok());
    kilobytes.unwrap_or(0) * 1024
}
