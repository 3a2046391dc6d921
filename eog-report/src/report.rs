//! The view model: the content of every form of a report.

use std::collections::BTreeSet;

use eog_core::contract::{Alternative, FALLBACK_RULE, Term};
use eog_core::diagnosis::{FailedLook, OriginGroup};
use eog_core::{Anomaly, Conclusion, Diagnosis, EntityId, EvidenceId, Finding, StopReason};
use serde::Serialize;

use crate::clean::clean_to;
use crate::lookup::Lookup;
use crate::narrative::Narrative;
use crate::rules;
use crate::words::{self, count};

/// Entities that are named for one reason why evaluations failed.
const MAX_FAILED: usize = 5;

/// Characters shown of why an origin that reaches no alert is an origin.
const MAX_UNLINKED_REASON: usize = 140;

/// The result of an investigation, as every form of a report shows it.
///
/// Made of a [`Diagnosis`] alone; further data of the run goes into its fields.
///
/// ```
/// use eog_core::{Case, Config, Controller, StopReason, Topology, Window};
/// use eog_report::Report;
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let mut report = Report::new("checkout", Controller::new(Config::default(), case).diagnosis());
/// report.stop = StopReason::Cancelled;
/// assert!(eog_report::text(&report, None).contains("INCONCLUSIVE, interrupted"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The title of the incident.
    pub name: String,
    /// What was found.
    pub diagnosis: Diagnosis,
    /// The narrative of the result: by rules, unless a model wrote it.
    pub narrative: Narrative,
    /// Why the investigation ended.
    pub stop: StopReason,
    /// Whether it stopped because its journal could not be written.
    pub is_unstored: bool,
    /// Whether it still runs, so that this is the result so far.
    pub is_running: bool,
    /// What the run did beside the result, unless this is a replay.
    pub run: Option<RunFigures>,
    /// How to show the evidence from the command line, if its source is known.
    pub lookup: Option<Lookup>,
    /// Closed incidents with similar observations, the most similar first, where there is a history to search.
    pub similar: Vec<SimilarCase>,
}

/// A closed incident that is similar to that of a report.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SimilarCase {
    /// The name of the case.
    pub case: String,
    /// How similar the observations are: 1 is the same.
    pub likeness: f64,
    /// Observations that both have, the most specific first.
    pub shared: Vec<String>,
    /// The true cause of the case, in a few words.
    pub truth: String,
}

/// What a run did beside the result. Differs from run to run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RunFigures {
    /// Policy calls made ahead of their turn.
    pub early_calls: u64,
    /// Those whose answer was used.
    pub used_calls: u64,
    /// Those whose answer was not.
    pub wasted_calls: u64,
    /// Fetches of evidence made ahead of their turn and not used.
    pub wasted_fetches: u64,
    /// Retries after transient failures.
    pub retries: u64,
}

/// An alert, and what explains it.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Alert<'r> {
    /// The alert.
    pub anomaly: &'r Anomaly,
    /// The origins that reach it; empty when nothing explains it.
    pub explained_by: Vec<&'r EntityId>,
    /// Whether it began before the change that explains it: its earlier onset is not explained.
    pub began_before: bool,
}

impl Alert<'_> {
    /// In one line: `Errors on web since 10:05`.
    pub fn in_words(&self) -> String {
        let Anomaly { name, entity, onset, .. } = self.anomaly;
        format!("{name} on {entity} since {}", words::instant(*onset))
    }
}

/// Something that was considered and is not named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Considered {
    /// The entity. Empty where a model gave an explanation without one.
    pub entity: String,
    /// The change on record. Empty where it is no change.
    pub change: String,
    /// When it was made.
    pub made: String,
    /// Why it is not named.
    pub why: String,
}

impl Considered {
    /// In one line: `stock: pool changed (10:04): its effects reach no alert`.
    pub fn in_words(&self) -> String {
        let Self { entity, change, made, why } = self;
        match (entity.as_str(), change.as_str()) {
            ("", _) => why.clone(),
            (_, "") => format!("{entity}: {why}"),
            _ => format!("{entity}: {change} ({made}): {why}"),
        }
    }
}

/// A weight of evidence, with its main finding.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub struct Weight<'r> {
    /// The term of the sum.
    pub term: &'r Term,
    /// The finding, if there is one.
    pub finding: Option<&'r Finding>,
}

impl Weight<'_> {
    /// In one line: `+1.4 change: image changed from v1 to v2`.
    pub fn in_words(&self) -> String {
        let text = self.finding.map_or_else(|| self.term.text.clone(), words::finding);
        format!("{} {}: {text}", words::log_odds(self.term.log_odds), self.term.name)
    }
}

impl Report {
    /// The report on a diagnosis, with a narrative by rules. An investigation with work left counts as
    /// interrupted.
    pub fn new(name: impl Into<String>, diagnosis: Diagnosis) -> Self {
        Self {
            name: name.into(),
            narrative: rules::narrate(&diagnosis),
            stop: diagnosis.stop.unwrap_or(StopReason::Cancelled),
            diagnosis,
            is_unstored: false,
            is_running: false,
            run: None,
            lookup: None,
            similar: Vec::new(),
        }
    }

    /// The command that shows a piece of evidence, or else the recorded query.
    pub fn query(&self, finding: &Finding) -> String {
        let command = self.lookup.as_ref().and_then(|lookup| lookup.command(finding));
        command.unwrap_or_else(|| words::query(&finding.source, &finding.query))
    }

    /// Whether no evaluation led to a decision.
    pub fn nothing_was_decided(&self) -> bool {
        let spent = &self.diagnosis.spent;
        spent.evaluations > 0 && spent.failures == spent.evaluations
    }

    /// The name of a group of the frontier that explains an alert.
    pub fn heading(&self, group: &OriginGroup) -> &'static str {
        words::cause(&self.diagnosis.conclusion, group)
    }

    /// Every alert, in the order of the investigation.
    pub fn alerts(&self) -> Vec<Alert<'_>> {
        let Diagnosis { anomalies, conclusion, .. } = &self.diagnosis;
        let alert = |anomaly| Alert { anomaly, explained_by: Vec::new(), began_before: false };
        let mut alerts: Vec<Alert<'_>> = anomalies.iter().map(alert).collect();
        for group in self.diagnosis.causes() {
            for &position in &group.covers {
                let alert = alerts.get_mut(position).into_iter();
                alert.for_each(|alert| alert.explained_by.extend(&group.origins));
            }
        }
        for &position in &conclusion.earlier_onset {
            alerts.get_mut(position).into_iter().for_each(|alert| alert.began_before = true);
        }
        alerts
    }

    /// Origins that reach no alert, each with the beginning of its reason.
    pub fn unlinked_origins(&self) -> Vec<(&EntityId, String)> {
        let origins = self.diagnosis.unlinked().flat_map(|group| &group.origins);
        let why = |origin| {
            let belief = self.diagnosis.belief(origin);
            belief.map(|belief| clean_to(&belief.summary, MAX_UNLINKED_REASON))
        };
        origins.map(|origin| (origin, why(origin).unwrap_or_default())).collect()
    }

    /// The weights of evidence behind the latest judgement of an entity, largest first. Empty where its policy gives none.
    pub fn weights(&self, entity: &EntityId) -> Vec<Weight<'_>> {
        let terms = self.diagnosis.terms.get(entity).into_iter().flatten();
        let weight = |term| Weight { term, finding: self.finding_of(term) };
        terms.map(weight).collect()
    }

    fn finding_of(&self, term: &Term) -> Option<&Finding> {
        self.diagnosis.findings.get(term.evidence.first()?)
    }

    /// The evidence against each named entity, by its weights of evidence.
    pub fn weights_against(&self) -> impl Iterator<Item = (&EntityId, Weight<'_>)> {
        let named = self.diagnosis.causes().flat_map(|group| &group.origins);
        let weights = named.flat_map(|one| self.weights(one).into_iter().map(move |it| (one, it)));
        weights.filter(|(_, weight)| weight.term.log_odds < 0)
    }

    /// How to verify each named cause: what should end once it is repaired, one sentence each.
    pub fn predictions(&self) -> Vec<String> {
        let all = self.diagnosis.predictions();
        all.iter().map(|one| words::prediction(&self.diagnosis, one)).collect()
    }

    /// Closed incidents with similar observations, one line each.
    pub fn similar_in_words(&self) -> impl Iterator<Item = String> {
        self.similar.iter().map(|it| {
            let (likeness, shared) = ((it.likeness * 100.0).round(), it.shared.join(", "));
            format!("{} ({likeness} % alike; {shared}): it was {}", it.case, it.truth)
        })
    }

    /// Other explanations of what is named, or of the best guess, that the policy left open, each with the entity it is about.
    pub fn alternatives(&self) -> impl Iterator<Item = (&EntityId, &Alternative)> {
        let diagnosis = &self.diagnosis;
        let named = diagnosis.causes().flat_map(|group| &group.origins);
        let guess = diagnosis.candidates().take(usize::from(!diagnosis.is_diagnosed()));
        let all = named.chain(guess.map(|ranked| &ranked.entity));
        all.flat_map(|entity| {
            let others = diagnosis.alternatives.get(entity).into_iter().flatten();
            others.map(move |other| (entity, other))
        })
    }

    /// What was considered and is not named: other explanations of what is named, changes on record, then entities with severe
    /// evidence that no such change stands for.
    pub fn also_considered(&self) -> Vec<Considered> {
        let Diagnosis { considered, unnamed, .. } = &self.diagnosis;
        let changed: BTreeSet<&EntityId> = considered.iter().map(|it| &it.change.entity).collect();
        let alternatives = self.alternatives().map(|(entity, other)| Considered {
            entity: other.cause.as_ref().map(ToString::to_string).unwrap_or_default(),
            why: words::alternative(entity, other),
            ..Considered::default()
        });
        let changes = considered.iter().map(|it| Considered {
            entity: it.change.entity.to_string(),
            change: it.change.what.clone(),
            made: it.change.made.to_string(),
            why: words::ruled_out(&it.reason),
        });
        let others = unnamed.iter().filter(|it| !changed.contains(&it.entity));
        let others = others.map(|it| Considered {
            entity: it.entity.to_string(),
            why: words::unnamed(it),
            ..Considered::default()
        });
        alternatives.chain(changes).chain(others).collect()
    }

    /// The verdicts of operators on entities, one line each.
    pub fn said(&self) -> Vec<String> {
        let verdicts = self.diagnosis.verdicts();
        verdicts.map(|(entity, _, word)| format!("{entity}: {}", words::finding(word))).collect()
    }

    /// Every finding that a belief cites, or one of its claims does.
    pub fn evidence(&self) -> Vec<&Finding> {
        let cited: Vec<EvidenceId> =
            self.diagnosis.beliefs.values().flat_map(eog_core::Belief::cited).collect();
        self.diagnosis.lookup(&cited)
    }

    /// Evaluations without a context or decision, each with the reason.
    pub fn failures(&self) -> Vec<String> {
        let failures = self.diagnosis.failures.iter();
        failures.map(|it| format!("entry {}: {}: {}", it.entry, it.entity, it.failure)).collect()
    }

    /// What was rejected of decisions, by entity, each kind once.
    pub fn refusals(&self) -> Vec<String> {
        let refusals = self.diagnosis.refusals.iter();
        let lines = refusals.filter_map(|(entity, refusal)| {
            words::refusal(refusal).map(|words| format!("{entity}: {words}"))
        });
        let mut seen = BTreeSet::new();
        lines.filter(|words| seen.insert(words.clone())).collect()
    }

    /// Notes beside the result, most important first.
    pub fn notes(&self) -> Vec<String> {
        let Diagnosis { conclusion, bootstrap, .. } = &self.diagnosis;
        let Conclusion { stale, damped, unread, .. } = conclusion;
        let mut notes = by_reason(&self.diagnosis.failures);
        let mut list = |what: &str, entities: &[EntityId]| {
            if !entities.is_empty() {
                notes.push(format!("{what}: {}", words::list(entities)));
            }
        };
        list("last evaluation failed", stale);
        let beliefs = self.diagnosis.beliefs.iter();
        let fallen_back = beliefs.filter(|(_, it)| it.rule.as_deref() == Some(FALLBACK_RULE));
        let fallen_back: Vec<EntityId> = fallen_back.map(|(entity, _)| entity.clone()).collect();
        list("judged without the model, which gave no usable answer", &fallen_back);
        list("changed too often, so not evaluated again", damped);
        list("unread messages", unread);
        notes.extend(self.refusals());
        notes.extend(bootstrap.ignored.iter().map(|ignored| format!("left out: {ignored}")));
        notes.extend(bootstrap.warnings.iter().cloned());
        notes
    }

    /// How much of which part of the input could not be used. Shown above the result, which rests
    /// on the rest alone.
    pub fn unusable(&self) -> Vec<String> {
        self.diagnosis.bootstrap.unusable.iter().map(words::unusable).collect()
    }

    /// What it cost, and why it ended.
    pub fn cost(&self) -> String {
        let stop = if self.is_unstored {
            "stopped: the journal could not be written".to_owned()
        } else if self.is_running {
            "still running".to_owned()
        } else {
            self.stop.to_string()
        };
        format!("{}; {stop}", words::spent(&self.diagnosis.spent))
    }

    /// The conclusion in one line.
    pub fn in_one_line(&self) -> String {
        let causes = words::list(self.diagnosis.causes().flat_map(|group| &group.origins));
        let causes = if causes.is_empty() { "no origin".to_owned() } else { causes };
        let causes = crate::clean::clean(&causes).into_owned();
        format!("{causes} ({}), {}", self.diagnosis.conclusion.confidence, self.cost())
    }

    /// A note on the result of an investigation that neither ended nor reached a limit of its
    /// settings.
    pub(crate) fn early(&self) -> &'static str {
        match self.stop {
            _ if self.is_unstored => ", stopped early",
            StopReason::Cancelled => ", interrupted",
            _ => "",
        }
    }
}

impl RunFigures {
    /// What a run did beside the result, if anything.
    pub fn in_words(&self) -> Option<String> {
        let mut parts = Vec::new();
        if self.early_calls > 0 {
            let wasted = match self.wasted_calls {
                0 => String::new(),
                wasted => format!(", {wasted} wasted"),
            };
            let calls = count(self.early_calls, "speculative call", "speculative calls");
            parts.push(format!("{calls}{wasted}"));
        }
        if self.wasted_fetches > 0 {
            let fetches = count(self.wasted_fetches, "wasted fetch", "wasted fetches");
            parts.push(format!("{fetches} of evidence"));
        }
        if self.retries > 0 {
            parts.push(count(self.retries, "retry", "retries"));
        }
        (!parts.is_empty()).then(|| format!("this run: {}", parts.join("; ")))
    }
}

/// Failed evaluations, each reason once: where one thing fails everywhere, other failures are not lost among it.
fn by_reason(failures: &[FailedLook]) -> Vec<String> {
    let mut reasons: Vec<(String, Vec<&FailedLook>)> = Vec::new();
    for it in failures {
        let reason = it.failure.to_string();
        match reasons.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, all)) => all.push(it),
            None => reasons.push((reason, vec![it])),
        }
    }
    let lines = reasons.into_iter().map(|(reason, all)| match all.as_slice() {
        [it] => format!("entry {}: {}: {reason}", it.entry, it.entity),
        all => {
            let mut entities: Vec<&EntityId> = all.iter().map(|it| &it.entity).collect();
            let mut seen = BTreeSet::new();
            entities.retain(|entity| seen.insert(*entity));
            let named = words::list(entities.iter().copied().take(MAX_FAILED));
            let more = entities.len().saturating_sub(MAX_FAILED);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            format!("{} entries: {named}{more}: {reason}", all.len())
        }
    });
    lines.collect()
}

#[cfg(test)]
mod tests {
    use eog_core::Failure;

    use super::*;

    #[test]
    fn a_reason_is_listed_once() {
        let failed = |entry: u64, reason: &str| FailedLook {
            entry,
            entity: EntityId::new(format!("svc-{entry}")).unwrap(),
            failure: Failure::policy(reason),
        };
        let mut all: Vec<FailedLook> = (1..8).map(|entry| failed(entry, "not called")).collect();
        all.push(failed(9, "cannot be reached"));
        let lines = by_reason(&all);
        assert_eq!(lines.len(), 2);
        assert!(
            lines[0].starts_with("7 entries: svc-1, svc-2, svc-3, svc-4, svc-5 and 2 more: "),
            "{lines:?}"
        );
        assert!(
            lines[1].starts_with("entry 9: svc-9: ") && lines[1].ends_with("cannot be reached"),
            "{lines:?}"
        );
    }

    #[test]
    fn a_run_with_nothing_to_tell_says_nothing() {
        assert_eq!(RunFigures::default().in_words(), None);
        let busy = RunFigures { retries: 1, ..RunFigures::default() };
        assert_eq!(busy.in_words().as_deref(), Some("this run: 1 retry"));
    }
}
