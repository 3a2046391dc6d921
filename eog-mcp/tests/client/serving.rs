//! Servers of our own, for the tests of the client.
//!
//! ```text
//! context-server context FOLDER [ARCHITECTURE]       get_context over a bundle or a snapshot
//! context-server own ROOT STATE [ARCHITECTURE]       what `eog mcp serve` serves
//! context-server http ROOT STATE [ARCHITECTURE]      the same over HTTP; prints its address
//! ```

use std::error::Error;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use eog::{ContextContract, ContextRequest, EntityId, Timestamp, Window};
use eog_evidence::{Bundle, BundleContext};
use eog_mcp::server::{Evidence, HttpSettings, Server, Settings};
use eog_sre::{ReadOptions, Snapshot, tools::Toolbox};
use rmcp::ServiceExt;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, ErrorData, ListToolsResult,
    PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool,
};
use rmcp::service::{RequestContext, RoleServer};
use serde::Deserialize;
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let given: Vec<PathBuf> = std::env::args_os().skip(1).map(PathBuf::from).collect();
    let [mode, folder, rest @ ..] = &given[..] else {
        return Err("give `context FOLDER`, `own ROOT STATE` or `http ROOT STATE`".into());
    };
    if mode == Path::new("own") || mode == Path::new("http") {
        let [state, rest @ ..] = rest else { return Err("give a folder for the state".into()) };
        let mut settings = Settings::new(vec![folder.clone()], state.clone());
        // A client of tables names their tools, which must be listed.
        settings.toolset = eog_mcp::server::Toolset::Full;
        settings.architecture = rest.first().cloned();
        let server = Server::open(settings, Arc::new(Evidence))?;
        if mode == Path::new("own") {
            server.stdio(std::future::pending()).await?;
            return Ok(());
        }
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await?;
        println!("http://{}/mcp", listener.local_addr()?);
        server.http(listener, HttpSettings::default(), std::future::pending()).await?;
        return Ok(());
    }
    let contract = open(folder, rest.first())?;
    let service = Contexts(contract).serve(rmcp::transport::stdio_pipes()).await?;
    service.waiting().await?;
    Ok(())
}

fn open(
    folder: &Path,
    architecture: Option<&PathBuf>,
) -> Result<Arc<dyn ContextContract>, Box<dyn Error>> {
    if folder.join("bundle.json").is_file() {
        return Ok(Arc::new(BundleContext::new(Bundle::read(folder)?)));
    }
    let options = ReadOptions { architecture: architecture.cloned(), ..ReadOptions::default() };
    let toolbox = Toolbox::new(Arc::new(Snapshot::open(folder, &options)?));
    Ok(Arc::new(OfSnapshot(toolbox)))
}

struct OfSnapshot(Toolbox);

impl ContextContract for OfSnapshot {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> eog::BoxFuture<'a, Result<eog::LocalContext, eog::Failure>> {
        self.0.context().get_context(request)
    }
}

/// One tool: `get_context`.
struct Contexts(Arc<dyn ContextContract>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct GetContext {
    entity_id: EntityId,
    start_time: Timestamp,
    end_time: Timestamp,
    #[serde(default)]
    page: u32,
    #[serde(default)]
    visit: u32,
    #[serde(default)]
    changed_neighbours: Vec<EntityId>,
}

impl ServerHandler for Contexts {
    fn get_info(&self) -> ServerConfig {
        ServerConfig::new(ServerCapabilities::builder().enable_tools().build())
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        let tool = json!({"name": "get_context", "annotations": {"readOnlyHint": true},
            "inputSchema": {"type": "object"}, "outputSchema": output_schema()});
        let tool: Tool = serde_json::from_value(tool).map_err(internal)?;
        Ok(ListToolsResult::with_all_items(vec![tool]))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let arguments = Value::Object(request.arguments.unwrap_or_default());
        let invalid = |error: String| ErrorData::invalid_params(error, None);
        let asked: GetContext =
            serde_json::from_value(arguments).map_err(|error| invalid(error.to_string()))?;
        let window = Window::new(asked.start_time, asked.end_time)
            .map_err(|error| invalid(error.to_string()))?;
        let request = ContextRequest {
            entity: asked.entity_id,
            window,
            page: asked.page,
            visit: asked.visit,
            changed_neighbours: asked.changed_neighbours.into_iter().collect(),
            query: None,
        };
        let context = self.0.get_context(&request).await.map_err(internal)?;
        let context = serde_json::to_value(context).map_err(internal)?;
        Ok(CallToolResult::structured(context).into())
    }
}

fn output_schema() -> Value {
    json!({"type": "object", "required": ["findings"],
        "properties": {"findings": {"type": "array"}, "omitted": {"type": "array"}}})
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands errors over by value")]
fn internal(error: impl ToString) -> ErrorData {
    ErrorData::internal_error(error.to_string(), None)
}
