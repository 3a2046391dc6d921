//! The last question to a model: what an investigation found, as a narrative.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::diagnosis::OriginGroup;
use eog_core::evidence::Signal;
use eog_core::{Claim, Diagnosis, EntityId, EvidenceId, EvidenceKind, Finding};
use eog_report::clean::clean;
use eog_report::words;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::phase::Phase;

/// Most entities, claims and alerts that one prompt shows, each.
const MAX_LINES: usize = 100;

/// Fewest of them, however little evidence there is room for.
const MIN_LINES: usize = 10;

/// The phase that writes the result. What it may say is fixed by [`FinalizeInput`]; what it says is
/// checked against the ledger afterwards, by [`Finalizer`](crate::Finalizer).
#[derive(Clone, Copy, Debug)]
pub struct Finalize;

impl Phase for Finalize {
    const NAME: &'static str = "finalize";
    type Input = FinalizeInput;
    type Answer = FinalizeAnswer;

    /// Only what leaves no result at all: single statements are refused one by one later.
    fn problems(input: &FinalizeInput, answer: &FinalizeAnswer) -> Vec<String> {
        let mut problems = Vec::new();
        if answer.summary.trim().is_empty() {
            problems.push("summary: it is empty; say what happened and why".to_owned());
        }
        let is_known = |stated: &StatedEntity| {
            input.entities.iter().any(|line| line.name.as_str() == stated.name)
        };
        if !input.entities.is_empty() && !answer.entities.iter().any(is_known) {
            problems.push(
                "entities: none of them is listed; use the names of the list, letter by letter"
                    .to_owned(),
            );
        }
        problems
    }
}

/// What the model is shown. Numbers stand for ids: `evidence` and `alerts` are numbered from 1.
#[derive(Clone, Debug, Serialize)]
pub struct FinalizeInput {
    /// The window under investigation.
    pub window: String,
    /// How sure the investigation is.
    pub confidence: String,
    /// Whether an origin was found that explains an alert.
    pub has_frontier: bool,
    /// The groups of the frontier that explain an alert.
    pub frontier: Vec<GroupLine>,
    /// Origins that reach no alert.
    pub unlinked: Vec<EntityId>,
    /// Origins that another origin explains.
    pub derived: Vec<EntityId>,
    /// What must be explained.
    pub alerts: Vec<AlertLine>,
    /// The judged entities, contributing factors first.
    pub entities: Vec<EntityLine>,
    /// What explains what.
    pub claims: Vec<ClaimLine>,
    /// The evidence that these cite.
    pub evidence: Vec<EvidenceLine>,
    /// What there was no room for.
    pub left_out: Vec<String>,
    /// The ids behind the numbers of `evidence`.
    #[serde(skip)]
    pub ids: Vec<EvidenceId>,
}

/// A group of the frontier.
#[derive(Clone, Debug, Serialize)]
pub struct GroupLine {
    /// Its origins.
    pub origins: Vec<EntityId>,
    /// How sure.
    pub confidence: String,
    /// The numbers of the alerts that it reaches.
    pub explains: Vec<usize>,
    /// Why it is not confirmed.
    pub doubts: Vec<String>,
}

/// An alert.
#[derive(Clone, Debug, Serialize)]
pub struct AlertLine {
    /// Its number.
    pub number: usize,
    /// Its name.
    pub name: String,
    /// Where it fired.
    pub entity: EntityId,
    /// When it fired, first and again.
    pub times: Vec<String>,
}

/// A judged entity.
#[derive(Clone, Debug, Serialize)]
pub struct EntityLine {
    /// Its name.
    pub name: EntityId,
    /// Its label; empty where it was never judged.
    pub label: String,
    /// Why.
    pub summary: String,
    /// The numbers of the evidence for that.
    pub evidence: Vec<usize>,
    /// Whether it was judged in the same words as the one before it, from nothing that could be cited.
    pub likewise: bool,
}

/// A live claim.
#[derive(Clone, Debug, Serialize)]
pub struct ClaimLine {
    /// The cause.
    pub cause: EntityId,
    /// The effect.
    pub effect: EntityId,
    /// What propagates.
    pub condition: String,
    /// How it shows.
    pub observed: String,
    /// The numbers of the evidence for that.
    pub evidence: Vec<usize>,
}

/// A finding.
#[derive(Clone, Debug, Serialize)]
pub struct EvidenceLine {
    /// Its number.
    pub number: usize,
    /// When it holds.
    pub time: String,
    /// The entity it is about.
    pub entity: EntityId,
    /// What kind of record it is.
    pub kind: EvidenceKind,
    /// What it says.
    pub text: String,
}

impl FinalizeInput {
    /// What is shown of an investigation, with at most so many findings: those behind the frontier
    /// first, then those on the causal paths, then the rest. Other lists hold at most 100 lines, and
    /// as few as 10 where there are fewer findings.
    pub fn of(diagnosis: &Diagnosis, max_evidence: usize) -> Self {
        let mut left_out = Vec::new();
        let lines = MAX_LINES.min(max_evidence.max(MIN_LINES));
        let names = names(diagnosis);
        let entities = first(&names, lines, "entity", "entities", &mut left_out);
        let on_path: BTreeSet<_> = diagnosis.causal.iter().map(Claim::edge).collect();
        let (path, beside): (Vec<&Claim>, Vec<&Claim>) =
            diagnosis.claims.iter().partition(|claim| on_path.contains(&claim.edge()));
        let mut claims: Vec<&Claim> = path.into_iter().chain(beside).collect();
        claims.dedup_by_key(|claim| claim.edge());
        let claims = first(&claims, lines, "claim", "claims", &mut left_out);
        let alerts: Vec<usize> = (0..diagnosis.anomalies.len()).collect();
        let alerts = first(&alerts, lines, "alert", "alerts", &mut left_out);
        let (cited, repeated) = without_repeated(cited(diagnosis, entities, claims));
        let cited = first(&cited, max_evidence, "finding", "findings", &mut left_out);
        let ids: Vec<EvidenceId> = cited.iter().map(|finding| finding.id().clone()).collect();
        let numbers = |wanted: &[EvidenceId]| -> Vec<usize> {
            let wanted = wanted.iter().map(|id| repeated.get(id).unwrap_or(id));
            let wanted: BTreeSet<&EvidenceId> = wanted.collect();
            let numbered = ids.iter().enumerate().filter(|(_, id)| wanted.contains(id));
            numbered.map(|(position, _)| position + 1).collect()
        };
        let line = |text: &str| clean(text).into_owned();
        let numbered: BTreeMap<String, usize> = cited
            .iter()
            .zip(1..)
            .map(|(finding, number)| (line(&words::finding(finding)), number))
            .collect();
        // A claim often says what a finding says: the number is shorter.
        let line_or_number = |text: &str| {
            let text = line(text);
            numbered.get(&text).map_or(text, |number| format!("[{number}]"))
        };
        let causes: Vec<&OriginGroup> = diagnosis.causes().collect();
        let causes = first(&causes, lines, "group", "groups of the frontier", &mut left_out);
        let unlinked: Vec<&EntityId> =
            diagnosis.unlinked().flat_map(|group| &group.origins).collect();
        let what = "origins without an alert";
        let unlinked = first(&unlinked, lines, "origin without an alert", what, &mut left_out);
        let derived = &diagnosis.conclusion.derived_origins;
        let derived = first(derived, lines, "explained origin", "explained origins", &mut left_out);
        let frontier = causes.iter().map(|group| GroupLine {
            origins: group.origins.clone(),
            confidence: group.confidence.to_string(),
            explains: group.covers.iter().take(lines).map(|position| position + 1).collect(),
            doubts: group.doubts.iter().map(|doubt| line(&doubt.to_string())).collect(),
        });
        let alerts = alerts.iter().map(|&position| {
            let anomaly = &diagnosis.anomalies[position];
            AlertLine {
                number: position + 1,
                name: line(&anomaly.name),
                entity: anomaly.entity.clone(),
                times: anomaly.onsets().take(5).map(words::instant).collect(),
            }
        });
        let mut before = None;
        let entities = entities.iter().map(|name| {
            let belief = diagnosis.beliefs.get(*name);
            let uncited = belief.filter(|belief| belief.evidence.is_empty());
            let words = uncited.map(|belief| (belief.label, &belief.summary));
            let likewise = words.is_some() && words == before;
            before = words;
            EntityLine {
                likewise,
                name: (*name).clone(),
                label: belief.map(|belief| belief.label.to_string()).unwrap_or_default(),
                summary: belief.map(|belief| line(&belief.summary)).unwrap_or_default(),
                evidence: belief.map(|belief| numbers(&belief.evidence)).unwrap_or_default(),
            }
        });
        let claims = claims.iter().map(|claim| ClaimLine {
            cause: claim.cause.clone(),
            effect: claim.effect.clone(),
            condition: line_or_number(&claim.condition),
            observed: line_or_number(&claim.observed),
            evidence: numbers(&claim.evidence),
        });
        let evidence = cited.iter().zip(1..).map(|(finding, number)| EvidenceLine {
            number,
            time: words::time(&finding.time),
            entity: finding.entity.clone(),
            kind: finding.kind,
            text: line(&words::finding(finding)),
        });
        Self {
            window: words::window(&diagnosis.window),
            confidence: diagnosis.conclusion.confidence.to_string(),
            has_frontier: diagnosis.is_diagnosed(),
            frontier: frontier.collect(),
            unlinked: unlinked.iter().map(|name| (*name).clone()).collect(),
            derived: derived.to_vec(),
            alerts: alerts.collect(),
            entities: entities.collect(),
            claims: claims.collect(),
            evidence: evidence.collect(),
            left_out,
            ids,
        }
    }

    /// The id behind a number that a model cites.
    pub fn id(&self, number: u32) -> Option<&EvidenceId> {
        self.ids.get(usize::try_from(number).ok()?.checked_sub(1)?)
    }
}

/// The entities involved, then all others that were judged: the best candidates first where
/// nothing was found.
fn names(diagnosis: &Diagnosis) -> Vec<&EntityId> {
    let ranked = diagnosis.conclusion.ranking.iter().take(10).map(|ranked| &ranked.entity);
    // Entities that were judged in the same words are listed together.
    let mut others: Vec<_> = diagnosis.beliefs.iter().collect();
    others.sort_by_key(|(_, belief)| (belief.label, &belief.summary));
    let others = others.into_iter().map(|(name, _)| name);
    let all = ranked.chain(diagnosis.involved()).chain(others);
    let mut seen = BTreeSet::new();
    all.filter(|name| seen.insert(*name)).collect()
}

/// What some entities and claims cite, each finding once, in their order.
fn cited<'m>(
    diagnosis: &'m Diagnosis,
    entities: &[&EntityId],
    claims: &[&Claim],
) -> Vec<&'m Finding> {
    let beliefs = entities.iter().filter_map(|name| Some((*name, diagnosis.beliefs.get(*name)?)));
    let (factors, others): (Vec<_>, Vec<_>) =
        beliefs.partition(|(name, _)| diagnosis.cause_of(name).is_some());
    let mut seen = BTreeSet::new();
    let mut cited: Vec<&Finding> = Vec::new();
    let mut cite = |ids: &[EvidenceId]| {
        let found = diagnosis.lookup(ids);
        cited.extend(found.into_iter().filter(|finding| seen.insert(finding.id().clone())));
    };
    factors.iter().for_each(|(_, belief)| cite(&belief.evidence));
    claims.iter().for_each(|claim| cite(&claim.evidence));
    others.iter().for_each(|(_, belief)| cite(&belief.evidence));
    cited
}

/// Notes on how a change reaches others repeat the change. Those whose change is cited itself are
/// left out; it stands in for them.
fn without_repeated(cited: Vec<&Finding>) -> (Vec<&Finding>, BTreeMap<EvidenceId, EvidenceId>) {
    let mut repeated = BTreeMap::new();
    for note in cited.iter().filter(|it| matches!(it.signal, Signal::Route | Signal::Impact)) {
        let is_cited = |it: &&&Finding| it.kind == EvidenceKind::Change && it.change == note.change;
        if let Some(change) = cited.iter().find(is_cited).filter(|_| note.change.is_some()) {
            repeated.insert(note.id().clone(), change.id().clone());
        }
    }
    let kept = cited.into_iter().filter(|finding| !repeated.contains_key(finding.id()));
    (kept.collect(), repeated)
}

/// The first of a list, saying how many are left out.
fn first<'l, T>(
    list: &'l [T],
    limit: usize,
    one: &str,
    many: &str,
    left_out: &mut Vec<String>,
) -> &'l [T] {
    if list.len() > limit {
        let more = words::count(list.len() - limit, one, many);
        left_out.push(format!("{more} of {} that the model was not shown", list.len()));
    }
    &list[..list.len().min(limit)]
}

/// What the model answers. Every text but `summary` may be empty.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct FinalizeAnswer {
    /// What happened and why, in two to five sentences.
    pub summary: String,
    /// What happened, by the evidence that says so.
    pub timeline: Vec<StatedMoment>,
    /// Who had a part in it.
    pub entities: Vec<StatedEntity>,
    /// How it spread, along the claims.
    pub propagations: Vec<StatedPropagation>,
    /// How each alert came about.
    pub alerts: Vec<StatedAlert>,
}

/// Something that happened.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedMoment {
    /// The number of the evidence.
    pub evidence: u32,
    /// What happened, in a few words.
    pub what: String,
}

/// An entity and its part.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedEntity {
    /// Its name as listed.
    pub name: String,
    /// Whether it caused the incident, rather than showed it.
    pub contributing_factor: bool,
    /// What changed there; empty unless it is a contributing factor.
    pub what_changed: StatedAnswer,
    /// When it changed; empty unless it is a contributing factor.
    pub when: StatedTime,
    /// How that explains the alerts; empty unless it is a contributing factor.
    pub how_it_explains: StatedAnswer,
    /// Why it has this role.
    pub reasoning: String,
    /// The numbers of the evidence for that.
    pub evidence: Vec<u32>,
    /// Why contributing_factor is not what the frontier says; empty where it is.
    pub differs_because: String,
}

/// An answer to a question, and what it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedAnswer {
    /// The answer.
    pub answer: String,
    /// The numbers of the evidence for it.
    pub evidence: Vec<u32>,
}

/// A time, and what it rests on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedTime {
    /// The time as the evidence has it, such as 2026-01-01 10:00:00Z.
    pub time: String,
    /// The numbers of the evidence for it.
    pub evidence: Vec<u32>,
}

/// A step of how it spread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedPropagation {
    /// Where it came from.
    pub source: String,
    /// Where it went.
    pub target: String,
    /// What propagates.
    pub condition: String,
    /// How it shows on the target.
    pub effect: String,
}

/// An alert.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatedAlert {
    /// Its number.
    pub alert: u32,
    /// How it came about.
    pub explanation: String,
    /// Whether a contributing factor reaches it.
    pub explained: bool,
}
