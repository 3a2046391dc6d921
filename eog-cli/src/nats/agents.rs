//! What agents may do over MCP: submit, list, read, tell, cancel.

use std::path::{Path, PathBuf};

use eog::EntityId;
use eog_live::Host as _;
use eog_mcp::server::rmcp::ErrorData;
use eog_mcp::server::rmcp::handler::server::ServerHandler;
use eog_mcp::server::rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ContentBlock, Implementation,
    JsonObject, ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
    ToolAnnotations,
};
use eog_mcp::server::rmcp::service::{RequestContext, RoleServer};
use eog_mcp::server::settings_of;
use eog_session::source::{FolderHandle, Verdict, Word, Words};
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use super::host::ClusterHost;
use super::list::lines;
use crate::error::CliError;

/// Most characters of what is said.
const MAX_TEXT: usize = 4_000;

/// Answers agents. Clones are the same.
#[derive(Clone)]
pub(super) struct Agents {
    host: ClusterHost,
    /// Below which incidents may be named.
    roots: Vec<(PathBuf, FolderHandle)>,
}

#[derive(Deserialize)]
struct Submitted {
    path: String,
    #[serde(flatten)]
    settings: Map<String, Value>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Named {
    id: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Tell {
    id: String,
    entity: EntityId,
    #[serde(default)]
    verdict: Option<Verdict>,
    #[serde(default)]
    text: String,
}

impl Agents {
    pub(super) fn new(host: ClusterHost, roots: &[PathBuf]) -> Result<Self, CliError> {
        let open = |root: &PathBuf| {
            let opened = FolderHandle::open(root).map(FolderHandle::as_root);
            let opened = opened.map_err(|error| CliError::Input {
                path: root.clone(),
                reason: error.to_string(),
            })?;
            let named = std::path::absolute(root).unwrap_or_else(|_| root.clone());
            Ok::<_, CliError>((named, opened))
        };
        let roots = roots.iter().map(open).collect::<Result<_, _>>()?;
        Ok(Self { host, roots })
    }

    /// The folder that an agent names: an absolute one below a root, or one relative to a root.
    fn folder(&self, path: &str) -> Result<FolderHandle, String> {
        let path = Path::new(path);
        let mut why = "no folder is shared; start the server with --root".to_owned();
        for (named, root) in &self.roots {
            let within = match path.is_absolute() {
                true => path.strip_prefix(named).or_else(|_| path.strip_prefix(root.path())),
                false => Ok(path),
            };
            match within.map_err(|_| "it is not below any --root".to_owned()) {
                Err(reason) => why = reason,
                Ok(within) => match root.below(within) {
                    Ok(folder) => return Ok(folder),
                    Err(error) => why = error.to_string(),
                },
            }
        }
        Err(format!("{}: {why}", path.display()))
    }

    /// Answers one call. Blocks.
    fn answer(&self, tool: &str, arguments: JsonObject) -> Result<String, String> {
        let said = |error: CliError| error.to_string();
        match tool {
            "submit" => {
                let Submitted { path, settings } = read(arguments)?;
                settings_of(&settings)?;
                let id = self
                    .host
                    .hand_in(&self.folder(&path)?, &settings, Words::new())
                    .map_err(said)?;
                Ok(json!({ "id": id.as_str() }).to_string())
            }
            "investigations" => {
                let lines = lines(&self.host.0.reached).map_err(said)?;
                serde_json::to_string(&lines).map_err(|error| error.to_string())
            }
            "report" => {
                let Named { id } = read(arguments)?;
                let (report, _) = self.host.report(&id)?;
                Ok(eog_report::markdown(&report))
            }
            "tell" => {
                let Tell { id, entity, verdict, text } = read(arguments)?;
                let text = eog_evidence::mask_text(&eog_evidence::shorten(text.trim(), MAX_TEXT));
                if verdict.is_none() && text.is_empty() {
                    return Err("no input; give a verdict or a text".to_owned());
                }
                self.host.tell_now(&id, entity, Word { verdict, text })?;
                Ok(format!("{id} continues with it"))
            }
            "cancel" => {
                let Named { id } = read(arguments)?;
                self.host.stop(&id)?;
                Ok(format!("{id} ends; its result is what was found so far"))
            }
            _ => Err("there is no such tool".to_owned()),
        }
    }
}

fn read<T: DeserializeOwned>(arguments: JsonObject) -> Result<T, String> {
    serde_json::from_value(Value::Object(arguments)).map_err(|error| error.to_string())
}

/// Name, what it does, its arguments, and whether it changes nothing.
fn tools() -> Vec<Tool> {
    let text = |about: &str| json!({ "type": "string", "description": about });
    let id = || text("The investigation, as `investigations` names it.");
    let all = [
        (
            "submit",
            "Submits a folder with an incident to the workers of the cluster, and returns the \
             name of the investigation at once. `investigations` shows when it has ended, \
             `report` what was found. The same content with the same controller and budget has \
             the same name, and is investigated once.",
            json!({
                "path": text("Folder of a bundle or snapshot below a root of this server."),
                "controller": text("Default: eog. Others: lats, bfs, beam, hypotheses, \
                                    treeseeker, react, linear."),
                "budget": { "type": "integer", "minimum": 1, "description": "Maximum number of policy calls." },
            }),
            json!(["path"]),
            false,
        ),
        ("investigations", "Lists all investigations on the cluster.", json!({}), json!([]), true),
        (
            "report",
            "The report of an investigation as Markdown, also while it runs.",
            json!({ "id": id() }),
            json!(["id"]),
            true,
        ),
        (
            "tell",
            "Adds what is known about an entity to an investigation, which evaluates the entity \
             again. An investigation that has ended continues.",
            json!({
                "id": id(),
                "entity": text("The entity, as the report names it."),
                "verdict": { "enum": ["cause", "not_cause"] },
                "text": text("A remark, or the reason."),
            }),
            json!(["id", "entity"]),
            false,
        ),
        (
            "cancel",
            "Ends an investigation; its result is what was found so far.",
            json!({ "id": id() }),
            json!(["id"]),
            false,
        ),
    ];
    type Line = (&'static str, &'static str, Value, Value, bool);
    let tool = |(name, about, properties, required, reads): Line| {
        let schema = json!({
            "type": "object",
            "properties": properties,
            "required": required,
            "additionalProperties": false,
        });
        let schema = schema.as_object().cloned().unwrap_or_default();
        Tool::new(name, about, schema).with_annotations(ToolAnnotations::new().read_only(reads))
    };
    all.into_iter().map(tool).collect()
}

impl ServerHandler for Agents {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().build();
        let mut about = Implementation::new("eog", env!("CARGO_PKG_VERSION"));
        about.title = Some("Root causes by explanations over graphs, on many machines".to_owned());
        let words = "Submit a folder with `submit`, ask `investigations` until it has ended, and read \
                     `report`. Add what is known about an entity with `tell`.";
        ServerConfig::new(capabilities).with_server_info(about).with_instructions(words)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(tools()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let agents = self.clone();
        let arguments = request.arguments.unwrap_or_default();
        let name = request.name.clone();
        let answer = tokio::task::spawn_blocking(move || agents.answer(&name, arguments)).await;
        let result = match answer.unwrap_or_else(|error| Err(error.to_string())) {
            Ok(text) => CallToolResult::success(vec![ContentBlock::text(text)]),
            Err(reason) => CallToolResult::error(vec![ContentBlock::text(reason)]),
        };
        Ok(result.into())
    }
}
