//! The whole result for programs.

use std::collections::BTreeMap;

use eog_core::diagnosis::ForkTaken;
use eog_core::incident::Bootstrap;
use eog_core::{
    Anomaly, Belief, Claim, Conclusion, Digest, EntityId, Finding, Spent, StopReason, Window,
};
use serde::Serialize;
use serde_json::Value;

use crate::clean::escape_json;
use crate::narrative::Narrative;
use crate::report::{Report, RunFigures};

/// The version of this format.
const VERSION: u32 = 1;

#[derive(Serialize)]
struct ResultFile<'r> {
    format: &'static str,
    version: u32,
    name: &'r str,
    window: Window,
    window_reason: &'r str,
    stop: StopReason,
    forks: Vec<Fork<'r>>,
    conclusion: &'r Conclusion,
    narrative: &'r Narrative,
    anomalies: &'r [Anomaly],
    causal_claims: &'r [Claim],
    beliefs: &'r BTreeMap<EntityId, Belief>,
    evidence: Vec<&'r Finding>,
    spent: Spent,
    /// Not in a replay, which makes no calls.
    #[serde(skip_serializing_if = "Option::is_none")]
    run: Option<RunFigures>,
    failures: Vec<String>,
    refusals: Vec<String>,
    ignored: &'r [String],
    warnings: &'r [String],
}

/// A place where a ledger left the one it was copied from.
#[derive(Serialize)]
struct Fork<'r> {
    at: u64,
    parent: Digest,
    policy: Option<&'r str>,
    settings: Vec<Setting>,
}

#[derive(Serialize)]
struct Setting {
    name: String,
    from: Value,
    to: Value,
}

impl<'r> From<&'r ForkTaken> for Fork<'r> {
    fn from(fork: &'r ForkTaken) -> Self {
        let changed = fork.changed_settings().into_iter();
        Self {
            at: fork.at,
            parent: fork.parent,
            policy: fork.policy.as_deref(),
            settings: changed
                .map(|it| Setting { name: it.name, from: it.from, to: it.to })
                .collect(),
        }
    }
}

/// Conclusion, beliefs, cited evidence and cost as indented JSON.
pub fn json(report: &Report) -> String {
    let diagnosis = &report.diagnosis;
    let Bootstrap { window_reason, ignored, warnings, .. } = &diagnosis.bootstrap;
    pretty(&ResultFile {
        format: "eog-result",
        version: VERSION,
        name: &report.name,
        window: diagnosis.window,
        window_reason,
        stop: report.stop,
        forks: diagnosis.forks.iter().map(Fork::from).collect(),
        conclusion: &diagnosis.conclusion,
        narrative: &report.narrative,
        anomalies: &diagnosis.anomalies,
        causal_claims: &diagnosis.causal,
        beliefs: &diagnosis.beliefs,
        evidence: report.evidence(),
        spent: diagnosis.spent,
        run: report.run,
        failures: report.failures(),
        refusals: report.refusals(),
        ignored,
        warnings,
    })
}

/// Indented JSON with a final newline, of a value with string keys and finite numbers alone. Characters
/// that could harm a terminal stand as escapes.
///
/// # Panics
/// When the value is none of these.
pub fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .unwrap_or_else(|error| unreachable!("the result is JSON: {error}"));
    text.push('\n');
    escape_json(&text)
}
