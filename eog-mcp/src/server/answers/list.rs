//! The investigations of a server.

use eog_report::words::count;
use schemars::JsonSchema;
use serde::Serialize;

/// The investigations of a server, newest first.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Listed {
    /// The investigations of this page.
    pub(in crate::server) investigations: Vec<Summary>,
    /// How many there are on all pages.
    pub(in crate::server) total: usize,
    /// How many come before this page.
    pub(in crate::server) offset: usize,
    /// How many run at this moment.
    pub(in crate::server) running: usize,
    /// How many wait for their turn; they have no id yet.
    pub(in crate::server) waiting: usize,
}

/// One investigation in short.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Summary {
    /// Its id.
    pub(in crate::server) investigation: String,
    /// What the incident is called.
    pub(in crate::server) name: String,
    /// Its folder.
    pub(in crate::server) path: String,
    /// `running`, `finished`, or `interrupted` (`resume` goes on).
    pub(in crate::server) status: String,
    /// Why the last run ended, if it did.
    pub(in crate::server) stop: Option<String>,
    /// How sure the result is.
    pub(in crate::server) confidence: Option<String>,
    /// The origins that explain an alert.
    pub(in crate::server) origins: Vec<String>,
}

impl Listed {
    pub(in crate::server) fn in_words(&self) -> String {
        let Self { investigations, total, running, waiting, .. } = self;
        let verb = |count: usize, word: &str| match count {
            1 => format!("1 {word}s"),
            _ => format!("{count} {word}"),
        };
        let mut lines = vec![format!(
            "{}; {}, {}",
            count(*total, "investigation", "investigations"),
            verb(*running, "run"),
            verb(*waiting, "wait")
        )];
        if *running > *total
            || *running > 0 && investigations.iter().all(|it| it.status != "running")
        {
            lines.push("What runs and is not listed has not chosen where to begin yet.".to_owned());
        }
        for one in investigations {
            let found = if one.origins.is_empty() { "-".into() } else { one.origins.join(", ") };
            let Summary { investigation, name, path, status, .. } = one;
            let sure = one.confidence.as_deref().unwrap_or("-");
            lines.push(format!("{investigation}  {status}  {name} ({path})  {sure}: {found}"));
        }
        lines.join("\n")
    }
}
