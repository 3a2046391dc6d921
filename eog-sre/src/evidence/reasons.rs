//! What the reasons of cluster events mean. The reasons are Kubernetes' own vocabulary.

use eog_core::evidence::Signal;

/// Reasons by meaning. Of events of type `Normal` only those under restart, scaling and killing
/// become findings.
const REASONS: [(Signal, &[&str]); 4] = [
    (
        Signal::Exhaustion,
        &[
            "OOMKilled",
            "OOMKilling",
            "SystemOOM",
            "Evicted",
            "EvictionThresholdMet",
            "FreeDiskSpaceFailed",
            "ImageGCFailed",
            "InsufficientMemory",
            "InsufficientCPU",
            "NodeHasDiskPressure",
            "NodeHasInsufficientMemory",
            "NodeHasInsufficientPID",
            "FailedQuota",
            "QuotaExceeded",
            "CPUThrottlingHigh",
        ],
    ),
    (
        Signal::Availability,
        &[
            "BackOff",
            "ClaimLost",
            "ClaimMisbound",
            "CrashLoopBackOff",
            "DeadlineExceeded",
            "ErrImageNeverPull",
            "ErrImagePull",
            "Failed",
            "FailedAttachVolume",
            "FailedBinding",
            "FailedCreate",
            "FailedCreatePodSandBox",
            "FailedDaemonPod",
            "FailedKillPod",
            "FailedMapVolume",
            "FailedMount",
            "FailedPostStartHook",
            "FailedPreStopHook",
            "FailedScheduling",
            "FailedSync",
            "HostPortConflict",
            "ImagePullBackOff",
            "InspectFailed",
            "InvalidImageName",
            "NetworkNotReady",
            "NodeNotReady",
            "NodeNotSchedulable",
            "NodeUnreachable",
            "ProbeError",
            "ProbeWarning",
            "ProgressDeadlineExceeded",
            "ProvisioningFailed",
            "ReplicaSetCreateError",
            "TaintManagerEviction",
            "Unhealthy",
            "UnhealthyNodes",
        ],
    ),
    (Signal::Restart, &["Killing", "Preempting", "Preempted", "Rebooted", "NodeRebooted"]),
    (Signal::Other, &["ScalingReplicaSet", "SuccessfulRescale", "SuccessfulDelete", "Drain"]),
];

/// Reasons with which controllers of fault experiments say that faults were injected.
const INJECTED: [&str; 6] =
    ["Applied", "ChaosInject", "ChaosInjected", "FaultInjected", "Injected", "Spawned"];

/// What an event about a fault experiment says: that it ran, or nothing of use.
pub(crate) fn meaning_for_experiment(reason: &str, is_warning: bool) -> Option<Signal> {
    match (INJECTED.contains(&reason), is_warning) {
        (true, false) => Some(Signal::Experiment),
        (_, true) => Some(Signal::Other),
        (false, false) => None,
    }
}

/// What an event of a cluster says by its reason, its type and its message; nothing when it is part of normal
/// operation.
pub fn meaning(reason: &str, is_warning: bool, message: &str) -> Option<Signal> {
    let known = REASONS.iter().find(|(_, reasons)| reasons.contains(&reason));
    let known = known.map(|(signal, _)| *signal);
    let says = |words: &[&str]| {
        let message = message.to_ascii_lowercase();
        words.iter().any(|word| message.contains(word))
    };
    match (known, is_warning) {
        // A quota or memory limit behind a general failure is an exhaustion.
        (Some(Signal::Availability), true)
            if says(&["exceeded quota", "oomkilled", "out of memory", "insufficient "]) =>
        {
            Some(Signal::Exhaustion)
        }
        (Some(signal), true) => Some(signal),
        (Some(signal @ (Signal::Restart | Signal::Other)), false) => Some(signal),
        (Some(Signal::Exhaustion), false) => Some(Signal::Exhaustion),
        (Some(_), false) => None,
        (None, true) => Some(Signal::Other),
        (None, false) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn experiments_say_when_they_ran() {
        let cases = [
            ("Applied", false, Some(Signal::Experiment)),
            ("Started", false, None),
            ("Recovered", false, None),
            ("Applied", true, Some(Signal::Other)),
            ("Failed", true, Some(Signal::Other)),
        ];
        for (reason, is_warning, expected) in cases {
            assert_eq!(meaning_for_experiment(reason, is_warning), expected, "{reason}");
        }
    }

    #[test]
    fn reasons_have_meanings() {
        let cases = [
            ("OOMKilling", true, "", Some(Signal::Exhaustion)),
            ("BackOff", true, "", Some(Signal::Availability)),
            ("FailedCreate", true, "pods is forbidden: exceeded quota", Some(Signal::Exhaustion)),
            ("Killing", false, "Stopping container web", Some(Signal::Restart)),
            ("ScalingReplicaSet", false, "", Some(Signal::Other)),
            ("Started", false, "", None),
            ("Unhealthy", false, "", None),
            ("SomethingNew", true, "", Some(Signal::Other)),
        ];
        for (reason, is_warning, message, expected) in cases {
            assert_eq!(meaning(reason, is_warning, message), expected, "{reason}");
        }
    }
}
