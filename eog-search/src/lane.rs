//! Lanes: one specialist on one hypothesis, who acts, sees what comes of it, and acts again.

use std::fmt;

use eog_core::contract::{Failure, LocalContext};
use eog_core::evidence::{EvidenceKind, Finding};
use eog_core::{EntityId, EvidenceId};
use serde::{Deserialize, Serialize};

use crate::id::NodeId;

/// The tool by which a specialist records findings. It is the controller's own, as is [`FINISH`].
pub const RECORD_FINDING: &str = "record_finding";

/// The tool by which a specialist ends its lane.
pub const FINISH: &str = "finish";

/// The message to a specialist, as by a user, when it has made many calls.
pub const WRAP_UP: &str =
    "You have explored enough. Record the findings that are missing, then finish.";

/// What ends a lane that did not finish by itself.
pub const CUT_SHORT: &str =
    "This investigation was cut short: no more calls may be made. What was recorded stays.";

/// The agent of a lane: a specialist that investigates a hypothesis and sees evidence of its own kinds
/// alone; or the one agent of a chain, which sees all.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Specialist {
    /// Measured series, and the alerts on them.
    Metrics,
    /// What was written down: log lines, events, changes.
    Logs,
    /// Traced requests, and the paths between entities that the source has.
    Traces,
    /// Everything: the agent of a chain.
    Generalist,
}

impl Specialist {
    /// Those who investigate hypotheses, in the order in which they begin.
    pub const ALL: [Self; 3] = [Self::Metrics, Self::Logs, Self::Traces];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Logs => "logs",
            Self::Traces => "traces",
            Self::Generalist => "generalist",
        }
    }

    /// The kinds of evidence that it sees. Each kind belongs to one of [`Specialist::ALL`].
    pub fn kinds(self) -> &'static [EvidenceKind] {
        match self {
            Self::Metrics => &[EvidenceKind::Metric, EvidenceKind::Alert],
            Self::Logs => &[EvidenceKind::Log, EvidenceKind::Event, EvidenceKind::Change],
            Self::Traces => &[EvidenceKind::Span, EvidenceKind::Note],
            Self::Generalist => &[
                EvidenceKind::Metric,
                EvidenceKind::Alert,
                EvidenceKind::Log,
                EvidenceKind::Event,
                EvidenceKind::Change,
                EvidenceKind::Span,
                EvidenceKind::Note,
            ],
        }
    }

    /// Of a context what it sees: findings of its kinds, and the routes that these state.
    #[must_use]
    pub fn sees(self, context: LocalContext) -> LocalContext {
        kept(context, |finding| self.kinds().contains(&finding.kind))
    }
}

impl fmt::Display for Specialist {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// A context with some of its findings, and the routes that these state.
pub(crate) fn kept(mut context: LocalContext, keep: impl Fn(&Finding) -> bool) -> LocalContext {
    context.findings.retain(keep);
    let findings = &context.findings;
    let is_shown = |id: &EvidenceId| findings.iter().any(|finding| finding.id() == id);
    context.routes.retain(|route| is_shown(&route.finding));
    context
}

/// A call of a tool.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolCall {
    /// The name of the tool.
    pub tool: String,
    /// A JSON object as text.
    pub arguments: String,
}

impl ToolCall {
    /// A call with these arguments.
    pub fn new(tool: impl Into<String>, arguments: &serde_json::Value) -> Self {
        Self { tool: tool.into(), arguments: arguments.to_string() }
    }
}

/// What a specialist does next.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LaneAction {
    /// Why. Untrusted text.
    pub thought: String,
    /// What.
    pub call: ToolCall,
}

impl LaneAction {
    /// A call, and why.
    pub fn new(thought: impl Into<String>, call: ToolCall) -> Self {
        Self { thought: thought.into(), call }
    }

    /// Records findings that an answer of the same lane holds: which call it answered, counted from 1, and
    /// the findings by id.
    pub fn record(thought: impl Into<String>, call: u32, findings: &[EvidenceId]) -> Self {
        let arguments = serde_json::json!({ "call": call, "findings": findings });
        Self::new(thought, ToolCall::new(RECORD_FINDING, &arguments))
    }

    /// Ends the lane with what was found out, in a sentence or two.
    pub fn finish(summary: impl Into<String>) -> Self {
        let arguments = serde_json::json!({ "summary": summary.into() });
        Self::new("", ToolCall::new(FINISH, &arguments))
    }
}

/// What a tool answers.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ToolAnswer {
    /// In words. Untrusted text.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub text: String,
    /// Evidence on an entity, if that is what was asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub evidence: Option<Evidence>,
}

impl From<String> for ToolAnswer {
    fn from(text: String) -> Self {
        Self { text, evidence: None }
    }
}

/// Evidence on an entity.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Evidence {
    /// The entity.
    pub entity: EntityId,
    /// Its local context, as far as the specialist sees it.
    pub context: LocalContext,
}

/// One turn of a lane.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Turn {
    /// The specialist acted.
    Acted(Acts),
    /// The call of the specialist failed.
    Failed(Failure),
    /// A message to the specialist, as by a user.
    #[serde(rename = "told")]
    Message(String),
    /// The lane was ended from outside, with this message.
    Closed(String),
}

impl Turn {
    /// Whether the specialist was asked: such turns are counted from 1, and limited.
    pub fn is_call(&self) -> bool {
        matches!(self, Self::Acted(_) | Self::Failed(_))
    }
}

/// An action of a specialist, and its outcome.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Acts {
    /// What it did.
    pub action: LaneAction,
    /// Its outcome.
    pub came: Came,
}

/// The outcome of an action.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Came {
    /// The tool answered.
    Answered(ToolAnswer),
    /// The call was not made: there is no such tool, or the arguments do not fit it.
    Refused(String),
    /// The tool failed, each time that it was tried.
    Failed(Vec<Failure>),
    /// Findings were recorded.
    Recorded {
        /// Which.
        findings: Vec<EvidenceId>,
        /// Those that were not, each with the reason.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        refused: Vec<(String, RefusedFinding)>,
    },
    /// The lane is finished.
    Finished,
}

/// Why a finding is not recorded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusedFinding {
    /// The answer that it is to stand in does not hold it.
    NotInAnswer,
    /// The lane recorded it before.
    Repeated,
}

impl fmt::Display for RefusedFinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotInAnswer => "the answer does not hold it",
            Self::Repeated => "it is recorded already",
        })
    }
}

/// How a lane ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LaneEnd {
    /// By itself.
    Finished,
    /// After as many calls as it may make.
    CutShort,
    /// The calls of the specialist failed several times in a row.
    Failed,
}

impl fmt::Display for LaneEnd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Finished => "finished",
            Self::CutShort => "cut short",
            Self::Failed => "failed",
        })
    }
}

/// A finding in the store of a search: who recorded it, where, and by which call.
#[derive(Clone, Debug, PartialEq)]
pub struct StoredFinding {
    /// The finding, with its source and the exact query that gives it again.
    pub finding: Finding,
    /// The specialist that recorded it.
    pub agent: Specialist,
    /// For which hypothesis.
    pub node: NodeId,
    /// The ledger entry of the lane.
    pub entry: u64,
    /// Which call of the lane gave it, counted from 1.
    pub call: u32,
    /// That call.
    pub made: ToolCall,
}

/// Arguments of [`RECORD_FINDING`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct RecordArguments {
    pub(crate) call: u32,
    pub(crate) findings: Vec<String>,
}

/// Arguments of [`FINISH`].
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct FinishArguments {
    #[serde(rename = "summary")]
    pub(crate) _summary: String,
}
