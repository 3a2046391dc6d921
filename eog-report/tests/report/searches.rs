//! Tree searches as metrics and as trees.

use eog_core::machine::drive;
use eog_core::{Machine as _, Timestamp, policy_fn};
use eog_report::{search_metrics, search_tree, search_tree_json};
use eog_search::ask::EvaluateAsk;
use eog_search::{
    Metadata, MetadataValue, PolicyRoles, Reply, Roles, SearchConfig, SearchController,
    SearchResponder, Verdict,
};
use eog_testkit::{MemoryContext, alert, case, finding, healthy, origin, symptom_of, topology};
use serde_json::Value;

/// Rules that say beside each score how strong the evidence is.
struct Remarking;

impl Roles for Remarking {
    fn evaluate<'a>(&'a self, ask: &'a EvaluateAsk) -> Reply<'a, Verdict> {
        Box::pin(async {
            let verdict = PolicyRoles::default().evaluate(ask).await?.answer;
            let strength = MetadataValue::Text("strong\u{202e}".to_owned());
            let metadata = Metadata([("evidence".to_owned(), strength)].into());
            Ok(Verdict { metadata, ..verdict }.into())
        })
    }
}

fn search() -> SearchController {
    let contract = MemoryContext::default()
        .with(finding("web").at("10:04"))
        .with(finding("mail").at("10:04"))
        .with(finding("db").change("pool", "50", "5").at("10:02"));
    let policy = policy_fn(|packet| match packet.entity.as_str() {
        "web" => symptom_of(packet, "db"),
        "db" => origin(packet),
        _ => healthy(packet),
    });
    let incident = case(topology("web calls db; web calls mail"), [alert("web", "Slow", "10:06")]);
    let mut search =
        SearchController::open(SearchConfig::bfs().with_accept(1000).unwrap(), incident);
    let responder = SearchResponder::new(contract, policy).with_roles(Remarking);
    drive(&mut search, &responder).unwrap();
    search
}

#[test]
fn the_metrics_of_a_search_are_an_otlp_request() {
    let search = search();
    let at: Timestamp = "2026-01-01T10:30:00Z".parse().unwrap();
    let request: Value = serde_json::from_str(&search_metrics(&search, at)).unwrap();
    let scope = &request["resourceMetrics"][0]["scopeMetrics"][0];
    let points = scope["metrics"].as_array().unwrap().iter().map(|metric| {
        let point = &metric["gauge"]["dataPoints"][0];
        assert_eq!(point["timeUnixNano"], at.as_nanosecond().to_string());
        assert_eq!(point["attributes"][0]["value"]["stringValue"], "bfs");
        // Integers of 64 bits are texts.
        let value: u64 = point["asInt"].as_str().unwrap().parse().unwrap();
        (metric["name"].as_str().unwrap().to_owned(), value)
    });
    let points: Vec<(String, u64)> = points.collect();
    let progress = search.progress();
    assert_eq!(
        points,
        [
            ("eog.search.best_score".to_owned(), 900),
            ("eog.search.nodes.pruned".to_owned(), progress.nodes_pruned),
            ("eog.search.stagnation_iterations".to_owned(), progress.stagnation_iterations.into()),
        ]
    );
    assert_eq!(progress.nodes_pruned, 1, "mail is healthy");
}

#[test]
fn the_tree_shows_what_an_evaluator_said_beside_a_score() {
    let search = search();
    let text = search_tree(&search, None);
    assert!(text.contains("score 900, evidence: strong"), "{text}");
    assert!(!text.contains('\u{202e}'), "{text}");
    let json: Value = serde_json::from_str(&search_tree_json(&search)).unwrap();
    let nodes = json["nodes"].as_array().unwrap();
    assert!(nodes.iter().any(|node| node["metadata"]["evidence"].is_string()), "{json}");
}
