//! Who is told how a session goes on.

use eog::EntityId;
use eog::machine::QuestionKind;

/// Hears how a session goes on. It is called while the session works, so it must return at once.
///
/// `()` listens to nothing.
pub trait Listener: Send + Sync {
    /// A run took a step.
    fn step(&self, step: &Step) {
        let _ = step;
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

/// A step of a run, the same for all controllers.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Step {
    /// A question is being asked.
    Asking {
        /// What it is about.
        about: EntityId,
        /// Whom it is for.
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
    /// So many steps were missed.
    Missed(u64),
}
