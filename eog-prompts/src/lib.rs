//! The abductive policy over a language model, and the phases around it.

mod ask;
mod data;
mod mock;
mod model;
mod pack;
mod phase;
mod reduce;
mod schema;
mod tokens;

pub use ask::{AskLimits, Asked, Prompter};
pub use mock::{MockModel, Reply};
pub use model::{
    AnswerForm, ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse,
    Finish, ModelInfo, Role, TokenUsage,
};
pub use pack::{MAX_TEMPLATE_BYTES, Pack, PackError, PromptError};
pub use phase::Phase;
pub use reduce::{PacketCut, Unfit, chunk_ranges, fit_packet};
pub use schema::{answer_form, not_strict};
pub use tokens::TokenCounter;
