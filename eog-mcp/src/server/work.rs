//! What is run for a client, and what comes of it.

use std::path::PathBuf;

use eog::EntityId;
use eog_report::Report;

use super::answers::Investigated;
use super::arguments::Investigate;
use super::ask::Gap;
use eog_session::source::Words;
use eog_session::store::InvestigationId;

/// What is to be run.
pub(super) enum Work {
    /// A new investigation.
    Begin(Box<Investigate>),
    /// One that is stored, with what people answered meanwhile, or said of their own accord.
    GoOn { id: InvestigationId, seconds: Option<u64>, answers: Answers, said: Words },
    /// One that is stored, with a folder that was recorded since and holds more.
    Renew { id: InvestigationId, folder: PathBuf, seconds: Option<u64> },
}

/// What people said of entities; nothing where they skipped.
pub(super) type Answers = Vec<(EntityId, Option<String>)>;

/// A run that has ended.
pub(super) struct Done {
    pub(super) id: InvestigationId,
    pub(super) answer: Investigated,
    pub(super) text: String,
    /// What a person may know more about.
    pub(super) questions: Vec<Gap>,
    /// The result as every form shows it.
    pub(super) report: Report,
}
