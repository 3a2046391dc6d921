//! The published JSON Schemas: current, and what the shipped example follows.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::fs;
use std::path::Path;

use serde_json::Value;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

fn json(path: &Path) -> Value {
    serde_json::from_str(&fs::read_to_string(path).unwrap()).unwrap()
}

#[test]
fn the_published_schemas_are_current() {
    for (name, schema) in eog_evidence::bundle_schemas() {
        let published = fs::read_to_string(root().join("docs/schema").join(name)).unwrap();
        let generated = serde_json::to_string_pretty(&schema).unwrap() + "\n";
        assert_eq!(published, generated, "{name}: run the example write_bundle_schemas");
    }
}

#[test]
fn the_shipped_example_follows_them_and_broken_files_do_not() {
    let files = ["bundle.json", "alerts.json", "changes.json"];
    for ((name, schema), file) in eog_evidence::bundle_schemas().into_iter().zip(files) {
        let validator = jsonschema::validator_for(&schema).unwrap();
        let shipped = json(&root().join("examples/flash-sale").join(file));
        let problems: Vec<String> =
            validator.iter_errors(&shipped).map(|error| error.to_string()).collect();
        assert_eq!(problems, Vec::<String>::new(), "{file} against {name}");

        let mut broken = shipped.clone();
        let object = if broken.is_array() { &mut broken[0] } else { &mut broken };
        object["unheard_of"] = Value::Bool(true);
        assert!(!validator.is_valid(&broken), "{name} accepts an unknown field");
    }
}
