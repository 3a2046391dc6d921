//! The core knows no domain: an incident of a bottling line is diagnosed by the same phases, and no
//! word of software operations is in their prompts.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

#[path = "../examples/write_bottling_line.rs"]
#[expect(dead_code, reason = "an example's main is not called here")]
mod generator;
mod support;

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use eog::Engine;
use eog_core::diagnosis::Doubt;
use eog_core::{Confidence, Config, EntityId, Label};
use eog_prompts::{
    ChatRequest, Finalizer, MockModel, Opening, OpeningLimits, Pack, Prompter, Reply,
    condense_packet,
};
use eog_testkit::assert_that;
use serde_json::{Value, json};
use support::{number, packet_of, policy, shipped, shown, subject};

/// Words of software operations that a plant does not know.
const FOREIGN: [&str; 44] = [
    "5xx",
    "api",
    "cloud",
    "cluster",
    "configmap",
    "container",
    "containers",
    "cpu",
    "crashloopbackoff",
    "daemonset",
    "database",
    "deployment",
    "deployments",
    "devops",
    "docker",
    "endpoint",
    "host",
    "http",
    "image",
    "ingress",
    "json_api",
    "k8s",
    "kubernetes",
    "latency",
    "microservice",
    "namespace",
    "node",
    "nodes",
    "oom",
    "oomkilled",
    "p95",
    "p99",
    "pod",
    "pods",
    "process",
    "replica",
    "replicas",
    "request",
    "requests",
    "server",
    "service",
    "services",
    "software",
    "sre",
];

/// Fails when a prompt speaks of software operations.
fn assert_neutral(request: &ChatRequest) {
    let text = shown(request);
    let lower = text.to_lowercase();
    let words: Vec<&str> = lower.split(|c: char| !c.is_alphanumeric() && c != '_').collect();
    for foreign in FOREIGN {
        assert!(
            !words.contains(&foreign),
            "{foreign:?} is in a prompt of {}:\n{text}",
            request.phase
        );
    }
}

#[test]
fn the_shipped_bundle_is_what_the_generator_writes() {
    let dir = tempfile::tempdir().unwrap();
    generator::bottling_line().unwrap().write(dir.path()).unwrap();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/bottling-line");
    let listed = |dir: &Path| {
        let mut files: Vec<_> =
            fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().file_name()).collect();
        files.sort();
        files
    };
    assert_eq!(listed(&shipped), listed(dir.path()));
    for file in listed(dir.path()) {
        let written = fs::read_to_string(dir.path().join(&file)).unwrap();
        assert_eq!(fs::read_to_string(shipped.join(&file)).unwrap(), written, "{file:?}");
    }
}

/// The answers of a model, by entity and its messages.
fn reply(request: &ChatRequest) -> Option<Reply> {
    let shows = |text: &str| request.messages[1].text.contains(text);
    let cite = |text: &str| number(request, text);
    let answer = match subject(request) {
        "line-3/packer" => suffers(
            "Fewer cases since 07:16, as fewer bottles arrive.",
            ["line-3/labeller", "line-3/packer"],
            [cite("cases from"), cite("Starved")],
        ),
        // The new roll of labels looks guilty, until the capper says that it rejects bottles.
        "line-3/labeller" if !shows("line-3/capper says symptom") => json!({
            "because": "A new roll of labels at 06:50 preceded the falling output.",
            "label": "origin",
            "evidence": [cite("labels.supplier"), cite("cases_worth")],
            "claims": [{
                "cause": "line-3/labeller", "effect": "line-3/packer",
                "condition": "it hands on too little", "observed": "cases fell",
                "evidence": [cite("cases_worth")],
            }],
            "next_page": false, "search": [], "other_causes": [],
            "proposals": [{ "entity": "line-3/capper", "reason": "what feeds it" }],
        }),
        "line-3/labeller" => suffers(
            "Misreads are as before, so the roll is fine; fewer bottles arrive from the capper.",
            ["line-3/capper", "line-3/labeller"],
            [cite("bottles from line-3/capper"), cite("misreads steady")],
        ),
        "line-3/capper" => suffers(
            "Torque is too low on several heads, and on line 4 as well: the shared air.",
            ["utilities/air-header", "line-3/capper"],
            [cite("torque_rejects"), cite("TorqueLow")],
        ),
        "utilities/air-header" => suffers(
            "Pressure fell two minutes after the compressor that supplies it.",
            ["utilities/compressor-2", "utilities/air-header"],
            [cite("pressure from"), None],
        ),
        "utilities/compressor-2" => json!({
            "because": "Its setpoint was lowered at 07:02, and the outlet followed at 07:04.",
            "label": "origin",
            "evidence": [cite("pressure.setpoint"), cite("outlet from")],
            "claims": [{
                "cause": "utilities/compressor-2", "effect": "utilities/air-header",
                "condition": "it delivers 5.2 bar", "observed": "pressure fell",
                "evidence": [cite("outlet from")],
            }],
            "next_page": false, "search": [], "other_causes": [], "proposals": [],
        }),
        _ => return None,
    };
    Some(answer.into())
}

fn suffers(because: &str, [cause, effect]: [&str; 2], evidence: [Option<u32>; 2]) -> Value {
    let evidence: Vec<u32> = evidence.into_iter().flatten().collect();
    json!({
        "because": because, "label": "symptom", "evidence": evidence,
        "claims": [{
            "cause": cause, "effect": effect, "condition": "it gives too little",
            "observed": "output fell", "evidence": evidence,
        }],
        "next_page": false, "search": [], "other_causes": [], "proposals": [],
    })
}

#[tokio::test]
async fn a_bottling_line_is_diagnosed_in_its_own_words() {
    let (case, context) = shipped("bottling-line");
    let model = Arc::new(MockModel::new("mock/plant").answering(reply));
    let policy = policy(Pack::named("plant").unwrap(), &model).for_case(&case);
    let finished = Engine::new(context, policy).investigate(Config::default(), case).await;

    assert_that(&finished)
        .ends_with_label("line-3/labeller", Label::Symptom)
        .claims("utilities/compressor-2", "utilities/air-header")
        .claims("line-3/capper", "line-3/labeller")
        .frontier(["utilities/compressor-2"])
        .converged()
        .is_intact();
    // Output was measured to fall up to 14 minutes after the change, in a record of two hours with two
    // changes: 23.8 % by chance, and nothing else is in doubt.
    let conclusion = finished.conclusion();
    assert_eq!(conclusion.confidence, Confidence::Likely);
    let doubts = &conclusion.frontier[0].doubts;
    assert!(matches!(&doubts[..], [Doubt::ByChance(_)]), "{doubts:?}");
    let labeller = EntityId::new("line-3/labeller").unwrap();
    let labels: Vec<Label> = finished
        .machine
        .ledger()
        .evaluations()
        .filter(|evaluation| evaluation.entity == labeller)
        .map(|evaluation| evaluation.outcome.belief.label)
        .collect();
    assert_eq!(labels.first(), Some(&Label::Origin), "the roll of labels looked guilty at first");

    // The narrative, and its correction.
    let writer = Arc::new(MockModel::new("mock/plant").when(|_| true, "nonsense"));
    let prompter = Prompter::new(
        Arc::new(Pack::named("plant").unwrap()),
        vec![Arc::<MockModel>::clone(&writer)],
    );
    Finalizer::new(prompter).finalize(&finished.diagnosis()).await;
    assert_eq!(writer.requests().len(), 2);
    for request in &writer.requests() {
        assert_eq!(request.phase, "finalize");
        assert_neutral(request);
    }

    let requests = model.requests();
    assert!(requests.len() >= 6, "{}", requests.len());
    for request in &requests {
        assert_eq!(request.messages.len(), 2, "no answer had to be mended");
        assert_neutral(request);
    }
    // What is the same for all comes first, so that providers can reuse it.
    for request in &requests[1..] {
        assert_eq!(request.messages[0], requests[0].messages[0]);
        let frame = |request: &ChatRequest| {
            request.messages[1].text.split("# Entity").next().map(str::to_owned)
        };
        assert_eq!(frame(request), frame(&requests[0]));
    }
}

/// The phases before the first packet, and the reading of long contexts.
#[tokio::test]
async fn openings_and_long_contexts_speak_no_software_either() {
    let (case, context) = shipped("bottling-line");
    // Nothing it says can be used: every phase is asked, and corrected.
    let model = Arc::new(MockModel::new("mock/plant").when(|_| true, "nonsense"));
    let pack = Arc::new(Pack::named("plant").unwrap());
    let prompter = Arc::new(Prompter::new(pack, vec![Arc::<MockModel>::clone(&model)]));
    let opening = Opening::new(Arc::clone(&prompter)).with_limits(OpeningLimits::asking_always());
    let opened = opening.open(&context.bundle().incident(), None).await.unwrap();
    assert_eq!(opened.case.seeds, case.seeds, "what no model can choose is chosen as without one");
    let packet = packet_of(&case, &context, "line-3/capper", Vec::new());
    // In chunks this small its few findings are many.
    condense_packet(&prompter, &packet, 100).await;

    let requests = model.requests();
    let asked: BTreeSet<&str> = requests.iter().map(|request| request.phase.as_str()).collect();
    let all = [
        "bootstrap",
        "classify_evidence",
        "filter_events",
        "filter_spec_changes",
        "select_investigation_window",
    ];
    assert_eq!(asked, all.into());
    requests.iter().for_each(assert_neutral);
}
