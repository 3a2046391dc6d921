//! The abductive policy over a language model, and the phases around it.
//!
//! - [`ChatModel`] is all that eog knows of a language model. [`MockModel`] is one for tests.
//! - A [`Pack`] holds the templates of all phases and the words of a domain: `docs/prompts.md`.
//! - A [`Phase`] is one kind of question: what is given, what is answered, and what is wrong with an
//!   answer. [`phases`] are those of an investigation.
//! - A [`Prompter`] asks a phase's question: it renders the prompt with secrets masked and untrusted
//!   text kept in its place, asks a chain of models, checks each answer, and has it mended once.
//! - [`LlmPolicy`] is the abductive policy: it asks [`phases::Explore`] about each packet.
//! - A [`Finalizer`] has a model tell the result, and checks every statement: `docs/reports.md`.
//!
//! Nothing here reads a clock, draws a random number, or touches the network; files are read by
//! [`Pack::load`] alone. Writing a policy and testing it with mocks: `docs/writing-a-policy.md`.
//!
//! ```
//! use std::sync::Arc;
//! use eog_prompts::{LlmPolicy, MockModel, Pack, Prompter};
//! use eog_testkit::{ask, finding, packet};
//!
//! let model = MockModel::new("mock/small").then(
//!     r#"{ "because": "All as usual.", "label": "healthy", "evidence": [1], "missing": "none",
//!          "claims": [], "proposals": [], "direction": "none" }"#,
//! );
//! let policy = LlmPolicy::new(Prompter::new(Arc::new(Pack::sre()), vec![Arc::new(model)]));
//! let calm = packet("db").finding(finding("db").measured(20.0, 20.0, "ms")).build();
//! assert_eq!(ask(&policy, &calm)?.decision.summary, "All as usual.");
//! # Ok::<(), eog_core::Failure>(())
//! ```

mod ask;
mod condense;
mod data;
mod finalize;
mod mock;
mod model;
mod opening;
mod pack;
mod phase;
pub mod phases;
mod policy;
mod reduce;
mod schema;
mod sift;
mod times;
mod tokens;

pub use ask::{AskLimits, Asked, Prompter};
pub use condense::{CHUNK_TOKENS, Condensed, condense_packet};
pub use finalize::{Finalized, Finalizer};
pub use mock::{MockModel, Reply};
pub use model::{
    AnswerForm, ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse,
    Finish, ModelInfo, Role, TokenUsage,
};
pub use opening::{Fallback, OpenedCase, Opening, OpeningLimits};
pub use pack::{MAX_TEMPLATE_BYTES, Pack, PackError, PromptError};
pub use phase::Phase;
pub use policy::LlmPolicy;
pub use reduce::{PacketCut, Unfit, chunk_ranges, fit_packet};
pub use schema::{answer_form, not_strict};
pub use tokens::TokenCounter;

/// Compiles the examples of the guide.
#[cfg(doctest)]
#[doc = include_str!("../../docs/writing-a-policy.md")]
struct Guide;
