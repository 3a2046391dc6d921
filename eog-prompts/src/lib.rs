//! The abductive policy over a language model, and the phases around it.

mod ask;
mod count;
mod data;
mod finalize;
mod mock;
mod model;
mod pack;
mod phase;
mod phases;
mod schema;
pub mod words;

pub use ask::{AskLimits, Asked, Prompter};
pub use finalize::{
    AgentAlert, AgentEntity, AgentOutput, AgentPropagation, AlertExplained, Author, Citation,
    Deviation, Finalized, Finalizer, Material, Moment, NARRATIVE_VERSION, NarratedEntity,
    Narrative, Propagation, Refused, narrate,
};
pub use mock::{MockModel, Reply};
pub use model::{
    AnswerForm, ChatError, ChatErrorKind, ChatMessage, ChatModel, ChatRequest, ChatResponse,
    Finish, ModelInfo, Role, TokenUsage,
};
pub use pack::{MAX_TEMPLATE_BYTES, Pack, PackError, PromptError};
pub use phase::Phase;
pub use phases::finalize::{
    AlertLine, ClaimLine, EntityLine, EvidenceLine, Finalize, FinalizeAnswer, FinalizeInput,
    GroupLine, ToldAlert, ToldAnswer, ToldEntity, ToldMoment, ToldPropagation, ToldTime,
};
pub use schema::{answer_form, not_strict};
