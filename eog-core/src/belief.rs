//! Beliefs, claims and the messages that carry them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::ids::{EntityId, EvidenceId};
use crate::incident::onset::Onset;

/// The explanatory role of an entity (paper §4.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Label {
    /// Operates normally within the window.
    Healthy,
    /// Degraded, but the evidence points to a cause elsewhere.
    Symptom,
    /// Has a citable change or failure of its own that explains the incident.
    Origin,
    /// Evidence is absent or not understood.
    Defer,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Healthy => "healthy",
            Self::Symptom => "symptom",
            Self::Origin => "origin",
            Self::Defer => "defer",
        })
    }
}

impl std::str::FromStr for Label {
    type Err = UnknownLabel;

    /// Reads a label as it is printed and stored, in upper or lower case.
    ///
    /// ```
    /// use eog_core::Label;
    /// assert_eq!(Label::Origin.to_string(), "origin");
    /// assert_eq!("origin".parse(), Ok(Label::Origin));
    /// assert_eq!("Defer".parse(), Ok(Label::Defer));
    /// assert!("cause".parse::<Label>().is_err());
    /// ```
    fn from_str(text: &str) -> Result<Self, UnknownLabel> {
        let all = [Self::Healthy, Self::Symptom, Self::Origin, Self::Defer];
        let named = all.into_iter().find(|label| text.eq_ignore_ascii_case(&label.to_string()));
        named.ok_or_else(|| UnknownLabel(text.chars().take(40).collect()))
    }
}

/// Text that is not a [`Label`].
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no label; there are origin, symptom, healthy and defer")]
pub struct UnknownLabel(String);

/// "`cause` explains `effect`, because `condition`, seen as `observed`."
///
/// Owned by the entity whose evaluation made it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Claim {
    /// The entity that explains.
    pub cause: EntityId,
    /// The entity that is explained.
    pub effect: EntityId,
    /// What state of the cause propagates.
    pub condition: String,
    /// How it shows on the effect.
    pub observed: String,
    /// The evidence, by id.
    pub evidence: Vec<EvidenceId>,
    /// Since when the cause shows the condition, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause_since: Option<Onset>,
    /// Since when the effect shows what was observed, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub effect_since: Option<Onset>,
    /// Which observations of the effect it explains; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explains: Option<Vec<Explained>>,
    /// Whether the cause is an outside system: no entity, but a name in the text of evidence that the claim cites. It counts
    /// as an origin while such a claim is live, and no policy is asked about it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// An observation that a claim or a belief accounts for: one onset of an anomaly.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Explained {
    /// The name of the anomaly.
    pub anomaly: String,
    /// When it became active: its first onset, or the one at which it was renewed.
    pub onset: Timestamp,
}

impl Claim {
    /// A claim without evidence and without times, which explains all observations of the effect.
    ///
    /// ```
    /// use eog_core::{Claim, EntityId};
    /// let (db, cart) = (EntityId::new("db")?, EntityId::new("cart")?);
    /// let claim = Claim::new(&db, &cart, "its disk is full", "calls to db fail");
    /// assert_eq!(claim.edge().cause, db);
    /// # Ok::<(), eog_core::InvalidId>(())
    /// ```
    pub fn new(
        cause: &EntityId,
        effect: &EntityId,
        condition: impl Into<String>,
        observed: impl Into<String>,
    ) -> Self {
        Self {
            cause: cause.clone(),
            effect: effect.clone(),
            condition: condition.into(),
            observed: observed.into(),
            evidence: Vec::new(),
            cause_since: None,
            effect_since: None,
            explains: None,
            outside: false,
        }
    }

    /// Says that the cause is an [outside](Self::outside) system.
    #[must_use]
    pub fn from_outside(self) -> Self {
        Self { outside: true, ..self }
    }

    /// Adds evidence, by id.
    #[must_use]
    pub fn citing_ids<'a>(mut self, ids: impl IntoIterator<Item = &'a EvidenceId>) -> Self {
        self.evidence.extend(ids.into_iter().cloned());
        self
    }

    /// The claim without its words: cause and effect.
    pub fn edge(&self) -> ClaimEdge {
        ClaimEdge { cause: self.cause.clone(), effect: self.effect.clone() }
    }
}

/// Cause and effect of a claim.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ClaimEdge {
    /// The entity that explains.
    pub cause: EntityId,
    /// The entity that is explained.
    pub effect: EntityId,
}

/// What is believed about one entity (paper §4.2: `B_v`).
///
/// Also the content of a message: a broadcast carries the whole belief.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Belief {
    /// The explanatory role.
    pub label: Label,
    /// One or two sentences for people and neighbours. Untrusted text.
    pub summary: String,
    /// The evidence the label rests on, by id.
    pub evidence: Vec<EvidenceId>,
    /// The entity's own live claims.
    pub claims: Vec<Claim>,
    /// Since when its harm is known to be there; for an origin, since when its condition holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<Onset>,
    /// Which of its own anomalies an origin explains; all of them if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub explains: Option<Vec<Explained>>,
    /// The rule that decided, if the policy uses named rules.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rule: Option<String>,
    /// The numbers behind it, if the policy weighs evidence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub measures: Option<Measures>,
}

/// The numbers that a policy that weighs evidence gives with its judgement. Messages carry them, so that
/// neighbours compute with them instead of reading texts; conclusions rank candidates by them.
///
/// Integers, so that they are the same on every platform.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measures {
    /// How strongly the evidence speaks for the entity as an origin: thousandths of natural log-odds.
    pub log_odds: i32,
    /// How much worse the entity does than usual: thousandths of the natural logarithm of the ratio, 0 where it does
    /// as well as usual.
    pub harm: i32,
    /// How strongly the evidence speaks for the origin that explains the entity, itself if it is one: its log-odds, less
    /// a cost for every hop on the way. `None` where no origin is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub origin: Option<i32>,
    /// What the entity shows speaks for these as its origin, by name: changes of them can have led to it. Log-odds in
    /// thousandths, like [`log_odds`](Self::log_odds).
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub handed: BTreeMap<EntityId, i32>,
    /// How much of what the entity shows its upstream neighbours account for, each in thousandths of the whole, by name.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub shares: BTreeMap<EntityId, u16>,
}

impl Measures {
    /// The probability in thousandths that the entity is the origin, rather than one that is not known: the logistic
    /// function of its log-odds. The exponential is computed in software: the same on every platform.
    ///
    /// ```
    /// use eog_core::Measures;
    /// let with = |log_odds| Measures { log_odds, ..Measures::default() }.probability();
    /// assert_eq!([-20_000, 0, 1_000, 20_000].map(with), [0, 500, 731, 1000]);
    /// ```
    pub fn probability(&self) -> u16 {
        (1e3 / (1.0 + libm::exp(f64::from(self.log_odds) / -1e3))).round() as u16
    }
}

impl Belief {
    /// A belief without evidence, claims and times.
    pub fn new(label: Label, summary: impl Into<String>) -> Self {
        Self {
            label,
            summary: summary.into(),
            evidence: Vec::new(),
            claims: Vec::new(),
            since: None,
            explains: None,
            rule: None,
            measures: None,
        }
    }

    /// What counts as the substance of a belief: its label and the edges of its own live claims.
    pub fn signature(&self) -> Signature {
        Signature { label: self.label, claims: self.claims.iter().map(Claim::edge).collect() }
    }

    /// Every id cited by the belief and its claims.
    pub fn cited(&self) -> BTreeSet<EvidenceId> {
        let claimed = self.claims.iter().flat_map(|claim| &claim.evidence);
        self.evidence.iter().chain(claimed).cloned().collect()
    }
}

/// Label and own live claim edges of a belief.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Signature {
    /// The label.
    pub label: Label,
    /// The edges of the live claims, without order or repeats.
    pub claims: BTreeSet<ClaimEdge>,
}

/// The latest belief of a neighbour, as it is in an inbox.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Message {
    /// The source of the statement.
    pub sender: EntityId,
    /// The sender's whole belief at the time of the broadcast.
    pub belief: Belief,
}
