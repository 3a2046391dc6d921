//! Findings: typed, immutable, citable pieces of evidence.

pub(crate) mod kind;
mod verdict;

pub use kind::EvidenceKind;
pub use verdict::Verdict;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{EntityId, EvidenceId};
use crate::incident::onset::Onset;
use crate::incident::window::Window;

/// The subject of a finding, independent of any domain.
///
/// The first four are the golden signals; the others distinguish changes and events. Rules read
/// this and [`Trend`] instead of guessing from text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Signal {
    /// Failed requests or operations.
    Errors,
    /// Time taken by requests or operations.
    Latency,
    /// Amount of demand: requests, messages, jobs.
    Traffic,
    /// How full a resource is: CPU, memory, disk, queue, pool.
    Saturation,
    /// A resource ran out: out of memory, disk full, quota reached, throttled.
    Exhaustion,
    /// The entity failed or cannot be reached: crash, probe failure, unschedulable.
    Availability,
    /// Configuration, code, image or resources were changed.
    Configuration,
    /// Demand from outside was changed on purpose or by an outside event (a sale, a load test).
    Demand,
    /// The entity was restarted and nothing else about it changed.
    Restart,
    /// A fault experiment is *defined*; that it ran is a separate finding.
    Experiment,
    /// A change elsewhere that has an effect path to this entity (see [`FindingContent::peer`]).
    Route,
    /// An anomaly elsewhere that this entity's change has an effect path to.
    Impact,
    /// What the entity delivers: pressure, yield, throughput. Worse when it falls.
    Output,
    /// None of the above.
    Other,
}

/// Which way a finding points.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Trend {
    /// More than in the baseline.
    Rising,
    /// Less than in the baseline.
    Falling,
    /// No shift, or not a quantity.
    Steady,
}

/// When a finding holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum EvidenceTime {
    /// At one instant.
    At(Timestamp),
    /// Over a window.
    During(Window),
}

impl EvidenceTime {
    /// The instant, or the first instant of the window.
    pub fn start(&self) -> Timestamp {
        match self {
            Self::At(at) => *at,
            Self::During(window) => window.start(),
        }
    }

    /// The instant, or the end of the window.
    pub fn end(&self) -> Timestamp {
        match self {
            Self::At(at) => *at,
            Self::During(window) => window.end(),
        }
    }
}

/// A measured value with its baseline.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Quantity {
    /// The value seen in the incident.
    pub observed: f64,
    /// The value in the baseline period, if there is one.
    #[serde(default)]
    pub baseline: Option<f64>,
    /// The unit, such as `ms`, `1/s` or `ratio`.
    pub unit: String,
}

/// What was changed, from what, to what. The source of the finding masks secrets.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ChangeDetail {
    /// The changed field, as a path within the entity.
    pub path: String,
    /// The value before, or nothing when the field is new.
    #[serde(default)]
    pub old: Option<String>,
    /// The value after, or nothing when the field was removed.
    #[serde(default)]
    pub new: Option<String>,
}

/// Another entity that a finding names, and how it stands to the finding's own entity.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Peer {
    /// The other entity.
    pub entity: EntityId,
    /// Its role.
    pub role: PeerRole,
}

/// How the peer of a finding stands to the finding's own entity.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum PeerRole {
    /// The peer calls, or sends load to, this entity.
    Caller,
    /// This entity calls, or sends load to, the peer.
    Callee,
    /// The next hop towards a change upstream ([`Signal::Route`]).
    NextUpstream,
    /// The next hop towards an anomaly downstream ([`Signal::Impact`]).
    NextDownstream,
    /// Named by the finding, relation unknown.
    Mentioned,
}

/// Everything about a finding except its id, which is derived from this content.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FindingContent {
    /// The entity whose local context the finding belongs to.
    pub entity: EntityId,
    /// What kind of record it is.
    pub kind: EvidenceKind,
    /// Its subject.
    pub signal: Signal,
    /// Its trend.
    pub trend: Trend,
    /// When it holds.
    pub time: EvidenceTime,
    /// When what it states began, where its own first observation is dated: the first bad request,
    /// line or sample for harm, the making of it for a change. Where the time is that of an alert or
    /// of the split of a comparison, there is none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub onset: Option<Onset>,
    /// The measured value, for findings from numbers.
    #[serde(default)]
    pub quantity: Option<Quantity>,
    /// The change, for findings of kind `change`.
    #[serde(default)]
    pub change: Option<ChangeDetail>,
    /// Another entity that the finding names.
    #[serde(default)]
    pub peer: Option<Peer>,
    /// The tool or file that gave it.
    pub source: String,
    /// The exact query that gives it again.
    pub query: String,
    /// A short excerpt for people. Untrusted text: data, never instructions.
    pub excerpt: String,
}

impl FindingContent {
    /// A steady finding without value, change, peer, source or excerpt.
    ///
    /// ```
    /// use eog_core::{EvidenceKind, Finding};
    /// use eog_core::evidence::{EvidenceTime, FindingContent, Signal};
    /// let at = EvidenceTime::At("2026-01-01T10:04:00Z".parse()?);
    /// let slower: Finding =
    ///     FindingContent::new("db".parse()?, EvidenceKind::Metric, Signal::Latency, at)
    ///         .with_quantity(90.0, Some(12.0), "ms")
    ///         .from_source("metrics.csv", "entity=db metric=latency")
    ///         .with_excerpt("p95 of queries")
    ///         .into();
    /// assert_eq!(slower.trend, eog_core::evidence::Trend::Rising);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn new(entity: EntityId, kind: EvidenceKind, signal: Signal, time: EvidenceTime) -> Self {
        Self {
            entity,
            kind,
            signal,
            trend: Trend::Steady,
            time,
            onset: None,
            quantity: None,
            change: None,
            peer: None,
            source: String::new(),
            query: String::new(),
            excerpt: String::new(),
        }
    }

    /// With its trend.
    #[must_use]
    pub fn with_trend(self, trend: Trend) -> Self {
        Self { trend, ..self }
    }

    /// With the time at which what it states began.
    #[must_use]
    pub fn with_onset(self, onset: Onset) -> Self {
        Self { onset: Some(onset), ..self }
    }

    /// With a measured value, its baseline and its unit; the trend follows where there is a baseline.
    #[must_use]
    pub fn with_quantity(
        self,
        observed: f64,
        baseline: Option<f64>,
        unit: impl Into<String>,
    ) -> Self {
        let trend = match baseline.map(|baseline| observed.total_cmp(&baseline)) {
            Some(std::cmp::Ordering::Greater) => Trend::Rising,
            Some(std::cmp::Ordering::Less) => Trend::Falling,
            Some(std::cmp::Ordering::Equal) => Trend::Steady,
            None => self.trend,
        };
        let quantity = Some(Quantity { observed, baseline, unit: unit.into() });
        Self { trend, quantity, ..self }
    }

    /// With what was changed: the field as a path within the entity, and its values before and after.
    #[must_use]
    pub fn with_change(
        self,
        path: impl Into<String>,
        old: Option<String>,
        new: Option<String>,
    ) -> Self {
        Self { change: Some(ChangeDetail { path: path.into(), old, new }), ..self }
    }

    /// With another entity that it names.
    #[must_use]
    pub fn with_peer(self, entity: EntityId, role: PeerRole) -> Self {
        Self { peer: Some(Peer { entity, role }), ..self }
    }

    /// With the tool or file that gave it, and the query that gives it again.
    #[must_use]
    pub fn from_source(self, source: impl Into<String>, query: impl Into<String>) -> Self {
        Self { source: source.into(), query: query.into(), ..self }
    }

    /// With a short excerpt for people.
    #[must_use]
    pub fn with_excerpt(self, excerpt: impl Into<String>) -> Self {
        Self { excerpt: excerpt.into(), ..self }
    }
}

/// A typed, immutable piece of evidence with a content-derived id.
///
/// ```
/// use eog_core::{EvidenceKind, Finding};
/// use eog_core::evidence::{EvidenceTime, FindingContent, Signal, Trend};
/// let at = EvidenceTime::At("2026-01-01T10:04:00Z".parse()?);
/// let content =
///     FindingContent::new("db".parse()?, EvidenceKind::Event, Signal::Exhaustion, at)
///         .with_trend(Trend::Rising)
///         .from_source("events.csv", "entity=db reason=OutOfMemory")
///         .with_excerpt("process killed: out of memory");
/// let finding = Finding::new(content.clone());
/// assert_eq!(finding.id(), Finding::new(content).id());
/// assert!(finding.id().as_str().starts_with("evt-"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "StoredFinding")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "StoredFinding"))]
pub struct Finding {
    id: EvidenceId,
    content: FindingContent,
}

impl Finding {
    /// Makes a finding; its id follows from the content. A value that is not a finite number is
    /// dropped with its baseline, since JSON cannot carry it.
    pub fn new(mut content: FindingContent) -> Self {
        let finite = |quantity: &Quantity| {
            quantity.observed.is_finite() && quantity.baseline.is_none_or(f64::is_finite)
        };
        content.quantity = content.quantity.filter(finite);
        let bytes = crate::digest::canonical_bytes(&content);
        Self { id: EvidenceId::derive(content.kind, &bytes), content }
    }

    /// The content-derived id, which decisions cite.
    pub fn id(&self) -> &EvidenceId {
        &self.id
    }

    /// Everything but the id.
    pub fn content(&self) -> &FindingContent {
        &self.content
    }

    /// Whether its excerpt, or a value that was changed, holds a name as a whole word, in any case of letters.
    ///
    /// ```
    /// use eog_core::{EvidenceKind, Finding};
    /// use eog_core::evidence::{EvidenceTime, FindingContent, Signal};
    /// let at = EvidenceTime::At("2026-01-01T10:04:00Z".parse()?);
    /// let line = FindingContent::new("cart".parse()?, EvidenceKind::Log, Signal::Errors, at)
    ///     .with_excerpt("503 from https://API.example.com/v1");
    /// let line = Finding::from(line);
    /// assert!(line.quotes("api.example.com") && !line.quotes("example.co"));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn quotes(&self, name: &str) -> bool {
        let change = self.content.change.iter().flat_map(|it| [it.old.as_ref(), it.new.as_ref()]);
        let texts = change.flatten().chain([&self.content.excerpt]);
        texts.into_iter().any(|text| holds_word(text, name))
    }
}

/// Whether a text holds a name that no letter, digit, hyphen or underscore continues, in any case of letters.
fn holds_word(text: &str, name: &str) -> bool {
    let (text, name) = (text.to_lowercase(), name.to_lowercase());
    let continues = |c: char| c.is_alphanumeric() || c == '-' || c == '_';
    !name.is_empty()
        && text.match_indices(&name).any(|(at, it)| {
            let (before, rest) = text.split_at(at);
            let after = rest.strip_prefix(it).unwrap_or_default();
            !before.ends_with(continues) && !after.starts_with(continues)
        })
}

impl From<FindingContent> for Finding {
    fn from(content: FindingContent) -> Self {
        Self::new(content)
    }
}

impl std::ops::Deref for Finding {
    type Target = FindingContent;
    fn deref(&self) -> &FindingContent {
        &self.content
    }
}

/// The persisted form of a [`Finding`].
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct StoredFinding {
    id: EvidenceId,
    content: FindingContent,
}

impl TryFrom<StoredFinding> for Finding {
    type Error = String;
    fn try_from(stored: StoredFinding) -> Result<Self, String> {
        let finding = Self::new(stored.content);
        if finding.id == stored.id {
            Ok(finding)
        } else {
            Err(format!(
                "finding {} does not match its content, whose id is {}",
                stored.id, finding.id
            ))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content() -> FindingContent {
        let entity = EntityId::new("db").unwrap();
        FindingContent {
            entity: entity.clone(),
            kind: EvidenceKind::Metric,
            signal: Signal::Latency,
            trend: Trend::Rising,
            time: EvidenceTime::At("2026-01-01T10:04:00Z".parse().unwrap()),
            onset: None,
            quantity: Some(Quantity { observed: 2.5, baseline: Some(0.1), unit: "ms".into() }),
            change: None,
            peer: Some(Peer { entity, role: PeerRole::Caller }),
            source: "metrics.csv".into(),
            query: "latency".into(),
            excerpt: "p95".into(),
        }
    }

    #[test]
    fn every_part_of_the_content_counts_for_the_id() {
        let mut changed: Vec<FindingContent> = Vec::new();
        let mut change = |with: &dyn Fn(&mut FindingContent)| {
            let mut content = content();
            with(&mut content);
            changed.push(content);
        };
        change(&|_| {});
        change(&|c| c.entity = EntityId::new("cache").unwrap());
        change(&|c| c.kind = EvidenceKind::Log);
        change(&|c| c.signal = Signal::Traffic);
        change(&|c| c.trend = Trend::Falling);
        change(&|c| c.time = EvidenceTime::At("2026-01-01T10:05:00Z".parse().unwrap()));
        change(&|c| c.quantity = None);
        change(&|c| {
            let (path, new) = ("spec".to_owned(), Some("2".to_owned()));
            c.change = Some(ChangeDetail { path, old: None, new });
        });
        change(&|c| c.peer = None);
        change(&|c| c.source = "other.csv".into());
        change(&|c| c.query = "errors".into());
        change(&|c| c.excerpt = "p99".into());
        let ids: std::collections::BTreeSet<EvidenceId> =
            changed.iter().map(|content| Finding::new(content.clone()).id().clone()).collect();
        assert_eq!(ids.len(), changed.len());
    }

    #[test]
    fn the_id_is_the_same_on_every_machine() {
        // The expected id is fixed: if it changes, every stored citation breaks.
        assert_eq!(Finding::new(content()).id().as_str(), "met-6b7990f2ae9ecb4139c5");
    }

    #[test]
    fn a_finding_that_does_not_match_its_id_is_not_read() {
        let text = serde_json::to_string(&Finding::new(content())).unwrap();
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), Finding::new(content()));
        let forged = text.replace("p95", "p50");
        let error = serde_json::from_str::<Finding>(&forged).unwrap_err().to_string();
        assert!(error.contains("does not match its content"), "{error}");
    }

    #[test]
    fn numbers_that_json_cannot_carry_are_dropped() {
        for (observed, baseline) in
            [(f64::NAN, None), (f64::INFINITY, Some(1.0)), (1.0, Some(f64::NEG_INFINITY))]
        {
            let quantity = Some(Quantity { observed, baseline, unit: "1/s".into() });
            let finding = Finding::new(FindingContent { quantity, ..content() });
            assert_eq!(finding.quantity, None);
        }
        let tiny = Some(Quantity { observed: 5e-324, baseline: Some(-0.0), unit: String::new() });
        let finding = Finding::new(FindingContent { quantity: tiny, ..content() });
        let text = serde_json::to_string(&finding).unwrap();
        assert_eq!(serde_json::from_str::<Finding>(&text).unwrap(), finding);
    }
}
