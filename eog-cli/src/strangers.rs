//! Alerts of a bundle on entities that its topology does not have: what else is behind them is not known.

use crate::shown::clean_line;
use eog_evidence::Incident;
use eog_report::words;

/// How many of its alerts are on such entities, in words; nothing if there are none.
pub(crate) fn in_words(incident: &Incident) -> Option<String> {
    let count = count(incident);
    let concern = words::count(count as u64, "alert concerns", "alerts concern");
    let text = format!("{concern} entities outside the topology, so their causes are unknown");
    (count > 0).then_some(text)
}

/// How many alerts are on entities that the topology does not have. One without entities declares none.
fn count(incident: &Incident) -> usize {
    let topology = &incident.topology;
    let is_strange = |entity| topology.entities().len() > 0 && !topology.contains(entity);
    incident.anomalies.iter().filter(|alert| is_strange(&alert.entity)).count()
}

/// Says it before anything is investigated: a wrong name may be why little is found.
pub(crate) fn say(incident: &Incident) {
    if let Some(text) = in_words(incident) {
        eprintln!("{}", clean_line(&format!("eog: note: {text}")));
    }
}
