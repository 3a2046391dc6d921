//! Conclusions: the frontier of irreducible origins, what it covers, and what to say without one.

mod claims;
mod cover;
mod frontier;
mod ranking;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

pub use ranking::{Ranked, Score};

use crate::belief::Label;
use crate::ids::{EntityId, EvidenceId};
use crate::incident::window::to_the_second;
use crate::state::State;

/// What follows from the beliefs of an investigation.
///
/// Anomalies are given by their position in [`Controller::anomalies`](crate::Controller::anomalies).
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Conclusion {
    /// How sure the whole is: that of the weakest group in the cover. Alerts that nothing reaches
    /// are said in `unexplained`, whatever the confidence.
    pub confidence: Confidence,
    /// The frontier: groups of irreducible origins, by name of their first origin. Groups that
    /// explain no anomaly have an empty `covers`.
    pub frontier: Vec<OriginGroup>,
    /// Origins that another origin explains, by name.
    pub derived_origins: Vec<EntityId>,
    /// Anomalies that no group reaches.
    pub unexplained: Vec<usize>,
    /// Anomalies that are reached, but began before the change that reaches them: their earlier
    /// onset is not explained.
    pub earlier_onset: Vec<usize>,
    /// The smallest set of groups that covers all explained anomalies, as positions in `frontier`.
    pub cover: Vec<usize>,
    /// Whether the cover is the minimum (up to 20 groups), not a greedy one.
    pub cover_is_exact: bool,
    /// Best effort when nothing in the frontier explains anything: visited entities, best first.
    pub ranking: Vec<Ranked>,
    /// Entities with messages that they could not be evaluated with any more.
    pub unread: Vec<EntityId>,
    /// Entities that flipped too often and were set to `Defer` for good.
    pub damped: Vec<EntityId>,
    /// Entities whose belief is older than a failed evaluation, or that were never evaluated
    /// successfully.
    pub stale: Vec<EntityId>,
}

/// How sure a finding is. There are no percentages.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Confidence {
    /// Only a ranking: no origin was found that explains an anomaly.
    Inconclusive,
    /// An irreducible origin without what `confirmed` asks for.
    Likely,
    /// An irreducible origin that every minimum cover needs, with a citable change that precedes
    /// the earliest anomaly it covers.
    Confirmed,
}

impl std::fmt::Display for Confidence {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(match self {
            Self::Inconclusive => "inconclusive",
            Self::Likely => "likely",
            Self::Confirmed => "confirmed",
        })
    }
}

/// One group of irreducible origins: a single origin, or several that explain each other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OriginGroup {
    /// The origins, by name.
    pub origins: Vec<EntityId>,
    /// Whether they explain each other.
    pub mutual: bool,
    /// The anomalies they reach over live claims.
    pub covers: Vec<usize>,
    /// How sure.
    pub confidence: Confidence,
    /// Why not `confirmed`; empty when it is.
    pub doubts: Vec<Doubt>,
    /// The earliest change they cite.
    pub change: Option<CitedChange>,
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
        }
    }
}

pub(crate) fn conclude(state: &State) -> Conclusion {
    let graph = claims::ClaimGraph::new(&state.live);
    let standings = Standings::of(state);
    let found = frontier::find(state, &graph, &standings.origins);
    let covered: Vec<&[usize]> = found.groups.iter().map(|g| g.covers.as_slice()).collect();
    let cover = cover::minimum_cover(&covered, state.anomalies.len());
    let mut groups = found.groups;
    for (position, group) in groups.iter_mut().enumerate() {
        judge(state, group, cover.needed.contains(&position));
    }
    let of_cover = cover.groups.iter().filter_map(|&position| groups.get(position));
    let confidence =
        of_cover.map(|group| group.confidence).min().unwrap_or(Confidence::Inconclusive);
    let is_covered = |anomaly: &usize| groups.iter().any(|group| group.covers.contains(anomaly));
    let precedes = |group: &OriginGroup, anomaly: usize| {
        group.change.as_ref().is_none_or(|change| change.at < state.anomalies[anomaly].onset)
    };
    let all = 0..state.anomalies.len();
    let unexplained = all.clone().filter(|anomaly| !is_covered(anomaly)).collect();
    let earlier_onset = all
        .filter(|anomaly| {
            let mut covering = groups.iter().filter(|g| g.covers.contains(anomaly)).peekable();
            covering.peek().is_some() && covering.all(|group| !precedes(group, *anomaly))
        })
        .collect();
    let ranking = match confidence {
        Confidence::Inconclusive => ranking::rank(state, &graph),
        Confidence::Likely | Confidence::Confirmed => Vec::new(),
    };
    let names = |entities: Vec<&EntityId>| entities.into_iter().cloned().collect();
    Conclusion {
        confidence,
        frontier: groups,
        derived_origins: found.derived,
        unexplained,
        earlier_onset,
        cover: cover.groups,
        cover_is_exact: cover.exact,
        ranking,
        unread: names(standings.unread),
        damped: names(standings.damped),
        stale: names(standings.stale),
    }
}

/// The entities that a conclusion names for what they are, each list by name: found in one pass,
/// since there may be very many nodes.
struct Standings<'s> {
    origins: Vec<&'s EntityId>,
    unread: Vec<&'s EntityId>,
    damped: Vec<&'s EntityId>,
    stale: Vec<&'s EntityId>,
}

impl<'s> Standings<'s> {
    fn of(state: &'s State) -> Self {
        let (origins, unread, damped, stale) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut found = Self { origins, unread, damped, stale };
        for (entity, node) in &state.nodes {
            if let Some(belief) = &node.belief {
                if belief.label == Label::Origin {
                    found.origins.push(entity);
                }
                if node.stale || !node.settled {
                    found.stale.push(entity);
                }
            }
            if node.visited && node.has_unread() {
                found.unread.push(entity);
            }
            if node.damped {
                found.damped.push(entity);
            }
        }
        found
    }
}

/// Decides between `confirmed` and `likely`, and says why not.
fn judge(state: &State, group: &mut OriginGroup, needed: bool) {
    let covered = group.covers.iter().map(|&anomaly| &state.anomalies[anomaly]);
    let Some(earliest) = covered.min_by_key(|anomaly| anomaly.onset) else {
        group.doubts.push(Doubt::ReachesNothing);
        return;
    };
    match &group.change {
        None => group.doubts.push(Doubt::CitesNoChange),
        Some(change) if change.at >= earliest.onset => group.doubts.push(Doubt::BeganBefore {
            name: earliest.name.clone(),
            entity: earliest.entity.clone(),
            onset: earliest.onset,
            change: change.at,
        }),
        Some(_) => {}
    }
    if !needed {
        group.doubts.push(Doubt::NotNeeded);
    }
    group.confidence =
        if group.doubts.is_empty() { Confidence::Confirmed } else { Confidence::Likely };
}
