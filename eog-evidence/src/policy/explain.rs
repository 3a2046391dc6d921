//! How a decision is explained: the findings that it cites, the largest terms, the summary.

use std::collections::BTreeMap;

use eog_core::contract::Term as WeighedTerm;
use eog_core::incident::Onset;
use eog_core::{EvidenceId, EvidenceKind, Finding, Label};

use super::causes::Cause;
use super::decide::Weighed;
use super::observation::Observation;
use super::terms::{TERMS, Term};
use super::times::{made, surely_before};
use crate::change_words::is_of;
use crate::likeness::CLOSED_CASES;
use crate::text::shorten;

/// At most so many ids for a label or a claim.
const MAX_CITED: usize = 6;
/// So many of the largest terms are given as the explanation.
const MAX_TERMS: usize = 5;
/// Longest quotation of a finding, in characters.
pub(super) const MAX_QUOTE: usize = 160;
/// Longest summary, in characters.
pub(super) const MAX_SUMMARY: usize = 600;
/// Terms that say where an entity stands, or what it is like, and nothing of what is on record of it.
const NOT_OF_RECORD: [&str; 4] = ["reach", "distance", "reaches no alert", CLOSED_CASES];

impl<'a> Weighed<'a> {
    /// Findings that the label rests on, best first.
    pub(super) fn cited(&self, label: Label) -> Vec<EvidenceId> {
        let of = |wanted: &dyn Fn(&Observation<'a>) -> bool| {
            let wanted = self.observed.iter().filter(|one| wanted(&one.what));
            wanted.map(|one| one.finding).collect::<Vec<_>>()
        };
        let decided = of(&|what| matches!(what, Observation::Verdict(_) | Observation::Experiment));
        let (dating, harms) = (self.dating_harms(), self.own_harms());
        let findings: Vec<Vec<&Finding>> = match label {
            Label::Origin => {
                let changes = self.timely_changes().into_iter().take(2).collect();
                vec![decided, changes, dating, of(&Observation::is_of_others), harms]
            }
            Label::Symptom => {
                vec![decided, dating, of(&|what| what.points_to().is_some()), harms]
            }
            Label::Healthy | Label::Defer => {
                let first = self.packet.context.findings.iter().take(3);
                vec![decided, first.collect()]
            }
        };
        few(findings.into_iter().flatten().map(Finding::id))
    }

    /// Own changes that can have been made before the harm began, the latest first: where words of some are in alerts or new
    /// errors, those alone that say most.
    pub(super) fn timely_changes(&self) -> Vec<&'a Finding> {
        let changes = self.observed.iter().filter(|one| one.what == Observation::Change);
        let in_time = |change: &&Finding| {
            self.since.is_none_or(|since| !surely_before(&since, &made(change)))
        };
        let mut changes: Vec<&Finding> = changes.map(|one| one.finding).filter(in_time).collect();
        let said = |change: &Finding| {
            let sizes = self.observed.iter().filter_map(|one| match one.what {
                Observation::ChangeWords(size) if is_of(one.finding, change) => Some(size),
                _ => None,
            });
            (sizes.fold(0.0, f64::max) * 1e3).round() as i64
        };
        let most = changes.iter().map(|change| said(change)).max().unwrap_or(0);
        changes.retain(|change| said(change) == most);
        changes.sort_by_key(|change| std::cmp::Reverse(made(change).latest()));
        changes
    }

    /// The first dated own harm of each kind: the onset counts for others only with the finding that measured it.
    fn dating_harms(&self) -> Vec<&'a Finding> {
        let mut first: BTreeMap<_, (Onset, &'a Finding)> = BTreeMap::new();
        for finding in self.own_harms() {
            let Some(onset) = finding.onset.filter(|_| finding.kind != EvidenceKind::Log) else {
                continue;
            };
            let held = first.entry(finding.signal).or_insert((onset, finding));
            if onset.latest() < held.0.latest() {
                *held = (onset, finding);
            }
        }
        first.into_values().map(|(_, finding)| finding).collect()
    }

    /// Own findings that say that it does worse, alerts last.
    pub(super) fn own_harms(&self) -> Vec<&'a Finding> {
        let harms = self.observed.iter().filter(|one| one.what.is_harm());
        let mut harms: Vec<&Finding> = harms.map(|one| one.finding).collect();
        harms.sort_by_key(|finding| finding.kind == EvidenceKind::Alert);
        harms
    }

    /// The term that speaks most for the entity by what is on record of it.
    pub(super) fn main_term(terms: &[WeighedTerm]) -> Option<String> {
        let mut supporting = terms.iter().filter(|term| term.log_odds > 0);
        let of_record = supporting.find(|term| !NOT_OF_RECORD.contains(&&*term.name));
        of_record.map(|term| term.name.clone())
    }

    /// The largest terms, each with the finding that says most of it; and what closed cases add, however little: it is not of
    /// this incident.
    pub(super) fn terms(&self) -> Vec<WeighedTerm> {
        let mut largest: Vec<(usize, i32)> =
            self.added.iter().copied().enumerate().filter(|(_, added)| *added != 0).collect();
        largest.sort_by_key(|(_, added)| std::cmp::Reverse(added.abs()));
        largest.truncate(MAX_TERMS);
        let weighed = TERMS.iter().zip(&self.weights.terms);
        let weighed: Vec<_> = weighed.collect();
        let term = |(at, added): (usize, i32)| {
            let (term, weight) = weighed.get(at)?;
            let finding = self.finding_of(term);
            let text = match (term.words)(&self.numbers) {
                Some(words) => words,
                None => finding.map_or_else(|| weight.meaning.clone(), quote),
            };
            let evidence = finding.map(|finding| finding.id().clone()).into_iter().collect();
            Some(WeighedTerm { name: term.name.to_owned(), log_odds: added, text, evidence })
        };
        largest.into_iter().filter_map(term).chain(self.closed_cases.clone()).collect()
    }

    /// The finding that has most of a term.
    fn finding_of(&self, term: &Term) -> Option<&'a Finding> {
        let sizes = self.observed.iter().map(|one| ((term.of)(&one.what), one.finding));
        let largest = sizes.filter(|(size, _)| *size > 0.0);
        largest.reduce(|best, one| if one.0 > best.0 { one } else { best }).map(|(_, it)| it)
    }

    pub(super) fn summary(&self, label: Label, causes: &[Cause<'_>]) -> String {
        let harm = self.own_harms().first().map(|finding| quote(finding));
        let change = self.timely_changes().first().map(|change| quote(change));
        let text = match label {
            Label::Origin => {
                let change = change.filter(|_| self.numbers.change > 0.0);
                let parts: Vec<String> =
                    change.map(|it| format!("changed: {it}")).into_iter().chain(harm).collect();
                let note = self.observed.iter().find(|one| one.what.is_of_others());
                match (parts.is_empty(), note) {
                    (true, Some(note)) => quote(note.finding),
                    (true, None) => "no harm of its own is on record".to_owned(),
                    (false, _) => parts.join("; "),
                }
            }
            Label::Symptom => {
                let cause = causes.first().map_or_else(
                    || "no upstream neighbour explains it".to_owned(),
                    |cause| format!("explained by {}", cause.entity),
                );
                harm.map_or_else(|| cause.clone(), |harm| format!("{cause}: {harm}"))
            }
            Label::Healthy => {
                let measured = self.packet.context.findings.iter();
                let first = measured.clone().find(|it| it.kind != EvidenceKind::Note);
                first.map_or_else(
                    || "nothing unusual".to_owned(),
                    |finding| format!("nothing unusual: {}", quote(finding)),
                )
            }
            Label::Defer => match (change, self.packet.context.findings.is_empty()) {
                (Some(change), _) => format!("changed, with no effect on record: {change}"),
                (None, true) => format!(
                    "no findings: nothing is known about {} in the window",
                    self.packet.entity
                ),
                (None, false) => "nothing on record that can be judged".to_owned(),
            },
        };
        shorten(&text, MAX_SUMMARY)
    }
}

pub(super) fn quote(finding: &Finding) -> String {
    shorten(&finding.excerpt, MAX_QUOTE)
}

/// The first few ids, each once.
pub(super) fn few<'a>(ids: impl IntoIterator<Item = &'a EvidenceId>) -> Vec<EvidenceId> {
    let mut kept: Vec<EvidenceId> = Vec::new();
    for id in ids {
        if kept.len() < MAX_CITED && !kept.contains(id) {
            kept.push(id.clone());
        }
    }
    kept
}
