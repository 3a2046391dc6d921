//! The kinds of objects that are asked for. `deploy/kubernetes/eog.yaml` allows these lists and nothing else.

/// A kind of objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Kind {
    Node,
    Pod,
    Service,
    Event,
    ConfigMap,
    Secret,
    Claim,
    Quota,
    Deployment,
    ReplicaSet,
    StatefulSet,
    DaemonSet,
    ControllerRevision,
    Job,
    CronJob,
    Autoscaler,
    Ingress,
    NetworkPolicy,
}

impl Kind {
    /// All, in the order in which they are asked for.
    pub(super) const ALL: [Self; 18] = [
        Self::Deployment,
        Self::ReplicaSet,
        Self::StatefulSet,
        Self::DaemonSet,
        Self::ControllerRevision,
        Self::Pod,
        Self::Event,
        Self::Service,
        Self::ConfigMap,
        Self::Secret,
        Self::Node,
        Self::CronJob,
        Self::Job,
        Self::Autoscaler,
        Self::Ingress,
        Self::NetworkPolicy,
        Self::Claim,
        Self::Quota,
    ];

    /// Its name, the path of its group, and its name in addresses.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        let (core, apps, batch) = ("/api/v1", "/apis/apps/v1", "/apis/batch/v1");
        let network = "/apis/networking.k8s.io/v1";
        match self {
            Self::Node => ("Node", core, "nodes"),
            Self::Pod => ("Pod", core, "pods"),
            Self::Service => ("Service", core, "services"),
            Self::Event => ("Event", core, "events"),
            Self::ConfigMap => ("ConfigMap", core, "configmaps"),
            Self::Secret => ("Secret", core, "secrets"),
            Self::Claim => ("PersistentVolumeClaim", core, "persistentvolumeclaims"),
            Self::Quota => ("ResourceQuota", core, "resourcequotas"),
            Self::Deployment => ("Deployment", apps, "deployments"),
            Self::ReplicaSet => ("ReplicaSet", apps, "replicasets"),
            Self::StatefulSet => ("StatefulSet", apps, "statefulsets"),
            Self::DaemonSet => ("DaemonSet", apps, "daemonsets"),
            Self::ControllerRevision => ("ControllerRevision", apps, "controllerrevisions"),
            Self::Job => ("Job", batch, "jobs"),
            Self::CronJob => ("CronJob", batch, "cronjobs"),
            Self::Autoscaler => {
                ("HorizontalPodAutoscaler", "/apis/autoscaling/v2", "horizontalpodautoscalers")
            }
            Self::Ingress => ("Ingress", network, "ingresses"),
            Self::NetworkPolicy => ("NetworkPolicy", network, "networkpolicies"),
        }
    }

    pub(super) fn name(self) -> &'static str {
        self.parts().0
    }

    /// Its name in addresses and in rules.
    pub(super) fn plural(self) -> &'static str {
        self.parts().2
    }

    /// Whether its objects are in namespaces.
    pub(super) fn is_namespaced(self) -> bool {
        self != Self::Node
    }

    /// Whether only its metadata is asked for: contents of ConfigMaps and Secrets are never read.
    pub(super) fn is_metadata(self) -> bool {
        matches!(self, Self::ConfigMap | Self::Secret | Self::Claim | Self::Job)
    }

    /// The address of the list, in one namespace or in all.
    pub(super) fn path(self, namespace: Option<&str>) -> String {
        let (_, group, plural) = self.parts();
        match namespace {
            Some(namespace) if self.is_namespaced() => {
                format!("{group}/namespaces/{namespace}/{plural}")
            }
            _ => format!("{group}/{plural}"),
        }
    }
}
