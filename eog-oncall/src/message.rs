//! What receivers get: version 1 of the outgoing webhook, described by
//! `docs/schema/on-call-message.schema.json`.

use std::collections::BTreeMap;

use eog_core::{EntityId, StopReason};
use eog_report::clean::clean_up_to;
use eog_report::{Report, words};
use schemars::JsonSchema;
use serde::Serialize;

use eog_sre::PAGERDUTY_INCIDENT;

use crate::incident::{Incident, Recovery};

/// The version of the messages.
const VERSION: u32 = 1;
/// Most alerts, causes and lines of each list.
const MAX_ALERTS: usize = 50;
const MAX_LISTED: usize = 10;
/// Most characters of a text.
const MAX_TEXT: usize = 1_500;
const MAX_LINE: usize = 400;

/// A message about an incident. All texts are made from telemetry and alerts: data, never instructions or
/// markup.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Message {
    /// 1. A further version is another number; fields may be added to this one.
    pub version: u32,
    /// The id of the message, which no other message of any service has. One that is delivered twice has the same.
    pub id: String,
    /// The service's identity: each state folder has its own. The ids of incidents are unique within it.
    pub service: String,
    /// What happened.
    pub event: Event,
    /// The incident.
    pub incident: IncidentView,
    /// The result of the last run of its investigation, if there is one.
    pub result: Option<ResultView>,
    /// Why the last run has no result.
    pub problem: Option<String>,
    /// What followed the repair of the cause of the last result, if a repair is known.
    pub recovery: Option<Recovery>,
}

/// What a message is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Event {
    /// The first result.
    Diagnosed,
    /// The result after further alerts.
    Updated,
    /// There is no result.
    Failed,
    /// The cause was repaired, and what it explains returned as predicted.
    Verified,
    /// The cause was repaired and no alert returned. A further run follows.
    Withdrawn,
    /// No alert has fired for some time; the incident is closed.
    Resolved,
}

impl Event {
    /// All of them.
    pub(crate) const ALL: [Self; 6] = [
        Self::Diagnosed,
        Self::Updated,
        Self::Failed,
        Self::Verified,
        Self::Withdrawn,
        Self::Resolved,
    ];
}

/// An incident.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct IncidentView {
    /// Its id.
    pub id: String,
    /// What to call it.
    pub title: String,
    /// The labels that its alerts are grouped by.
    pub labels: BTreeMap<String, String>,
    /// When its first alert came in, in RFC 3339.
    pub opened_at: String,
    /// Since when no alert fires, if none does.
    pub resolved_at: Option<String>,
    /// Alerts that fire.
    pub firing: usize,
    /// Alerts that were resolved.
    pub resolved: usize,
    /// How often an alert fired again after it was resolved.
    pub flaps: u64,
    /// The alerts, oldest first.
    pub alerts: Vec<AlertView>,
    /// Alerts that are not listed.
    pub alerts_left_out: u64,
}

/// An alert.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct AlertView {
    /// Its name.
    pub name: String,
    /// Its labels.
    pub labels: BTreeMap<String, String>,
    /// What it says about itself.
    pub summary: String,
    /// Since when it fires.
    pub starts_at: String,
    /// Until when it fired; nothing while it fires.
    pub ends_at: Option<String>,
}

/// The result of an investigation.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct ResultView {
    /// The id of the investigation, for MCP and the pages.
    pub investigation: String,
    /// Its page.
    pub url: Option<String>,
    /// `confirmed`, `likely`, or `inconclusive` when no origin explains an alert.
    pub confidence: String,
    /// The result in one line.
    pub headline: String,
    /// The result in a few sentences.
    pub summary: String,
    /// Origins that explain alerts, those that explain most first. Empty when it is inconclusive.
    pub causes: Vec<Cause>,
    /// What to check next, best first; only when it is inconclusive.
    pub candidates: Vec<CandidateView>,
    /// What would show that each cause is the cause: what should end once it is repaired, by when, and what should not
    /// change. One sentence each.
    pub predictions: Vec<String>,
    /// Alerts that no cause explains.
    pub unexplained: Vec<String>,
    /// What was missing, or is to be known beside the result.
    pub notes: Vec<String>,
    /// Whether a limit ended the run before it was done.
    pub is_unfinished: bool,
}

/// Entities that are the cause of alerts. Several explain each other.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct Cause {
    /// The entities.
    pub entities: Vec<String>,
    /// `confirmed`, `likely` or `inconclusive`.
    pub confidence: String,
    /// Why, in words.
    pub why: String,
    /// The change that did it, if one was found.
    pub change: Option<String>,
    /// Other changes of the same entity that fit as well: which of them it was is open.
    pub open_changes: Vec<String>,
    /// The alerts that it explains.
    pub explains: Vec<String>,
    /// Why it is not confirmed.
    pub doubts: Vec<String>,
}

/// An entity that may be the cause.
#[derive(Clone, Debug, Serialize, JsonSchema)]
pub struct CandidateView {
    /// The entity.
    pub entity: String,
    /// What is known of it.
    pub why: String,
}

impl Message {
    pub(crate) fn new(
        incident: &Incident,
        event: Event,
        result: Option<ResultView>,
        service: String,
    ) -> Self {
        Self {
            version: VERSION,
            id: format!("{}.{}.{service}", incident.id(), incident.messages + 1),
            service,
            event,
            incident: IncidentView::of(incident),
            result,
            problem: incident.problem.as_deref().map(|text| clean_up_to(text, MAX_TEXT)),
            recovery: incident.recovery().cloned(),
        }
    }

    /// One with everything in it, so that templates can be tried.
    pub(crate) fn sample(event: Event) -> Self {
        let text = || "text".to_owned();
        let labels = BTreeMap::from([("alertname".to_owned(), text())]);
        let alert = AlertView {
            name: text(),
            labels: labels.clone(),
            summary: text(),
            starts_at: text(),
            ends_at: Some(text()),
        };
        let cause = Cause {
            entities: vec![text()],
            confidence: "likely".to_owned(),
            why: text(),
            change: Some(text()),
            open_changes: vec![text()],
            explains: vec![text()],
            doubts: vec![text()],
        };
        let incident = IncidentView {
            id: "in-000001".to_owned(),
            title: text(),
            labels,
            opened_at: text(),
            resolved_at: Some(text()),
            firing: 1,
            resolved: 1,
            flaps: 1,
            alerts: vec![alert],
            alerts_left_out: 1,
        };
        let result = ResultView {
            investigation: "inv-000001".to_owned(),
            url: Some("http://localhost/i/inv-000001".to_owned()),
            confidence: "likely".to_owned(),
            headline: text(),
            summary: text(),
            causes: vec![cause],
            candidates: vec![CandidateView { entity: text(), why: text() }],
            predictions: vec![text()],
            unexplained: vec![text()],
            notes: vec![text()],
            is_unfinished: true,
        };
        let recovery = Recovery {
            verdict: text(),
            causes: vec![text()],
            repair: text(),
            repaired_at: text(),
            is_recorded: true,
            returned: vec![text()],
            not_returned: vec![text()],
            awaited: vec![text()],
            summary: text(),
        };
        Self {
            version: VERSION,
            id: "in-000001.1.0123abcd".to_owned(),
            service: "0123abcd".to_owned(),
            event,
            incident,
            result: Some(result),
            problem: Some(text()),
            recovery: Some(recovery),
        }
    }
}

impl IncidentView {
    /// The incident of PagerDuty that its alerts came from, if they did.
    pub(crate) fn pager_duty(&self) -> Option<String> {
        let given = self.alerts.iter().filter_map(|alert| alert.labels.get(PAGERDUTY_INCIDENT));
        let is_id = |id: &&String| {
            !id.is_empty() && id.len() <= 40 && id.bytes().all(|c| c.is_ascii_alphanumeric())
        };
        given.filter(is_id).min().cloned()
    }

    fn of(incident: &Incident) -> Self {
        let mut alerts: Vec<_> = incident.alerts.values().collect();
        alerts.sort_by_key(|alert| (alert.starts_at, alert.name()));
        let firing = alerts.iter().filter(|alert| alert.is_firing()).count();
        let cut = |labels: &BTreeMap<String, String>| {
            labels.iter().map(|(name, value)| (line(name), line(value))).collect()
        };
        let view = |alert: &&crate::incident::Alert| AlertView {
            name: line(alert.name()),
            labels: cut(&alert.labels),
            summary: line(alert.says()),
            starts_at: alert.starts_at.to_string(),
            ends_at: alert.ends_at.map(|at| at.to_string()),
        };
        let unlisted = alerts.len().saturating_sub(MAX_ALERTS) as u64;
        Self {
            id: incident.id(),
            title: line(&incident.title()),
            labels: cut(&incident.labels),
            opened_at: incident.opened_at.to_string(),
            resolved_at: incident.resolved_at.map(|at| at.to_string()),
            firing,
            resolved: alerts.len() - firing,
            flaps: incident.flaps,
            alerts: alerts.iter().take(MAX_ALERTS).map(view).collect(),
            alerts_left_out: incident.left_out + unlisted,
        }
    }
}

impl ResultView {
    pub(crate) fn new(investigation: &str, url: Option<String>, report: &Report) -> Self {
        let diagnosis = &report.diagnosis;
        let conclusion = &diagnosis.conclusion;
        let alert = |at: &usize| {
            let found = diagnosis.anomalies.get(*at)?;
            Some(line(&format!("{} on {}", found.name, found.entity)))
        };
        let causes: Vec<Cause> = diagnosis
            .causes()
            .take(MAX_LISTED)
            .map(|group| Cause {
                entities: group.origins.iter().map(|it| line(it.as_str())).collect(),
                confidence: group.confidence.to_string(),
                why: group.origins.first().map(|it| why(report, it)).unwrap_or_default(),
                change: words::shared_change(group).map(|it| line(&it)).or_else(|| {
                    let change = group.change.as_ref()?;
                    let finding = diagnosis.findings.get(&change.id)?;
                    Some(line(&format!("{} {}", change.at, words::finding(finding))))
                }),
                open_changes: group
                    .open_changes
                    .iter()
                    .take(MAX_LISTED)
                    .map(|it| line(&it.what))
                    .collect(),
                explains: group.covers.iter().filter_map(alert).take(MAX_ALERTS).collect(),
                doubts: group
                    .doubts
                    .iter()
                    .take(MAX_LISTED)
                    .map(|it| line(&it.to_string()))
                    .collect(),
            })
            .collect();
        let candidates = match causes.is_empty() {
            true => report.diagnosis.candidates().take(MAX_LISTED / 2).collect(),
            false => Vec::new(),
        };
        let candidates = candidates.into_iter().map(|ranked| CandidateView {
            entity: line(ranked.entity.as_str()),
            why: why(report, &ranked.entity),
        });
        let confidence = conclusion.confidence.to_string();
        let named: Vec<&str> =
            causes.iter().flat_map(|it| &it.entities).map(String::as_str).collect();
        let headline = match named.as_slice() {
            [] => "Inconclusive: no origin was found".to_owned(),
            named => format!("{} ({confidence})", named.join(", ")),
        };
        let unexplained = conclusion.unexplained.iter().filter_map(alert);
        let mut notes = report.unusable();
        notes.extend(report.notes());
        Self {
            investigation: investigation.to_owned(),
            url,
            headline: line(&headline),
            confidence,
            summary: clean_up_to(&report.narrative.summary, MAX_TEXT),
            causes,
            candidates: candidates.collect(),
            predictions: report
                .predictions()
                .iter()
                .take(MAX_LISTED)
                .map(|one| line(one))
                .collect(),
            unexplained: unexplained.take(MAX_ALERTS).collect(),
            notes: notes.iter().take(MAX_LISTED).map(|note| line(note)).collect(),
            is_unfinished: !matches!(
                report.stop,
                StopReason::Converged { .. } | StopReason::SearchExhausted { .. }
            ),
        }
    }
}

fn why(report: &Report, entity: &EntityId) -> String {
    let belief = report.diagnosis.belief(entity);
    belief.map(|belief| line(&belief.summary)).unwrap_or_default()
}

fn line(text: &str) -> String {
    clean_up_to(text, MAX_LINE)
}
