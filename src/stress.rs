//! Robustness to order: one investigation again and again, with the same answers, in another
//! order.
//!
//! An investigation goes step by step, and which step comes first is often an accident: the order
//! of the alerts, the order of the active set, how many evaluations are under way at once, how fast
//! answers come. [`stress`] varies these and nothing else. Equal questions get equal answers in all
//! runs, so what differs in the result, the order did.

mod answers;
mod compare;
mod draw;
mod report;
mod setting;
mod shrink;

use std::num::NonZeroU32;
use std::time::Duration;

use eog_core::machine::{OfMachine, Responder};
use eog_core::{Case, Machine};

use crate::engine::{Engine, Finished, Limits};
use crate::handle::Controls;
use answers::{Answers, Delayed, no_limits};
use compare::Tally;
use setting::Plan;
use shrink::Search;

pub use report::{
    Asked, DelayDefect, DelaysAlone, Disagreement, FrontierCount, LastWord, Pair, Parting,
    PartingStep, Questions, Shrinking, Side, StressOutcome, StressReport,
};
pub use setting::{Factor, Reorder, Setting};

/// How to stress an investigation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stress {
    /// How many runs besides the baseline.
    pub runs: u32,
    /// Derives every permutation, order, width and delay.
    pub seed: u64,
    /// The widths that are drawn from. None leaves the width as it is.
    pub widths: Vec<NonZeroU32>,
    /// The longest injected delay of a context or a decision. Zero injects none.
    pub max_delay: Duration,
    /// How many runs are made once more with other delays alone.
    pub delay_runs: u32,
    /// At most this many runs to make a differing one smaller.
    pub max_shrink_runs: u32,
    /// How long one context and one decision may take. A deadline does not count.
    pub limits: Limits,
}

impl Default for Stress {
    fn default() -> Self {
        Self {
            runs: 40,
            seed: 1,
            widths: [1, 2, 4, 8].into_iter().filter_map(NonZeroU32::new).collect(),
            max_delay: Duration::from_millis(3),
            delay_runs: 8,
            max_shrink_runs: 100,
            limits: Limits::default(),
        }
    }
}

/// Progress and controls of a stress test.
#[derive(Default)]
pub struct Watch<'w> {
    progress: Option<&'w mut (dyn FnMut(StressProgress) + Send)>,
    controls: Option<Controls>,
}

impl<'w> Watch<'w> {
    /// Reports what is being done.
    #[must_use]
    pub fn with_progress(mut self, progress: &'w mut (dyn FnMut(StressProgress) + Send)) -> Self {
        self.progress = Some(progress);
        self
    }

    /// Obeys the other end of [`crate::handle`]: cancellation ends the run under way, and the
    /// report is about those before. Observations are ignored.
    #[must_use]
    pub fn with_controls(mut self, controls: Controls) -> Self {
        self.controls = Some(controls);
        self
    }
}

impl std::fmt::Debug for Watch<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Watch").field("controls", &self.controls).finish_non_exhaustive()
    }
}

/// What is being done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum StressProgress {
    /// The case as given is investigated.
    Baseline,
    /// A varied run.
    Run {
        /// Its number, counted from 1.
        number: u32,
        /// How many there will be.
        of: u32,
        /// How many before it have another result than the baseline.
        differing: u32,
    },
    /// A differing run is made smaller.
    Shrinking {
        /// The number of the run, counted from 1.
        number: u32,
        /// How many there will be at most.
        at_most: u32,
    },
}

/// The baseline was cancelled, so there is nothing to compare with.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("cancelled before the first run had ended")]
pub struct Cancelled;

/// Runs one investigation as given, the baseline, and then again with other orders, widths and
/// delays, and compares what they conclude.
///
/// Equal packets get equal decisions in all runs, and equal requests equal contexts: the first
/// answer is kept, a failure as well. So nothing is asked twice, and a policy that wavers does not
/// blur the picture. A failure that is [transient](eog_core::Failure::transient) is kept once it was
/// tried as often as the limits say.
///
/// The report depends on the arguments and the answers alone: the same seed gives the same report.
/// Memory grows with the number of distinct questions; of the runs, two are kept whole.
///
/// Must run inside a tokio runtime with time enabled.
///
/// # Errors
/// [`Cancelled`] when the baseline did not end.
///
/// ```
/// use eog::stress::{Stress, Watch, stress};
/// use eog::{Config, ContextAndPolicy};
/// use eog_testkit::{MemoryContext, healthy, policy_fn, seeded, topology};
///
/// let case = seeded(topology("web calls db; app calls db"), ["web", "app", "db"]);
/// let (contract, policy) = (MemoryContext::default(), policy_fn(healthy));
/// let world = ContextAndPolicy { contract, policy };
/// let how = Stress { runs: 10, ..Stress::default() };
/// # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let report = stress(Config::default(), case, world, &how, Watch::default()).await?;
/// assert_eq!((report.runs, report.same_outcome), (10, 10));
/// assert!(report.pair.is_none());
/// # Ok::<(), eog::stress::Cancelled>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub async fn stress<S>(
    settings: S,
    case: Case,
    responder: impl Responder<<S::Machine as Machine>::Question>,
    how: &Stress,
    watch: Watch<'_>,
) -> Result<StressReport<<S::Machine as Machine>::Body>, Cancelled>
where
    S: Reorder + OfMachine,
    S::Machine: Machine<Settings = S>,
{
    let plan = Plan::new(settings, case, how);
    let answers = Answers::new(responder, how.limits);
    let mut lab: Lab<'_, S::Machine, _> = Lab { plan, answers, watch, interrupted: false };
    lab.report(StressProgress::Baseline);
    let baseline = lab.run(&lab.plan.baseline()).await.ok_or(Cancelled)?;
    let mut tally = Tally::new(&baseline);
    let mut delays = DelaysAlone::default();
    let mut search = Search::new(&lab.plan, &baseline, how.max_shrink_runs);
    lab.repeat(0, &baseline, &mut delays).await;
    for number in 1..=how.runs {
        lab.report(StressProgress::Run { number, of: how.runs, differing: tally.differing() });
        let setting = lab.plan.setting(number);
        let Some(ran) = lab.run(&setting).await else { break };
        tally.count(number, &ran);
        lab.repeat(number, &ran, &mut delays).await;
        search.found(number, setting, ran);
    }
    search.shrink(&mut lab, &mut delays).await;
    let shrinking = search.effort();
    Ok(StressReport {
        seed: how.seed,
        planned: how.runs,
        runs: tally.runs(),
        interrupted: lab.interrupted,
        same_outcome: tally.same_outcome(),
        same_frontier: tally.same_frontier(),
        same_cover: tally.same_cover(),
        frontiers: tally.into_counts(),
        delays_alone: delays,
        baseline: Side::new(&lab.plan, lab.plan.baseline(), &baseline),
        pair: search.into_pair(&lab.plan, &baseline),
        shrinking,
        questions: lab.answers.questions(),
    })
}

/// Where runs are made.
struct Lab<'w, M: Machine, R> {
    plan: Plan<M::Settings>,
    answers: Answers<R, M::Question>,
    watch: Watch<'w>,
    interrupted: bool,
}

impl<M: Machine<Settings: Reorder>, R: Responder<M::Question>> Lab<'_, M, R> {
    /// One run to its end; nothing when it was cancelled, now or before.
    async fn run(&mut self, setting: &Setting) -> Option<Finished<M>> {
        if self.interrupted {
            return None;
        }
        let (settings, case) = self.plan.input(setting);
        let world = Delayed::new(&self.answers, setting.delays, self.plan.max_delay());
        let run = Engine::with_responder(world).with_limits(no_limits());
        let run = run.investigate(settings, case);
        let finished = tokio::select! {
            biased;
            () = cancelled(&mut self.watch.controls) => None,
            finished = run => Some(finished),
        };
        self.interrupted = finished.is_none();
        finished
    }

    /// Makes a run once more with other delays alone, if it is one of those chosen for that.
    async fn repeat(&mut self, number: u32, ran: &Finished<M>, delays: &mut DelaysAlone) {
        let Some(setting) = self.plan.other_delays(number) else { return };
        if let Some(again) = self.run(&setting).await {
            delays.compare(number, ran, &again);
        }
    }

    fn report(&mut self, step: StressProgress) {
        if let Some(progress) = &mut self.watch.progress {
            progress(step);
        }
    }
}

/// Resolves when the other end of the handle cancels.
async fn cancelled(controls: &mut Option<Controls>) {
    let Some(controls) = controls else { return std::future::pending().await };
    controls.cancellation().cancelled().await;
}
