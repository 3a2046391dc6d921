//! The PetShop data set, where it is there: scores, and that nothing but the evidence makes them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use eog::EntityId;
use eog_eval::petshop::{PetShopCase, cases, convert, evaluate};
use eog_eval::{investigate, suite};
use rand::rngs::ChaCha8Rng;
use rand::seq::SliceRandom;
use rand::{RngExt, SeedableRng};

fn data() -> Option<PathBuf> {
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../shared/data/petshop/low_traffic");
    if !dir.is_dir() {
        eprintln!("skipped: the PetShop data set is not at {}", dir.display());
        return None;
    }
    Some(dir)
}

#[test]
fn incidents_are_explained_and_normal_times_are_not() {
    let Some(dir) = data() else { return };
    let report = evaluate(&dir, &suite::Options::runs(1), &mut |_, _, _| {}).unwrap();
    for (group, incidents, top1, top3) in [("latency", 14, 11, 13), ("availability", 12, 10, 12)] {
        let scored = &report.groups[group];
        assert_eq!(scored.incidents, incidents);
        let hits = |share: f64| (share * incidents as f64).round() as usize;
        assert!(hits(scored.ours.top1) >= top1, "{report}");
        assert!(hits(scored.ours.top3) >= top3, "{report}");
        assert!(scored.specificity.unwrap() >= 0.8, "{report}");
        let best = scored.baselines.values().map(|figures| figures.top1).fold(0.0, f64::max);
        assert!(best < scored.ours.top1, "{report}");
    }
    let csv = report.to_csv();
    assert_eq!(csv.lines().count(), 1 + report.cases.len());
}

/// Other names, another order, other units: the same findings.
#[test]
fn names_order_and_units_do_not_matter() {
    let Some(dir) = data() else { return };
    let mut random = ChaCha8Rng::seed_from_u64(7);
    for case in cases(&dir).unwrap() {
        let before = investigate(case.bundle.to_bundle()).unwrap();
        let (disturbed, renamed) = disturb(&case, &mut random);
        let after = investigate(disturbed.bundle.to_bundle()).unwrap();
        let expected: Vec<_> = before.named().iter().map(|name| renamed[name].clone()).collect();
        let found: Vec<_> = after.named().into_iter().collect();
        assert_eq!(found, expected, "{}", case.folder.display());
    }
}

fn disturb(
    case: &PetShopCase,
    random: &mut ChaCha8Rng,
) -> (PetShopCase, BTreeMap<EntityId, EntityId>) {
    let mut case = case.clone();
    let names = case.bundle.manifest.topology.entities.clone();
    let mut others: Vec<usize> = (0..names.len()).collect();
    others.shuffle(random);
    let renamed: BTreeMap<EntityId, EntityId> = names
        .into_iter()
        .zip(others)
        .map(|(name, other)| (name, EntityId::new(format!("entity {other}")).unwrap()))
        .collect();
    let topology = &mut case.bundle.manifest.topology;
    topology.entities = topology.entities.iter().map(|name| renamed[name].clone()).collect();
    for edge in &mut topology.edges {
        edge.source = renamed[&edge.source].clone();
        edge.target = renamed[&edge.target].clone();
    }
    topology.edges.shuffle(random);
    for alert in &mut case.bundle.alerts {
        alert.entity = renamed[&alert.entity].clone();
    }
    for series in &mut case.bundle.metrics {
        series.entity = renamed[&series.entity].clone();
        let factor = match series.unit.as_str() {
            "s" => 1000.0,
            "requests" => 0.001,
            _ => 1.0,
        };
        series.points.iter_mut().for_each(|(_, value)| *value *= factor);
        series.points.shuffle(random);
    }
    case.bundle.metrics.shuffle(random);
    (case, renamed)
}

/// Folder names, the cause and the metadata of an issue leave no trace in its bundle.
#[test]
fn a_bundle_holds_nothing_of_the_truth() {
    let Some(dir) = data() else { return };
    let copy = tempfile::tempdir().unwrap();
    let copy = copy.path();
    fs::copy(dir.join("graph.csv"), copy.join("graph.csv")).unwrap();
    fs::create_dir(copy.join("noissue")).unwrap();
    fs::copy(dir.join("noissue/metrics.csv"), copy.join("noissue/metrics.csv")).unwrap();
    let given = cases(&dir).unwrap();
    for (number, case) in given.iter().enumerate() {
        let folder = copy.join(format!("{number:03}"));
        fs::create_dir(&folder).unwrap();
        fs::copy(case.folder.join("metrics.csv"), folder.join("metrics.csv")).unwrap();
        let text = fs::read_to_string(case.folder.join("target.json")).unwrap();
        let mut target: serde_json::Value = serde_json::from_str(&text).unwrap();
        target["root_cause"] = serde_json::json!({"node": "somebody else"});
        target["metadata"] = serde_json::Value::Null;
        fs::write(folder.join("target.json"), target.to_string()).unwrap();
    }
    for (one, other) in given.iter().zip(cases(copy).unwrap()) {
        assert_eq!(one.bundle, other.bundle, "{}", one.folder.display());
        assert_eq!(other.truth.causes.first().unwrap().as_str(), "somebody else");
    }
}

#[test]
fn converted_cases_are_a_suite() {
    let Some(dir) = data() else { return };
    // Two of the issues: reading all of them again and again takes its time.
    let (small, out) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    fs::copy(dir.join("graph.csv"), small.path().join("graph.csv")).unwrap();
    let given = cases(&dir).unwrap();
    let folders = given.iter().take(2).map(|case| case.folder.clone());
    for (number, folder) in folders.chain([dir.join("noissue")]).enumerate() {
        let name = if number == 2 { "noissue".into() } else { number.to_string() };
        let copy = small.path().join(name);
        fs::create_dir(&copy).unwrap();
        for file in fs::read_dir(folder).unwrap() {
            let file = file.unwrap();
            fs::copy(file.path(), copy.join(file.file_name())).unwrap();
        }
    }
    assert_eq!(convert(small.path(), out.path()).unwrap(), 2);
    let report = suite::evaluate(out.path(), &suite::Options::runs(1), &mut |_, _, _| {}).unwrap();
    for (scored, case) in report.cases.iter().zip(&given) {
        let ended = investigate(case.bundle.to_bundle()).unwrap();
        assert_eq!(scored.causes, case.truth.causes);
        assert_eq!(scored.named, ended.named());
        assert_eq!(scored.ranked.unwrap().top1, ended.suspects().hit_at(1, &case.truth.causes));
    }
}

#[test]
fn what_is_wrong_is_named_with_file_and_place() {
    let dir = tempfile::tempdir().unwrap();
    let shop = |graph: &str, metrics: &str, target: Option<&str>| {
        fs::write(dir.path().join("graph.csv"), graph).unwrap();
        for folder in ["noissue", "issue"] {
            fs::create_dir_all(dir.path().join(folder)).unwrap();
            fs::write(dir.path().join(folder).join("metrics.csv"), metrics).unwrap();
        }
        let file = dir.path().join("issue/target.json");
        match target {
            Some(target) => fs::write(file, target).unwrap(),
            None => fs::remove_file(file).unwrap_or_default(),
        }
        cases(dir.path()).map(|cases| cases.len()).map_err(|error| error.to_string())
    };
    let graph = ",web,db\nweb,0.0,1.0\ndb,0.0,0.0\n";
    let metrics = "microservice,web\nmetric,latency\nstatistic,Average\nunix_timestamp,\n\
                   60.0,0.1\n120.0,\n";
    let target = r#"{"target": {"node": "web", "metric": "latency", "agg": "Average",
                     "timestamp": 100}, "root_cause": {"node": "db"}}"#;
    assert_eq!(shop(graph, metrics, Some(target)), Ok(1));
    let above = tempfile::tempdir().unwrap();
    fs::create_dir(above.path().join("low")).unwrap();
    fs::write(above.path().join("low/graph.csv"), graph).unwrap();
    let error = cases(above.path()).map(|cases| cases.len()).unwrap_err().to_string();
    assert!(error.ends_with("low does; use that folder"), "{error}");
    let cases = [
        (shop(",web\nweb\n", metrics, Some(target)), "graph.csv, line 2: it has 1 fields"),
        (shop(",web\nweb,x\n", metrics, Some(target)), "graph.csv, line 2: \"x\" is not a number"),
        (shop(graph, "metric,a\n", Some(target)), "metrics.csv, line 1: the row of microservices"),
        (
            shop(graph, &metrics.replace("60.0", "noon"), Some(target)),
            "line 5: \"noon\" is not a time",
        ),
        (
            shop(graph, &metrics.replace("0.1", "?"), Some(target)),
            "line 5: \"?\" for web is not a number",
        ),
        (shop(graph, metrics, Some("{}")), "target.json, line 1, column 2: missing field `target`"),
        (shop(graph, metrics, None), "contains nothing to use; expected folders with metrics.csv"),
    ];
    for (found, expected) in cases {
        let error = found.unwrap_err();
        assert!(error.contains(expected), "{error} / {expected}");
    }
}

/// Alerts come late or early, cells are missing, a service is not measured.
#[test]
fn late_alerts_and_missing_measurements_cost_little() {
    let Some(dir) = data() else { return };
    let mut random = ChaCha8Rng::seed_from_u64(11);
    let all = cases(&dir).unwrap();
    let minutes = |minutes: i64| {
        move |case: &mut PetShopCase, _: &mut ChaCha8Rng| {
            let onset = &mut case.bundle.alerts[0].onset;
            *onset = eog::Timestamp::from_second(onset.as_second() + minutes * 60).unwrap();
        }
    };
    let gaps = |case: &mut PetShopCase, random: &mut ChaCha8Rng| {
        for series in &mut case.bundle.metrics {
            series.points.retain(|_| !random.random_bool(0.05));
        }
    };
    let hidden = |case: &mut PetShopCase, random: &mut ChaCha8Rng| {
        let known: Vec<EntityId> = case.bundle.manifest.topology.entities.clone();
        let kept = |name: &EntityId| {
            case.truth.causes.contains(name) || case.bundle.alerts[0].entity == *name
        };
        let others: Vec<&EntityId> = known.iter().filter(|name| !kept(name)).collect();
        let gone = others[random.random_range(0..others.len())].clone();
        case.bundle.metrics.retain(|series| series.entity != gone);
    };
    type Disturb<'a> = &'a dyn Fn(&mut PetShopCase, &mut ChaCha8Rng);
    let disturbances: [(&str, Disturb<'_>); 5] = [
        ("early", &minutes(-4)),
        ("late", &minutes(5)),
        ("later", &minutes(10)),
        ("gaps", &gaps),
        ("hidden", &hidden),
    ];
    for (name, disturb) in disturbances {
        let top1: f64 = all
            .iter()
            .map(|case| {
                let mut case = case.clone();
                disturb(&mut case, &mut random);
                let suspects = investigate(case.bundle.to_bundle()).unwrap().suspects();
                suspects.hit_at(1, &case.truth.causes)
            })
            .sum();
        println!("{name}: {top1} of {}", all.len());
        assert!(top1 >= 0.65 * all.len() as f64, "{name}: {top1} of {}", all.len());
    }
}
