//! The causal graph, for all drawings of it.

use std::collections::BTreeSet;
use std::fmt;

use eog_core::{Claim, Diagnosis, EntityId, Label};

use crate::tree::alerts;

/// Characters shown of the reason for an arrow; more would break the layout.
pub(crate) const MAX_LABEL: usize = 56;

/// The entities involved, and what explains what.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Graph<'d> {
    /// Every end of a live claim, every origin and every alerting entity, by name.
    pub nodes: Vec<Node<'d>>,
    /// One arrow for each cause and effect.
    pub arrows: Vec<Arrow<'d>>,
}

/// An entity of a drawing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Node<'d> {
    /// The entity.
    pub entity: &'d EntityId,
    /// Its role in the incident.
    pub role: Role,
    /// The alerts on it.
    pub alerts: Vec<&'d str>,
}

/// What explains what, in a drawing.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Arrow<'d> {
    /// The position of the cause among the nodes.
    pub from: usize,
    /// The position of the effect among the nodes.
    pub to: usize,
    /// The claim.
    pub claim: &'d Claim,
    /// Whether it leads away from a cause.
    pub is_causal: bool,
}

/// The role of an entity in an incident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// An origin that explains an alert.
    Cause,
    /// An origin that explains none.
    Origin,
    /// It shows what others cause.
    Symptom,
    /// Nothing is wrong with it.
    Healthy,
    /// It was deferred.
    Unclear,
    /// It was never judged.
    Unvisited,
}

impl Role {
    /// All of them.
    pub const ALL: [Self; 6] =
        [Self::Cause, Self::Origin, Self::Symptom, Self::Healthy, Self::Unclear, Self::Unvisited];

    /// The role of an entity.
    pub fn of(diagnosis: &Diagnosis, entity: &EntityId) -> Self {
        match diagnosis.belief(entity).map(|belief| belief.label) {
            _ if diagnosis.cause_of(entity).is_some() => Self::Cause,
            Some(Label::Origin) => Self::Origin,
            Some(Label::Symptom) => Self::Symptom,
            Some(Label::Healthy) => Self::Healthy,
            Some(Label::Defer) => Self::Unclear,
            None => Self::Unvisited,
        }
    }

    /// The colour of its background, such as `#f4b6b6`.
    pub fn fill(self) -> &'static str {
        match self {
            Self::Cause => "#f4b6b6",
            Self::Origin => "#f9dcc4",
            Self::Symptom => "#fdf0b5",
            Self::Healthy => "#cdeac0",
            Self::Unclear | Self::Unvisited => "#eeeeee",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Cause => "cause",
            Self::Origin => "origin",
            Self::Symptom => "symptom",
            Self::Healthy => "healthy",
            Self::Unclear => "unclear",
            Self::Unvisited => "unvisited",
        })
    }
}

impl<'d> Graph<'d> {
    /// The graph of a diagnosis.
    pub fn of(diagnosis: &'d Diagnosis) -> Self {
        let alerts = alerts(diagnosis);
        let entities = drawn(diagnosis);
        let node = |&entity: &&'d EntityId| Node {
            entity,
            role: Role::of(diagnosis, entity),
            alerts: alerts.get(entity).cloned().unwrap_or_default(),
        };
        let causal: BTreeSet<_> = diagnosis.causal.iter().map(Claim::edge).collect();
        // Every end of a claim is drawn.
        let position = |entity| entities.binary_search(&entity).unwrap_or_default();
        let mut claims: Vec<&Claim> = diagnosis.claims.iter().collect();
        claims.dedup_by_key(|claim| claim.edge());
        let arrow = |claim: &'d Claim| Arrow {
            from: position(&claim.cause),
            to: position(&claim.effect),
            claim,
            is_causal: causal.contains(&claim.edge()),
        };
        let arrows = claims.into_iter().map(arrow).collect();
        Self { nodes: entities.iter().map(node).collect(), arrows }
    }
}

fn drawn(diagnosis: &Diagnosis) -> Vec<&EntityId> {
    let claimed = diagnosis.claims.iter().flat_map(|claim| [&claim.cause, &claim.effect]);
    let origins = diagnosis.beliefs.iter().filter(|(_, belief)| belief.label == Label::Origin);
    let alerting = diagnosis.anomalies.iter().map(|anomaly| &anomaly.entity);
    let all: BTreeSet<&EntityId> =
        claimed.chain(origins.map(|(entity, _)| entity)).chain(alerting).collect();
    all.into_iter().collect()
}
