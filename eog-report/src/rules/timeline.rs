//! The timeline of a narrative.

use std::collections::BTreeSet;

use eog_core::evidence::EvidenceTime;
use eog_core::{Diagnosis, EntityId, EvidenceId, EvidenceKind, Finding, Timestamp};

use super::is_happening;
use crate::clean::clean;
use crate::narrative::{Moment, NarratedEntity};
use crate::words;

/// Most moments in a timeline.
const MAX_MOMENTS: usize = 100;

/// When an alert first fired, and when it did again.
pub fn onsets(diagnosis: &Diagnosis) -> impl Iterator<Item = Moment> + '_ {
    diagnosis.anomalies.iter().flat_map(|anomaly| {
        anomaly.onsets().enumerate().map(move |(number, at)| Moment {
            time: EvidenceTime::At(at),
            entity: anomaly.entity.clone(),
            what: match number {
                0 => format!("alert {}", clean(&anomaly.name)),
                _ => format!("alert {} again", clean(&anomaly.name)),
            },
            evidence: None,
            query: String::new(),
        })
    })
}

/// The moment of a finding.
pub fn moment(finding: &Finding) -> Moment {
    Moment {
        time: finding.time,
        entity: finding.entity.clone(),
        what: clean(&words::finding(finding)).into_owned(),
        evidence: Some(finding.id().clone()),
        query: words::query(&finding.source, &finding.query),
    }
}

/// What happened to some entities, with the alerts.
pub fn timeline(
    diagnosis: &Diagnosis,
    entities: &[NarratedEntity],
    left_out: &mut Vec<String>,
) -> Vec<Moment> {
    let cited = |of_factors: bool| -> BTreeSet<&EvidenceId> {
        let entities = entities.iter().filter(|entity| entity.contributing_factor || !of_factors);
        entities.flat_map(|entity| &entity.evidence).map(|citation| &citation.id).collect()
    };
    let of_factors = cited(true);
    let cited = diagnosis.lookup(cited(false));
    let happened = cited.into_iter().filter(|finding| is_happening(finding.kind));
    let ranked = happened.map(|finding| {
        let rank = match finding.kind {
            _ if of_factors.contains(finding.id()) => 0,
            EvidenceKind::Change => 2,
            EvidenceKind::Event => 3,
            _ => 4,
        };
        (rank, moment(finding))
    });
    arrange(onsets(diagnosis).map(|moment| (1, moment)).chain(ranked).collect(), left_out)
}

/// Puts moments into the order of time; of too many, those of the lowest ranks stay.
pub fn arrange(mut ranked: Vec<(u8, Moment)>, left_out: &mut Vec<String>) -> Vec<Moment> {
    let key = |moment: &Moment| -> (Timestamp, EntityId, Option<EvidenceId>) {
        (moment.time.start(), moment.entity.clone(), moment.evidence.clone())
    };
    ranked.sort_by_cached_key(|(rank, moment)| (*rank, key(moment)));
    if ranked.len() > MAX_MOMENTS {
        let more = ranked.len() - MAX_MOMENTS;
        let more = words::count(more, "less important moment", "less important moments");
        left_out.push(format!("{more} of the timeline"));
        ranked.truncate(MAX_MOMENTS);
    }
    let mut moments: Vec<Moment> = ranked.into_iter().map(|(_, moment)| moment).collect();
    moments.sort_by_cached_key(key);
    moments
}
