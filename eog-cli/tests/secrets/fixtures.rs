//! The incidents that come with eog, with a secret behind each of their texts.

use std::fs;
use std::path::Path;
use std::process::Command;

use serde_json::Value;

use super::planted::Written;

const CANARY: &str = "Qz7Kw2Vn9Xt4Lp8R";

/// Fields that hold text. Others hold names, times and numbers.
const TEXTS: [&str; 4] = ["description", "old", "new", "message"];

fn planted(text: &str) -> String {
    format!("{text} postgres://app:{CANARY}@db:5432/x")
}

fn plant(value: &mut Value) {
    match value {
        Value::Array(list) => list.iter_mut().for_each(plant),
        Value::Object(map) => {
            for (name, value) in map {
                match value {
                    Value::String(text) if TEXTS.contains(&name.as_str()) => *text = planted(text),
                    value => plant(value),
                }
            }
        }
        _ => {}
    }
}

/// Copies a bundle and plants; says how many files hold a canary then.
fn copy(from: &Path, to: &Path) -> usize {
    fs::create_dir(to).unwrap();
    let mut count = 0;
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let text = fs::read_to_string(&path).unwrap();
        let text = if path.extension().is_some_and(|end| end == "csv") {
            let mut reader = csv::Reader::from_reader(text.as_bytes());
            let head = reader.headers().unwrap().clone();
            let mut writer = csv::Writer::from_writer(Vec::new());
            writer.write_record(&head).unwrap();
            for row in reader.records() {
                let row = row.unwrap();
                let cells = head.iter().zip(&row).map(|(name, cell)| match name {
                    name if TEXTS.contains(&name) => planted(cell),
                    _ => cell.to_owned(),
                });
                writer.write_record(cells).unwrap();
            }
            String::from_utf8(writer.into_inner().unwrap()).unwrap()
        } else {
            let mut value: Value = serde_json::from_str(&text).unwrap();
            plant(&mut value);
            value.to_string()
        };
        count += usize::from(text.contains(CANARY));
        fs::write(to.join(path.file_name().unwrap()), text).unwrap();
    }
    count
}

#[test]
fn no_secret_in_an_incident_of_our_own_is_written() {
    for name in ["flash-sale", "bottling-line"] {
        let from = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples").join(name);
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name).to_str().unwrap().to_owned();
        assert!(copy(&from, path("bundle").as_ref()) >= 2, "{name}");
        let output = Command::new(env!("CARGO_BIN_EXE_eog"))
            .args(["investigate", &path("bundle"), "--out", &path("out")])
            .args(["--journal", &path("run.journal"), "--verbose"])
            .output()
            .unwrap();
        let mut written = Written::default();
        written.said("investigate", &output);
        written.folder(path("out").as_ref());
        written.0.push(("journal".into(), fs::read(path("run.journal")).unwrap()));
        let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
        let masked =
            written.0.iter().filter(|(_, it)| text(it).contains("app:[masked]@db")).count();
        assert!(masked >= 3, "{name}: the texts are there in {masked} places");
        let leaks = written.0.iter().filter(|(_, bytes)| text(bytes).contains(CANARY));
        let leaks: Vec<&str> = leaks.map(|(place, _)| place.as_str()).collect();
        assert!(leaks.is_empty(), "{name}: {leaks:?}");
    }
}
