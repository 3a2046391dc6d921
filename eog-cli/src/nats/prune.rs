//! `eog prune`: what has ended is removed.

use std::collections::BTreeSet;
use std::time::{Duration, SystemTime};

use eog_nats::{InvestigationId, NatsError, Registered, Retention};

use super::reach::Reached;
use super::state::State;
use crate::args::Prune;
use crate::error::{CliError, Exit};
use crate::files;

const DAY: Duration = Duration::from_secs(86_400);

/// `eog prune`.
pub(crate) fn prune(arguments: &Prune) -> Result<Exit, CliError> {
    let reached = Reached::connecting(&arguments.nats)?;
    if !arguments.ids.is_empty() {
        return by_name(&reached, &arguments.ids);
    }
    // Asked before: what is submitted later is in the queue, or has a ledger.
    let spared = spared(&reached, arguments.max_age)?;
    let retention = Retention {
        spared,
        max_age: arguments.max_age.map(|days| DAY * days),
        max_bytes: arguments.max_size,
        ..Retention::default()
    };
    let removed = retention.apply(&reached.cluster, SystemTime::now())?;
    let gone = &removed.investigations;
    let count = gone.len() + forget(&reached, arguments.max_age, gone)?;
    files::print(&format!("{count} removed; {} bytes remain\n", removed.bytes))?;
    Ok(Exit::Diagnosed)
}

fn by_name(reached: &Reached, names: &[String]) -> Result<Exit, CliError> {
    for name in names {
        let id: InvestigationId = name.parse()?;
        if reached.register.order(&id)?.is_none() {
            return Err(NatsError::NoSuch { id }.into());
        }
        if !reached.cluster.remove(&id)? {
            return Err(CliError::Usage(format!(
                "{id} is waiting or running; end it first with eog cancel {id}"
            )));
        }
        reached.register.remove(&id)?;
        files::print(&format!("{id} removed\n"))?;
    }
    Ok(Exit::Diagnosed)
}

/// Those that `forget` keeps, with or without a ledger: the incident is kept with the entry.
fn spared(reached: &Reached, max_age: Option<u32>) -> Result<BTreeSet<InvestigationId>, CliError> {
    let all = reached.register.all()?.into_iter();
    let is_young = |registered: &Registered| match max_age {
        None => true,
        // What cannot be read is kept.
        Some(_) => !State::read(&registered.state)
            .is_ok_and(|state| state.is_some_and(|state| is_old(&state, max_age))),
    };
    Ok(all.filter(|(_, registered)| is_young(registered)).map(|(id, _)| id).collect())
}

/// Whether it has been as it is for longer than is asked for; without a bound nothing is.
fn is_old(state: &State, max_age: Option<u32>) -> bool {
    let age = eog::Timestamp::now().duration_since(state.since);
    max_age.is_some_and(|days| age.as_secs() >= i64::from(days) * 86_400)
}

/// Forgets what has no ledger and is not in the queue: the ledger was removed, or nothing was ever found.
/// How many of the latter there were.
fn forget(
    reached: &Reached,
    max_age: Option<u32>,
    gone: &[InvestigationId],
) -> Result<usize, CliError> {
    // Asked before: what is submitted meanwhile is not among them.
    let all = reached.register.all()?;
    let there = reached.cluster.investigations()?;
    let mut count = 0;
    for (id, registered) in all {
        let Ok(Some(state)) = State::read(&registered.state) else { continue };
        if !state.status.has_ended() || there.iter().any(|one| one.id == id) {
            continue;
        }
        if state.entries == 0 && !gone.contains(&id) {
            if !is_old(&state, max_age) {
                continue;
            }
            count += 1;
        }
        if reached.cluster.remove(&id)? {
            reached.register.remove(&id)?;
        }
    }
    Ok(count)
}
