//! Which tools there are, with their schemas.

use std::sync::Arc;

use eog_sre::tools::{BundleToolbox, ToolInfo, tools};
use rmcp::model::{JsonObject, Tool, ToolAnnotations};
use schemars::JsonSchema;
use serde_json::{Value, json};

use super::answers::{Closed, Compared, Explained, Investigated, Listed};
use super::arguments::{
    Checked, CloseIncident, Diff, Explain, Fork, GetContext, Investigate, List, Query, Resume,
    RuleOut,
};
use super::roots::Roots;
use super::settings::Toolset;

/// What a call runs.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    Investigate,
    Resume,
    RuleOut,
    Fork,
    Explain,
    Diff,
    List,
    Close,
    Context,
    /// A table of an incident, named by an argument.
    Query,
    Table(&'static ToolInfo),
}

impl Kind {
    /// Whether it may take long, so that it is a task where the client has tasks.
    pub(super) fn is_long(self) -> bool {
        matches!(self, Self::Investigate | Self::Resume | Self::RuleOut | Self::Fork)
    }

    /// Whether it may have to read a folder first, or to call the policy.
    pub(super) fn may_read(self) -> bool {
        !matches!(self, Self::Diff | Self::List)
    }
}

/// One tool that is offered.
pub(super) struct Offered {
    pub(super) kind: Kind,
    pub(super) arguments: Checked,
}

/// All tools, in the order in which they are listed.
pub(super) struct Catalogue {
    tools: Vec<Tool>,
    offered: Vec<Offered>,
    toolset: Toolset,
    /// Whether there can be snapshots. Bundles refuse some tables, and some arguments.
    has_snapshots: bool,
}

impl Catalogue {
    pub(super) fn new(roots: &Roots, toolset: Toolset) -> Self {
        let has_snapshots = !roots.are_bundles();
        let mut catalogue = Self { tools: Vec::new(), offered: Vec::new(), toolset, has_snapshots };
        catalogue.own();
        catalogue.query();
        for info in tools() {
            catalogue.table(info, roots);
        }
        catalogue
    }

    /// What `tools/list` gives.
    pub(super) fn listed(&self) -> Vec<Tool> {
        let listed = self.tools.iter().zip(&self.offered).filter(|(_, it)| self.lists(it.kind));
        let mut listed: Vec<Tool> = listed.map(|(tool, _)| tool.clone()).collect();
        if self.toolset == Toolset::Compact {
            listed.iter_mut().for_each(|tool| tool.output_schema = None);
        }
        listed
    }

    fn lists(&self, kind: Kind) -> bool {
        match kind {
            Kind::Query => self.toolset == Toolset::Compact,
            Kind::Table(info) => self.toolset == Toolset::Full && self.answers(info),
            _ => true,
        }
    }

    /// Whether any incident can answer a table.
    fn answers(&self, info: &ToolInfo) -> bool {
        self.has_snapshots || BundleToolbox::arguments(info.name).is_some()
    }

    /// The schema of what a table can be asked, of the incidents that there can be.
    pub(super) fn arguments(&self, info: &ToolInfo) -> Value {
        let mut schema = info.args_schema();
        let of_bundle = BundleToolbox::arguments(info.name);
        if let (false, Some(of_bundle)) = (self.has_snapshots, of_bundle)
            && let Some(arguments) = schema["properties"].as_object_mut()
        {
            arguments.retain(|name, _| of_bundle.contains(&name.as_str()));
        }
        schema
    }

    pub(super) fn find(&self, name: &str) -> Option<(&Tool, &Offered)> {
        self.tools.iter().zip(&self.offered).find(|(tool, _)| tool.name == name)
    }

    /// The names of all tools that are listed.
    pub(super) fn names(&self) -> Vec<&str> {
        let listed = self.tools.iter().zip(&self.offered).filter(|(_, it)| self.lists(it.kind));
        listed.map(|(tool, _)| &*tool.name).collect()
    }

    fn own(&mut self) {
        // What runs stores its course, so it changes something, but nothing that was there before.
        let stores = ToolAnnotations::new()
            .read_only(false)
            .destructive(false)
            .idempotent(false)
            .open_world(false);
        self.add::<Investigate, Investigated>(
            Kind::Investigate,
            "investigate",
            "Find the root causes of an incident",
            INVESTIGATE,
            stores.clone(),
        );
        self.add::<Resume, Investigated>(
            Kind::Resume,
            "resume",
            "Go on with an interrupted investigation",
            RESUME,
            stores.clone(),
        );
        self.add::<RuleOut, Investigated>(
            Kind::RuleOut,
            "rule_out",
            "Rule an entity out and go on",
            RULE_OUT,
            stores.clone(),
        );
        self.add::<Fork, Investigated>(
            Kind::Fork,
            "fork",
            "Take another course from a step on",
            FORK,
            stores.clone(),
        );
        self.add::<CloseIncident, Closed>(
            Kind::Close,
            CloseIncident::NAME,
            "Close an incident with what was true",
            CLOSE,
            stores,
        );
        self.add::<Explain, Explained>(
            Kind::Explain,
            "explain",
            "Why an entity got its label",
            EXPLAIN,
            reads(),
        );
        self.add::<Diff, Compared>(
            Kind::Diff,
            "diff",
            "Where two investigations part",
            DIFF,
            reads(),
        );
        self.add::<List, Listed>(
            Kind::List,
            "list_investigations",
            "The investigations of this server",
            LIST,
            reads(),
        );
        self.add::<GetContext, eog::LocalContext>(
            Kind::Context,
            "get_context",
            "The evidence on one entity",
            GET_CONTEXT,
            reads(),
        );
    }

    fn add<A: JsonSchema, R: JsonSchema>(
        &mut self,
        kind: Kind,
        name: &'static str,
        title: &str,
        description: &'static str,
        annotations: ToolAnnotations,
    ) {
        let input = eog_core::json_schema::<A>();
        let tool = Tool::new(name, description, object(&input))
            .with_title(title)
            .with_raw_output_schema(object(&eog_core::json_schema::<R>()))
            .with_annotations(annotations);
        self.tools.push(tool);
        self.offered.push(Offered { kind, arguments: Checked::new(&input) });
    }

    /// One tool for all tables of an incident. Its answers are those of the tables.
    fn query(&mut self) {
        // Contexts have a tool of their own.
        let tables = tools().iter().filter(|info| info.name != "get_context_contract");
        let tables: Vec<&ToolInfo> = tables.filter(|info| self.answers(info)).collect();
        let mut input = eog_core::json_schema::<Query>();
        let names: Vec<&str> = tables.iter().map(|info| info.name).collect();
        input["properties"]["table"]["enum"] = json!(names);
        let lines: String = tables.iter().map(|info| self.table_line(info)).collect();
        let asks = if self.has_snapshots { QUERY } else { QUERY_BUNDLES };
        let tool = Tool::new("query", format!("{asks}{QUERY_HOW}\n{lines}"), object(&input))
            .with_title("Query the telemetry of an incident")
            .with_annotations(reads());
        self.tools.push(tool);
        self.offered.push(Offered { kind: Kind::Query, arguments: Checked::new(&input) });
    }

    /// A table in one line: its arguments, those that it needs first and marked, and what it returns.
    fn table_line(&self, info: &ToolInfo) -> String {
        let schema = self.arguments(info);
        let is_required = |name: &str| {
            schema["required"].as_array().is_some_and(|all| all.iter().any(|it| it == name))
        };
        let names = schema["properties"].as_object().into_iter().flat_map(|all| all.keys());
        let (needed, other): (Vec<&String>, Vec<&String>) =
            names.partition(|name| is_required(name));
        let needed = needed.into_iter().map(|name| format!("{name}*"));
        let arguments: Vec<String> = needed.chain(other.into_iter().cloned()).collect();
        let alone = match BundleToolbox::arguments(info.name) {
            Some(_) => "",
            None => " (snapshots alone)",
        };
        format!("\n- {}({}): {}{alone}", info.name, arguments.join(", "), info.summary)
    }

    /// A table as a tool: its own arguments, and which incident.
    fn table(&mut self, info: &'static ToolInfo, roots: &Roots) {
        let of_bundle = BundleToolbox::arguments(info.name);
        let incident = match of_bundle {
            Some(_) => "incident (a bundle or a snapshot)",
            None => "snapshot",
        };
        let mut input = self.arguments(info);
        input["properties"]["path"] = json!({
            "type": "string",
            "description": format!("Folder of the {incident}, absolute or relative to a root of the server."),
        });
        if self.has_snapshots {
            input["properties"]["architecture"] = json!({
                "type": "string",
                "description": "Application architecture (a JSON file below a root) that goes with a snapshot.",
            });
        }
        if roots.folders().len() > 1 {
            match input["required"].as_array_mut() {
                Some(required) => required.push(json!("path")),
                None => input["required"] = json!(["path"]),
            }
        } else {
            input["properties"]["path"]["description"] = json!(format!(
                "Folder of the {incident}, absolute or relative to the root of the server. May be left \
                 out when the root is the folder."
            ));
        }
        let bundles = match (self.has_snapshots, of_bundle) {
            (true, Some(arguments)) => {
                format!(
                    "\n\nA bundle can be asked with {} alone, and its rows have columns of their own.",
                    arguments.join(", ")
                )
            }
            (true, None) => "\n\nGoes with snapshots alone.".to_owned(),
            (false, _) => String::new(),
        };
        let known = |example: &&&str| {
            let arguments = serde_json::from_str::<JsonObject>(example).unwrap_or_default();
            arguments.keys().all(|name| input["properties"].get(name).is_some())
        };
        let examples = info.examples.iter().filter(known);
        let examples: String = examples.map(|example| format!("\n- {example}")).collect();
        let examples = match examples.as_str() {
            "" => String::new(),
            some => format!("\n\nExamples, with `path` beside them:{some}"),
        };
        let description = format!("{}.\n\n{}{bundles}{examples}", info.summary, info.description);
        let tool = Tool::new(info.name, description, object(&input))
            .with_title(info.summary)
            .with_raw_output_schema(object(&info.answer_schema()))
            .with_annotations(reads());
        self.tools.push(tool);
        self.offered.push(Offered { kind: Kind::Table(info), arguments: Checked::new(&input) });
    }
}

/// The same call gives the same answer, and changes nothing.
fn reads() -> ToolAnnotations {
    ToolAnnotations::new().read_only(true).idempotent(true).open_world(false)
}

fn object(schema: &Value) -> Arc<JsonObject> {
    let mut schema = schema.clone();
    without_widths(&mut schema);
    Arc::new(schema.as_object().cloned().unwrap_or_default())
}

/// Leaves out the formats that say how wide a number is in Rust: JSON Schema has none for numbers, and
/// clients warn of each.
fn without_widths(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            let is_number = fields.get("type").is_some_and(|kind| {
                let kinds = kind.as_array().map_or(std::slice::from_ref(kind), Vec::as_slice);
                kinds.iter().any(|kind| kind == "integer" || kind == "number")
            });
            if is_number && fields.get("format").is_some_and(Value::is_string) {
                fields.remove("format");
            }
            fields.values_mut().for_each(without_widths);
        }
        Value::Array(list) => list.iter_mut().for_each(without_widths),
        _ => {}
    }
}

const INVESTIGATE: &str = "\
Finds the root causes of a recorded incident. Walks the dependency graph from the alerts, decides for
each entity whether it is an origin, a symptom or healthy, lets neighbours revise each other, and ends
with the smallest set of origins that explains the alerts.

Call it first, with the folder of the incident. The answer names the origins with their evidence, how
effects travelled from them, and which alerts they explain. `confidence` says how far to trust it:
`confirmed` (a change that precedes what it explains), `likely`, or `inconclusive`, when only
`candidates` are given. `next_suspects` names the entities to check should the origins be wrong. `explain`
says why one entity got its label, and `query` lets you check the evidence yourself.

It takes from under a second to minutes; each step is a progress notification. Every step is stored
first, so a call that is cancelled or runs out of time leaves an investigation that `resume` goes on
with. The same folder gives the same result.";

const RESUME: &str = "\
Goes on with an investigation that was cancelled, ran out of time, or died with its server, from where
its journal ends. What the journal holds is not asked again. An investigation that has nothing left to
do gives its result again. The answer is that of `investigate`.

`list_investigations` shows which are interrupted.";

const RULE_OUT: &str = "\
Says that an entity is not the cause, since a person knows so, and goes on without it: it is judged
again, and so is what rests on it. Works on finished investigations, too. The answer is that of
`investigate`. Use it only for what a person said.";

const FORK: &str = "\
Copies an investigation up to a ledger entry and goes on from there with other settings, as an
investigation of its own with a new id. What was judged before that entry is not asked again. Then
`diff` shows what came out otherwise. The answer is that of `investigate`.";

const CLOSE: &str = "\
Closes an incident that is over: keeps its investigation and a copy of its evidence as a case, with what was found to
be true, and grades what was concluded. Cases are investigated again whenever rules, weights, prompts or models
change. Use it only for what a person said, and name who.";

const EXPLAIN: &str = "\
Says why an entity got its label in an investigation: the findings that it rests on, each of its
evaluations with what its neighbours had said before, and the single findings or messages without which
the label would be another.

Use it to check an origin before you act on it, or to see why an entity that you suspected is called a
symptom or healthy.";

const DIFF: &str = "\
Says where two investigations part: settings that differ, the first step that differs, and what each
concluded. Use it to see what another window, budget or profile changed.";

const LIST: &str = "\
The investigations of this server, newest first: id, incident, whether it runs, has finished or was
interrupted, and the origins it found. Give an id to `explain`, `diff` or `resume`.";

const GET_CONTEXT: &str = "\
The bounded evidence on one entity of an incident in a window, strongest first: findings with their
times and excerpts, entities that they name, and what was left out. This is the context contract as
`investigate` uses it, for bundles and snapshots alike, so that another engine can investigate with
this server as its source.

For questions of your own `query` says more.";

const QUERY: &str = "\
Asks an incident for alerts, events, changes, topology, metrics or logs, and a snapshot also for objects and
traces. A bundle refuses what it does not record, by name.";

const QUERY_BUNDLES: &str = "\
Asks an incident for alerts, events, changes, topology, metrics or logs.";

const QUERY_HOW: &str = " `arguments` are
those of the table (* are required); with `describe` the answer is what a table returns, its arguments with
their types, and examples. Answers are pages: `limit` and `offset`.

Tables:";
