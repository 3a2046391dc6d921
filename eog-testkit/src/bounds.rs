//! The bounds that the algorithm states, checked as numbers on a ledger.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use eog::controller::{ChangeRule, Checks, Damping, EntryBody, Evaluation, Outcome, Reason, Wake};
use eog::ledger::{Observation, RecordedAnswer};
use eog::{Config, Digest, EntityId, EvidenceId, Ledger, LocalContext};

use crate::assert::{Asserted, assert_that};

/// Longest text of a decision that a belief holds, in characters, with the sign that it was cut.
const MAX_TEXT_CHARS: u64 = 2_001;
/// How often an entity is evaluated as a dead end, at most, in each epoch.
const MAX_DEAD_ENDS: u64 = 2;
/// How often an entity is asked for a second opinion, at most, in each epoch.
const MAX_SECOND_OPINIONS: u64 = 3;

/// Every stated bound of the algorithm holds of what happened, by its ledger alone. The statements, with
/// their proof, are those of [`Bound`] and of the crate documentation of `eog-core`.
///
/// # Panics
/// When one does not. The message names the bound, says what is possible at most and what was found, and
/// shows the ledger lines of the entity in question.
///
/// ```
/// use eog::Config;
/// use eog_testkit::{MemoryContext, assert_bounds, healthy, policy_fn, run, seeded, topology};
/// let case = seeded(topology("S1 calls S2"), ["S1"]);
/// let run = run(Config::default(), case, &MemoryContext::default(), &policy_fn(healthy));
/// assert_bounds(&run);
/// ```
#[track_caller]
pub fn assert_bounds<T: Asserted + ?Sized>(subject: &T) {
    assert_that(subject).keeps_its_bounds();
}

/// A bound that the algorithm states.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Bound {
    /// At most `max_entities` entities take part.
    Entities,
    /// At most `max_visits` visits of an entity in each epoch. Turning a page is no visit.
    Visits,
    /// At most `flip_threshold + 1` flips of an entity in each epoch: the last one damps it.
    Flips,
    /// A damped entity is not evaluated again in its epoch.
    Damping,
    /// At most `1 + (flip_threshold + 1) + |its evidence|` broadcasts of an entity, of which evidence counts
    /// up to `max_evidence`.
    Broadcasts,
    /// At most two evaluations of an entity as a dead end in each epoch.
    DeadEnds,
    /// At most three second opinions of an entity in each epoch.
    SecondOpinions,
    /// At most the larger of `briefing.pages` and `briefing.queries` further pages of an entity's context and answers to queries in
    /// each epoch.
    Pages,
    /// At most `max_proposals` proposals are taken from a decision.
    Proposals,
    /// At most 2,000 characters of each text of a decision are taken over.
    Text,
    /// At most `budget.hops` evaluations that are not answered from memory.
    Hops,
    /// At most `|V| + Σ broadcasts · degree` evaluations beside dead ends, second opinions and pages, and
    /// one more for each re-activation by an observation.
    Evaluations,
}

impl Bound {
    /// All of them, in the order in which they are checked.
    pub const ALL: [Self; 12] = [
        Self::Entities,
        Self::Visits,
        Self::Flips,
        Self::Damping,
        Self::Broadcasts,
        Self::DeadEnds,
        Self::SecondOpinions,
        Self::Pages,
        Self::Proposals,
        Self::Text,
        Self::Hops,
        Self::Evaluations,
    ];
}

/// As it is named in a message, such as `second opinions`.
impl fmt::Display for Bound {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Entities => "entities",
            Self::Visits => "visits",
            Self::Flips => "flips",
            Self::Damping => "damping",
            Self::Broadcasts => "broadcasts",
            Self::DeadEnds => "dead ends",
            Self::SecondOpinions => "second opinions",
            Self::Pages => "pages",
            Self::Proposals => "proposals",
            Self::Text => "text",
            Self::Hops => "hops",
            Self::Evaluations => "evaluations",
        })
    }
}

/// A bound that does not hold of a ledger.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the bound on {bound} is broken: {what}: {found}, at most {allowed} possible ({why})")]
#[non_exhaustive]
pub struct BrokenBound {
    /// Which one.
    pub bound: Bound,
    /// The entity, where the bound speaks of one.
    pub entity: Option<EntityId>,
    /// What was counted.
    pub what: String,
    /// How many there are.
    pub found: u64,
    /// How many there may be.
    pub allowed: u64,
    /// Where the number comes from.
    pub why: String,
}

/// Checks every bound that the settings of a ledger promise.
///
/// [`Config::paper`] without a visit limit promises no end, so nothing is asked of its evaluations and
/// broadcasts. After a fork with other settings, the looser ones of both count.
///
/// # Errors
/// The first [`BrokenBound`], in the order of [`Bound::ALL`].
pub fn check_bounds(ledger: &Ledger) -> Result<(), BrokenBound> {
    let Some(rules) = Rules::of(ledger) else { return Ok(()) };
    let counts = Counts::of(ledger, &rules);
    let mut broken = counts.broken_on_the_way;
    for entity in counts.of.keys() {
        broken.extend(counts_of(entity, &counts.of[entity], &rules));
    }
    let admitted = counts.admitted.len() as u64;
    broken.extend(at_most(Bound::Entities, None, "entities", admitted, rules.entities, || {
        "max_entities".to_owned()
    }));
    if let Some(hops) = rules.hops {
        let why = || "budget.hops; answers from memory are free".to_owned();
        broken.extend(at_most(Bound::Hops, None, "policy calls", counts.hops, hops, why));
    }
    if rules.is_bounded {
        let messages: u64 =
            counts.of.values().map(|one| one.broadcasts * one.joined.len() as u64).sum();
        // A repeated evaluation that turns a page goes on as another evaluation, so both are taken
        // off.
        let others = counts.of.values().map(|one| one.dead_ends + one.opinions + one.pages);
        let firsts = counts.evaluations.saturating_sub(others.sum());
        let allowed = admitted + counts.reactivations + messages;
        let why = || {
            let again = counts.reactivations;
            format!("{admitted} entities, {messages} messages, {again} re-activations")
        };
        let what = "first evaluations and wakes";
        broken.extend(at_most(Bound::Evaluations, None, what, firsts, allowed, why));
    }
    broken.into_iter().min_by_key(|broken| broken.bound).map_or(Ok(()), Err)
}

/// What does not hold of one entity.
fn counts_of(entity: &EntityId, counts: &OfEntity, rules: &Rules) -> Vec<BrokenBound> {
    let epochs = counts.epochs;
    let in_epochs = |setting: &str| match epochs {
        1 => setting.to_owned(),
        _ => format!("{setting} in each of {epochs} epochs"),
    };
    let mut broken = Vec::new();
    let mut check = |bound, what: &str, found, allowed, why: String| {
        let what = format!("{what} of {entity}");
        broken.extend(at_most(bound, Some(entity), &what, found, allowed, || why));
    };
    if let Some(visits) = rules.visits {
        let why = in_epochs(&format!("max_visits {visits}"));
        check(Bound::Visits, "visits", counts.visits, visits * epochs, why);
    }
    if rules.is_bounded {
        let (flips, evidence) =
            (rules.flips + 1, (counts.evidence.len() as u64).min(rules.evidence));
        let allowed = 1 + flips * epochs + evidence;
        let why = in_epochs(&format!("1 first belief, {flips} flips, {evidence} findings"));
        check(Bound::Broadcasts, "broadcasts", counts.broadcasts, allowed, why);
    }
    let (dead_ends, opinions) = (MAX_DEAD_ENDS * epochs, MAX_SECOND_OPINIONS * epochs);
    check(
        Bound::DeadEnds,
        "evaluations of the dead end",
        counts.dead_ends,
        dead_ends,
        in_epochs("2"),
    );
    let why = in_epochs("3");
    check(Bound::SecondOpinions, "second opinions", counts.opinions, opinions, why);
    let why = in_epochs(&format!("briefing.pages {}", rules.pages));
    check(Bound::Pages, "further pages", counts.pages, rules.pages * epochs, why);
    broken
}

fn at_most(
    bound: Bound,
    entity: Option<&EntityId>,
    what: &str,
    found: u64,
    allowed: u64,
    why: impl FnOnce() -> String,
) -> Option<BrokenBound> {
    let (entity, what) = (entity.cloned(), what.to_owned());
    (found > allowed).then(|| BrokenBound { bound, entity, what, found, allowed, why: why() })
}

/// What the settings promise; of those before and after forks, the looser ones.
#[derive(Clone, Copy)]
struct Rules {
    entities: u64,
    visits: Option<u64>,
    flips: u64,
    evidence: u64,
    pages: u64,
    proposals: Option<u64>,
    hops: Option<u64>,
    /// Whether damping is for good all along.
    is_absorbing: bool,
    /// Whether broadcasts are bounded, and by them evaluations.
    is_bounded: bool,
    checks_texts: bool,
}

impl Rules {
    fn of(ledger: &Ledger) -> Option<Self> {
        let configs = ledger.entries().iter().filter_map(|entry| match &entry.body {
            EntryBody::Opened(opened) => Some(&opened.config),
            EntryBody::Forked(forked) => forked.changes.config.as_ref(),
            _ => None,
        });
        configs.map(Self::of_config).reduce(Self::looser)
    }

    fn of_config(config: &Config) -> Self {
        let is_absorbing = matches!(config.damping, Damping::Absorbing | Damping::LastWord);
        Self {
            entities: config.max_entities.into(),
            visits: config.max_visits.map(u64::from),
            flips: config.flip_threshold.into(),
            evidence: config.max_evidence.into(),
            pages: config
                .briefing
                .as_ref()
                .map_or(0, |briefing| briefing.pages.max(briefing.queries).into()),
            proposals: config.max_proposals.map(u64::from),
            hops: config.budget.hops,
            is_absorbing,
            is_bounded: is_absorbing
                && config.change == ChangeRule::Substance
                && config.wake != Wake::All,
            checks_texts: config.checks == Checks::Full,
        }
    }

    fn looser(self, other: Self) -> Self {
        let most = |a: Option<u64>, b: Option<u64>| a.zip(b).map(|(a, b)| a.max(b));
        Self {
            entities: self.entities.max(other.entities),
            visits: most(self.visits, other.visits),
            flips: self.flips.max(other.flips),
            evidence: self.evidence.max(other.evidence),
            pages: self.pages.max(other.pages),
            proposals: most(self.proposals, other.proposals),
            hops: most(self.hops, other.hops),
            is_absorbing: self.is_absorbing && other.is_absorbing,
            is_bounded: self.is_bounded && other.is_bounded,
            checks_texts: self.checks_texts && other.checks_texts,
        }
    }
}

/// What the bounds speak of.
#[derive(Default)]
struct Counts {
    of: BTreeMap<EntityId, OfEntity>,
    admitted: BTreeSet<EntityId>,
    evaluations: u64,
    hops: u64,
    reactivations: u64,
    /// What can be counted only while the ledger is gone through.
    broken_on_the_way: Vec<BrokenBound>,
}

/// What is counted of one entity.
struct OfEntity {
    epochs: u64,
    visits: u64,
    broadcasts: u64,
    dead_ends: u64,
    opinions: u64,
    pages: u64,
    evidence: BTreeSet<EvidenceId>,
    /// The entities ever joined with it, by a declared edge or a claim.
    joined: BTreeSet<EntityId>,
    damped: bool,
}

impl Default for OfEntity {
    fn default() -> Self {
        Self {
            epochs: 1,
            visits: 0,
            broadcasts: 0,
            dead_ends: 0,
            opinions: 0,
            pages: 0,
            evidence: BTreeSet::new(),
            joined: BTreeSet::new(),
            damped: false,
        }
    }
}

impl Counts {
    fn of(ledger: &Ledger, rules: &Rules) -> Self {
        let mut counts = Self::default();
        let mut contexts: BTreeMap<Digest, &LocalContext> = BTreeMap::new();
        for entry in ledger.entries() {
            match &entry.body {
                EntryBody::Opened(opened) => {
                    for seed in &opened.case.seeds {
                        // Seeds beyond the cap are refused, which no entry says.
                        if counts.admitted.len() < opened.config.max_entities as usize {
                            counts.admitted.insert(seed.entity.clone());
                        }
                    }
                    for edge in opened.case.topology.edges() {
                        counts.join(&edge.source, &edge.target);
                    }
                }
                EntryBody::Evaluated(evaluation) => {
                    counts.check_on_the_way(evaluation, rules);
                    counts.evaluated(evaluation);
                    if let Some(record) = &evaluation.context {
                        if let Some(body) = &record.body {
                            contexts.insert(record.digest, body);
                        }
                        let shown = contexts.get(&record.digest).into_iter();
                        let ids = shown.flat_map(|c| &c.findings).map(|f| f.id().clone());
                        counts.at(&evaluation.entity).evidence.extend(ids);
                    }
                }
                EntryBody::Observed(observed) => {
                    for entity in touched(&observed.observation) {
                        let at = counts.at(&entity);
                        (at.epochs, at.damped) = (at.epochs + 1, false);
                    }
                    if let Observation::EdgeAdded(edge) = &observed.observation {
                        counts.join(&edge.source, &edge.target);
                    }
                    for activation in observed.activations.iter().filter(|a| a.refused.is_none()) {
                        counts.reactivations += 1;
                        counts.admitted.insert(activation.entity.clone());
                    }
                }
                _ => {}
            }
        }
        counts
    }

    fn at(&mut self, entity: &EntityId) -> &mut OfEntity {
        self.of.entry(entity.clone()).or_default()
    }

    fn join(&mut self, one: &EntityId, other: &EntityId) {
        if one != other {
            self.at(one).joined.insert(other.clone());
            self.at(other).joined.insert(one.clone());
        }
    }

    fn evaluated(&mut self, evaluation: &Evaluation) {
        let Outcome { belief, change, damped, .. } = &evaluation.outcome;
        let asks_for_more = evaluation.asks_for_more();
        let at = self.at(&evaluation.entity);
        at.pages += u64::from(asks_for_more);
        at.visits += u64::from(!asks_for_more);
        at.broadcasts += u64::from(change.is_some());
        at.dead_ends += u64::from(evaluation.reason == Reason::DeadEnd);
        at.opinions += u64::from(evaluation.reason == Reason::SecondOpinion);
        at.damped |= *damped;
        self.evaluations += 1;
        let is_remembered = matches!(evaluation.answer, RecordedAnswer::Remembered { .. });
        self.hops += u64::from(!is_remembered);
        for claim in &belief.claims {
            self.join(&claim.cause, &claim.effect);
        }
        let active = evaluation.activations.iter().filter(|record| record.refused.is_none());
        self.admitted.extend(active.map(|record| record.entity.clone()));
    }

    /// What holds of each evaluation, given those before it.
    fn check_on_the_way(&mut self, evaluation: &Evaluation, rules: &Rules) {
        let Evaluation { number, entity, outcome, answer, activations, .. } = evaluation;
        let was_damped = self.at(entity).damped;
        let broken = &mut self.broken_on_the_way;
        let mut check = |bound, what: &str, found, allowed, why: &str| {
            let what = format!("{what} of {entity} in evaluation {number}");
            broken.extend(at_most(bound, Some(entity), &what, found, allowed, || why.to_owned()));
        };
        if rules.is_absorbing {
            let most = rules.flips + 1;
            check(Bound::Flips, "flips", outcome.flips.into(), most, "flip_threshold + 1");
            let again = u64::from(was_damped);
            check(Bound::Damping, "evaluations after damping", again, 0, "it is damped for good");
        }
        if let Some(most) = rules.proposals {
            let proposed = activations
                .iter()
                .filter(|record| record.reason == Reason::Proposal && record.refused.is_none());
            check(Bound::Proposals, "proposals", proposed.count() as u64, most, "max_proposals");
        }
        if rules.checks_texts && !matches!(answer, RecordedAnswer::Failed(_)) {
            let claims = outcome.belief.claims.iter();
            let texts = claims.flat_map(|claim| [&claim.condition, &claim.observed]);
            let longest = texts.chain([&outcome.belief.summary]).map(|text| text.chars().count());
            let longest = longest.max().unwrap_or(0) as u64;
            check(
                Bound::Text,
                "characters",
                longest,
                MAX_TEXT_CHARS,
                "2,000 and a sign of the cut",
            );
        }
    }
}

/// The entities that an observation begins a new epoch for.
pub(crate) fn touched(observation: &Observation) -> Vec<EntityId> {
    match observation {
        Observation::Anomaly(anomaly) => vec![anomaly.entity.clone()],
        Observation::EdgeAdded(edge) | Observation::EdgeRemoved(edge) => {
            let ends = BTreeSet::from([edge.source.clone(), edge.target.clone()]);
            ends.into_iter().collect()
        }
        Observation::NewEvidence(entity) => vec![entity.clone()],
        // A kind that is new here: nothing is known to be touched.
        _ => Vec::new(),
    }
}
