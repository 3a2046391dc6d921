//! The incidents that come with eog, with a secret behind each of their texts.

use std::fs;
use std::path::Path;

use serde_json::Value;

use super::planted::Written;
use crate::common::{EXAMPLES, command};

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
        let from = Path::new(EXAMPLES).join(name);
        let dir = tempfile::tempdir().unwrap();
        let path = |name: &str| dir.path().join(name);
        assert!(copy(&from, &path("bundle")) >= 2, "{name}");
        let mut written = Written::default();
        let mut command = command!("investigate", path("bundle"), "--verbose");
        command.arg("--out").arg(path("out")).arg("--journal").arg(path("run.journal"));
        written.run(&mut command, 3);
        written.folder(&path("out"));
        written.file(&path("run.journal"));
        let masked = written.places_of("app:[masked]@db");
        assert!(masked.len() >= 3, "{name}: the texts are there in {masked:?}");
        assert_eq!(written.places_of(CANARY), [""; 0], "{name}");
    }
}
