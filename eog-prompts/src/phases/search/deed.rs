//! What an answer does next: an evaluation of an entity, or a call of a tool.

use eog_core::EntityId;
use eog_evidence::mask_text;
use eog_search::ask::{Scene, Seen};
use eog_search::{Action, ToolCall, ToolSpec};
use serde_json::Value;

use super::investigate::MAX_ARGUMENTS;
use super::kept;
use super::path::Named;
use crate::phases::lines::cut;

/// What is needed to read it.
#[derive(Clone, Debug)]
pub(super) struct Deeds {
    named: Named,
    /// The entities evaluated on the path.
    done: Vec<EntityId>,
    /// The calls that it made.
    made: Vec<ToolCall>,
    tools: Vec<String>,
    /// The entity of a call that names none.
    about: Option<EntityId>,
}

impl Deeds {
    pub(super) fn new(named: Named, scene: &Scene, path: &[Seen], tools: &[ToolSpec]) -> Self {
        let evaluated = || path.iter().filter(|seen| seen.action.is_done());
        let done: Vec<EntityId> = evaluated().map(|seen| seen.action.entity().clone()).collect();
        let first = || scene.seeds.first().map(|seed| seed.entity.clone());
        Self {
            named,
            about: done.last().cloned().or_else(first),
            done,
            made: path.iter().filter_map(|seen| seen.action.tool().cloned()).collect(),
            tools: tools.iter().map(|tool| tool.name.clone()).collect(),
        }
    }

    /// The same with other evaluated entities.
    pub(super) fn besides(self, done: Vec<EntityId>) -> Self {
        Self { done, ..self }
    }

    /// The evaluation of an entity, or the call of a tool if one is named.
    ///
    /// # Errors
    /// Why there is none.
    pub(super) fn read(
        &self,
        entity: &str,
        (tool, with): (&str, &str),
        why: &str,
    ) -> Result<Action, String> {
        if !tool.trim().is_empty() {
            return self.call(tool, with, why);
        }
        let found = self.named.resolve(entity)?;
        if self.done.contains(&found) {
            return Err(format!("{entity} is on the path already; name another entity"));
        }
        Ok(Action::look(found, kept(why)))
    }

    fn call(&self, tool: &str, with: &str, why: &str) -> Result<Action, String> {
        let tool = tool.trim();
        if !self.tools.iter().any(|known| known == tool) {
            let (tool, there) = (cut(&mask_text(tool), Some(80)), self.tools.join(", "));
            return Err(match there.is_empty() {
                true => "there are no tools; name an entity".to_owned(),
                false => format!("there is no tool {tool:?}; there are {there}"),
            });
        }
        if with.len() > MAX_ARGUMENTS {
            return Err(format!("with: it is longer than {MAX_ARGUMENTS} bytes"));
        }
        let arguments = mask_text(with.trim());
        let arguments = if arguments.is_empty() { "{}".to_owned() } else { arguments };
        let call = ToolCall { tool: tool.to_owned(), arguments };
        if self.made.contains(&call) {
            return Err(format!("{tool} was called with these arguments on the path already"));
        }
        let given: Value = serde_json::from_str(&call.arguments)
            .map_err(|error| format!("with: it is no JSON object: {error}"))?;
        let named = given["entity"].as_str().and_then(|name| self.named.resolve(name).ok());
        let about = named.or_else(|| self.about.clone());
        let about = about.ok_or("nothing was looked at yet; name an entity")?;
        Ok(Action::call(about, call, kept(why)))
    }
}
