//! `eog fork`: another course from an entry of a ledger on.

use eog::{Concurrency, Config, Controller, Engine, ForkChanges, ForkError, Ledger};

use crate::args::Fork;
use crate::error::{CliError, Exit};
use crate::onward::Onward;
use crate::{beside, investigate, report, travel};

/// `eog fork`.
pub(crate) fn run(arguments: &Fork) -> Result<Exit, CliError> {
    let (running, at) = (&arguments.running, arguments.at);
    let (policy, memory, progress) = investigate::prepare(running)?;
    let (ledger_path, ledger) = travel::read(&arguments.ledger)?;
    let architecture = arguments.architecture.as_deref();
    let source = investigate::read(&progress, &arguments.path, architecture, &arguments.reading)?;
    investigate::same_case(&source, &arguments.path, &ledger_path, &ledger)?;
    if !running.names_policy() {
        investigate::same_judge(running.policy(), &running.policy_arg, &ledger, at)?;
    }
    let unusable = |error: ForkError| CliError::Input {
        path: ledger_path.clone(),
        reason: match error {
            ForkError::NoSuchEntry { .. } => format!("{error}; --entries of eog replay lists them"),
            error => error.to_string(),
        },
    };
    let changes = changes(arguments, &ledger);
    // What cannot be forked must not leave a journal behind.
    Controller::fork(&ledger, at, changes.clone()).map_err(unusable)?;
    let engine = Engine::new(source.contract, policy);
    let engine = beside::begin(engine, arguments.journal.as_deref(), !arguments.no_fsync)?;
    let finished = investigate::drive(running, &progress, engine, async |engine| {
        engine.fork(&ledger, at, changes).await.map_err(unusable)
    })?;
    drop(progress);
    memory.tell(running.quiet);
    let onward = Onward {
        journal: arguments.journal.as_deref(),
        path: &arguments.path,
        architecture: arguments.architecture.as_deref(),
    };
    investigate::tell(running, source.incident.name, finished, onward)
}

/// What the command line changes, and nothing that it leaves as it was.
fn changes(arguments: &Fork, ledger: &Ledger) -> ForkChanges {
    let running = &arguments.running;
    let name = || investigate::policy_name(running.policy(), &running.policy_arg);
    let policy = running.names_policy().then(name);
    let judge = || report::judge_at(ledger, arguments.at).map(str::to_owned);
    let config = report::config_at(ledger, arguments.at)
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
