//! The abductive policy over a language model, and the phases around it.

mod model;
mod reduce;
mod tokens;

pub use model::{
    AnswerForm, ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse,
    Finish, ModelInfo, Role, TokenUsage,
};
pub use reduce::{PacketCut, Unfit, chunk_ranges, fit_packet};
pub use tokens::TokenCounter;
