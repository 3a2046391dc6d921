//! What a tool is, and how it is called from JSON.

use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{ToolError, Toolbox};

/// A query of a snapshot: arguments, and how they are answered.
///
/// With the feature `schema`, arguments and answer also have a JSON Schema.
pub trait Tool: DeserializeOwned + Described {
    /// The name by which the tool is called.
    const NAME: &'static str;
    /// Its purpose, in one line.
    const SUMMARY: &'static str;
    /// When to use it, what it returns, and what it leaves out.
    const DESCRIPTION: &'static str;
    /// Example arguments, each a JSON object.
    const EXAMPLES: &'static [&'static str];
    /// The answer.
    type Answer: Serialize + Described;

    /// Answers the query.
    ///
    /// # Errors
    /// [`ToolError::Argument`] when an argument cannot be used.
    fn run(&self, toolbox: &Toolbox) -> Result<Self::Answer, ToolError>;
}

impl Toolbox {
    /// Answers a query with typed arguments.
    ///
    /// # Errors
    /// [`ToolError::Argument`] when an argument cannot be used.
    ///
    /// ```
    /// # use std::sync::Arc;
    /// # use eog_sre::{ReadOptions, Snapshot};
    /// use eog_sre::tools::{EventAnalysis, Query, TableQuery, Toolbox};
    /// # let directory = tempfile::tempdir()?;
    /// # std::fs::create_dir(directory.path().join("alerts"))?;
    /// # std::fs::write(directory.path().join("alerts/alerts_at_1.json"), "[]")?;
    /// # let snapshot = Snapshot::open(directory.path(), &ReadOptions::default())?;
    /// # let toolbox = Toolbox::new(Arc::new(snapshot));
    /// let events = TableQuery::of(EventAnalysis {}, Query { limit: Some(5), ..Query::default() });
    /// assert_eq!(toolbox.ask(&events)?.total, 0);
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn ask<T: Tool>(&self, question: &T) -> Result<T::Answer, ToolError> {
        question.run(self)
    }
}

#[cfg(feature = "schema")]
pub use schemars::JsonSchema as Described;

/// What describes itself as a JSON Schema; without the feature `schema` every type will do.
#[cfg(not(feature = "schema"))]
pub trait Described {}

#[cfg(not(feature = "schema"))]
impl<T> Described for T {}

/// One tool: its name, its purpose, and its arguments.
#[derive(Clone, Copy, Debug)]
pub struct ToolInfo {
    /// The name by which it is called.
    pub name: &'static str,
    /// Its purpose, in one line.
    pub summary: &'static str,
    /// When to use it, what it returns, and what it leaves out.
    pub description: &'static str,
    /// Example arguments, each a JSON object.
    pub examples: &'static [&'static str],
    #[cfg(feature = "schema")]
    schema: fn() -> Value,
    #[cfg(feature = "schema")]
    answer_schema: fn() -> Value,
    pub(super) to_value: fn(&Toolbox, Value) -> Result<Value, ToolError>,
    pub(super) to_text: fn(&Toolbox, Value) -> Result<String, ToolError>,
}

impl ToolInfo {
    pub(super) const fn of<T: Tool>() -> Self {
        Self {
            name: T::NAME,
            summary: T::SUMMARY,
            description: T::DESCRIPTION,
            examples: T::EXAMPLES,
            #[cfg(feature = "schema")]
            schema: eog_core::json_schema::<T>,
            #[cfg(feature = "schema")]
            answer_schema: eog_core::json_schema::<T::Answer>,
            to_value: |toolbox, arguments| {
                let answer = read::<T>(arguments)?.run(toolbox)?;
                serde_json::to_value(answer).map_err(cannot_write::<T>)
            },
            to_text: |toolbox, arguments| write::<T>(&read::<T>(arguments)?.run(toolbox)?),
        }
    }

    /// The JSON Schema of the arguments.
    #[cfg(feature = "schema")]
    pub fn args_schema(&self) -> Value {
        (self.schema)()
    }

    /// The JSON Schema of the answer.
    #[cfg(feature = "schema")]
    pub fn answer_schema(&self) -> Value {
        (self.answer_schema)()
    }
}

/// A query from its arguments; null means none.
pub(super) fn read<T: Tool>(arguments: Value) -> Result<T, ToolError> {
    let arguments = match arguments {
        Value::Null => Value::Object(serde_json::Map::new()),
        other => other,
    };
    serde_json::from_value(arguments).map_err(|error| ToolError::arguments(T::NAME, &error))
}

/// An answer as indented JSON, with the fields in documented order.
pub(super) fn write<T: Tool>(answer: &T::Answer) -> Result<String, ToolError> {
    serde_json::to_string_pretty(answer).map_err(cannot_write::<T>)
}

#[expect(clippy::needless_pass_by_value, reason = "it stands where map_err wants a function")]
pub(super) fn cannot_write<T: Tool>(error: serde_json::Error) -> ToolError {
    ToolError::Answer { tool: T::NAME.to_owned(), reason: error.to_string() }
}
