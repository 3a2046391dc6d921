//! Time travel over ledgers: why an entity got its label, and where two runs part.

mod diff;
mod explain;
mod unjudged;

pub use diff::{ChangedSetting, Difference, Parting, diff};
pub use explain::{Again, Dependence, Explanation, Heard, Part, Step, explain};
pub use unjudged::{Unjudged, unjudged};

use eog_core::{
    ContextPacket, Controller, Digest, Entry, EntryBody, Input, Ledger, LocalContext, Output,
    RecordedAnswer, RestoreError,
};

/// The packet that the policy saw in an evaluation, rebuilt from the ledger without a call.
///
/// Nothing where the entry is no evaluation, had no context, or stands in a broken chain. An answer from memory stands for
/// the packet of the entry that is remembered, which is equal.
///
/// # Errors
/// [`RestoreError`] when the ledger does not follow by the rules of this program.
pub fn packet_of(ledger: &Ledger, seq: u64) -> Result<Option<ContextPacket>, RestoreError> {
    let evaluation =
        ledger.entries().iter().find(|entry| entry.seq == seq).and_then(|entry| entry.evaluation());
    let Some(evaluation) = evaluation else { return Ok(None) };
    if let RecordedAnswer::Remembered { entry } = evaluation.answer {
        return if entry < seq { packet_of(ledger, entry) } else { Ok(None) };
    }
    let Some(record) = &evaluation.context else { return Ok(None) };
    let Some(context) = context_of(ledger, record.digest) else { return Ok(None) };
    let mut before = Ledger::default();
    for entry in ledger.entries().iter().take_while(|entry| entry.seq < seq) {
        if before.push(Entry::clone(entry)).is_err() {
            return Ok(None);
        }
    }
    let mut controller = Controller::restore(&before)?;
    loop {
        match controller.poll() {
            Output::Fetch { ticket, request } if request.entity == evaluation.entity => {
                let fetched = Input::Context(ticket, context.clone());
                if controller.handle(fetched).is_err() {
                    return Ok(None);
                }
            }
            Output::Decide { packet, .. } if packet.entity == evaluation.entity => {
                return Ok(Some(ContextPacket::clone(&packet)));
            }
            Output::Fetch { .. } | Output::Decide { .. } => {}
            _ => return Ok(None),
        }
    }
}

/// A context by digest: its body stands in the first entry that saw it.
fn context_of(ledger: &Ledger, digest: Digest) -> Option<LocalContext> {
    ledger.entries().iter().find_map(|entry| match &entry.body {
        EntryBody::Evaluated(evaluation) => {
            let record = evaluation.context.as_ref().filter(|record| record.digest == digest)?;
            record.body.clone()
        }
        _ => None,
    })
}
