//! The controller as a [`Machine`](crate::Machine).

use std::num::NonZeroU32;
use std::sync::Arc;

use super::{Checkpoint, Controller};
use crate::belief::Message;
use crate::budget::Spent;
use crate::contract::{AbductivePolicy, ContextContract};
use crate::controller::config::Config;
use crate::controller::entry_body::EntryBody;
use crate::diagnosis::Diagnosis;
use crate::diagnosis::conclude::Conclusion;
use crate::ids::EntityId;
use crate::incident::case::Case;
use crate::ledger::record::Forked;
use crate::ledger::restore_error::RestoreError;
use crate::ledger::{Entry, Ledger};
use crate::machine::emission::Emission;
use crate::machine::exchange::{Input, InputError, Output};
use crate::machine::inquiry::{ContextAndPolicy, Inquiry, Reply};
use crate::machine::{Machine, OfMachine};
use crate::stop::StopReason;

impl OfMachine for EntryBody {
    type Machine = Controller;
}

impl OfMachine for Config {
    type Machine = Controller;
}

impl Machine for Controller {
    type Body = EntryBody;
    type Question = Inquiry;
    type Settings = Config;
    type ByPolicy<C: ContextContract, P: AbductivePolicy> = ContextAndPolicy<C, P>;

    const NAME: &'static str = "eog";

    fn by_policy<C: ContextContract, P: AbductivePolicy>(
        contract: C,
        policy: P,
    ) -> ContextAndPolicy<C, P> {
        ContextAndPolicy { contract, policy }
    }

    fn open(settings: Config, case: Case) -> Self {
        Self::new(settings, case)
    }

    fn poll(&mut self) -> Output {
        self.poll()
    }

    fn handle(&mut self, input: Input) -> Result<(), InputError> {
        self.handle(input)
    }

    fn ledger(&self) -> &Ledger {
        self.ledger()
    }

    fn settings(&self) -> &Config {
        self.config()
    }

    fn spent(&self) -> Spent {
        self.spent()
    }

    fn stop(&self) -> Option<StopReason> {
        self.stop()
    }

    fn conclusion(&self) -> Conclusion {
        self.conclusion()
    }

    fn diagnosis(&self) -> Diagnosis {
        self.diagnosis()
    }

    fn inbox(&self, entity: &EntityId) -> Vec<(Message, bool)> {
        self.inbox(entity)
    }

    fn in_flight(&self) -> u32 {
        self.in_flight()
    }

    fn upcoming(&self, limit: NonZeroU32) -> Vec<Inquiry> {
        self.upcoming(limit).into_iter().map(Inquiry::Context).collect()
    }

    fn follow_up(&self, question: &Inquiry, answer: &Reply) -> Option<Inquiry> {
        let (Inquiry::Context(request), Reply::Context(context)) = (question, answer) else {
            return None;
        };
        let packet = self.upcoming_packet(&request.entity, context.clone());
        (!self.remembers(&packet)).then(|| Inquiry::Decision(Arc::new(packet)))
    }

    fn reopen(first: &Arc<Entry>) -> Result<Self, RestoreError> {
        Self::reopened(first)
    }

    fn repeat(
        &mut self,
        entry: &Arc<Entry>,
        next: Option<&Arc<Entry>>,
    ) -> Result<(), RestoreError> {
        self.derive(entry, next)?;
        self.emission = Emission::settled(&self.ledger);
        Ok(())
    }

    fn depart(&mut self, forked: Forked) {
        self.take_course(forked);
        self.commit_ready();
        self.emission = Emission::default();
    }

    fn to_checkpoint(&self) -> Option<Vec<u8>> {
        serde_json::to_vec(&self.checkpoint()?).ok()
    }

    fn restore_from(checkpoint: &[u8], ledger: &Ledger) -> Option<(Self, u64)> {
        let checkpoint: Checkpoint = serde_json::from_slice(checkpoint).ok()?;
        let controller = Self::restore_from(&checkpoint, ledger).ok()?;
        Some((controller, checkpoint.entries()))
    }
}
