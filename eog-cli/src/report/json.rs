//! The whole result for programs.

use std::collections::BTreeMap;

use eog::{Anomaly, Belief, Claim, Conclusion, EntityId, Finding, Spent, StopReason, Window};
use eog_prompts::Narrative;
use serde::Serialize;

use super::course::Fork;
use super::model::{Report, RunFigures};

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
    forks: &'r [Fork],
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
    failures: &'r [String],
    refusals: &'r [String],
    ignored: &'r [String],
    warnings: &'r [String],
}

/// Conclusion, beliefs, cited evidence and cost as indented JSON.
pub(crate) fn json(report: &Report) -> String {
    let cited = report.beliefs.values().flat_map(Belief::cited).collect::<Vec<_>>();
    pretty(&ResultFile {
        format: "eog-result",
        version: VERSION,
        name: &report.name,
        window: report.window,
        window_reason: &report.window_reason,
        stop: report.stop,
        forks: &report.forks,
        conclusion: &report.conclusion,
        narrative: &report.narrative,
        anomalies: &report.anomalies,
        causal_claims: &report.causal,
        beliefs: &report.beliefs,
        evidence: report.lookup(&cited),
        spent: report.spent,
        run: report.run,
        failures: &report.failures,
        refusals: &report.refusals,
        ignored: &report.ignored,
        warnings: &report.warnings,
    })
}

/// Indented JSON with a final newline. What we write has string keys and finite numbers only.
pub(super) fn pretty(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string_pretty(value)
        .unwrap_or_else(|error| unreachable!("the result is JSON: {error}"));
    text.push('\n');
    text
}
