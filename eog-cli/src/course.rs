//! What holds after an entry of a ledger.

use eog::{Config, EntryBody, Ledger};

/// The configuration that holds after an entry.
pub(crate) fn config_at(ledger: &Ledger, at: u64) -> Option<&Config> {
    ledger.entries().iter().take_while(|entry| entry.seq <= at).fold(None, |before, entry| {
        match &entry.body {
            EntryBody::Opened(opened) => Some(&opened.config),
            EntryBody::Forked(forked) => forked.changes.config.as_ref().or(before),
            _ => before,
        }
    })
}

/// Who judges after an entry, if the ledger says so.
pub(crate) fn judge_at(ledger: &Ledger, at: u64) -> Option<&str> {
    ledger.entries().iter().take_while(|entry| entry.seq <= at).fold(None, |before, entry| {
        match &entry.body {
            EntryBody::Opened(opened) => opened.config.policy.as_deref(),
            EntryBody::Forked(forked) => {
                let named =
                    forked.changes.config.as_ref().and_then(|config| config.policy.as_deref());
                forked.changes.policy.as_deref().or(named).or(before)
            }
            _ => before,
        }
    })
}
