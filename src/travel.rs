//! Time travel over ledgers: why an entity got its label, and where two runs part.

mod diff;
mod explain;
mod unjudged;

pub use diff::{ChangedSetting, Difference, Parting, diff};
pub use explain::{
    Again, Dependence, Explanation, History, Part, Received, Step, Unanswered, explain,
};
pub use unjudged::{Unjudged, unjudged};

use eog_core::controller::Evaluation;
use eog_core::ledger::RestoreError;
use eog_core::{ContextPacket, Controller, Ledger, LocalContext, Replay};

/// The packet that the policy saw in an evaluation, rebuilt from the ledger without a call.
///
/// Nothing where the entry is no evaluation, or had no context. An answer from memory stands for
/// the packet of the entry that is remembered, which is equal.
///
/// # Errors
/// [`RestoreError`] when the ledger does not follow by the rules of this program.
pub fn packet_of(ledger: &Ledger, seq: u64) -> Result<Option<ContextPacket>, RestoreError> {
    let mut replay = Replay::<Controller>::new(ledger)?;
    while let Some(next) = replay.peek() {
        if next.seq == seq {
            let packet = |evaluation| packet_before(replay.machine(), ledger, evaluation);
            return Ok(next.evaluation().and_then(packet));
        }
        replay.step()?;
    }
    Ok(None)
}

/// The packet of an evaluation that a controller has under way and that is committed next.
fn packet_before(
    controller: &Controller,
    ledger: &Ledger,
    evaluation: &Evaluation,
) -> Option<ContextPacket> {
    let context: &LocalContext = ledger.context(&evaluation.context.as_ref()?.digest)?;
    controller.dispatched_packet(&evaluation.entity, context.clone())
}
