//! The course of a ledger: where it was forked, and what was changed there.

use eog::{Config, Digest, EntryBody, Ledger};
use serde::Serialize;
use serde_json::Value;

use super::clean::clean_to;

/// Characters shown of a policy's name.
const MAX_POLICY: usize = 120;

/// A place where a ledger left the one it was copied from.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct Fork {
    /// The last entry that both share.
    pub(crate) at: u64,
    /// The hash of the parent's last entry.
    pub(crate) parent: Digest,
    /// Who judges from there on, if somebody else does.
    pub(crate) policy: Option<String>,
    /// The settings that are others from there on.
    pub(crate) settings: Vec<ChangedSetting>,
}

/// A setting before and after a fork.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub(crate) struct ChangedSetting {
    /// Its path within the configuration, such as `budget.hops`.
    name: String,
    from: Value,
    to: Value,
}

/// Every fork that a ledger went through, oldest first.
pub(crate) fn forks(ledger: &Ledger) -> Vec<Fork> {
    let mut forks = Vec::new();
    for entry in ledger.entries() {
        let EntryBody::Forked(forked) = &entry.body else { continue };
        let at = entry.seq.saturating_sub(1);
        let before = config_at(ledger, at);
        let settings = before.zip(forked.changes.config.as_ref()).map(|(a, b)| settings(a, b));
        forks.push(Fork {
            at,
            parent: forked.parent,
            policy: forked.changes.policy.clone(),
            settings: settings.unwrap_or_default(),
        });
    }
    forks
}

/// The configuration that holds after an entry.
fn config_at(ledger: &Ledger, at: u64) -> Option<&Config> {
    ledger.entries().iter().take_while(|entry| entry.seq <= at).fold(None, |before, entry| {
        match &entry.body {
            EntryBody::Opened(opened) => Some(&opened.config),
            EntryBody::Forked(forked) => forked.changes.config.as_ref().or(before),
            _ => before,
        }
    })
}

impl Fork {
    /// `at entry 3: command:./triage.py judges from there on; budget from 200 to 40`.
    pub(crate) fn in_words(&self) -> String {
        let policy = self
            .policy
            .iter()
            .map(|policy| format!("{} judges from there on", clean_to(policy, MAX_POLICY)));
        let changes: Vec<String> =
            policy.chain(self.settings.iter().map(ChangedSetting::in_words)).collect();
        let changes =
            if changes.is_empty() { "nothing changed".to_owned() } else { changes.join("; ") };
        format!("at entry {}: {changes}", self.at)
    }
}

impl ChangedSetting {
    fn in_words(&self) -> String {
        // What an option of the command line sets is called as the option is.
        let name = match self.name.as_str() {
            "budget.hops" => "budget",
            "concurrency.window" => "width",
            "broadcast" => "messages",
            other => other,
        };
        format!("{name} from {} to {}", value(&self.from), value(&self.to))
    }
}

fn value(value: &Value) -> String {
    match value {
        Value::Null => "none".to_owned(),
        Value::Bool(true) => "on".to_owned(),
        Value::Bool(false) => "off".to_owned(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

/// The settings in which two configurations differ, by name. Who judges is told apart from them.
fn settings(before: &Config, after: &Config) -> Vec<ChangedSetting> {
    let json = |config: &Config| {
        let rules = Config { policy: None, ..config.clone() };
        let mut value = serde_json::to_value(rules).unwrap_or_default();
        // Whether serde_json keeps an order of its own is up to other crates of a build.
        value.sort_all_objects();
        value
    };
    let mut changed = Vec::new();
    compare(String::new(), &json(before), &json(after), &mut changed);
    changed
}

fn compare(name: String, from: &Value, to: &Value, changed: &mut Vec<ChangedSetting>) {
    if from == to {
        return;
    }
    match (from.as_object(), to.as_object()) {
        (Some(a), Some(b)) if a.keys().eq(b.keys()) => {
            for ((key, from), to) in a.iter().zip(b.values()) {
                let name = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
                compare(name, from, to, changed);
            }
        }
        _ => changed.push(ChangedSetting { name, from: from.clone(), to: to.clone() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog::{Budget, Order};

    #[test]
    fn settings_are_named_by_their_path_or_option() {
        let before = Config::default();
        let after = Config {
            budget: Budget::hops(40),
            order: Order::Permuted { seed: 7 },
            broadcast: false,
            policy: Some("command:./triage.py".to_owned()),
            ..before.clone()
        };
        let words: Vec<String> =
            settings(&before, &after).iter().map(ChangedSetting::in_words).collect();
        assert_eq!(
            words,
            [
                "messages from on to off",
                "budget from none to 40",
                "order from fifo to {\"permuted\":{\"seed\":7}}"
            ]
        );
        assert_eq!(settings(&before, &before), []);
    }
}
