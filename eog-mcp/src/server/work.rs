//! What is run for a client, and what comes of it.

use std::path::PathBuf;

use eog::EntityId;
use eog_report::Report;

use super::answers::Investigated;
use super::arguments::{Fork, Investigate};
use super::ask::Gap;
use eog_session::source::Words;
use eog_session::store::InvestigationId;
use tokio::sync::oneshot;

/// What is to be run.
pub(super) enum Work {
    /// A new investigation.
    Begin(Box<Begin>),
    /// One that is stored, with what people answered meanwhile, or said of their own accord.
    GoOn { id: InvestigationId, seconds: Option<u64>, answers: Answers, said: Words },
    /// A copy of one that is stored, which takes another course from an entry on.
    Fork { from: InvestigationId, asked: Box<Fork> },
    /// One that is stored, with a folder that was recorded since and holds more, and what was said since.
    Renew { id: InvestigationId, folder: PathBuf, seconds: Option<u64>, said: Words },
}

/// A new investigation.
pub(super) struct Begin {
    pub(super) asked: Investigate,
    /// What was said before it began, beside what the arguments say.
    pub(super) said: Words,
    /// Gets its id once its folder was read.
    pub(super) begun: Option<oneshot::Sender<InvestigationId>>,
}

impl Begin {
    pub(super) fn new(asked: Investigate) -> Self {
        Self { asked, said: Words::new(), begun: None }
    }
}

impl From<Begin> for Work {
    fn from(begin: Begin) -> Self {
        Self::Begin(Box::new(begin))
    }
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
