//! Tools that specialists may call, and their answers.

mod answer;
mod contract;
mod skills;
mod spec;

use eog_core::BoxFuture;
use eog_core::contract::Failure;

use crate::ask::CallAsk;
use crate::lane::{Specialist, ToolAnswer};

pub use answer::{bounded_lines, lines_of_json, lines_of_text};
pub use contract::ContractTools;
pub use skills::{LOAD_SKILL, Skill, Skills};
pub use spec::{Arguments, Given, Parameter, ParameterKind, SchemaCheck, ToolSpec};

/// Tools that specialists may call. They only read: after a crash, calls are repeated.
pub trait Toolset: Send + Sync {
    /// The tools that a specialist is offered. It cannot call others.
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec>;

    /// Answers a call of one of them.
    ///
    /// # Errors
    /// [`ToolFailure`]; either is shown to the specialist.
    fn call<'a>(&'a self, ask: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>>;
}

impl<T: Toolset + ?Sized> Toolset for std::sync::Arc<T> {
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec> {
        (**self).tools(agent)
    }

    fn call<'a>(&'a self, ask: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>> {
        (**self).call(ask)
    }
}

/// Why a tool gave no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ToolFailure {
    /// The call does not fit the tool, or there is no such tool. Not tried again.
    Refused(String),
    /// The tool failed. Tried again.
    Failed(Failure),
}

impl From<Failure> for ToolFailure {
    fn from(failure: Failure) -> Self {
        Self::Failed(failure)
    }
}

/// The tool of a call among those that its specialist is offered, with the arguments checked against it.
///
/// # Errors
/// [`ToolFailure::Refused`] names the tools that there are, or says which argument is wrong and why.
pub fn checked(
    tools: &[ToolSpec],
    call: &crate::lane::ToolCall,
) -> Result<(String, Arguments), ToolFailure> {
    let Some(tool) = tools.iter().find(|tool| tool.name == call.tool) else {
        let names: Vec<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
        let name: String = call.tool.chars().take(80).collect();
        let there = names.join(", ");
        return Err(ToolFailure::Refused(format!("there is no tool {name:?}; there are {there}")));
    };
    let arguments = tool.check(&call.arguments).map_err(ToolFailure::Refused)?;
    Ok((tool.name.clone(), arguments))
}
