//! Drives the real controller over a bundle in a plain loop.

use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use eog_core::machine::Inquiry;
use eog_core::{
    AbductivePolicy, BoxFuture, Case, Config, ContextContract, Controller, EntityId, Input, Output,
};
use eog_evidence::{BundleContext, BundleWriter, EvidencePolicy, open_case};

/// An investigation that has ended.
pub(crate) struct Ended {
    pub(crate) controller: Controller,
    pub(crate) case: Case,
}

pub(crate) fn investigate(writer: &BundleWriter, config: Config) -> Ended {
    let bundle = writer.to_bundle();
    let case = open_case(&bundle.incident(), None).unwrap();
    let context = BundleContext::new(bundle);
    let policy = EvidencePolicy::default();
    let mut controller = Controller::new(config, case.clone());
    loop {
        let input = match controller.poll() {
            Output::Append(entry) => Input::Appended(entry.seq),
            Output::Ask { ticket, question: Inquiry::Context(request) } => {
                Input::context(ticket, now(context.get_context(&request)).unwrap())
            }
            Output::Ask { ticket, question: Inquiry::Decision(packet) } => {
                let answer = now(policy.decide(&packet)).unwrap();
                Input::decision(ticket, answer.decision, answer.usage)
            }
            Output::Done(_) => return Ended { controller, case },
            other => panic!("a sequential run never waits: {other:?}"),
        };
        controller.handle(input).unwrap();
    }
}

/// The answer of a future that is ready at once.
fn now<T>(mut future: BoxFuture<'_, T>) -> T {
    match Pin::new(&mut future).poll(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(answer) => answer,
        Poll::Pending => panic!("bundle and policy answer at once"),
    }
}

impl Ended {
    /// The entities in the order of their evaluations.
    pub(crate) fn order(&self) -> Vec<&str> {
        let evaluations = self.controller.ledger().evaluations();
        evaluations.map(|evaluation| evaluation.entity.as_str()).collect()
    }

    pub(crate) fn frontier(&self) -> Vec<EntityId> {
        let groups = self.controller.conclusion().frontier;
        groups.into_iter().flat_map(|group| group.origins).collect()
    }
}
