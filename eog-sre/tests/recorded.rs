//! A recorded incident, when it is at hand beside the workspace. The recording is partial.

#![expect(clippy::unwrap_used, reason = "a test that cannot set up its input must stop")]

use std::path::PathBuf;

use eog_core::evidence::Signal;
use eog_core::{EntityId, EvidenceKind, Finding};
use eog_evidence::{effect_path, open_case};
use eog_sre::{ReadOptions, Snapshot, SnapshotContext};

/// The folder of recordings, or nothing when it is not there.
fn recordings() -> Option<PathBuf> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    if folder.join("scenario-2-partial").is_dir() {
        return Some(folder);
    }
    eprintln!("skipped: no recordings at ../shared/data/itbench beside the workspace");
    None
}

fn open() -> Option<Snapshot> {
    let folder = recordings()?;
    let options =
        ReadOptions { architecture: Some(folder.join("architecture.json")), ..Default::default() };
    Some(Snapshot::open(folder.join("scenario-2-partial"), &options).unwrap())
}

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

const CONFIG: &str = "otel-demo/ConfigMap/flagd-config";
const ALERTING: [&str; 2] =
    ["otel-demo/Service/frontend-proxy", "otel-demo/Service/fraud-detection"];

#[test]
fn the_changed_configuration_reaches_both_alerting_services() {
    let Some(snapshot) = open() else { return };
    let graph = snapshot.graph();
    for service in ALERTING {
        let path = effect_path(graph.topology(), &id(CONFIG), &id(service));
        let path = path.unwrap_or_else(|| panic!("no path to {service}: {:#?}", graph.topology()));
        assert!(path.contains(&id("otel-demo/Deployment/flagd")), "{path:?}");
    }
}

#[test]
fn the_change_shows_the_leaf_and_its_exact_time() {
    let Some(snapshot) = open() else { return };
    let incident = snapshot.incident(&snapshot.graph());
    let of = |name: &str| -> Vec<&Finding> {
        incident.changes.iter().filter(|finding| finding.entity == id(name)).collect()
    };
    let [change] = of(CONFIG)[..] else { panic!("{:#?}", of(CONFIG)) };
    let detail = change.change.as_ref().unwrap();
    assert_eq!(detail.path, "data/demo.flagd.json#flags.cartFailure.defaultVariant");
    assert_eq!((detail.old.as_deref(), detail.new.as_deref()), (Some("off"), Some("on")));
    assert_eq!(change.time.start(), "2025-12-15T17:46:18Z".parse().unwrap());
    assert_eq!(change.signal, Signal::Configuration);

    let [restart] = of("otel-demo/Deployment/cart")[..] else { panic!("{incident:#?}") };
    assert_eq!(restart.signal, Signal::Restart);
    assert_eq!(restart.time.start(), "2025-12-15T17:46:20Z".parse().unwrap());
    assert_eq!(incident.changes.len(), 2, "{:#?}", incident.changes);
}

#[test]
fn the_seeds_begin_with_the_cause_and_go_on_with_the_alerts() {
    let Some(snapshot) = open() else { return };
    let incident = snapshot.incident(&snapshot.graph());
    let case = open_case(&incident, None).unwrap();
    let seeds: Vec<&str> = case.seeds.iter().map(|seed| seed.entity.as_str()).collect();
    assert_eq!(seeds, [CONFIG, ALERTING[0], ALERTING[1]]);
    let ignored = case.bootstrap.ignored.join("\n");
    for noise in ["Watchdog", "InfoInhibitor", "KubeClientCertificateExpiration"] {
        assert!(ignored.contains(noise), "{ignored}");
    }
}

#[test]
fn the_context_of_the_cause_shows_what_it_did_and_no_secret() {
    let Some(snapshot) = open() else { return };
    let incident = snapshot.incident(&snapshot.graph());
    let window = open_case(&incident, None).unwrap().window;
    let graph = snapshot.graph();
    let entities: Vec<EntityId> = graph.topology().entities().cloned().collect();
    let context = SnapshotContext::new(snapshot, graph);
    let page = context.page(&id(CONFIG), window, 1);
    assert_eq!(page.findings[0].kind, EvidenceKind::Change);
    assert!(page.findings.iter().any(|finding| finding.signal == Signal::Impact), "{page:#?}");
    for entity in entities {
        let text = serde_json::to_string(&context.page(&entity, window, 1)).unwrap();
        assert!(!text.contains("yYrECL4q"), "{text}");
    }
}

#[test]
fn what_is_cut_or_missing_is_reported() {
    let Some(snapshot) = open() else { return };
    let warnings = snapshot.warnings().join("\n");
    assert!(warnings.contains("otel_traces_raw.tsv line"), "{warnings}");
    assert!(warnings.contains("no logs"), "{warnings}");
    assert!(snapshot.files().iter().all(|file| !file.contains("ground_truth")));
}
