//! ITBench scoring: the rules one by one, the shipped truths, and the judged outputs.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use eog::Config;
use eog_eval::itbench::{
    CauseToJudge, GroundTruth, Judged, NamedEntity, Output, Predicted, ReasoningJudge, Truths,
    Verdict, evaluate_knocked_out, evaluate_outputs, evaluate_runs, evaluate_snapshot, score,
};
use eog_eval::trajectory::Mode;
use eog_eval::{Funnel, Method};

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
        reasons: Vec::new(),
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
        ("a: &a [x]\nb: *a", "t.yaml, line 2, column 4: aliases"),
        (&"[".repeat(100), "t.yaml, line 1, column 65: nested more than 64 levels"),
        ("", "t.yaml, line 1, column 1: the file is empty"),
        ("alerts: []", "neither groups nor entities"),
        ("groups: [{id: a, kind: Pod, name: a}]", "no group has root_cause"),
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
    // The truth of scenario 1 that the judge had, as far as its justifications show it.
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
    let report = evaluate_outputs(&truths, &dir.join("agent_outputs"), None, None).unwrap();
    assert_eq!((report.runs.len(), report.without_truth.as_slice()), (2, &["1".to_owned()][..]));
    let text = report.to_string();
    assert!(text.contains("scenario 1 is skipped: it has no ground truth"), "{report}");
    assert!(text.contains("not scored: there is no judge"), "{report}");
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
    assert_eq!((report.repeated.pass.value, report.repeated.majority.value), (1.0, 1.0));
}

#[test]
fn our_investigation_of_the_recorded_scenario_is_scored_beside_trivial_rankings() {
    let Some(dir) = data() else { return };
    let truths = Truths::read(&dir.join("ground_truths.json")).unwrap();
    let architecture = dir.join("architecture.json");
    let truth = truths.of("2").unwrap();
    let scored = evaluate_snapshot(
        &dir.join("scenario-2-partial"),
        Some(&architecture),
        truth,
        &Method::default(),
    )
    .unwrap();
    assert_eq!((scored.score.precision, scored.score.recall), (1.0, 1.0), "{scored:#?}");
    assert!(scored.funnel.values().all(|stage| *stage == Funnel::Named), "{scored:#?}");
    assert!(scored.unknown_causes.is_empty(), "{scored:#?}");
    assert_eq!(scored.failures.get(Mode::WrongVerification), Some(0), "{scored:#?}");
    let elsewhere = "groups: [{id: flagd-confg, kind: Ingress, name: x, root_cause: true}]";
    let elsewhere = GroundTruth::parse(elsewhere, "truth.yaml".as_ref()).unwrap();
    let missed = evaluate_snapshot(
        &dir.join("scenario-2-partial"),
        Some(&architecture),
        &elsewhere,
        &Method::default(),
    )
    .unwrap();
    let [note] = missed.unknown_causes.as_slice() else { panic!("{missed:#?}") };
    assert!(note.contains("root cause flagd-confg; nearest: flagd-config"), "{note}");
    // The graph alone names it too, in this recording: whatever all depend on. So does the start, which
    // begins at what changed.
    let others = |name: &str| name != "pagerank" && name != "first seed";
    for trivial in scored.baselines.iter().filter(|trivial| others(trivial.name)) {
        assert!(trivial.f1 < 0.5, "{scored:#?}");
    }
}

/// The knock-out is done to a copy, which is removed.
#[test]
fn the_recorded_scenario_is_knocked_out_before_it_is_read() {
    let Some(dir) = data() else { return };
    let truths = Truths::read(&dir.join("ground_truths.json")).unwrap();
    let (aside, truth) = (tempfile::tempdir().unwrap(), truths.of("2").unwrap());
    let (scenario, architecture) = (dir.join("scenario-2-partial"), dir.join("architecture.json"));
    let method = Method::default();
    let scored =
        evaluate_knocked_out(&scenario, Some(&architecture), truth, &method, aside.path()).unwrap();
    println!("{:?} {:?}", scored.outcome, scored.named);
    assert_eq!(aside.path().read_dir().unwrap().count(), 0);
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

/// A folder with one truth and these outputs as runs of its scenario.
fn folder_of(outputs: &[&str]) -> (tempfile::TempDir, Truths) {
    let dir = tempfile::tempdir().unwrap();
    let truths = dir.path().join("truths/Scenario-7");
    std::fs::create_dir_all(&truths).unwrap();
    let fault =
        "  fault:\n  - {condition: the flag is on, entity: {kind: ConfigMap, name: flags}}\n";
    std::fs::write(truths.join("ground_truth.yaml"), format!("{TRUTH}{fault}")).unwrap();
    for (number, output) in outputs.iter().enumerate() {
        let run = dir.path().join(format!("outputs/7/{}", number + 1));
        std::fs::create_dir_all(&run).unwrap();
        std::fs::write(run.join("agent_output.json"), output).unwrap();
    }
    let truths = Truths::read(&dir.path().join("truths")).unwrap();
    (dir, truths)
}

#[test]
fn k_must_fit_the_runs_there_are() {
    let (dir, truths) = folder_of(&[r#"{"entities": []}"#, r#"{"entities": []}"#]);
    std::fs::create_dir_all(dir.path().join("outputs/8/1")).unwrap();
    let outputs = dir.path().join("outputs");
    for k in [0, 3] {
        let error = evaluate_outputs(&truths, &outputs, Some(k), None).unwrap_err().to_string();
        assert!(error.contains(&format!("k is {k}, but scenario 7 has 2 runs")), "{error}");
    }
    for k in [None, Some(1), Some(2)] {
        let report = evaluate_outputs(&truths, &outputs, k, None).unwrap();
        assert_eq!(report.summary.unwrap().k, k.unwrap_or(2));
        assert_eq!(report.without_truth, ["8"]);
    }
    std::fs::create_dir_all(dir.path().join("truths/Scenario-9")).unwrap();
    std::fs::write(dir.path().join("truths/Scenario-9/ground_truth.yaml"), TRUTH).unwrap();
    std::fs::create_dir_all(outputs.join("9")).unwrap();
    let truths = Truths::read(&dir.path().join("truths")).unwrap();
    let report = evaluate_outputs(&truths, &outputs, None, None).unwrap();
    assert!(report.to_string().contains("scenario 9 is skipped: it has no runs"), "{report}");
}

#[test]
fn groups_that_a_truth_does_not_have_are_reported() {
    let text = TRUTH.replace("target: web,", "target: wbe,");
    let truth = GroundTruth::parse(&text, "truth.yaml".as_ref()).unwrap();
    let notes = truth.notes();
    assert_eq!(notes.len(), 1, "{notes:?}");
    assert!(notes[0].contains("refer to \"wbe\", which is not a group; nearest: web"), "{notes:?}");
    assert!(self::truth().notes().is_empty());

    let (dir, _) = folder_of(&[r#"{"entities": []}"#]);
    let file = dir.path().join("truths/Scenario-7/ground_truth.yaml");
    std::fs::write(&file, text).unwrap();
    let truths = Truths::read(&dir.path().join("truths")).unwrap();
    let report = evaluate_outputs(&truths, &dir.path().join("outputs"), None, None).unwrap();
    let place = format!("{}, scenario 7: aliases or propagations", file.display());
    assert!(report.to_string().contains(&place), "{report}");
}

/// A judge that answers from a list, and keeps what it was asked.
struct Scripted {
    verdicts: Result<Vec<Verdict>, String>,
    asked: std::cell::RefCell<Vec<Vec<CauseToJudge>>>,
}

impl Scripted {
    fn new(verdicts: Result<Vec<Verdict>, &str>) -> Self {
        Self { verdicts: verdicts.map_err(str::to_owned), asked: std::cell::RefCell::default() }
    }
}

impl ReasoningJudge for Scripted {
    fn name(&self) -> String {
        "a script".to_owned()
    }

    fn judge(&self, causes: &[CauseToJudge]) -> Result<Vec<Judged>, String> {
        self.asked.borrow_mut().push(causes.to_vec());
        let judged = |verdict: &Verdict| Judged { verdict: *verdict, because: "so".to_owned() };
        self.verdicts.as_ref().map(|all| all.iter().map(judged).collect()).map_err(Clone::clone)
    }
}

/// Two root causes, both named: one with two reasons, one without any.
const REASONED: &str = r#"{"entities": [
    {"id": "f", "name": "flags ConfigMap", "contributing_factor": true, "reasoning": "it was switched on"},
    {"name": "cart Deployment", "contributing_factor": true},
    {"name": "web Service", "contributing_factor": true, "reasoning": "not asked about"}
  ], "propagations": [{"source": "f", "target": "cart Service", "condition": "the flag fails carts"}]}"#;

#[test]
fn reasoning_is_judged_cause_by_cause() {
    let (dir, truths) = folder_of(&[REASONED, r#"{"entities": []}"#, "not json"]);
    let outputs = dir.path().join("outputs");
    let judge = Scripted::new(Ok(vec![Verdict::Partial]));
    let report = evaluate_outputs(&truths, &outputs, None, Some(&judge)).unwrap();
    let asked = judge.asked.borrow();
    // Only the run that names a root cause is judged, and of it only the cause with a reason.
    let [only] = asked.as_slice() else { panic!("{asked:?}") };
    assert_eq!(only.len(), 1);
    assert_eq!(only[0].cause, "ConfigMap/flags");
    assert_eq!(only[0].said, ["it was switched on", "the flag fails carts"]);
    assert_eq!(only[0].truth, ["the flag is on", "a"]);
    let scores: Vec<_> =
        report.runs.iter().map(|run| run.reasoning.as_ref().unwrap().score()).collect();
    assert_eq!(scores, [Some(0.25), Some(0.0), Some(0.0)]);
    let reasoning = report.reasoning.as_ref().unwrap();
    assert_eq!((reasoning.scored, reasoning.left_out), (3, 0));
    assert!(report.to_string().contains("over 3 of 3 runs, judged by a script"), "{report}");
    assert!(report.to_csv().contains("0.25,ConfigMap/flags: so | Deployment/cart: no reason"));
}

#[test]
fn a_judge_that_fails_makes_no_score_and_no_zero() {
    let (dir, truths) = folder_of(&[REASONED]);
    let outputs = dir.path().join("outputs");
    for (verdicts, expected) in [
        (Err("the model is away"), "the model is away"),
        (Ok(vec![Verdict::Right, Verdict::Right]), "2 verdicts for 1 causes"),
    ] {
        let judge = Scripted::new(verdicts);
        let report = evaluate_outputs(&truths, &outputs, None, Some(&judge)).unwrap();
        let reasoning = report.reasoning.as_ref().unwrap();
        assert_eq!((reasoning.mean, reasoning.scored, reasoning.left_out), (None, 0, 1));
        let text = report.to_string();
        assert!(
            text.contains("reasoning of 7/1 is not scored") && text.contains(expected),
            "{text}"
        );
    }
}

#[test]
fn a_truth_without_conditions_cannot_be_compared_with() {
    let text = r#"{"spec": {"entities": [
        {"kind": "ConfigMap", "metadata": {"name": "flags"}}
    ]}}"#;
    let (dir, _) = folder_of(&[REASONED]);
    std::fs::write(dir.path().join("truths/Scenario-7/ground_truth.yaml"), text).unwrap();
    let truths = Truths::read(&dir.path().join("truths")).unwrap();
    let judge = Scripted::new(Ok(Vec::new()));
    let outputs = dir.path().join("outputs");
    let report = evaluate_outputs(&truths, &outputs, None, Some(&judge)).unwrap();
    assert!(judge.asked.borrow().is_empty());
    assert!(
        report.to_string().contains("the ground truth gives no condition for ConfigMap/flags"),
        "{report}"
    );
}

/// `agent_output.json` is written by the reports and read by the scores.
#[test]
fn what_a_report_writes_is_what_is_scored() {
    use eog_testkit::{alert, case, finding, origin, policy_fn, run, symptom_of, topology};
    let case = case(topology("web calls db"), [alert("web", "Errors", "10:05")]);
    let contract = eog_testkit::MemoryContext::default()
        .with(finding("web").at("10:05").excerpt("failing"))
        .with(finding("db").change("pool", "50", "5").at("10:04"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        _ => origin(packet),
    });
    let diagnosis = run(Config::default(), case, &contract, &policy).diagnosis();
    let report = eog_report::Report::new("pools", diagnosis);
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("agent_output.json");
    std::fs::write(&path, eog_report::agent_output(&report)).unwrap();

    let read = Output::read(&path).unwrap();
    let (db, web) = (NamedEntity::parse("db"), NamedEntity::parse("web"));
    let causes: Vec<&NamedEntity> = read.predicted().collect();
    assert_eq!(causes, [&db]);
    assert_eq!(read.entities.len(), 2);
    assert_eq!(read.propagations, [(db.clone(), web)]);
    let reasons: Vec<&str> = read.reasons_of(&db).collect();
    assert!(reasons.iter().any(|why| why.contains("pool changed from 50 to 5")), "{reasons:?}");
}
