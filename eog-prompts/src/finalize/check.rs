//! What of a model's answer is taken: nothing that the graph, the evidence or the frontier speaks
//! against without a recorded reason.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::belief::ClaimEdge;
use eog_core::evidence::EvidenceTime;
use eog_core::{Diagnosis, EntityId, EvidenceId, Finding, Timestamp};
use eog_evidence::mask_text;
use eog_report::clean::{clean, clean_up_to};
use eog_report::{
    AlertExplained, Author, Deviation, Moment, NARRATIVE_VERSION, NarratedEntity, Narrative,
    Propagation, Refused, rules, words,
};

use super::clock::Clock;
use crate::phases::{
    FinalizeAnswer, FinalizeInput, StatedAlert, StatedAnswer, StatedEntity, StatedMoment,
    StatedPropagation, StatedTime,
};

/// Longest summary that is taken, in characters; the rest is cut.
const MAX_SUMMARY: usize = 1_500;
/// Longest other text that is taken, in characters.
const MAX_TEXT: usize = 600;
/// Most of a model's statements that are quoted as refused.
const MAX_REFUSED: usize = 100;
/// Characters quoted of a refused statement.
const MAX_QUOTED: usize = 160;

/// The narrative that an answer gives, checked against the ledger.
pub(super) fn take(
    diagnosis: &Diagnosis,
    input: &FinalizeInput,
    answer: &FinalizeAnswer,
    model: &str,
) -> Narrative {
    let mut check = Check::new(diagnosis, input);
    let entities = check.entities(&answer.entities);
    let factors = rules::factors(&entities);
    let best_guess = !diagnosis.is_diagnosed() && !factors.is_empty();
    let alerts = check.alerts(&answer.alerts, &factors, best_guess);
    let propagations = check.propagations(&answer.propagations);
    let mut left_out = rules::waiting(diagnosis);
    left_out.extend(input.left_out.iter().cloned());
    let timeline = check.timeline(&answer.timeline, &entities, &mut left_out);
    let summary = match check.text("the summary", &answer.summary, MAX_SUMMARY) {
        Some(summary) if best_guess => format!("Best guess, not a finding: {summary}"),
        Some(summary) => summary,
        None => rules::summary(diagnosis, &entities, &alerts),
    };
    Narrative {
        version: NARRATIVE_VERSION,
        author: Author::Model { name: clean(model).into_owned() },
        confidence: diagnosis.conclusion.confidence,
        best_guess,
        summary,
        timeline,
        entities,
        propagations,
        alerts_explained: alerts,
        refused: check.take_refused(),
        deviations: check.deviations,
        left_out,
    }
}

/// The answers of one contributing factor.
struct Answers {
    what: Option<String>,
    when: Option<EvidenceTime>,
    how: Option<String>,
    /// All that they cite.
    cited: BTreeSet<EvidenceId>,
}

struct Check<'m> {
    diagnosis: &'m Diagnosis,
    input: &'m FinalizeInput,
    clock: Clock,
    refused: Vec<Refused>,
    /// Refused statements beyond those that are kept.
    more: usize,
    deviations: Vec<Deviation>,
}

impl<'m> Check<'m> {
    fn new(diagnosis: &'m Diagnosis, input: &'m FinalizeInput) -> Self {
        let clock = known_times(diagnosis, input);
        Self { diagnosis, input, clock, refused: Vec::new(), more: 0, deviations: Vec::new() }
    }

    fn refuse(&mut self, what: impl AsRef<str>, reason: impl Into<String>) {
        if self.refused.len() < MAX_REFUSED {
            let what = clean_up_to(&mask_text(what.as_ref()), MAX_QUOTED);
            self.refused.push(Refused { what, reason: reason.into() });
        } else {
            self.more += 1;
        }
    }

    fn take_refused(&mut self) -> Vec<Refused> {
        let mut refused = std::mem::take(&mut self.refused);
        if self.more > 0 {
            let what = words::count(self.more, "further statement", "further statements");
            refused.push(Refused { what, reason: "there are too many to list".to_owned() });
        }
        refused
    }

    /// A text made harmless, unless it is empty or states a time of no evidence.
    fn text(&mut self, what: &str, given: &str, limit: usize) -> Option<String> {
        let text = clean_up_to(&mask_text(given), limit);
        if text.is_empty() {
            return None;
        }
        let Some(time) = self.clock.unknown_in(&text) else { return Some(text) };
        let reason =
            format!("it states {time}, which is the time of no evidence; the ledger's words stand");
        self.refuse(format!("{what}: {text}"), reason);
        None
    }

    /// The findings behind numbers, without those that do not exist.
    fn findings(&mut self, what: &str, numbers: &[u32]) -> Vec<&'m Finding> {
        let mut findings = Vec::new();
        for &number in numbers.iter().collect::<BTreeSet<_>>() {
            let found = self.input.id(number).and_then(|id| self.diagnosis.findings.get(id));
            match found {
                Some(finding) => findings.push(finding),
                None => self.refuse(
                    format!("evidence {number} for {what}"),
                    "there is no evidence of that number",
                ),
            }
        }
        findings
    }

    /// The entities involved: as the model states, as far as that stands, with all that it left out.
    fn entities(&mut self, stated: &[StatedEntity]) -> Vec<NarratedEntity> {
        let mut taken: BTreeMap<EntityId, NarratedEntity> = BTreeMap::new();
        for stated in stated {
            let Some(name) = self.diagnosis.entity(&stated.name) else {
                self.refuse(
                    format!("entity {}", stated.name),
                    "it is no entity of this investigation",
                );
                continue;
            };
            if taken.contains_key(&name) {
                self.refuse(format!("entity {name}, once more"), "it was listed already");
                continue;
            }
            let entity = self.entity(&name, stated);
            taken.insert(name, entity);
        }
        for name in self.diagnosis.involved() {
            if !taken.contains_key(name) {
                if self.diagnosis.cause_of(name).is_some() {
                    let what = format!("nothing about {name}, an origin of the frontier");
                    self.refuse(what, "it is taken from the ledger");
                }
                let entity = rules::entity(self.diagnosis, name);
                if !entity.contributing_factor && self.diagnosis.cause_of(name).is_some() {
                    self.deviate(name, false, rules::NOTHING_CHANGED);
                }
                taken.insert(name.clone(), entity);
            }
        }
        let (factors, others): (Vec<_>, Vec<_>) =
            taken.into_values().partition(|entity| entity.contributing_factor);
        factors.into_iter().chain(others).collect()
    }

    fn deviate(&mut self, name: &EntityId, contributing_factor: bool, reason: impl Into<String>) {
        let (entity, reason) = (name.clone(), reason.into());
        self.deviations.push(Deviation { entity, contributing_factor, reason });
    }

    /// One entity of the graph.
    fn entity(&mut self, name: &EntityId, stated: &StatedEntity) -> NarratedEntity {
        let by_rules = rules::entity(self.diagnosis, name);
        let about = format!("the reasoning on {name}");
        let reasoning = self.text(&about, &stated.reasoning, MAX_TEXT);
        let mut cited: BTreeSet<EvidenceId> = self
            .findings(&about, &stated.evidence)
            .into_iter()
            .map(|finding| finding.id().clone())
            .collect();
        let answers = self.role(name, stated, &by_rules);
        let mut entity = NarratedEntity {
            contributing_factor: answers.is_some(),
            what_changed: None,
            when: None,
            how_it_explains: None,
            ..by_rules
        };
        if let Some(answers) = answers {
            cited.extend(answers.cited);
            entity.what_changed = answers.what;
            entity.when = answers.when;
            entity.how_it_explains = answers.how;
        }
        if let Some(reasoning) = reasoning {
            entity.reasoning = reasoning;
        }
        if !cited.is_empty() {
            let findings = self.diagnosis.lookup(&cited);
            entity.evidence = findings.into_iter().map(rules::citation).collect();
        }
        entity
    }

    /// The answers of a contributing factor; none if the entity is none.
    fn role(
        &mut self,
        name: &EntityId,
        stated: &StatedEntity,
        by_rules: &NarratedEntity,
    ) -> Option<Answers> {
        let about = format!("why {name} differs from the frontier");
        let is_frontier = self.diagnosis.cause_of(name).is_some();
        match (stated.contributing_factor, is_frontier) {
            (false, false) => None,
            (false, true) => match self.text(&about, &stated.differs_because, MAX_TEXT) {
                Some(reason) => {
                    self.deviate(name, false, reason);
                    None
                }
                None => {
                    let reason = "it is an origin of the frontier, and no reason is given; taken from the ledger";
                    self.refuse(format!("{name} is no contributing factor"), reason);
                    self.answered(name, stated, by_rules)
                }
            },
            (true, true) => self.answered(name, stated, by_rules),
            (true, false) => {
                let answers = self.answers(name, stated);
                let what = format!("{name} is a contributing factor");
                if let Some(open) = open_question(&answers) {
                    self.refuse(what, format!("demoted: {open}"));
                    return None;
                }
                if !self.diagnosis.is_diagnosed() {
                    return Some(answers);
                }
                let Some(reason) = self.text(&about, &stated.differs_because, MAX_TEXT) else {
                    let reason = "demoted: the frontier does not have it, and no reason is given";
                    self.refuse(what, reason);
                    return None;
                };
                self.deviate(name, true, reason);
                Some(answers)
            }
        }
    }

    /// The answers of an origin of the frontier. The ledger answers what the model does not; where
    /// it cannot, the origin is demoted.
    fn answered(
        &mut self,
        name: &EntityId,
        stated: &StatedEntity,
        by_rules: &NarratedEntity,
    ) -> Option<Answers> {
        let mut answers = self.answers(name, stated);
        if let Some(open) = open_question(&answers) {
            if !by_rules.contributing_factor {
                self.deviate(name, false, format!("demoted: {open}"));
                return None;
            }
            self.refuse(format!("the answers on {name}"), format!("{open}; taken from the ledger"));
        }
        // What changed and when belong together.
        if answers.what.is_none() || answers.when.is_none() {
            answers.what.clone_from(&by_rules.what_changed);
            answers.when = by_rules.when;
            answers.cited.extend(by_rules.evidence.iter().map(|citation| citation.id.clone()));
        }
        if answers.how.is_none() {
            answers.how.clone_from(&by_rules.how_it_explains);
        }
        Some(answers)
    }

    /// The three answers, each only as far as it rests on evidence.
    fn answers(&mut self, name: &EntityId, stated: &StatedEntity) -> Answers {
        let mut cited = BTreeSet::new();
        let what = self.answer(name, "what changed at", &stated.what_changed, true, &mut cited);
        let when = self.when(name, &stated.when, &mut cited);
        let how =
            self.answer(name, "how it explains, of", &stated.how_it_explains, false, &mut cited);
        Answers { what, when, how, cited }
    }

    fn answer(
        &mut self,
        name: &EntityId,
        question: &str,
        stated: &StatedAnswer,
        of_its_own: bool,
        cited: &mut BTreeSet<EvidenceId>,
    ) -> Option<String> {
        let about = format!("{question} {name}");
        let text = self.text(&about, &stated.answer, MAX_TEXT);
        let findings = self.findings(&about, &stated.evidence);
        let holds = |finding: &&Finding| {
            !of_its_own
                || (rules::is_happening(finding.kind) && self.diagnosis.is_own(name, finding))
        };
        if !findings.iter().any(holds) {
            return None;
        }
        cited.extend(findings.iter().map(|finding| finding.id().clone()));
        text
    }

    /// The time of the evidence, whatever the model makes of it.
    fn when(
        &mut self,
        name: &EntityId,
        stated: &StatedTime,
        cited: &mut BTreeSet<EvidenceId>,
    ) -> Option<EvidenceTime> {
        let about = format!("when {name} changed");
        let mut findings = self.findings(&about, &stated.evidence);
        findings.retain(|finding| {
            rules::is_happening(finding.kind) && self.diagnosis.is_own(name, finding)
        });
        findings.sort_by_key(|finding| (finding.kind, finding.time.start()));
        let said = findings.iter().find(|finding| is_time_of(&stated.time, &finding.time));
        let finding = *said.or(findings.first())?;
        if said.is_none() {
            let reason = format!(
                "the evidence cited has no such time; its time, {}, stands",
                words::time(&finding.time)
            );
            self.refuse(format!("{about}: {}", stated.time), reason);
        }
        cited.insert(finding.id().clone());
        Some(finding.time)
    }

    /// The steps of the ledger in the model's words, and such live claims as it adds.
    fn propagations(&mut self, stated: &[StatedPropagation]) -> Vec<Propagation> {
        let steps = rules::propagations(self.diagnosis).into_iter();
        let mut steps: BTreeMap<ClaimEdge, Propagation> = steps
            .map(|step| {
                (ClaimEdge { cause: step.source.clone(), effect: step.target.clone() }, step)
            })
            .collect();
        for stated in stated {
            let what = format!("{} affects {}", stated.source, stated.target);
            let ends =
                self.diagnosis.entity(&stated.source).zip(self.diagnosis.entity(&stated.target));
            let Some((cause, effect)) = ends else {
                self.refuse(what, "an end is no entity of this investigation");
                continue;
            };
            let edge = ClaimEdge { cause, effect };
            let Some(claim) = self.diagnosis.claim(&edge) else {
                self.refuse(what, "no claim of the investigation says so");
                continue;
            };
            let (source, target) = (edge.cause.clone(), edge.effect.clone());
            let condition = self.text(&what, &stated.condition, MAX_TEXT);
            let effect = self.text(&what, &stated.effect, MAX_TEXT);
            let condition = condition.unwrap_or_else(|| claim.condition.clone());
            let effect = effect.unwrap_or_else(|| claim.observed.clone());
            steps.insert(edge, Propagation { source, target, condition, effect });
        }
        steps.into_values().collect()
    }

    /// Whether an alert is explained follows from the factors and claims; a model can only word it,
    /// and add its doubt. Of a guess it can also say that it does not explain an alert.
    fn alerts(
        &mut self,
        stated: &[StatedAlert],
        factors: &BTreeSet<EntityId>,
        best_guess: bool,
    ) -> Vec<AlertExplained> {
        let mut alerts = rules::alerts(self.diagnosis, factors);
        let mut by_number: BTreeMap<usize, &StatedAlert> = BTreeMap::new();
        for stated in stated {
            match usize::try_from(stated.alert).ok().and_then(|number| number.checked_sub(1)) {
                Some(position) if position < alerts.len() => {
                    by_number.entry(position).or_insert(stated);
                }
                _ => {
                    self.refuse(
                        format!("alert {}", stated.alert),
                        "there is no alert of that number",
                    );
                }
            }
        }
        for (position, alert) in alerts.iter_mut().enumerate() {
            let stated = by_number.get(&position);
            if best_guess && alert.explained && !stated.is_some_and(|stated| stated.explained) {
                alert.explained = false;
                alert.explanation =
                    format!("fired on {}; the guess does not explain it", alert.entity);
            }
            let Some(stated) = stated else { continue };
            let what = format!("the explanation of {} on {}", alert.alert, alert.entity);
            if alert.explained && !stated.explained {
                // What the claims say stands, and so does an honest doubt.
                if let Some(doubt) = self.text(&what, &stated.explanation, MAX_TEXT) {
                    alert.explanation =
                        format!("{}; the model doubts it: {doubt}", alert.explanation);
                }
            } else if stated.explained && !alert.explained {
                let reason = "no contributing factor reaches it along claims";
                self.refuse(format!("{what}: {}", stated.explanation), reason);
            } else if let Some(text) = self.text(&what, &stated.explanation, MAX_TEXT) {
                alert.explanation = text;
            }
        }
        alerts
    }

    /// The moments stated, with those of the alerts and of the contributing factors.
    fn timeline(
        &mut self,
        stated: &[StatedMoment],
        entities: &[NarratedEntity],
        left_out: &mut Vec<String>,
    ) -> Vec<Moment> {
        let mut moments: BTreeMap<EvidenceId, (u8, Moment)> = BTreeMap::new();
        for stated in stated {
            let about = format!("the moment \"{}\"", clean_up_to(&stated.what, 60));
            for finding in self.findings(&about, &[stated.evidence]) {
                let mut moment = rules::moment(finding);
                if let Some(what) = self.text(&about, &stated.what, MAX_TEXT) {
                    moment.what = what;
                }
                moments.entry(finding.id().clone()).or_insert((2, moment));
            }
        }
        if moments.is_empty() {
            return rules::timeline(self.diagnosis, entities, left_out);
        }
        let factors = entities.iter().filter(|entity| entity.contributing_factor);
        for citation in factors.flat_map(|factor| &factor.evidence) {
            let Some(finding) = self.diagnosis.findings.get(&citation.id) else { continue };
            if rules::is_happening(finding.kind) {
                moments
                    .entry(citation.id.clone())
                    .or_insert_with(|| (0, rules::moment(finding)))
                    .0 = 0;
            }
        }
        let onsets = rules::onsets(self.diagnosis).map(|moment| (1, moment));
        rules::arrange(onsets.chain(moments.into_values()).collect(), left_out)
    }
}

/// The first question without an answer.
fn open_question(answers: &Answers) -> Option<&'static str> {
    if answers.what.is_none() {
        Some("what changed is not answered with evidence of its own")
    } else if answers.when.is_none() {
        Some("when is not answered with evidence of its own")
    } else if answers.how.is_none() {
        Some("how it explains the alerts is not answered with evidence")
    } else {
        None
    }
}

/// Whether a model's word for a time is that of a finding, to the second.
fn is_time_of(stated: &str, time: &EvidenceTime) -> bool {
    let stated = stated.trim();
    if stated == words::time(time) {
        return true;
    }
    stated.parse::<Timestamp>().is_ok_and(|at| at.as_second() == time.start().as_second())
}

/// Every time that the model was shown.
fn known_times(diagnosis: &Diagnosis, input: &FinalizeInput) -> Clock {
    let mut clock = Clock::default();
    for at in diagnosis.anomalies.iter().flat_map(|a| a.onsets().chain(a.last_seen)) {
        clock.note(at);
    }
    clock.note(diagnosis.window.start());
    clock.note(diagnosis.window.end());
    for line in &input.evidence {
        clock.note_text(&line.time);
        clock.note_text(&line.text);
    }
    for line in &input.entities {
        clock.note_text(&line.summary);
    }
    for line in &input.claims {
        clock.note_text(&line.condition);
        clock.note_text(&line.observed);
    }
    clock
}
