//! The nearest cases of an investigation, by typed observations: no text of the telemetry is compared.

use std::collections::{BTreeMap, BTreeSet};

use eog::evidence::Trend;
use eog::{Diagnosis, EntityId, EvidenceKind, Finding};
use eog_report::SimilarCase;
use eog_session::controllers::AnyLedger;
use serde::{Deserialize, Serialize};

use crate::close::digits_of;
use crate::error::CaseError;
use crate::folder::CaseFolder;
use crate::index::Row;

/// Cases less alike than this are not shown: by chance alone some observations are shared.
const MIN_LIKENESS: f64 = 0.5;

/// Most observations of one incident.
const MAX_OBSERVATIONS: usize = 200;

/// Most shared observations that are named.
const MAX_SHARED: usize = 4;

/// Incidents with less than this many cases are compared without regard to how common an observation is.
const MIN_CASES: usize = 5;

/// What was observed in an incident, with the weight of each, in thousandths: the signals of its alerts, and of the entities
/// in question what their evidence says by kind, signal, direction and unit, and by the terms that were weighed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Observations(BTreeMap<String, u16>);

impl Observations {
    /// Those of the entities that a diagnosis names, or of these entities if there are any.
    pub fn of(diagnosis: &Diagnosis, causes: &BTreeSet<EntityId>) -> Self {
        let judged = |entity: &&EntityId| diagnosis.belief(entity).is_some();
        let mut suspects: Vec<&EntityId> = causes.iter().filter(judged).collect();
        if suspects.is_empty() {
            suspects = diagnosis.choice().into_iter().collect();
        }
        let mut seen = BTreeMap::new();
        for alert in &diagnosis.anomalies {
            seen.insert(format!("alert: {}", word(&alert.signal)), 1_000);
        }
        for suspect in suspects {
            let cited = diagnosis.belief(suspect).map(|belief| diagnosis.cited(belief));
            let cited: BTreeSet<_> =
                cited.unwrap_or_default().into_iter().map(|finding| finding.id().clone()).collect();
            let own = diagnosis.findings.values().filter(|finding| finding.entity == *suspect);
            for finding in own.filter(|finding| says_something(finding)) {
                let weight = if cited.contains(finding.id()) { 1_000 } else { 500 };
                let known = seen.entry(name_of(finding)).or_insert(0);
                *known = weight.max(*known);
            }
            let terms = diagnosis.terms.get(suspect).into_iter().flatten();
            for term in terms.filter(|term| term.log_odds > 0) {
                let weight = term.log_odds.min(1_000) as u16;
                let known = seen.entry(format!("term: {}", term.name)).or_insert(0);
                *known = weight.max(*known);
            }
        }
        Self(seen.into_iter().take(MAX_OBSERVATIONS).collect())
    }
}

/// Whether a finding distinguishes kinds of faults: neither normal behaviour nor derived by eog itself.
fn says_something(finding: &Finding) -> bool {
    match finding.kind {
        EvidenceKind::Note | EvidenceKind::Alert => false,
        EvidenceKind::Change | EvidenceKind::Event => true,
        EvidenceKind::Metric | EvidenceKind::Span | EvidenceKind::Log => {
            finding.trend != Trend::Steady
        }
    }
}

/// Such as `metric: latency rising (ms)`.
fn name_of(finding: &Finding) -> String {
    let mut name = format!("{}: {}", finding.kind.name(), word(&finding.signal));
    if finding.trend != Trend::Steady {
        name = format!("{name} {}", word(&finding.trend));
    }
    match &finding.quantity {
        Some(quantity) if !quantity.unit.is_empty() => format!("{name} ({})", quantity.unit),
        _ => name,
    }
}

/// An enumeration as it stands in JSON.
fn word(value: &impl Serialize) -> String {
    let value = serde_json::to_value(value).unwrap_or_default();
    value.as_str().unwrap_or_default().to_owned()
}

/// The cases of a folder that are most like an investigation, at most `most`. Where it was closed itself, its own case is none
/// of them.
///
/// # Errors
/// [`CaseError::File`] when the folder cannot be read.
pub fn cases_like(
    folder: &CaseFolder,
    ledger: &AnyLedger,
    diagnosis: &Diagnosis,
    most: usize,
) -> Result<Vec<SimilarCase>, CaseError> {
    let own = digits_of(ledger);
    let mut rows = folder.list()?.rows;
    rows.retain(|row| row.name.rsplit('-').next() != Some(own.as_str()));
    Ok(nearest(&Observations::of(diagnosis, &BTreeSet::new()), &rows, most))
}

/// The cases most like what was observed, at most `most`.
pub(crate) fn nearest(seen: &Observations, cases: &[Row], most: usize) -> Vec<SimilarCase> {
    let rarity = Rarity::of(cases);
    let length = |all: &Observations| -> f64 {
        let squares = all.0.iter().map(|(name, weight)| rarity.weighed(name, *weight).powi(2));
        squares.sum::<f64>().sqrt()
    };
    let own = length(seen);
    let mut found: Vec<SimilarCase> = Vec::new();
    for case in cases {
        let mut shared: Vec<(f64, &str)> = Vec::new();
        for (name, weight) in &seen.0 {
            if let Some(other) = case.observations.0.get(name) {
                let product = rarity.weighed(name, *weight) * rarity.weighed(name, *other);
                shared.push((product, name));
            }
        }
        let product: f64 = shared.iter().map(|(product, _)| product).sum();
        let lengths = own * length(&case.observations);
        let likeness = if lengths > 0.0 { product / lengths } else { 0.0 };
        if likeness >= MIN_LIKENESS {
            shared.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
            let shared = shared.iter().take(MAX_SHARED).map(|(_, name)| (*name).to_owned());
            let (case, truth) = (case.name.clone(), case.truth.clone());
            found.push(SimilarCase { case, likeness, shared: shared.collect(), truth });
        }
    }
    found.sort_by(|a, b| b.likeness.total_cmp(&a.likeness).then_with(|| a.case.cmp(&b.case)));
    found.truncate(most);
    found
}

/// How rare observations are among cases: the logarithm of their number over those that have it (inverse document
/// frequency, Spärck Jones 1972).
struct Rarity<'c> {
    cases: usize,
    with: BTreeMap<&'c str, usize>,
}

impl<'c> Rarity<'c> {
    fn of(cases: &'c [Row]) -> Self {
        let mut with = BTreeMap::new();
        for name in cases.iter().flat_map(|case| case.observations.0.keys()) {
            *with.entry(name.as_str()).or_insert(0) += 1;
        }
        Self { cases: cases.len(), with }
    }

    fn weighed(&self, name: &str, weight: u16) -> f64 {
        let with = self.with.get(name).copied().unwrap_or(0);
        let rarity = match self.cases < MIN_CASES {
            true => 1.0,
            false => ((1 + self.cases) as f64 / (1 + with) as f64).ln().max(0.05),
        };
        f64::from(weight) / 1e3 * rarity
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::case::ClosedCase;
    use crate::folder::tests::case;

    fn observed(text: &str) -> Observations {
        Observations(text.split_whitespace().map(|word| (word.to_owned(), 1_000)).collect())
    }

    fn row(name: &str, seen: &str) -> Row {
        Row::of(&ClosedCase { observations: observed(seen), ..case(name) })
    }

    #[test]
    fn the_nearest_share_what_is_rare() {
        let rows = [
            row("a", "latency oom"),
            row("b", "latency disk"),
            row("c", "latency"),
            row("d", "latency"),
            row("e", "errors"),
            row("f", "latency"),
        ];
        let found = nearest(&observed("latency oom"), &rows, 2);
        let names: Vec<&str> = found.iter().map(|it| it.case.as_str()).collect();
        assert_eq!(names, ["a"], "what nearly all have makes no two alike");
        assert!((found[0].likeness - 1.0).abs() < 1e-9);
        assert_eq!(found[0].shared, ["oom", "latency"]);
        assert!(nearest(&observed("latency oom"), &rows[1..], 2).is_empty());
        assert!(nearest(&Observations::default(), &rows, 2).is_empty());
    }
}
