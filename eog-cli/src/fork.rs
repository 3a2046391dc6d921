//! `eog fork`: another course from an entry of a ledger on.

use std::time::Instant;

use eog::{Concurrency, Config, Controller, ForkChanges, ForkError, Ledger};

use crate::args::Fork;
use crate::beside::Beside;
use crate::error::{CliError, Exit};
use crate::investigate::{self, Work};
use crate::judge::Judge;
use crate::onward::Onward;
use crate::{course, travel};

/// `eog fork`.
pub(crate) fn run(arguments: &Fork) -> Result<Exit, CliError> {
    let (running, at) = (&arguments.running, arguments.at);
    let judge = Judge::choose(&running.judging)?;
    let progress = investigate::prepare(running)?;
    let (ledger_path, ledger) = travel::read(&arguments.ledger)?;
    let architecture = arguments.architecture.as_deref();
    let source = investigate::read(&progress, &arguments.path, architecture, &arguments.reading)?;
    investigate::same_case(&source, &arguments.path, &ledger_path, &ledger)?;
    if !judge.is_named() {
        judge.must_be_that_of(&ledger, at)?;
    }
    let unusable = |error: ForkError| CliError::Input {
        path: ledger_path.clone(),
        reason: match error {
            ForkError::NoSuchEntry { .. } => format!("{error}; --entries of eog replay lists them"),
            error => error.to_string(),
        },
    };
    let changes = changes(arguments, &judge, &ledger);
    // What cannot be forked must not leave a journal behind.
    Controller::fork(&ledger, at, changes.clone()).map_err(unusable)?;
    let beside = Beside::begin(arguments.journal.as_deref(), !arguments.no_fsync)?;
    let onward =
        Onward { journal: arguments.journal.as_deref(), path: &arguments.path, architecture };
    let case = investigate::case_of(&ledger, &ledger_path)?.clone();
    let work = Work { running, judge: &judge, progress, onward, since: Instant::now() };
    work.drive(source, &case, beside, async |engine| {
        engine.fork(&ledger, at, changes).await.map_err(unusable)
    })
}

/// What the command line changes, and nothing that it leaves as it was.
fn changes(arguments: &Fork, judge: &Judge, ledger: &Ledger) -> ForkChanges {
    let policy = judge.is_named().then(|| judge.name());
    let judge = || course::judge_at(ledger, arguments.at).map(str::to_owned);
    let config = course::config_at(ledger, arguments.at)
        .map(|before| (before, changed(arguments, policy.as_ref(), before)))
        .filter(|(before, after)| *before != after)
        .map(|(_, after)| Config { policy: policy.clone().or_else(judge), ..after });
    ForkChanges { policy, config }
}

fn changed(arguments: &Fork, policy: Option<&String>, before: &Config) -> Config {
    let mut config = before.clone();
    if policy.is_some() {
        config.policy = policy.cloned();
    }
    if let Some(profile) = arguments.profile {
        let Config { policy, budget, concurrency, broadcast, .. } = config;
        config = Config { policy, budget, concurrency, broadcast, ..profile.config() };
    }
    if let Some(hops) = arguments.budget {
        config.budget.hops = Some(hops);
    }
    if let Some(width) = arguments.width {
        config.concurrency = Concurrency::Window(width);
    }
    if arguments.no_messages || arguments.messages {
        config.broadcast = arguments.messages;
    }
    config
}
