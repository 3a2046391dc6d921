//! What a model is shown of one packet.

use eog_core::contract::{Notice, NoticeReason};
use eog_core::{Case, ContextPacket, EntityId, Timestamp};
use serde::Serialize;

use super::lines::{
    Clock, FindingLine, MessageLine, NeighbourLine, finding_line, message_line, neighbour_lines,
};
use super::subject::Subject;
use crate::PacketCut;

/// Most alerts that the frame of an incident lists.
const MAX_ALERTS: usize = 12;

/// The incident as a whole: the same for every question of an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    alerts: Vec<(Timestamp, EntityId, String)>,
    more: usize,
    last_onset: Option<Timestamp>,
}

impl Frame {
    /// Nothing is known beyond the packets.
    pub fn unknown() -> Self {
        Self { alerts: Vec::new(), more: 0, last_onset: None }
    }

    /// The alerts of a case; if there are many, the first ones.
    pub fn of(case: &Case) -> Self {
        let mut alerts: Vec<_> = case
            .anomalies
            .iter()
            .map(|alert| (alert.onset, alert.entity.clone(), alert.name.clone()))
            .collect();
        alerts.sort();
        let more = alerts.len().saturating_sub(MAX_ALERTS);
        alerts.truncate(MAX_ALERTS);
        let onsets = case.anomalies.iter().flat_map(eog_core::Anomaly::onsets);
        Self { alerts, more, last_onset: onsets.max() }
    }
}

/// One entity's evidence, ready for a template.
///
/// Evidence has short numbers, and entities have their names; [`Explore`](super::Explore) maps both
/// back.
#[derive(Clone, Debug, Serialize)]
pub struct ExploreInput {
    day: String,
    start: String,
    end: String,
    alerts: Vec<AlertLine>,
    more_alerts: usize,
    entity: String,
    /// Alerts on the entity that the frame does not list.
    own_alerts: Vec<AlertLine>,
    findings: Vec<FindingLine>,
    neighbours: Vec<NeighbourLine>,
    mentions: Vec<String>,
    messages: Vec<MessageLine>,
    omitted: Vec<String>,
    notice: Option<NoticeLines>,
    #[serde(skip)]
    subject: Subject,
}

/// Why the entity is looked at again.
#[derive(Clone, Debug, Serialize)]
struct NoticeLines {
    /// Else it is a second opinion.
    dead_end: bool,
    before: u32,
    unexplained: Vec<UnexplainedLine>,
    rivals: Vec<String>,
    /// How many of both are left out.
    more: usize,
}

#[derive(Clone, Debug, Serialize)]
struct UnexplainedLine {
    entity: String,
    name: String,
}

impl NoticeLines {
    fn of(notice: &Notice) -> Self {
        let Notice { reason, count, unexplained, rivals } = notice;
        let unexplained_line = |(entity, name): &(EntityId, String)| UnexplainedLine {
            entity: entity.to_string(),
            name: name.clone(),
        };
        let beyond = |all: usize| all.saturating_sub(MAX_ALERTS);
        Self {
            dead_end: *reason == NoticeReason::DeadEnd,
            before: count.saturating_sub(1),
            unexplained: unexplained.iter().take(MAX_ALERTS).map(unexplained_line).collect(),
            rivals: rivals.iter().take(MAX_ALERTS).map(ToString::to_string).collect(),
            more: beyond(unexplained.len()) + beyond(rivals.len()),
        }
    }
}

#[derive(Clone, Debug, Serialize)]
struct AlertLine {
    time: String,
    entity: String,
    name: String,
}

impl ExploreInput {
    /// The input for the parts of a packet that a cut shows.
    pub fn new(frame: &Frame, packet: &ContextPacket, cut: &PacketCut) -> Self {
        let clock = Clock::new(packet.window);
        let mut subject = Subject::of(packet);
        subject.last_onset = frame.last_onset;
        let limit = cut.text_limit;
        let shown = |at: &usize| packet.context.findings.get(*at);
        let findings: Vec<FindingLine> = cut
            .findings
            .iter()
            .filter_map(shown)
            .map(|finding| finding_line(finding, subject.number_finding(finding), &clock, limit))
            .collect();
        let messages = cut.messages.iter().filter_map(|at| packet.inbox.get(*at));
        let messages: Vec<MessageLine> =
            messages.map(|message| message_line(message, &mut subject, &clock, limit)).collect();
        let neighbours = cut.neighbours.iter().filter_map(|at| packet.neighbours.get(*at));
        let mentions = cut.mentions.iter().filter_map(|at| packet.context.mentions.get(*at));
        let alerts = frame.alerts.iter().map(|(onset, entity, name)| AlertLine {
            time: clock.show(*onset),
            entity: entity.to_string(),
            name: name.clone(),
        });
        let own = packet.anomalies.iter().filter(|alert| {
            !frame
                .alerts
                .iter()
                .any(|(_, entity, name)| (entity, name) == (&alert.entity, &alert.name))
        });
        let own = own.take(MAX_ALERTS).map(|alert| AlertLine {
            time: clock.show(alert.onset),
            entity: alert.entity.to_string(),
            name: alert.name.clone(),
        });
        Self {
            day: clock.day().to_owned(),
            start: clock.show(packet.window.start()),
            end: clock.show_end(packet.window.end()),
            alerts: alerts.collect(),
            more_alerts: frame.more,
            entity: packet.entity.to_string(),
            own_alerts: own.collect(),
            findings,
            neighbours: neighbour_lines(neighbours),
            mentions: mentions.map(ToString::to_string).collect(),
            messages,
            omitted: cut.omitted.clone(),
            notice: packet.notice.as_ref().map(NoticeLines::of),
            subject,
        }
    }

    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }
}
