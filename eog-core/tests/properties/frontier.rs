//! The frontier against its definition: reachability by Floyd–Warshall, covers by trying every set.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::belief::ClaimEdge;
use eog_core::controller::Checks;
use eog_core::diagnosis::{Doubt, OriginGroup};
use eog_core::{
    Claim, Conclusion, Confidence, Config, ContextPacket, ContextRequest, Controller, Decision,
    EntityId, EvidenceKind, Failure, Label, LocalContext, StopReason, Timestamp,
};
use proptest::prelude::*;

use super::cases;
use super::drive::{Answers, run};
use eog_testkit::prop::parts::{anomaly, at, finding, labels, name, topology, window};

/// What the definition says about labels, live claims and anomalies.
pub(crate) struct Expected {
    /// Origins of each irreducible group, by name.
    pub(crate) groups: Vec<Vec<EntityId>>,
    pub(crate) covers: Vec<Vec<usize>>,
    pub(crate) derived: Vec<EntityId>,
    pub(crate) unexplained: Vec<usize>,
}

pub(crate) fn by_definition(
    labels: &BTreeMap<EntityId, Label>,
    claims: &BTreeSet<ClaimEdge>,
    anomalies: &[EntityId],
) -> Expected {
    let ends = claims.iter().flat_map(|claim| [&claim.cause, &claim.effect]);
    let all: BTreeSet<&EntityId> = labels.keys().chain(anomalies).chain(ends).collect();
    let all: Vec<&EntityId> = all.into_iter().collect();
    let number = |entity: &EntityId| all.iter().position(|e| *e == entity).expect("is in the list");
    let size = all.len();
    let mut reach = vec![vec![false; size]; size];
    for (own, row) in reach.iter_mut().enumerate() {
        row[own] = true;
    }
    for claim in claims {
        reach[number(&claim.cause)][number(&claim.effect)] = true;
    }
    for via in 0..size {
        for from in 0..size {
            for to in 0..size {
                reach[from][to] |= reach[from][via] && reach[via][to];
            }
        }
    }
    let origins: Vec<usize> =
        (0..size).filter(|&e| labels.get(all[e]) == Some(&Label::Origin)).collect();
    let mutual = |a: usize, b: usize| reach[a][b] && reach[b][a];
    let mut expected = Expected {
        groups: Vec::new(),
        covers: Vec::new(),
        derived: Vec::new(),
        unexplained: Vec::new(),
    };
    for &origin in &origins {
        let explained = origins.iter().any(|&o| reach[o][origin] && !mutual(o, origin));
        if explained {
            expected.derived.push(all[origin].clone());
            continue;
        }
        let group: Vec<usize> = origins.iter().copied().filter(|&o| mutual(o, origin)).collect();
        if group.first() == Some(&origin) {
            let reached = |a: &usize| reach[origin][number(&anomalies[*a])];
            expected.covers.push((0..anomalies.len()).filter(reached).collect());
            expected.groups.push(group.into_iter().map(|o| all[o].clone()).collect());
        }
    }
    let covered = |a: &usize| expected.covers.iter().any(|covers| covers.contains(a));
    expected.unexplained = (0..anomalies.len()).filter(|a| !covered(a)).collect();
    expected
}

/// The same where origins have log-odds: of those that explain the same, the one with the greatest stays.
pub(crate) fn without_outweighed(
    expected: Expected,
    log_odds: &BTreeMap<EntityId, i32>,
) -> Expected {
    let greatest =
        |group: &Vec<EntityId>| group.iter().filter_map(|origin| log_odds.get(origin)).max();
    let mut order: Vec<usize> = (0..expected.groups.len()).collect();
    order.retain(|&group| greatest(&expected.groups[group]).is_some());
    order.sort_by_key(|&group| std::cmp::Reverse(greatest(&expected.groups[group])));
    let mut left_out = BTreeSet::new();
    for (place, &group) in order.iter().enumerate() {
        let before = || order[..place].iter().flat_map(|&other| &expected.covers[other]);
        let covers = &expected.covers[group];
        if !covers.is_empty() && covers.iter().all(|anomaly| before().any(|one| one == anomaly)) {
            left_out.insert(group);
        }
    }
    let Expected { groups, covers, derived, unexplained } = expected;
    let kept = groups.into_iter().zip(covers).enumerate();
    let kept = kept.filter(|(group, _)| !left_out.contains(group)).map(|(_, group)| group);
    let (groups, covers) = kept.unzip();
    Expected { groups, covers, derived, unexplained }
}

/// The same where some changed too often: as origins they count if no other origin explains
/// anything.
pub(crate) fn by_definition_with_unsteady(
    labels: &BTreeMap<EntityId, Label>,
    unsteady: &BTreeSet<EntityId>,
    claims: &BTreeSet<ClaimEdge>,
    anomalies: &[EntityId],
) -> Expected {
    let only = |is_counted: &dyn Fn(&EntityId) -> bool| {
        let one = |(entity, label): (&EntityId, &Label)| {
            let label = if is_counted(entity) { *label } else { Label::Defer };
            (entity.clone(), label)
        };
        by_definition(&labels.iter().map(one).collect(), claims, anomalies)
    };
    let mut expected = only(&|entity| !unsteady.contains(entity));
    if expected.covers.iter().any(|covers| !covers.is_empty()) {
        return expected;
    }
    let others = only(&|entity| unsteady.contains(entity));
    let explaining = others.groups.into_iter().zip(others.covers);
    let all = expected.groups.into_iter().zip(expected.covers);
    let mut all: Vec<_> = all.chain(explaining.filter(|(_, covers)| !covers.is_empty())).collect();
    all.sort();
    (expected.groups, expected.covers) = all.into_iter().unzip();
    expected.unexplained = others.unexplained;
    expected
}

/// The smallest sets of groups that cover all that any group covers; of those the first.
fn smallest_cover(covers: &[Vec<usize>]) -> Vec<usize> {
    let explained: BTreeSet<usize> = covers.iter().flatten().copied().collect();
    let sets = (0..1_u32 << covers.len()).map(|mask| -> Vec<usize> {
        (0..covers.len()).filter(|group| mask >> group & 1 == 1).collect()
    });
    let complete = sets.filter(|set| {
        let reached: BTreeSet<usize> =
            set.iter().flat_map(|&g| covers[g].iter().copied()).collect();
        reached == explained
    });
    complete.min_by_key(|set| (set.len(), set.clone())).expect("all groups together are a cover")
}

/// One belief to be planted.
#[derive(Clone, Debug)]
struct Planted {
    label: Label,
    /// Kind and minute of its only evidence.
    is_change: bool,
    minute: u8,
    /// Cause and effect, as distances from the owner; 0 is itself.
    claims: Vec<(usize, usize)>,
}

/// Gives every entity the belief that was planted for it.
struct Planter<'p>(&'p [Planted]);

impl Planter<'_> {
    fn of(&self, entity: &EntityId) -> (usize, &Planted) {
        let position = (0..self.0.len()).find(|&e| name(e) == *entity).expect("is planted");
        (position, &self.0[position])
    }
}

impl Answers for Planter<'_> {
    fn context(&mut self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let (_, planted) = self.of(&request.entity);
        let kind = if planted.is_change { EvidenceKind::Change } else { EvidenceKind::Log };
        let findings = vec![finding(&request.entity, kind, planted.minute, "planted")];
        Ok(LocalContext { findings, ..LocalContext::default() })
    }

    fn decide(&mut self, packet: &ContextPacket) -> Result<Decision, Failure> {
        let (own, planted) = self.of(&packet.entity);
        // One entity beyond the planted ones is declared and never evaluated.
        let shifted = |by: usize| name((own + by) % (self.0.len() + 1));
        let mut decision = Decision::new(planted.label, "planted").citing(&packet.context.findings);
        for (cause, effect) in &planted.claims {
            decision.claims.push(Claim {
                cause: shifted(*cause),
                effect: shifted(*effect),
                condition: String::new(),
                observed: String::new(),
                evidence: decision.evidence.clone(),
                cause_since: None,
                effect_since: None,
                explains: None,
                outside: false,
            });
        }
        Ok(decision)
    }
}

fn conclude(planted: &[Planted], alerts: &[(usize, u8)], checks: Checks) -> Controller {
    let declared = topology(planted.len() + 1, &[]);
    let anomalies = alerts.iter().map(|(e, minute)| anomaly(name(*e), *minute)).collect();
    let mut case = eog_core::Case::from_anomalies(declared, window(), anomalies);
    let seed = |e| eog_core::Seed { entity: name(e), reason: String::new() };
    case.seeds = (0..planted.len()).map(seed).collect();
    // Each seed is evaluated once; the entity that was never planted is not asked.
    let budget = eog_core::Budget::hops(planted.len() as u64);
    let config = Config { broadcast: false, checks, budget, ..Config::default() };
    let (controller, stop) = run(&config, &case, &mut Planter(planted), 1_000);
    let stopped = matches!(stop, Some(stop) if stop.is_at_rest() || matches!(stop, StopReason::BudgetExhausted { .. }));
    assert!(stopped, "{stop:?}");
    controller
}

/// Labels and live claims, read off the beliefs.
pub(crate) fn held(controller: &Controller) -> (BTreeMap<EntityId, Label>, BTreeSet<ClaimEdge>) {
    let labels = controller.beliefs().map(|(entity, belief)| (entity.clone(), belief.label));
    let claims = controller.beliefs().flat_map(|(_, b)| b.claims.iter().map(Claim::edge));
    (labels.collect(), claims.collect())
}

pub(crate) fn assert_is_as_defined(conclusion: &Conclusion, expected: &Expected) {
    // Ordered by what they explain, unless by log-odds; the definition has them by name.
    let key = |group: &OriginGroup| {
        let is_weighed = group.probability.is_some();
        let covers = if is_weighed { 1 } else { group.covers.len() };
        std::cmp::Reverse((!group.covers.is_empty(), is_weighed, covers))
    };
    assert!(conclusion.frontier.is_sorted_by_key(key));
    let mut groups: Vec<_> = conclusion.frontier.iter().collect();
    groups.sort_by_key(|group| &group.origins);
    let origins: Vec<_> = groups.iter().map(|group| group.origins.clone()).collect();
    assert_eq!(origins, expected.groups);
    let covers: Vec<_> = groups.iter().map(|group| group.covers.clone()).collect();
    assert_eq!(covers, expected.covers);
    assert_eq!(conclusion.derived_origins, expected.derived);
    assert_eq!(conclusion.unexplained, expected.unexplained);
    for group in &conclusion.frontier {
        assert_eq!(group.mutual, group.origins.len() > 1);
    }
    assert!(conclusion.cover_is_exact);
    let cover: BTreeSet<_> =
        conclusion.cover.iter().map(|&p| &conclusion.frontier[p].origins).collect();
    let smallest = smallest_cover(&expected.covers);
    assert_eq!(cover, smallest.iter().map(|&group| &expected.groups[group]).collect());
}

proptest! {
    #![proptest_config(cases(100))]

    #[test]
    fn is_what_the_definition_says(
        planted in prop::collection::vec(
            (labels(), any::<bool>(), 0..8u8, prop::collection::vec((0..9usize, 0..9usize), 0..4)),
            1..=8,
        ),
        alerts in prop::collection::vec((0..9usize, 0..8u8), 0..5),
        full in any::<bool>(),
    ) {
        let planted: Vec<Planted> = planted
            .into_iter()
            .map(|(label, is_change, minute, claims)| Planted { label, is_change, minute, claims })
            .collect();
        let alerts: Vec<(usize, u8)> =
            alerts.into_iter().map(|(e, minute)| (e % (planted.len() + 1), minute)).collect();
        let checks = if full { Checks::Full } else { Checks::UnknownEntitiesOnly };
        let controller = conclude(&planted, &alerts, checks);
        let conclusion = controller.conclusion();
        let (labels, claims) = held(&controller);
        prop_assert_eq!(&claims.iter().cloned().collect::<Vec<_>>(), &controller.live_claims());
        let alerted: Vec<EntityId> = alerts.iter().map(|(e, _)| name(*e)).collect();
        assert_is_as_defined(&conclusion, &by_definition(&labels, &claims, &alerted));

        // What `confirmed` asks for first: a cited change before everything it covers, and need.
        let covers: Vec<&[usize]> =
            conclusion.frontier.iter().map(|group| group.covers.as_slice()).collect();
        let explained: BTreeSet<usize> = covers.iter().flat_map(|c| c.iter().copied()).collect();
        let is_needed = |position: usize| {
            let size = conclusion.cover.len();
            let without = |set: &u32| set >> position & 1 == 0 && set.count_ones() as usize == size;
            let mut others = (0..1_u32 << covers.len()).filter(without);
            let all = |set: u32| {
                let members = (0..covers.len()).filter(|member| set >> member & 1 == 1);
                members.flat_map(|m| covers[m].iter().copied()).collect::<BTreeSet<_>>() == explained
            };
            conclusion.cover.contains(&position) && !others.any(all)
        };
        for (position, group) in conclusion.frontier.iter().enumerate() {
            let origins = group.origins.iter().map(|origin| {
                &planted[(0..planted.len()).find(|&e| name(e) == *origin).expect("is planted")]
            });
            let changes = origins.filter(|origin| origin.is_change).map(|origin| origin.minute);
            let change: Option<Timestamp> = changes.min().map(at);
            let onset = group.covers.iter().map(|&a| at(alerts[a].1)).min();
            let before = change.zip(onset).is_some_and(|(change, onset)| change < onset);
            // No finding here has an onset, so nothing is confirmed; the doubts say what else fails.
            prop_assert_eq!(group.confidence, Confidence::Likely);
            let explains = !group.covers.is_empty();
            let has = |doubt: fn(&Doubt) -> bool| group.doubts.iter().any(doubt);
            prop_assert_eq!(has(|doubt| matches!(doubt, Doubt::ReachesNothing)), !explains);
            let late = explains && change.is_some() && !before;
            prop_assert_eq!(has(|doubt| matches!(doubt, Doubt::BeganBefore { .. })), late);
            let unneeded = explains && !is_needed(position);
            prop_assert_eq!(has(|doubt| matches!(doubt, Doubt::NotNeeded)), unneeded);
            let unmeasured = explains && change.is_some();
            prop_assert_eq!(has(|doubt| matches!(doubt, Doubt::NoMeasuredOnset)), unmeasured);
            prop_assert_eq!(group.change.as_ref().map(|cited| cited.at), change);
        }
        // Reached, but only by changes that came too late.
        let too_late = |a: &usize| {
            let mut covering = conclusion.frontier.iter().filter(|g| g.covers.contains(a)).peekable();
            let late = |change: Timestamp| change >= at(alerts[*a].1);
            covering.peek().is_some()
                && covering.all(|group| group.change.as_ref().is_some_and(|cited| late(cited.at)))
        };
        let earlier: Vec<usize> = (0..alerts.len()).filter(too_late).collect();
        prop_assert_eq!(&conclusion.earlier_onset, &earlier);
        let explains = conclusion.frontier.iter().any(|group| !group.covers.is_empty());
        prop_assert_eq!(conclusion.confidence == Confidence::Inconclusive, !explains);
        prop_assert_eq!(conclusion.ranking.is_empty(), explains || labels.is_empty());
        let totals: Vec<u32> = conclusion.ranking.iter().map(|ranked| ranked.score.total()).collect();
        prop_assert!(totals.is_sorted_by(|a, b| a >= b), "{totals:?}");
    }
}
