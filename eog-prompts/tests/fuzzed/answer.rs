//! What holds of a model's answers whatever they are. The fuzz target includes this file.

use std::sync::{Arc, LazyLock};

use eog_core::ContextPacket;
use eog_prompts::{LlmPolicy, MockModel, Pack, Prompter};
use eog_testkit::{ask, finding, packet};

/// The texts of all phases, read once.
static PACK: LazyLock<Arc<Pack>> = LazyLock::new(|| Arc::new(Pack::sre()));

fn situation() -> ContextPacket {
    packet("db")
        .finding(finding("db").change("pool.size", "50", "5").at("10:04"))
        .finding(finding("db").measured(900.0, 20.0, "ms").during("10:05", "10:30"))
        .caller("web")
        .callee("disk")
        .build()
}

/// Asks a model that says this, twice if it is asked again.
///
/// # Panics
/// When a decision cites what it was not shown, or a failure has no reason or is without end.
pub(crate) fn check(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes).into_owned();
    let model = Arc::new(MockModel::new("mock/any").when_text("", text.as_str()));
    let policy = LlmPolicy::new(Prompter::new(Arc::clone(&PACK), vec![model]));
    let situation = situation();
    match ask(&policy, &situation) {
        Ok(answer) => {
            let shown = |id| situation.context.findings.iter().any(|finding| finding.id() == id);
            assert!(answer.decision.evidence.iter().all(shown), "{answer:?}");
        }
        Err(failure) => {
            let length = failure.message.len();
            assert!((1..40_000).contains(&length), "{}", failure.message);
        }
    }
}
