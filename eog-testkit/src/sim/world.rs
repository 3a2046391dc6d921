//! A context contract over a generated incident, with faults.

use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use eog::evidence::Trend;
use eog::{
    BoxFuture, ContextContract, ContextRequest, Digest, EvidenceKind, Failure, Finding,
    LocalContext,
};

use super::attempts::{Attempts, Calls, check_shares, counts_attempts};
use super::switch::FaultSwitch;
use crate::fault::Fault;
use crate::random::{RandomSeed, Stream};
use crate::truth::{TruthGraph, evidence, stranger};

/// Which shares of the requests go wrong; the rest gets the whole evidence. Together at most 1.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct WorldRates {
    /// Errors that another attempt would not fix, as far as the failure says.
    pub fail: f64,
    /// Errors marked as transient.
    pub transient: f64,
    /// Requests that are never answered, so that they time out. They need [`eog::Engine`].
    pub hang: f64,
    /// The evidence as it was at an earlier instant, before all of it was there.
    pub stale: f64,
    /// Fewer findings; the context says how many were left out.
    pub truncated: f64,
    /// No findings at all, and not a word about it.
    pub empty: f64,
    /// The whole evidence, with metrics beside it that say the opposite.
    pub contradictory: f64,
}

impl WorldRates {
    /// This share of requests goes wrong, each way equally often.
    pub fn evenly(share: f64) -> Self {
        let each = share / 7.0;
        Self {
            fail: each,
            transient: each,
            hang: each,
            stale: each,
            truncated: each,
            empty: each,
            contradictory: each,
        }
    }

    fn shares(&self) -> [(&'static str, f64, Strike); 7] {
        [
            ("fail", self.fail, Strike::Fail),
            ("transient", self.transient, Strike::Transient),
            ("hang", self.hang, Strike::Hang),
            ("stale", self.stale, Strike::Stale),
            ("truncated", self.truncated, Strike::Truncated),
            ("empty", self.empty, Strike::Empty),
            ("contradictory", self.contradictory, Strike::Contradictory),
        ]
    }
}

/// A context contract over a [`TruthGraph`] that goes wrong as a seed says.
///
/// What happens hangs on seed, request and the number of the attempt at this request. With the
/// [`FaultSwitch`] off, all requests get the whole evidence.
///
/// ```
/// use eog::Config;
/// use eog_testkit::run;
/// use eog_testkit::sim::{World, WorldRates};
/// use eog_testkit::truth::{TruthGraph, TruthPolicy, TruthSpec};
/// let truth = TruthGraph::generate(&TruthSpec::default(), 7)?;
/// let rates = WorldRates { empty: 1.0, ..WorldRates::default() };
/// let world = World::new(truth, rates, 7);
/// let ended = run(Config::default(), world.truth().case(), &world, &TruthPolicy);
/// assert!(ended.conclusion().frontier.is_empty());
/// assert_eq!(world.calls().values().sum::<u64>(), ended.spent().evaluations);
/// # Ok::<(), eog_testkit::truth::InvalidSpec>(())
/// ```
#[derive(Debug)]
pub struct World {
    truth: Arc<TruthGraph>,
    rates: WorldRates,
    attempts: Attempts,
    recoveries: AtomicU32,
}

#[derive(Clone, Copy, Debug)]
enum Strike {
    Fail,
    Transient,
    Hang,
    Stale,
    Truncated,
    Empty,
    Contradictory,
}

impl World {
    /// A world in which these shares of the requests go wrong.
    ///
    /// # Panics
    /// When the rates are not shares that add up to at most 1.
    #[track_caller]
    pub fn new(
        truth: impl Into<Arc<TruthGraph>>,
        rates: WorldRates,
        seed: impl Into<RandomSeed>,
    ) -> Self {
        check_shares(rates.shares().map(|(name, share, _)| (name, share)));
        let attempts = Attempts::new(seed.into());
        Self { truth: truth.into(), rates, attempts, recoveries: AtomicU32::new(0) }
    }

    /// The truth behind it.
    pub fn truth(&self) -> &TruthGraph {
        &self.truth
    }

    /// The world goes on: from now on every entity has one more finding, a note. Packets differ
    /// from all before, so that no answer comes from memory; what the evidence says is the same.
    pub fn recover(&self) {
        self.recoveries.fetch_add(1, Ordering::SeqCst);
    }

    /// The whole evidence, as it is now.
    fn whole(&self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        let entity = &request.entity;
        let truth = self.truth.get(entity).ok_or_else(|| stranger(entity))?;
        let mut context = truth.context.clone();
        let start = self.truth.window().start();
        for number in 1..=self.recoveries.load(Ordering::SeqCst) {
            let text = format!("the sources were mended, time {number}");
            let at = start + Duration::from_secs(number.into());
            context.findings.push(evidence::note(entity, at, text));
        }
        Ok(context)
    }

    fn stale(
        &self,
        request: &ContextRequest,
        whole: LocalContext,
        draw: &mut Stream,
    ) -> LocalContext {
        let start = self.truth.window().start();
        let starts = whole.findings.iter().map(|finding| finding.time.start());
        let Some(last) = starts.max().filter(|last| *last > start) else { return whole };
        let seconds = last.duration_since(start).unsigned_abs().as_secs();
        let earlier = start + Duration::from_secs(draw.below(seconds));
        self.truth.context_at(&request.entity, earlier).unwrap_or(whole)
    }
}

fn truncated(mut whole: LocalContext, draw: &mut Stream) -> LocalContext {
    let kept = draw.position(whole.findings.len());
    let left_out = whole.findings.len() - kept;
    whole.findings.truncate(kept);
    whole.omitted.push(format!("{left_out} findings beyond the first {kept}"));
    whole
}

/// For each metric, one that says the opposite.
fn contradictory(truth: &TruthGraph, mut whole: LocalContext, draw: &mut Stream) -> LocalContext {
    let metrics = whole.findings.iter().filter(|finding| finding.kind == EvidenceKind::Metric);
    let opposites: Vec<Finding> = metrics
        .map(|metric| match metric.trend {
            Trend::Steady => {
                evidence::raised_metric(&metric.entity, metric.signal, truth.window(), draw)
            }
            Trend::Rising | Trend::Falling => {
                evidence::normal_metric(&metric.entity, metric.signal, truth.window())
            }
        })
        .collect();
    whole.findings.extend(opposites);
    whole
}

counts_attempts!(World);

impl ContextContract for World {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move {
            let shares = self.rates.shares().map(|(_, share, strike)| (share, strike));
            let struck = self.attempts.strike("world", &Digest::of(request), &shares);
            let whole = self.whole(request)?;
            let Some((strike, attempt, mut draw)) = struck else { return Ok(whole) };
            let said = |what: &str| format!("{what} as the seed says (attempt {attempt})");
            let fault = match strike {
                Strike::Stale => return Ok(self.stale(request, whole, &mut draw)),
                Strike::Truncated => return Ok(truncated(whole, &mut draw)),
                Strike::Empty => return Ok(LocalContext::default()),
                Strike::Contradictory => return Ok(contradictory(&self.truth, whole, &mut draw)),
                Strike::Fail => Fault::Fail(Failure::context(said("fails"))),
                Strike::Transient => Fault::Fail(Failure::context(said("is busy")).transient()),
                Strike::Hang => Fault::Hang,
            };
            fault.strike().await?;
            Ok(whole)
        })
    }
}
