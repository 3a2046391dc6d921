//! The abductive policy over a language model, and the phases around it.

mod ask;
mod condense;
mod data;
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
pub use mock::{MockModel, Reply};
pub use model::{
    AnswerForm, ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse,
    Finish, ModelInfo, Role, TokenUsage,
};
pub use opening::{Fallback, Opened, Opening, OpeningLimits};
pub use pack::{MAX_TEMPLATE_BYTES, Pack, PackError, PromptError};
pub use phase::Phase;
pub use policy::LlmPolicy;
pub use reduce::{PacketCut, Unfit, chunk_ranges, fit_packet};
pub use schema::{answer_form, not_strict};
pub use tokens::TokenCounter;
