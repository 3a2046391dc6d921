//! How servers are reached: our own form, and the JSON that people paste from other agents.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};
use std::time::Duration;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::SourceError;

/// The longest answer that can be had over HTTP, in bytes: the library that speaks it reads no longer
/// body, and has no setting for that.
const MAX_OVER_HTTP: usize = 16 << 20;

/// One server and its bounds, as configured. `${NAME}` stands for a variable of the environment in
/// every text, `${NAME:-default}` for one that may be missing, and `${CONFIG_DIR}` for the folder
/// of the configuration.
#[derive(Clone, Debug, Default, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ServerConfig {
    /// The program, for a server on standard input and output.
    pub command: Option<String>,
    /// Its arguments.
    pub args: Vec<String>,
    /// Variables of its environment, beside the few that programs need to run.
    pub env: BTreeMap<String, String>,
    /// The folder it runs in.
    pub cwd: Option<PathBuf>,
    /// The address, for a server over streamable HTTP.
    pub url: Option<String>,
    /// What is sent in the head of each request, such as `Authorization`.
    pub headers: BTreeMap<String, String>,
    /// Which generation of the protocol it speaks.
    pub protocol: Protocol,
    /// The tools that may be called. Without it, those that the configuration names.
    pub tools: Option<BTreeSet<String>>,
    /// Seconds for starting, greeting and listing tools: 30 unless given.
    pub startup_seconds: Option<u64>,
    /// Seconds for one call: 30 unless given. Each report of progress grants as many again.
    pub call_seconds: Option<u64>,
    /// Seconds for one call, whatever progress it reports: 300 unless given.
    pub call_seconds_at_most: Option<u64>,
    /// The longest answer in bytes: 8 MiB unless given, and at most 16 MiB from an address.
    pub max_answer_bytes: Option<usize>,
    /// Bounds of single tools, by name.
    pub tool: BTreeMap<String, ToolConfig>,
}

/// The bounds of one tool.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolConfig {
    /// Seconds for one call.
    pub call_seconds: Option<u64>,
    /// Seconds for one call, whatever progress it reports.
    pub call_seconds_at_most: Option<u64>,
    /// Whether it only reads, so that it may be asked again when the server died. Without it, what
    /// the server says (`readOnlyHint`).
    pub read_only: Option<bool>,
}

/// Which generation of the protocol a server speaks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Protocol {
    /// The handshake; where the server refuses it, requests that stand alone.
    #[default]
    Either,
    /// The handshake of 2025-11-25 and before.
    Handshake,
    /// Requests that stand alone, of 2026-07-28.
    Stateless,
}

/// A server, checked and with its variables filled in.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Server {
    pub(super) reach: Reach,
    pub(super) protocol: Protocol,
    pub(super) startup: Duration,
    pub(super) max_answer: usize,
    call: Bounds,
    tools: BTreeMap<String, ToolConfig>,
}

#[derive(Clone, Debug, PartialEq)]
pub(super) enum Reach {
    Process(Launch),
    Http { url: String, headers: BTreeMap<String, String> },
}

#[derive(Clone, Debug, PartialEq)]
pub(super) struct Launch {
    pub(super) command: String,
    pub(super) args: Vec<String>,
    pub(super) env: BTreeMap<String, String>,
    pub(super) cwd: Option<PathBuf>,
}

/// How long a call may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Bounds {
    /// Without progress.
    pub(super) quiet: Duration,
    /// In all.
    pub(super) total: Duration,
}

impl Server {
    pub(super) fn bounds(&self, tool: &str) -> Bounds {
        let own = self.tools.get(tool);
        let seconds = |own: Option<u64>, usual: Duration| own.map_or(usual, Duration::from_secs);
        let quiet = seconds(own.and_then(|own| own.call_seconds), self.call.quiet);
        let total = seconds(own.and_then(|own| own.call_seconds_at_most), self.call.total);
        Bounds { quiet: quiet.min(total), total }
    }

    /// Whether a tool was declared to read only, if anything was declared.
    pub(super) fn read_only(&self, tool: &str) -> Option<bool> {
        self.tools.get(tool).and_then(|own| own.read_only)
    }
}

/// Where variables come from: the folder of the configuration, and the environment.
pub(super) struct Variables<'a> {
    folder: PathBuf,
    environment: &'a dyn Fn(&str) -> Option<String>,
}

impl<'a> Variables<'a> {
    pub(super) fn of(folder: &Path, environment: &'a dyn Fn(&str) -> Option<String>) -> Self {
        // A file that is named without a folder is in the present one.
        let folder = if folder.as_os_str().is_empty() { Path::new(".") } else { folder };
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        Self { folder, environment }
    }

    /// A text with its `${…}` filled in.
    fn fill(&self, text: &str) -> Result<String, String> {
        let mut filled = String::new();
        let mut rest = text;
        while let Some((before, from)) = rest.split_once("${") {
            filled.push_str(before);
            let (inner, after) =
                from.split_once('}').ok_or_else(|| format!("unclosed ${{ in {text:?}"))?;
            let (name, otherwise) = match inner.split_once(":-") {
                Some((name, otherwise)) => (name, Some(otherwise)),
                None => (inner, None),
            };
            let name = name.strip_prefix("env:").unwrap_or(name);
            let value = match name {
                "CONFIG_DIR" | "workspaceFolder" => Some(self.folder.display().to_string()),
                name => (self.environment)(name),
            };
            let value = value.or(otherwise.map(str::to_owned)).ok_or_else(|| {
                format!("the environment variable {name} is not set; set it, or write ${{{name}:-default}}")
            })?;
            filled.push_str(&value);
            rest = after;
        }
        filled.push_str(rest);
        Ok(filled)
    }
}

impl ServerConfig {
    /// Checks the parts and fills in the variables.
    pub(super) fn check(&self, variables: &Variables<'_>) -> Result<Server, String> {
        let fill = |text: &String| variables.fill(text);
        let map = |texts: &BTreeMap<String, String>| {
            let filled = texts.iter().map(|(name, value)| Ok((name.clone(), fill(value)?)));
            filled.collect::<Result<BTreeMap<_, _>, String>>()
        };
        let reach = match (&self.command, &self.url) {
            (Some(command), None) => {
                if !self.headers.is_empty() {
                    return Err(
                        "`headers` apply to `url` only; with `command`, use `env`".to_owned()
                    );
                }
                let cwd = self.cwd.as_ref().map(|cwd| fill(&cwd.display().to_string()));
                Reach::Process(Launch {
                    command: fill(command)?,
                    args: self.args.iter().map(fill).collect::<Result<_, _>>()?,
                    env: map(&self.env)?,
                    cwd: cwd.transpose()?.map(|cwd| variables.folder.join(cwd)),
                })
            }
            (None, Some(url)) => {
                if !self.args.is_empty() || !self.env.is_empty() || self.cwd.is_some() {
                    return Err(
                        "`args`, `env` and `cwd` apply to `command` only, not to `url`".to_owned()
                    );
                }
                let url = fill(url)?;
                if !url.starts_with("http://") && !url.starts_with("https://") {
                    return Err("`url` must start with http:// or https://".to_owned());
                }
                Reach::Http { url, headers: map(&self.headers)? }
            }
            (Some(_), Some(_)) => return Err("give `command` or `url`, not both".to_owned()),
            (None, None) => {
                return Err("give `command` (a program) or `url` (an HTTP endpoint)".to_owned());
            }
        };
        let seconds = |given: Option<u64>, usual| Duration::from_secs(given.unwrap_or(usual));
        let server = Server {
            reach,
            protocol: self.protocol,
            startup: seconds(self.startup_seconds, 30),
            max_answer: self.max_answer_bytes.unwrap_or(8 << 20),
            call: Bounds {
                quiet: seconds(self.call_seconds, 30),
                total: seconds(self.call_seconds_at_most, 300),
            },
            tools: self.tool.clone(),
        };
        let mut bounds = server.tools.keys().map(|tool| server.bounds(tool)).collect::<Vec<_>>();
        bounds.push(server.call);
        let any_zero = bounds.iter().any(|bounds| bounds.quiet.is_zero() || bounds.total.is_zero());
        if any_zero || server.startup.is_zero() || server.max_answer == 0 {
            return Err("a limit of 0 allows nothing; omit it to use the default".to_owned());
        }
        if matches!(server.reach, Reach::Http { .. }) && server.max_answer > MAX_OVER_HTTP {
            return Err(format!(
                "`max_answer_bytes` is {}, but answers over HTTP are limited to {MAX_OVER_HTTP} bytes \
                 (16 MiB); lower it, and let the tool answer in pages",
                server.max_answer
            ));
        }
        Ok(server)
    }
}

/// Reads the JSON that other agents keep their servers in: `mcpServers`, `servers` or
/// `context_servers`, each a map of names. Returns the servers, and what was passed over.
///
/// # Errors
/// [`SourceError::Config`] when it is no such JSON, or a server has no usable form.
///
/// ```
/// let (servers, warnings) = eog_mcp_client::pasted_servers(
///     r#"{"mcpServers": {"db": {"command": "db-server", "args": ["--ro"], "disabled": false}}}"#,
///     "mcp.json",
/// )?;
/// assert_eq!(servers["db"].args, ["--ro"]);
/// assert!(warnings.is_empty());
/// # Ok::<(), eog_mcp_client::SourceError>(())
/// ```
pub fn pasted_servers(
    text: &str,
    place: &str,
) -> Result<(BTreeMap<String, ServerConfig>, Vec<String>), SourceError> {
    let value: Value = serde_json::from_str(text)
        .map_err(|error| SourceError::config(place, format!("not valid JSON: {error}")))?;
    let lists = ["mcpServers", "servers", "context_servers"];
    let found: Vec<&Map<String, Value>> =
        lists.iter().filter_map(|name| value.get(name)?.as_object()).collect();
    if found.is_empty() {
        let reason = "expected `mcpServers`, `servers` or `context_servers`, each an object of named servers";
        return Err(SourceError::config(place, reason));
    }
    let (mut servers, mut warnings) = (BTreeMap::new(), Vec::new());
    for (name, server) in found.into_iter().flatten() {
        let at = format!("{place}: server {name}");
        let fields = server.as_object().ok_or_else(|| {
            SourceError::config(&at, "expected an object with `command` or `url`")
        })?;
        if fields.get("disabled") == Some(&Value::Bool(true)) {
            warnings.push(format!("{at} is disabled and was skipped"));
            continue;
        }
        servers.insert(name.clone(), pasted(fields, &at, &mut warnings)?);
    }
    Ok((servers, warnings))
}

fn pasted(
    fields: &Map<String, Value>,
    at: &str,
    warnings: &mut Vec<String>,
) -> Result<ServerConfig, SourceError> {
    let mut config = ServerConfig::default();
    for (name, value) in fields {
        let wrong = |wanted: &str| SourceError::config(at, format!("`{name}` must be {wanted}"));
        let text = || value.as_str().map(str::to_owned).ok_or_else(|| wrong("a string"));
        match name.as_str() {
            "command" => config.command = Some(text()?),
            "args" => {
                config.args =
                    serde_json::from_value(value.clone()).map_err(|_| wrong("a list of strings"))?;
            }
            "env" | "headers" => {
                let values = value.as_object().ok_or_else(|| wrong("an object of strings"))?;
                let values = values.iter().map(|(key, value)| {
                    let value = match value {
                        Value::String(text) => text.clone(),
                        Value::Number(_) | Value::Bool(_) => value.to_string(),
                        Value::Null | Value::Array(_) | Value::Object(_) => {
                            return Err(wrong("an object of strings"));
                        }
                    };
                    Ok((key.clone(), value))
                });
                let values = values.collect::<Result<_, _>>()?;
                if name == "env" {
                    config.env = values;
                } else {
                    config.headers = values;
                }
            }
            "cwd" => config.cwd = Some(text()?.into()),
            "url" | "httpUrl" | "serverUrl" => config.url = Some(text()?),
            "type" | "transport" => match text()?.as_str() {
                "stdio" | "http" | "streamable-http" | "streamableHttp" | "streamable_http" => {}
                other => {
                    let reason = format!(
                        "the transport {other:?} is not supported; use stdio or streamable HTTP"
                    );
                    return Err(SourceError::config(at, reason));
                }
            },
            // Some agents count in milliseconds, some in seconds.
            "timeout" => warnings.push(format!("{at}: `timeout` is ignored, since its unit differs between clients; use `call_seconds`")),
            "disabled" | "autoApprove" | "alwaysAllow" | "trust" | "description" | "name"
            | "enabled" | "icon" => {}
            other => {
                warnings.push(format!("{at}: the unknown field `{}` is ignored", eog_evidence::shorten(other, 40)));
            }
        }
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn variables(text: &str) -> Result<String, String> {
        let environment = |name: &str| (name == "TOKEN").then(|| "t0p".to_owned());
        Variables::of(Path::new("/conf"), &environment).fill(text)
    }

    fn check(config: &ServerConfig) -> Result<Server, String> {
        let environment = |name: &str| (name == "TOKEN").then(|| "t0p".to_owned());
        config.check(&Variables::of(Path::new("/conf"), &environment))
    }

    #[test]
    fn variables_are_filled_in() {
        assert_eq!(variables("Bearer ${TOKEN}!").unwrap(), "Bearer t0p!");
        assert_eq!(variables("${env:TOKEN}").unwrap(), "t0p");
        assert_eq!(variables("${OTHER:-else}/x").unwrap(), "else/x");
        assert_eq!(variables("${CONFIG_DIR}/x.db").unwrap(), "/conf/x.db");
        // A configuration that is named without a folder is in the present one.
        let none = |_: &str| None;
        let here = Variables::of(Path::new(""), &none).fill("${CONFIG_DIR}/x.db").unwrap();
        assert_eq!(Path::new(&here), std::env::current_dir().unwrap().join("x.db"));
        assert!(variables("${OTHER}").unwrap_err().contains("OTHER is not set"));
        assert!(variables("${TOKEN").unwrap_err().contains("unclosed"));
        assert_eq!(variables("$TOKEN {}").unwrap(), "$TOKEN {}");
    }

    #[test]
    fn what_people_paste_is_read() {
        let text = r#"{"mcpServers": {
            "one": {"command": "npx", "args": ["-y", "x"], "env": {"PORT": 80}, "timeout": 60,
                    "autoApprove": []},
            "off": {"command": "y", "disabled": true}},
          "servers": {"two": {"type": "http", "url": "https://x/mcp",
                    "headers": {"Authorization": "Bearer ${TOKEN}"}, "extra": 1}}}"#;
        let (servers, warnings) = pasted_servers(text, "mcp.json").unwrap();
        assert_eq!(servers.keys().collect::<Vec<_>>(), ["one", "two"]);
        assert_eq!(warnings.len(), 3, "{warnings:?}");
        let one = check(&servers["one"]).unwrap();
        let Reach::Process(launch) = one.reach else { panic!("{one:?}") };
        assert_eq!((launch.command.as_str(), launch.env["PORT"].as_str()), ("npx", "80"));
        let two = check(&servers["two"]).unwrap();
        let Reach::Http { headers, .. } = two.reach else { panic!("{two:?}") };
        assert_eq!(headers["Authorization"], "Bearer t0p");
    }

    #[test]
    fn what_cannot_be_used_is_reported() {
        for (text, reason) in [
            ("[", "not valid JSON"),
            ("{}", "expected `mcpServers`, `servers` or"),
            (r#"{"servers": {"a": 1}}"#, "server a: expected an object"),
            (
                r#"{"servers": {"a": {"type": "sse", "url": "http://x"}}}"#,
                "\"sse\" is not supported",
            ),
            (r#"{"servers": {"a": {"args": "x"}}}"#, "`args` must be a list of strings"),
        ] {
            let error = pasted_servers(text, "mcp.json").unwrap_err().to_string();
            assert!(error.contains(reason), "{error}");
        }
        let server = |change: fn(&mut ServerConfig)| {
            let mut config = ServerConfig::default();
            change(&mut config);
            check(&config).unwrap_err()
        };
        assert!(server(|_| {}).contains("give `command`"));
        assert!(
            server(
                |s| (s.url, s.max_answer_bytes) = (Some("http://x".into()), Some((16 << 20) + 1))
            )
            .contains("limited to 16777216 bytes (16 MiB)")
        );
        assert!(server(|s| s.url = Some("ftp://x".into())).contains("must start with http://"));
        assert!(
            server(|s| (s.url, s.command) = (Some("http://x".into()), Some("x".into())))
                .contains("not both")
        );
        assert!(
            server(|s| (s.command, s.call_seconds) = (Some("x".into()), Some(0))).contains("of 0")
        );
    }

    #[test]
    fn a_tool_has_its_own_bounds() {
        let own = ToolConfig { call_seconds: Some(5), read_only: Some(true), ..Default::default() };
        let config = ServerConfig {
            command: Some("x".into()),
            tool: BTreeMap::from([("slow".to_owned(), own)]),
            ..ServerConfig::default()
        };
        let server = check(&config).unwrap();
        assert_eq!(server.bounds("slow").quiet, Duration::from_secs(5));
        assert_eq!(server.bounds("other").quiet, Duration::from_secs(30));
        assert_eq!((server.read_only("slow"), server.read_only("other")), (Some(true), None));
    }
}
