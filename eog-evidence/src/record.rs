//! What is on record of changes: what a cause is measured against.

use std::collections::BTreeMap;

use eog_core::evidence::EvidenceTime;
use eog_core::incident::{ChangeRecord, Onset, RecordedChange};
use eog_core::{EntityId, Finding, Window};

use crate::incident::Incident;
use crate::signs::is_real_change;
use crate::text::{change_in_words, shorten};

/// Longest description of a change on record, in characters: there may be many.
const MAX_WHAT: usize = 100;

/// Every real change of an incident, of any entity; nothing where none is known.
///
/// Fields of one entity that were changed at once are one change, named by its first finding. Mere
/// restarts are none, nor what follows from another change ([`Incident::consequences`]). The span
/// is [`Incident::changes_recorded`]; without it the extent of the telemetry and the window, which
/// reaches back to changes shortly before the alerts.
pub(crate) fn change_record(incident: &Incident, window: Window) -> Option<ChangeRecord> {
    let counts =
        |change: &&Finding| is_real_change(change) && !incident.consequences.contains(change.id());
    let mut together: BTreeMap<(Onset, &EntityId), Vec<&Finding>> = BTreeMap::new();
    for change in incident.changes.iter().filter(counts) {
        together.entry((made(change), &change.entity)).or_default().push(change);
    }
    if together.is_empty() {
        return None;
    }
    let changes = together.into_iter().filter_map(|((made, entity), findings)| {
        let first = findings.first()?;
        let what = first.change.as_ref();
        let what = what.map_or_else(|| first.excerpt.clone(), change_in_words);
        let more = match findings.len() - 1 {
            0 => String::new(),
            1 => " and 1 more field".to_owned(),
            more => format!(" and {more} more fields"),
        };
        let what = format!("{}{more}", shorten(&what, MAX_WHAT));
        Some(RecordedChange {
            entity: entity.clone(),
            made,
            what,
            finding: Some(first.id().clone()),
        })
    });
    let changes = changes.collect();
    Some(ChangeRecord { span: span(incident, window), changes })
}

fn span(incident: &Incident, window: Window) -> Window {
    let known = incident.changes_recorded.or_else(|| {
        let observed = incident.observed?;
        let (start, end) = (observed.start().min(window.start()), observed.end().max(window.end()));
        Window::new(start, end).ok()
    });
    known.unwrap_or(window)
}

/// The interval in which a change was made: its onset, else its time.
fn made(change: &Finding) -> Onset {
    change.onset.unwrap_or(match change.time {
        EvidenceTime::At(at) => Onset::at(at),
        EvidenceTime::During(during) => Onset::between(during.start(), during.end()),
    })
}
