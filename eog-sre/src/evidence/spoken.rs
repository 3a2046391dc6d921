//! What alerts speak of, by the words of their names.

use eog_core::evidence::{Signal, Trend};
use eog_evidence::words;

/// Words of alert names by what they speak of; the first that matches counts.
const SIGNALS: [(Signal, &[&str]); 6] = [
    (Signal::Exhaustion, &["oom", "oomkilled", "throttling", "throttled", "evicted", "quota"]),
    (Signal::Errors, &["error", "errors", "failure", "failures", "5xx", "failed"]),
    (Signal::Latency, &["latency", "duration", "slow", "p95", "p99", "response"]),
    (
        Signal::Availability,
        &[
            "down",
            "crash",
            "crashing",
            "crashlooping",
            "unavailable",
            "unreachable",
            "absent",
            "restarting",
            "mismatch",
            "ready",
            "pending",
            "stuck",
            "waiting",
        ],
    ),
    (
        Signal::Saturation,
        &[
            "cpu",
            "memory",
            "saturation",
            "disk",
            "filesystem",
            "full",
            "usage",
            "lag",
            "queue",
            "overcommit",
        ],
    ),
    (Signal::Traffic, &["traffic", "throughput", "requests", "request", "rate", "load"]),
];

/// Words that make an alert one about things going well.
const GOODPUT: [&str; 4] = ["goodput", "success", "successful", "healthy"];

/// Words that make it one about good things becoming less.
const FALLS: [&str; 9] =
    ["low", "lower", "less", "below", "under", "drop", "dropped", "fell", "no"];

/// What an alert speaks of, by the words of its name.
pub fn signal_of(name: &str) -> Signal {
    let words = words(name);
    let has = |wanted: &[&str]| words.iter().any(|word| wanted.contains(&word.as_str()));
    let found = SIGNALS.iter().find(|(_, wanted)| has(wanted));
    found.map_or(Signal::Other, |(signal, _)| *signal)
}

/// Whether an alert speaks of too much or of too little: of requests alone there can be too few.
pub(super) fn trend_of(name: &str, signal: Signal) -> Trend {
    let falls = words(name).iter().any(|word| FALLS.contains(&word.as_str()));
    if signal == Signal::Traffic && falls { Trend::Falling } else { Trend::Rising }
}

/// Whether an alert says that things go well, and not that good things become less.
pub(super) fn praises(name: &str, description: &str) -> bool {
    let is_good = words(name).iter().any(|word| GOODPUT.contains(&word.as_str()));
    let said = words(&format!("{name} {description}"));
    let falls = said.iter().any(|word| FALLS.contains(&word.as_str()));
    is_good && !falls
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alert_names_give_their_signal() {
        let cases = [
            ("RequestErrorRate", Signal::Errors),
            ("RequestLatency", Signal::Latency),
            ("KubePodCrashLooping", Signal::Availability),
            ("CPUThrottlingHigh", Signal::Exhaustion),
            ("NodeMemoryHigh", Signal::Saturation),
            ("RequestThroughputLow", Signal::Traffic),
            ("TargetDown", Signal::Availability),
            ("PendingPodsDetected", Signal::Availability),
            ("SomethingOdd", Signal::Other),
        ];
        for (name, expected) in cases {
            assert_eq!(signal_of(name), expected, "{name}");
        }
    }

    #[test]
    fn too_few_requests_are_distinguished_from_too_many() {
        for (name, expected) in [
            ("RequestThroughputLow", Trend::Falling),
            ("NoRequestsDetected", Trend::Falling),
            ("RequestRateHigh", Trend::Rising),
            ("NoHealthyPods", Trend::Rising),
        ] {
            assert_eq!(trend_of(name, signal_of(name)), expected, "{name}");
        }
    }
}
