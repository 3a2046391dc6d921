//! How two investigations compare.

use eog::{Diagnosis, EntityId};
use eog_session::explanations;
use eog_session::store::InvestigationId;
use eog_session::travel::{self, Parted};
use schemars::JsonSchema;
use serde::Serialize;

use super::shorten;

/// How two investigations compare.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Compared {
    /// Whether the ledgers are equal.
    equal: bool,
    /// Settings that differ.
    settings: Vec<Setting>,
    /// Whether topology, window, alerts or places to start at differ.
    other_case: bool,
    /// How the ledgers compare, in words.
    parting: String,
    /// The entry at which they diverge, if they do.
    parting_entry: Option<u64>,
    /// What the first concluded.
    first: Concluded,
    /// What the second concluded.
    second: Concluded,
}

/// A setting that differs.
#[derive(Clone, Debug, Serialize, JsonSchema)]
struct Setting {
    /// Its name.
    name: String,
    /// Its value in the first, as JSON.
    first: String,
    /// Its value in the second, as JSON.
    second: String,
}

/// What an investigation concluded.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub(in crate::server) struct Concluded {
    /// Its id.
    investigation: String,
    /// How sure.
    confidence: String,
    /// The origins that explain an alert.
    origins: Vec<EntityId>,
}

impl Concluded {
    pub(in crate::server) fn new(id: &InvestigationId, diagnosis: &Diagnosis) -> Self {
        Self {
            investigation: id.to_string(),
            confidence: diagnosis.conclusion.confidence.to_string(),
            origins: diagnosis.causes().flat_map(|group| group.origins.clone()).collect(),
        }
    }

    pub(in crate::server) fn in_words(&self) -> String {
        let origins: Vec<&str> = self.origins.iter().map(EntityId::as_str).collect();
        let origins = if origins.is_empty() { "no origin".into() } else { origins.join(", ") };
        format!("{}: {origins} ({})", self.investigation, self.confidence)
    }
}

impl Compared {
    pub(in crate::server) fn new(
        difference: &travel::Compared,
        lines: &[explanations::Line],
        first: Concluded,
        second: Concluded,
    ) -> Self {
        let settings = difference.settings.iter().map(|setting| Setting {
            name: setting.name.clone(),
            first: shorten(&setting.first),
            second: shorten(&setting.second),
        });
        let lines: Vec<String> =
            lines.iter().map(|(lead, words)| format!("{lead}{words}")).collect();
        Self {
            equal: difference.equal,
            settings: settings.collect(),
            other_case: difference.other_case,
            parting: lines.join("\n"),
            parting_entry: match &difference.parting {
                Parted::At { seq, .. } => Some(*seq),
                _ => None,
            },
            first,
            second,
        }
    }

    pub(in crate::server) fn in_words(&self) -> String {
        let (first, second) = (self.first.in_words(), self.second.in_words());
        format!("{}\nfirst:  {first}\nsecond: {second}", self.parting)
    }
}
