//! What was evaluated on a path, and what came of it, as lines.

use std::sync::Arc;

use eog_core::incident::Neighbour;
use eog_core::ledger::RecordedAnswer;
use eog_core::{EntityId, EvidenceId, Finding};
use eog_evidence::mask_text;
use eog_search::ask::{Known, Scene, Seen, Tested};
use eog_search::lane::Came;
use eog_search::{ToolAnswer, ToolCall};
use serde::Serialize;

use crate::phases::frame::{Frame, IncidentLines};
use crate::phases::lines::{
    ClaimPart, Clock, FindingLine, NeighbourLine, cut, finding_line, label_word, neighbour_lines,
};
use crate::phases::names::Names;

/// Most claims of one evaluation that are shown.
const MAX_CLAIMS: usize = 6;

/// How much of each evaluation, of what was recorded, and of each answer of a tool is shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Detail {
    /// Most findings of one evaluation.
    findings: usize,
    /// Most of the recorded findings.
    known: usize,
    /// Most findings of one answer of a tool.
    answer: usize,
    /// Most lines of one answer of a tool.
    pub(super) lines: usize,
    /// Most characters of one text.
    pub(super) text: usize,
}

impl Detail {
    /// From the most to the least.
    pub const ALL: [Self; 4] = [
        Self { findings: 12, known: 150, answer: 100, lines: 200, text: 600 },
        Self { findings: 6, known: 60, answer: 40, lines: 80, text: 240 },
        Self { findings: 3, known: 30, answer: 20, lines: 40, text: 120 },
        Self { findings: 0, known: 10, answer: 8, lines: 15, text: 80 },
    ];
}

/// Turns what a search saw into lines, and knows what they may name.
pub(super) struct Writer<'a> {
    scene: &'a Arc<Scene>,
    clock: Clock,
    detail: Detail,
    next: u32,
    /// The ids behind the numbers.
    ids: Vec<EvidenceId>,
    named: Named,
}

/// One evaluation, or one call of a tool.
#[derive(Clone, Debug, Serialize)]
pub(super) struct EvaluationLine {
    entity: String,
    /// The tool that was called with what; empty for an evaluation.
    tool: String,
    with: String,
    /// What the tool answered, line by line.
    answer: Vec<String>,
    /// Why it was evaluated.
    why: String,
    /// Empty where it could not be judged.
    label: &'static str,
    /// Since when its harm, or its condition, is known to be there; empty where it is not.
    since: String,
    /// What was judged, or why nothing could be.
    text: String,
    /// What the judgement rests on.
    findings: Vec<FindingLine>,
    /// What else was seen there.
    others: Vec<FindingLine>,
    /// How many of both are not shown.
    more_findings: usize,
    claims: Vec<ClaimPart>,
    proposals: Vec<LeadLine>,
}

/// A hypothesis, and what became of it.
#[derive(Clone, Debug, Serialize)]
pub(super) struct TestedLine {
    #[serde(flatten)]
    evaluation: EvaluationLine,
    /// The kind of cause that it suspects; empty if that is open.
    kind: &'static str,
    focus: String,
    /// Empty if it has none.
    score: String,
    /// Why it has this score.
    because: String,
    gaps: Vec<String>,
}

/// A finding, and its entity.
#[derive(Clone, Debug, Serialize)]
pub(super) struct FoundLine {
    /// The specialist that recorded it; empty if it is the one being asked.
    agent: &'static str,
    entity: String,
    /// One.
    finding: Vec<FindingLine>,
}

/// An entity, and why it may be evaluated.
#[derive(Clone, Debug, Serialize)]
pub(super) struct LeadLine {
    entity: String,
    reason: String,
}

impl<'a> Writer<'a> {
    pub(super) fn new(scene: &'a Arc<Scene>, detail: Detail) -> Self {
        let mut named = Named { scene: Arc::clone(scene), names: Names::default() };
        scene.seeds.iter().for_each(|seed| named.names.add(&seed.entity));
        scene.anomalies.iter().for_each(|alert| named.names.add(&alert.entity));
        Self { scene, clock: Clock::new(scene.window), detail, next: 1, ids: Vec::new(), named }
    }

    pub(super) fn incident(&self) -> IncidentLines {
        let mut lines =
            Frame::of_alerts(&self.scene.anomalies).lines(self.scene.window, &self.clock);
        let request = self.scene.initial_prompt.as_deref().map(mask_text);
        lines.request = request.unwrap_or_default();
        lines
    }

    pub(super) fn path(&mut self, path: &[Seen]) -> Vec<EvaluationLine> {
        path.iter().map(|seen| self.evaluation(seen)).collect()
    }

    pub(super) fn evaluation(&mut self, seen: &Seen) -> EvaluationLine {
        if let Some(call) = seen.action.tool() {
            return self.called(seen, call);
        }
        let evidence = self.findings(seen);
        self.line(seen, evidence)
    }

    /// A call of a tool, and what came of it.
    fn called(&mut self, seen: &Seen, call: &ToolCall) -> EvaluationLine {
        let text = |text: &str, most| cut(&mask_text(text), Some(most));
        let (mut answer, mut findings, mut more) = (Vec::new(), Vec::new(), 0);
        let said = match seen.came() {
            Some(Came::Answered(ToolAnswer { text: answered, evidence })) => {
                let lines: Vec<&str> = answered.lines().collect();
                let shown = lines.iter().take(self.detail.lines);
                answer.extend(shown.map(|line| text(line, self.detail.text)));
                if let Some(evidence) = evidence {
                    let all = &evidence.context.findings;
                    let some: Vec<&Finding> = all.iter().take(self.detail.answer).collect();
                    more = all.len() - some.len();
                    findings = self.finding_lines(&some);
                }
                match lines.len() - answer.len() {
                    0 if lines.is_empty() && findings.is_empty() => "it has nothing".to_owned(),
                    0 => "it answered".to_owned(),
                    left => format!("it answered; {left} more lines are not shown"),
                }
            }
            Some(Came::Refused(reason)) => text(reason, 300),
            Some(Came::Failed(failures)) => {
                let last = failures.last().map_or("it failed", |failure| failure.message.as_str());
                text(last, 300)
            }
            _ => "it was not called yet".to_owned(),
        };
        EvaluationLine {
            tool: text(&call.tool, 100),
            with: text(&call.arguments, self.detail.text),
            answer,
            text: said,
            ..self.line(seen, (Vec::new(), findings, more))
        }
    }

    /// A hypothesis, and what became of it. The evidence stands elsewhere.
    pub(super) fn tested(&mut self, tested: &Tested) -> TestedLine {
        let evaluation = self.line(&tested.seen, (Vec::new(), Vec::new(), 0));
        let text = |text: &str| cut(&mask_text(text), Some(self.detail.text));
        let verdict = tested.verdict.as_ref();
        TestedLine {
            evaluation,
            kind: tested.seen.action.hypothesis().and_then(|it| it.kind).map_or("", |it| it.name()),
            focus: text(tested.seen.action.focus().unwrap_or_default()),
            score: verdict.map(|verdict| verdict.score.to_string()).unwrap_or_default(),
            because: verdict.map(|verdict| text(&verdict.reasoning)).unwrap_or_default(),
            gaps: verdict.into_iter().flat_map(|it| &it.gaps).map(|gap| text(gap)).collect(),
        }
    }

    /// What was recorded, numbered: of these entities first, oldest first. With the ids behind the numbers,
    /// and how many there is no room for.
    pub(super) fn known(
        &mut self,
        known: &[Known],
        first: &[&EntityId],
    ) -> (Vec<FoundLine>, Vec<EvidenceId>, usize) {
        let is_first = |known: &&Known| first.contains(&&known.finding.entity);
        let (of_first, others): (Vec<&Known>, Vec<&Known>) = known.iter().partition(is_first);
        let mut all = [of_first, others].concat();
        let more = all.len().saturating_sub(self.detail.known);
        all.truncate(self.detail.known);
        let ids = all.iter().map(|known| known.finding.id().clone()).collect();
        let lines = all.iter().map(|known| self.found(known.agent.name(), &known.finding));
        (lines.collect(), ids, more)
    }

    /// The findings of an answer, numbered, with the ids behind the numbers, and how many there is no room for.
    pub(super) fn answered(
        &mut self,
        findings: &[Finding],
    ) -> (Vec<FoundLine>, Vec<EvidenceId>, usize) {
        let more = findings.len().saturating_sub(self.detail.answer);
        let shown = &findings[..findings.len() - more];
        let ids = shown.iter().map(|finding| finding.id().clone()).collect();
        (shown.iter().map(|finding| self.found("", finding)).collect(), ids, more)
    }

    fn found(&mut self, agent: &'static str, finding: &Finding) -> FoundLine {
        self.named.names.add(&finding.entity);
        let finding_lines = self.finding_lines(&[finding]);
        FoundLine { agent, entity: finding.entity.to_string(), finding: finding_lines }
    }

    fn line(
        &mut self,
        seen: &Seen,
        (findings, others, more_findings): (Vec<FindingLine>, Vec<FindingLine>, usize),
    ) -> EvaluationLine {
        let entity = seen.action.entity();
        self.named.names.add(entity);
        let belief = seen.belief();
        let claims = belief.map(|belief| belief.claims.as_slice()).unwrap_or_default();
        for claim in claims {
            self.named.names.add(&claim.cause);
            self.named.names.add(&claim.effect);
        }
        let proposals = seen.decision().map(|it| it.proposals.as_slice()).unwrap_or_default();
        proposals.iter().for_each(|proposal| self.named.names.add(&proposal.entity));
        let limit = Some(self.detail.text);
        let text = match (belief, seen.look().map(|look| &look.answer)) {
            (Some(belief), _) => belief.summary.as_str(),
            (None, Some(RecordedAnswer::Failed(failure))) => failure.message.as_str(),
            (None, _) => "it was not looked at yet",
        };
        let since = belief.and_then(|belief| belief.since);
        EvaluationLine {
            entity: entity.to_string(),
            tool: String::new(),
            with: String::new(),
            answer: Vec::new(),
            why: cut(&mask_text(&seen.action.thought), limit),
            label: belief.map(|belief| label_word(belief.label)).unwrap_or_default(),
            since: since.map(|since| self.clock.interval(since)).unwrap_or_default(),
            text: cut(&mask_text(text), limit),
            findings,
            others,
            more_findings,
            claims: claims.iter().take(MAX_CLAIMS).map(|it| ClaimPart::new(it, limit)).collect(),
            proposals: proposals.iter().map(|it| self.lead(&it.entity, &it.reason)).collect(),
        }
    }

    /// What the judgement of an evaluation cites, what else was seen, and how much of both is not shown.
    fn findings(&mut self, seen: &Seen) -> (Vec<FindingLine>, Vec<FindingLine>, usize) {
        let there = seen.context().map(|context| context.findings.as_slice()).unwrap_or_default();
        let cited = seen.belief().map(|belief| belief.evidence.as_slice()).unwrap_or_default();
        let of = |id| there.iter().find(|finding| finding.id() == id);
        let is_other = |finding: &&Finding| !cited.contains(finding.id());
        let mut cited: Vec<&Finding> = cited.iter().filter_map(of).collect();
        cited.truncate(self.detail.findings);
        let mut others: Vec<&Finding> = there.iter().filter(is_other).collect();
        others.truncate(self.detail.findings - cited.len());
        let left = there.len().saturating_sub(cited.len() + others.len());
        (self.finding_lines(&cited), self.finding_lines(&others), left)
    }

    fn finding_lines(&mut self, findings: &[&Finding]) -> Vec<FindingLine> {
        let lines = findings.iter().map(|finding| {
            if let Some(peer) = &finding.peer {
                self.named.names.add(&peer.entity);
            }
            let number = self.next;
            self.next += 1;
            self.ids.push(finding.id().clone());
            finding_line(finding, number, &self.clock, Some(self.detail.text))
        });
        lines.collect()
    }

    fn lead(&self, entity: &EntityId, reason: &str) -> LeadLine {
        let reason = cut(&mask_text(reason), Some(self.detail.text));
        LeadLine { entity: entity.to_string(), reason }
    }

    /// Where the case says to start.
    pub(super) fn seeds(&self) -> Vec<LeadLine> {
        self.scene.seeds.iter().map(|seed| self.lead(&seed.entity, &seed.reason)).collect()
    }

    /// The neighbours of an entity, without those on a path.
    pub(super) fn neighbours(&mut self, entity: &EntityId, path: &[Seen]) -> Vec<NeighbourLine> {
        let all = self.scene.topology.neighbours(entity);
        let is_new = |neighbour: &&Neighbour| {
            let is_there = |seen: &Seen| *seen.action.entity() == neighbour.entity;
            !path.iter().any(|seen| seen.action.is_done() && is_there(seen))
        };
        let new: Vec<&Neighbour> = all.iter().filter(is_new).collect();
        new.iter().for_each(|neighbour| self.named.names.add(&neighbour.entity));
        neighbour_lines(new.into_iter(), &[])
    }

    /// The findings that were numbered so far, from 1.
    pub(super) fn ids(&self) -> &[EvidenceId] {
        &self.ids
    }

    pub(super) fn named(self) -> Named {
        self.named
    }
}

/// What an answer may name: what the prompt shows, and whatever else the dependency graph has.
#[derive(Clone, Debug)]
pub(super) struct Named {
    scene: Arc<Scene>,
    names: Names,
}

impl Named {
    /// The entity of a name.
    ///
    /// # Errors
    /// What is wrong with the name, and which there are.
    pub(super) fn resolve(&self, name: &str) -> Result<EntityId, String> {
        let unknown = match self.names.resolve(name) {
            Ok(entity) => return Ok(entity.clone()),
            Err(unknown) => unknown,
        };
        let declared = EntityId::new(name).ok().filter(|it| self.scene.topology.contains(it));
        declared.ok_or(unknown)
    }
}
