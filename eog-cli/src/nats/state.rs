//! How an investigation stands, for lists. Its ledger is what counts.

use eog::{StopReason, Timestamp};
use eog_report::Report;
use serde::{Deserialize, Serialize};

use super::order;
use crate::error::CliError;

/// How an investigation stands, as a worker said last.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    format: u32,
    /// Where it stands.
    pub(crate) status: Status,
    /// Which worker said so.
    pub(crate) worker: String,
    /// Since when.
    pub(crate) since: Timestamp,
    /// How often a worker took it.
    pub(crate) attempts: u64,
    /// Why it ended, was given back or cannot be investigated.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) note: String,
    /// How sure the result is.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub(crate) confidence: String,
    /// The origins that explain an alert.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) origins: Vec<String>,
    /// Entries of the ledger.
    #[serde(default)]
    pub(crate) entries: u64,
    /// The report as Markdown: digest and length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) report: Option<String>,
}

/// Where an investigation stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Status {
    Waiting,
    Running,
    Finished,
    Interrupted,
    Cancelled,
    Failed,
}

impl Status {
    pub(crate) fn as_str(self) -> &'static str {
        match self {
            Self::Waiting => "waiting",
            Self::Running => "running",
            Self::Finished => "finished",
            Self::Interrupted => "interrupted",
            Self::Cancelled => "cancelled",
            Self::Failed => "failed",
        }
    }

    /// Whether no worker goes on with it by itself.
    pub(crate) fn has_ended(self) -> bool {
        !matches!(self, Self::Waiting | Self::Running)
    }
}

impl State {
    pub(crate) fn new(status: Status, worker: &str, attempts: u64, note: String) -> Self {
        Self {
            format: 1,
            status,
            worker: worker.to_owned(),
            since: Timestamp::now(),
            attempts,
            note,
            confidence: String::new(),
            origins: Vec::new(),
            entries: 0,
            report: None,
        }
    }

    /// How an investigation ended.
    pub(crate) fn of_report(report: &Report, worker: &str, attempts: u64, entries: u64) -> Self {
        let status = match report.stop {
            StopReason::Cancelled => Status::Cancelled,
            StopReason::Converged { .. } | StopReason::SearchExhausted { .. } => Status::Finished,
            StopReason::BudgetExhausted { which: eog::BudgetKind::Hops } => Status::Finished,
            _ => Status::Interrupted,
        };
        let diagnosis = &report.diagnosis;
        let origins = diagnosis.causes().flat_map(|group| &group.origins);
        Self {
            confidence: diagnosis.conclusion.confidence.to_string(),
            origins: origins.map(ToString::to_string).collect(),
            entries,
            ..Self::new(status, worker, attempts, report.stop.to_string())
        }
    }

    /// What the register says; nothing before a worker had it.
    pub(crate) fn read(bytes: &[u8]) -> Result<Option<Self>, CliError> {
        match bytes {
            [] => Ok(None),
            bytes => order::read(bytes, "how it stands").map(Some),
        }
    }

    pub(crate) fn written(&self) -> Result<Vec<u8>, CliError> {
        order::written(self)
    }
}
