//! Tools of servers for specialists and for the agent of a chain.

mod config;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use eog::side::RecordError;
use eog::{CallRecorder, Usage};
use eog_core::{BoxFuture, Failure};
use eog_evidence::mask_text;
use eog_search::ask::CallAsk;
use eog_search::tools::{bounded_lines, checked, lines_of_text};
use eog_search::{Specialist, ToolAnswer, ToolFailure, ToolSpec, Toolset};
use rmcp::model::JsonObject;
use serde_json::Value;

use super::connection::{self, Connection, Tool, Used};
use super::error::{CallError, Cause, SourceError};
use super::offered::no_tool;
use super::remote::Remote;
use config::Offer;

pub use config::ToolsConfig;

/// What calls are named in records.
const CALL: &str = "mcp_tool";

/// Most tools of servers that one specialist is offered: each of its prompts holds all of them.
const MAX_TOOLS: usize = 40;

/// Longest description of what a tool takes, in bytes of JSON.
const MAX_SCHEMA: usize = 16 * 1024;

/// Longest description of a tool, in characters.
const MAX_DESCRIPTION: usize = 1_000;

/// Longest name of a tool with its server.
const MAX_NAME: usize = 100;

/// Tools of MCP servers, offered to specialists, and to the agent of a chain, as `SERVER/TOOL`: those that the configuration names, else those
/// that only read, by what it or their server says. Their answers lead to entities whose findings can then be
/// recorded; they are no findings themselves.
///
/// What a call answered is stored by the recorder of the run before it is used. The same call, in the same
/// investigation, is answered from there, also when that is resumed.
///
/// It works on the tokio runtime that it was opened on, and its servers end with it.
pub struct McpTools {
    remotes: BTreeMap<String, Remote>,
    offered: Vec<Offered>,
    recorder: CallRecorder,
    notes: Vec<String>,
}

/// A tool as it is offered.
struct Offered {
    spec: ToolSpec,
    server: String,
    tool: String,
    agents: BTreeSet<Specialist>,
}

impl fmt::Debug for McpTools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.offered.iter().map(|offered| &offered.spec.name);
        f.debug_list().entries(names).finish()
    }
}

impl McpTools {
    /// Starts the servers and asks what tools they have.
    ///
    /// # Errors
    /// [`SourceError`] when a server cannot be started, or a tool that the configuration names cannot be offered.
    pub async fn open(config: &ToolsConfig, recorder: CallRecorder) -> Result<Self, SourceError> {
        let environment = |name: &str| std::env::var(name).ok();
        let servers = config.checked_servers(&environment)?.into_iter();
        let remote =
            |(name, server): (String, _)| (name.clone(), Remote::new(name, server, Used::Any));
        let remotes: BTreeMap<String, Remote> = servers.map(remote).collect();
        let mut tools = Self { remotes, offered: Vec::new(), recorder, notes: config.warnings() };
        for (at, offer) in config.offers().iter().enumerate() {
            let place = config.place(&format!("tools[{at}]"));
            tools.add(offer, config.allowed(offer), &place).await?;
        }
        for agent in Specialist::ALL.into_iter().chain([Specialist::Generalist]) {
            let count = tools.tools(agent).len();
            if count > MAX_TOOLS {
                let reason = format!(
                    "{agent} would have {count} tools, more than {MAX_TOOLS}; name fewer in `names`"
                );
                return Err(SourceError::config(config.place("tools"), reason));
            }
        }
        Ok(tools)
    }

    /// What a person should know: tools that are not offered, and why.
    pub fn notes(&self) -> &[String] {
        &self.notes
    }

    async fn add(
        &mut self,
        offer: &Offer,
        allowed: Option<&BTreeSet<String>>,
        place: &str,
    ) -> Result<(), SourceError> {
        let Some(remote) = self.remotes.get(&offer.server) else { return Ok(()) };
        let connection = remote.connect().await.map_err(|error| {
            SourceError::Server(format!("server {}: {}", remote.name, error.message))
        })?;
        let wrong = |reason: String| {
            SourceError::config(place, format!("server {}: {reason}", offer.server))
        };
        let (names, unread) = match allowed {
            Some(names) => (names.iter().cloned().collect(), Vec::new()),
            None => reading(remote, &connection),
        };
        let mut left_out = unread;
        for name in names {
            let Some(tool) = connection.tool(&name) else {
                return Err(wrong(no_tool(&name, connection.tools())));
            };
            match spec(&offer.server, &name, tool) {
                Ok(spec) if self.offered.iter().all(|other| other.spec.name != spec.name) => {
                    let (server, agents) = (offer.server.clone(), offer.agents.clone());
                    self.offered.push(Offered { spec, server, tool: name, agents });
                }
                Ok(spec) => {
                    return Err(wrong(format!("{} is offered twice; keep one", spec.name)));
                }
                Err(reason) if allowed.is_some() => return Err(wrong(reason)),
                Err(reason) => left_out.push(reason),
            }
        }
        self.notes.extend(left_out.into_iter().map(|reason| {
            let reason = eog_evidence::shorten(&reason, 300);
            format!("server {}: {reason}", offer.server)
        }));
        Ok(())
    }

    /// Asks a server. Whatever it says is an answer; only where it says nothing the call failed.
    async fn ask(&self, offered: &Offered, arguments: JsonObject) -> Result<ToolAnswer, Failure> {
        let Some(remote) = self.remotes.get(&offered.server) else {
            return Err(Failure::context(format!("there is no server {}", offered.server)));
        };
        let text = match remote.call(&offered.tool, &arguments).await {
            Ok(answer) => words(&answer),
            Err(CallError { cause: Cause::Refused, message }) => bounded_lines([message]),
            Err(error) => return Err(error.into()),
        };
        Ok(text.into())
    }
}

impl Toolset for McpTools {
    fn tools(&self, agent: Specialist) -> Vec<ToolSpec> {
        let own = self.offered.iter().filter(|offered| offered.agents.contains(&agent));
        own.map(|offered| offered.spec.clone()).collect()
    }

    fn call<'a>(&'a self, ask: &'a CallAsk) -> BoxFuture<'a, Result<ToolAnswer, ToolFailure>> {
        Box::pin(async move {
            let (name, arguments) = checked(&self.tools(ask.agent), &ask.call)?;
            let Some(offered) = self.offered.iter().find(|offered| offered.spec.name == name)
            else {
                return Err(ToolFailure::Refused(format!("there is no tool {name:?}")));
            };
            let mut arguments = arguments.into_json();
            arguments.sort_all_objects();
            let key = (&offered.server, &offered.tool, &arguments);
            let arguments = arguments.as_object().cloned().unwrap_or_default();
            let asked = async || Ok((self.ask(offered, arguments).await?, Usage::default()));
            self.recorder.call(CALL, &key, asked).await.map_err(|error| match error {
                RecordError::Failed { source, .. } => ToolFailure::Failed(source),
                other => Failure::context(other.to_string()).into(),
            })
        })
    }
}

/// The tools that only read, by name, and why others are left out.
fn reading(remote: &Remote, connection: &Connection) -> (Vec<String>, Vec<String>) {
    let reads = |name: &str| {
        let declared = remote.declared_read_only(name);
        declared.or_else(|| connection.says_read_only(name)) == Some(true)
    };
    let all = connection.tools().map(str::to_owned);
    let (reading, others): (Vec<String>, Vec<String>) = all.partition(|name| reads(name));
    let mut left_out = Vec::new();
    if !others.is_empty() {
        let names = others.join(", ");
        left_out.push(format!("not offered, because nothing says that they only read: {names}"));
    }
    (reading, left_out)
}

/// A tool as specialists are offered it, unless its name or what it takes cannot be shown to them.
fn spec(server: &str, name: &str, tool: &Tool) -> Result<ToolSpec, String> {
    let shown = eog_evidence::shorten(name, MAX_NAME);
    let is_plain = |part: &str| {
        let plain = |it: char| it.is_ascii_alphanumeric() || "_-.".contains(it);
        !part.is_empty() && part.chars().all(plain)
    };
    let full = format!("{server}/{name}");
    if !is_plain(server) || !is_plain(name) || full.len() > MAX_NAME {
        return Err(format!(
            "the tool {shown:?} cannot be offered: names of servers and tools must consist of letters, digits, \
             `.`, `_` and `-`, at most {MAX_NAME} together"
        ));
    }
    let schema = Value::Object(tool.input.as_ref().clone());
    let bytes = schema.to_string().len();
    if bytes > MAX_SCHEMA {
        return Err(format!(
            "the tool {shown} cannot be offered: its input schema has {bytes} bytes, more than {MAX_SCHEMA}"
        ));
    }
    connection::validator(&schema)
        .map_err(|_| format!("the tool {shown} cannot be offered: its input schema is unusable"))?;
    let description: String = mask_text(&tool.description).chars().take(MAX_DESCRIPTION).collect();
    let description = match description.trim() {
        "" => format!("The tool {name} of the server {server}."),
        given => given.to_owned(),
    };
    Ok(ToolSpec::new(full, description).with_schema(schema, fits))
}

/// An answer in words: what the server wrote for readers, and its structured content row by row where
/// that text is too short to say the same.
fn words(answer: &connection::ToolAnswer) -> String {
    let text = match (&answer.structured, answer.text.trim()) {
        (Some(structured), text) => {
            let structured = structured.to_string();
            match text.len() * 2 < structured.len() {
                true => format!("{text}\n{structured}").trim_start().to_owned(),
                false => text.to_owned(),
            }
        }
        (None, text) => text.to_owned(),
    };
    bounded_lines(lines_of_text(&mask_text(&text)))
}

/// Whether arguments fit a JSON Schema.
///
/// # Errors
/// Where they do not, and why; that the schema cannot be read.
pub fn fits(schema: &Value, given: &Value) -> Result<(), String> {
    // Schemas of others have patterns of theirs: only those are allowed whose time is bounded.
    let validator = jsonschema::options()
        .with_pattern_options(jsonschema::PatternOptions::regex())
        .build(schema)
        .map_err(|error| format!("what it takes cannot be read: {}", shortened(&error)))?;
    match validator.iter_errors(given).next() {
        None => Ok(()),
        Some(error) => {
            let place = error.instance_path().to_string();
            let place = if place.is_empty() { "the arguments".to_owned() } else { place };
            Err(format!("{place}: {}", shortened(&error)))
        }
    }
}

/// A message quotes the value, which can be all of the arguments.
fn shortened(error: &impl std::fmt::Display) -> String {
    eog_evidence::shorten(&error.to_string(), 200)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn arguments_are_checked_against_a_schema() {
        let schema = json!({
            "type": "object",
            "properties": { "name": { "enum": ["red", "use"] }, "limit": { "type": "integer" } },
            "required": ["name"],
            "additionalProperties": false,
        });
        let tool = ToolSpec::new("load_skill", "Loads a skill.").with_schema(schema.clone(), fits);
        assert_eq!(tool.schema(), schema);
        assert_eq!(tool.check(r#"{"name":"red"}"#).unwrap().text("name"), Some("red"));
        for (arguments, why) in [
            ("{", "no JSON object"),
            ("{}", "\"name\" is a required property"),
            (r#"{"name":"sed"}"#, "/name: \"sed\" is not one of"),
            (r#"{"name":"red","limit":"2"}"#, "/limit: \"2\" is not of type \"integer\""),
            (r#"{"name":"red","shell":"rm"}"#, "Additional properties are not allowed"),
        ] {
            let error = tool.check(arguments).unwrap_err();
            assert!(error.contains(why) && error.starts_with("load_skill: "), "{error}");
        }
        let unusable = ToolSpec::new("odd", "").with_schema(json!({ "type": 7 }), fits);
        assert!(unusable.check("{}").unwrap_err().contains("cannot be read"));
    }
}
