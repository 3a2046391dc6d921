//! The content of a report, in the order of reading.

use std::collections::BTreeSet;

use eog_core::diagnosis::OriginGroup;
use eog_core::{EntityId, StopReason};

use super::lists;
use super::{Block, Cause, Document, Form, Origin, Place, Row, Section, Tone};
use crate::clean::clean_to;
use crate::narrative::{Author, NarratedEntity};
use crate::report::Report;
use crate::words;

/// Characters shown of operator input.
const MAX_SAID: usize = 210;

/// The document of a report.
pub fn document(report: &Report) -> Document<'_> {
    let diagnosis = &report.diagnosis;
    let mut sections = vec![unusable(report), unwritten(report), summary(report), said(report)];
    match diagnosis.is_diagnosed() {
        true => sections.extend(diagnosis.causes().map(|group| cause(report, group))),
        false => sections.push(inconclusive(report)),
    }
    sections.extend(further_factors(report));
    sections.extend([
        spread(report),
        against(report),
        to_be_sure(report),
        next_suspects(report),
        similar(report),
        timeline(report),
        considered(report),
        unlinked(report),
        alerts(report),
        beliefs(report),
        deviations(report),
        rejected(report),
        left_out(report),
        notes(report),
    ]);
    sections.retain(Section::says_something);
    let mut cost = vec![report.cost()];
    cost.extend(report.run.and_then(|run| run.in_words()));
    Document { name: &report.name, about: about(report), sections, cost }
}

impl<'r> Section<'r> {
    fn new(title: impl Into<String>, blocks: Vec<Block<'r>>) -> Self {
        let (subject, remark) = (String::new(), String::new());
        let (title, forms, place) = (title.into(), Form::ALL, Place::Verdict);
        Self { title, subject, remark, blocks, forms, place }
    }

    fn remark(self, remark: impl Into<String>) -> Self {
        Self { remark: remark.into(), ..self }
    }

    fn only(self, forms: &'static [Form]) -> Self {
        Self { forms, ..self }
    }

    fn at(self, place: Place) -> Self {
        Self { place, ..self }
    }

    fn says_something(&self) -> bool {
        !self.blocks.is_empty() || !self.remark.is_empty()
    }
}

fn about(report: &Report) -> Vec<String> {
    let diagnosis = &report.diagnosis;
    let size = format!(
        "{}, {}, window {}",
        words::count(diagnosis.topology.entities().len(), "entity", "entities"),
        words::count(diagnosis.anomalies.len(), "alert", "alerts"),
        words::window(&diagnosis.window)
    );
    let forks = diagnosis.forks.iter().map(|fork| format!("forked {}", words::fork(fork)));
    std::iter::once(size).chain(forks).collect()
}

/// Input that could not be used, and that the result does not rest on.
fn unusable(report: &Report) -> Section<'_> {
    let parts = lists::doubts(report.unusable(), ("file", "files"), (8, 1_000));
    Section::new("Parts of the input could not be used", parts)
}

/// Why no model wrote the summary.
fn unwritten(report: &Report) -> Section<'_> {
    let why = match &report.narrative.author {
        Author::RulesAfterFailure { failure } => Some(Block::Text(Tone::Doubt, failure.clone())),
        _ => None,
    };
    Section::new("No summary by a model", Vec::from_iter(why))
}

/// The summary. One by rules says no more than what follows it, so that only a ticket has it.
fn summary(report: &Report) -> Section<'_> {
    let text = vec![Block::Text(Tone::Plain, report.narrative.summary.clone())];
    match &report.narrative.author {
        Author::Model { name } => Section::new("Summary by", text).remark(format!(" {name}")),
        _ => Section::new("Summary", text).only(&[Form::Ticket]),
    }
}

/// The verdicts of operators on entities, which take precedence over the records.
fn said(report: &Report) -> Section<'_> {
    let said = report.said().iter().map(|line| clean_to(line, MAX_SAID)).collect();
    Section::new("Operator input", lists::plain(said, ("input", "inputs"), (8, 1_000)))
}

fn cause<'r>(report: &'r Report, group: &'r OriginGroup) -> Section<'r> {
    let blocks = vec![Block::Cause(Cause::of(report, group))];
    let remark = format!(" ({})", words::confidence(group));
    let subject = words::shared_change(group).unwrap_or_else(|| words::list(&group.origins));
    Section { subject, ..Section::new(report.heading(group), blocks).remark(remark) }
}

impl<'r> Origin<'r> {
    pub(super) fn of(report: &'r Report, entity: &'r EntityId) -> Self {
        let belief = report.diagnosis.belief(entity);
        let narrated = report.narrative.entities.iter().find(|it| it.name == *entity);
        let why = narrated.map(|it| &it.reasoning).or(belief.map(|it| &it.summary));
        Self {
            entity,
            why: why.cloned().unwrap_or_default(),
            answers: narrated.map(answers).unwrap_or_default(),
            findings: belief.map(|it| report.diagnosis.cited(it)).unwrap_or_default(),
            weights: report.weights(entity),
        }
    }
}

/// The required questions about every contributing factor.
fn answers(of: &NarratedEntity) -> Vec<(&'static str, String)> {
    let answers = [
        ("What changed", of.what_changed.clone()),
        ("When", of.when.as_ref().map(words::time)),
        ("How it explains the rest", of.how_it_explains.clone()),
    ];
    answers.into_iter().filter_map(|(question, answer)| Some((question, answer?))).collect()
}

/// Contributing factors that a model named and the frontier does not have.
fn further_factors(report: &Report) -> impl Iterator<Item = Section<'_>> {
    let title = match report.narrative.best_guess {
        true => "Best guess, not a finding",
        false => "Named by the model, not an origin of the frontier",
    };
    let factors = report.narrative.entities.iter().filter(|entity| entity.contributing_factor);
    let others = factors.filter(|entity| report.diagnosis.cause_of(&entity.name).is_none());
    others.map(move |it| {
        let origin = Origin {
            entity: &it.name,
            why: it.reasoning.clone(),
            answers: answers(it),
            findings: report.diagnosis.lookup(it.evidence.iter().map(|citation| &citation.id)),
            weights: Vec::new(),
        };
        let confidence = report.diagnosis.conclusion.confidence;
        let blocks = vec![Block::Cause(Cause { confidence, shared: None, origins: vec![origin] })];
        let section = Section::new(title, blocks).only(Form::WRITTEN);
        Section { subject: it.name.to_string(), ..section }
    })
}

fn inconclusive(report: &Report) -> Section<'_> {
    let diagnosis = &report.diagnosis;
    if report.nothing_was_decided() {
        let remark = ": every evaluation failed; see the notes";
        return Section::new("No result", Vec::new()).remark(remark);
    }
    let remark = format!("{}: {}", report.early(), words::inconclusive(diagnosis));
    let blocks = lists::candidates(report);
    Section::new("Inconclusive", blocks).remark(remark)
}

fn spread(report: &Report) -> Section<'_> {
    let is_known = report.diagnosis.is_diagnosed() && !report.diagnosis.claims.is_empty();
    let blocks = is_known.then_some(Block::Spread).into_iter().collect();
    Section::new("How it spread", blocks).only(&[Form::Brief, Form::Full, Form::Ticket])
}

/// Doubts about the result, and its limits.
fn against(report: &Report) -> Section<'_> {
    let diagnosis = &report.diagnosis;
    let is_one = diagnosis.causes().count() == 1;
    // With several causes each doubt names its cause.
    let of = |names: String| if is_one { String::new() } else { format!(" ({names})") };
    let doubts = diagnosis.causes().flat_map(|group| {
        let of = of(words::list(&group.origins));
        group.doubts.iter().map(move |doubt| format!("not confirmed{of}: {doubt}"))
    });
    let alerts = report.alerts();
    let open = alerts.iter().filter(|alert| alert.explained_by.is_empty());
    let open = open.map(|alert| format!("not explained: {}", alert.in_words()));
    let early = alerts.iter().filter(|alert| alert.began_before);
    let early = early.map(|alert| {
        let onset = words::instant(alert.anomaly.onset);
        format!(
            "{} on {} began before the change, at {onset}",
            alert.anomaly.name, alert.anomaly.entity
        )
    });
    let weights = report.weights_against();
    let weights =
        weights.map(|(entity, weight)| format!("{}{}", weight.in_words(), of(entity.to_string())));
    let stop = match report.stop {
        StopReason::Converged { .. } | StopReason::Cancelled => None,
        stop => Some(stop.to_string()),
    };
    let running = report.is_running.then(|| "still running; this is the result so far".to_owned());
    let stop = running.or(stop);
    let lines = stop.into_iter().chain(doubts).chain(open).chain(early).chain(weights);
    let mut lines: Vec<String> = lines.collect();
    let mut seen = BTreeSet::new();
    lines.retain(|line| seen.insert(line.clone()));
    let title = if diagnosis.is_diagnosed() { "Evidence against it" } else { "Open questions" };
    Section::new(title, lists::doubts(lines, ("doubt", "doubts"), (6, 40)))
}

/// How to verify the named causes.
fn to_be_sure(report: &Report) -> Section<'_> {
    let mut blocks = lists::plain(report.predictions(), ("cause", "causes"), (3, 8));
    if !blocks.is_empty() {
        let check = "Check it after the repair with `eog verify`.";
        blocks.push(Block::Text(Tone::Aside, check.to_owned()));
    }
    Section::new("To be sure", blocks)
}

/// The entities to check next, should the named causes be wrong.
fn next_suspects(report: &Report) -> Section<'_> {
    let suspects = words::next_suspects(&report.diagnosis);
    Section::new("Next suspects", lists::numbered(suspects, ("suspect", "suspects"), (10, 10)))
}

/// Closed incidents like this one.
fn similar(report: &Report) -> Section<'_> {
    let lines = report.similar_in_words().collect();
    Section::new("Similar incidents", lists::plain(lines, ("incident", "incidents"), (10, 10)))
}

fn timeline(report: &Report) -> Section<'_> {
    Section::new("Timeline", lists::timeline(report)).only(&[Form::Ticket])
}

/// What was considered and is not named.
fn considered(report: &Report) -> Section<'_> {
    Section::new("Also considered", lists::considered(report)).at(Place::Hypotheses)
}

fn unlinked(report: &Report) -> Section<'_> {
    let line = |(origin, why): (&EntityId, String)| {
        let colon = if why.is_empty() { "" } else { ": " };
        format!("{origin}{colon}{why}")
    };
    let lines = report.unlinked_origins().into_iter().map(line).collect();
    let blocks = lists::plain(lines, ("origin", "origins"), (3, 10));
    Section::new("Origins that reach no alert", blocks).at(Place::Gaps)
}

fn alerts(report: &Report) -> Section<'_> {
    let section = Section::new("Alerts", lists::alerts(report)).at(Place::Gaps);
    section.only(Form::UNABRIDGED)
}

fn beliefs(report: &Report) -> Section<'_> {
    Section::new("Beliefs", lists::beliefs(report)).only(&[Form::Ticket])
}

/// Where the narrative and the frontier differ.
fn deviations(report: &Report) -> Section<'_> {
    let line = |it: &crate::narrative::Deviation| {
        let is = if it.contributing_factor { "is" } else { "is not" };
        format!("{} {is} a contributing factor here: {}", it.entity, it.reason)
    };
    let lines = report.narrative.deviations.iter().map(line).collect();
    let blocks = lists::plain(lines, ("difference", "differences"), (0, 1_000));
    Section::new("Where this differs from the frontier", blocks).only(Form::WRITTEN)
}

/// Rejected statements of a model.
fn rejected(report: &Report) -> Section<'_> {
    let refused = report.narrative.refused.iter();
    let lines = refused.map(|it| format!("{}: {}", it.what, it.reason)).collect();
    let blocks = lists::plain(lines, ("statement", "statements"), (0, 1_000));
    Section::new("Rejected statements of the model", blocks).only(Form::WRITTEN)
}

fn left_out(report: &Report) -> Section<'_> {
    let lines = report.narrative.left_out.clone();
    let section = Section::new("Left out", lists::plain(lines, ("part", "parts"), (0, 1_000)));
    section.only(Form::WRITTEN).at(Place::Gaps)
}

/// Notes beside the result.
fn notes(report: &Report) -> Section<'_> {
    let blocks = lists::asides(report.notes(), ("note", "notes"), (4, 1_000));
    Section::new("Notes", blocks).at(Place::Gaps)
}

impl Row {
    /// A row of a table, with its text where there are no tables.
    pub(super) fn of(line: String, cells: impl Into<Vec<String>>) -> Self {
        Self { line, cells: cells.into(), ..Self::default() }
    }
}
