//! Reading what is broken, writing and reading back, and what a context holds.

use std::fs;
use std::path::Path;

use eog_core::contract::EvidenceQuery;
use eog_core::evidence::{Peer, PeerRole, Signal, Trend};
use eog_core::incident::EffectDirection;
use eog_core::{Anomaly, ContextRequest, EntityId, EvidenceKind, Timestamp, Window};

use proptest::prelude::*;

use super::*;
use crate::{EventRecord, LogLine, ObjectState, Series, SpanIds, SpanRecord, open_case};

const MANIFEST: &str = r#"{"format": "eog-bundle", "version": 1, "name": "n"}"#;

/// Reads a bundle of the given files: its warnings, or the error without the directory.
fn read(files: &[(&str, &str)]) -> Result<Vec<String>, String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let place = dir.path().display().to_string();
    Bundle::read(dir.path())
        .map(|bundle| bundle.incident().warnings)
        .map_err(|error| error.to_string().replace(&place, "DIR"))
}

#[test]
fn a_broken_manifest_is_one_clear_error() {
    let cases = [
        (
            "{",
            "DIR/bundle.json, line 1, column 1: the file ends within an object; docs/bundle.md describes the format",
        ),
        (
            "{\"format\": \"eog-bundle\",\n \"version\": \"1\"}",
            "DIR/bundle.json, line 2, column 15: found the text \"1\", expected u64; docs/bundle.md describes the format",
        ),
        (
            r#"{"format": "eog-bundle", "version": 2, "name": "n", "later": 1}"#,
            "DIR/bundle.json says format \"eog-bundle\", version 2; this program reads format \"eog-bundle\", version 1",
        ),
        (
            r#"{"format": "other", "version": 1}"#,
            "DIR/bundle.json says format \"other\", version 1; this program reads format \"eog-bundle\", version 1",
        ),
        (
            "{\"format\": \"eog-bundle\", \"version\": 1, \"name\": \"n\",\n\"topology\": {\"entities\": [\" cart\"]}}",
            "DIR/bundle.json, line 2, column 34: entity name \" cart\" is not usable: it begins or ends with white space; docs/bundle.md describes the format",
        ),
        (
            "{\"format\": \"eog-bundle\", \"version\": 1, \"name\": \"n\",\n\"changes_recorded\": {\"start\": \"2026-01-01T10:00:00Z\", \"end\": \"2026-01-01T09:00:00Z\"}}",
            "DIR/bundle.json, line 2, column 85: a window must end after it starts, but 2026-01-01T09:00:00Z is not after 2026-01-01T10:00:00Z; docs/bundle.md describes the format",
        ),
        (
            "{\"format\": \"eog-bundle\", \"version\": 1, \"name\": \"n\",\n\"changes_recorded\": {\"start\": \"2026-01-01T08:00:00\", \"end\": \"2026-01-01T09:00:00Z\"}}",
            "DIR/bundle.json, line 2, column 51: a time has no time zone; append Z if it is UTC, else the offset, such as +02:00; docs/bundle.md describes the format",
        ),
        (
            "{\"format\": \"eog-bundle\", \"version\": 1, \"name\": \"n\",\n\"changes_recorded\": {\"start\": \"2026-01-01T09:00:00Z\"}}",
            "DIR/bundle.json, line 2, column 53: it lacks the field `end`; docs/bundle.md describes the format",
        ),
    ];
    for (text, expected) in cases {
        assert_eq!(read(&[("bundle.json", text)]).unwrap_err(), expected);
    }
    assert_eq!(
        read(&[]).unwrap_err(),
        "DIR is no bundle: it has no bundle.json; name a directory that has one"
    );
}

#[test]
fn broken_data_is_skipped_and_counted() {
    let header = "time,entity,metric,value,unit,signal,peer,peer_role\n";
    let good = "2026-01-01T10:00:00Z,cart,m,1,ms,latency,,\n";
    let row = |row: &str| format!("{header}{good}{row}\n");
    let one = |reason: &str| vec![format!("metrics.csv: 1 row skipped: line 3{reason}")];
    let long = "x".repeat(MAX_FIELD_BYTES + 1);
    let cases: [(String, Vec<String>); 14] = [
        (format!("{header}{good}"), vec![]),
        (String::new(), vec!["metrics.csv: empty, not even a header; write it again, or remove it if nothing was recorded".into()]),
        (row("yesterday,cart,m,1,,,,"), one(", column time: \"yesterday\" is not like 2026-01-01T10:00:00Z")),
        (row("2026-01-01T10:00:00Z,,m,1,,,,"), one(", column entity: entity name \"\" is not usable: it is empty")),
        (row("2026-01-01T10:00:00Z,cart,,1,,,,"), one(", column metric: it is empty")),
        (row("2026-01-01T10:00:00Z,cart,m,NaN,,,,"), one(", column value: \"NaN\" is not a finite number")),
        (row("2026-01-01T10:00:00Z,cart,m,many,,,,"), one(", column value: \"many\" is not a finite number")),
        (row("2026-01-01T10:00:00Z,cart,m,1"), one(": 4 fields where the header has 8")),
        (row("2026-01-01T10:00:00Z,cart,m,1,,,,caller"), one(": peer_role without peer")),
        (row("2026-01-01T10:00:00Z,cart,m,1,,,web,upstream"), one(", column peer_role: there is no role \"upstream\"; the roles are caller, callee and mentioned")),
        (row(&format!("2026-01-01T10:00:00Z,cart,{long},1,,,,")), one(": a field of 16385 bytes, more than 16384")),
        (row("\"2026-01-01T10:00:00Z\ncart"), vec!["metrics.csv: 2 rows skipped: line 3: 1 field where the header has 8; a quote that is opened there takes in 1 line after it: close it, or double it where it is meant".into()]),
        (format!("time,entity,metric,value,colour\n{}", "2026-01-01T10:00:00Z,cart,m,1,red\n"), vec!["metrics.csv: column \"colour\" is not known".into()]),
        (format!("{header}{}", "x\n".repeat(7)), vec!["metrics.csv: 7 rows skipped: line 2: 1 field where the header has 8; line 3: 1 field where the header has 8; line 4: 1 field where the header has 8; line 5: 1 field where the header has 8; line 6: 1 field where the header has 8; …".into()]),
    ];
    for (text, expected) in cases {
        let mut found = read(&[("bundle.json", MANIFEST), ("metrics.csv", &text)]);
        // That so few rows are too short to be compared is tested elsewhere.
        found.as_mut().unwrap().retain(|warning| !warning.contains("too short"));
        assert_eq!(found, Ok(expected), "{}", text.chars().take(200).collect::<String>());
    }
}

#[test]
fn words_that_are_not_in_the_vocabulary_are_named() {
    let text = "time,entity,reason,signal\n2026-01-01T10:00:00Z,cart,r,loud\n";
    let found = read(&[("bundle.json", MANIFEST), ("events.csv", text)]).unwrap();
    assert!(
        found[0].starts_with(
            "events.csv: 1 row skipped: line 2, column signal: unknown variant `loud`"
        ),
        "{found:?}"
    );
    let text = "time,entity,duration_ms,status\n2026-01-01T10:00:00Z,cart,5,fine\n";
    let found = read(&[("bundle.json", MANIFEST), ("spans.csv", text)]).unwrap();
    assert_eq!(
        found,
        [
            "spans.csv: 1 row skipped: line 2, column status: \"fine\" is neither ok, error nor unknown"
        ]
    );
    let text = "time,entity,duration_ms,status,trace,span\n2026-01-01T10:00:00Z,cart,5,ok,t1,\n\
                2026-01-01T10:00:00Z,cart,5,ok,,\n";
    let found = read(&[("bundle.json", MANIFEST), ("spans.csv", text)]).unwrap();
    let expected = "spans.csv: 1 row skipped: line 2, column span: it is empty, but trace is not";
    assert_eq!(found[0], expected);
    let found =
        read(&[("bundle.json", MANIFEST), ("alerts.json", r#"[{"name": "a"}, 5]"#)]).unwrap();
    assert!(
        found[0].starts_with("alerts.json: 2 rows skipped: line 1, column 14: it lacks the field"),
        "{found:?}"
    );
}

/// What could not be used, as "FILE: UNUSABLE of RECORDS: REASON".
fn unusable(files: &[(&str, &str)]) -> Vec<String> {
    let dir = tempfile::tempdir().unwrap();
    for (name, text) in files.iter().chain(&[("bundle.json", MANIFEST)]) {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let found = Bundle::read(dir.path()).unwrap().incident().unusable;
    let reasons = found
        .iter()
        .map(|it| format!("{}: {} of {}: {}", it.source, it.unusable, it.records, it.reason));
    reasons.collect()
}

#[test]
fn what_cannot_be_used_is_reported_by_file_with_its_first_place() {
    let row = "2026-01-01 10:00:00,cart,m,1\n";
    let metrics = format!("time,entity,metric,value\n{}", row.repeat(2_184));
    let alerts = "[\r\n  {\"name\": \"a\",\r\n   \"entity\": \"cart\",\r\n   \"onset\": \
                  \"2026-01-01T10:00:00\"},\r\n 7, {\"name\": \"b\", \"entity\": \"cart\", \"signal\": \"errors\", \
                  \"onset\": \"2026-01-01T10:00:00Z\"}]";
    let found = unusable(&[("metrics.csv", &metrics), ("alerts.json", alerts)]);
    assert_eq!(found.len(), 2, "{found:?}");
    assert_eq!(
        found[0],
        "alerts.json: 2 of 3: line 4, column 33: a time has no time zone; append Z if it is UTC, \
         else the offset, such as +02:00"
    );
    assert_eq!(
        found[1],
        "metrics.csv: 2184 of 2184: line 2, column time: \"2026-01-01 10:00:00\" has no time zone; \
         append Z if it is UTC, else the offset, such as +02:00"
    );
}

#[test]
fn another_delimiter_is_reported() {
    for (header, sign) in [("time;entity;metric", "semicolons"), ("time\tentity", "tabs")] {
        let error = read(&[("bundle.json", MANIFEST), ("metrics.csv", header)]).unwrap_err();
        assert!(
            error.contains(&format!("separated by {sign}; separate them by commas")),
            "{error}"
        );
    }
}

#[test]
fn an_entity_outside_the_topology_is_reported_with_similar_names() {
    let alert = |entity: &str| {
        format!(
            r#"[{{"name": "a", "entity": "{entity}", "signal": "errors",
            "onset": "2026-01-01T10:00:00Z"}}]"#
        )
    };
    let cases = [
        (
            "carts",
            vec![
                "alerts.json: alert a concerns carts, which is not in the topology; did you mean cart?",
            ],
        ),
        (
            "zebra",
            vec![
                "alerts.json: alert a concerns zebra, which is not in the topology; add it there, with its edges, so that what it reaches is known",
            ],
        ),
        ("cart", vec![]),
    ];
    let manifest = r#"{"format": "eog-bundle", "version": 1, "name": "t",
        "topology": {"entities": ["cart"], "edges": []}}"#;
    for (entity, expected) in cases {
        let mut found =
            read(&[("bundle.json", manifest), ("alerts.json", &alert(entity))]).unwrap();
        let has_place = found.last().is_none_or(|last| last != NO_PLACE_TO_START);
        assert_eq!(has_place, expected.is_empty(), "{entity}");
        found.retain(|warning| warning != NO_PLACE_TO_START);
        assert_eq!(found, expected);
    }
}

/// A line of `metrics.csv`: what stands there, whether it can be used, and whether it is a row.
fn line() -> impl Strategy<Value = (String, Option<bool>)> {
    let good = "2026-01-01T10:00:00Z,cart,m,1,unit";
    prop_oneof![
        Just((good.to_owned(), Some(true))),
        Just(("2026-01-01T10:00:00Z,cart,m,1,\"two\nlines\"".to_owned(), Some(true))),
        Just(("2026-01-01T10:00:00Z,cart,m,1,\"two\r\n\r\nlines\"".to_owned(), Some(true))),
        Just(("2026-01-01 10:00:00,cart,m,1,".to_owned(), Some(false))),
        Just(("\"no\n\r\ntime\",cart,m,1,".to_owned(), Some(false))),
        Just(("short".to_owned(), Some(false))),
        Just((String::new(), None)),
    ]
}

proptest! {
    /// Every row is either used or not, and the first that is not is named by its line as an editor
    /// shows it, whatever ends the lines.
    #[test]
    fn rows_add_up_and_lines_are_those_of_an_editor(
        lines in proptest::collection::vec((line(), prop_oneof![Just("\n"), Just("\r\n")]), 0..40),
        mark in proptest::bool::ANY,
        header_end in prop_oneof![Just("\n"), Just("\r\n")],
    ) {
        let mut text = if mark { "\u{feff}".to_owned() } else { String::new() };
        text += "time,entity,metric,value,unit";
        text += header_end;
        let (mut rows, mut bad, mut first) = (0, 0, None);
        for ((content, usable), end) in &lines {
            let line = text.matches('\n').count() + 1;
            rows += usize::from(usable.is_some());
            bad += usize::from(*usable == Some(false));
            if *usable == Some(false) {
                first = first.or(Some(line));
            }
            text += content;
            text += end;
        }
        let found = unusable(&[("metrics.csv", &text)]);
        match first {
            None => prop_assert!(found.is_empty(), "{found:?}"),
            Some(line) => {
                let begins = format!("metrics.csv: {bad} of {rows}: line {line}");
                prop_assert!(found[0].starts_with(&begins), "{found:?} is not {begins}");
                let rest = &found[0][begins.len()..];
                prop_assert!(!rest.starts_with(|next: char| next.is_ascii_digit()), "{found:?}");
            }
        }
    }
}

#[test]
fn a_recording_that_is_too_short_to_be_compared_says_so() {
    let rows = |count: u32| {
        let row = |minute| format!("2026-01-01T10:{minute:02}:00Z,cart,m,1\n");
        format!("time,entity,metric,value\n{}", (0..count).map(row).collect::<String>())
    };
    let warnings =
        |count| read(&[("bundle.json", MANIFEST), ("metrics.csv", &rows(count))]).unwrap();
    assert_eq!(
        warnings(6),
        [
            "the recording is too short to be compared: no series has more than 6 points; at least 5 \
          before the incident and 2 in it are needed"
        ]
    );
    assert!(warnings(7).is_empty());
}

#[test]
fn a_header_without_a_needed_column_is_an_error() {
    let header = "time,entity,metric\n";
    assert_eq!(
        read(&[("bundle.json", MANIFEST), ("metrics.csv", header)]).unwrap_err(),
        "DIR/metrics.csv, line 1: column value is missing; expected columns: \
         time,entity,metric,value,unit,signal,peer,peer_role"
    );
    let misspelt = "time,entity,metric,valeu\n";
    let error = read(&[("bundle.json", MANIFEST), ("metrics.csv", misspelt)]).unwrap_err();
    assert!(error.contains("value is missing; did you mean value by \"valeu\"?"), "{error}");
    let error = read(&[("bundle.json", MANIFEST), ("alerts.json", "{}")]).unwrap_err();
    assert!(error.contains("found an object, expected a list"), "{error}");
    let header = "time,time,entity,level,message\n";
    let error = read(&[("bundle.json", MANIFEST), ("logs.csv", header)]).unwrap_err();
    assert!(error.contains("column time is there twice"), "{error}");
}

#[cfg(unix)]
#[test]
fn links_are_never_followed() {
    let (outside, dir) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::write(dir.path().join("bundle.json"), MANIFEST).unwrap();
    let target = outside.path().join("metrics.csv");
    fs::write(&target, "time,entity,metric,value\n").unwrap();
    std::os::unix::fs::symlink(target, dir.path().join("metrics.csv")).unwrap();
    let error = Bundle::read(dir.path()).unwrap_err();
    assert!(matches!(error, BundleError::NotRegular { .. }), "{error}");
}

#[test]
fn a_file_beyond_its_bound_is_refused_before_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bundle.json"), MANIFEST).unwrap();
    // A sparse file: nothing is written.
    let file = fs::File::create(dir.path().join("logs.csv")).unwrap();
    file.set_len(MAX_CSV_BYTES + 1).unwrap();
    let error = Bundle::read(dir.path()).unwrap_err();
    assert!(matches!(error, BundleError::TooLarge { limit: MAX_CSV_BYTES, .. }), "{error}");
}

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

fn series(entity: &str, metric: &str, peer: Option<&str>, values: &[f64]) -> Series {
    Series {
        entity: id(entity),
        kind: EvidenceKind::Metric,
        metric: metric.into(),
        signal: Signal::Traffic,
        unit: "1/s".into(),
        peer: peer.map(|peer| Peer { entity: id(peer), role: PeerRole::Caller }),
        points: values.iter().zip(0..).map(|(value, minute)| (at(minute), *value)).collect(),
    }
}

/// Something of everything, with awkward text.
fn full() -> BundleWriter {
    let mut manifest = Manifest::new("everything, \"quoted\"");
    manifest.window = Window::new(at(10), at(20)).ok();
    manifest.baseline = Window::new(at(0), at(10)).ok().into();
    manifest.changes_recorded = Window::new(at(-300), at(20)).ok();
    manifest.ignore_alerts = vec!["Noise".into()];
    manifest.topology.entities = vec![id("alone")];
    manifest.topology.edges = vec![ManifestEdge {
        source: id("web"),
        target: id("cart"),
        relation: "calls".into(),
        effects: EffectDirection::TargetToSource,
    }];
    let alert = |name: &str| Anomaly {
        name: name.into(),
        entity: id("web"),
        signal: Signal::Errors,
        onset: at(12),
        renewed: vec![at(15)],
        last_seen: Some(at(19)),
        severity: "high".into(),
        description: "line one\nline two".into(),
    };
    let change = |minute| ChangeRecord {
        time: at(minute),
        entity: id("cart"),
        signal: Signal::Configuration,
        path: "limits.memory".into(),
        old: Some("1".into()),
        new: None,
        description: String::new(),
    };
    let line = LogLine {
        time: at(13),
        level: "ERROR".into(),
        message: "a \"quoted\",\nbroken line".into(),
        signal: None,
        peer: None,
        trace: Some("t1".into()),
    };
    let caller = Peer { entity: id("web"), role: PeerRole::Caller };
    let event = EventRecord {
        time: at(13),
        entity: id("cart"),
        reason: "Killed".into(),
        signal: Signal::Exhaustion,
        message: "out, of memory".into(),
        peer: Some(caller.clone()),
    };
    let span = |minute, failed| SpanRecord {
        time: at(minute),
        entity: id("cart"),
        duration_ms: 0.1 + 0.2,
        failed,
        peer: Some(caller.clone()),
        operation: Some("put, \"all\"".into()),
        ids: Some(SpanIds {
            trace: "t1".into(),
            span: "s2".into(),
            parent: failed.and(Some("s1".into())),
        }),
    };
    let rising = [vec![100.0; 12], vec![130.25; 8]].concat();
    BundleWriter {
        manifest,
        alerts: vec![alert("Errors"), alert("Noise")],
        changes: vec![change(11), change(18)],
        metrics: vec![
            series("cart", "requests", None, &rising),
            series("cart", "requests", Some("web"), &rising),
        ],
        events: vec![event],
        logs: vec![(id("cart"), line)],
        spans: (0..20)
            .flat_map(|minute| std::iter::repeat_n(span(minute, Some(minute > 12)), 3))
            .collect(),
        states: vec![
            state(12, ObjectState::Failing, "CrashLoopBackOff"),
            state(15, ObjectState::Ready, ""),
            state(19, ObjectState::Ready, ""),
        ],
    }
}

fn state(minute: i64, state: ObjectState, reason: &str) -> StateRecord {
    StateRecord { time: at(minute), entity: id("cart"), state, reason: reason.into() }
}

#[test]
fn states_of_objects_are_given_over_time_and_at_the_end() {
    let bundle = full().to_bundle();
    let cart = id("cart");
    let states = bundle.states(&cart);
    assert_eq!(states.at(at(13)).unwrap().reason, "CrashLoopBackOff");
    assert_eq!(states.at(at(11)), None);
    assert_eq!((states.well_since(at(30)), states.well_since(at(14))), (Some(at(15)), None));
    assert!(bundle.states(&id("web")).records().is_empty());
    assert_eq!(bundle.without(BundleSource::Events).all_states().count(), 0);
    let dir = tempfile::tempdir().unwrap();
    full().write(dir.path()).unwrap();
    let rows =
        "time,entity,state\n2026-01-01T10:00:00Z,cart,broken\n2026-01-01T10:00:00Z,cart,gone\n";
    fs::write(dir.path().join("states.csv"), rows).unwrap();
    let read = Bundle::read(dir.path()).unwrap();
    let all: Vec<ObjectState> = read.all_states().map(|it| it.state).collect();
    assert_eq!(all, [ObjectState::Gone]);
    assert!(read.incident().unusable[0].reason.contains("line 2, column state"));
}

#[test]
fn a_bundle_of_a_program_is_checked_as_one_of_a_folder() {
    let mut rows = full();
    rows.metrics[0].points.push((at(3), f64::NAN));
    rows.events[0].message = "x".repeat(MAX_FIELD_BYTES + 1);
    let dir = tempfile::tempdir().unwrap();
    rows.write(dir.path()).unwrap();
    let made = Bundle::of(&rows).unwrap();
    assert_eq!(made, Bundle::read(dir.path()).unwrap());
    let unusable = made.incident().unusable;
    let unusable: Vec<(&str, u64)> =
        unusable.iter().map(|it| (it.source.as_str(), it.unusable)).collect();
    assert_eq!(unusable, [("metrics.csv", 1), ("events.csv", 1)]);
    rows.manifest.version = 9;
    assert!(matches!(Bundle::of(&rows), Err(BundleError::Unsupported { version: 9, .. })));
}

#[test]
fn alerts_on_nothing_that_is_known_have_no_place_to_start() {
    let mut writer = full();
    for alert in &mut writer.alerts {
        alert.entity = id("elsewhere");
    }
    let warnings = writer.to_bundle().incident().warnings.join("\n");
    assert!(warnings.contains("no place to start from"), "{warnings}");
}

#[test]
fn what_is_written_is_read_back() {
    let dir = tempfile::tempdir().unwrap();
    let writer = full();
    writer.write(dir.path()).unwrap();
    let bundle = Bundle::read(dir.path()).unwrap();
    assert_eq!(bundle, writer.to_bundle());
    let incident = bundle.incident();
    assert_eq!(incident.warnings, Vec::<String>::new());
    assert_eq!(incident.ignored, ["Noise on web: listed in ignore_alerts"]);
    assert_eq!(
        (incident.anomalies.len(), incident.changes.len(), incident.failures.len()),
        (1, 2, 1)
    );
    // What is stated stands above the extent of the telemetry.
    let record = open_case(&incident, None).unwrap().record.unwrap();
    assert_eq!(Some(record.span), writer.manifest.changes_recorded);
    // Written again with less, no file of before remains.
    BundleWriter::new(Manifest::new("empty")).write(dir.path()).unwrap();
    let files: Vec<_> =
        fs::read_dir(dir.path()).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(files, [dir.path().join("bundle.json")]);
    assert!(writer.write(Path::new("/dev/null/nowhere")).is_err());
}

#[test]
fn changes_outside_the_stated_record_are_reported_and_kept() {
    let mut writer = full();
    writer.manifest.changes_recorded = Window::new(at(11), at(18)).ok();
    assert_eq!(writer.to_bundle().incident().warnings, Vec::<String>::new());
    writer.manifest.changes_recorded = Window::new(at(12), at(15)).ok();
    let incident = writer.to_bundle().incident();
    let warning = format!(
        "changes.json: 2 changes outside changes_recorded of bundle.json, the first on cart at {}: \
         limits.memory; correct the time over which changes were recorded",
        at(11)
    );
    assert_eq!((incident.warnings, incident.changes.len()), (vec![warning], 2));
}

fn context(writer: &BundleWriter, entity: &str, visit: u32, page: u32) -> eog_core::LocalContext {
    let window = Window::new(at(10), at(20)).unwrap();
    let changed_neighbours = Default::default();
    let request =
        ContextRequest { entity: id(entity), window, page, visit, changed_neighbours, query: None };
    BundleContext::new(writer.to_bundle()).local_context(&request)
}

fn kinds(context: &eog_core::LocalContext) -> String {
    let words = context.findings.iter().map(|finding| {
        let peer = finding.peer.as_ref().map_or(String::new(), |peer| format!("/{}", peer.entity));
        format!("{:?}:{:?}{peer}", finding.kind, finding.signal)
    });
    words.collect::<Vec<_>>().join(" ")
}

#[test]
fn a_query_finds_what_contexts_leave_out() {
    let mut metrics = "time,entity,metric,value\n".to_owned();
    let mut logs = "time,entity,level,message\n".to_owned();
    for minute in 0..30 {
        metrics += &format!("{},db,threads,40\n", at(minute));
        logs += &format!("{},db,INFO,checkpoint took 20 ms\n", at(minute));
    }
    logs += &format!("{},db,INFO,lock held by migration 7\n", at(12));
    let dir = tempfile::tempdir().unwrap();
    let event = |minute, reason: &str| format!("{},db,{reason},availability,\n", at(minute));
    let events = format!(
        "time,entity,reason,signal,message\n{}{}",
        event(5, "Restarted"),
        event(25, "Evicted")
    );
    let files = [
        ("bundle.json", MANIFEST),
        ("metrics.csv", &*metrics),
        ("logs.csv", &*logs),
        ("events.csv", &*events),
    ];
    for (name, text) in files {
        fs::write(dir.path().join(name), text).unwrap();
    }
    let context = BundleContext::new(Bundle::read(dir.path()).unwrap());
    let window = Window::new(at(10), at(20)).unwrap();
    let search = |kind, text: &str| {
        let query = EvidenceQuery { entity: id("db"), kind, text: text.into() };
        let whole = ContextRequest::whole(id("web"), window, []);
        context.local_context(&ContextRequest { query: Some(query), ..whole })
    };
    let texts = |context: &eog_core::LocalContext| {
        context.findings.iter().map(|it| it.excerpt.clone()).collect::<Vec<_>>()
    };
    let locks = search(EvidenceKind::Log, "LOCK");
    assert_eq!(texts(&locks).len(), 1, "{locks:?}");
    assert!(texts(&locks)[0].contains("lock held by migration 7"), "{locks:?}");
    let all = search(EvidenceKind::Log, "");
    assert_eq!((all.findings.len(), &*all.omitted[0]), (2, "search in logs of db: 2 found"));
    let steady = search(EvidenceKind::Metric, "threads");
    assert_eq!(steady.findings[0].trend, Trend::Steady, "{steady:?}");
    let none = search(EvidenceKind::Log, "deadlock");
    assert_eq!(none.omitted, ["search in logs of db for \"deadlock\": nothing found"]);
    assert!(none.findings.is_empty());
    let events = search(EvidenceKind::Event, "");
    assert_eq!(events.findings.len(), 1, "nothing from after the window: {events:?}");
    assert!(events.findings[0].excerpt.contains("Restarted"), "{events:?}");
    let spans = search(EvidenceKind::Span, "");
    assert_eq!(spans.omitted, ["search in spans of db: no spans of it were recorded"]);
}

#[test]
fn a_context_is_ordered_and_brings_relations_from_the_second_visit_on() {
    let writer = full();
    let first = context(&writer, "cart", 1, 1);
    assert_eq!(
        kinds(&first),
        "Change:Configuration Note:Impact/web Event:Exhaustion/web Span:Errors/web \
         Metric:Traffic Event:Availability Span:Latency/web Log:Errors"
    );
    assert_eq!(
        first.omitted,
        [
            "1 change after the last alert began: nothing follows from it",
            "1 series about relations, given on a second visit or to a query"
        ]
    );
    let second = context(&writer, "cart", 2, 1);
    assert!(kinds(&second).contains("Metric:Traffic/web"), "{}", kinds(&second));
    // `web` records nothing itself: what `cart` measured of its calls is given from the first visit on.
    assert_eq!(
        kinds(&context(&writer, "web", 1, 1)),
        "Note:Route/cart Alert:Errors Alert:Errors Span:Errors/cart Metric:Traffic/cart \
         Span:Latency/cart"
    );
    assert_eq!(context(&writer, "unknown", 1, 1).findings, []);
    assert_eq!(context(&writer, "cart", 2, 1), second, "equal requests, equal contexts");
}

#[test]
fn a_context_comes_in_pages() {
    let mut writer = full();
    writer.events = (0..FINDINGS_PER_PAGE + 5)
        .map(|index| EventRecord {
            time: at(13),
            entity: id("mail"),
            reason: format!("reason {index:03}"),
            signal: Signal::Availability,
            message: String::new(),
            peer: None,
        })
        .collect();
    let (one, two) = (context(&writer, "mail", 1, 1), context(&writer, "mail", 1, 2));
    assert_eq!((one.findings.len(), two.findings.len()), (FINDINGS_PER_PAGE, 5));
    assert_eq!(one.omitted, ["5 findings on later pages"]);
    assert_eq!(two.omitted, ["40 findings on earlier pages"]);
    assert!(one.findings.iter().all(|finding| !two.findings.contains(finding)));
    assert!(context(&writer, "mail", 1, 3).findings.is_empty());
    assert!(context(&writer, "mail", 1, u32::MAX).findings.is_empty());
    assert_eq!(context(&writer, "mail", 1, 0), one);
}

#[test]
fn a_baseline_is_several_periods_and_those_of_other_bundles() {
    let folder = tempfile::tempdir().unwrap();
    let mut run = BundleWriter::new(Manifest::new("run"));
    run.metrics = vec![series("pump", "level", None, &[1.0; 10])];
    run.manifest.baseline = Window::new(at(2), at(8)).ok().into();
    run.write(&folder.path().join("run-07")).unwrap();
    let mut incident = BundleWriter::new(Manifest::new("incident"));
    incident.manifest.window = Window::new(at(100), at(120)).ok();
    let two = [Window::new(at(60), at(70)), Window::new(at(40), at(50))];
    incident.manifest.baseline = two.into_iter().filter_map(Result::ok).collect();
    let named = |path: &str| vec![SiblingName::new(path).unwrap()];
    incident.manifest.baseline_from = named("../run-07");
    let at_incident = folder.path().join("incident");
    incident.write(&at_incident).unwrap();
    let read = Bundle::read(&at_incident).unwrap();
    let periods: Vec<Timestamp> = read.baseline.iter().map(|one| one.start()).collect();
    assert_eq!(periods, [at(2), at(40), at(60)]);
    let points = |bundle: &Bundle| -> usize {
        let all = bundle.telemetry.values().flat_map(|one| one.series.values());
        all.map(|series| series.points.len()).sum()
    };
    assert_eq!((points(&read), read.observed), (6, None), "the rest of that run is not normal");

    let refused = |incident: &BundleWriter| {
        incident.write(&at_incident).unwrap();
        Bundle::read(&at_incident).unwrap_err().to_string()
    };
    incident.manifest.baseline_from = named("../run-08");
    assert!(refused(&incident).contains("baseline_from: ../run-08: there is no such directory"));
    incident.manifest.baseline_from = named("../run-07");
    incident.manifest.window = Window::new(at(5), at(9)).ok();
    assert!(refused(&incident).contains("overlaps the window"));
    let text = fs::read_to_string(at_incident.join("bundle.json")).unwrap();
    fs::write(at_incident.join("bundle.json"), text.replace("../run-07", "../../etc")).unwrap();
    let error = Bundle::read(&at_incident).unwrap_err().to_string();
    assert!(error.contains("does not name a bundle beside this one"), "{error}");
}

#[test]
fn errors_in_logs_are_joined_by_the_request_that_they_name() {
    let mut writer = full();
    for minute in 11..20 {
        let line = |message: &str, trace: Option<String>, millisecond: i64| LogLine {
            time: at(minute).checked_add(jiff::SignedDuration::from_millis(millisecond)).unwrap(),
            level: "error".into(),
            message: message.into(),
            signal: None,
            peer: None,
            trace,
        };
        let request = format!("4bf92f3577b34da6a3ce929d0e0e47{minute}");
        let said = format!("call failed trace_id={request}");
        writer.logs.push((id("web"), line(&said, None, 40)));
        writer.logs.push((id("cart"), line("deadlock", Some(request), 5)));
    }
    let joined = |entity: &str| -> Vec<String> {
        let context = context(&writer, entity, 1, 1);
        let joined = context.findings.iter().filter(|one| one.query.contains("joined"));
        joined.map(|finding| finding.excerpt.clone()).collect()
    };
    assert_eq!(
        joined("cart"),
        [
            "of 9 requests with error lines here and elsewhere, 9 have the first one here (0 usual): deadlock"
        ]
    );
    assert_eq!(joined("web").len(), 1);
}

#[test]
fn what_needs_too_much_memory_is_refused_while_it_is_read() {
    let dir = tempfile::tempdir().unwrap();
    let folder = crate::FolderHandle::open(dir.path()).unwrap();
    fs::write(dir.path().join("bundle.json"), MANIFEST).unwrap();
    let write = |row: &dyn Fn(usize) -> String| {
        let rows: String = (0..20_000).map(row).collect();
        fs::write(dir.path().join("logs.csv"), format!("time,entity,level,message\n{rows}"))
            .unwrap();
    };
    let read = |allowed| Bundle::read_from(&folder, Some(allowed), &|| false);
    // Much text of one entity needs little.
    write(&|_| format!("2026-01-01T10:00:00Z,web,info,{}\n", "calm ".repeat(20)));
    assert!(read(2_000_000).is_ok());
    write(&|row| format!("2026-01-01T10:00:00Z,web-{row},info,calm\n"));
    let refused = read(2_000_000).unwrap_err();
    let BundleError::NeedsMemory { needed, .. } = refused else { panic!("{refused}") };
    assert!((8_000_000..40_000_000).contains(&needed), "{needed}");
    assert!(refused.to_string().contains("raise the limit, max_memory"), "{refused}");
    assert!(read(needed * 5 / 4).is_ok(), "it says what is enough");
}

#[test]
fn a_file_without_a_byte_is_one_that_cannot_be_used() {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("bundle.json"), MANIFEST).unwrap();
    fs::write(dir.path().join("metrics.csv"), "").unwrap();
    let incident = Bundle::read(dir.path()).unwrap().incident();
    let [file] = &incident.unusable[..] else { panic!("{:?}", incident.unusable) };
    assert_eq!((&*file.source, file.records, file.unusable), ("metrics.csv", 1, 1));
}

#[test]
fn what_was_written_with_checksums_is_that_or_refused() {
    let dir = tempfile::tempdir().unwrap();
    let mut writer = BundleWriter::new(Manifest::new("checked"));
    let onset = Timestamp::UNIX_EPOCH;
    writer.alerts = vec![Anomaly::new("A", EntityId::new("web").unwrap(), Signal::Errors, onset)];
    writer.write_checked(dir.path()).unwrap();
    assert_eq!(Bundle::read(dir.path()).unwrap(), writer.to_bundle());
    let file = dir.path().join("alerts.json");
    let text = fs::read_to_string(&file).unwrap();
    fs::write(&file, text.replace("web", "wed")).unwrap();
    let error = Bundle::read(dir.path()).unwrap_err();
    assert!(matches!(error, BundleError::Damaged { .. }), "{error}");
    fs::remove_file(&file).unwrap();
    let error = Bundle::read(dir.path()).unwrap_err();
    assert!(error.to_string().contains("it is not there"), "{error}");
}

#[test]
fn a_quote_that_is_never_closed_ends_the_reading_at_a_bound() {
    let row = "2026-01-01T10:00:00Z,web,info,calm\n";
    let open = "2026-01-01T10:00:00Z,web,info,\"calm\n";
    let text = format!("time,entity,level,message\n{row}\n{open}{}", row.repeat(150_000));
    let error = read(&[("bundle.json", MANIFEST), ("logs.csv", &text)]).unwrap_err();
    assert!(error.starts_with("DIR/logs.csv, line 4: a quote that is opened there"), "{error}");
}

#[test]
fn what_is_cancelled_is_not_read_on() {
    let dir = tempfile::tempdir().unwrap();
    let folder = crate::FolderHandle::open(dir.path()).unwrap();
    fs::write(dir.path().join("bundle.json"), MANIFEST).unwrap();
    fs::write(dir.path().join("changes.json"), "[]").unwrap();
    let asked = std::cell::Cell::new(0);
    let is_gone = || {
        asked.set(asked.get() + 1);
        asked.get() > 1
    };
    let error = Bundle::read_from(&folder, None, &is_gone).unwrap_err();
    assert!(matches!(error, BundleError::Cancelled), "{error}");
    assert!(asked.get() > 1, "it is asked while files are read");
}

/// A step of a job works two minutes of four, and makes errors, uses its places and calls a service only then.
#[test]
fn what_works_in_runs_is_compared_with_itself_at_work() {
    let runs = |before: f64, within: f64| -> Vec<f64> {
        let of_minute = |minute: usize| match (minute % 4, minute < 20) {
            (1 | 2, true) => before,
            (1 | 2, false) => within,
            _ => 0.0,
        };
        (0..40).map(of_minute).collect()
    };
    let of = |metric: &str, signal: Signal, unit: &str, values: Vec<f64>| Series {
        signal,
        unit: unit.into(),
        ..series("step", metric, None, &values)
    };
    let mut calls = of("calls", Signal::Traffic, "requests", runs(30.0, 30.0));
    calls.peer = Some(Peer { entity: id("outside"), role: PeerRole::Callee });
    let steps = |requests: f64, failed: f64, used: f64| {
        let mut manifest = Manifest::new("a job");
        manifest.window = Window::new(at(20), at(40)).ok();
        manifest.topology.entities = vec![id("step"), id("outside")];
        let mut writer = BundleWriter::new(manifest);
        writer.metrics = vec![
            of("requests", Signal::Traffic, "requests", runs(100.0, requests)),
            of("failed", Signal::Errors, "requests", runs(2.0, failed)),
            of("places", Signal::Saturation, "ratio", runs(0.9, used)),
            calls.clone(),
        ];
        let window = Window::new(at(20), at(40)).unwrap();
        let context = BundleContext::new(writer.to_bundle());
        move |entity: &str| -> Vec<(String, Trend)> {
            let (entity, changed_neighbours) = (id(entity), Default::default());
            let request = ContextRequest {
                entity,
                window,
                page: 1,
                visit: 2,
                changed_neighbours,
                query: None,
            };
            let findings = context.local_context(&request).findings;
            let metrics = findings.iter().filter(|finding| finding.kind == EvidenceKind::Metric);
            metrics.map(|finding| (format!("{:?}", finding.signal), finding.trend)).collect()
        }
    };
    let usual = steps(100.0, 2.0, 0.9);
    assert!(usual("step").iter().all(|(_, trend)| *trend == Trend::Steady), "{:?}", usual("step"));
    assert!(!usual("outside").is_empty(), "its callers observe it");
    assert!(usual("outside").iter().all(|(_, trend)| *trend == Trend::Steady));
    let worse = steps(100.0, 60.0, 0.9);
    let rising: Vec<_> =
        worse("step").into_iter().filter(|(_, trend)| *trend == Trend::Rising).collect();
    assert_eq!(rising, [("Errors".to_owned(), Trend::Rising)]);
}

/// A processor is busy from minute 14 on, and the last point comes after the alert.
#[test]
fn what_filled_up_before_an_alert_that_came_late_is_not_usual() {
    let busy: Vec<f64> = (0..18).map(|minute| if minute < 14 { 0.3 } else { 1.0 }).collect();
    let saturation = |alert: i64, late: Option<usize>| {
        let mut writer = BundleWriter::new(Manifest::new("a late alert"));
        writer.manifest.topology.entities = vec![id("service")];
        let (signal, unit) = (Signal::Saturation, "ratio".to_owned());
        writer.metrics = vec![Series { signal, unit, ..series("service", "cpu", None, &busy) }];
        if let Some(since) = late {
            let times: Vec<f64> = (0..18).map(|at| if at < since { 50.0 } else { 90.0 }).collect();
            let (signal, unit) = (Signal::Latency, "ms".to_owned());
            let times = Series { signal, unit, ..series("service", "time", None, &times) };
            writer.metrics.push(times);
        }
        writer.alerts = vec![alert_at(alert)];
        let window = Window::new(at(0), at(18)).unwrap();
        let context = BundleContext::new(writer.to_bundle());
        let periods = context.periods(window);
        let request = ContextRequest {
            entity: id("service"),
            window,
            page: 1,
            visit: 1,
            changed_neighbours: Default::default(),
            query: None,
        };
        let findings = context.local_context(&request).findings;
        let rises = findings
            .iter()
            .any(|finding| (finding.signal, finding.trend) == (Signal::Saturation, Trend::Rising));
        (rises, periods.usual_until, periods.first_onset)
    };
    assert_eq!(saturation(17, None), (true, Some(at(12)), Some(at(17))));
    // Measured harm dates it better.
    assert_eq!(saturation(17, Some(13)), (true, None, Some(at(12))));
    // Half of what was recorded before an early alert remains.
    assert_eq!(saturation(4, None).1, Some(at(2)));
}

fn alert_at(minute: i64) -> Anomaly {
    Anomaly {
        severity: "warning".into(),
        ..Anomaly::new("Slow", id("service"), Signal::Latency, at(minute))
    }
}
