//! What a model is shown of one packet.

use eog_core::contract::{Coverage, FormerBelief, Notice, NoticeReason};
use eog_core::evidence::{Peer, PeerRole, Signal, Trend};
use eog_core::incident::CaseFile;
use eog_core::{ContextPacket, EntityId, EvidenceKind, Finding};
use eog_evidence::mask_text;
use serde::Serialize;

use super::bounds;
use super::messages::{MessageLine, message_line};
use super::refused::without_account;
use super::subject::Subject;
use crate::PacketCut;
use crate::phases::frame::{AlertLine, Frame, IncidentLines, MAX_ALERTS};
use crate::phases::lines::{
    ClaimPart, Clock, FindingLine, NeighbourLine, cut, finding_line, joined_lines, kinds_word,
    label_word, neighbour_lines,
};

/// One entity's evidence, ready for a template.
///
/// Evidence has short numbers, and entities have their names; [`Explore`](super::Explore) maps both
/// back.
#[derive(Clone, Debug, Serialize)]
pub struct ExploreInput {
    #[serde(flatten)]
    incident: IncidentLines,
    /// What stands out in the incident as a whole: the same lines, with the same numbers, in every question about it.
    case_file: Vec<CaseFileLine>,
    /// Kinds of evidence that no entity has, and what the case file leaves out.
    unrecorded: Vec<&'static str>,
    case_file_omitted: Vec<String>,
    /// Entities of which nothing was recorded.
    silent: Vec<String>,
    /// Who has only what the case file leaves out.
    elsewhere: Vec<String>,
    entity: String,
    /// Which numbers of the case file are evidence of the entity itself.
    in_case_file: Vec<u32>,
    /// Alerts on the entity that the frame does not list.
    own_alerts: Vec<AlertLine>,
    findings: Vec<EvidenceLine>,
    /// What was recorded at all, if the source reports it.
    recorded: Option<RecordedKinds>,
    /// How many pages of evidence there are after what is shown.
    pages_left: u32,
    /// How many searches in other records may be asked for.
    queries_left: u32,
    neighbours: Vec<NeighbourLine>,
    mentions: Vec<String>,
    messages: Vec<MessageLine>,
    /// What the messages rest on, of others.
    quoted: Vec<EvidenceLine>,
    omitted: Vec<String>,
    former: Option<FormerLine>,
    notes: Notes,
    notice: Option<NoticeLines>,
    #[serde(skip)]
    subject: Subject,
}

/// Which explanations the shown parts need: what nothing shown is about is not explained.
#[derive(Clone, Copy, Debug, Serialize)]
#[expect(clippy::struct_excessive_bools, reason = "each is a condition of a template")]
struct Notes {
    any: bool,
    peers: bool,
    others: bool,
    route: bool,
    impact: bool,
    part: bool,
    load: bool,
    experiment: bool,
    restart: bool,
    messages: bool,
    since: bool,
    signals: bool,
    changes: bool,
    names: bool,
}

impl Notes {
    fn of(entity: &EntityId, findings: &[&Finding], messages: bool, names: bool) -> Self {
        use Signal::{Exhaustion, Experiment, Impact, Output, Restart, Route, Saturation};
        let any = |is: &dyn Fn(&Finding) -> bool| findings.iter().any(|finding| is(finding));
        let has = |signals: &[Signal]| any(&|it| signals.contains(&it.signal));
        let is_full = any(&|it| match it.signal {
            Exhaustion => true,
            Saturation => it.trend == Trend::Rising,
            _ => false,
        });
        let is_sent = |peer: &Peer| matches!(peer.role, PeerRole::Caller | PeerRole::Callee);
        let mut notes = Self {
            any: true,
            peers: any(&|it| it.peer.as_ref().is_some_and(is_sent)),
            others: any(&|it| it.entity != *entity),
            route: has(&[Route]),
            impact: has(&[Impact]),
            part: any(&bounds::is_bound),
            load: is_full,
            experiment: has(&[Experiment]),
            restart: has(&[Restart]),
            messages,
            since: false,
            signals: is_full,
            changes: any(&|it| it.kind == EvidenceKind::Change),
            // Starved or fed, and by which entity: asked where goods flow, whatever the names.
            names: names || has(&[Output]),
        };
        let Self { peers, others, route, impact, part, load, experiment, restart, .. } = notes;
        let evidence = peers || others || route || impact || part || load || experiment || restart;
        notes.any = evidence || messages || notes.signals || notes.changes || notes.names;
        notes
    }
}

/// Kinds of evidence.
#[derive(Clone, Debug, Serialize)]
struct RecordedKinds {
    own: Vec<&'static str>,
    others: Vec<&'static str>,
    #[serde(rename = "nobody")]
    none: Vec<&'static str>,
}

impl RecordedKinds {
    fn of(coverage: &Coverage) -> Self {
        use EvidenceKind::{Change, Event, Log, Metric, Span};
        let words = |kinds: &[EvidenceKind]| kinds.iter().map(|kind| kinds_word(*kind)).collect();
        let is_missing =
            |kind: &EvidenceKind| !coverage.own.contains(kind) && !coverage.others.contains(kind);
        let none = [Change, Event, Metric, Log, Span].into_iter().filter(is_missing);
        Self {
            own: words(&coverage.own),
            others: words(&coverage.others),
            none: none.map(kinds_word).collect(),
        }
    }
}

/// A finding, and its entity.
#[derive(Clone, Debug, Serialize)]
struct EvidenceLine {
    /// Empty for the entity in question.
    of: String,
    #[serde(flatten)]
    finding: FindingLine,
}

/// A line of the case file.
#[derive(Clone, Debug, Serialize)]
struct CaseFileLine {
    of: String,
    /// Where it stands to the nearest alert, in words; empty where no path is known.
    place: String,
    #[serde(flatten)]
    finding: FindingLine,
}

/// What the entity was judged to be before.
#[derive(Clone, Debug, Serialize)]
struct FormerLine {
    label: &'static str,
    since: String,
    text: String,
    claims: Vec<ClaimPart>,
    /// The senders of messages that are new since then.
    #[serde(rename = "heard")]
    senders: Vec<String>,
}

impl FormerLine {
    fn of(former: &FormerBelief, clock: &Clock, limit: Option<usize>) -> Self {
        let FormerBelief { belief, new_from } = former;
        Self {
            label: label_word(belief.label),
            since: belief.since.map(|since| clock.interval(since)).unwrap_or_default(),
            text: cut(&mask_text(without_account(&belief.summary)), limit),
            claims: belief
                .claims
                .iter()
                .take(MAX_FORMER)
                .map(|claim| ClaimPart::new(claim, limit).of_others())
                .collect(),
            senders: new_from.iter().take(MAX_FORMER).map(ToString::to_string).collect(),
        }
    }
}

/// Most claims, and most senders of new messages, that the former judgement is shown with.
const MAX_FORMER: usize = 8;

/// Longest text of a line of the case file, in characters.
const MAX_CASE_FILE_TEXT: usize = 400;

/// Longest text of a finding of another entity, in characters.
const MAX_QUOTE: usize = 300;

/// Why the entity is evaluated again.
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
        // How the others were found is a matter of rules, which a model does not know by their names.
        let Notice { reason, count, unexplained, rivals, others: _, unlinked: _ } = notice;
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

/// Whether entities are named by paths, whose parts describe what they are.
fn has_paths(packet: &ContextPacket) -> bool {
    let neighbours = packet.neighbours.iter().map(|neighbour| &neighbour.entity);
    neighbours.chain([&packet.entity]).any(|entity| entity.as_str().contains('/'))
}

/// Whether evidence of others says what stands there anyway: that an alert fired, or how a change reaches
/// others, which the messages claim, beside the change itself or another note on it.
fn is_repeated(quoted: &Finding, listed: &[&Finding], frame: &Frame) -> bool {
    match quoted.signal {
        _ if quoted.kind == EvidenceKind::Alert => {
            frame.alerting().any(|entity| *entity == quoted.entity)
        }
        Signal::Impact => true,
        Signal::Route => listed.iter().any(|it| it.change.is_some() && it.change == quoted.change),
        _ => false,
    }
}

/// The lines of a case file. Their numbers are the first ones, and what they name may be named.
fn case_file_lines(file: &CaseFile, subject: &mut Subject, clock: &Clock) -> Vec<CaseFileLine> {
    file.named().for_each(|entity| subject.name(entity));
    let lines = file.findings.iter().map(|finding| {
        let number = subject.number_in_case_file(finding);
        let finding_line = finding_line(finding, number, clock, Some(MAX_CASE_FILE_TEXT));
        let place = match file.hops.get(&finding.entity) {
            Some(0) => "alerts".to_owned(),
            Some(1) => "1 hop from an alert".to_owned(),
            Some(hops) => format!("{hops} hops from an alert"),
            None => String::new(),
        };
        CaseFileLine { of: finding.entity.to_string(), place, finding: finding_line }
    });
    joined_lines(lines, |it| &mut it.finding, |a, b| a.of == b.of)
}

impl ExploreInput {
    /// The input for the parts of a packet that a cut shows.
    pub fn new(frame: &Frame, packet: &ContextPacket, cut: &PacketCut) -> Self {
        let clock = Clock::new(packet.window);
        let names = |entities: Option<&Vec<EntityId>>| -> Vec<String> {
            entities.into_iter().flatten().map(ToString::to_string).collect()
        };
        let mut subject = Subject::of(packet);
        subject.last_onset = frame.last_onset();
        // The model reads their names, so it may name them.
        frame.alerting().for_each(|entity| subject.name(entity));
        let limit = cut.text_limit;
        let shown = |at: &usize| packet.context.findings.get(*at);
        let case_file = packet.case_file.as_deref().filter(|_| cut.case_file);
        let lines_of_it = case_file.map(|it| case_file_lines(it, &mut subject, &clock));
        let is_in_case_file = |finding: &&Finding| case_file.is_some_and(|it| it.has(finding.id()));
        let in_case_file = case_file.into_iter().flat_map(|it| &it.findings);
        let in_case_file: Vec<&Finding> =
            in_case_file.filter(|it| it.entity == packet.entity).collect();
        let listed = cut.findings.iter().filter_map(shown);
        let listed: Vec<&Finding> = listed.filter(|finding| !is_in_case_file(finding)).collect();
        let own: Vec<&Finding> = in_case_file.iter().chain(&listed).copied().collect();
        let mut notes =
            Notes::of(&packet.entity, &own, !cut.messages.is_empty(), has_paths(packet));
        let in_case_file: Vec<u32> = in_case_file
            .into_iter()
            .filter_map(|finding| subject.number_of(finding.id()))
            .collect();
        let own_lines = listed.clone();
        for finding in &listed {
            subject.number_finding(finding);
        }
        let against = bounds::against(&own, &subject);
        let findings = listed.into_iter().map(|finding| {
            let is_own = finding.entity == packet.entity;
            let of = if is_own { String::new() } else { finding.entity.to_string() };
            let number = subject.number_finding(finding);
            let line = finding_line(finding, number, &clock, limit);
            let against = against.get(&number).cloned().unwrap_or_default();
            EvidenceLine { of, finding: line.with_against(against) }
        });
        let findings = joined_lines(findings, |it| &mut it.finding, |a, b| a.of == b.of);
        let quotable = packet.quoted.iter().filter(|it| !is_in_case_file(it));
        let quotable = quotable.filter(|it| !is_repeated(it, &own_lines, frame));
        let quotable: Vec<&Finding> = quotable.collect();
        let messages = cut.messages.iter().filter_map(|at| packet.inbox.get(*at));
        let messages: Vec<MessageLine> = messages
            .map(|message| message_line(message, &mut subject, &clock, limit, &quotable))
            .collect();
        notes.since = messages.iter().any(MessageLine::says_since);
        // Of what the messages cite that are shown.
        let quoted = quotable.iter().filter_map(|finding| {
            let number = subject.number_of(finding.id())?;
            let limit = Some(limit.map_or(MAX_QUOTE, |limit| limit.min(MAX_QUOTE)));
            let of = finding.entity.to_string();
            Some(EvidenceLine { of, finding: finding_line(finding, number, &clock, limit) })
        });
        let quoted = quoted.collect();
        let neighbours = cut.neighbours.iter().filter_map(|at| packet.neighbours.get(*at));
        let mentions = cut.mentions.iter().filter_map(|at| packet.context.mentions.get(*at));
        let own = packet.anomalies.iter().filter(|alert| !frame.lists(alert));
        let own = own.take(MAX_ALERTS).map(|alert| AlertLine::new(&clock, alert));
        Self {
            incident: frame.lines(packet.window, &clock),
            case_file: lines_of_it.unwrap_or_default(),
            unrecorded: case_file.map_or(Vec::new(), |file| {
                file.unrecorded.iter().map(|kind| kinds_word(*kind)).collect()
            }),
            case_file_omitted: case_file.map_or(Vec::new(), |it| it.omitted.clone()),
            silent: names(case_file.map(|file| &file.silent)),
            elsewhere: names(case_file.map(|file| &file.elsewhere)),
            in_case_file,
            entity: packet.entity.to_string(),
            own_alerts: own.collect(),
            findings,
            recorded: packet.context.coverage.as_ref().map(RecordedKinds::of),
            pages_left: packet.context.pages_left,
            queries_left: packet.queries_left,
            neighbours: neighbour_lines(neighbours, &packet.hints),
            mentions: mentions.map(ToString::to_string).collect(),
            messages,
            quoted,
            former: packet.former.as_ref().map(|former| FormerLine::of(former, &clock, limit)),
            notes,
            omitted: cut.omitted.clone(),
            notice: packet.notice.as_ref().map(NoticeLines::of),
            subject,
        }
    }

    pub(super) fn subject(&self) -> &Subject {
        &self.subject
    }
}
