//! The abductive policy over a language model, and the phases around it.

mod finalize;
mod model;
pub mod words;

pub use finalize::{
    AgentAlert, AgentEntity, AgentOutput, AgentPropagation, AlertExplained, Author, Citation,
    Deviation, Material, Moment, NARRATIVE_VERSION, NarratedEntity, Narrative, Propagation,
    Refused, narrate,
};

pub use model::{
    AnswerForm, ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse,
    Finish, ModelInfo, Role, TokenUsage,
};
