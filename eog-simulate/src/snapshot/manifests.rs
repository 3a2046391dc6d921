//! Kubernetes objects of the simulated system.

use crate::random::Stream;
use serde_json::{Value, json};

use crate::clock::{Clock, Ms};

/// What every object has.
pub(super) fn metadata(
    clock: Clock,
    namespace: Option<&str>,
    name: &str,
    created: Ms,
    manager: &str,
    draw: &mut Stream,
) -> Value {
    let mut metadata = json!({
        "creationTimestamp": clock.object(created),
        "generation": 1,
        "managedFields": [writer(clock, manager, created)],
        "name": name,
        "resourceVersion": draw.between(100_000, 900_000).to_string(),
        "uid": uid(draw),
    });
    if let Some(namespace) = namespace {
        metadata["namespace"] = json!(namespace);
    }
    metadata
}

/// An entry of `managedFields`.
pub(super) fn writer(clock: Clock, manager: &str, at: Ms) -> Value {
    json!({
        "apiVersion": "v1", "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {}},
        "manager": manager, "operation": "Update", "time": clock.object(at),
    })
}

/// An identifier like those of Kubernetes.
pub(super) fn uid(draw: &mut Stream) -> String {
    let (high, low) = (draw.bits(), draw.bits());
    format!(
        "{:08x}-{:04x}-4{:03x}-8{:03x}-{:012x}",
        high >> 32,
        (high >> 16) & 0xffff,
        high & 0xfff,
        low >> 52,
        low & 0xffff_ffff_ffff
    )
}

/// A short random suffix as of pods.
pub(super) fn suffix(length: usize, draw: &mut Stream) -> String {
    const LETTERS: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    (0..length).filter_map(|_| draw.pick(LETTERS).map(|letter| char::from(*letter))).collect()
}

/// The specification of the pods of a service.
pub(super) fn pod_spec(
    name: &str,
    tag: u64,
    environment: &[(String, String)],
    configs: &[String],
) -> Value {
    let environment: Vec<Value> =
        environment.iter().map(|(name, value)| json!({"name": name, "value": value})).collect();
    let volumes: Vec<Value> = configs
        .iter()
        .map(|config| json!({"name": config, "configMap": {"name": config, "defaultMode": 420}}))
        .collect();
    let mounts: Vec<Value> = configs
        .iter()
        .map(|config| json!({"name": config, "mountPath": format!("/etc/{config}")}))
        .collect();
    json!({
        "containers": [{
            "name": name,
            "image": format!("registry.example/{name}:2.{}.{}", tag / 10, tag % 10),
            "env": environment,
            "ports": [{"containerPort": 8080, "name": "service", "protocol": "TCP"}],
            "resources": {"limits": {"memory": "300Mi"}, "requests": {"memory": "120Mi"}},
            "volumeMounts": mounts,
        }],
        "restartPolicy": "Always",
        "volumes": volumes,
    })
}

/// A Deployment, or another workload of the same form.
pub(super) fn workload(
    kind: &str,
    metadata: &Value,
    app: &str,
    spec: &Value,
    clock: Clock,
) -> Value {
    json!({
        "apiVersion": "apps/v1", "kind": kind, "metadata": metadata,
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": app}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": spec},
        },
        "status": {
            "replicas": 1, "readyReplicas": 1, "availableReplicas": 1, "observedGeneration": 1,
            "conditions": [{
                "type": "Available", "status": "True", "reason": "MinimumReplicasAvailable",
                "lastTransitionTime": clock.object(-86_400_000),
            }],
        },
    })
}

/// A pod that runs.
pub(super) fn pod(
    metadata: Value,
    owner: (&str, &str),
    app: &str,
    node: &str,
    spec: &Value,
) -> Value {
    let mut metadata = metadata;
    metadata["labels"] = json!({"app": app});
    metadata["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": owner.0, "name": owner.1, "controller": true,
    }]);
    let mut spec = spec.clone();
    spec["nodeName"] = json!(node);
    let container = spec.pointer("/containers/0/name").cloned().unwrap_or_default();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": spec,
        "status": {
            "phase": "Running",
            "conditions": [{"type": "Ready", "status": "True"}],
            "containerStatuses": [{
                "name": container, "ready": true, "restartCount": 0,
                "state": {"running": {}}, "lastState": {},
            }],
        },
    })
}

/// A ReplicaSet of a Deployment.
pub(super) fn replica_set(metadata: Value, owner: &str, app: &str, spec: &Value) -> Value {
    let mut metadata = metadata;
    metadata["ownerReferences"] = json!([{
        "apiVersion": "apps/v1", "kind": "Deployment", "name": owner, "controller": true,
    }]);
    json!({
        "apiVersion": "apps/v1", "kind": "ReplicaSet", "metadata": metadata,
        "spec": {
            "replicas": 1, "selector": {"matchLabels": {"app": app}},
            "template": {"metadata": {"labels": {"app": app}}, "spec": spec},
        },
        "status": {"replicas": 1, "readyReplicas": 1},
    })
}

/// A Service that selects the pods of an app.
pub(super) fn service(metadata: &Value, app: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "Service", "metadata": metadata,
        "spec": {
            "type": "ClusterIP", "selector": {"app": app},
            "ports": [{"name": "service", "port": 8080, "targetPort": 8080, "protocol": "TCP"}],
        },
    })
}

/// A ConfigMap with one key.
pub(super) fn config_map(kind: &str, metadata: &Value, key: &str, text: &str) -> Value {
    let text = if kind == "Secret" { plain_hex(text) } else { text.to_owned() };
    json!({"apiVersion": "v1", "kind": kind, "metadata": metadata, "data": {key: text}})
}

/// Secrets hold encoded text; which encoding does not matter, since no reader shows it.
pub(super) fn plain_hex(text: &str) -> String {
    text.bytes().map(|byte| format!("{byte:02x}")).collect()
}
