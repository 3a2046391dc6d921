//! Narratives written down: a change of them is a change for readers.

use std::path::{Path, PathBuf};

use eog_core::{Config, Diagnosis};
use eog_evidence::{EvidencePolicy, open_case};
use eog_report::{Narrative, narrate};
use eog_sre::{ReadOptions, Snapshot, SnapshotContext};
use eog_testkit::run;

use crate::incidents::flash_sale;

fn json(narrative: &Narrative) -> String {
    serde_json::to_string_pretty(narrative).unwrap()
}

/// The partial recording that lies beside the checkout, or nothing with a message.
fn recording() -> Option<Diagnosis> {
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    let (folder, architecture): (PathBuf, PathBuf) =
        (data.join("scenario-2-partial"), data.join("architecture.json"));
    if !folder.is_dir() || !architecture.is_file() {
        eprintln!("skipped: no recording at {}", data.display());
        return None;
    }
    let options = ReadOptions { architecture: Some(architecture), ..ReadOptions::default() };
    let snapshot = Snapshot::open(&folder, &options).unwrap();
    let graph = snapshot.graph();
    let case = open_case(&snapshot.incident(&graph), None).unwrap();
    let contract = SnapshotContext::new(snapshot, graph);
    let finished = run(Config::default(), case, &contract, &EvidencePolicy::default());
    Some(finished.diagnosis())
}

#[test]
fn the_flash_sale_by_rules() {
    insta::assert_snapshot!(json(&narrate(&flash_sale())));
}

#[test]
fn the_recording_by_rules() {
    let Some(diagnosis) = recording() else { return };
    insta::assert_snapshot!(json(&narrate(&diagnosis)));
}

#[test]
fn a_narrative_is_read_back() {
    let narrative = narrate(&flash_sale());
    assert_eq!(serde_json::from_str::<Narrative>(&json(&narrative)).unwrap(), narrative);
    let forged = json(&narrative).replacen("{", "{\"suggestions\": [],", 1);
    assert!(serde_json::from_str::<Narrative>(&forged).is_err());
}

#[test]
fn equal_ledgers_give_equal_narratives() {
    assert_eq!(json(&narrate(&flash_sale())), json(&narrate(&flash_sale())));
}
