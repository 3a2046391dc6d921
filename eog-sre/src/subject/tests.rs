use super::*;

/// What a small cluster has: a shop, a data namespace, monitoring, machines.
const KNOWN: &[&str] = &[
    "shop/Pod/pay-5d8-bbb",
    "shop/Service/cart",
    "shop/Deployment/pay",
    "shop/StatefulSet/db",
    "shop/DaemonSet/agent",
    "shop/Job/mail-28",
    "shop/CronJob/mail",
    "shop/PersistentVolumeClaim/data-db-0",
    "shop/HorizontalPodAutoscaler/pay",
    "shop/PodDisruptionBudget/pay",
    "shop/ResourceQuota/limits",
    "shop/Pod/cart-7c-x1",
    "data/Service/kafka",
    "data/Service/postgres",
    "shop/Service/mailer",
    "monitoring/Service/kps-kube-state-metrics",
    "monitoring/Service/kps-node-exporter",
    "monitoring/Pod/kps-node-exporter-4zq",
    "monitoring/Pod/kps-kube-state-metrics-6d-z",
    "monitoring/Service/prometheus",
    "monitoring/Pod/prometheus-kps-0",
    "Node/worker-1",
    "Node/10.0.0.7",
    "Namespace/shop",
    "Namespace/monitoring",
];

fn known(subject: &Subject) -> Option<String> {
    let spaces = |kind: &str| {
        let full = match subject.namespace.as_str() {
            "" => format!("{kind}/{}", subject.name),
            space => format!("{space}/{kind}/{}", subject.name),
        };
        KNOWN.iter().find(|it| **it == full).map(|it| (*it).to_owned())
    };
    let anywhere = |kind: &str| {
        let end = format!("/{kind}/{}", subject.name);
        KNOWN.iter().find(|it| it.ends_with(&end)).map(|it| (*it).to_owned())
    };
    match subject.kind {
        "" => spaces("Service").or_else(|| spaces("Node")).or_else(|| anywhere("Service")).or_else(
            || {
                KNOWN
                    .iter()
                    .find(|it| **it == format!("Node/{}", subject.name))
                    .map(|it| (*it).to_owned())
            },
        ),
        kind => spaces(kind),
    }
}

fn labels(text: &str) -> BTreeMap<String, String> {
    let pair = |pair: &str| {
        let (name, value) = pair.split_once('=').unwrap();
        (name.to_owned(), value.to_owned())
    };
    text.split_whitespace().map(pair).collect()
}

fn about(text: &str, said: &[&str]) -> String {
    let names = KNOWN.iter().filter_map(|it| {
        let mut parts = it.rsplit('/');
        let (name, kind) = (parts.next()?, parts.next()?);
        matches!(kind, "Service" | "Node").then(|| (name.to_owned(), (*it).to_owned()))
    });
    let names: BTreeMap<String, String> = names.collect();
    match resolve(&labels(text), said, &SERVICE_LABELS, &known, &names) {
        Resolution::Known { entity, .. } => entity,
        Resolution::Unknown(it) => format!("? {} {} {}", it.kind, it.namespace, it.name),
        Resolution::Nothing => "nothing".to_owned(),
    }
}

const KSM: &str =
    "job=kube-state-metrics service=kps-kube-state-metrics instance=10.0.0.1:8080 endpoint=http";
const KUBELET: &str =
    "job=kubelet service=kps-kubelet endpoint=https-metrics metrics_path=/metrics";
const NODE: &str = "job=node-exporter service=kps-node-exporter namespace=monitoring pod=kps-node-exporter-4zq \
                    container=node-exporter endpoint=http-metrics instance=10.0.0.7:9100";

#[test]
fn alerts_are_about_what_their_labels_name_and_not_about_the_exporter() {
    // The rule, its labels, and what it is about.
    let cases: &[(&str, &str, String)] = &[
        // kube-prometheus-stack: kubernetes-apps
        ("KubePodCrashLooping", "shop/Pod/pay-5d8-bbb", format!("namespace=shop pod=pay-5d8-bbb container=pay reason=CrashLoopBackOff uid=u {KSM}")),
        ("KubePodNotReady", "shop/Pod/pay-5d8-bbb", "namespace=shop pod=pay-5d8-bbb".into()),
        ("KubeDeploymentGenerationMismatch", "shop/Deployment/pay", format!("namespace=shop deployment=pay {KSM}")),
        ("KubeDeploymentReplicasMismatch", "shop/Deployment/pay", format!("namespace=shop deployment=pay {KSM}")),
        ("KubeDeploymentRolloutStuck", "shop/Deployment/pay", format!("namespace=shop deployment=pay condition=Progressing status=false {KSM}")),
        ("KubeStatefulSetReplicasMismatch", "shop/StatefulSet/db", format!("namespace=shop statefulset=db {KSM}")),
        ("KubeStatefulSetUpdateNotRolledOut", "shop/StatefulSet/db", format!("namespace=shop statefulset=db revision=db-1 {KSM}")),
        ("KubeDaemonSetRolloutStuck", "shop/DaemonSet/agent", format!("namespace=shop daemonset=agent {KSM}")),
        ("KubeContainerWaiting", "shop/Pod/pay-5d8-bbb", format!("namespace=shop pod=pay-5d8-bbb container=pay reason=ImagePullBackOff {KSM}")),
        ("KubeDaemonSetNotScheduled", "shop/DaemonSet/agent", format!("namespace=shop daemonset=agent {KSM}")),
        ("KubeDaemonSetMisScheduled", "shop/DaemonSet/agent", format!("namespace=shop daemonset=agent {KSM}")),
        ("KubeJobNotCompleted", "shop/Job/mail-28", "namespace=shop job_name=mail-28".into()),
        ("KubeJobFailed", "shop/Job/mail-28", format!("namespace=shop job_name=mail-28 condition=true {KSM}")),
        ("KubeHpaReplicasMismatch", "shop/HorizontalPodAutoscaler/pay", format!("namespace=shop horizontalpodautoscaler=pay {KSM}")),
        ("KubeHpaMaxedOut", "shop/HorizontalPodAutoscaler/pay", format!("namespace=shop horizontalpodautoscaler=pay {KSM}")),
        ("KubePdbNotEnoughHealthyPods", "shop/PodDisruptionBudget/pay", format!("namespace=shop poddisruptionbudget=pay {KSM}")),
        // kubernetes-resources, -storage
        ("KubeQuotaExceeded", "shop/ResourceQuota/limits", format!("namespace=shop resource=cpu resourcequota=limits {KSM}")),
        ("KubeQuotaAlmostFull", "Namespace/shop", format!("namespace=shop resource=cpu type=used {KSM}")),
        ("CPUThrottlingHigh", "shop/Pod/pay-5d8-bbb", "namespace=shop pod=pay-5d8-bbb container=pay".into()),
        ("KubeCPUOvercommit", "nothing", "cluster=eu".into()),
        ("KubePersistentVolumeFillingUp", "shop/PersistentVolumeClaim/data-db-0", format!("namespace=shop persistentvolumeclaim=data-db-0 node=worker-1 instance=10.0.0.7:10250 {KUBELET}")),
        ("KubePersistentVolumeErrors", "? PersistentVolume  pv-1", format!("persistentvolume=pv-1 phase=Failed {KSM}")),
        // kubernetes-system
        ("KubeNodeNotReady", "Node/worker-1", format!("node=worker-1 condition=Ready status=true namespace=monitoring pod=kps-kube-state-metrics-6d-z {KSM}").replace("namespace=monitoring pod=kps-kube-state-metrics-6d-z ", "")),
        ("KubeNodeUnreachable", "Node/worker-1", format!("node=worker-1 key=node.kubernetes.io/unreachable {KSM}")),
        ("KubeletTooManyPods", "Node/worker-1", "node=worker-1".into()),
        ("KubeNodePressure", "Node/worker-1", format!("node=worker-1 condition=DiskPressure status=true {KSM}")),
        ("KubeletPlegDurationHigh", "Node/worker-1", format!("node=worker-1 instance=10.0.0.7:10250 quantile=0.99 {KUBELET}")),
        ("KubeVersionMismatch", "nothing", String::new()),
        ("TargetDown", "monitoring/Service/kps-kube-state-metrics", "job=kube-state-metrics service=kps-kube-state-metrics namespace=monitoring".into()),
        // The exporter itself may crash, too.
        ("KubePodCrashLooping", "monitoring/Pod/kps-kube-state-metrics-6d-z", format!("namespace=monitoring pod=kps-kube-state-metrics-6d-z container=kube-state-metrics {KSM}")),
        ("PrometheusBadConfig", "monitoring/Service/prometheus", "job=prometheus service=prometheus namespace=monitoring pod=prometheus-kps-0 container=prometheus instance=10.0.0.9:9090".into()),
        // node exporter
        ("NodeFilesystemSpaceFillingUp", "Node/10.0.0.7", format!("device=/dev/sda1 fstype=ext4 mountpoint=/ {NODE}")),
        ("NodeClockNotSynchronising", "Node/10.0.0.7", NODE.into()),
        ("NodeFileDescriptorLimit", "Node/10.0.0.7", "instance=10.0.0.7:9100 job=node".into()),
        ("NodeSystemdServiceFailed", "Node/worker-1", "instance=worker-1:9100 job=node-exporter name=ssh.service state=failed".into()),
        // blackbox exporter
        ("BlackboxProbeFailed", "shop/Service/cart", "instance=http://cart.shop.svc:8080/healthz job=blackbox".into()),
        ("BlackboxSslCertificateWillExpireSoon", "?   shop.example.com", "instance=https://shop.example.com/ job=blackbox pod=blackbox-exporter-1 namespace=monitoring".into()),
        // Istio
        ("IstioHighRequestLatency", "shop/Service/cart", "destination_service_name=cart destination_service_namespace=shop destination_workload=cart-v2 destination_workload_namespace=shop source_workload=web reporter=destination namespace=istio-system pod=istio-ingress-1 job=envoy-stats".into()),
        ("IstioHigh5xx", "shop/Service/cart", "destination_service=cart.shop.svc.cluster.local reporter=source".into()),
        ("IstioWorkload", "shop/Deployment/pay", "destination_workload=pay destination_workload_namespace=shop".into()),
        // Kafka
        ("KafkaConsumersGroupLag", "shop/Service/mailer", "consumergroup=mailer topic=mails job=kafka-exporter instance=10.1.1.1:9308 namespace=data pod=kafka-exporter-1".into()),
        ("KafkaTopicsReplicas", "data/Service/kafka", "topic=mails job=kafka-exporter instance=10.1.1.1:9308 namespace=data pod=kafka-exporter-1".into()),
        // Postgres
        ("PostgresqlDown", "data/Service/postgres", "job=postgres-exporter instance=10.1.1.2:9187 namespace=data service=postgres-exporter".into()),
        ("PostgresqlTooManyConnections", "data/Service/postgres", "server=postgres.data:5432 datname=shop job=pg-exporter instance=10.1.1.2:9187".into()),
        ("PostgresqlDeadLocks", "?   orders", "datname=orders job=pg-exporter".into()),
        // Services of their own, by hand-written rules, OpenTelemetry and the application's own metrics
        ("HighErrorRate", "shop/Service/cart", "service=cart namespace=shop".into()),
        ("HighLatency", "shop/Service/cart", "service_name=cart service_namespace=shop job=otel-collector instance=10.2.2.2:8889".into()),
        ("HighLatency", "shop/Service/cart", "job=shop/cart".into()),
        ("HeapFull", "shop/Service/cart", "namespace=shop service=cart job=cart pod=cart-7c-x1 container=cart instance=10.3.3.3:8080".into()),
        ("PodOfService", "shop/Pod/pay-5d8-bbb", "k8s.pod.name=pay-5d8-bbb k8s.namespace.name=shop".into()),
        // Prometheus renames what the exporter says where the target has such labels itself.
        ("KubePodCrashLooping", "shop/Pod/pay-5d8-bbb", "exported_namespace=shop exported_pod=pay-5d8-bbb namespace=monitoring pod=kps-kube-state-metrics-6d-z job=kube-state-metrics".into()),
        // A pod that is gone is of its workload; an unknown one is known by its own name.
        ("KubePodCrashLooping", "shop/Deployment/pay", format!("namespace=shop pod=pay-77f-ccc container=pay {KSM}")),
        ("KubePodCrashLooping", "? Pod shop nobody-1-2", format!("namespace=shop pod=nobody-1-2 {KSM}")),
        // Without a known label
        ("DiskFull", "? Node  mq-a", "host=mq-a".into()),
        ("DiskFull", "Node/worker-1", "host=worker-1".into()),
        ("QueueDeep", "?   orders", "queue=orders vhost=/".into()),
        ("TeamAlert", "shop/Service/mailer", "team=mailer severity=page".into()),
        ("Nameless", "nothing", "severity=page".into()),
    ];
    for (rule, expected, given) in cases {
        assert_eq!(about(given, &[]), *expected, "{rule}{{{given}}}");
    }
}

#[test]
fn alerts_on_different_workloads_do_not_collapse() {
    let about = |text: &str| about(&format!("{text} {KSM}"), &[]);
    let names = [
        "pod=a-1 namespace=x",
        "deployment=b namespace=x",
        "node=n9",
        "persistentvolumeclaim=c namespace=x",
    ];
    let all: std::collections::BTreeSet<String> = names.iter().map(|it| about(it)).collect();
    assert_eq!(all.len(), names.len(), "{all:?}");
}

#[test]
fn texts_and_queries_name_what_labels_do_not() {
    let cases = [
        (
            "severity=page",
            "http://p/graph?g0.expr=rate%28http_total%7Bservice%3D%22cart%22%2Cnamespace%3D%22shop%22%7D%5B5m%5D%29&g0.tab=1",
            "shop/Service/cart",
        ),
        (
            "severity=page",
            "up{job=\"postgres-exporter\",namespace=\"data\"} == 0",
            "data/Service/postgres",
        ),
        ("severity=page", "mailer answers slowly", "shop/Service/mailer"),
        ("severity=page", "mailer and cart answer slowly", "nothing"),
        ("severity=page", "the mailer-2 of others", "nothing"),
        // What a label names is not what a text mentions.
        ("namespace=shop pod=gone-1-2", "mailer answers slowly", "? Pod shop gone-1-2"),
    ];
    for (given, said, expected) in cases {
        assert_eq!(about(given, &[said]), expected, "{given} {said}");
    }
}

#[test]
fn labels_of_a_configuration_name_services() {
    let found = subjects(&labels("team_app=cart service=x"), &["team_app"]);
    assert_eq!((found[0].name.as_str(), found[0].kind), ("cart", "Service"));
}

#[test]
fn addresses_give_plain_names() {
    let cases = [
        ("db.shop:5432", "db.shop"),
        ("https://user@db.shop:8443/x?y", "db.shop"),
        ("[::1]:80", "::1"),
        ("10.0.0.1", "10.0.0.1"),
        ("/", "/"),
    ];
    for (given, expected) in cases {
        assert_eq!(plain_name(given), expected);
    }
}
