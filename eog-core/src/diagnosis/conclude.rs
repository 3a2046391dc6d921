//! Conclusions: the frontier of irreducible origins, what it covers, and what to say without one.

mod beside;
mod claims;
mod confirm;
mod cover;
mod coverage;
mod frontier;
mod probability;
mod ranking;
mod shared;

use std::cmp::Reverse;
use std::collections::BTreeSet;

use jiff::{SignedDuration, Timestamp};
use serde::{Deserialize, Serialize};

pub use ranking::{Ranked, Score};
pub use shared::SharedChange;

use crate::belief::{ClaimEdge, Label};
use crate::evidence::Verdict;
use crate::ids::{EntityId, EvidenceId};
use crate::incident::case::RecordedChange;
use crate::incident::onset::Onset;
use crate::incident::window::to_the_second;
use crate::state::State;
use crate::stop::Unreachable;

use confirm::Promises;
use frontier::Found;
use probability::Hypotheses;

/// What follows from the beliefs of an investigation.
///
/// Anomalies are given by their position in [`Controller::anomalies`](crate::Controller::anomalies).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// The confidence of the whole: that of the weakest group in the cover. Alerts that nothing
    /// reaches are in `unexplained`, whatever the confidence.
    pub confidence: Confidence,
    /// The frontier: groups of irreducible origins, ordered by what they explain: most anomalies, then
    /// confidence, then the earliest onset, then the name of their first origin. Groups that explain
    /// no anomaly have an empty `covers` and come last. Origins that flipped too often are in it only if no other
    /// explains an anomaly.
    pub frontier: Vec<OriginGroup>,
    /// Origins that another origin explains, by name. One that alone explains an anomaly is none of
    /// them but part of the frontier: since explanations in time are not transitive, whatever explains it
    /// need not explain that anomaly.
    pub derived_origins: Vec<EntityId>,
    /// Origins that explain anomalies which others in the frontier explain as well, and for which the evidence speaks
    /// more, by name. Only where the policy weighs evidence ([`Measures`](crate::Measures)).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outweighed: Vec<EntityId>,
    /// Anomalies that no group reaches.
    pub unexplained: Vec<usize>,
    /// Anomalies that are covered, but whose first onset is not explained: it lies before the change, or
    /// only later onsets are explained.
    pub earlier_onset: Vec<usize>,
    /// Every onset of a covered anomaly that no group explains.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unexplained_onsets: Vec<UnexplainedOnset>,
    /// The smallest set of groups that covers all explained anomalies, as positions in `frontier`.
    pub cover: Vec<usize>,
    /// Whether the cover is the minimum (up to 20 groups), not a greedy one.
    pub cover_is_exact: bool,
    /// Best effort when nothing in the frontier explains anything: visited entities, best first, without
    /// those that an operator ruled out.
    pub ranking: Vec<Ranked>,
    /// Entities that a message called on to evaluate again, and that were not evaluated with it: they
    /// had used their visits or were damped, the evaluation failed, or something ended the
    /// investigation before. A message that does not contradict what its receiver believes calls on
    /// no entity under [`Wake::AtOdds`](crate::controller::Wake).
    pub unread: Vec<EntityId>,
    /// Entities that flipped too often and were not evaluated again
    /// ([`Damping`](crate::controller::Damping)).
    pub damped: Vec<EntityId>,
    /// Entities whose belief is older than a failed evaluation, or that were never evaluated
    /// successfully.
    pub stale: Vec<EntityId>,
    /// The source of contexts, if it was dead at the end: what was not seen may hold the cause.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unreachable: Option<Unreachable>,
}

/// The verdict in one line, such as `likely: database, 1 of 2 alerts explained`.
///
/// ```
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, Vec::new());
/// let conclusion = Controller::new(Config::default(), case).conclusion();
/// assert_eq!(conclusion.to_string(), "inconclusive: no origin, 0 of 0 alerts explained");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
impl std::fmt::Display for Conclusion {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let covered: BTreeSet<usize> =
            self.frontier.iter().flat_map(|group| &group.covers).copied().collect();
        let origins = self.cover.iter().filter_map(|at| self.frontier.get(*at));
        let names: Vec<&str> =
            origins.flat_map(|group| &group.origins).map(EntityId::as_str).collect();
        let alerts = covered.len() + self.unexplained.len();
        let named = if names.is_empty() { "no origin".to_owned() } else { names.join(", ") };
        write!(f, "{}: {named}, {} of {alerts} alerts explained", self.confidence, covered.len())?;
        self.unreachable.map_or(Ok(()), |unreachable| write!(f, "; {unreachable}"))
    }
}

/// How sure a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Confidence {
    /// Only a ranking: no origin was found that explains an anomaly.
    Inconclusive,
    /// An irreducible origin without what `confirmed` asks for.
    Likely,
    /// The same with a probability of at least nine tenths ([`OriginGroup::probability`]).
    HighlyLikely,
    /// An irreducible origin that every minimum cover needs, with a citable change that precedes
    /// the earliest anomaly it covers, a measured onset of the harm after that change, a path
    /// that shows harm wherever it crosses a call, and a chance of at most 5 % that one of the
    /// changes on record lies so near by accident. See [`Doubt`] for each of them.
    Confirmed,
}

impl std::fmt::Display for Confidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Inconclusive => "inconclusive",
            Self::Likely => "likely",
            Self::HighlyLikely => "highly likely",
            Self::Confirmed => "confirmed",
        })
    }
}

/// One group of irreducible origins: a single origin, several that explain each other, or several where the same change was
/// made.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginGroup {
    /// The origins, by name.
    pub origins: Vec<EntityId>,
    /// Whether they explain each other.
    pub mutual: bool,
    /// The anomalies of which they explain at least one onset, over claims that are consistent in
    /// time and made for it.
    pub covers: Vec<usize>,
    /// How sure.
    pub confidence: Confidence,
    /// Why not `confirmed`; empty when it is.
    pub doubts: Vec<Doubt>,
    /// The change they cite that fits the measured onset best: the last one before its end; the
    /// earliest where no onset is measured.
    pub change: Option<CitedChange>,
    /// The change, if it was made in several places: one cause, whose origins are these places. Equal words in the record of
    /// changes, each made at most ten minutes after the one before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub shared_change: Option<SharedChange>,
    /// Other changes of these origins that fit the measured onset as well: which of them it was is open. The confidence
    /// speaks of the origins, not of one of their changes.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub open_changes: Vec<RecordedChange>,
    /// The earliest measured onset of the harm that a covered alert speaks of, on the way there.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub harm: Option<MeasuredHarm>,
    /// How the change compares with all changes on record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub chance: Option<Chance>,
    /// The probability in thousandths that it is the origin of what it covers, where the policy gives log-odds: their
    /// softmax over all entities that were judged and *no known origin*.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub probability: Option<u16>,
}

/// An onset of an anomaly that no origin explains, although another onset of it is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct UnexplainedOnset {
    /// The anomaly.
    pub anomaly: usize,
    /// When it became active.
    pub onset: Timestamp,
}

/// Harm with a measured onset.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct MeasuredHarm {
    /// Where it was measured.
    pub entity: EntityId,
    /// The finding that states it.
    pub finding: EvidenceId,
    /// When it began.
    pub onset: Onset,
}

/// How likely it is that one of several unrelated changes lies as near before an onset by accident.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chance {
    /// How many changes on record could have had these effects, with the one in question.
    pub changes: u32,
    /// Seconds from the change to the end of the interval in which the harm began.
    pub delay_s: u64,
    /// Seconds over which changes were recorded.
    pub span_s: u64,
    /// The chance in hundredths of a percent, to the nearest.
    pub basis_points: u32,
}

impl Chance {
    /// That of `changes` instants, each anywhere in `span_s` with equal probability, at least one lies
    /// within `delay_s` before a given instant: `1 − (1 − d/T)^n`.
    ///
    /// The power is taken by repeated squaring: IEEE 754 prescribes every bit of a multiplication, but
    /// leaves logarithms and powers to each platform, and a conclusion is the same on all of them. It
    /// is off by at most about `n` units in the last place, 5·10⁻⁷ for the largest `n`.
    pub fn new(changes: u32, delay_s: u64, span_s: u64) -> Self {
        let missed =
            if delay_s >= span_s { 0.0 } else { (span_s - delay_s) as f64 / span_s as f64 };
        let chance = 1.0 - power(missed, changes);
        // From 0 to 10,000.
        let basis_points = (chance * 10_000.0).round() as u32;
        Self { changes, delay_s, span_s, basis_points }
    }
}

/// A number to a whole power, by repeated squaring.
fn power(mut base: f64, mut exponent: u32) -> f64 {
    let mut product = 1.0;
    while exponent > 0 {
        if exponent & 1 == 1 {
            product *= base;
        }
        base *= base;
        exponent >>= 1;
    }
    product
}

impl std::fmt::Display for Chance {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { changes, delay_s, span_s, basis_points } = self;
        let (whole, part) = (basis_points / 100, basis_points % 100 / 10);
        let records = if *changes == 1 { "1 change" } else { &format!("{changes} changes") };
        let length =
            |seconds: u64| SignedDuration::from_secs(i64::try_from(seconds).unwrap_or(i64::MAX));
        write!(
            f,
            "{whole}.{part} %: {records} on record within {:#} could have done it, and the harm \
             began up to {:#} after the change",
            length(*span_s),
            length(*delay_s)
        )
    }
}

/// A change that an origin cites.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CitedChange {
    /// The finding.
    pub id: EvidenceId,
    /// When the change was made.
    pub at: Timestamp,
}

/// Why an irreducible origin is not `confirmed`.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Doubt {
    /// It reaches no anomaly.
    ReachesNothing,
    /// It cites no change.
    CitesNoChange,
    /// An anomaly that it covers began before the change.
    BeganBefore {
        /// The anomaly's name.
        name: String,
        /// The entity it fired on.
        entity: EntityId,
        /// When it began.
        onset: Timestamp,
        /// When the change was made.
        change: Timestamp,
    },
    /// Other origins, as few, explain the same anomalies without it.
    NotNeeded,
    /// It cites no change, and the record of changes has none of it.
    NoChangeOnRecord {
        /// The origins.
        origins: Vec<EntityId>,
    },
    /// It is an outside system ([`Claim::outside`](crate::Claim)): nothing of its own was recorded.
    OutsideOfTopology {
        /// The system.
        system: EntityId,
    },
    /// No harm of the kind that an explained alert speaks of has a measured onset on the way there. The
    /// time at which an alert fired, or at which a comparison splits a recording, is none.
    NoMeasuredOnset,
    /// The harm had begun before the change was made.
    AfterOnset {
        /// Where the harm was measured.
        entity: EntityId,
        /// When it began.
        harm: Onset,
        /// When the change was made.
        change: Onset,
    },
    /// The way to an alert crosses a call, and the callee shows no harm of its own before that
    /// alert.
    PathNotSeen {
        /// The callee.
        callee: EntityId,
        /// The name of the alert.
        name: String,
        /// The entity it fired on.
        entity: EntityId,
    },
    /// There is no record of changes to compare with.
    NoRecord,
    /// By chance alone, one of the changes on record would lie as near in more than 5 %.
    ByChance(Chance),
    /// A change of another entity reaches all that this one explains, and would pass the same comparison if there
    /// were these two alone.
    FitsAlike {
        /// What was changed.
        entity: EntityId,
        /// The change in a few words. Untrusted text.
        what: String,
        /// When it was made.
        made: Onset,
    },
    /// Another cause is named for alerts that began at about the same time. Two at once are less likely than
    /// one that explains both and was not found.
    NotAlone {
        /// An origin of the other cause.
        entity: EntityId,
    },
    /// Of the alerts that began at about the same time, no cause explains as many as it explains, or more. What
    /// explains most of them may not have been found.
    LeavesUnexplained {
        /// The name of the nearest of them.
        name: String,
        /// The entity it fired on.
        entity: EntityId,
        /// How many no cause explains.
        unexplained: usize,
        /// How many it explains.
        explained: usize,
    },
    /// Another part of the same whole, such as a replica, was not changed then and shows the same kind of harm no later.
    SiblingAlike {
        /// The other part.
        entity: EntityId,
        /// Since when it does.
        harm: Onset,
    },
    /// Load on the origin rose, or harm upstream of it began, before the change was made.
    MovedBefore {
        /// Where.
        entity: EntityId,
        /// Whether it is load on the origin; else harm of another entity.
        is_load: bool,
        /// When it began.
        since: Onset,
        /// When the change was made.
        change: Onset,
    },
    /// The judgement of an origin changed too often to be settled, and no other origin explains an alert.
    ChangedTooOften {
        /// The origin.
        entity: EntityId,
    },
    /// An operator says that something else is the cause, and no named origin is it.
    SaidOtherwise {
        /// What the operator names.
        entity: EntityId,
    },
    /// More than 5 % of a source could not be used: it may hold another change, or an earlier onset.
    Unusable {
        /// The file or table.
        source: String,
        /// How many records it has.
        records: u64,
        /// How many of them could not be used.
        unusable: u64,
    },
}

impl std::fmt::Display for Doubt {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::ReachesNothing => f.write_str("it reaches no alert"),
            Self::CitesNoChange => f.write_str("it cites no change"),
            Self::BeganBefore { name, entity, onset, change } => write!(
                f,
                "{name} on {entity} began at {}, before the change at {}",
                to_the_second(*onset),
                to_the_second(*change)
            ),
            Self::NotNeeded => f.write_str("other origins explain the same alerts without it"),
            Self::NoChangeOnRecord { origins } => {
                let names: Vec<&str> = origins.iter().map(EntityId::as_str).collect();
                write!(f, "no change of {} is on record", names.join(", "))
            }
            Self::OutsideOfTopology { system } => write!(
                f,
                "{system} is outside of the topology: it is named in evidence of others, and nothing of its own was \
                 recorded"
            ),
            Self::NoMeasuredOnset => {
                f.write_str("the onset of the harm was not measured, only the times of alerts")
            }
            Self::AfterOnset { entity, harm, change } => {
                write!(f, "the harm began on {entity} at {harm}, before the change at {change}")
            }
            Self::PathNotSeen { callee, name, entity } => write!(
                f,
                "{callee}, a callee on the path, shows no harm of its own before {name} on {entity}"
            ),
            Self::NoRecord => f.write_str("there is no record of changes to compare with"),
            Self::ByChance(chance) => {
                write!(f, "chance of coincidence {chance}; at most 5 % is allowed")
            }
            Self::FitsAlike { entity, what, made } => {
                write!(f, "another change fits as well: {what} on {entity} at {made}")
            }
            Self::NotAlone { entity } => {
                write!(
                    f,
                    "{entity} is also named for alerts of about the same time: two causes at once \
                     are rare"
                )
            }
            Self::LeavesUnexplained { name, entity, unexplained, explained } => write!(
                f,
                "of the alerts that began at about the same time it explains {explained}, and {unexplained} \
                 are not explained ({name} on {entity}): what explains most may not have been found"
            ),
            Self::SiblingAlike { entity, harm } => write!(
                f,
                "{entity}, a replica or sibling, was not changed then and shows the same kind of \
                 harm since {harm}"
            ),
            Self::MovedBefore { entity, is_load, since, change } => {
                let what = if *is_load { "the load on" } else { "harm of" };
                let rose = if *is_load { "rose" } else { "began" };
                write!(f, "{what} {entity} {rose} at {since}, before the change at {change}")
            }
            Self::ChangedTooOften { entity } => {
                write!(f, "the label of {entity} changed too often to be settled")
            }
            Self::SaidOtherwise { entity } => {
                write!(
                    f,
                    "operator input names {entity} as the cause; the records do not link it to \
                     the alerts"
                )
            }
            Self::Unusable { source, records, unusable } => write!(
                f,
                "{unusable} of {records} records of {source} could not be used; they may hold \
                 another change or an earlier onset"
            ),
        }
    }
}

/// All judged entities, by what speaks for each.
pub(crate) fn rank(state: &State) -> Vec<Ranked> {
    ranking::rank(state, &claims::ClaimGraph::new(state))
}

pub(crate) fn conclude(state: &State) -> Conclusion {
    conclude_from(state, Unsteady::LastResort)
}

/// The conclusion without origins that changed too often: only settled ones decide what is worth another evaluation.
pub(crate) fn conclude_from_the_steady(state: &State) -> Conclusion {
    conclude_from(state, Unsteady::LeftOut)
}

/// What becomes of origins that changed too often.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unsteady {
    LeftOut,
    /// They are named if no other origin explains anything.
    LastResort,
}

fn conclude_from(state: &State, unsteady: Unsteady) -> Conclusion {
    let graph = claims::ClaimGraph::new(state);
    let standings = Standings::of(state);
    let mut found = frontier::find(state, &graph, &standings.origins);
    if unsteady == Unsteady::LastResort {
        frontier::add_unsteady(&mut found, state, &graph, &standings.unsteady);
    }
    shared::join(&mut found, state);
    let hypotheses = Hypotheses::of(state);
    let outweighed = frontier::leave_out_the_outweighed(&mut found, &hypotheses);
    let covered: Vec<&[usize]> = found.groups.iter().map(|g| g.group.covers.as_slice()).collect();
    let cover = cover::minimum_cover(&covered, state.anomalies.len());
    let mut promises = Promises::new(state, &graph);
    let besides = beside::others_at_the_time(state, &found.groups, &cover.groups);
    let left = beside::mostly_unexplained(state, &found.groups);
    let besides = besides.into_iter().zip(left);
    let named = cover.groups.iter().filter_map(|&position| found.groups.get(position));
    let named: BTreeSet<EntityId> = named.flat_map(|found| &found.group.origins).cloned().collect();
    let said = || state.nodes.iter().filter(|(_, node)| node.verdict() == Some(Verdict::Cause));
    let elsewhere = said().map(|(entity, _)| entity).find(|entity| !named.contains(*entity));
    let of_cover =
        |position: &usize| found.groups.get(*position).map(|it| it.group.origins.clone());
    let of_cover: Vec<Vec<EntityId>> = cover.groups.iter().filter_map(of_cover).collect();
    for ((position, found), (other, left)) in found.groups.iter_mut().enumerate().zip(besides) {
        let others = of_cover.iter().flatten().filter(|it| !found.group.origins.contains(it));
        found.group.probability = hypotheses.probability(&found.group.origins, &others.collect());
        judge(state, &mut promises, found, cover.needed.contains(&position), other, left);
        if let Some(entity) = elsewhere.filter(|_| !found.group.covers.is_empty()) {
            found.group.doubts.insert(0, Doubt::SaidOtherwise { entity: entity.clone() });
            found.group.confidence = Confidence::Likely;
        }
    }
    let mut groups: Vec<(bool, Found)> = found
        .groups
        .into_iter()
        .enumerate()
        .map(|(position, found)| (cover.groups.contains(&position), found))
        .collect();
    groups.sort_by_cached_key(|(_, found)| rank_of_cause(state, &hypotheses, &found.group));
    let in_cover = groups.iter().enumerate().filter(|(_, (in_cover, _))| *in_cover);
    let in_cover: Vec<usize> = in_cover.map(|(position, _)| position).collect();
    let of_cover = in_cover.iter().filter_map(|&position| groups.get(position));
    let confidence =
        of_cover.map(|(_, found)| found.group.confidence).min().unwrap_or(Confidence::Inconclusive);
    let mut explained: BTreeSet<(usize, usize)> = BTreeSet::new();
    let mut in_time: BTreeSet<usize> = BTreeSet::new();
    for (_, found) in &groups {
        explained.extend(&found.onsets);
        let change = found.group.change.as_ref();
        let precedes = |a: usize| change.is_none_or(|c| c.at < state.anomalies[a].onset);
        let first = found.onsets.iter().filter(|(_, onset)| *onset == 0);
        in_time.extend(first.map(|(anomaly, _)| *anomaly).filter(|&anomaly| precedes(anomaly)));
    }
    let covered: BTreeSet<usize> = explained.iter().map(|(anomaly, _)| *anomaly).collect();
    let unexplained = (0..state.anomalies.len()).filter(|a| !covered.contains(a)).collect();
    let earlier_onset = covered.iter().copied().filter(|a| !in_time.contains(a)).collect();
    let unexplained_onsets = covered.iter().flat_map(|&anomaly| {
        let onsets = state.anomalies[anomaly].onsets().enumerate();
        let open = onsets.filter(|(number, _)| !explained.contains(&(anomaly, *number)));
        open.map(|(_, onset)| UnexplainedOnset { anomaly, onset }).collect::<Vec<_>>()
    });
    let unexplained_onsets = unexplained_onsets.collect();
    let ranking = match confidence {
        Confidence::Inconclusive => ranking::rank(state, &graph),
        Confidence::Likely | Confidence::HighlyLikely | Confidence::Confirmed => Vec::new(),
    };
    let names = |entities: Vec<&EntityId>| entities.into_iter().cloned().collect();
    Conclusion {
        confidence,
        frontier: groups.into_iter().map(|(_, found)| found.group).collect(),
        derived_origins: found.derived,
        outweighed,
        unexplained,
        earlier_onset,
        unexplained_onsets,
        cover: in_cover,
        cover_is_exact: cover.exact,
        ranking,
        unread: names(standings.unread),
        damped: names(standings.damped),
        stale: names(standings.stale),
        // From the ledger, not from the state.
        unreachable: None,
    }
}

/// The live claims over which a chain that is consistent in time leads to one of these anomalies and was
/// made for it. Linear in claims but for a logarithm.
pub(crate) fn leading_to(state: &State, anomalies: &[usize]) -> BTreeSet<ClaimEdge> {
    let graph = claims::ClaimGraph::new(state);
    let anomalies = anomalies.iter().map(|&anomaly| &state.anomalies[anomaly]);
    let targets = anomalies.flat_map(|anomaly| {
        let target = |onset| coverage::Target::of(&graph, anomaly, onset);
        anomaly.onsets().filter_map(target).collect::<Vec<_>>()
    });
    let edge = |(cause, effect): (u32, u32)| ClaimEdge {
        cause: graph.name(cause).clone(),
        effect: graph.name(effect).clone(),
    };
    coverage::leading_to(&graph, &targets.collect::<Vec<_>>()).map(edge).collect()
}

/// The entities that a conclusion names by kind, each list by name: found in one pass, since there
/// may be very many nodes.
struct Standings<'s> {
    origins: Vec<&'s EntityId>,
    /// Origins that changed too often.
    unsteady: Vec<&'s EntityId>,
    unread: Vec<&'s EntityId>,
    damped: Vec<&'s EntityId>,
    stale: Vec<&'s EntityId>,
}

impl<'s> Standings<'s> {
    fn of(state: &'s State) -> Self {
        let (origins, unsteady) = (Vec::new(), Vec::new());
        let (unread, damped, stale) = (Vec::new(), Vec::new(), Vec::new());
        let mut found = Self { origins, unsteady, unread, damped, stale };
        for (entity, node) in &state.nodes {
            if let Some(belief) = &node.belief {
                match belief.label {
                    Label::Origin if node.damped => found.unsteady.push(entity),
                    Label::Origin => found.origins.push(entity),
                    _ => {}
                }
                if node.stale || !node.settled {
                    found.stale.push(entity);
                }
            }
            if node.visited && node.needs_evaluation() {
                found.unread.push(entity);
            }
            if node.damped {
                found.damped.push(entity);
            }
        }
        found.origins.extend(state.outside().into_keys());
        found
    }
}

/// The order of causes: by what they explain.
fn rank_of_cause(
    state: &State,
    hypotheses: &Hypotheses<'_>,
    group: &OriginGroup,
) -> (Reverse<RankOfCause>, Option<Timestamp>, Vec<EntityId>) {
    let onset = group.covers.iter().map(|&anomaly| state.anomalies[anomaly].onset).min();
    let explains = !group.covers.is_empty();
    let rank =
        (explains, hypotheses.log_odds(&group.origins), group.covers.len(), group.confidence);
    (Reverse(rank), onset, group.origins.clone())
}

/// Whether a group explains anything, its log-odds, how many anomalies it explains, and how sure that is.
type RankOfCause = (bool, Option<i32>, usize, Confidence);

/// From this probability on, in thousandths, an origin is highly likely.
const HIGHLY_LIKELY: u16 = 900;

/// Decides between `confirmed`, `highly likely` and `likely`, and says why not confirmed.
fn judge(
    state: &State,
    promises: &mut Promises<'_>,
    found: &mut Found,
    needed: bool,
    other: Option<EntityId>,
    left: Option<beside::Left>,
) {
    promises.weigh(found);
    let group = &mut found.group;
    let covered = group.covers.iter().map(|&anomaly| &state.anomalies[anomaly]);
    let Some(earliest) = covered.min_by_key(|anomaly| anomaly.onset) else {
        group.doubts.push(Doubt::ReachesNothing);
        return;
    };
    if let Some(change) = group.change.as_ref().filter(|change| change.at >= earliest.onset) {
        let doubt = Doubt::BeganBefore {
            name: earliest.name.clone(),
            entity: earliest.entity.clone(),
            onset: earliest.onset,
            change: change.at,
        };
        group.doubts.insert(0, doubt);
    }
    let is_unsteady = |origin: &&EntityId| state.get(origin).is_some_and(|node| node.damped);
    let unsteady = group.origins.iter().find(is_unsteady).cloned();
    group.doubts.extend(unsteady.map(|entity| Doubt::ChangedTooOften { entity }));
    if !needed {
        group.doubts.push(Doubt::NotNeeded);
    } else if let Some(entity) = other {
        group.doubts.push(Doubt::NotAlone { entity });
    }
    let nearest = left.and_then(|left| Some((state.anomalies.get(left.nearest)?, left)));
    if let Some((alert, left)) = nearest {
        group.doubts.push(Doubt::LeavesUnexplained {
            name: alert.name.clone(),
            entity: alert.entity.clone(),
            unexplained: left.open,
            explained: left.explained,
        });
    }
    group.doubts.extend(confirm::unusable(state));
    if group.doubts.is_empty() {
        group.confidence = Confidence::Confirmed;
    } else if group.probability >= Some(HIGHLY_LIKELY) {
        group.confidence = Confidence::HighlyLikely;
    }
}

#[cfg(test)]
mod tests;
