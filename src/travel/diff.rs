//! Where two runs part.

use std::collections::BTreeMap;
use std::sync::Arc;

use eog_core::controller::EntryBody;
use eog_core::ledger::{Body, Opening};
use eog_core::{Entry, Ledger};
use serde_json::Value;

/// How two ledgers compare.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference<B = EntryBody> {
    /// Settings in which the two inputs differ.
    pub settings: Vec<ChangedSetting>,
    /// Whether the two cases (topology, window, alerts, seeds) differ.
    pub other_case: bool,
    /// Where the courses part; inputs are compared above.
    pub parting: Parting<B>,
}

/// A setting of the controller that differs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedSetting {
    /// Its name.
    pub name: String,
    /// Its value in the first run, as JSON.
    pub first: String,
    /// Its value in the second run, as JSON.
    pub second: String,
}

/// Where the courses of two runs part.
#[derive(Clone, Debug, PartialEq)]
pub enum Parting<B = EntryBody> {
    /// Nowhere.
    Never,
    /// One ends where the other goes on.
    OneGoesOn {
        /// How many entries they share, the input included.
        shared: u64,
        /// Whether it is the first.
        first: bool,
    },
    /// At an entry.
    At {
        /// That entry in the first ledger.
        first: Arc<Entry<B>>,
        /// That entry in the second ledger.
        second: Arc<Entry<B>>,
    },
}

impl<B: Body> Difference<B> {
    /// Whether the ledgers are equal.
    pub fn is_none(&self) -> bool {
        self.settings.is_empty() && !self.other_case && self.parting == Parting::Never
    }
}

/// Compares two ledgers: their inputs, then entry by entry what happened.
pub fn diff<B: Body>(first: &Ledger<B>, second: &Ledger<B>) -> Difference<B> {
    let (a, b) = (first.entries(), second.entries());
    let (settings, other_case) = match (first.opening(), second.opening()) {
        (Some(a), Some(b)) => (settings(&a, &b), a.case != b.case),
        _ => (Vec::new(), a.is_empty() != b.is_empty()),
    };
    // Hashes differ from the first difference on; the bodies show whether the courses do.
    let mut courses = a.iter().zip(b).skip(1);
    let parting = match courses.find(|(a, b)| a.body != b.body) {
        Some((a, b)) => Parting::At { first: Arc::clone(a), second: Arc::clone(b) },
        None if a.len() == b.len() => Parting::Never,
        None => {
            let shared = a.len().min(b.len()) as u64;
            Parting::OneGoesOn { shared, first: a.len() > b.len() }
        }
    };
    Difference { settings, other_case, parting }
}

fn settings(a: &Opening<'_>, b: &Opening<'_>) -> Vec<ChangedSetting> {
    let fields = |opening: &Opening<'_>| {
        let mut fields: BTreeMap<String, Value> = match opening.settings() {
            Value::Object(fields) => fields.into_iter().collect(),
            _ => BTreeMap::new(),
        };
        // The name of the policy is compared like any other setting, where a ledger has it.
        fields.extend(opening.policy.map(|policy| ("policy".to_owned(), policy.into())));
        fields
    };
    let (a, b) = (fields(a), fields(b));
    // A setting may be absent from either, such as the policy.
    let names = a.keys().chain(b.keys().filter(|name| !a.contains_key(*name)));
    let differing = names.filter(|name| a.get(*name) != b.get(*name));
    let value = |value: Option<&Value>| {
        value.map_or_else(|| "not recorded".to_owned(), ToString::to_string)
    };
    differing
        .map(|name| ChangedSetting {
            name: name.clone(),
            first: value(a.get(name)),
            second: value(b.get(name)),
        })
        .collect()
}
