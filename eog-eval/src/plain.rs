//! Investigations in a plain loop, without a runtime: for contracts and policies that answer at
//! once, as those of recorded and simulated incidents do.

use eog::{
    AbductivePolicy, Case, Config, ContextAndPolicy, ContextContract, Controller, Finished,
    PlainError, drive,
};

/// Runs an investigation to its end: the rules and the ledger of [`eog::Engine`], but neither
/// time-outs nor retries.
pub(crate) fn try_run(
    config: Config,
    case: Case,
    contract: &impl ContextContract,
    policy: &impl AbductivePolicy,
) -> Result<Finished, PlainError> {
    let mut controller = Controller::new(config, case);
    let stop = drive(&mut controller, &ContextAndPolicy { contract, policy })?;
    Ok(Finished::new(stop, controller))
}
