//! `oncall.toml`, checked when it is read.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::Duration;

use eog_mcp::server::Server;
use eog_sources::{SourceConfig, expand};
use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::{Map, Value};

use crate::incident::Pace;
use crate::sign::Secret;
use crate::template::{Body, Form};

/// Longest configuration and template that is read, in bytes.
const MAX_FILE: u64 = 1 << 20;

/// Most hops to a neighbour: in most systems everything is near everything beyond.
const MAX_HOPS: u32 = 4;

/// What the service is to do: the file `oncall.toml`. The fields are described in `docs/on-call.md`.
#[derive(Debug)]
pub struct Config {
    /// The live sources.
    pub(crate) source: SourceConfig,
    pub(crate) settings: Map<String, Value>,
    /// Labels by which alerts are grouped; by default what Alertmanager groups.
    pub(crate) group_by: Option<Vec<String>>,
    pub(crate) neighbours: Neighbours,
    pub(crate) sns: Sns,
    pub(crate) pace: Pace,
    /// Most investigations at once.
    pub(crate) at_once: usize,
    pub(crate) limits: Limits,
    pub(crate) keep: Keep,
    /// Where people find the pages, without a slash at the end.
    pub(crate) page_url: Option<String>,
    pub(crate) webhooks: Vec<Webhook>,
}

/// What is wrong with a configuration, and where.
#[derive(Debug, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct ConfigError {
    place: String,
    reason: String,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct File {
    source: PathBuf,
    page_url: Option<String>,
    group_by: Option<Vec<String>>,
    #[serde(default)]
    neighbours: Neighbours,
    #[serde(default)]
    sns: Sns,
    #[serde(default)]
    pace: FilePace,
    #[serde(default = "two")]
    at_once: usize,
    #[serde(default)]
    limits: Limits,
    #[serde(default)]
    keep: Keep,
    #[serde(default)]
    investigation: Investigation,
    #[serde(default)]
    webhook: Vec<FileWebhook>,
}

fn two() -> usize {
    2
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct FilePace {
    settle: SignedDuration,
    pause: SignedDuration,
    quiet: SignedDuration,
    watch: SignedDuration,
}

impl Default for FilePace {
    fn default() -> Self {
        Self {
            settle: SignedDuration::from_secs(2),
            pause: SignedDuration::from_secs(60),
            quiet: SignedDuration::from_mins(10),
            watch: SignedDuration::from_mins(5),
        }
    }
}

/// Which groups of alerts are one incident by the topology.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Neighbours {
    /// Most edges between what their alerts are about; none: groups stay apart.
    pub(crate) hops: u32,
    /// Most time between the beginnings of their alerts.
    pub(crate) window: SignedDuration,
}

impl Default for Neighbours {
    fn default() -> Self {
        Self { hops: 2, window: SignedDuration::from_mins(10) }
    }
}

/// Which messages of SNS are taken in.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Sns {
    /// Whether their signatures are verified.
    pub(crate) verify: bool,
    /// The topics that may send; empty: all.
    pub(crate) topics: Vec<String>,
}

impl Default for Sns {
    fn default() -> Self {
        Self { verify: true, topics: Vec::new() }
    }
}

/// How much is taken on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    /// Most alerts that an incident keeps.
    pub(crate) alerts: usize,
    /// Most incidents that are open.
    pub(crate) incidents: usize,
    /// Most alerts of all open incidents.
    pub(crate) all_alerts: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self { alerts: 1_000, incidents: 1_000, all_alerts: 20_000 }
    }
}

/// How long what is over is kept.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Keep {
    /// Since when it was closed, or given up.
    pub(crate) age: SignedDuration,
    /// Most bytes of captures.
    pub(crate) bytes: u64,
    /// Most incidents.
    pub(crate) incidents: usize,
}

impl Default for Keep {
    fn default() -> Self {
        Self { age: SignedDuration::from_hours(24 * 30), bytes: 10_000_000_000, incidents: 1_000 }
    }
}

/// The arguments of each investigation.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Investigation {
    controller: Option<String>,
    profile: Option<String>,
    budget: Option<std::num::NonZeroU32>,
    seconds: Option<std::num::NonZeroU32>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FileWebhook {
    name: String,
    url: String,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    secret: Option<String>,
    #[serde(default)]
    format: Form,
    template: Option<PathBuf>,
    ca_file: Option<PathBuf>,
    timeout: Option<SignedDuration>,
    attempts: Option<u32>,
    first_delay: Option<SignedDuration>,
}

/// A receiver of messages.
#[derive(Debug)]
pub(crate) struct Webhook {
    pub(crate) name: String,
    pub(crate) client: reqwest::Client,
    pub(crate) url: reqwest::Url,
    pub(crate) secret: Option<Secret>,
    pub(crate) body: Body,
    pub(crate) timeout: Duration,
    /// How often a message is tried before it is given up.
    pub(crate) attempts: u32,
    /// How long until the second try; each further time twice as long.
    pub(crate) first_delay: SignedDuration,
}

impl Config {
    /// Whether a text is such a configuration, by its fields. Whether it can be used is another question.
    pub fn is_one(text: &str) -> bool {
        let table: Option<toml::Table> = toml::from_str(text).ok();
        table.is_some_and(|table| table.contains_key("source"))
    }

    /// Reads a configuration with all that it names: sources, templates, secrets of the environment.
    ///
    /// # Errors
    /// [`ConfigError`] that names the file, the place and the reason.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let place = file.display().to_string();
        let wrong = |reason: String| ConfigError { place: place.clone(), reason };
        let text = text_of(file).map_err(wrong)?;
        let read: File =
            toml::from_str(&text).map_err(|error| wrong(error.to_string().trim().to_owned()))?;
        let folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        let source = SourceConfig::read(&folder.join(&read.source))
            .map_err(|error| wrong(format!("source: {error}")))?;
        let FilePace { settle, pause, quiet, watch } = read.pace;
        let all = [
            ("pace.settle", settle),
            ("pace.pause", pause),
            ("pace.quiet", quiet),
            ("pace.watch", watch),
            ("neighbours.window", read.neighbours.window),
        ];
        for (name, time) in all {
            if time.is_negative() || time > SignedDuration::from_hours(24) {
                return Err(wrong(format!("{name}: give a time from 0s to 24h")));
            }
        }
        if read.neighbours.hops > MAX_HOPS {
            return Err(wrong(format!("neighbours.hops: give a number from 0 to {MAX_HOPS}")));
        }
        let Limits { alerts, incidents, all_alerts } = read.limits;
        for (name, number, most) in [
            ("at_once", read.at_once, 64),
            ("limits.alerts", alerts, 10_000),
            ("limits.incidents", incidents, 10_000),
            ("limits.all_alerts", all_alerts, 1_000_000),
            ("keep.incidents", read.keep.incidents, 100_000),
        ] {
            if !(1..=most).contains(&number) {
                return Err(wrong(format!("{name}: give a number from 1 to {most}")));
            }
        }
        let page_url = read.page_url.as_deref().map(page).transpose().map_err(&wrong)?;
        let mut webhooks: Vec<Webhook> = Vec::new();
        for given in read.webhook {
            let name = eog_evidence::shorten(&given.name, 60);
            let of = |reason: String| wrong(format!("[[webhook]] {name:?}: {reason}"));
            if webhooks.iter().any(|other| other.name == given.name) {
                return Err(of("another one has this name".to_owned()));
            }
            webhooks.push(webhook(given, &folder).map_err(of)?);
        }
        let settings = settings(&read.investigation);
        Server::check_settings(&settings)
            .map_err(|reason| wrong(format!("[investigation]: {reason}")))?;
        Ok(Self {
            source,
            settings,
            group_by: read.group_by,
            neighbours: read.neighbours,
            sns: read.sns,
            pace: Pace { settle, pause, quiet, watch },
            at_once: read.at_once,
            limits: read.limits,
            keep: read.keep,
            page_url,
            webhooks,
        })
    }

    /// In one line, for people.
    pub fn in_words(&self) -> String {
        format!("a service on call: {}", self.to_do())
    }

    /// Its sources and receivers, in one line.
    pub fn to_do(&self) -> String {
        let sources = self.source.sources().join(", ");
        let receivers = match self.webhooks.as_slice() {
            [] => "no webhooks".to_owned(),
            some => {
                let names: Vec<&str> = some.iter().map(|it| it.name.as_str()).collect();
                format!("posts to {}", names.join(", "))
            }
        };
        format!("queries {sources}; {receivers}")
    }
}

fn settings(given: &Investigation) -> Map<String, Value> {
    let Investigation { controller, profile, budget, seconds } = given;
    let texts = [("controller", controller), ("profile", profile)];
    let texts = texts.into_iter().filter_map(|(name, it)| Some((name, it.clone()?.into())));
    let numbers = [("budget", budget), ("seconds", seconds)];
    let numbers =
        numbers.into_iter().filter_map(|(name, it)| Some((name, it.as_ref()?.get().into())));
    texts.chain(numbers).map(|(name, value)| (name.to_owned(), value)).collect()
}

fn page(url: &str) -> Result<String, String> {
    let url = address("page_url", url)?;
    Ok(url.as_str().trim_end_matches('/').to_owned())
}

fn webhook(given: FileWebhook, folder: &Path) -> Result<Webhook, String> {
    let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    if given.name.is_empty() || given.name.len() > 40 || !given.name.chars().all(is_plain) {
        return Err("name: 1 to 40 characters of a-z, 0-9 and `-`".to_owned());
    }
    let filled = |place: &str, text: &str| expand(place, text).map_err(|error| error.to_string());
    let url = address("url", &filled("url", &given.url)?)?;
    let mut headers = reqwest::header::HeaderMap::new();
    for (name, value) in &given.headers {
        let key = reqwest::header::HeaderName::try_from(name)
            .map_err(|_| format!("header {name:?}: not a valid header name"))?;
        let value = filled(&format!("header {name:?}"), value)?;
        let mut value = reqwest::header::HeaderValue::try_from(value)
            .map_err(|_| format!("header {name:?}: its value holds a control character"))?;
        value.set_sensitive(true);
        headers.insert(key, value);
    }
    let secret = match &given.secret {
        Some(text) => Some(
            Secret::read(&filled("secret", text)?).map_err(|reason| format!("secret: {reason}"))?,
        ),
        None => None,
    };
    let template = match &given.template {
        Some(file) => {
            let file = folder.join(file);
            let text = text_of(&file).map_err(|reason| format!("{}: {reason}", file.display()))?;
            Some((text, file.display().to_string()))
        }
        None => None,
    };
    let template = template.as_ref().map(|(text, place)| (text.as_str(), place.as_str()));
    let body = Body::new(given.format, template)?;
    let bounded = |name: &str, time: SignedDuration, most: i64| {
        let good = time > SignedDuration::ZERO && time <= SignedDuration::from_secs(most);
        if good { Ok(time) } else { Err(format!("{name}: give a time up to {most} s")) }
    };
    let timeout = given.timeout.unwrap_or(SignedDuration::from_secs(10));
    let timeout = bounded("timeout", timeout, 300)?.unsigned_abs();
    let first_delay = given.first_delay.unwrap_or(SignedDuration::from_secs(1));
    let first_delay = bounded("first_delay", first_delay, 3_600)?;
    let attempts = given.attempts.unwrap_or(12);
    if !(1..=100).contains(&attempts) {
        return Err("attempts: give a number from 1 to 100".to_owned());
    }
    // Fails if the program has chosen one already, which is as good.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut client = reqwest::Client::builder()
        .timeout(timeout)
        .user_agent(concat!("eog/", env!("CARGO_PKG_VERSION")))
        .redirect(reqwest::redirect::Policy::none())
        .default_headers(headers);
    if let Some(file) = &given.ca_file {
        let file = folder.join(file);
        let place = |reason: String| format!("ca_file: {}: {reason}", file.display());
        let pem = text_of(&file).map_err(&place)?;
        let certificate = reqwest::Certificate::from_pem(pem.as_bytes());
        client = client.add_root_certificate(certificate.map_err(|it| place(it.to_string()))?);
    }
    let client = client.build().map_err(|error| format!("no HTTP client: {error}"))?;
    Ok(Webhook { name: given.name, client, url, secret, body, timeout, attempts, first_delay })
}

/// An address, which is not repeated where it is wrong: it may hold a secret.
fn address(name: &str, text: &str) -> Result<reqwest::Url, String> {
    let url = reqwest::Url::parse(text)
        .map_err(|error| format!("{name} is not a valid address: {error}"))?;
    match url.scheme() {
        "http" | "https" if url.has_host() => Ok(url),
        _ => Err(format!("{name} must begin with http:// or https://")),
    }
}

fn text_of(file: &Path) -> Result<String, String> {
    let size = file.metadata().map_err(|error| why(&error))?.len();
    if size > MAX_FILE {
        return Err(format!("longer than {MAX_FILE} bytes"));
    }
    std::fs::read_to_string(file).map_err(|error| error.to_string())
}

/// Why a file cannot be read.
fn why(error: &std::io::Error) -> String {
    match error.kind() {
        std::io::ErrorKind::NotFound => "there is no such file".to_owned(),
        _ => error.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Config, String> {
        let folder = tempfile::tempdir().unwrap();
        let at = folder.path();
        std::fs::write(at.join("source.toml"), "[prometheus]\nurl = 'http://localhost:1'\n")
            .unwrap();
        std::fs::write(at.join("bad.hbs"), "{{incident.titel}}").unwrap();
        std::fs::write(at.join("good.hbs"), r#"{"text": "{{incident.title}}"}"#).unwrap();
        std::fs::write(at.join("oncall.toml"), text).unwrap();
        Config::read(&at.join("oncall.toml")).map_err(|error| error.to_string())
    }

    const HOOK: &str = "source = 'source.toml'\n[[webhook]]\nname = 'a'\nurl = 'http://b/c'\n";

    #[test]
    fn what_is_left_out_has_usual_values() {
        let config = read(HOOK).unwrap();
        assert_eq!((config.at_once, config.webhooks[0].attempts), (2, 12));
        assert_eq!(config.in_words(), "a service on call: queries prometheus; posts to a");
        let text = format!("{HOOK}format = 'slack'\ntemplate = 'good.hbs'\n");
        assert!(read(&text).is_ok());
    }

    #[test]
    fn mistakes_are_reported_with_their_place() {
        for (text, expected) in [
            ("source = 'absent.toml'\n".to_owned(), "source: "),
            (format!("at_once = 0\n{HOOK}"), "at_once: give a number"),
            (format!("colour = 1\n{HOOK}"), "line 1"),
            (format!("{HOOK}[investigation]\ncontroller = 'magic'\n"), "[investigation]: "),
            (HOOK.replace("http://b", "ftp://hunter2"), "url must begin"),
            (HOOK.replace("'a'", "'A b'"), "name: "),
            (format!("{HOOK}secret = 'short'\n"), "secret: a secret of 5 bytes"),
            (format!("{HOOK}secret = '${{EOG_ABSENT}}'\n"), "EOG_ABSENT is not set"),
            (format!("{HOOK}format = 'slack'\ntemplate = 'bad.hbs'\n"), "titel"),
            (format!("{HOOK}[[webhook]]\nname = 'a'\nurl = 'http://b'\n"), "has this name"),
        ] {
            let error = read(&text).unwrap_err();
            assert!(error.contains(expected) && error.contains("oncall.toml"), "{error}");
            assert!(!error.contains("hunter2"), "{error}");
        }
    }
}
