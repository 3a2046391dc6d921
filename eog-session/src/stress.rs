//! How far a result depends on the order.

use std::sync::Arc;

use eog::stress::{Stress, StressReport, Watch};
use eog::{CallRecorder, ContextAndPolicy, DecisionMemory, Usage};

use crate::controllers::{AnySettings, ControllerName};
use crate::judge::{ForRun, JudgeError, Policies};
use crate::listener::Listener;
use crate::run::{Remembered, RunError, Start, Steering, remembering};
use crate::source::Opened;

/// What a stress test came to.
#[derive(Debug)]
#[non_exhaustive]
pub struct Stressed {
    /// What it found. Nothing when it was cancelled before the first run had ended.
    pub report: Option<StressReport>,
    /// What the memory was good for, if there is one.
    pub memory: Option<Remembered>,
}

/// Why there is nothing to say.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum StressError {
    /// The controller has no order that could be varied.
    #[error("stress varies the order of evaluation, and the controller {0} has only one")]
    NoOrder(ControllerName),
    /// There is no policy, or its answers cannot be used.
    #[error(transparent)]
    Run(#[from] RunError),
}

impl From<JudgeError> for StressError {
    fn from(error: JudgeError) -> Self {
        Self::Run(error.into())
    }
}

/// Runs one investigation in many orders, and compares what they conclude. The start is that of the
/// rules.
///
/// # Errors
/// [`StressError`].
pub async fn stress(
    policies: &dyn Policies,
    source: Opened,
    start: Start,
    memory: Option<&DecisionMemory>,
    how: Stress,
    steering: Steering,
    listener: Arc<dyn Listener>,
) -> Result<Stressed, StressError> {
    let Start { settings, by_rule: case, .. } = start;
    let AnySettings::Eog(config) = settings else {
        return Err(StressError::NoOrder(settings.controller()));
    };
    let recorder = CallRecorder::in_memory();
    let run = ForRun::new(&recorder, Usage::default()).with_listener(Arc::clone(&listener));
    let judge = policies.judge(run)?;
    let policy = remembering(judge.policy(&case), memory, policies, &case)?;
    let how = Stress { limits: judge.limits(), ..how };
    let world = ContextAndPolicy { contract: source, policy };
    let mut progress = |step| listener.stressing(step);
    let (cancel, controls) = steering.into_parts();
    let watch = Watch::default().with_progress(&mut progress).with_controls(controls);
    let report = eog::stress::stress(*config, case, world, &how, watch).await;
    drop(cancel);
    judge.check()?;
    let memory = memory.map(Remembered::of);
    Ok(Stressed { report: report.ok(), memory })
}
