//! Made-up names, and what people write about changes.

use std::collections::BTreeSet;

use eog::EntityId;
use eog_simulate::Stream;

const SYLLABLES: [&str; 24] = [
    "ba", "cor", "del", "fen", "gra", "hul", "ive", "jor", "kel", "lum", "mar", "nor", "oli",
    "pex", "qua", "rin", "sol", "tar", "ulm", "ver", "wex", "yor", "zan", "mi",
];

/// Messages of commits. Harmful and harmless changes draw from the same list.
const COMMITS: [&str; 14] = [
    "Read limits from the new settings",
    "Bump dependencies",
    "Use one client for all lookups",
    "Rename internal helpers",
    "Add retries around the fetch",
    "Simplify serialisation",
    "Move validation to the edge",
    "Fix typo in log message",
    "Cache the price table",
    "Prepare the new layout",
    "Drop unused columns",
    "Turn on structured logging",
    "Batch small writes",
    "Revert \"Batch small writes\"",
];

const FLAGS: [&str; 6] =
    ["new-ranking", "async-writes", "strict-mode", "beta-layout", "fast-path", "bulk-fetch"];

const KEYS: [&str; 6] =
    ["pool.size", "cache.ttl", "batch.max", "timeout.ms", "log.level", "threads"];

/// Names that do not repeat.
#[derive(Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// A new name with this ending.
    pub(super) fn fresh(&mut self, ending: &str, draw: &mut Stream) -> EntityId {
        loop {
            let count = draw.between(2, 3);
            let word: String = (0..count).filter_map(|_| draw.pick(&SYLLABLES)).copied().collect();
            if self.0.insert(word.clone())
                && let Ok(name) = EntityId::new(format!("{word}{ending}"))
            {
                return name;
            }
        }
    }
}

/// What was changed, from what to what, and what its author wrote.
#[derive(Clone, Debug)]
pub(super) struct Words {
    pub(super) path: String,
    pub(super) old: String,
    pub(super) new: String,
    pub(super) description: String,
}

/// A deploy of a commit.
pub(super) fn deploy(draw: &mut Stream) -> Words {
    let commit = |draw: &mut Stream| format!("{:07x}", draw.below(1 << 28));
    let (old, new) = (commit(draw), commit(draw));
    let said = draw.pick(&COMMITS).copied().unwrap_or_default();
    Words { path: "deploy.commit".into(), description: format!("deploy {new}: {said}"), old, new }
}

/// A flip of a feature flag.
pub(super) fn flag(draw: &mut Stream) -> Words {
    let name = draw.pick(&FLAGS).copied().unwrap_or_default();
    let path = format!("flags.{name}");
    Words { path, old: "off".into(), new: "on".into(), description: format!("flag {name} on") }
}

/// An edit of configuration.
pub(super) fn edit(draw: &mut Stream) -> Words {
    let key = draw.pick(&KEYS).copied().unwrap_or_default();
    let (old, new) = (draw.between(10, 400).to_string(), draw.between(10, 400).to_string());
    let path = format!("config.{key}");
    Words { path, old, new, description: format!("set {key}") }
}

/// A migration of a database.
pub(super) fn migration(draw: &mut Stream) -> Words {
    let number = draw.between(20, 900);
    let said = draw.pick(&COMMITS).copied().unwrap_or_default();
    Words {
        path: "schema.version".into(),
        old: (number - 1).to_string(),
        new: number.to_string(),
        description: format!("migration {number}: {said}"),
    }
}

/// A harmless change of any form.
pub(super) fn any(draw: &mut Stream) -> Words {
    match draw.below(10) {
        0..6 => deploy(draw),
        6 | 7 => flag(draw),
        _ => edit(draw),
    }
}
