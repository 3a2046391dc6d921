//! The operational graph, edge by edge.

use eog_core::EntityId;
use eog_evidence::effect_path;
use eog_sre::{OperationalGraph, ReadOptions, Snapshot};
use serde_json::json;

use crate::support::{Recording, Span, config, id, service, workload};

fn edges(graph: &OperationalGraph) -> Vec<String> {
    let short = |entity: &EntityId| entity.as_str().trim_start_matches("shop/").to_owned();
    let edges = graph.topology().edges();
    let mut edges: Vec<String> = edges
        .map(|e| format!("{} {} {}", short(&e.source), e.relation, short(&e.target)))
        .collect();
    edges.sort();
    edges
}

fn path(graph: &OperationalGraph, from: &str, to: &str) -> Option<String> {
    let path = effect_path(graph.topology(), &id(from), &id(to))?;
    Some(path.iter().map(EntityId::as_str).collect::<Vec<_>>().join(" > "))
}

fn flags_and_shop() -> Recording {
    let mut recording = Recording::new();
    let reader = json!({"name": "flags", "image": "i"});
    let volumes = json!([{"name": "v", "configMap": {"name": "flag-values"}}]);
    recording.object("10:00:00", workload("Deployment", "flags", reader, volumes));
    let env = json!({"name": "cart", "env": [
        {"name": "ANY", "value": "http://flags:8013"},
        {"name": "EXPORT", "value": "http://collector:4317"},
        {"name": "PASSWORD", "valueFrom": {"secretKeyRef": {"name": "db-login", "key": "p"}}}]});
    recording.object("10:00:00", workload("Deployment", "cart", env, json!([])));
    let export = json!({"name": "collector"});
    recording.object("10:00:00", workload("Deployment", "collector", export, json!([])));
    for name in ["flags", "cart", "collector"] {
        recording.object("10:00:00", service(name, name));
    }
    recording.object("10:00:00", config("flag-values", "k", "v", "09:00:00"));
    recording.object("10:00:00", config("unrelated", "k", "v", "09:00:00"));
    recording
}

#[test]
fn a_configuration_reaches_the_callers_of_the_service_of_its_reader() {
    let snapshot = flags_and_shop().open();
    let graph = snapshot.graph();
    assert_eq!(
        path(&graph, "shop/ConfigMap/flag-values", "shop/Service/cart").unwrap(),
        "shop/ConfigMap/flag-values > shop/Deployment/flags > shop/Service/flags > \
         shop/Deployment/cart > shop/Service/cart"
    );
    assert_eq!(
        edges(&graph),
        [
            "Deployment/cart backs Service/cart",
            "Deployment/cart mounts Secret/db-login",
            "Deployment/cart uses Service/flags",
            "Deployment/collector backs Service/collector",
            "Deployment/flags backs Service/flags",
            "Deployment/flags mounts ConfigMap/flag-values",
        ]
    );
    assert!(graph.topology().edges_at(&id("shop/ConfigMap/unrelated")).next().is_none());
}

#[test]
fn the_workload_of_its_name_stands_behind_an_alerting_service() {
    // Neither a Service object nor an architecture file speaks of it.
    let mut recording = Recording::new();
    let container = json!({"name": "cart", "image": "i"});
    recording.object("10:00:00", workload("Deployment", "cart", container, json!([])));
    let labels =
        json!({"alertname": "Errors", "namespace": "shop", "service_name": "cart-service"});
    recording.alert("10:10:00", labels, "2026-01-01T10:10:00Z");
    let graph = recording.open().graph();
    assert_eq!(edges(&graph), ["Deployment/cart backs Service/cart"]);
}

#[test]
fn objects_state_their_own_edges() {
    let mut recording = Recording::new();
    let meta = |name: &str, owner: Option<(&str, &str)>| {
        let owners: Vec<_> =
            owner.iter().map(|(kind, name)| json!({"kind": kind, "name": name})).collect();
        json!({"name": name, "namespace": "shop", "ownerReferences": owners,
            "labels": {"app": "web"}})
    };
    let objects = [
        workload(
            "Deployment",
            "web",
            json!({"name": "c", "envFrom": [{"configMapRef": {"name": "env"}}]}),
            json!([{"name": "d", "persistentVolumeClaim": {"claimName": "disk"}}]),
        ),
        json!({"kind": "ReplicaSet", "metadata": meta("web-1", Some(("Deployment", "web")))}),
        json!({"kind": "Pod", "metadata": meta("web-1-a", Some(("ReplicaSet", "web-1"))),
            "spec": {"nodeName": "n1"}}),
        json!({"kind": "HorizontalPodAutoscaler", "metadata": meta("scaler", None),
            "spec": {"scaleTargetRef": {"kind": "Deployment", "name": "web"}}}),
        json!({"kind": "EndpointSlice", "metadata": {"name": "front-x", "namespace": "shop",
            "labels": {"kubernetes.io/service-name": "front"}},
            "endpoints": [{"targetRef": {"kind": "Pod", "name": "web-1-a", "namespace": "shop"}}]}),
        service("front", "nobody"),
        json!({"kind": "Ingress", "metadata": meta("gate", None), "spec": {"rules": [
            {"http": {"paths": [{"backend": {"service": {"name": "front"}}}]}}]}}),
        json!({"kind": "NetworkPolicy", "metadata": meta("wall", None),
            "spec": {"podSelector": {"matchLabels": {"app": "web"}}}}),
        json!({"apiVersion": "chaos-mesh.org/v1alpha1", "kind": "StressChaos",
            "metadata": {"name": "burn", "namespace": "tests"},
            "spec": {"selector": {"namespaces": ["shop"], "labelSelectors": {"app": "web"}}}}),
        json!({"apiVersion": "chaos-mesh.org/v1alpha1", "kind": "Schedule",
            "metadata": {"name": "often", "namespace": "tests"}, "spec": {"podChaos":
                {"selector": {"pods": {"shop": ["web-1-a"]}}}}}),
        json!({"kind": "NetworkPolicy", "metadata": meta("wall-of-all", None),
            "spec": {"podSelector": {}}}),
        json!({"kind": "ScaledObject", "metadata": meta("queue-scaler", None),
            "spec": {"scaleTargetRef": {"name": "web"}}}),
        json!({"kind": "Pod", "metadata": {"name": "db-0", "namespace": "shop",
            "ownerReferences": [{"kind": "StatefulSet", "name": "db"}]}, "spec":
            {"volumes": [{"persistentVolumeClaim": {"claimName": "data-db-0"}},
                {"configMap": {"name": "of-the-template"}}]}}),
        json!({"kind": "PersistentVolumeClaim", "metadata": meta("data-db-0", None),
            "spec": {"volumeName": "v1"}}),
        json!({"kind": "ResourceQuota", "metadata": meta("few", None)}),
    ];
    for object in objects {
        recording.object("10:00:00", object);
    }
    let stopped = json!({"reason": "FailedCreate", "type": "Warning", "metadata": {"uid": "1"},
        "involvedObject": {"kind": "ReplicaSet", "name": "web-1", "namespace": "shop"},
        "message": "pods \"web-1-\" is forbidden: exceeded quota: few, requested: pods=1"});
    recording.event("10:00:00", stopped);
    let graph = recording.open().graph();
    assert_eq!(
        edges(&graph),
        [
            "Deployment/web mounts ConfigMap/env",
            "Deployment/web mounts PersistentVolumeClaim/disk",
            "Deployment/web owns ReplicaSet/web-1",
            "HorizontalPodAutoscaler/scaler scales Deployment/web",
            "Ingress/gate routes Service/front",
            "Namespace/shop contains Deployment/web",
            "NetworkPolicy/wall restricts Deployment/web",
            "NetworkPolicy/wall restricts Pod/web-1-a",
            "NetworkPolicy/wall-of-all restricts Deployment/web",
            "NetworkPolicy/wall-of-all restricts Pod/db-0",
            "NetworkPolicy/wall-of-all restricts Pod/web-1-a",
            "PersistentVolumeClaim/data-db-0 mounts PersistentVolume/v1",
            "Pod/db-0 mounts PersistentVolumeClaim/data-db-0",
            "Pod/web-1-a backs Service/front",
            "Pod/web-1-a runs_on Node/n1",
            "ReplicaSet/web-1 owns Pod/web-1-a",
            "ResourceQuota/few restricts Namespace/shop",
            "ScaledObject/queue-scaler scales Deployment/web",
            "StatefulSet/db owns Pod/db-0",
            "tests/Schedule/often injects Pod/web-1-a",
            "tests/StressChaos/burn injects Deployment/web",
            "tests/StressChaos/burn injects Pod/web-1-a",
        ]
    );
    assert!(path(&graph, "Node/n1", "shop/Ingress/gate").is_some());
    assert!(path(&graph, "shop/ConfigMap/env", "Node/n1").is_none());
}

#[test]
fn architecture_names_are_brought_together_with_the_cluster() {
    let recording = flags_and_shop();
    let architecture = recording.path().join("architecture.json");
    let declared = json!({
        "components": {
            "services": [{"name": "web"}, {"name": "cart-service"}, {"name": "flags"}],
            "infrastructure": [{"name": "watcher", "type": "Observability"}]
        },
        "dependencies": [
            {"source": "web", "target": "cartservice"},
            {"source": "web", "target": "watcher"},
        ]
    });
    std::fs::write(&architecture, declared.to_string()).unwrap();
    recording.write();
    let options = ReadOptions { architecture: Some(architecture), ..Default::default() };
    let graph = Snapshot::open(recording.path(), &options).unwrap().graph();
    assert!(edges(&graph).contains(&"Service/web calls Service/cart".to_owned()));
    assert!(graph.topology().contains(&id("shop/Service/watcher")));
    assert!(graph.topology().edges_at(&id("shop/Service/watcher")).next().is_none());
    assert!(path(&graph, "shop/ConfigMap/flag-values", "shop/Service/web").is_some());
}

#[test]
fn names_that_may_be_several_are_kept_apart_with_a_warning() {
    let mut recording = Recording::new();
    recording.object("10:00:00", service("pay-service", "a"));
    recording.object("10:00:00", service("pay_svc", "b"));
    recording.log("10:00:00", "pay", "9", "hello");
    let graph = recording.open().graph();
    assert!(graph.topology().contains(&id("shop/Service/pay")));
    assert!(graph.warnings()[0].contains("is ambiguous (pay-service, pay_svc)"));
}

#[test]
fn traces_and_proxies_show_calls() {
    let mut recording = Recording::new();
    let span = |id: &str, parent: &str, name, kind, service, attributes| Span {
        at: "10:00:00".into(),
        ids: ("abcd", id.into(), parent.into()),
        name,
        kind,
        service,
        ms: 5,
        failed: false,
        attributes,
    };
    recording.span(span("01", "", "router web egress", "Client", "edge", "{}"));
    recording.span(span("02", "01", "GET /", "Server", "web", "{}"));
    recording.span(span("03", "02", "query", "Client", "web", "{'server.address': 'db'}"));
    recording.span(span(
        "04",
        "02",
        "pay",
        "Client",
        "web",
        "{'server.address': 'bank.example.com'}",
    ));
    recording.span(span("05", "02", "orders publish", "Producer", "web", "{}"));
    recording.span(span("06", "05", "orders process", "Consumer", "mail", "{}"));
    recording.object("10:00:00", service("db", "db"));
    let edges = edges(&recording.open().graph());
    for expected in [
        "Service/edge calls Service/web",
        "Service/web calls Service/db",
        "Service/web sends_load Service/mail",
        "Deployment/web backs Service/web",
        "Deployment/web owns Pod/web-a-1",
    ] {
        assert!(edges.contains(&expected.to_owned()), "{expected}: {edges:#?}");
    }
    // What lies outside of the cluster is no Service of it.
    let bank: Vec<_> = edges.iter().filter(|edge| edge.contains("bank")).collect();
    assert_eq!(bank, ["Service/web calls ExternalHost/bank.example.com"]);
}
