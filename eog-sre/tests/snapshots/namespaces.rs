//! Namespaces as causes, and as what alerts speak of.

use eog_core::incident::EffectDirection;
use eog_sre::OperationalGraph;
use serde_json::{Value, json};

use crate::support::{Recording, config, id, workload};

fn quota(created: &str, used: &str) -> Value {
    json!({"kind": "ResourceQuota", "metadata": {"name": "few", "namespace": "shop",
            "creationTimestamp": format!("2026-01-01T{created}Z")},
        "spec": {"hard": {"limits.memory": "2Gi"}},
        "status": {"hard": {"limits.memory": "2Gi"}, "used": {"limits.memory": used}}})
}

fn shop() -> Recording {
    let mut recording = Recording::new();
    for clock in ["10:00:00", "10:05:00"] {
        let mut web = workload("Deployment", "web", json!({"name": "c"}), json!([]));
        web["spec"]["replicas"] = json!(2);
        web["status"] = json!({"replicas": 1});
        recording.object(clock, web);
        recording.object(clock, config("flags", "k", "v", "09:00:00"));
        let calm = workload("Deployment", "calm", json!({"name": "c"}), json!([]));
        recording.object(clock, calm);
    }
    let pod = json!({"kind": "Pod", "metadata": {"name": "new-1", "namespace": "shop",
        "creationTimestamp": "2026-01-01T10:04:00Z",
        "ownerReferences": [{"kind": "Deployment", "name": "new"}]}});
    recording.object("10:05:00", pod);
    recording.object("10:00:00", json!({"kind": "Namespace", "metadata": {"name": "shop"}}));
    recording
}

fn at_namespace(graph: &OperationalGraph) -> Vec<String> {
    let namespace = id("Namespace/shop");
    let edges = graph.topology().edges_at(&namespace);
    edges.map(|e| format!("{} {} {} {:?}", e.source, e.relation, e.target, e.effects)).collect()
}

const CONTAINS: &str = "Namespace/shop contains shop/Deployment/web SourceToTarget";
const RESTRICTS: &str = "shop/ResourceQuota/few restricts Namespace/shop SourceToTarget";

#[test]
fn a_namespace_is_joined_with_what_a_limit_or_a_label_can_have_reached() {
    let mut as_always = shop();
    as_always.object("10:00:00", quota("08:00:00", "1Gi"));
    assert!(at_namespace(&as_always.open().graph()).is_empty());

    let mut new = shop();
    new.object("10:05:00", quota("10:02:00", "1Gi"));
    assert_eq!(at_namespace(&new.open().graph()), [CONTAINS, RESTRICTS]);

    let mut used_up = shop();
    used_up.object("10:00:00", quota("08:00:00", "2048Mi"));
    assert_eq!(at_namespace(&used_up.open().graph()), [CONTAINS, RESTRICTS]);

    let mut labelled = shop();
    let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
    let namespace = json!({"kind": "Namespace", "metadata": {"name": "shop", "labels": labels}});
    labelled.object("10:05:00", namespace);
    let made_since = "Namespace/shop contains shop/Deployment/new SourceToTarget";
    assert_eq!(at_namespace(&labelled.open().graph()), [made_since, CONTAINS]);
}

#[test]
fn what_a_limit_refused_is_an_effect_of_it_and_of_its_namespace() {
    let mut recording = shop();
    let range = json!({"kind": "LimitRange", "metadata": {"name": "sizes", "namespace": "shop"}});
    recording.object("10:00:00", range);
    recording.event(
        "10:00:00",
        json!({"reason": "FailedCreate", "type": "Warning", "metadata": {"uid": "1"},
            "involvedObject": {"kind": "Deployment", "name": "web", "namespace": "shop"},
            "message": "pods \"web-1\" is forbidden: maximum cpu usage per Container is 1, but limit is 2"}),
    );
    let graph = recording.open().graph();
    let sizes = id("shop/LimitRange/sizes");
    let range = graph.topology().edges_at(&sizes);
    let targets: Vec<&str> = range.map(|edge| edge.target.as_str()).collect();
    assert_eq!(targets, ["Namespace/shop"]);
    assert!(at_namespace(&graph).contains(&CONTAINS.to_owned()));
}

#[test]
fn an_alert_about_a_namespace_or_its_quota_is_about_what_it_holds() {
    let mut costs = shop();
    let labels = json!({"alertname": "NamespaceCostHigh", "namespace": "shop"});
    costs.alert("10:10:00", labels, "2026-01-01T10:10:00Z");
    let edges = at_namespace(&costs.open().graph());
    let of = |name: &str| format!("Namespace/shop contains shop/Deployment/{name} TargetToSource");
    assert_eq!(edges, [of("calm"), of("new"), of("web")]);

    let mut full = shop();
    full.object("10:00:00", quota("08:00:00", "1Gi"));
    let labels =
        json!({"alertname": "KubeQuotaAlmostFull", "namespace": "shop", "resourcequota": "few"});
    full.alert("10:10:00", labels, "2026-01-01T10:10:00Z");
    let snapshot = full.open();
    let graph = snapshot.graph();
    let anomalies = snapshot.incident(&graph).anomalies;
    assert_eq!(anomalies[0].entity, id("shop/ResourceQuota/few"));
    let few = id("shop/ResourceQuota/few");
    let mut edges = graph.topology().edges_at(&few);
    assert_eq!(edges.next().unwrap().effects, EffectDirection::Both);
}
