//! In place of `--live`, in builds without servers: a request for the page is refused.

use std::convert::Infallible;
use std::sync::Arc;

use eog::{CallRecorder, EntityId};
use eog_report::Report;
use eog_session::Listener;
use eog_session::controllers::AnyEntry;
use eog_session::run::{Cancel, Ended};
use eog_session::source::{Opened, Words};

use crate::args::LiveArgs;
use crate::error::CliError;

/// A place for a page that cannot be had.
pub(crate) struct Place(Infallible);

/// A page that cannot be had.
pub(crate) struct Watching(Infallible);

impl Place {
    pub(crate) fn prepare(arguments: &LiveArgs) -> Result<Option<Self>, CliError> {
        match arguments.live {
            None => Ok(None),
            Some(_) => Err(CliError::not_built("the live page", "serve")),
        }
    }
}

impl Watching {
    pub(crate) fn begin(
        place: Place,
        _source: &Opened,
        _recorder: &CallRecorder,
        _seen: &[AnyEntry],
        _words: &Words,
    ) -> Result<Self, CliError> {
        match place.0 {}
    }

    pub(crate) fn beside(&self, _other: Arc<dyn Listener>) -> Arc<dyn Listener> {
        match self.0 {}
    }

    pub(crate) fn begin_run(&self, _cancel: &Cancel) {
        match self.0 {}
    }

    pub(crate) fn end_run(&self, _report: &Report, _ended: &Ended) {
        match self.0 {}
    }

    pub(crate) async fn news(&self, _quiet: bool) -> Option<Vec<EntityId>> {
        match self.0 {}
    }
}
