//! The configuration of a source, checked when it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use eog_core::Window;
use eog_sre::ReadOptions;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use super::error::SourceError;
use super::mapping::{AlertMap, FindingMap, SeriesMap, TopologyMap};
use super::offered::no_tool;
use super::pasted::Pasted;
use super::rows::{Pattern, Rows};
use super::servers::{Server, ServerConfig, Variables};
use super::template::{Filling, Hole, Template};

/// Longest configuration that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// A source of context made of MCP servers: which servers, what they are asked, and how answers
/// become evidence. The fields are described in `docs/mcp.md`.
///
/// ```
/// use eog_mcp_client::McpConfig;
/// let config = McpConfig::parse(
///     r#"
///     [servers.inventory]
///     command = "inventory-server"
///     [context]
///     server = "inventory"
///     tool = "get_context"
///     arguments = { entity_id = "{entity}", start_time = "{start}", end_time = "{end}" }
///     "#,
///     "source.toml".as_ref(),
/// )?;
/// # let _ = config;
/// # Ok::<(), eog_mcp_client::SourceError>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct McpConfig {
    pub(super) name: String,
    pub(super) servers: BTreeMap<String, ServerConfig>,
    /// Servers in the form of other agents, beside ours.
    #[serde(rename = "mcpServers")]
    pasted: Option<Value>,
    servers_file: Option<PathBuf>,
    /// How the name of an entity is made of parts.
    pub(super) entity: Option<Pattern>,
    pub(super) window: Option<Window>,
    pub(super) baseline: Option<Window>,
    /// A bundle that the incident is read from, in place of the queries below.
    pub(super) bundle: Option<PathBuf>,
    /// The same, a snapshot.
    pub(super) snapshot: Option<PathBuf>,
    /// Application architecture (JSON) that goes with the snapshot.
    pub(super) architecture: Option<PathBuf>,
    pub(super) topology: Vec<TopologyQuery>,
    pub(super) alerts: Vec<AlertQuery>,
    pub(super) findings: Vec<FindingQuery>,
    pub(super) context: Option<Call>,
    pub(super) evidence: Vec<EvidenceQuery>,
    pub(super) limits: Limits,
    #[serde(skip)]
    pub(super) folder: PathBuf,
    #[serde(skip)]
    place: String,
    #[serde(skip)]
    pub(super) warnings: Vec<String>,
    #[serde(skip)]
    pub(super) reading: ReadOptions,
}

/// How much one page of a context holds.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct Limits {
    pub(super) findings: usize,
    /// About how many tokens, at three bytes of JSON for each.
    pub(super) tokens: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { findings: 40, tokens: 8000 }
    }
}

/// One call of a tool.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Call {
    pub(super) server: String,
    pub(super) tool: String,
    #[serde(default)]
    pub(super) arguments: Arguments,
}

/// Arguments whose texts are templates.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(try_from = "BTreeMap<String, Value>")]
pub(super) struct Arguments(BTreeMap<String, Argument>);

#[derive(Clone, Debug)]
enum Argument {
    Text(Template),
    Fixed(Value),
    List(Vec<Argument>),
    Map(BTreeMap<String, Argument>),
}

impl TryFrom<BTreeMap<String, Value>> for Arguments {
    type Error = String;

    fn try_from(values: BTreeMap<String, Value>) -> Result<Self, String> {
        let parsed = values.into_iter().map(|(name, value)| Ok((name, Argument::parse(value)?)));
        Ok(Self(parsed.collect::<Result<_, String>>()?))
    }
}

impl Argument {
    fn parse(value: Value) -> Result<Self, String> {
        Ok(match value {
            Value::String(text) => Self::Text(Template::try_from(text)?),
            Value::Array(list) => {
                Self::List(list.into_iter().map(Self::parse).collect::<Result<_, _>>()?)
            }
            Value::Object(map) => {
                let parsed = map.into_iter().map(|(name, value)| Ok((name, Self::parse(value)?)));
                Self::Map(parsed.collect::<Result<_, String>>()?)
            }
            fixed => Self::Fixed(fixed),
        })
    }

    fn fill(&self, value: &impl Fn(&Hole) -> Result<Filling, String>) -> Result<Value, String> {
        Ok(match self {
            Self::Text(template) => template.argument(value)?.into(),
            Self::Fixed(fixed) => fixed.clone(),
            Self::List(list) => {
                list.iter().map(|one| one.fill(value)).collect::<Result<Vec<_>, _>>()?.into()
            }
            Self::Map(map) => Value::Object(fill(map, value)?),
        })
    }

    fn holes<'a>(&'a self, found: &mut Vec<&'a Hole>) {
        match self {
            Self::Text(template) => found.extend(template.holes()),
            Self::Fixed(_) => {}
            Self::List(list) => list.iter().for_each(|one| one.holes(found)),
            Self::Map(map) => map.values().for_each(|one| one.holes(found)),
        }
    }
}

fn fill(
    arguments: &BTreeMap<String, Argument>,
    value: &impl Fn(&Hole) -> Result<Filling, String>,
) -> Result<Map<String, Value>, String> {
    let filled = arguments.iter().map(|(name, one)| Ok((name.clone(), one.fill(value)?)));
    filled.collect()
}

impl Arguments {
    pub(super) fn fill(
        &self,
        value: impl Fn(&Hole) -> Result<Filling, String>,
    ) -> Result<Map<String, Value>, String> {
        fill(&self.0, &value)
    }

    fn holes(&self) -> Vec<&Hole> {
        let mut found = Vec::new();
        self.0.values().for_each(|one| one.holes(&mut found));
        found
    }
}

/// Asked once: entities and edges.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TopologyQuery {
    pub(super) call: Call,
    pub(super) rows: Rows,
    #[serde(rename = "as")]
    pub(super) map: TopologyMap,
}

/// Asked once: alerts.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct AlertQuery {
    pub(super) call: Call,
    pub(super) rows: Rows,
    pub(super) alert: AlertMap,
}

/// Asked once, about all entities: changes, failures, and what else bears on where to begin.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct FindingQuery {
    pub(super) call: Call,
    pub(super) rows: Rows,
    pub(super) finding: FindingMap,
}

/// Called for each evaluated entity.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct EvidenceQuery {
    pub(super) name: String,
    pub(super) call: Call,
    /// Entities without such a name are not asked about; its groups are placeholders.
    pub(super) entity: Option<Pattern>,
    /// How long before the window `{start}` lies: what is normal is seen there.
    #[serde(default)]
    pub(super) lead_seconds: u32,
    pub(super) rows: Rows,
    pub(super) finding: Option<FindingMap>,
    pub(super) series: Option<SeriesMap>,
    #[serde(default)]
    pub(super) order: Order,
    #[serde(default = "usual_limit")]
    pub(super) limit: usize,
    /// Whether the context is given without it when it fails.
    #[serde(default)]
    pub(super) optional: bool,
}

fn usual_limit() -> usize {
    20
}

/// Which findings of one query come first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Order {
    /// As the server gave them.
    #[default]
    AsGiven,
    Newest,
    Oldest,
    /// By the measured value.
    Largest,
}

/// Placeholders that every call can have.
const ALWAYS: [&str; 3] = ["start", "end", "seconds"];

/// Placeholders of calls about one entity, beside the groups of its name.
const OF_ENTITY: [&str; 4] = ["entity", "page", "visit", "changed_neighbours"];

impl McpConfig {
    /// Reads a configuration: TOML, or JSON when the name ends so.
    ///
    /// # Errors
    /// [`SourceError::Config`] that names the file, the place and the reason.
    pub fn read(file: &Path) -> Result<Self, SourceError> {
        let text = text_of(file)?;
        Self::parse(&text, file)
    }

    /// The same from a text; `file` names it, and its folder is where relative paths begin.
    ///
    /// # Errors
    /// As for [`McpConfig::read`].
    pub fn parse(text: &str, file: &Path) -> Result<Self, SourceError> {
        let mut config: Self = parsed(text, file)?;
        config.folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        config.place = file.display().to_string();
        config.add_pasted()?;
        config.check()?;
        Ok(config)
    }

    /// How the `snapshot` is read, if the configuration names one. The architecture is that of the
    /// configuration all the same.
    #[must_use]
    pub fn reading(mut self, options: ReadOptions) -> Self {
        self.reading = options;
        self
    }

    fn wrong(&self, part: &str, reason: impl Into<String>) -> SourceError {
        SourceError::config(format!("{}: {part}", self.place), reason)
    }

    fn add_pasted(&mut self) -> Result<(), SourceError> {
        let pasted = Pasted {
            inline: self.pasted.take(),
            file: self.servers_file.as_deref(),
            folder: &self.folder,
            place: &self.place,
        };
        self.warnings.extend(pasted.add_to(&mut self.servers)?);
        Ok(())
    }

    /// Every call, the part it stands in, and whether it is about one entity.
    fn calls(&self) -> Vec<(String, &Call, Option<Option<&Pattern>>)> {
        let once = |part: &str, at: usize| format!("{part}[{at}]");
        let topology = self.topology.iter().enumerate();
        let alerts = self.alerts.iter().enumerate();
        let findings = self.findings.iter().enumerate();
        let usual = self.entity.as_ref();
        let evidence = self.evidence.iter().map(|query| {
            let pattern = query.entity.as_ref().or(usual);
            (format!("evidence {:?}", query.name), &query.call, Some(pattern))
        });
        topology
            .map(|(at, query)| (once("topology", at), &query.call, None))
            .chain(alerts.map(|(at, query)| (once("alerts", at), &query.call, None)))
            .chain(findings.map(|(at, query)| (once("findings", at), &query.call, None)))
            .chain(self.context.iter().map(|call| ("context".to_owned(), call, Some(usual))))
            .chain(evidence)
            .collect()
    }

    /// The tools that are called, by server.
    pub(super) fn used(&self, server: &str) -> BTreeSet<String> {
        let calls = self.calls().into_iter().filter(|(_, call, _)| call.server == server);
        calls.map(|(_, call, _)| call.tool.clone()).collect()
    }

    /// Checks that each server has the tools that are called there, given those it offers. A query
    /// that may fail is left to fail: what it wants may be there another time.
    pub(super) fn check_tools(
        &self,
        offered: &BTreeMap<String, BTreeSet<String>>,
    ) -> Result<(), SourceError> {
        let may_fail = |call: &Call| {
            let mut optional = self.evidence.iter().filter(|query| query.optional);
            optional.any(|query| std::ptr::eq(&query.call, call))
        };
        for (part, call, _) in self.calls() {
            let Some(tools) = offered.get(&call.server) else { continue };
            if !tools.contains(&call.tool) && !may_fail(call) {
                let tools = tools.iter().map(String::as_str);
                let reason = format!("server {}: {}", call.server, no_tool(&call.tool, tools));
                return Err(self.wrong(&part, reason));
            }
        }
        Ok(())
    }

    /// The servers with their variables filled in.
    pub(super) fn checked_servers(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, Server>, SourceError> {
        let variables = Variables::of(&self.folder, environment);
        let checked = self.servers.iter().map(|(name, server)| {
            let server = server.check(&variables);
            let part = || format!("server {name}");
            Ok((name.clone(), server.map_err(|reason| self.wrong(&part(), reason))?))
        });
        checked.collect()
    }

    fn check(&self) -> Result<(), SourceError> {
        if self.context.is_none() && self.evidence.is_empty() {
            let reason =
                "neither `context` nor `evidence` is given, so nothing provides evidence; add one";
            return Err(SourceError::config(&self.place, reason));
        }
        if self.limits.findings == 0 || self.limits.tokens == 0 {
            return Err(self.wrong("limits", "a limit of 0 allows nothing; use 1 or more"));
        }
        let own_queries = self.topology.len() + self.alerts.len() + self.findings.len();
        for (part, folder) in [("bundle", &self.bundle), ("snapshot", &self.snapshot)] {
            if folder.is_some() && own_queries > 0 {
                let reason = format!(
                    "the incident is read from the {part}; remove `topology`, `alerts` and `findings`"
                );
                return Err(self.wrong(part, reason));
            }
        }
        if self.bundle.is_some() && self.snapshot.is_some() {
            return Err(self.wrong("snapshot", "give a `bundle` or a `snapshot`, not both"));
        }
        if self.architecture.is_some() && self.snapshot.is_none() {
            return Err(self.wrong("architecture", "it requires a `snapshot`, and none is given"));
        }
        for (part, call, about) in self.calls() {
            self.check_call(&part, call, about)?;
        }
        for query in &self.findings {
            if query.finding.entity.is_none() {
                let reason =
                    "each of these queries needs `entity`, a template over the fields of a row";
                return Err(self.wrong("findings", reason));
            }
        }
        let mut names = BTreeSet::new();
        for query in &self.evidence {
            let part = format!("evidence {:?}", query.name);
            if query.finding.is_some() == query.series.is_some() {
                return Err(self.wrong(&part, "give either `finding` or `series`"));
            }
            if query.limit == 0 {
                return Err(self.wrong(&part, "a limit of 0 allows nothing; use 1 or more"));
            }
            if !names.insert(&query.name) {
                return Err(
                    self.wrong(&part, "another query has the same name; names must be unique")
                );
            }
        }
        Ok(())
    }

    fn check_call(
        &self,
        part: &str,
        call: &Call,
        about: Option<Option<&Pattern>>,
    ) -> Result<(), SourceError> {
        allowed(&self.servers, &call.server, [&call.tool])
            .map_err(|reason| self.wrong(part, reason))?;
        for hole in call.arguments.holes() {
            let name = hole.name.as_str();
            let of_entity = about.is_some_and(|pattern| {
                OF_ENTITY.contains(&name) || pattern.is_some_and(|pattern| pattern.has(name))
            });
            if !ALWAYS.contains(&name) && !of_entity {
                let reason = format!(
                    "{{{name}}} is not a placeholder here; available are start, end, seconds{}",
                    match about {
                        Some(_) =>
                            ", entity, the named groups of its pattern, page, visit, \
                                    changed_neighbours",
                        None => "",
                    }
                );
                return Err(self.wrong(part, reason));
            }
            let is_time = ["start", "end"].contains(&name);
            if hole.format.is_some() && !is_time {
                return Err(
                    self.wrong(part, format!("only start and end take a format, not {name}"))
                );
            }
            if is_time {
                super::template::write_time(
                    eog_core::Timestamp::UNIX_EPOCH,
                    hole.format.as_deref(),
                )
                .map_err(|reason| self.wrong(part, reason))?;
            }
            if about.is_none() && self.window.is_none() {
                let reason = format!("{{{name}}} requires a `window` in the configuration");
                return Err(self.wrong(part, reason));
            }
        }
        Ok(())
    }
}

/// A configuration in TOML, or in JSON when the name of its file ends so.
pub(super) fn parsed<T: DeserializeOwned>(text: &str, file: &Path) -> Result<T, SourceError> {
    let is_json = file.extension().is_some_and(|end| end.eq_ignore_ascii_case("json"));
    let parsed = match is_json {
        true => serde_json::from_str(text).map_err(|error| error.to_string()),
        false => toml::from_str(text).map_err(|error| error.to_string()),
    };
    parsed.map_err(|reason| SourceError::config(file.display().to_string(), reason.trim()))
}

/// Why a server cannot be asked for these tools: there is none, or its own list does not include them.
pub(super) fn allowed<'s, 't>(
    servers: &'s BTreeMap<String, ServerConfig>,
    name: &str,
    tools: impl IntoIterator<Item = &'t String>,
) -> Result<&'s ServerConfig, String> {
    let server = servers.get(name).ok_or_else(|| {
        let names: Vec<&str> = servers.keys().map(String::as_str).collect();
        format!("there is no server {name:?}; the servers are {}", names.join(", "))
    })?;
    let is_left_out = |tool: &&String| server.tools.as_ref().is_some_and(|it| !it.contains(*tool));
    match tools.into_iter().find(is_left_out) {
        Some(tool) => Err(format!("server {name}: its list of `tools` does not include {tool:?}")),
        None => Ok(server),
    }
}

/// The text of a file of bounded size.
pub(super) fn text_of(file: &Path) -> Result<String, SourceError> {
    use std::io::Read;
    let wrong = |reason: String| SourceError::config(file.display().to_string(), reason);
    let cannot = |error: std::io::Error| wrong(format!("the file cannot be read: {error}"));
    let mut text = String::new();
    let opened = std::fs::File::open(file).map_err(cannot)?;
    opened.take(MAX_CONFIG + 1).read_to_string(&mut text).map_err(cannot)?;
    if text.len() as u64 > MAX_CONFIG {
        return Err(wrong(format!(
            "the file is longer than {MAX_CONFIG} bytes, the limit for a configuration"
        )));
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "[servers.db]\ncommand = \"db\"\n";

    fn parse(text: &str) -> Result<McpConfig, String> {
        let text = format!("{text}\n{SERVER}");
        McpConfig::parse(&text, Path::new("source.toml")).map_err(|error| error.to_string())
    }

    #[test]
    fn a_wrong_configuration_is_reported_with_its_place() {
        let context = "context = { server = 'db', tool = 't', arguments = { a = '{entity}' } }";
        parse(context).unwrap();
        let evidence = |rest: &str| {
            format!(
                "[[evidence]]\nname = 'e'\ncall = {{ server = 'db', tool = 't' }}\n\
                 rows.regex = '(?<x>a)'\n{rest}"
            )
        };
        let finding =
            "finding = { kind = 'event', signal = 'errors', time.field = 'x', excerpt = '' }";
        parse(&evidence(finding)).unwrap();
        for (text, reason) in [
            (String::new(), "neither `context` nor `evidence`"),
            (format!("{context}\nunknown = 1"), "unknown field `unknown`"),
            (context.replace("'db'", "'other'"), "no server \"other\"; the servers are db"),
            (context.replace("{entity}", "{pod}"), "{pod} is not a placeholder here"),
            (context.replace("{entity}", "{entity:unix}"), "only start and end take a format"),
            (context.replace("{entity}", "{start:noon}"), "unknown time format"),
            (context.replace("{entity}", "{start"), "unmatched brace"),
            (format!("{context}\nlimits.tokens = 0"), "a limit of 0"),
            (format!("bundle = 'b'\nsnapshot = 's'\n{context}"), "not both"),
            (format!("architecture = 'a.json'\n{context}"), "requires a `snapshot`"),
            (evidence(""), "either `finding` or `series`"),
            (evidence(&format!("limit = 0\n{finding}")), "a limit of 0"),
            (format!("{}\n{}", evidence(finding), evidence(finding)), "the same name"),
            (
                format!(
                    "{context}\n[[topology]]\ncall = {{ server = 'db', tool = 't', arguments = \
                     {{ a = '{{start}}' }} }}\nrows.json = {{}}\nas.entity = '{{x}}'"
                ),
                "requires a `window`",
            ),
        ] {
            let error = parse(&text).unwrap_err();
            assert!(error.contains(reason) && error.starts_with("source.toml"), "{error}");
        }
    }

    #[test]
    fn only_allowed_tools_are_called() {
        let text = "servers.db = { command = 'db', tools = ['read'] }\n\
                    context = { server = 'db', tool = 'write' }";
        let error = McpConfig::parse(text, Path::new("s.toml")).unwrap_err().to_string();
        assert!(error.contains("does not include \"write\""), "{error}");
    }

    #[test]
    fn pasted_servers_get_bounds() {
        let text = r#"{
            "mcpServers": {"db": {"command": "db-server", "args": ["x"]}},
            "servers": {"db": {"call_seconds": 5}},
            "context": {"server": "db", "tool": "t"}}"#;
        let config = McpConfig::parse(text, Path::new("s.json")).unwrap();
        let db = &config.servers["db"];
        assert_eq!((db.command.as_deref(), db.call_seconds), (Some("db-server"), Some(5)));
    }
}
