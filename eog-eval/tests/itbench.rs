//! ITBench scoring: the rules one by one, the shipped truths, and the judged outputs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eog_eval::Funnel;
use eog_eval::itbench::{
    GroundTruth, NamedEntity, Output, Predicted, Truths, evaluate_outputs, evaluate_runs,
    evaluate_snapshot, score,
};

const TRUTH: &str = r#"
apiVersion: v1
kind: GroundTruth
spec:
  aliases:
  - [cart-service, cart-pod]
  - [cart-pod, cart-deployment]
  groups:
  - {id: cart-service, kind: Service, namespace: shop, filter: ['cart\b']}
  - {id: cart-pod, kind: Pod, namespace: shop, filter: ['cart-.*']}
  - {id: cart-deployment, kind: Deployment, namespace: shop, name: cart, root_cause: true}
  - {id: flags, kind: ConfigMap, namespace: shop, filter: ['flags'], root_cause: true}
  - {id: web, kind: Service, namespace: shop, filter: ['web\b']}
  - {id: web-proxy, kind: Service, namespace: shop, filter: ['web-proxy\b']}
  propagations:
  - {source: flags, target: cart-service, condition: a, effect: b}
  - {source: cart-deployment, target: cart-pod, condition: a, effect: b}
  - {source: cart-service, target: web, condition: a, effect: b}
  - {source: web, target: web-proxy, condition: a, effect: b}
"#;

fn truth() -> GroundTruth {
    GroundTruth::parse(TRUTH, "truth.yaml".as_ref()).unwrap()
}

fn output(causes: &[&str], edges: &[(&str, &str)]) -> Output {
    let named = NamedEntity::parse;
    Output {
        entities: causes
            .iter()
            .map(|name| Predicted { entity: named(name), contributing: true })
            .collect(),
        propagations: edges.iter().map(|(from, to)| (named(from), named(to))).collect(),
    }
}

#[test]
fn precision_counts_predictions_and_recall_counts_classes() {
    let cases: [(&[&str], [f64; 4]); 8] = [
        (&["shop/Deployment/cart", "shop/ConfigMap/flags"], [1.0, 1.0, 1.0, 1.0]),
        // Aliases are correct, and found once.
        (&["shop/Pod/cart-1", "shop/Service/cart"], [1.0, 0.5, 2.0 / 3.0, 0.0]),
        (&["cart Service", "flags ConfigMap", "web Service"], [2.0 / 3.0, 1.0, 0.8, 2.0 / 3.0]),
        // Another kind, another namespace, a name that only contains the filter.
        (&["shop/Service/flags"], [0.0, 0.0, 0.0, 0.0]),
        (&["other/ConfigMap/flags"], [0.0, 0.0, 0.0, 0.0]),
        (&["shop/ConfigMap/my-flags"], [0.0, 0.0, 0.0, 0.0]),
        (&["unknown/ConfigMap/flags-v2"], [1.0, 0.5, 2.0 / 3.0, 0.0]),
        (&[], [0.0, 0.0, 0.0, 0.0]),
    ];
    for (causes, [precision, recall, f1, leaderboard]) in cases {
        let found = score(&output(causes, &[]), &truth());
        let close = |a: f64, b: f64| (a - b).abs() < 1e-9;
        assert!(close(found.precision, precision), "{causes:?} {found:?}");
        assert!(close(found.recall, recall), "{causes:?} {found:?}");
        assert!(
            close(found.f1, f1) && close(found.leaderboard, leaderboard),
            "{causes:?} {found:?}"
        );
    }
}

#[test]
fn entity_at_k_looks_at_the_first_predictions() {
    let causes = ["web Service", "cart Service", "flags ConfigMap"];
    let found = score(&output(&causes, &[]), &truth());
    let at: Vec<_> = found.at.iter().map(|at| (at.k, at.precision, at.recall)).collect();
    let third = 2.0 / 3.0;
    assert_eq!(
        at,
        [(1, 0.0, 0.0), (2, 0.5, 0.5), (3, third, 1.0), (4, third, 1.0), (5, third, 1.0)]
    );
}

#[test]
fn propagations_are_compared_between_classes_of_aliases() {
    let of = |edges: &[(&str, &str)]| score(&output(&[], edges), &truth()).propagation.unwrap();
    let all = [
        ("flags ConfigMap", "cart-7 Pod"),
        ("cart Deployment", "cart Service"),
        ("cart Service", "web Service"),
        ("web Service", "web-proxy Service"),
    ];
    assert_eq!(of(&all), 1.0);
    assert_eq!(of(&[]), 0.0);
    // One of three is found, one is turned round, one end is in no group.
    let some = [
        ("flags ConfigMap", "cart Service"),
        ("web Service", "cart Service"),
        ("cart Service", "mail Service"),
    ];
    assert_eq!(of(&some), 1.0 / 3.0);
    let none = TRUTH.split("  propagations").next().unwrap();
    let truth = GroundTruth::parse(none, "truth.yaml".as_ref()).unwrap();
    assert_eq!(score(&output(&[], &all), &truth).propagation, None);
}

#[test]
fn the_second_form_names_its_causes() {
    let text = r#"{"kind": "GroundTruth", "spec": {"alerts": [], "solutions": [], "entities": [
        {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "flags", "namespace": "shop"}}
    ]}}"#;
    let truth = GroundTruth::parse(text, "truth.json".as_ref()).unwrap();
    let found = score(&output(&["shop/ConfigMap/flags", "shop/ConfigMap/flags-2"], &[]), &truth);
    assert_eq!((found.precision, found.recall), (0.5, 1.0));
}

#[test]
fn a_truth_of_no_use_says_why() {
    let cases = [
        ("groups: [", "t.yaml, line 2, column 1:"),
        ("a: &a [x]\nb: *a", "t.yaml, line 2, column 4: references"),
        (&"[".repeat(100), "t.yaml, line 1, column 65: deeper than 64 levels"),
        ("", "t.yaml, line 1, column 1: the file is empty"),
        ("alerts: []", "neither groups nor entities"),
        ("groups: [{id: a, kind: Pod, name: a}]", "no group is marked root_cause"),
        ("groups: [{id: a, kind: Pod, root_cause: true}]", "group a has neither filter nor name"),
        (
            "groups: [{id: a, kind: Pod, filter: ['('], root_cause: true}]",
            "filter \"(\" of group a",
        ),
        ("groups: [{kind: Pod}]", "missing field `id`"),
    ];
    for (text, expected) in cases {
        let error = GroundTruth::parse(text, "t.yaml".as_ref()).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} / {expected}");
    }
}

fn data() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/itbench");
    if !dir.is_dir() {
        eprintln!("skipped: the ITBench data is not at {}", dir.display());
        return None;
    }
    Some(dir)
}

#[test]
fn every_shipped_truth_is_read() {
    let Some(dir) = data() else { return };
    let truths = GroundTruth::read_all(&dir.join("ground_truths.json")).unwrap();
    assert_eq!(truths.len(), 21);
    for truth in &truths {
        assert_eq!(truth.root_causes().len(), 1, "{:?}", truth.id);
        assert!(!truth.propagations.is_empty(), "{:?}", truth.id);
    }
}

/// What a judge gave to six results; `docs/evaluation.md` explains each difference.
#[test]
fn judged_results_are_scored_again() {
    let Some(dir) = data() else { return };
    let text = std::fs::read_to_string(dir.join("agent_outputs/evaluation_results.json")).unwrap();
    let results: serde_json::Value = serde_json::from_str(&text).unwrap();
    let truths = GroundTruth::read_all(&dir.join("ground_truths.json")).unwrap();
    let second = truths.into_iter().find(|truth| truth.id.as_deref() == Some("2")).unwrap();
    // The truth of scenario 1 that the judge had, as far as its justifications tell.
    let first = GroundTruth::parse(
        r"
        aliases:
        - [load-generator-pod-1, load-generator-service-1]
        - [frontend-proxy-service-1, frontend-proxy-pod-1]
        groups:
        - {id: load-generator-pod-1, kind: Pod, filter: ['load-generator-.*'], root_cause: true}
        - {id: load-generator-service-1, kind: Service, filter: ['load-generator\b']}
        - {id: frontend-proxy-service-1, kind: Service, filter: ['frontend-proxy\b']}
        - {id: frontend-proxy-pod-1, kind: Pod, filter: ['frontend-proxy-.*']}
        ",
        "scenario 1".as_ref(),
    )
    .unwrap();
    let mut differing = Vec::new();
    for result in results["raw_results"].as_array().unwrap() {
        let judged = &result["scores"]["root_cause_entity"];
        let predicted: Vec<&str> = judged["predicted_entities"]
            .as_array()
            .unwrap()
            .iter()
            .map(|entity| entity["entity"].as_str().unwrap())
            .collect();
        let (incident, trial) =
            (result["incident_id"].as_str().unwrap(), result["trial_id"].as_str().unwrap());
        let truth = if incident == "1" { &first } else { &second };
        let ours = score(&output(&predicted, &[]), truth);
        let close = |ours: f64, key: &str| (ours - judged[key].as_f64().unwrap()).abs() < 1e-9;
        let equal = close(ours.precision, "calculation_precision")
            && close(ours.recall, "calculation_recall")
            && close(ours.f1, "calculation_f1");
        if !equal {
            differing.push(format!("{incident}/{trial}"));
            continue;
        }
        for at in &ours.at {
            let judged = &result["scores"][format!("root_cause_entity_k@{}", at.k)];
            let f1 = judged["calculation_f1"].as_f64().unwrap();
            assert!((at.f1 - f1).abs() < 1e-9, "{incident}/{trial} @{}", at.k);
        }
    }
    // There the judge took a Deployment for the Pod that the truth names.
    assert_eq!(differing, ["1/3"]);
}

#[test]
fn the_four_outputs_are_read_and_scored() {
    let Some(dir) = data() else { return };
    let truths = GroundTruth::read_all(&dir.join("ground_truths.json")).unwrap();
    let truth = truths.into_iter().find(|truth| truth.id.as_deref() == Some("2")).unwrap();
    let truths = Truths::read(&dir.join("ground_truths.json")).unwrap();
    let report = evaluate_outputs(&truths, &dir.join("agent_outputs"), None).unwrap();
    assert_eq!((report.runs.len(), report.without_truth.as_slice()), (2, &["1".to_owned()][..]));
    assert!(report.to_string().contains("left out, no truth: 1"), "{report}");
    assert_eq!(report.to_csv().lines().count(), 3);

    let mut runs = BTreeMap::new();
    // Of both scenarios the cause is the same ConfigMap now.
    for scenario in ["1", "2"] {
        let scores = ["1", "2"].map(|run| {
            let file = dir.join("agent_outputs").join(scenario).join(run).join("agent_output.json");
            Some(score(&Output::read(&file).unwrap(), &truth))
        });
        runs.insert(scenario.to_owned(), scores.to_vec());
    }
    let precisions: Vec<f64> = runs.values().flatten().flatten().map(|s| s.precision).collect();
    assert_eq!(precisions, [1.0 / 9.0, 1.0 / 6.0, 1.0 / 8.0, 1.0 / 4.0]);
    let report = evaluate_runs(&runs, 2).unwrap();
    println!("{report}");
    assert_eq!((report.pass.value, report.majority.value), (1.0, 1.0));
}

#[test]
fn our_investigation_of_the_recorded_scenario_is_scored_beside_trivial_rankings() {
    let Some(dir) = data() else { return };
    let truths = Truths::read(&dir.join("ground_truths.json")).unwrap();
    let architecture = dir.join("architecture.json");
    let truth = truths.of("2").unwrap();
    let scored =
        evaluate_snapshot(&dir.join("scenario-2-partial"), Some(&architecture), truth).unwrap();
    assert_eq!((scored.score.precision, scored.score.recall), (1.0, 1.0), "{scored:#?}");
    assert!(scored.funnel.values().all(|stage| *stage == Funnel::Named), "{scored:#?}");
    // The graph alone names it too, in this recording: whatever all depend on.
    for trivial in scored.baselines.iter().filter(|trivial| trivial.name != "pagerank") {
        assert!(trivial.f1 < 0.5, "{scored:#?}");
    }
}

#[test]
fn an_output_of_no_use_says_why() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("agent_output.json");
    for (text, expected) in [
        ("{}", "line 1, column 2: missing field `entities`"),
        (r#"{"entities": [{}]}"#, "entities, entry 1: it has neither name nor id"),
        ("not json", "line 1, column 2"),
    ] {
        std::fs::write(&file, text).unwrap();
        let error = Output::read(&file).unwrap_err().to_string();
        assert!(error.contains(expected), "{error} / {expected}");
    }
}
