//! What a model is shown of one packet.

use eog_core::contract::{Notice, NoticeReason};
use eog_core::{ContextPacket, EntityId};
use serde::Serialize;

use super::messages::{MessageLine, message_line};
use super::subject::Subject;
use crate::PacketCut;
use crate::phases::frame::{AlertLine, Frame, IncidentLines, MAX_ALERTS};
use crate::phases::lines::{Clock, FindingLine, NeighbourLine, finding_line, neighbour_lines};

/// One entity's evidence, ready for a template.
///
/// Evidence has short numbers, and entities have their names; [`Explore`](super::Explore) maps both
/// back.
#[derive(Clone, Debug, Serialize)]
pub struct ExploreInput {
    #[serde(flatten)]
    incident: IncidentLines,
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

impl ExploreInput {
    /// The input for the parts of a packet that a cut shows.
    pub fn new(frame: &Frame, packet: &ContextPacket, cut: &PacketCut) -> Self {
        let clock = Clock::new(packet.window);
        let mut subject = Subject::of(packet);
        subject.last_onset = frame.last_onset();
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
        let own = packet.anomalies.iter().filter(|alert| !frame.lists(alert));
        let own = own
            .take(MAX_ALERTS)
            .map(|alert| AlertLine::new(&clock, alert.onset, &alert.entity, &alert.name));
        Self {
            incident: frame.lines(packet.window, &clock),
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
