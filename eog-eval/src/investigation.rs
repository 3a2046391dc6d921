//! One ordinary investigation of a bundle, and the order of suspects that it reports.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use eog::belief::ClaimEdge;
use eog::controller::Order;
use eog::{Case, Config, DecisionMemory, Diagnosis, EntityId};
use eog_evidence::Bundle;
use eog_session::controllers::{AnyFinished, AnySettings};
use eog_session::judge::{Evidence, Policies};
use eog_session::run::{Course, Start};
use eog_session::source::{OfBundle, Opened};

use crate::error::EvalError;
use crate::ranking::Ranking;

/// How incidents are investigated: by which controller, and who judges.
#[derive(Clone)]
pub struct Method {
    /// Which controller investigates, with every choice of it.
    pub settings: AnySettings,
    /// The policy.
    pub judge: Arc<dyn Policies + Send + Sync>,
    /// Decisions of other investigations, which are not asked for again.
    pub memory: Option<DecisionMemory>,
}

impl Method {
    /// The n-th run, counted from 1, of several over one incident: the first has the order of evaluation that is given, each
    /// other one a permuted order of its own. Controllers that have only one order repeat themselves.
    pub(crate) fn of_run(&self, run: usize) -> Self {
        let settings = match &self.settings {
            AnySettings::Eog(config) if run > 1 => {
                let order = Order::Permuted { seed: run as u64 };
                Config { order, ..config.as_ref().clone() }.into()
            }
            settings => settings.clone(),
        };
        Self { settings, ..self.clone() }
    }
}

impl Default for Method {
    /// As `eog investigate` does: the default configuration, the evidence policy.
    fn default() -> Self {
        Config::default().into()
    }
}

impl<S: Into<AnySettings>> From<S> for Method {
    /// By the evidence policy.
    fn from(settings: S) -> Self {
        Self { settings: settings.into(), judge: Arc::new(Evidence), memory: None }
    }
}

impl fmt::Debug for Method {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let judge = self.judge.name();
        f.debug_struct("Method").field("settings", &self.settings).field("judge", &judge).finish()
    }
}

/// An investigation that has ended.
#[derive(Debug)]
#[non_exhaustive]
pub struct Investigation {
    /// What it started from.
    pub case: Case,
    /// What it concluded, and everything that scores read.
    pub diagnosis: Diagnosis,
    /// How it got there.
    pub finished: AnyFinished,
    /// How long it took, from the incident in memory to the conclusion.
    pub took: Duration,
}

/// Investigates a bundle as `eog investigate` does: window and seeds chosen from the alerts, the
/// default configuration, the evidence policy.
///
/// # Errors
/// [`EvalError::Case`] when there is nothing to start from.
pub fn investigate(bundle: Bundle) -> Result<Investigation, EvalError> {
    let begun = Instant::now();
    let source = Opened::new("", OfBundle::new(bundle));
    let ended = investigate_source(&source, &Method::default())?;
    Ok(Investigation { took: begun.elapsed(), ..ended })
}

/// Investigates an incident of any source by any method.
///
/// # Errors
/// [`EvalError::Case`] when there is nothing to start from, or the judge cannot be used.
pub fn investigate_source(source: &Opened, method: &Method) -> Result<Investigation, EvalError> {
    let course = Course::new(&*method.judge, source.clone());
    let course = Course { memory: method.memory.clone(), ..course };
    conduct(course, method.settings.clone())
}

/// The same with a judge that lives no longer than the investigation.
pub(crate) fn investigate_judged(
    source: &Opened,
    settings: impl Into<AnySettings>,
    judge: &dyn Policies,
) -> Result<Investigation, EvalError> {
    conduct(Course::new(judge, source.clone()), settings)
}

fn conduct(
    course: Course<'_>,
    settings: impl Into<AnySettings>,
) -> Result<Investigation, EvalError> {
    let begun = Instant::now();
    let case = course.source.incident().name.clone();
    let failed = |reason: String| EvalError::Case { case: case.clone(), reason };
    let start =
        Start::of(&course.source, settings, None).map_err(|error| failed(error.to_string()))?;
    let case = start.by_rule.clone();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| failed(error.to_string()))?;
    let ended = runtime.block_on(course.begin(start));
    let ended = ended.map_err(|error| failed(error.to_string()))?;
    Ok(Investigation { took: begun.elapsed(), ..Investigation::of(case, ended.finished) })
}

impl Investigation {
    /// An investigation that was made by other means, in no time.
    pub fn of(case: Case, finished: impl Into<AnyFinished>) -> Self {
        let finished = finished.into();
        Self { case, diagnosis: finished.diagnosis(), finished, took: Duration::ZERO }
    }

    /// The causes that it names: every irreducible origin that explains an alert. Empty when the
    /// investigation is inconclusive.
    pub fn named(&self) -> BTreeSet<EntityId> {
        self.diagnosis.causes().flat_map(|group| group.origins.iter().cloned()).collect()
    }

    /// The entities it names, however sure it is: those causes, else its best guess.
    pub fn choice(&self) -> BTreeSet<EntityId> {
        self.diagnosis.choice().into_iter().cloned().collect()
    }

    /// The claims that hold at the end, each once.
    pub fn claims(&self) -> Vec<ClaimEdge> {
        let mut edges: Vec<ClaimEdge> =
            self.diagnosis.claims.iter().map(eog::Claim::edge).collect();
        edges.dedup();
        edges
    }

    /// The order of suspects that the report gives, ties as ties:
    ///
    /// 1. origins that explain alerts, by log-odds where the policy gives them, else those that explain most first;
    ///    the confirmed before the likely;
    /// 2. origins that reach no alert;
    /// 3. everyone else who was judged, by what speaks for each.
    pub fn suspects(&self) -> Ranking {
        let conclusion = &self.diagnosis.conclusion;
        let named = conclusion.frontier.iter().filter(|_| self.diagnosis.is_diagnosed());
        let mut groups: Vec<_> = named.collect();
        let log_odds = |group: &eog::diagnosis::OriginGroup| {
            let beliefs = group.origins.iter().filter_map(|origin| self.diagnosis.belief(origin));
            beliefs.filter_map(|belief| Some(belief.measures.as_ref()?.log_odds)).max()
        };
        let key = |group: &eog::diagnosis::OriginGroup| {
            let log_odds = log_odds(group);
            let covers = if log_odds.is_some() { 0 } else { group.covers.len() };
            Reverse((!group.covers.is_empty(), log_odds, covers, group.confidence))
        };
        groups.sort_by_key(|group| key(group));
        let tiers = groups.chunk_by(|a, b| key(a) == key(b)).map(|tied| {
            tied.iter().flat_map(|group| group.origins.iter().cloned()).collect::<Vec<_>>()
        });
        let mut tiers: Vec<Vec<EntityId>> = tiers.collect();
        let listed: BTreeSet<EntityId> = tiers.iter().flatten().cloned().collect();
        let others = self.diagnosis.ranking.iter().filter(|one| !listed.contains(&one.entity));
        let others: Vec<_> = others.collect();
        let tied = others.chunk_by(|a, b| a.score.rank() == b.score.rank());
        tiers.extend(tied.map(|tied| tied.iter().map(|one| one.entity.clone()).collect()));
        Ranking::new(tiers)
    }
}
