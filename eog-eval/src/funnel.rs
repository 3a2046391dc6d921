//! Where a cause was lost that was not named.

use std::collections::BTreeMap;
use std::fmt;

use eog::{EntityId, Label};
use eog_evidence::effect_path;
use serde::Serialize;

use crate::investigation::Investigation;

/// How far an investigation came with one true cause: each step presupposes the one before.
///
/// A policy that leaves evidence out of its own prompt for want of room does not say so in the
/// ledger: what it left out counts as given.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Funnel {
    /// The declared graph has no effect path from it to any alert, and it was never evaluated.
    Unreachable,
    /// There is a path, but its context was never asked for.
    NotFetched,
    /// Its context was asked for, but no finding about it was ever given to the policy: the context
    /// was empty, could not be had, or held nothing of it on the pages that were read.
    NotInContext,
    /// Findings about it were given, and in the end it was not labelled an origin.
    Ignored,
    /// It was labelled an origin, but another origin explains it, it reaches no alert, or it changed too often to be
    /// settled.
    NotInFrontier,
    /// It is an irreducible origin that explains an alert: the evidence was used.
    Named,
}

impl Funnel {
    /// All stages, the worst first.
    pub const ALL: [Self; 6] = [
        Self::Unreachable,
        Self::NotFetched,
        Self::NotInContext,
        Self::Ignored,
        Self::NotInFrontier,
        Self::Named,
    ];
}

impl fmt::Display for Funnel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Unreachable => "never reachable",
            Self::NotFetched => "not fetched",
            Self::NotInContext => "not in context",
            Self::Ignored => "ignored",
            Self::NotInFrontier => "not in frontier",
            Self::Named => "used (named)",
        })
    }
}

/// How far the investigation came with one true cause.
///
/// A cause that was fetched although no path was declared, because evidence named it, counts as
/// reachable.
pub fn funnel(investigation: &Investigation, cause: &EntityId) -> Funnel {
    if investigation.named().contains(cause) {
        return Funnel::Named;
    }
    let diagnosis = &investigation.diagnosis;
    match diagnosis.belief(cause).map(|belief| belief.label) {
        Some(Label::Origin) => Funnel::NotInFrontier,
        // Whether any packet on it held a finding about it.
        Some(_) if diagnosis.judged_with(cause).any(|finding| finding.entity == *cause) => {
            Funnel::Ignored
        }
        Some(_) => Funnel::NotInContext,
        None => {
            let case = &investigation.case;
            let reaches =
                |alert: &eog::Anomaly| effect_path(&case.topology, cause, &alert.entity).is_some();
            if case.anomalies.iter().any(reaches) {
                Funnel::NotFetched
            } else {
                Funnel::Unreachable
            }
        }
    }
}

/// How many causes were lost at each stage, as counts and as shares of all causes.
///
/// ```
/// use eog_eval::{Funnel, FunnelShares};
/// let shares = FunnelShares::of([Funnel::Named, Funnel::Named, Funnel::Ignored, Funnel::Named]);
/// assert_eq!((shares.count(Funnel::Named), shares.share(Funnel::Named)), (3, 0.75));
/// assert_eq!(shares.count(Funnel::Unreachable), 0);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
#[serde(transparent)]
pub struct FunnelShares(BTreeMap<Funnel, CountedShare>);

/// A number of causes, and its share.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct CountedShare {
    /// How many causes.
    pub count: usize,
    /// Of all causes; 0 when there are none.
    pub share: f64,
}

impl FunnelShares {
    /// Counts stages. Every stage is there, those where nothing was lost, too.
    pub fn of(stages: impl IntoIterator<Item = Funnel>) -> Self {
        let mut counts: BTreeMap<Funnel, usize> = Funnel::ALL.map(|stage| (stage, 0)).into();
        for stage in stages {
            *counts.entry(stage).or_default() += 1;
        }
        let all = counts.values().sum::<usize>().max(1) as f64;
        let shared = |count: usize| CountedShare { count, share: count as f64 / all };
        Self(counts.into_iter().map(|(stage, count)| (stage, shared(count))).collect())
    }

    /// How many causes came to this stage and no further.
    pub fn count(&self, stage: Funnel) -> usize {
        self.0.get(&stage).map_or(0, |counted| counted.count)
    }

    /// Their share of all causes; 0 when there are none.
    pub fn share(&self, stage: Funnel) -> f64 {
        self.0.get(&stage).map_or(0.0, |counted| counted.share)
    }
}

impl fmt::Display for FunnelShares {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let all: usize = self.0.values().map(|counted| counted.count).sum();
        writeln!(f, "  how far the investigation got, of {all} causes in all")?;
        for (stage, CountedShare { count, share }) in &self.0 {
            writeln!(f, "    {stage:<17}{count:>6}  {share:.3}")?;
        }
        Ok(())
    }
}

/// The stage of each cause in one field: `pump: ignored | valve: used (named)`.
pub(crate) fn by_cause<C: fmt::Display>(stages: &BTreeMap<C, Funnel>) -> String {
    crate::table::joined(stages.iter().map(|(cause, stage)| format!("{cause}: {stage}")))
}

#[cfg(test)]
mod tests {
    use eog::{Budget, Case, Config, Failure};
    use eog_testkit::{
        MemoryContext, alert, entity, finding, healthy, hour, origin, policy_fn, run, symptom_of,
        topology,
    };

    use super::*;

    /// `web` has an alert and suffers from `app`, and that from `db`; who cites anything else is
    /// an origin.
    fn investigated(contract: &MemoryContext, config: Config) -> Investigation {
        let graph = topology("web calls app; app calls db; app calls cache; lone");
        let alerts = vec![alert("web", "HttpErrors", "10:05")];
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "app"),
            "app" => {
                let mut decision = symptom_of(packet, "db");
                decision.claims.extend(symptom_of(packet, "cache").claims);
                decision
            }
            "cache" if !packet.context.findings.is_empty() => healthy(packet),
            _ => origin(packet),
        });
        let case = Case::from_anomalies(graph, hour(), alerts);
        Investigation::of(case.clone(), run(config, case, contract, &policy))
    }

    fn seen(names: &[&str]) -> MemoryContext {
        MemoryContext::default().with_all(names.iter().map(|name| finding(name)))
    }

    #[test]
    fn each_cause_is_lost_at_one_stage() {
        let all = investigated(&seen(&["web", "app", "db", "cache"]), Config::default());
        let blind = investigated(&seen(&["web", "app", "db"]), Config::default());
        let down = seen(&["web", "app", "db"]).fail("cache", Failure::context("it is down"));
        let down = investigated(&down, Config::default());
        let short = Config { budget: Budget::hops(2), ..Config::default() };
        let short = investigated(&seen(&["web", "app", "db", "cache"]), short);
        for (ended, cause, stage) in [
            (&all, "lone", Funnel::Unreachable),
            (&all, "nobody", Funnel::Unreachable),
            (&short, "db", Funnel::NotFetched),
            (&blind, "cache", Funnel::NotInContext),
            (&down, "cache", Funnel::NotInContext),
            (&all, "cache", Funnel::Ignored),
            (&all, "web", Funnel::Ignored),
            (&all, "db", Funnel::Named),
        ] {
            assert_eq!(funnel(ended, &entity(cause)), stage, "{cause}");
        }
    }

    #[test]
    fn an_origin_that_another_explains_is_not_in_the_frontier() {
        let policy = policy_fn(|packet| match packet.entity.as_str() {
            "web" => symptom_of(packet, "app"),
            "app" => {
                let cause = symptom_of(packet, "db");
                eog::Decision { claims: cause.claims, ..origin(packet) }
            }
            _ => origin(packet),
        });
        let graph = topology("web calls app; app calls db");
        let case = Case::from_anomalies(graph, hour(), vec![alert("web", "HttpErrors", "10:05")]);
        let contract = seen(&["web", "app", "db"]);
        let ended =
            Investigation::of(case.clone(), run(Config::default(), case, &contract, &policy));
        assert_eq!(funnel(&ended, &entity("app")), Funnel::NotInFrontier);
        assert_eq!(funnel(&ended, &entity("db")), Funnel::Named);
    }

    #[test]
    fn the_stage_of_every_cause_stands_in_one_field() {
        let stages = BTreeMap::from([("pump", Funnel::Ignored), ("valve", Funnel::Named)]);
        assert_eq!(by_cause(&stages), "pump: ignored | valve: used (named)");
    }
}
