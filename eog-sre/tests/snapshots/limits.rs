//! What acts without a change: autoscalers at their limit, budgets, preemption, pressure on nodes,
//! certificates that expire, names that are not resolved.

use eog_core::evidence::{Signal, Trend};
use eog_core::{Finding, Timestamp};
use serde_json::{Value, json};

use crate::support::{Recording, Span, at, id, service, window, workload};

fn page(recording: &Recording, entity: &str) -> Vec<Finding> {
    recording.context().page(&id(entity), window("10:00:00", "11:00:00"), 1).findings
}

fn edges_at(recording: &Recording, entity: &str) -> Vec<String> {
    let (graph, entity) = (recording.open().graph(), id(entity));
    let edges = graph.topology().edges_at(&entity);
    edges.map(|e| format!("{} {} {} {:?}", e.source, e.relation, e.target, e.effects)).collect()
}

fn course(finding: &Finding) -> (Signal, Trend, Timestamp) {
    (finding.signal, finding.trend, finding.time.start())
}

fn autoscaler(replicas: u32, load: u32) -> Value {
    json!({"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"minReplicas": 1, "maxReplicas": 4,
            "scaleTargetRef": {"kind": "Deployment", "name": "web"},
            "metrics": [{"type": "Resource", "resource":
                {"name": "cpu", "target": {"type": "Utilization", "averageUtilization": 50}}}]},
        "status": {"currentReplicas": replicas, "currentMetrics": [
            {"type": "Resource", "resource": {"current": {"averageUtilization": load}}}]}})
}

#[test]
fn an_autoscaler_at_its_limit_that_wants_more_is_saturated() {
    let mut recording = Recording::new();
    recording.object("10:00:00", autoscaler(4, 54));
    recording.object("10:05:00", autoscaler(4, 90));
    let findings = page(&recording, "shop/HorizontalPodAutoscaler/web");
    assert_eq!(course(&findings[0]), (Signal::Saturation, Trend::Rising, at("10:05:00")));
    assert!(findings[0].excerpt.contains("at its limit of 4 replicas"), "{findings:#?}");

    let mut calm = Recording::new();
    calm.object("10:00:00", autoscaler(3, 90));
    calm.object("10:05:00", autoscaler(4, 50));
    assert!(page(&calm, "shop/HorizontalPodAutoscaler/web").is_empty());

    // An alert of its own has its reason in what it scales.
    let labels = json!({"alertname": "KubeHpaMaxedOut", "namespace": "shop",
        "horizontalpodautoscaler": "web"});
    recording.alert("10:10:00", labels, "2026-01-01T10:10:00Z");
    assert_eq!(
        edges_at(&recording, "shop/HorizontalPodAutoscaler/web"),
        ["shop/HorizontalPodAutoscaler/web scales shop/Deployment/web Both"]
    );
}

#[test]
fn an_autoscaler_that_can_no_longer_read_its_metric_fails() {
    let state = |status: &str| {
        let mut object = autoscaler(2, 50);
        object["status"]["conditions"] = json!([{"type": "ScalingActive", "status": status,
            "reason": "FailedGetPodsMetric", "lastTransitionTime": "2026-01-01T10:03:00Z"}]);
        object
    };
    let signals = |first: &str| {
        let mut recording = Recording::new();
        recording.object("10:00:00", state(first));
        recording.object("10:05:00", state("False"));
        let findings = page(&recording, "shop/HorizontalPodAutoscaler/web");
        findings.iter().map(course).collect::<Vec<_>>()
    };
    assert_eq!(signals("True"), [(Signal::Availability, Trend::Rising, at("10:03:00"))]);
    assert!(signals("False").is_empty(), "it never could");
}

#[test]
fn a_budget_guards_its_pods_and_says_when_it_allows_nothing() {
    let mut recording = Recording::new();
    let mut pods = workload("Deployment", "web", json!({"name": "c"}), json!([]));
    pods["spec"]["template"]["metadata"] = json!({"labels": {"app": "web"}});
    recording.object("10:00:00", pods);
    let budget = json!({"kind": "PodDisruptionBudget",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"selector": {"matchLabels": {"app": "web"}}},
        "status": {"currentHealthy": 2, "desiredHealthy": 2, "expectedPods": 2,
            "disruptionsAllowed": 0}});
    recording.object("10:00:00", budget);
    assert_eq!(
        edges_at(&recording, "shop/PodDisruptionBudget/web"),
        ["shop/PodDisruptionBudget/web restricts shop/Deployment/web SourceToTarget"]
    );
    let findings = page(&recording, "shop/PodDisruptionBudget/web");
    assert_eq!(findings[0].signal, Signal::Other);
    assert!(findings[0].excerpt.contains("never allows any"), "{findings:#?}");
}

#[test]
fn a_node_names_the_pods_that_it_evicted_for_lack_of_something() {
    let event = |message: &str| {
        json!({"reason": "Evicted", "type": "Warning", "metadata": {"uid": "1"},
            "involvedObject": {"kind": "Pod", "name": "web-1", "namespace": "shop"},
            "message": message, "source": {"component": "kubelet", "host": "n1"},
            "firstTimestamp": "2026-01-01T10:03:00Z", "lastTimestamp": "2026-01-01T10:03:00Z"})
    };
    let mut low = Recording::new();
    low.event("10:03:00", event("The node was low on resource: memory."));
    assert_eq!(edges_at(&low, "Node/n1"), ["shop/Pod/web-1 runs_on Node/n1 TargetToSource"]);
    let findings = page(&low, "Node/n1");
    assert_eq!(course(&findings[0]), (Signal::Exhaustion, Trend::Rising, at("10:03:00")));

    // A pod that filled its own volume is no fault of the node.
    let mut own = Recording::new();
    own.event("10:03:00", event("Usage of EmptyDir volume \"tmp\" exceeds the limit \"1Gi\"."));
    assert!(page(&own, "Node/n1").is_empty());
}

#[test]
fn who_takes_the_place_of_pods_affects_their_workload() {
    let mut recording = Recording::new();
    let pod = |name: &str, uid: &str, owner: &str| {
        json!({"kind": "Pod", "metadata": {"name": name, "namespace": "shop", "uid": uid,
            "ownerReferences": [{"kind": "StatefulSet", "name": owner}]}})
    };
    recording.object("10:00:00", pod("web-0", "1a", "web"));
    recording.object("10:00:00", pod("batch-0", "2b", "batch"));
    recording.event(
        "10:01:00",
        json!({"reason": "Preempted", "type": "Normal", "metadata": {"uid": "e"},
            "involvedObject": {"kind": "Pod", "name": "web-0", "namespace": "shop"},
            "message": "Preempted by pod 2b on node n1"}),
    );
    let edges = edges_at(&recording, "shop/StatefulSet/web");
    let expected = "shop/StatefulSet/batch preempts shop/StatefulSet/web SourceToTarget";
    assert!(edges.contains(&expected.to_owned()), "{edges:?}");
}

#[test]
fn a_certificate_that_expires_without_a_change_reaches_who_reads_its_secret() {
    let mut recording = Recording::new();
    let certificate = json!({"apiVersion": "cert-manager.io/v1", "kind": "Certificate",
        "metadata": {"name": "web", "namespace": "shop"},
        "spec": {"secretName": "web-tls", "issuerRef": {"kind": "ClusterIssuer", "name": "ca"}},
        "status": {"notAfter": "2026-01-01T10:03:00Z"}});
    recording.object("10:00:00", certificate.clone());
    recording.object("10:05:00", certificate);
    let ingress = json!({"kind": "Ingress", "metadata": {"name": "gate", "namespace": "shop"},
        "spec": {"tls": [{"secretName": "web-tls"}]}});
    recording.object("10:00:00", ingress);
    assert_eq!(
        edges_at(&recording, "shop/Certificate/web"),
        [
            "ClusterIssuer/ca issues shop/Certificate/web SourceToTarget",
            "shop/Certificate/web issues shop/Secret/web-tls SourceToTarget",
        ]
    );
    let edges = edges_at(&recording, "shop/Ingress/gate");
    assert_eq!(edges, ["shop/Ingress/gate mounts shop/Secret/web-tls TargetToSource"]);
    let findings = page(&recording, "shop/Certificate/web");
    assert_eq!(course(&findings[0]), (Signal::Availability, Trend::Rising, at("10:03:00")));
    assert_eq!(findings[0].onset.unwrap().earliest(), at("10:03:00"));
}

#[test]
fn only_who_cannot_resolve_names_depends_on_the_name_service() {
    let mut recording = Recording::new();
    let mut dns = service("names", "coredns");
    dns["metadata"]["labels"] = json!({"k8s-app": "kube-dns"});
    recording.object("10:00:00", dns);
    recording.log("10:01:00", "cart", "17", "lookup db on 10.0.0.10:53: no such host");
    recording.log("10:01:00", "web", "17", "connection refused");
    assert_eq!(
        edges_at(&recording, "shop/Service/names"),
        ["shop/Service/cart uses shop/Service/names TargetToSource"]
    );
}

#[test]
fn hosts_outside_of_the_cluster_are_dependencies_with_the_account_of_their_callers() {
    let mut recording = Recording::new();
    recording.object(
        "10:00:00",
        json!({"kind": "Service", "metadata": {"name": "bank", "namespace": "shop"},
            "spec": {"type": "ExternalName", "externalName": "api.bank.example"}}),
    );
    for number in 0..60_u32 {
        let trace = if number < 30 { "t1" } else { "t2" };
        recording.span(Span {
            at: format!("10:{number:02}:00"),
            ids: (trace, format!("s{number}"), String::new()),
            name: "POST",
            kind: "Client",
            service: "web",
            ms: 5,
            failed: number >= 30,
            attributes: "{'server.address': 'pay.example.com'}",
        });
    }
    assert_eq!(
        edges_at(&recording, "shop/Service/bank"),
        ["shop/Service/bank calls ExternalHost/api.bank.example TargetToSource"]
    );
    assert_eq!(
        edges_at(&recording, "ExternalHost/pay.example.com"),
        ["shop/Service/web calls ExternalHost/pay.example.com TargetToSource"]
    );
    let index = recording.context();
    let request = window("10:00:00", "11:00:00");
    let findings = index.page(&id("shop/Service/web"), request, 1).findings;
    let host = id("ExternalHost/pay.example.com");
    let peers = findings.iter().filter_map(|finding| finding.peer.as_ref());
    assert!(peers.into_iter().any(|peer| peer.entity == host), "{findings:#?}");
}
