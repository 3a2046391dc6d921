//! `eog tool`: one question to a snapshot, a bundle or what is captured from live sources.

mod evidence;
mod ordered;
mod table;

use std::io::Read;
use std::path::Path;

use crate::shown::clean_line;
use eog::Window;
use eog_report::clean::escape_json;
use eog_session::source::{AskError, Kind, Opened};
use eog_sre::tools::{BundleToolbox, MAX_LIMIT, TimeRange, tools};
use serde_json::{Map, Value};

use crate::args::{Asked, Call, Evidence, Tool, ToolFormat};
use crate::error::{CliError, Exit};
use crate::files;
use crate::progress::Progress;
use crate::source;

/// Longest text of `--json`, in bytes.
const MAX_JSON: u64 = 1 << 20;

/// Most notes on a snapshot that are printed.
const MAX_NOTES: usize = 8;

/// `eog tool`.
pub(crate) fn run(arguments: &Tool) -> Result<Exit, CliError> {
    let call = match &arguments.call {
        None => {
            files::print(&list())?;
            return Ok(Exit::Diagnosed);
        }
        Some(Asked::Evidence(asked)) => {
            files::print(&evidence::show(asked)?)?;
            return Ok(Exit::Diagnosed);
        }
        Some(Asked::Tool(call)) => call,
    };
    let arguments = all_arguments(call)?;
    if let (Some(said), false) = (too_many(&arguments), call.quiet) {
        eprintln!("eog: note: {said}");
    }
    let groups = groups(&arguments);
    let progress = Progress::start(call.quiet);
    let opened = open(&progress, call, window(&arguments))?;
    let answer = opened.ask(call.tool.name, Value::Object(arguments));
    let answer = answer.map_err(|error| refused(&call.path, error))?;
    if !call.quiet {
        progress.bar().suspend(|| note(&opened.incident().warnings));
    }
    drop(progress);
    let text = match call.format {
        ToolFormat::Json => escape_json(&answer) + "\n",
        ToolFormat::Table => table::table(&ordered::parse(&answer), &groups, files::full_width()),
    };
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

/// Opens what is asked, unless it has no tools: MCP servers are not started only to be refused.
fn open(progress: &Progress, call: &Call, window: Option<Window>) -> Result<Opened, CliError> {
    if matches!(Kind::of(&call.path), Ok(Kind::Servers)) {
        return Err(refused(&call.path, AskError::NoTools));
    }
    let architecture = call.architecture.as_deref();
    let at = source::At { window, ..source::At::default() };
    source::read(progress, &call.path, architecture, &call.reading, at)
}

/// The window that is asked about, which live sources are captured for. A wrong one is refused by the tool.
fn window(arguments: &Map<String, Value>) -> Option<Window> {
    let TimeRange { start, end } = serde_json::from_value(arguments.get("window")?.clone()).ok()?;
    Window::new(start?, end?).ok()
}

fn refused(path: &Path, error: AskError) -> CliError {
    match error {
        AskError::Tool(error) => error.into(),
        other => CliError::Input { path: path.to_owned(), reason: other.to_string() },
    }
}

/// The tools, one a line.
fn list() -> String {
    let longest = tools().iter().map(|tool| tool.name.len()).max().unwrap_or_default();
    let mut text = String::new();
    for tool in tools() {
        text.push_str(&format!("{:longest$}  {}\n", tool.name, tool.summary));
    }
    text.push_str(&format!("{:longest$}  {}\n", Evidence::NAME, Evidence::SUMMARY));
    text.push_str("\n`eog tool NAME --help` explains a tool; `eog tool NAME PATH` runs it.\n");
    let names = tools().iter().map(|tool| tool.name);
    let others: Vec<&str> = names.filter(|name| BundleToolbox::arguments(name).is_none()).collect();
    text.push_str(&format!(
        "They read snapshots and bundles; {} read only snapshots.\n",
        others.join(", ")
    ));
    text
}

/// What `--json` holds, with the flags over it.
fn all_arguments(call: &Call) -> Result<Map<String, Value>, CliError> {
    let mut arguments = match &call.json {
        None => Map::new(),
        Some(given) => {
            let wrong = |reason: String| CliError::Usage(format!("--json: {reason}"));
            let text = match given.strip_prefix('@') {
                Some(file) => read(file).map_err(|error| wrong(unreadable(file, &error)))?,
                None => given.clone(),
            };
            match serde_json::from_str(&text).map_err(|error| wrong(error.to_string()))? {
                Value::Object(map) => map,
                _ => return Err(wrong("expected an object such as {\"limit\": 5}".to_owned())),
            }
        }
    };
    arguments.extend(call.arguments.clone());
    Ok(arguments)
}

/// What to say about a limit above the maximum.
fn too_many(arguments: &Map<String, Value>) -> Option<String> {
    let limit = arguments.get("limit")?.as_u64()?;
    (limit > MAX_LIMIT as u64).then(|| format!("limit {limit} is too large; {MAX_LIMIT} is used"))
}

/// What rows are grouped by.
fn groups(arguments: &Map<String, Value>) -> Vec<String> {
    match arguments.get("group_by") {
        Some(Value::String(names)) => names.split(',').map(|name| name.trim().to_owned()).collect(),
        Some(Value::Array(names)) => {
            names.iter().filter_map(Value::as_str).map(str::to_owned).collect()
        }
        _ => Vec::new(),
    }
}

fn read(file: &str) -> std::io::Result<String> {
    let mut text = String::new();
    let read = match file {
        "-" => std::io::stdin().take(MAX_JSON + 1).read_to_string(&mut text)?,
        file => std::fs::File::open(file)?.take(MAX_JSON + 1).read_to_string(&mut text)?,
    };
    match read as u64 > MAX_JSON {
        true => Err(std::io::Error::other(format!("longer than {MAX_JSON} bytes"))),
        false => Ok(text),
    }
}

/// Why a file with arguments cannot be read.
fn unreadable(file: &str, error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => {
            format!("there is no file {file}; give a file with a JSON object, or the object itself")
        }
        _ => format!("{file}: {error}"),
    }
}

/// Says on standard error what the input lacks.
fn note(warnings: &[String]) {
    for warning in warnings.iter().take(MAX_NOTES) {
        eprintln!("eog: note: {}", clean_line(warning));
    }
    if let Some(more) = warnings.len().checked_sub(MAX_NOTES).filter(|more| *more > 0) {
        eprintln!("eog: note: and {more} more");
    }
}
