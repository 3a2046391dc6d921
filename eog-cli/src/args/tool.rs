//! The options of `eog tool`: one subcommand for each tool, with a flag for each argument that
//! its schema describes.

use std::path::PathBuf;

use clap::builder::{PossibleValuesParser, StyledStr};
use clap::{Arg, ArgAction, ArgMatches, Args, Command, FromArgMatches, ValueEnum, ValueHint};
use eog::Window;
use eog_sre::tools::{BundleToolbox, ToolInfo, tools};
use serde_json::{Map, Value};

use super::Reading;

const EXIT_CODES: &str = "\
Exit codes:
  0    the answer was printed
  1    output could not be written
  2    wrong command line, or invalid arguments for the tool
  4    the input cannot be used; the message names the file, the place and the reason";

const CONDITIONS: &str = "\
Conditions (--filter can be repeated; all must hold):
  reason=Killing,Unhealthy  is one of these; * matches any text, ? any character
  reason!=Pulled            is none of these
  message~refused           contains the text, ignoring case; !~ does not
  message=~^Back.off        matches the regular expression
  times>=5                  compares numbers and times: <, <=, >, >=
  node=                     is empty";

/// What is asked of `eog tool`.
#[derive(Clone, Debug)]
pub(crate) struct Tool {
    /// Nothing when no tool was named.
    pub(crate) call: Option<Asked>,
}

/// A question.
#[derive(Clone, Debug)]
pub(crate) enum Asked {
    /// To a tool over snapshots and bundles.
    Tool(Box<Call>),
    /// What a report cites.
    Evidence(Box<Evidence>),
}

/// Shows a piece of evidence that a report cites, derived again from its source
///
/// Reports and `eog explain` print such commands. The output is the finding and, if it is about a series of a
/// bundle, the measured points. Ids are derived from content: if the files, the window or the architecture
/// differ from those of the report, the id is not found.
#[derive(Clone, Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(crate) struct Evidence {
    /// What was investigated: a bundle, a snapshot or a source file
    #[arg(value_hint = ValueHint::AnyPath)]
    pub(crate) path: PathBuf,

    /// The id of the finding
    pub(crate) finding: String,

    /// The entity of the finding; a finding about another entity is refused
    #[arg(long)]
    pub(crate) entity: Option<String>,

    /// The window of the investigation, if it is not the default one
    #[arg(long, value_name = "START/END", value_parser = super::parse::parse_window)]
    pub(crate) window: Option<Window>,

    /// Application architecture (JSON) that belongs to the snapshot
    #[arg(long, value_name = "FILE")]
    pub(crate) architecture: Option<PathBuf>,

    #[command(flatten)]
    pub(crate) reading: Reading,

    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "json")]
    pub(crate) format: ToolFormat,

    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

impl Evidence {
    pub(crate) const NAME: &'static str = "evidence";
    pub(crate) const SUMMARY: &'static str =
        "Shows a piece of evidence that a report cites, derived again from its source";
}

/// One call.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    pub(crate) tool: &'static ToolInfo,
    pub(crate) path: PathBuf,
    /// What the flags say, as the tool takes it.
    pub(crate) arguments: Map<String, Value>,
    /// More of that, as JSON or as `@FILE`.
    pub(crate) json: Option<String>,
    pub(crate) architecture: Option<PathBuf>,
    pub(crate) reading: Reading,
    pub(crate) format: ToolFormat,
    pub(crate) quiet: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ToolFormat {
    /// For programs.
    Json,
    /// For people.
    Table,
}

impl Args for Tool {
    fn augment_args(command: Command) -> Command {
        tools()
            .iter()
            .fold(command.after_help(EXIT_CODES), |command, tool| {
                command.subcommand(subcommand(tool))
            })
            .subcommand(Evidence::augment_args(Command::new(Evidence::NAME)))
            .subcommand_value_name("NAME")
            .subcommand_help_heading("Tools")
            .disable_help_subcommand(true)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

impl FromArgMatches for Tool {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        let Some((name, matches)) = matches.subcommand() else { return Ok(Self { call: None }) };
        if name == Evidence::NAME {
            let asked = Evidence::from_arg_matches(matches)?;
            return Ok(Self { call: Some(Asked::Evidence(Box::new(asked))) });
        }
        let Some(tool) = tools().iter().find(|tool| tool.name == name) else {
            return Ok(Self { call: None });
        };
        let text = |id: &str| matches.get_one::<String>(id).cloned();
        let path = |id: &str| matches.get_one::<PathBuf>(id).cloned();
        Ok(Self {
            call: Some(Asked::Tool(Box::new(Call {
                tool,
                path: path("path").unwrap_or_default(),
                arguments: arguments(tool, matches),
                json: text("json"),
                architecture: path("architecture"),
                reading: Reading::from_arg_matches(matches)?,
                format: matches.get_one("format").copied().unwrap_or(ToolFormat::Json),
                quiet: matches.get_flag("quiet"),
            }))),
        })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

fn subcommand(tool: &'static ToolInfo) -> Command {
    let path = Arg::new("path")
        .value_name("PATH")
        .help(reads(tool))
        .required(true)
        .value_hint(ValueHint::AnyPath)
        .value_parser(clap::value_parser!(PathBuf));
    let architecture = Arg::new("architecture")
        .long("architecture")
        .value_name("FILE")
        .help("Application architecture (JSON) that belongs to the snapshot")
        .value_parser(clap::value_parser!(PathBuf));
    let json = Arg::new("json")
        .long("json")
        .value_name("ARGUMENTS")
        .help("Arguments as a JSON object, or @FILE that contains one (@- for standard input); flags take precedence");
    let format = Arg::new("format")
        .long("format")
        .value_name("FORMAT")
        .help("Output format")
        .default_value("json")
        .value_parser(clap::value_parser!(ToolFormat));
    let quiet = Arg::new("quiet")
        .long("quiet")
        .short('q')
        .help("Print no progress and no notes about the input")
        .action(ArgAction::SetTrue);
    let command = Command::new(tool.name)
        .about(tool.summary)
        .long_about(format!("{}.\n\n{}", tool.summary, joined(tool.description)))
        .after_help(after_help(tool))
        .arg(path);
    let command = flags(tool).into_iter().fold(command, |command, flag| command.arg(flag.arg()));
    Reading::augment_args(command.args([json, architecture])).args([format, quiet])
}

/// What a tool can be asked about.
fn reads(tool: &ToolInfo) -> &'static str {
    match BundleToolbox::arguments(tool.name) {
        Some(_) => {
            "Folder of the snapshot (see docs/sre.md) or the bundle (docs/bundle.md; flags for data that \
             bundles do not contain are refused), or a file that names live sources (docs/live-sources.md), \
             which are captured as a bundle first"
        }
        None => "Folder of the snapshot (see docs/sre.md)",
    }
}

/// What a flag takes.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Takes {
    Nothing,
    /// A whole number from 0 on: no tool takes others.
    Count,
    Text,
    /// One of these.
    Choice(Vec<String>),
    /// Text that may be given several times.
    Texts,
}

/// One argument of a tool as a flag.
struct Flag {
    /// The argument's name in the schema.
    argument: String,
    takes: Takes,
    help: String,
}

/// The flags of a tool in the order of the alphabet, `entity` and conditions first.
fn flags(tool: &ToolInfo) -> Vec<Flag> {
    let schema = tool.args_schema();
    let properties = schema.get("properties").and_then(Value::as_object);
    let mut flags: Vec<Flag> = properties
        .into_iter()
        .flatten()
        .map(|(name, property)| Flag {
            argument: name.clone(),
            takes: takes(property, &schema),
            help: property
                .get("description")
                .and_then(Value::as_str)
                .map(joined)
                .unwrap_or_default(),
        })
        .collect();
    let first = ["entity", "filters", "window", "group_by", "aggregates", "sort", "columns"];
    flags.sort_by_key(|flag| {
        let at = first.iter().position(|name| *name == flag.argument);
        (at.unwrap_or(first.len()), flag.argument.clone())
    });
    flags
}

/// What an argument takes, by its schema.
fn takes(property: &Value, schema: &Value) -> Takes {
    let mut types = Vec::new();
    let mut choices = Vec::new();
    collect(property, schema, &mut types, &mut choices, 0);
    let has = |name: &str| types.iter().any(|one| one == name);
    if !choices.is_empty() {
        Takes::Choice(choices)
    } else if has("array") {
        Takes::Texts
    } else if has("string") {
        Takes::Text
    } else if has("boolean") {
        Takes::Nothing
    } else if has("integer") {
        Takes::Count
    } else {
        Takes::Text
    }
}

/// Collects the types and the fixed values that a schema names, over its alternatives.
fn collect(
    part: &Value,
    schema: &Value,
    types: &mut Vec<String>,
    choices: &mut Vec<String>,
    depth: usize,
) {
    if depth > 8 {
        return;
    }
    let texts = |value: Option<&Value>| -> Vec<String> {
        let several = value.and_then(Value::as_array).into_iter().flatten();
        let one = value.filter(|value| value.is_string());
        several.chain(one).filter_map(Value::as_str).map(str::to_owned).collect()
    };
    choices.extend(texts(part.get("const")));
    choices.extend(texts(part.get("enum")));
    types.extend(texts(part.get("type")));
    if let Some(name) = part.get("$ref").and_then(Value::as_str)
        && let Some(target) = name.strip_prefix('#').and_then(|path| schema.pointer(path))
    {
        collect(target, schema, types, choices, depth + 1);
    }
    for several in ["anyOf", "oneOf", "allOf"] {
        for one in part.get(several).and_then(Value::as_array).into_iter().flatten() {
            collect(one, schema, types, choices, depth + 1);
        }
    }
}

impl Flag {
    /// The flag's name: as the argument, and in the singular where it may be repeated.
    fn long(&self) -> String {
        match self.argument.as_str() {
            "filters" => "filter".to_owned(),
            "aggregates" => "aggregate".to_owned(),
            name => name.replace('_', "-"),
        }
    }

    fn arg(self) -> Arg {
        let long = self.long();
        let id = id(&self.argument);
        let mut aliases = vec![self.argument.clone()];
        aliases.extend((self.argument == "aggregates").then(|| "agg".to_owned()));
        aliases.retain(|alias| *alias != long);
        let arg = Arg::new(id).long(long).aliases(aliases).help(StyledStr::from(self.help));
        let value = match self.argument.as_str() {
            "filters" => "CONDITION",
            "entity" => "ENTITY",
            "window" => "START/END",
            "at" | "pivot" => "TIME",
            "columns" | "group_by" | "sort" => "COLUMN",
            "aggregates" => "FUNCTION",
            _ => match self.takes {
                Takes::Count => "NUMBER",
                _ => "TEXT",
            },
        };
        match self.takes {
            Takes::Nothing => arg.action(ArgAction::SetTrue),
            Takes::Count => {
                arg.value_name(value).value_parser(parse_whole).allow_hyphen_values(true)
            }
            Takes::Choice(choices) => arg.value_parser(PossibleValuesParser::new(choices)),
            Takes::Text => arg.value_name(value).allow_hyphen_values(true),
            Takes::Texts => {
                arg.value_name(value).action(ArgAction::Append).allow_hyphen_values(true)
            }
        }
    }
}

/// The id of a tool's argument, apart from the ids that every tool has.
fn id(argument: &str) -> String {
    format!("argument {argument}")
}

/// The flags that were given, as the tool takes them.
fn arguments(tool: &ToolInfo, matches: &ArgMatches) -> Map<String, Value> {
    let mut map = Map::new();
    for Flag { argument, takes, .. } in flags(tool) {
        let id = id(&argument);
        let value = match takes {
            Takes::Nothing => matches.get_flag(&id).then_some(Value::Bool(true)),
            Takes::Count => matches.get_one::<u64>(&id).copied().map(Value::from),
            Takes::Text | Takes::Choice(_) => {
                matches.get_one::<String>(&id).cloned().map(Value::String)
            }
            Takes::Texts => matches.get_many::<String>(&id).map(|several| {
                let several: Vec<&String> = several.collect();
                match several.as_slice() {
                    // One text may hold several names with commas between.
                    [one] => Value::String((*one).clone()),
                    several => several.iter().map(|text| Value::String((*text).clone())).collect(),
                }
            }),
        };
        if let Some(value) = value {
            map.insert(argument, value);
        }
    }
    map
}

fn parse_whole(text: &str) -> Result<u64, String> {
    text.parse().map_err(|_| "expected a whole number, such as 10".to_owned())
}

/// Lines that were broken to fit a source file, joined to paragraphs that the terminal breaks.
fn joined(text: &str) -> String {
    let paragraphs = text.split("\n\n").map(|paragraph| paragraph.replace('\n', " "));
    paragraphs.collect::<Vec<_>>().join("\n\n")
}

fn after_help(tool: &ToolInfo) -> String {
    let mut text = String::from("Examples:\n");
    let examples: Vec<Map<String, Value>> =
        tool.examples.iter().filter_map(|example| serde_json::from_str(example).ok()).collect();
    for example in &examples {
        text.push_str(&format!("  eog tool {} PATH{}\n", tool.name, in_flags(tool, example)));
    }
    if let Some(example) = tool.examples.first() {
        text.push_str(&format!("  eog tool {} PATH --json '{example}'\n", tool.name));
    }
    if flags(tool).iter().any(|flag| flag.argument == "filters") {
        text.push_str(&format!("\n{CONDITIONS}\n"));
    }
    text.push_str(&format!("\n{EXIT_CODES}"));
    text
}

/// Arguments as the flags that say the same.
fn in_flags(tool: &ToolInfo, arguments: &Map<String, Value>) -> String {
    let mut text = String::new();
    for flag in flags(tool) {
        let Some(value) = arguments.get(&flag.argument) else { continue };
        let long = flag.long();
        let mut add = |value: &str| text.push_str(&format!(" --{long} {}", quoted(value)));
        match value {
            Value::Bool(_) => text.push_str(&format!(" --{long}")),
            Value::Object(conditions) => {
                for (column, value) in conditions {
                    let value = plain(value);
                    let has_operator = value.starts_with(['=', '!', '~', '<', '>']);
                    let equals = if has_operator { "" } else { "=" };
                    add(&format!("{column}{equals}{value}"));
                }
            }
            Value::Array(several) => several.iter().for_each(|one| add(&plain(one))),
            one => add(&plain(one)),
        }
    }
    text
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=./,:@+".contains(c);
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn parse(words: &[&str]) -> Result<Map<String, Value>, clap::Error> {
        let command = Tool::augment_args(Command::new("tool"));
        let matches = command.try_get_matches_from([&["tool"], words].concat())?;
        Ok(match Tool::from_arg_matches(&matches)?.call {
            Some(Asked::Tool(call)) => call.arguments,
            _ => Map::new(),
        })
    }

    #[test]
    fn flags_become_arguments() {
        let cases = [
            (
                "event_analysis d --filter reason=Killing --group-by namespace --sort -count --limit 10",
                json!({"filters": "reason=Killing", "group_by": "namespace", "sort": "-count", "limit": 10}),
            ),
            (
                "event_analysis d --filter a=b --filter times>=5 --agg count --agg sum(times)",
                json!({"filters": ["a=b", "times>=5"], "aggregates": ["count", "sum(times)"]}),
            ),
            (
                "event_analysis d --window 2026-01-01T10:00:00Z/",
                json!({"window": "2026-01-01T10:00:00Z/"}),
            ),
            ("event_analysis d --group_by reason", json!({"group_by": "reason"})),
            ("build_topology d --counts-only", json!({"counts_only": true})),
            (
                "topology_analysis d --entity a --mode callers --hops 2",
                json!({"entity": "a", "mode": "callers", "hops": 2}),
            ),
            ("alert_summary d --min-duration 5m", json!({"min_duration": "5m"})),
            ("get_k8_spec d --entity a --field spec/x", json!({"entity": "a", "field": "spec/x"})),
        ];
        for (line, expected) in cases {
            let words: Vec<&str> = line.split(' ').collect();
            assert_eq!(Value::Object(parse(&words).unwrap()), expected, "{line}");
        }
    }

    #[test]
    fn every_example_is_the_same_in_flags() {
        for tool in tools() {
            for example in tool.examples {
                let example: Map<String, Value> = serde_json::from_str(example).unwrap();
                let line = in_flags(tool, &example).replace('\'', "");
                // The examples have no spaces inside values but for lists with commas.
                let line = line.replace(", ", ",");
                let words: Vec<&str> = line.split_whitespace().collect();
                let parsed = parse(&[&[tool.name, "d"], words.as_slice()].concat());
                let parsed = parsed.unwrap_or_else(|error| panic!("{line}: {error}"));
                assert_eq!(parsed.len(), example.len(), "{line}");
            }
        }
    }

    #[test]
    fn a_wrong_flag_is_refused() {
        assert!(parse(&["event_analysis", "d", "--filtr", "a=b"]).is_err());
        assert!(parse(&["event_analysis"]).is_err());
        assert!(parse(&["event_analisys", "d"]).is_err());
        assert!(parse(&["topology_analysis", "d", "--mode", "up"]).is_err());
    }
}
