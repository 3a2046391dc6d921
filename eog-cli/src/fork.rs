//! `eog fork`: another course from an entry of a ledger on.

use eog_session::judge::Policies as _;
use eog_session::run::{Course, can_fork, same_judge};

use crate::args::Fork;
use crate::error::{CliError, Exit};
use crate::investigate::Work;
use crate::onward::Onward;
use crate::source::Input;
use crate::{rules, travel};

/// `eog fork`.
pub(crate) fn run(arguments: &Fork) -> Result<Exit, CliError> {
    let at = arguments.at;
    let work = Work::prepare(&arguments.running)?;
    let read = travel::read(&arguments.ledger)?;
    let (path, ledger) = (read.path.as_path(), &read.ledger);
    let architecture = arguments.architecture.as_deref();
    let (reading, until) = (&arguments.reading, work.until());
    let input = Input::of(&arguments.path, reading)?;
    let source = travel::open(&work.progress, &read, input, architecture, reading, until)?;
    let failed = |error| CliError::run(error, &source, Some(path), || None);
    let policy = work.chosen.is_named().then(|| work.chosen.name());
    if policy.is_none() {
        same_judge(&work.chosen, ledger.judge_at(at)).map_err(failed)?;
    }
    let mut changes = rules::changes(arguments, policy, ledger)?;
    if let Some(settings) = changes.settings.take() {
        // What the file says holds for what begins.
        let planner = (work.chosen.planner().0, None);
        changes.settings = Some(rules::prompted(settings, &arguments.search, planner)?);
    }
    // What cannot be forked must not leave a journal behind.
    can_fork(ledger, at, &changes).map_err(failed)?;
    let records = work.records(arguments.journal.as_deref(), arguments.no_fsync)?;
    let onward =
        Onward { journal: arguments.journal.as_deref(), path: &arguments.path, architecture };
    let run = async |course: Course<'_>, _| course.fork(ledger, at, changes).await;
    work.conduct(&source, records, Some(path), onward, run)
}
