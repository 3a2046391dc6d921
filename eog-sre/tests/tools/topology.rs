//! `build_topology` and `topology_analysis`.

use serde_json::{Value, json};

use crate::support::{Recording, Span, config, service, workload};
use crate::{refusal, toolbox};

fn span(trace: &'static str, id: &str, parent: &str, service: &'static str) -> Span<'static> {
    Span {
        at: "10:00:00".into(),
        ids: (trace, id.into(), parent.into()),
        name: "call",
        kind: "Server",
        service,
        ms: 5,
        failed: false,
        attributes: "{}",
    }
}

/// web calls cart, cart calls store; a ConfigMap configures store; two pods of cart on a node.
fn recording() -> Recording {
    let mut recording = Recording::new();
    for name in ["web", "cart", "store"] {
        let volumes = match name {
            "store" => json!([{"name": "v", "configMap": {"name": "settings"}}]),
            _ => json!([]),
        };
        recording.object("10:00:00", workload("Deployment", name, json!({"name": "c"}), volumes));
        recording.object("10:00:00", service(name, name));
    }
    let owned = |kind: &str, name: &str, owner: (&str, &str)| {
        json!({"kind": kind, "metadata": {"name": name, "namespace": "shop",
            "ownerReferences": [{"kind": owner.0, "name": owner.1}]}, "spec": {"nodeName": "n1"}})
    };
    recording.object("10:00:00", owned("ReplicaSet", "cart-1", ("Deployment", "cart")));
    for pod in ["cart-1-a", "cart-1-b"] {
        recording.object("10:00:00", owned("Pod", pod, ("ReplicaSet", "cart-1")));
    }
    recording.object("10:00:00", config("settings", "k", "v", "09:00:00"));
    recording.span(span("t", "1", "", "web"));
    recording.span(span("t", "2", "1", "cart"));
    recording.span(span("t", "3", "2", "store"));
    recording
}

/// One section as lines of hops, entity and edge.
fn section(answer: &Value, name: &str) -> Vec<String> {
    let rows = answer[name]["rows"].as_array().unwrap_or_else(|| panic!("{answer:#}"));
    let text = |row: &Value, field: &str| row[field].as_str().unwrap().replace("shop/", "");
    rows.iter()
        .map(|row| format!("{} {}: {}", row["hops"], text(row, "entity"), text(row, "edge")))
        .collect()
}

#[test]
fn calls_and_dependencies_are_followed_step_by_step() {
    let tools = toolbox(recording().open());
    let ask = |arguments: Value| tools.call("topology_analysis", arguments).unwrap();
    let cart = ask(json!({"entity": "Service/cart"}));
    assert_eq!(section(&cart, "callers"), ["1 Service/web: Service/web calls Service/cart"]);
    assert_eq!(section(&cart, "callees"), ["1 Service/store: Service/cart calls Service/store"]);
    let web = ask(json!({"entity": "Deployment/web", "mode": "callees"}));
    assert_eq!(
        section(&web, "callees"),
        [
            "1 Service/cart: Service/web calls Service/cart",
            "2 Service/store: Service/cart calls Service/store",
        ]
    );
    assert!(web.get("dependencies").is_none(), "{web}");
    let upstream =
        json!({"entity": "Service/cart", "mode": "dependencies", "direction": "upstream"});
    let upstream = ask(upstream);
    assert!(upstream.get("dependents").is_none(), "{upstream}");
    let found = section(&upstream, "dependencies");
    let settings = "3 ConfigMap/settings: Deployment/store mounts ConfigMap/settings";
    assert!(found.contains(&settings.to_owned()), "{found:#?}");
    assert!(!found.iter().any(|line| line.contains("Service/web")), "{found:#?}");
    let near = json!({"entity": "Service/cart", "mode": "dependencies", "hops": 1,
        "relations": "calls"});
    let near = ask(near);
    assert_eq!(
        section(&near, "dependencies"),
        ["1 Service/store: Service/cart calls Service/store"]
    );
    assert_eq!(section(&near, "dependents"), ["1 Service/web: Service/web calls Service/cart"]);
}

#[test]
fn the_infrastructure_goes_up_and_down_and_not_to_siblings() {
    let tools = toolbox(recording().open());
    let ask = |entity: &str| {
        let arguments = json!({"entity": entity, "mode": "infrastructure"});
        section(&tools.call("topology_analysis", arguments).unwrap(), "infrastructure")
    };
    let pod = ask("Pod/cart-1-a");
    assert_eq!(
        pod,
        [
            "1 Node/n1: Pod/cart-1-a runs_on Node/n1",
            "1 ReplicaSet/cart-1: ReplicaSet/cart-1 owns Pod/cart-1-a",
            "2 Deployment/cart: Deployment/cart owns ReplicaSet/cart-1",
            "3 Service/cart: Deployment/cart backs Service/cart",
        ]
    );
    let service = ask("Service/cart");
    for part in ["Deployment/cart:", "Pod/cart-1-a:", "Pod/cart-1-b:", "Node/n1:"] {
        assert!(service.iter().any(|line| line.contains(part)), "{part}: {service:#?}");
    }
    assert_eq!(
        ask("ConfigMap/settings"),
        [
            "1 Deployment/store: Deployment/store mounts ConfigMap/settings",
            "2 Pod/store-a-1: Deployment/store owns Pod/store-a-1",
            "2 Service/store: Deployment/store backs Service/store",
        ]
    );
}

#[test]
fn what_acts_on_a_workload_is_found_from_both_ends() {
    let mut recording = recording();
    let named = |kind: &str, name: &str, owner: Value, spec: Value| {
        json!({"apiVersion": "chaos-mesh.org/v1alpha1", "kind": kind, "spec": spec,
            "metadata": {"name": name, "namespace": "shop", "ownerReferences": owner}})
    };
    let target = json!({"selector": {"namespaces": ["shop"], "labelSelectors": {"app": "store"}}});
    let owner = json!([{"kind": "Schedule", "name": "often"}]);
    recording.object("10:00:00", named("Schedule", "often", json!([]), json!({})));
    recording.object("10:00:00", named("StressChaos", "burn", owner, target));
    let scaled = json!({"scaleTargetRef": {"kind": "Deployment", "name": "cart"}});
    recording.object(
        "10:00:00",
        json!({"kind": "HorizontalPodAutoscaler", "spec": scaled,
        "metadata": {"name": "scaler", "namespace": "shop"}}),
    );
    let tools = toolbox(recording.open());
    let ask = |entity: &str| {
        let arguments = json!({"entity": entity, "mode": "infrastructure"});
        section(&tools.call("topology_analysis", arguments).unwrap(), "infrastructure")
    };
    let found = ask("Schedule/often");
    let injected = "2 Deployment/store: StressChaos/burn injects Deployment/store";
    assert!(found.contains(&injected.to_owned()), "{found:#?}");
    let scaler = ask("Service/cart");
    let scales =
        "2 HorizontalPodAutoscaler/scaler: HorizontalPodAutoscaler/scaler scales Deployment/cart";
    assert!(scaler.contains(&scales.to_owned()), "{scaler:#?}");
    let node = ask("Node/n1");
    assert!(node.iter().any(|line| line.starts_with("3 Deployment/cart:")), "{node:#?}");
}

#[test]
fn the_whole_graph_is_counted_filtered_and_paged() {
    let tools = toolbox(recording().open());
    let ask = |arguments: Value| tools.call("build_topology", arguments).unwrap();
    let counts = ask(json!({"counts_only": true}));
    assert!(counts.get("nodes").is_none(), "{counts}");
    assert!(counts["kinds"].as_array().unwrap().contains(&json!({"name": "Pod", "count": 5})));
    let calls = ask(json!({"kinds": "Service", "relations": "calls", "limit": 1}));
    assert_eq!(calls["nodes"]["total"], 3);
    assert_eq!(
        calls["edges"],
        json!({
            "rows": [{"source": "shop/Service/cart", "relation": "calls",
                "target": "shop/Service/store", "effects": "target_to_source"}],
            "total": 2, "offset": 0, "limit": 1,
            "left_out": "1 more row; continue with offset 1",
        })
    );
    let node = &ask(json!({"kinds": "Node"}))["nodes"]["rows"];
    assert_eq!(*node, json!([{"id": "Node/n1", "kind": "Node", "name": "n1"}]));
}

#[test]
fn unknown_names_are_answered_with_near_ones() {
    let tools = toolbox(recording().open());
    let cases = [
        ("build_topology", json!({"kinds": "Services"}), "did you mean Service"),
        ("build_topology", json!({"relations": "call"}), "did you mean calls?"),
        ("build_topology", json!({"namespaces": "shopp"}), "did you mean shop?"),
        ("topology_analysis", json!({}), "entity: is missing"),
        (
            "topology_analysis",
            json!({"entity": "cart"}),
            "\"cart\" is ambiguous: shop/Deployment/cart, shop/Service/cart",
        ),
        ("topology_analysis", json!({"entity": "crat"}), "did you mean"),
        ("topology_analysis", json!({"entity": "Service/cart", "hops": 21}), "at most 20 hops"),
        ("topology_analysis", json!({"entity": "Service/cart", "mode": "up"}), "unknown variant"),
    ];
    for (tool, arguments, expected) in cases {
        let error = refusal(&tools, tool, arguments);
        assert!(error.contains(expected), "{error}");
    }
}
