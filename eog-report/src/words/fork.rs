//! What a fork changed, in words.

use eog_core::diagnosis::{ChangedSetting, ForkTaken};
use serde_json::Value;

use crate::clean::clean_to;

/// Characters shown of a policy's name.
const MAX_POLICY: usize = 120;

/// What a fork changed: `at entry 3: policy set to command:./triage.py; budget from 200 to 40`.
pub fn fork(fork: &ForkTaken) -> String {
    let policy =
        fork.policy.iter().map(|policy| format!("policy set to {}", clean_to(policy, MAX_POLICY)));
    let changes: Vec<String> = policy.chain(fork.changed_settings().iter().map(setting)).collect();
    let changes =
        if changes.is_empty() { "with the same settings".to_owned() } else { changes.join("; ") };
    format!("at entry {}: {changes}", fork.at)
}

fn setting(setting: &ChangedSetting) -> String {
    // A setting of the command line is named like its option.
    let name = match setting.name.as_str() {
        "budget.hops" => "budget",
        "concurrency.window" => "width",
        "broadcast" => "messages",
        other => other,
    };
    format!("{name} from {} to {}", value(&setting.from), value(&setting.to))
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

#[cfg(test)]
mod tests {
    use super::*;
    use eog_core::controller::Order;
    use eog_core::ledger::Settings;
    use eog_core::{Budget, Config, Digest};

    fn forked(after: &Config) -> String {
        let settings = (Config::default().to_json(), after.to_json());
        fork(&ForkTaken { at: 3, parent: Digest::of(b""), policy: None, settings: Some(settings) })
    }

    #[test]
    fn settings_are_named_by_their_path_or_option() {
        let after = Config {
            budget: Budget::hops(40),
            order: Order::Permuted { seed: 7 },
            broadcast: false,
            policy: Some("command:./triage.py".to_owned()),
            ..Config::default()
        };
        assert_eq!(
            forked(&after),
            "at entry 3: messages from on to off; budget from none to 40; order from fifo to \
             {\"permuted\":{\"seed\":7}}"
        );
        assert_eq!(forked(&Config::default()), "at entry 3: with the same settings");
    }
}
