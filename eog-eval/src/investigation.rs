//! One ordinary investigation of a bundle, and the order of suspects that it reports.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::{Duration, Instant};

use eog::{
    AbductivePolicy, Case, ClaimEdge, Conclusion, Confidence, Config, ContextContract, Controller,
    EntityId, Order, StopReason,
};
use eog_evidence::{Bundle, BundleContext, EvidencePolicy, Incident, open_case};

use crate::error::EvalError;
use crate::plain::try_run;
use crate::ranking::Ranking;

/// An investigation that has ended.
#[derive(Debug)]
pub struct Investigation {
    /// Its controller, for beliefs, claims and ledger.
    pub controller: Controller,
    /// What it started from.
    pub case: Case,
    /// What it concluded.
    pub conclusion: Conclusion,
    /// Why it ended.
    pub stop: StopReason,
    /// How long it took, from the bundle in memory to the conclusion.
    pub took: Duration,
}

/// Investigates a bundle as `eog investigate` does: window and seeds chosen from the alerts, the
/// default configuration, the evidence policy.
///
/// # Errors
/// [`EvalError::Case`] when there is nothing to start from.
pub fn investigate(bundle: Bundle) -> Result<Investigation, EvalError> {
    investigate_bundle(bundle, Config::default())
}

/// The configuration of the n-th run, counted from 1, of several over one incident: the first has
/// the default order of evaluation, each other one a permuted order of its own.
pub(crate) fn config_of_run(run: usize) -> Config {
    match run {
        0 | 1 => Config::default(),
        _ => Config { order: Order::Permuted { seed: run as u64 }, ..Config::default() },
    }
}

/// The same as [`investigate`] with other rules of the controller.
pub(crate) fn investigate_bundle(
    bundle: Bundle,
    config: Config,
) -> Result<Investigation, EvalError> {
    let begun = Instant::now();
    let incident = bundle.incident();
    let mut ended = investigate_configured(&incident, &BundleContext::new(bundle), config)?;
    ended.took = begun.elapsed();
    Ok(ended)
}

/// Investigates an incident of any source, in the same way.
///
/// # Errors
/// [`EvalError::Case`] when there is nothing to start from, or the source does not answer at once.
pub fn investigate_with(
    incident: &Incident,
    contract: &impl ContextContract,
) -> Result<Investigation, EvalError> {
    investigate_configured(incident, contract, Config::default())
}

/// The same with other rules of the controller.
///
/// # Errors
/// [`EvalError::Case`] when there is nothing to start from, or the source does not answer at once.
pub fn investigate_configured(
    incident: &Incident,
    contract: &impl ContextContract,
    config: Config,
) -> Result<Investigation, EvalError> {
    let begun = Instant::now();
    let failed = |reason: String| EvalError::Case { case: incident.name.clone(), reason };
    let case = open_case(incident, None).map_err(|error| failed(error.to_string()))?;
    let mut ended = Investigation::run(case, contract, &EvidencePolicy::default(), config)
        .map_err(|error| failed(error.to_string()))?;
    ended.took = begun.elapsed();
    Ok(ended)
}

impl Investigation {
    /// Investigates a case with any policy that answers at once.
    pub(crate) fn run(
        case: Case,
        contract: &impl ContextContract,
        policy: &impl AbductivePolicy,
        config: Config,
    ) -> Result<Self, eog::PlainError> {
        let begun = Instant::now();
        let finished = try_run(config, case.clone(), contract, policy)?;
        let conclusion = finished.conclusion();
        let took = begun.elapsed();
        Ok(Self { controller: finished.machine, case, conclusion, stop: finished.stop, took })
    }

    /// The causes that it names: every irreducible origin that explains an alert. Empty when the
    /// investigation is inconclusive.
    pub fn named(&self) -> BTreeSet<EntityId> {
        let covering = self.conclusion.frontier.iter().filter(|group| !group.covers.is_empty());
        covering.flat_map(|group| group.origins.iter().cloned()).collect()
    }

    /// The order of suspects that the report gives, ties as ties:
    ///
    /// 1. origins that explain alerts, those that explain most first, the confirmed before the
    ///    likely;
    /// 2. origins that reach no alert;
    /// 3. what the claims say lies between an origin and the alerts, nearest to the origin first:
    ///    who goes one step too far still finds the cause next to it;
    /// 4. without an origin that explains anything, the ranking of the conclusion.
    pub fn suspects(&self) -> Ranking {
        let conclusion = &self.conclusion;
        if conclusion.confidence == Confidence::Inconclusive {
            let total = |entry: &eog::Ranked| f64::from(entry.score.total());
            let ranked = conclusion.ranking.iter();
            return Ranking::by_score(ranked.map(|entry| (entry.entity.clone(), total(entry))));
        }
        let mut groups: Vec<_> = conclusion.frontier.iter().collect();
        let key = |group: &eog::OriginGroup| {
            (std::cmp::Reverse(group.covers.len()), std::cmp::Reverse(group.confidence))
        };
        groups.sort_by_key(|group| key(group));
        let tiers = groups.chunk_by(|a, b| key(a) == key(b)).map(|tied| {
            tied.iter().flat_map(|group| group.origins.iter().cloned()).collect::<Vec<_>>()
        });
        Ranking::new(tiers.chain(between(&self.named(), &self.controller.live_claims())))
    }
}

/// The effects of some origins by their distance over live claims.
fn between(origins: &BTreeSet<EntityId>, claims: &[ClaimEdge]) -> Vec<Vec<EntityId>> {
    let mut effects: BTreeMap<&EntityId, Vec<&EntityId>> = BTreeMap::new();
    for claim in claims {
        effects.entry(&claim.cause).or_default().push(&claim.effect);
    }
    let mut seen: BTreeSet<&EntityId> = origins.iter().collect();
    let mut queue: VecDeque<(&EntityId, usize)> = origins.iter().map(|o| (o, 0)).collect();
    let mut tiers: Vec<Vec<EntityId>> = Vec::new();
    while let Some((entity, distance)) = queue.pop_front() {
        for &effect in effects.get(entity).into_iter().flatten() {
            if seen.insert(effect) {
                if tiers.len() == distance {
                    tiers.push(Vec::new());
                }
                if let Some(tier) = tiers.get_mut(distance) {
                    tier.push(effect.clone());
                }
                queue.push_back((effect, distance + 1));
            }
        }
    }
    tiers
}
