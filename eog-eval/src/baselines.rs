//! Trivial rankings: what any method must beat.

use std::collections::{BTreeMap, BTreeSet};
use std::task::{Context, Poll, Waker};

use eog::evidence::{Signal, Trend};
use eog::incident::Direction;
use eog::{Case, ContextContract, ContextRequest, EntityId, EvidenceKind, Finding, Topology};

use crate::ranking::Ranking;
use crate::scan::Scan;

/// The share of PageRank that follows edges (Brin and Page 1998).
const DAMPING: f64 = 0.85;

/// Enough for the ranks to settle to far below any difference that matters.
const ROUNDS: usize = 100;

/// The trivial rankings of a case by name, in a fixed order:
///
/// - `alerting`: the alerting entities, tied;
/// - `first seed`: where investigations start, in that order: what a search succeeds with by its start
///   alone;
/// - `parents`: those that directly act on an alerting entity, such as its callees, tied;
/// - `most changed`: by the greatest relative shift of any metric or span series;
/// - `most errors`: by all errors and failures seen;
/// - `pagerank`: the graph alone, walked from effects to causes;
/// - `random`: all entities, tied.
pub fn baselines(case: &Case, contract: &impl ContextContract) -> Vec<(&'static str, Ranking)> {
    baselines_with(case, contract, None)
}

/// The same, of a bundle with two more; a suite adds `excess`, own harm minus the worst upstream:
///
/// - `scan`: whose processor is saturated, else who works longer, else who has more errors in the logs;
/// - `BARO`: by how many interquartile ranges a series departs from its median.
pub(crate) fn baselines_with(
    case: &Case,
    contract: &impl ContextContract,
    scan: Option<(Scan, Ranking)>,
) -> Vec<(&'static str, Ranking)> {
    let alerting: BTreeSet<EntityId> =
        case.anomalies.iter().map(|alert| alert.entity.clone()).collect();
    let all: BTreeSet<EntityId> = case.topology.entities().chain(&alerting).cloned().collect();
    let findings: Vec<(EntityId, Vec<Finding>)> =
        all.iter().map(|entity| (entity.clone(), findings_of(entity, case, contract))).collect();
    let by = |score: fn(&Finding) -> f64, join: fn(f64, f64) -> f64| {
        let scored = findings
            .iter()
            .map(|(entity, findings)| (entity.clone(), findings.iter().map(score).fold(0.0, join)));
        Ranking::by_score(scored)
    };
    let mut seeds: Vec<Vec<EntityId>> = Vec::new();
    for seed in &case.seeds {
        if !seeds.iter().flatten().any(|before| *before == seed.entity) {
            seeds.push(vec![seed.entity.clone()]);
        }
    }
    let of_bundle = scan
        .into_iter()
        .flat_map(|(scan, baro)| [("scan", scan.ranking(&findings)), ("BARO", baro)]);
    let rankings = vec![
        ("parents", Ranking::new([parents(&case.topology, &alerting)])),
        ("alerting", Ranking::new([alerting.into_iter().collect()])),
        ("first seed", Ranking::new(seeds)),
        ("most changed", by(shift, f64::max)),
        ("most errors", by(errors, |sum, more| sum + more)),
        ("pagerank", page_rank(&case.topology)),
        ("random", Ranking::new([all.into_iter().collect()])),
    ];
    rankings.into_iter().chain(of_bundle).collect()
}

/// The entities one step upstream of the alerting ones, by name.
fn parents(topology: &Topology, alerting: &BTreeSet<EntityId>) -> Vec<EntityId> {
    let rows = alerting.iter().flat_map(|entity| topology.neighbours(entity));
    let upstream = rows.filter(|row| row.direction != Direction::Downstream);
    upstream.map(|row| row.entity).collect::<BTreeSet<_>>().into_iter().collect()
}

fn findings_of(entity: &EntityId, case: &Case, contract: &impl ContextContract) -> Vec<Finding> {
    let around = case.topology.neighbours(entity).into_iter().map(|row| row.entity);
    let request = ContextRequest::whole(entity.clone(), case.window, around);
    let mut answer = contract.get_context(&request);
    let findings = match answer.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Ok(context)) => context.findings,
        // What cannot be read has no evidence.
        Poll::Ready(Err(_)) | Poll::Pending => Vec::new(),
    };
    // Attribution is no baseline's work.
    findings.into_iter().filter(|finding| finding.kind != EvidenceKind::Note).collect()
}

/// The relative shift of a measured series.
fn shift(finding: &Finding) -> f64 {
    let measured = matches!(finding.kind, EvidenceKind::Metric | EvidenceKind::Span);
    let quantity = finding.quantity.as_ref().filter(|_| measured);
    let share = quantity.and_then(|quantity| {
        let baseline = quantity.baseline.filter(|baseline| *baseline != 0.0)?;
        Some(((quantity.observed - baseline) / baseline).abs())
    });
    share.filter(|share| share.is_finite()).unwrap_or(0.0)
}

/// What was counted of errors and failures.
fn errors(finding: &Finding) -> f64 {
    let bad = matches!(finding.signal, Signal::Errors | Signal::Availability | Signal::Exhaustion)
        && finding.trend != Trend::Steady
        && finding.kind != EvidenceKind::Alert;
    let quantity = finding.quantity.as_ref().filter(|_| bad);
    quantity.map_or(0.0, |quantity| (quantity.observed - quantity.baseline.unwrap_or(0.0)).abs())
}

/// Ranks entities by where a walk from effects to causes ends up.
///
/// By Brin and Page, not by `petgraph::algo::page_rank`: there a walk that jumps at random never jumps to
/// what it could walk to, which gives other ranks, and each round takes the square of all entities.
pub fn page_rank(topology: &Topology) -> Ranking {
    let entities: Vec<&EntityId> = topology.entities().collect();
    let causes: BTreeMap<&EntityId, Vec<EntityId>> = entities
        .iter()
        .map(|entity| {
            let rows = topology.neighbours(entity).into_iter();
            let upstream = rows.filter(|row| row.direction != Direction::Downstream);
            let mut names: Vec<EntityId> = upstream.map(|row| row.entity).collect();
            names.dedup();
            (*entity, names)
        })
        .collect();
    let count = entities.len().max(1) as f64;
    let mut ranks: BTreeMap<&EntityId, f64> =
        entities.iter().map(|entity| (*entity, 1.0 / count)).collect();
    for _ in 0..ROUNDS {
        let stuck: f64 = causes
            .iter()
            .filter(|(_, causes)| causes.is_empty())
            .filter_map(|(entity, _)| ranks.get(entity))
            .sum();
        let base = (1.0 - DAMPING + DAMPING * stuck) / count;
        let mut next: BTreeMap<&EntityId, f64> =
            entities.iter().map(|entity| (*entity, base)).collect();
        for (entity, causes) in &causes {
            let rank = ranks.get(entity).copied().unwrap_or(0.0);
            for cause in causes {
                if let Some(sum) = next.get_mut(cause) {
                    *sum += DAMPING * rank / causes.len() as f64;
                }
            }
        }
        ranks = next;
    }
    // Ranks that differ by rounding alone are equal.
    let rounded = |rank: f64| (rank * 1e9).round();
    Ranking::by_score(ranks.into_iter().map(|(entity, rank)| (entity.clone(), rounded(rank))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use eog::incident::EffectDirection;

    #[test]
    fn parents_are_one_step_upstream() {
        let id = |name: &str| EntityId::new(name).unwrap();
        let mut topology = Topology::default();
        for (caller, callee) in [("web", "api"), ("api", "db"), ("web", "cache")] {
            topology.connect(&id(caller), "calls", &id(callee), EffectDirection::TargetToSource);
        }
        assert_eq!(parents(&topology, &[id("web")].into()), [id("api"), id("cache")]);
        assert!(parents(&topology, &[id("db")].into()).is_empty());
    }

    #[test]
    fn page_rank_walks_to_what_everybody_depends_on() {
        let id = |name: &str| EntityId::new(name).unwrap();
        let mut topology = Topology::default();
        for caller in ["a", "b", "c"] {
            topology.connect(&id(caller), "calls", &id("db"), EffectDirection::TargetToSource);
        }
        let ranking = page_rank(&topology);
        assert_eq!(ranking.tiers(), [vec![id("db")], vec![id("a"), id("b"), id("c")]]);
        assert_eq!(page_rank(&Topology::default()).tiers().len(), 0);
    }
}
