//! The end of an investigation: its result as a [`Narrative`], by rules or over a model.

mod agent_output;
mod check;
mod clock;
mod finalizer;
mod material;
mod narrative;
mod rules;

pub use agent_output::{AgentAlert, AgentEntity, AgentOutput, AgentPropagation};
pub use finalizer::{Finalized, Finalizer};
pub use material::Material;
pub use narrative::{
    AlertExplained, Author, Citation, Deviation, Moment, NARRATIVE_VERSION, NarratedEntity,
    Narrative, Propagation, Refused,
};
pub use rules::narrate;
