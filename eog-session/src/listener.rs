//! The interface that receives the progress of a session.

use std::sync::Arc;

use eog::machine::QuestionKind;
use eog::{EntityId, Spent};

use crate::controllers::AnyEntry;

/// Receives the progress of a session. It is called while the session works, so it must return at once.
///
/// `()` listens to nothing.
pub trait Listener: Send + Sync {
    /// A run took a step.
    fn step(&self, step: &Step) {
        let _ = step;
    }

    /// A run stored an entry, which [`Listener::step`] receives in words.
    fn entry(&self, entry: &AnyEntry) {
        let _ = entry;
    }

    /// A model is asked, for a phase of its prompts.
    fn asking_model(&self, model: &str, phase: &str) {
        let _ = (model, phase);
    }

    /// Something that a person who waits wants to know, in one line.
    fn notice(&self, line: &str) {
        let _ = line;
    }

    /// A stress test took a step.
    fn stressing(&self, progress: eog::stress::StressProgress) {
        let _ = progress;
    }
}

impl Listener for () {}

/// Both receive each event.
impl<A: Listener + ?Sized, B: Listener + ?Sized> Listener for (Arc<A>, Arc<B>) {
    fn step(&self, step: &Step) {
        self.0.step(step);
        self.1.step(step);
    }

    fn entry(&self, entry: &AnyEntry) {
        self.0.entry(entry);
        self.1.entry(entry);
    }

    fn asking_model(&self, model: &str, phase: &str) {
        self.0.asking_model(model, phase);
        self.1.asking_model(model, phase);
    }

    fn notice(&self, line: &str) {
        self.0.notice(line);
        self.1.notice(line);
    }

    fn stressing(&self, progress: eog::stress::StressProgress) {
        self.0.stressing(progress);
        self.1.stressing(progress);
    }
}

/// A step of a run, the same for all controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A question is being asked.
    Asking {
        /// What it is about.
        about: EntityId,
        /// What kind of question it is.
        kind: QuestionKind,
    },
    /// An entry was stored in the ledger.
    Stored {
        /// Its number.
        seq: u64,
        /// Whether something was judged.
        judged: bool,
        /// What it records, in one line.
        words: String,
    },
    /// More was spent: all that was so far.
    Spent(Spent),
    /// News did not fit and was left out, with the reason.
    Refused(String),
    /// So many steps were missed.
    Missed(u64),
}
