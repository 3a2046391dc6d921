//! Findings from alerts.

use eog_core::evidence::{EvidenceTime, FindingContent, Trend};
use eog_core::{Anomaly, EvidenceKind, Finding, Timestamp};

use crate::shift::during;
use crate::text::shorten;

/// At most this many renewals of one alert become findings.
const MAX_RENEWALS: usize = 3;

/// What an alert says about its entity: one finding from its onset to when it was last seen, and
/// one for each of at most 3 times it became active again.
///
/// An alert without a last sighting gives an instant: its readers may take the alert for
/// still active.
///
/// ```
/// use eog_core::{Anomaly, EntityId, EvidenceKind};
/// use eog_core::evidence::Signal;
/// use eog_evidence::alert_findings;
/// let alert = Anomaly {
///     name: "HighErrorRate".into(),
///     entity: EntityId::new("cart")?,
///     signal: Signal::Errors,
///     onset: "2026-01-01T10:00:00Z".parse()?,
///     renewed: vec!["2026-01-01T10:30:00Z".parse()?],
///     last_seen: None,
///     severity: "critical".into(),
///     description: "more than 5 % of requests fail".into(),
/// };
/// let findings = alert_findings(&alert, "alerts.json");
/// assert_eq!(findings.len(), 2);
/// assert_eq!(findings[0].kind, EvidenceKind::Alert);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn alert_findings(alert: &Anomaly, source: &str) -> Vec<Finding> {
    let last = alert.last_seen.filter(|seen| *seen > alert.onset);
    let whole = last.map_or(EvidenceTime::At(alert.onset), |last| during(alert.onset, last));
    let mut renewals: Vec<Timestamp> = alert.renewed.clone();
    renewals.sort_unstable();
    renewals.dedup();
    let again = renewals.iter().map(|at| (EvidenceTime::At(*at), "active again"));
    std::iter::once((whole, "active"))
        .chain(again.take(MAX_RENEWALS))
        .map(|(time, state)| finding(alert, time, state, source))
        .collect()
}

fn finding(alert: &Anomaly, time: EvidenceTime, state: &str, source: &str) -> Finding {
    let name = shorten(&alert.name, 120);
    let severity = match shorten(&alert.severity, 40) {
        none if none.is_empty() => none,
        severity => format!(" ({severity})"),
    };
    let description = match shorten(&alert.description, 240) {
        none if none.is_empty() => none,
        description => format!(": {description}"),
    };
    Finding::new(FindingContent {
        trend: Trend::Rising,
        source: source.to_owned(),
        query: format!("entity={} alert={name}", alert.entity),
        excerpt: format!("{name}{severity} {state} since {}{description}", time.start()),
        ..FindingContent::new(alert.entity.clone(), EvidenceKind::Alert, alert.signal, time)
    })
}
