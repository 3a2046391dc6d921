//! What was considered and is not named: changes on record, and entities with severe evidence.

use std::collections::BTreeSet;

use serde::Serialize;

use super::Diagnosis;
use crate::belief::Label;
use crate::contract::packet::Alternative;
use crate::evidence::{EvidenceKind, Signal, Trend};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::{ChangeRecord, RecordedChange};
use crate::incident::onset::Onset;

/// A change on record that was in time and in reach of an anomaly, and is not named as a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ConsideredChange {
    /// What was changed, when, and how.
    pub change: RecordedChange,
    /// Why it was ruled out.
    pub reason: RuledOut,
}

/// Why a change on record is not named as a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RuledOut {
    /// It was made after the harm began.
    AfterHarm {
        /// Where the harm was measured.
        entity: EntityId,
        /// When it began.
        harm: Onset,
    },
    /// Another change of the same entity fits the onset better.
    AnotherFits {
        /// The finding that states it.
        change: EvidenceId,
    },
    /// Its entity is named, and it fits the onset as well as the change that is cited: which of the two it was is open.
    FitsAsWell,
    /// Its entity was never evaluated.
    NeverLookedAt,
    /// It was weighed for its entity, and another explanation was chosen.
    Lost {
        /// The rule that proposed it, if it has a name.
        rule: Option<String>,
        /// Why it was rejected. Untrusted text.
        why: String,
    },
    /// Its entity is named as a cause for other evidence, and cites no change.
    Uncited,
    /// Its entity is an origin that another origin explains.
    Derived,
    /// Its entity is an origin whose judgement changed too often to be settled, and another origin explains an alert.
    ChangedTooOften,
    /// Its entity is an origin, and others with stronger evidence explain the same.
    Outweighed,
    /// Its entity is an origin whose effects reach no anomaly.
    ReachesNothing,
    /// Its entity was judged to be something else.
    Judged {
        /// The label.
        label: Label,
        /// Why. Untrusted text.
        summary: String,
    },
}

/// An entity whose evidence was severe and is not named as a cause.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Unnamed {
    /// The entity.
    pub entity: EntityId,
    /// What it was judged to be.
    pub label: Label,
    /// The rule that decided, if it has a name.
    pub rule: Option<String>,
    /// Why. Untrusted text.
    pub summary: String,
    /// The explanations by an origin here that were weighed and rejected, best first.
    pub lost: Vec<Alternative>,
}

/// Every change of the record that was in time and in reach and is not named, in the order of the
/// record.
///
/// *In time* is a change that can have been made before an anomaly's last onset; *in reach*, one from
/// whose entity that anomaly is reached over declared directions of effects and live claims. The
/// first reason that holds is given, in the order of [`RuledOut`].
pub(super) fn changes(diagnosis: &Diagnosis, record: &ChangeRecord) -> Vec<ConsideredChange> {
    let reach: Vec<(Onset, BTreeSet<EntityId>)> = diagnosis
        .anomalies
        .iter()
        .filter_map(|it| Some((Onset::at(it.onsets().max()?), upstream(diagnosis, &it.entity))))
        .collect();
    let mut considered = Vec::new();
    for change in &record.changes {
        let concerns = |(last, reach): &(Onset, BTreeSet<EntityId>)| {
            change.made.can_precede(last) && reach.contains(&change.entity)
        };
        if !reach.iter().any(concerns) || is_named(diagnosis, change) {
            continue;
        }
        let reason = reason(diagnosis, change);
        considered.push(ConsideredChange { change: change.clone(), reason });
    }
    considered
}

fn is_named(diagnosis: &Diagnosis, change: &RecordedChange) -> bool {
    let Some(group) = diagnosis.cause_of(&change.entity) else { return false };
    let is_shared = group.shared_change.as_ref().is_some_and(|shared| shared.is(change));
    is_shared
        || group.change.as_ref().is_some_and(|cited| {
            change.finding.as_ref() == Some(&cited.id)
                || (change.made.earliest() <= cited.at && cited.at <= change.made.latest())
        })
}

fn reason(diagnosis: &Diagnosis, change: &RecordedChange) -> RuledOut {
    let harm = diagnosis.causes().filter_map(|group| group.harm.as_ref());
    if let Some(harm) = harm.min_by_key(|harm| harm.onset.latest())
        && !change.made.can_precede(&harm.onset)
    {
        return RuledOut::AfterHarm { entity: harm.entity.clone(), harm: harm.onset };
    }
    let named = diagnosis.cause_of(&change.entity);
    if named.is_some_and(|group| group.open_changes.contains(change)) {
        return RuledOut::FitsAsWell;
    }
    if let Some(cited) = named.and_then(|group| group.change.as_ref()) {
        return RuledOut::AnotherFits { change: cited.id.clone() };
    }
    let Some(belief) = diagnosis.belief(&change.entity) else { return RuledOut::NeverLookedAt };
    let weighed = diagnosis.alternatives.get(&change.entity).into_iter().flatten();
    let is_it = |it: &&Alternative| {
        it.label == Label::Origin
            && change.finding.as_ref().is_none_or(|id| it.evidence.contains(id))
    };
    if let Some(lost) = weighed.into_iter().find(is_it) {
        return RuledOut::Lost { rule: lost.rule.clone(), why: lost.lost.clone() };
    }
    if diagnosis.cause_of(&change.entity).is_some() {
        return RuledOut::Uncited;
    }
    if diagnosis.conclusion.derived_origins.contains(&change.entity) {
        return RuledOut::Derived;
    }
    if diagnosis.conclusion.outweighed.contains(&change.entity) {
        return RuledOut::Outweighed;
    }
    match belief.label {
        Label::Origin if diagnosis.is_passed_over(&change.entity) => RuledOut::ChangedTooOften,
        Label::Origin => RuledOut::ReachesNothing,
        label => RuledOut::Judged { label, summary: belief.summary.clone() },
    }
}

/// Every entity that is not named although an origin was weighed there, or it shows that it failed or ran
/// out of something, by name.
pub(super) fn unnamed(diagnosis: &Diagnosis) -> Vec<Unnamed> {
    let mut unnamed = Vec::new();
    for (entity, belief) in &diagnosis.beliefs {
        if diagnosis.cause_of(entity).is_some() {
            continue;
        }
        let weighed = diagnosis.alternatives.get(entity).into_iter().flatten();
        let lost: Vec<Alternative> =
            weighed.filter(|it| it.label == Label::Origin).cloned().collect();
        let is_severe = diagnosis.judged_with(entity).any(|finding| {
            finding.entity == *entity
                && matches!(finding.signal, Signal::Exhaustion | Signal::Availability)
                && !matches!(finding.kind, EvidenceKind::Alert | EvidenceKind::Note)
                && finding.trend != Trend::Falling
        });
        if is_severe || !lost.is_empty() {
            let (rule, summary) = (belief.rule.clone(), belief.summary.clone());
            unnamed.push(Unnamed {
                entity: entity.clone(),
                label: belief.label,
                rule,
                summary,
                lost,
            });
        }
    }
    unnamed
}

/// All entities that can affect an entity, itself included, over declared directions and live
/// claims.
fn upstream(diagnosis: &Diagnosis, entity: &EntityId) -> BTreeSet<EntityId> {
    let mut reached = BTreeSet::from([entity.clone()]);
    let mut queue = vec![entity.clone()];
    while let Some(affected) = queue.pop() {
        let declared = diagnosis.topology.edges_at(&affected).filter_map(|edge| {
            let other = if edge.source == affected { &edge.target } else { &edge.source };
            edge.carries(other, &affected).then_some(other)
        });
        let claimed = diagnosis.explaining.get(&affected).into_iter().flatten();
        for other in declared.chain(claimed) {
            if reached.insert(other.clone()) {
                queue.push(other.clone());
            }
        }
    }
    reached
}
