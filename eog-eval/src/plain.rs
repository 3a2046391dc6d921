//! Investigations in a plain loop, without a runtime: for contracts and policies that answer at
//! once, as those of simulated incidents do.

use eog::machine::{OfMachine, PlainError, drive};
use eog::{AbductivePolicy, Case, ContextContract, Finished, Machine};

/// Runs an investigation to its end: the rules and the ledger of [`eog::Engine`], but neither
/// time-outs nor retries.
pub(crate) fn try_run<S>(
    settings: S,
    case: Case,
    contract: &impl ContextContract,
    policy: &impl AbductivePolicy,
) -> Result<Finished<S::Machine>, PlainError>
where
    S: OfMachine,
    S::Machine: Machine<Settings = S>,
{
    let mut machine = S::Machine::open(settings, case);
    let stop = drive(&mut machine, &S::Machine::by_policy(contract, policy))?;
    Ok(Finished::new(stop, machine))
}
