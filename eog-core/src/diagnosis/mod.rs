//! The diagnosis: the data of an investigation for reports, scores and answers, whichever machine
//! made it.

pub(crate) mod conclude;
mod considered;
mod recovery;

pub use conclude::{
    Chance, CitedChange, Conclusion, Confidence, Doubt, MeasuredHarm, OriginGroup, Ranked, Score,
    SharedChange, UnexplainedOnset,
};
pub use considered::{ConsideredChange, RuledOut, Unnamed};
pub use recovery::{Prediction, Return, Returning};

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use crate::belief::{Belief, Claim, ClaimEdge, Label};
use crate::budget::Spent;
use crate::contract::Failure;
use crate::contract::packet::{Alternative, Decision, Term};
use crate::digest::Digest;
use crate::evidence::{EvidenceKind, Finding, Trend, Verdict};
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::{Anomaly, Bootstrap};
use crate::incident::topology::Topology;
use crate::incident::window::Window;
use crate::ledger::Ledger;
use crate::ledger::body::Body;
use crate::ledger::record::{RecordedAnswer, Refusal};
use crate::state::outside_systems;
use crate::stop::StopReason;

/// What an investigation knows, in the order of a report: causes with their confidence, how
/// the effects spread, what is believed of each entity and by which evidence, what is not explained, what was
/// used, and why it ended.
///
/// ```
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let diagnosis = Controller::new(Config::default(), case).diagnosis();
/// assert!(!diagnosis.is_diagnosed());
/// assert_eq!(diagnosis.findings.len(), 0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Diagnosis {
    /// The window under investigation.
    pub window: Window,
    /// The declared dependency graph.
    pub topology: Topology,
    /// What must be explained, with the anomalies that were observed on the way.
    pub anomalies: Vec<Anomaly>,
    /// How the start was chosen, which alerts were left out, and the notes of the readers of the
    /// input.
    pub bootstrap: Bootstrap,
    /// The first policy, if the ledger names it.
    pub policy: Option<String>,
    /// Causes with their confidence and doubts, what they cover, and what nothing explains.
    pub conclusion: Conclusion,
    /// All judged entities, best first, also where an origin was found: by what speaks for each, without
    /// those that an operator ruled out.
    pub ranking: Vec<Ranked>,
    /// Every change on record that was in time and in reach of an anomaly and is not named, with why.
    pub considered: Vec<ConsideredChange>,
    /// Every entity whose evidence was severe and that is not named, by name.
    pub unnamed: Vec<Unnamed>,
    /// What was weighed for each entity in its latest decision and rejected, best first.
    pub alternatives: BTreeMap<EntityId, Vec<Alternative>>,
    /// The weights of evidence behind the latest decision on each entity, largest first, where its policy gives any.
    pub terms: BTreeMap<EntityId, Vec<Term>>,
    /// Every belief, those on outside systems among them.
    pub beliefs: BTreeMap<EntityId, Belief>,
    /// Outside systems that live claims call a cause ([`Claim::outside`]), by name: origins outside of the topology.
    pub outside: BTreeSet<EntityId>,
    /// Every finding that a context or the start of the investigation held.
    pub findings: BTreeMap<EvidenceId, Finding>,
    /// Every live claim, by cause and effect. Both ends may make the same claim; the effect's own
    /// words come first.
    pub claims: Vec<Claim>,
    /// The live claims that follow from an explaining origin, one for each cause and effect.
    pub causal: Vec<Claim>,
    /// How many entities still wait to be evaluated.
    pub waiting: usize,
    /// Evaluations that led to no answer, oldest first.
    pub failures: Vec<FailedLook>,
    /// What was rejected of answers, oldest first.
    pub refusals: Vec<(EntityId, Refusal)>,
    /// The forks of the ledger, oldest first.
    pub forks: Vec<ForkTaken>,
    /// What was used.
    pub spent: Spent,
    /// Why the investigation ended; `None` while something is left to do.
    pub stop: Option<StopReason>,
    /// Which findings each entity was judged with.
    seen: BTreeMap<EntityId, BTreeSet<EvidenceId>>,
    /// The entities that explain each entity by a live claim.
    explaining: BTreeMap<EntityId, BTreeSet<EntityId>>,
}

/// An evaluation of an entity that led to no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedLook {
    /// The ledger entry.
    pub entry: u64,
    /// The entity.
    pub entity: EntityId,
    /// Why there is no answer.
    pub failure: Failure,
}

/// A place where a ledger forked from the one it was copied from.
#[derive(Clone, Debug, PartialEq)]
pub struct ForkTaken {
    /// The last entry that both share.
    pub at: u64,
    /// The hash of the parent's last entry.
    pub parent: Digest,
    /// The policy from there on, if the fork names one.
    pub policy: Option<String>,
    /// The settings of the machine before and after, as JSON, if they are others from there on.
    pub settings: Option<(Value, Value)>,
}

/// What a ledger does not hold of an investigation.
pub(crate) struct Standing<'s> {
    pub(crate) topology: &'s Topology,
    pub(crate) anomalies: &'s [Anomaly],
    pub(crate) beliefs: BTreeMap<EntityId, Belief>,
    pub(crate) conclusion: Conclusion,
    pub(crate) ranking: Vec<Ranked>,
    pub(crate) waiting: usize,
    pub(crate) spent: Spent,
    pub(crate) stop: Option<StopReason>,
}

impl Diagnosis {
    /// Gathers what a ledger holds. Linear in the ledger.
    pub(crate) fn gather<B: Body>(ledger: &Ledger<B>, standing: Standing<'_>) -> Self {
        let Some(opening) = ledger.opening() else {
            unreachable!("every machine opens its ledger with its case")
        };
        let Standing { topology, anomalies, beliefs, conclusion, ranking, waiting, spent, stop } =
            standing;
        let claims = live_claims(&beliefs);
        let outside = outside_beliefs(&beliefs);
        let cited = |(system, belief): (&EntityId, &Belief)| (system.clone(), belief.cited());
        let seen = outside.iter().map(cited).collect();
        let systems = outside.keys().cloned().collect();
        let mut diagnosis = Self {
            window: opening.case.window,
            topology: topology.clone(),
            anomalies: anomalies.to_vec(),
            bootstrap: opening.case.bootstrap.clone(),
            policy: opening.policy.map(str::to_owned),
            causal: causal_claims(&conclusion, &claims),
            conclusion,
            ranking,
            considered: Vec::new(),
            unnamed: Vec::new(),
            alternatives: BTreeMap::new(),
            terms: BTreeMap::new(),
            beliefs: beliefs.into_iter().chain(outside).collect(),
            outside: systems,
            findings: BTreeMap::new(),
            explaining: explaining(&claims),
            claims,
            waiting,
            failures: Vec::new(),
            refusals: Vec::new(),
            forks: ForkTaken::all(ledger),
            spent,
            stop,
            seen,
        };
        opening.case.bootstrap.evidence.iter().for_each(|finding| diagnosis.note(finding));
        for entry in ledger.entries() {
            diagnosis.take_in(ledger, entry.seq, &entry.body);
        }
        if let Some(record) = &opening.case.record {
            diagnosis.considered = considered::changes(&diagnosis, record);
        }
        diagnosis.unnamed = considered::unnamed(&diagnosis);
        diagnosis
    }

    fn take_in<B: Body>(&mut self, ledger: &Ledger<B>, entry: u64, body: &B) {
        let Some(look) = body.look() else { return };
        if let Some(record) = look.context {
            record.body.iter().flat_map(|body| &body.findings).for_each(|f| self.note(f));
            let context = ledger.context(&record.digest);
            let findings = context.into_iter().flat_map(|context| &context.findings);
            let seen = self.seen.entry(look.entity.clone()).or_default();
            seen.extend(findings.map(|finding| finding.id().clone()));
        }
        if let RecordedAnswer::Failed(failure) = look.answer {
            let (entity, failure) = (look.entity.clone(), failure.clone());
            self.failures.push(FailedLook { entry, entity, failure });
        }
        if let Some(decision) = decision(ledger, look.answer) {
            self.alternatives.insert(look.entity.clone(), decision.alternatives.clone());
            self.terms.insert(look.entity.clone(), decision.terms.clone());
        }
        let refusals = look.refusals.iter().map(|refusal| (look.entity.clone(), refusal.clone()));
        self.refusals.extend(refusals);
    }

    fn note(&mut self, finding: &Finding) {
        self.findings.entry(finding.id().clone()).or_insert_with(|| finding.clone());
    }

    /// Whether an origin was found that explains at least one alert.
    pub fn is_diagnosed(&self) -> bool {
        self.conclusion.confidence != Confidence::Inconclusive
    }

    /// The groups of the frontier that explain something.
    pub fn causes(&self) -> impl Iterator<Item = &OriginGroup> {
        self.conclusion.frontier.iter().filter(|group| !group.covers.is_empty())
    }

    /// The group of the frontier that an entity explains something with.
    pub fn cause_of(&self, entity: &EntityId) -> Option<&OriginGroup> {
        self.causes().find(|group| group.origins.contains(entity))
    }

    /// Whether an entity is an origin whose judgement changed too often to be settled, and that is not named since another
    /// origin explains an anomaly. Where no origin is named, no origin is passed over: it would be named if it reached an
    /// anomaly.
    pub fn is_passed_over(&self, entity: &EntityId) -> bool {
        self.belief(entity).is_some_and(|belief| belief.label == Label::Origin)
            && self.conclusion.damped.contains(entity)
            && self.causes().next().is_some()
            && self.cause_of(entity).is_none()
    }

    /// The candidates where no origin was found that explains an alert, best first: origins that reach none, then the
    /// rest of the ranking without those that are judged healthy, unless the evidence for them as the origin outweighs
    /// that against them. Empty where an origin was found. The first is the best guess.
    pub fn candidates(&self) -> impl Iterator<Item = &Ranked> {
        let ranking = &self.conclusion.ranking;
        let others = ranking.iter().filter(|ranked| match ranked.label {
            Label::Origin => false,
            Label::Healthy => ranked.score.log_odds > Some(0),
            Label::Symptom | Label::Defer => true,
        });
        ranking.iter().filter(|ranked| ranked.label == Label::Origin).chain(others)
    }

    /// The entities that the investigation names, however sure it is: the origins that explain an alert, else
    /// its best guess.
    pub fn choice(&self) -> BTreeSet<&EntityId> {
        let causes: BTreeSet<&EntityId> = self.causes().flat_map(|group| &group.origins).collect();
        if causes.is_empty() {
            return self.candidates().take(1).map(|guess| &guess.entity).collect();
        }
        causes
    }

    /// Whether there are alerts, and every entity with one is judged healthy: nothing is wrong by what was measured.
    pub fn is_quiet(&self) -> bool {
        let is_well = |anomaly: &Anomaly| {
            let belief = self.belief(&anomaly.entity);
            belief.is_some_and(|belief| belief.label == Label::Healthy)
        };
        !self.anomalies.is_empty() && self.anomalies.iter().all(is_well)
    }

    /// Which entities to check next, should the causes that are named be wrong, best first: those that were judged,
    /// are in no group of the frontier, and were not found healthy. Empty where nothing is named; then there are
    /// [`candidates`](Self::candidates).
    pub fn next_suspects(&self) -> impl Iterator<Item = &Ranked> {
        let is_named = |ranked: &&Ranked| {
            self.conclusion.frontier.iter().any(|group| group.origins.contains(&ranked.entity))
        };
        let judged = self.ranking.iter().filter(|_| self.is_diagnosed());
        judged.filter(move |ranked| ranked.label != Label::Healthy && !is_named(ranked))
    }

    /// The groups of the frontier that explain nothing.
    pub fn unlinked(&self) -> impl Iterator<Item = &OriginGroup> {
        self.conclusion.frontier.iter().filter(|group| group.covers.is_empty())
    }

    /// The belief about one entity, if it was judged.
    pub fn belief(&self, entity: &EntityId) -> Option<&Belief> {
        self.beliefs.get(entity)
    }

    /// The findings that a belief cites, changes first, then by time.
    pub fn cited(&self, belief: &Belief) -> Vec<&Finding> {
        self.lookup(&belief.evidence)
    }

    /// The findings behind ids: changes first, what is as usual last, each by kind and time. Ids of findings that no context of
    /// this investigation held are left out.
    pub fn lookup<'i>(&self, ids: impl IntoIterator<Item = &'i EvidenceId>) -> Vec<&Finding> {
        let unique: BTreeSet<&EvidenceId> = ids.into_iter().collect();
        let mut findings: Vec<&Finding> =
            unique.into_iter().filter_map(|id| self.findings.get(id)).collect();
        let is_usual = |it: &Finding| it.trend == Trend::Steady && it.kind != EvidenceKind::Change;
        findings.sort_by_key(|it| (is_usual(it), it.kind, it.time.start(), it.id().clone()));
        findings
    }

    /// The groups that cover an anomaly.
    pub fn explained_by(&self, anomaly: usize) -> Vec<&OriginGroup> {
        self.causes().filter(|group| group.covers.contains(&anomaly)).collect()
    }

    /// Entities on a causal path, origins first, then by name.
    pub fn involved(&self) -> Vec<&EntityId> {
        let origins: BTreeSet<&EntityId> = self.causes().flat_map(|group| &group.origins).collect();
        let ends = self.causal.iter().flat_map(|claim| [&claim.cause, &claim.effect]);
        let symptoms = self.beliefs.iter().filter(|(_, belief)| belief.label == Label::Symptom);
        let alerting = self.anomalies.iter().map(|anomaly| &anomaly.entity);
        let others: BTreeSet<&EntityId> =
            ends.chain(symptoms.map(|(entity, _)| entity)).chain(alerting).collect();
        origins.iter().copied().chain(others.difference(&origins).copied()).collect()
    }

    /// The entity of this name, if the investigation has one: declared, judged, claimed or alerting.
    pub fn entity(&self, name: &str) -> Option<EntityId> {
        let entity = EntityId::new(name).ok()?;
        let is_known = self.topology.contains(&entity)
            || self.beliefs.contains_key(&entity)
            || self.claims.iter().any(|c| c.cause == entity || c.effect == entity)
            || self.anomalies.iter().any(|anomaly| anomaly.entity == entity);
        is_known.then_some(entity)
    }

    /// The findings that an entity was judged with, in any of its contexts.
    pub fn judged_with(&self, entity: &EntityId) -> impl Iterator<Item = &Finding> {
        let seen = self.seen.get(entity).into_iter().flatten();
        seen.filter_map(|id| self.findings.get(id))
    }

    /// The verdicts of operators, by entity: the findings that hold one.
    pub fn verdicts(&self) -> impl Iterator<Item = (&EntityId, Verdict, &Finding)> {
        self.seen.keys().flat_map(|entity| {
            let own = self.judged_with(entity).filter(move |finding| finding.entity == *entity);
            own.filter_map(move |finding| Some((entity, finding.verdict()?, finding)))
        })
    }

    /// Whether a finding is one of the entity itself: about it, or part of what it was judged with.
    pub fn is_own(&self, entity: &EntityId, finding: &Finding) -> bool {
        finding.entity == *entity
            || self.seen.get(entity).is_some_and(|seen| seen.contains(finding.id()))
    }

    /// The live claim that one entity explains another, in the effect's own words if it has any.
    pub fn claim(&self, edge: &ClaimEdge) -> Option<&Claim> {
        self.claims.iter().find(|claim| claim.edge() == *edge)
    }

    /// Everything that some entities reach over live claims, themselves included.
    pub fn reached_from(&self, start: impl IntoIterator<Item = EntityId>) -> BTreeSet<EntityId> {
        closure(start, &self.claims)
    }
}

impl ForkTaken {
    /// Every fork that a ledger went through, oldest first.
    pub fn all<B: Body>(ledger: &Ledger<B>) -> Vec<Self> {
        let Some(opening) = ledger.opening() else { return Vec::new() };
        let (mut policy, mut settings) = (opening.policy, opening.settings());
        let mut forks = Vec::new();
        for entry in ledger.entries() {
            let Some(fork) = entry.body.fork() else { continue };
            let is_other = fork.names_policy || fork.policy != policy;
            let judge = fork.policy.filter(|_| is_other);
            policy = fork.policy.or(policy);
            let changed = fork.settings().map(|after| {
                let before = std::mem::replace(&mut settings, after.clone());
                (before, after)
            });
            forks.push(Self {
                at: entry.seq.saturating_sub(1),
                parent: fork.parent,
                policy: judge.map(str::to_owned),
                settings: changed,
            });
        }
        forks
    }

    /// The settings that are others from there on, in the order of their names.
    pub fn changed_settings(&self) -> Vec<ChangedSetting> {
        let mut changed = Vec::new();
        if let Some((before, after)) = &self.settings {
            compare(String::new(), before, after, &mut changed);
        }
        changed
    }
}

/// A setting before and after a fork.
#[derive(Clone, Debug, PartialEq)]
pub struct ChangedSetting {
    /// Its path within the settings, such as `budget.hops`.
    pub name: String,
    /// Its value before, as JSON.
    pub from: Value,
    /// Its value after, as JSON.
    pub to: Value,
}

/// Compares settings part by part, as far down as both have parts. A setting that one of them leaves out
/// is null there: programs before it was added, and settings that are not in use, do not write it.
fn compare(name: String, from: &Value, to: &Value, changed: &mut Vec<ChangedSetting>) {
    if from == to {
        return;
    }
    let (Some(a), Some(b)) = (from.as_object(), to.as_object()) else {
        return changed.push(ChangedSetting { name, from: from.clone(), to: to.clone() });
    };
    // Whether serde_json keeps an order of its own is up to other crates of a build.
    let keys: BTreeSet<&String> = a.keys().chain(b.keys()).collect();
    for key in keys {
        let part = if name.is_empty() { key.clone() } else { format!("{name}.{key}") };
        let of = |settings: &Map<String, Value>| settings.get(key).cloned().unwrap_or(Value::Null);
        compare(part, &of(a), &of(b), changed);
    }
}

/// The decision that an answer is, or repeats.
fn decision<'l, B: Body>(
    ledger: &'l Ledger<B>,
    answer: &'l RecordedAnswer,
) -> Option<&'l Decision> {
    match answer {
        RecordedAnswer::Decided(decision) => Some(decision),
        RecordedAnswer::Remembered { entry } => {
            let entry = ledger.entry(*entry)?;
            match entry.body.look()?.answer {
                RecordedAnswer::Decided(decision) => Some(decision),
                RecordedAnswer::Remembered { .. } | RecordedAnswer::Failed(_) => None,
            }
        }
        RecordedAnswer::Failed(_) => None,
    }
}

/// What claims say of outside systems: an origin, with their words and their evidence.
fn outside_beliefs(beliefs: &BTreeMap<EntityId, Belief>) -> BTreeMap<EntityId, Belief> {
    let systems = outside_systems(beliefs.values(), |entity| beliefs.contains_key(entity));
    let belief = |(system, claims): (&EntityId, Vec<&Claim>)| {
        let evidence: BTreeSet<EvidenceId> =
            claims.iter().flat_map(|claim| claim.evidence.iter().cloned()).collect();
        let words: BTreeSet<&str> = claims.iter().map(|claim| claim.condition.as_str()).collect();
        let summary = words.into_iter().collect::<Vec<_>>().join("; ");
        let evidence = evidence.into_iter().collect();
        (system.clone(), Belief { evidence, ..Belief::new(Label::Origin, summary) })
    };
    systems.into_iter().map(belief).collect()
}

fn explaining(claims: &[Claim]) -> BTreeMap<EntityId, BTreeSet<EntityId>> {
    let mut explaining: BTreeMap<EntityId, BTreeSet<EntityId>> = BTreeMap::new();
    for claim in claims {
        explaining.entry(claim.effect.clone()).or_default().insert(claim.cause.clone());
    }
    explaining
}

fn live_claims(beliefs: &BTreeMap<EntityId, Belief>) -> Vec<Claim> {
    let mut owned: Vec<(&EntityId, &Claim)> = beliefs
        .iter()
        .flat_map(|(owner, belief)| belief.claims.iter().map(move |claim| (owner, claim)))
        .collect();
    owned.sort_by_key(|(owner, claim)| (claim.edge(), claim.effect != **owner));
    owned.into_iter().map(|(_, claim)| claim.clone()).collect()
}

fn causal_claims(conclusion: &Conclusion, claims: &[Claim]) -> Vec<Claim> {
    let explaining = conclusion.frontier.iter().filter(|group| !group.covers.is_empty());
    let reached = closure(explaining.flat_map(|group| group.origins.clone()), claims);
    let mut causal: Vec<Claim> =
        claims.iter().filter(|claim| reached.contains(&claim.cause)).cloned().collect();
    causal.dedup_by_key(|claim| claim.edge());
    causal
}

/// Everything reached over claims, the start included.
fn closure(start: impl IntoIterator<Item = EntityId>, claims: &[Claim]) -> BTreeSet<EntityId> {
    let mut effects: BTreeMap<&EntityId, Vec<&EntityId>> = BTreeMap::new();
    for claim in claims {
        effects.entry(&claim.cause).or_default().push(&claim.effect);
    }
    let mut reached: BTreeSet<EntityId> = start.into_iter().collect();
    let mut queue: Vec<EntityId> = reached.iter().cloned().collect();
    while let Some(entity) = queue.pop() {
        for effect in effects.get(&entity).into_iter().flatten() {
            if reached.insert((*effect).clone()) {
                queue.push((*effect).clone());
            }
        }
    }
    reached
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_setting_that_was_not_written_before_is_the_only_one_shown() {
        use crate::controller::Config;
        use crate::controller::Wake;
        let settings = |config: &Config| serde_json::to_value(config).unwrap();
        let before = Config { widening: None, ..Config::default() };
        let with = |from: &Config, to: &Config| {
            let mut changed = Vec::new();
            compare(String::new(), &settings(from), &settings(to), &mut changed);
            let names = changed.into_iter().map(|it| (it.name, it.from, it.to));
            names.collect::<Vec<_>>()
        };
        assert!(settings(&before).get("widening").is_none());
        let widening = settings(&Config::default())["widening"].clone();
        let shown = |from: &Value, to: &Value| [("widening".to_owned(), from.clone(), to.clone())];
        assert_eq!(with(&before, &Config::default()), shown(&Value::Null, &widening));
        assert_eq!(with(&Config::default(), &before), shown(&widening, &Value::Null));
        let other = Config { wake: Wake::Visited, cooldown: 7, ..before.clone() };
        let names: Vec<String> = with(&before, &other).into_iter().map(|it| it.0).collect();
        assert_eq!(names, ["cooldown", "wake"]);
        assert_eq!(with(&before, &before), []);
    }
}
