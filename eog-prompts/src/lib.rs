//! The abductive policy over a language model, and the phases around it.
//!
//! - [`ChatModel`] is eog's interface to a language model. [`MockModel`] is one for tests.
//! - A [`Pack`] contains the templates of all phases and the wording for a domain: `docs/models.md`.
//! - A [`Phase`] is one kind of question: the types of its input and answer, and a check of answers.
//!   [`phases`] has those of an investigation.
//! - A [`Prompter`] asks a phase's question: it renders the prompt with secrets masked and untrusted
//!   text quoted, asks a chain of models, checks each answer, and asks for one correction.
//! - [`LlmPolicy`] is the abductive policy: it asks [`phases::Explore`] about each packet.
//! - [`LlmRoles`] plays the roles of a tree search.
//! - A [`Finalizer`] writes the report's narrative with a model, and checks every statement:
//!   `docs/reports.md`.
//!
//! Nothing here reads a clock, draws a random number, or accesses the network; only [`Pack::load`]
//! and [`Pack::with_folder`] read files. For writing a policy and testing it with mocks, see
//! `docs/policies.md`.
//!
//! ```
//! use std::sync::Arc;
//! use eog_prompts::{LlmPolicy, MockModel, Pack, Prompter};
//! use eog_testkit::{ask, finding, packet};
//!
//! let model = MockModel::new("mock/small").then(
//!     r#"{ "because": "All as usual.", "label": "healthy", "evidence": [1], "next_page": false, "search": [],
//!          "claims": [], "proposals": [], "other_causes": [] }"#,
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
mod roles;
mod schema;
mod sift;
mod skills;
mod times;
mod tokens;

pub use ask::{AskLimits, Asked, Prompter};
pub use condense::{CHUNK_TOKENS, Condensed, condense_packet};
pub use finalize::{Finalized, Finalizer};
pub use mock::{MockModel, Reply};
pub use model::{
    AnswerForm, ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse, Drawn,
    Finish, ModelInfo, Role, TokenUsage,
};
pub use opening::{Fallback, OpenedCase, Opening, OpeningLimits};
pub use pack::{MAX_TEMPLATE_BYTES, Pack, PackError, PromptError};
pub use phase::{Phase, Since};
pub use policy::LlmPolicy;
pub use reduce::{PacketCut, Unfit, chunk_ranges, fit_packet};
pub use roles::LlmRoles;
pub use schema::{answer_form, not_strict};
pub use skills::{SkillError, load_skills};
pub use tokens::TokenCounter;

/// Compiles the examples of the guide to policies.
#[cfg(doctest)]
#[doc = include_str!("../../docs/policies.md")]
struct Guide;
