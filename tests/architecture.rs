//! The dependency arrows that docs/architecture.md draws are those of the workspace, and what is to be light is.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::Value;

/// The heading below which the arrows stand, one crate a line: `eog-session → eog, eog-core`.
const HEADING: &str = "## Dependency arrows";

type Arrows = BTreeMap<String, BTreeSet<String>>;

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// What the documentation says.
fn documented() -> Arrows {
    let text = std::fs::read_to_string(root().join("docs/architecture.md")).expect("it is there");
    let below = text.split_once(HEADING).expect("the heading is there").1;
    let block = below.split("```").nth(1).expect("a block follows the heading");
    let lines = block.lines().filter_map(|line| line.split_once('→'));
    let names = |list: &str| {
        let names = list.split(',').map(|name| name.trim().to_owned());
        names.filter(|name| !name.is_empty()).collect()
    };
    lines.map(|(from, to)| (from.trim().to_owned(), names(to))).collect()
}

/// What cargo says: the dependencies of each crate on others of the workspace, without those of its
/// tests.
fn real() -> Arrows {
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--no-deps", "--offline", "--format-version", "1"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("it is JSON");
    let packages = metadata["packages"].as_array().expect("there are packages");
    let name = |value: &Value| value["name"].as_str().unwrap_or_default().to_owned();
    let members: BTreeSet<String> = packages.iter().map(name).collect();
    let arrows = |package: &Value| {
        let dependencies = package["dependencies"].as_array().into_iter().flatten();
        let normal = dependencies.filter(|dependency| dependency["kind"].is_null());
        normal.map(name).filter(|name| members.contains(name)).collect()
    };
    packages.iter().map(|package| (name(package), arrows(package))).collect()
}

#[test]
fn the_documented_arrows_are_those_of_the_workspace() {
    assert_eq!(documented(), real());
}

#[test]
fn arrows_point_one_way() {
    let mut left = real();
    while !left.is_empty() {
        let free: Vec<String> = left
            .iter()
            .filter(|(_, to)| to.iter().all(|name| !left.contains_key(name)))
            .map(|(from, _)| from.clone())
            .collect();
        assert!(!free.is_empty(), "a circle: {left:?}");
        free.iter().for_each(|name| drop(left.remove(name)));
    }
}

#[test]
fn the_core_knows_nothing_of_the_workspace_and_the_product_needs_no_test_kit() {
    let arrows = real();
    assert_eq!(arrows["eog-core"], BTreeSet::new());
    for (from, to) in &arrows {
        let is_of_tests = from == "eog-testkit";
        assert!(is_of_tests || !to.contains("eog-testkit"), "{from} needs the test kit");
    }
}

/// What a crate is built of, itself included, with what its build scripts need.
fn crates_of(package: &str) -> BTreeSet<String> {
    let output = Command::new(env!("CARGO"))
        .args(["tree", "--package", package, "--edges", "normal,build", "--prefix", "none"])
        .args(["--no-dedupe", "--offline", "--locked"])
        .current_dir(root())
        .output()
        .expect("cargo runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let listed = String::from_utf8(output.stdout).expect("it is text");
    listed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Users of the library build this, each time anew on a clean machine.
#[test]
fn the_core_is_light() {
    let crates = crates_of("eog-core");
    assert!(crates.contains("eog-core") && crates.len() <= 20, "{}: {crates:?}", crates.len());
}

#[test]
fn reports_come_without_a_tokenizer() {
    let crates = crates_of("eog-report");
    assert!(crates.contains("eog-report") && !crates.contains("tiktoken"), "{crates:?}");
}

/// A clone begins with `cargo run`, without a wait for libraries that are not used.
#[test]
fn the_command_is_light_unless_features_are_asked_for() {
    let crates = crates_of("eog-cli");
    let heavy =
        ["async-nats", "genai", "jsonschema", "kube", "proptest", "rmcp", "tiktoken", "tonic"];
    let found: Vec<&str> = heavy.into_iter().filter(|name| crates.contains(*name)).collect();
    assert!(crates.contains("eog-cli") && found.is_empty(), "{found:?}");
}

/// Where all tests of a crate are one binary, a file that no module names would silently not be run.
#[test]
fn every_file_of_tests_is_run() {
    let folders = std::fs::read_dir(root()).expect("it is there");
    let folders = folders.map(|entry| entry.expect("it is there").path().join("tests"));
    let mut seen = 0;
    for folder in folders.chain([root().join("tests")]) {
        let Ok(all) = std::fs::read_to_string(folder.join("all.rs")) else { continue };
        let manifest = std::fs::read_to_string(folder.with_file_name("Cargo.toml"));
        let manifest = manifest.expect("it is there");
        for entry in std::fs::read_dir(&folder).expect("it is there") {
            let path = entry.expect("it is there").path();
            let name = path.file_stem().expect("a name").to_string_lossy().into_owned();
            let is_target = path.join("main.rs").exists();
            if name == "all" || !(is_target || path.extension().is_some_and(|it| it == "rs")) {
                continue;
            }
            let is_module = all.lines().any(|line| line.ends_with(&format!("mod {name};")));
            let is_alone = manifest.contains(&format!("[[test]]\nname = \"{name}\""));
            assert!(is_module || is_alone, "no target has {}", path.display());
            seen += 1;
        }
    }
    assert!(seen > 40, "{seen}");
}
