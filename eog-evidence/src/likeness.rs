//! How alike incidents are, by typed observations of their causes: no text of the telemetry is compared.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::contract::Term;
use eog_core::evidence::Trend;
use eog_core::{Diagnosis, EntityId, EvidenceId, EvidenceKind, Finding};
use serde::{Deserialize, Serialize};

/// Less alike than this is not alike: by chance alone some observations are shared.
pub const MIN_LIKENESS: f64 = 0.5;

/// The name of the term that says how alike closed cases are. It is no observation itself.
pub(crate) const CLOSED_CASES: &str = "closed cases";

/// Most observations of one incident.
const MAX_OBSERVATIONS: usize = 200;

/// What observations of alerts begin with: they are of the incident, all others of the entity in question.
const ALERT: &str = "alert: ";

/// Among less incidents than this it does not count how common an observation is.
const MIN_INCIDENTS: usize = 5;

/// What was observed in an incident, with the weight of each, in thousandths: the signals of its alerts, and of the entities
/// in question what their evidence says by kind, signal, direction and unit, and by the terms that were weighed.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Observations(BTreeMap<String, u16>);

impl Observations {
    /// Those of a diagnosis, of whom it names, or of these entities if there are any.
    pub fn of(diagnosis: &Diagnosis, causes: &BTreeSet<EntityId>) -> Self {
        let judged = |entity: &&EntityId| diagnosis.belief(entity).is_some();
        let mut suspects: Vec<&EntityId> = causes.iter().filter(judged).collect();
        if suspects.is_empty() {
            suspects = diagnosis.choice().into_iter().collect();
        }
        let mut seen = Self::default();
        for alert in &diagnosis.anomalies {
            seen.0.insert(format!("{ALERT}{}", word(&alert.signal)), 1_000);
        }
        for suspect in suspects {
            let own = diagnosis.findings.values().filter(|finding| finding.entity == *suspect);
            let cited = diagnosis.belief(suspect).map(|belief| diagnosis.cited(belief));
            let cited = cited.unwrap_or_default().into_iter().map(|finding| finding.id().clone());
            let terms = diagnosis.terms.get(suspect).map(Vec::as_slice).unwrap_or_default();
            seen.add(own, &cited.collect::<Vec<_>>(), terms);
        }
        seen.bounded()
    }

    /// Those of one entity: its findings, those that it would be cited with, and the terms that were weighed.
    pub(crate) fn of_entity<'f>(
        findings: impl IntoIterator<Item = &'f Finding>,
        cited: &[EvidenceId],
        terms: &[Term],
    ) -> Self {
        let mut seen = Self::default();
        seen.add(findings, cited, terms);
        seen.bounded()
    }

    /// Those of the entities in question, without the alerts of the incident.
    #[must_use]
    pub fn without_alerts(mut self) -> Self {
        self.0.retain(|name, _| !name.starts_with(ALERT));
        self
    }

    /// The observations with their weights, in the order of names.
    pub fn iter(&self) -> impl Iterator<Item = (&str, u16)> {
        self.0.iter().map(|(name, weight)| (name.as_str(), *weight))
    }

    fn add<'f>(
        &mut self,
        findings: impl IntoIterator<Item = &'f Finding>,
        cited: &[EvidenceId],
        terms: &[Term],
    ) {
        for finding in findings.into_iter().filter(|finding| says_something(finding)) {
            let weight = if cited.contains(finding.id()) { 1_000 } else { 500 };
            self.raise(name_of(finding), weight);
        }
        for term in terms.iter().filter(|term| term.log_odds > 0 && term.name != CLOSED_CASES) {
            self.raise(format!("term: {}", term.name), term.log_odds.min(1_000) as u16);
        }
    }

    fn raise(&mut self, name: String, weight: u16) {
        let known = self.0.entry(name).or_insert(0);
        *known = weight.max(*known);
    }

    fn bounded(self) -> Self {
        Self(self.0.into_iter().take(MAX_OBSERVATIONS).collect())
    }
}

/// From names with weights in thousandths.
impl<N: Into<String>> FromIterator<(N, u16)> for Observations {
    fn from_iter<I: IntoIterator<Item = (N, u16)>>(all: I) -> Self {
        Self(all.into_iter().map(|(name, weight)| (name.into(), weight)).collect())
    }
}

/// Whether a finding tells one kind of fault from another: not what is as usual, and not what eog derives itself.
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

/// How rare observations are among incidents: the logarithm of the number of incidents over that of those that have it
/// (inverse document frequency, Spärck Jones 1972).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Rarity {
    incidents: usize,
    with: BTreeMap<String, usize>,
}

impl Rarity {
    /// That among these incidents.
    pub fn of<'o>(incidents: impl IntoIterator<Item = &'o Observations>) -> Self {
        let mut rarity = Self::default();
        for incident in incidents {
            rarity.incidents += 1;
            for name in incident.0.keys() {
                match rarity.with.get_mut(name) {
                    Some(count) => *count += 1,
                    None => {
                        rarity.with.insert(name.clone(), 1);
                    }
                }
            }
        }
        rarity
    }

    /// How alike two incidents are, from 0 to 1: the cosine of their observations, each by its weight and rarity. With the
    /// observations that they share, the most telling first.
    pub fn compare<'o>(&self, one: &'o Observations, other: &Observations) -> (f64, Vec<&'o str>) {
        let mut shared: Vec<(f64, &str)> = Vec::new();
        for (name, weight) in &one.0 {
            if let Some(others) = other.0.get(name) {
                shared.push((self.weighed(name, *weight) * self.weighed(name, *others), name));
            }
        }
        let product: f64 = shared.iter().map(|(product, _)| product).sum();
        let lengths = self.length(one) * self.length(other);
        shared.sort_by(|a, b| b.0.total_cmp(&a.0).then_with(|| a.1.cmp(b.1)));
        let likeness = if lengths > 0.0 { product / lengths } else { 0.0 };
        (likeness, shared.into_iter().map(|(_, name)| name).collect())
    }

    fn length(&self, all: &Observations) -> f64 {
        let weights = all.0.iter().map(|(name, weight)| self.weighed(name, *weight));
        weights.map(|weight| weight * weight).sum::<f64>().sqrt()
    }

    fn weighed(&self, name: &str, weight: u16) -> f64 {
        let with = self.with.get(name).copied().unwrap_or(0);
        let rarity = match self.incidents < MIN_INCIDENTS {
            true => 1.0,
            false => libm::log((1 + self.incidents) as f64 / (1 + with) as f64).max(0.05),
        };
        f64::from(weight) / 1e3 * rarity
    }
}
