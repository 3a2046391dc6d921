//! The configuration of live sources, `source.toml`, checked when it is read.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use eog_core::evidence::Signal;
use eog_evidence::ManifestTopology;
use jiff::SignedDuration;
use serde::Deserialize;

use crate::error::ConfigError;
use crate::log_stores::Store;
use crate::receiver::Received;

/// Longest configuration that is read, in bytes.
const MAX_CONFIG: u64 = 1 << 20;

/// The tables of which a file must have one to be a configuration of live sources.
const TABLES: [&str; 9] = [
    "prometheus",
    "alertmanager",
    "kubernetes",
    "otlp",
    "jaeger",
    "tempo",
    "loki",
    "elasticsearch",
    "victorialogs",
];

/// Which live sources there are, and how they are asked: the file `source.toml`. The fields are described
/// in `docs/live-sources.md`.
///
/// ```
/// use eog_sources::SourceConfig;
/// let text = "name = 'shop'\n[prometheus]\nurl = 'http://localhost:9090'\n";
/// let config = SourceConfig::parse(text, "source.toml".as_ref())?;
/// assert_eq!(config.name(), "shop");
/// # Ok::<(), eog_sources::ConfigError>(())
/// ```
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct SourceConfig {
    pub(crate) name: String,
    /// How much is captured before the window, or up to now where there is none.
    pub(crate) history: SignedDuration,
    pub(crate) prometheus: Option<Prometheus>,
    pub(crate) alertmanager: Option<Alertmanager>,
    pub(crate) kubernetes: Option<Kubernetes>,
    pub(crate) otlp: Option<Otlp>,
    pub(crate) jaeger: Option<Jaeger>,
    pub(crate) tempo: Option<Tempo>,
    pub(crate) loki: Option<LogStore>,
    /// Elasticsearch, and OpenSearch, which has the same interface.
    pub(crate) elasticsearch: Option<LogStore>,
    pub(crate) victorialogs: Option<LogStore>,
    pub(crate) topology: ManifestTopology,
    /// Files with recorded changes, each a list as `changes.json` has it, or one change a line.
    pub(crate) changes: Vec<PathBuf>,
    pub(crate) ignore_alerts: Vec<String>,
    pub(crate) limits: Limits,
    /// What a receiver holds, where one runs.
    #[serde(skip)]
    pub(crate) received: Option<Received>,
    /// Where relative paths begin.
    #[serde(skip)]
    pub(crate) folder: PathBuf,
    /// The text as it is in the file, without what variables stand for.
    #[serde(skip)]
    pub(crate) text: String,
}

impl Default for SourceConfig {
    fn default() -> Self {
        Self {
            name: "live".to_owned(),
            history: SignedDuration::from_hours(2),
            prometheus: None,
            alertmanager: None,
            kubernetes: None,
            otlp: None,
            jaeger: None,
            tempo: None,
            loki: None,
            elasticsearch: None,
            victorialogs: None,
            topology: ManifestTopology::default(),
            changes: Vec::new(),
            ignore_alerts: Vec::new(),
            limits: Limits::default(),
            received: None,
            folder: PathBuf::new(),
            text: String::new(),
        }
    }
}

/// What it takes to ask an HTTP interface.
pub(crate) struct Endpoint<'a> {
    pub(crate) url: &'a str,
    pub(crate) headers: &'a BTreeMap<String, String>,
    pub(crate) ca_file: Option<&'a Path>,
    pub(crate) timeout: Duration,
    pub(crate) max_bytes: usize,
}

/// A table of the file: each field with its default. One with an endpoint has the fields of an HTTP interface first;
/// named are the defaults of its timeout in seconds and of its longest answer in MiB.
macro_rules! table {
    ($(#[$doc:meta])* $name:ident { $($(#[$about:meta])* $field:ident: $type:ty = $value:expr,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Debug, Deserialize)]
        #[serde(deny_unknown_fields, default)]
        pub(crate) struct $name {
            $($(#[$about])* pub(crate) $field: $type,)*
        }

        impl Default for $name {
            fn default() -> Self {
                Self { $($field: $value,)* }
            }
        }
    };
    ($(#[$doc:meta])* $name:ident at endpoint($timeout:literal, $mib:literal) { $($fields:tt)* }) => {
        table! {
            $(#[$doc])*
            $name {
                url: String = String::new(),
                headers: BTreeMap<String, String> = BTreeMap::new(),
                ca_file: Option<PathBuf> = None,
                timeout: SignedDuration = SignedDuration::from_secs($timeout),
                max_bytes: usize = $mib << 20,
                $($fields)*
            }
        }

        impl $name {
            pub(crate) fn endpoint(&self) -> Endpoint<'_> {
                Endpoint {
                    url: &self.url,
                    headers: &self.headers,
                    ca_file: self.ca_file.as_deref(),
                    timeout: self.timeout.unsigned_abs(),
                    max_bytes: self.max_bytes,
                }
            }

            /// Replaces `${NAME}` by what the environment says, and finds the certificate from a folder.
            fn fill(&mut self, part: &str, folder: &Path) -> Result<(), ConfigError> {
                self.url = expand(&format!("[{part}] url"), &self.url)?;
                for (name, value) in &mut self.headers {
                    *value = expand(&format!("[{part}] headers.{name}"), value)?;
                }
                self.ca_file = self.ca_file.take().map(|file| folder.join(file));
                Ok(())
            }
        }
    };
}

table! {
    /// Bounds of a whole capture.
    Limits {
        /// When nothing more is asked.
        total: SignedDuration = SignedDuration::from_mins(5),
        /// Most questions at once.
        concurrency: usize = 4,
        /// Most series in all.
        series: usize = 20_000,
        /// Most points in all.
        points: usize = 2_000_000,
        /// Spans of a source after which nothing more is asked.
        spans: usize = 300_000,
    }
}

table! {
    /// `[prometheus]`: Prometheus, or what has its interface (Thanos, Mimir, VictoriaMetrics).
    Prometheus at endpoint(30, 32) {
        /// Distance between points; by default the scrape interval, or more for a long range.
        step: Option<SignedDuration> = None,
        /// How often targets are scraped; by default measured on `up`.
        scrape_interval: Option<SignedDuration> = None,
        /// Most points of a series in one answer: Prometheus refuses more than 11,000.
        max_points: u32 = 11_000,
        /// Most series of one question.
        max_series: usize = 5_000,
        /// Labels that name a service, best first.
        entity_labels: Vec<String> = eog_sre::subject::SERVICE_LABELS.map(str::to_owned).to_vec(),
        /// Whether metrics of known names are searched for.
        conventions: bool = true,
        /// Label matchers that all questions by convention have, such as `cluster="eu"`.
        matchers: Vec<String> = Vec::new(),
        series: Vec<OwnSeries> = Vec::new(),
    }
}

/// A question of one's own.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct OwnSeries {
    /// What the series is called.
    pub(crate) metric: String,
    /// PromQL. Each series that it gives must have a label that names its entity.
    pub(crate) query: String,
    pub(crate) signal: Signal,
    #[serde(default)]
    pub(crate) unit: String,
}

table! {
    /// `[alertmanager]`: Alertmanager, by version 2 of its interface.
    Alertmanager at endpoint(10, 16) {
        /// Matchers as `amtool` has them; only alerts that match all are used.
        filter: Vec<String> = Vec::new(),
    }
}

table! {
    /// `[kubernetes]`: the API of a cluster.
    Kubernetes {
        /// By default what `KUBECONFIG` names, `~/.kube/config`, or the service account within a cluster.
        kubeconfig: Option<PathBuf> = None,
        /// A context of the kubeconfig; by default its current one.
        context: Option<String> = None,
        /// By default all.
        namespaces: Vec<String> = Vec::new(),
        /// Whether machines are listed; that takes a right in the whole cluster.
        nodes: bool = true,
        /// Whether metadata of Secrets is listed, which shows when they were written.
        secrets: bool = false,
        timeout: SignedDuration = SignedDuration::from_secs(30),
        max_bytes: usize = 16 << 20,
        /// Objects in one answer.
        page: u32 = 500,
        /// Most objects in all.
        max_objects: usize = 20_000,
    }
}

table! {
    /// `[otlp]`: what is received by OTLP, and files of the OpenTelemetry collector's file exporter.
    Otlp {
        /// Files, or folders whose `.json` and `.jsonl` files are read.
        files: Vec<PathBuf> = Vec::new(),
        max_spans: usize = 200_000,
        max_logs: usize = 200_000,
        /// Where it is listened, by `eog serve --on-call`.
        listen: Vec<SocketAddr> = Vec::new(),
        /// How long what was received is held.
        window: SignedDuration = SignedDuration::from_hours(2),
        /// How much of it is held, in bytes.
        window_bytes: usize = 256 << 20,
        /// Most bytes of a request, as sent and decompressed.
        max_body: usize = 4 << 20,
        /// What senders must send as `Authorization: Bearer`; empty for none.
        token: String = String::new(),
    }
}

table! {
    /// `[jaeger]`: Jaeger's query interface.
    Jaeger at endpoint(30, 32) {
        /// By default all that Jaeger knows.
        services: Vec<String> = Vec::new(),
        /// Most traces of a service in each of the parts that the time is cut into.
        traces: usize = 100,
        /// How many parts.
        parts: u32 = 12,
    }
}

table! {
    /// `[tempo]`: Tempo's query interface.
    Tempo at endpoint(30, 32) {
        /// TraceQL; only traces that match are asked for.
        query: String = "{}".to_owned(),
        /// Most traces in each of the parts that the time is cut into.
        traces: usize = 20,
        /// How many parts.
        parts: u32 = 12,
    }
}

table! {
    /// `[loki]`, `[elasticsearch]` and `[victorialogs]`: a store of log lines.
    LogStore at endpoint(30, 32) {
        /// LogQL, Lucene's syntax or LogsQL; by default all lines.
        query: Option<String> = None,
        /// The indices of Elasticsearch.
        index: String = "logs-*,filebeat-*,logstash-*".to_owned(),
        /// Most lines in each of the parts that the time is cut into.
        lines: usize = 5_000,
        /// How many parts.
        parts: u32 = 24,
    }
}

impl LogStore {
    /// What is asked for.
    pub(crate) fn query_of(&self, store: Store) -> String {
        let all = match store {
            // Loki needs one label that is there.
            Store::Loki => "{service_name=~\".+\"}",
            Store::Elasticsearch | Store::VictoriaLogs => "*",
        };
        self.query.clone().unwrap_or_else(|| all.to_owned())
    }
}

impl SourceConfig {
    /// Whether a text is the configuration of live sources, by its tables. Whether it can be used is
    /// another question.
    pub fn is_one(text: &str) -> bool {
        let table: Option<toml::Table> = toml::from_str(text).ok();
        table.is_some_and(|table| TABLES.iter().any(|name| table.contains_key(*name)))
    }

    /// Reads a configuration.
    ///
    /// # Errors
    /// [`ConfigError`] that names the file, the place and the reason.
    pub fn read(file: &Path) -> Result<Self, ConfigError> {
        let place = file.display().to_string();
        let wrong = |reason: String| ConfigError::new(&place, reason);
        let size = file.metadata().map_err(|error| wrong(error.to_string()))?.len();
        if size > MAX_CONFIG {
            return Err(wrong(format!("longer than {MAX_CONFIG} bytes")));
        }
        let text = std::fs::read_to_string(file).map_err(|error| wrong(error.to_string()))?;
        Self::parse(&text, file)
    }

    /// The same from a text; `file` names it, and its folder is where relative paths begin.
    ///
    /// # Errors
    /// As for [`SourceConfig::read`].
    pub fn parse(text: &str, file: &Path) -> Result<Self, ConfigError> {
        let place = file.display().to_string();
        let mut config: Self = toml::from_str(text)
            .map_err(|error| ConfigError::new(&place, error.to_string().trim().to_owned()))?;
        config.folder = file.parent().map(Path::to_path_buf).unwrap_or_default();
        text.clone_into(&mut config.text);
        config.fill().and_then(|()| config.check()).map_err(|error| error.within(&place))?;
        Ok(config)
    }

    /// What the incident is called.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The configured sources, by the names of their tables.
    pub fn sources(&self) -> Vec<&'static str> {
        let is_there = [
            self.prometheus.is_some(),
            self.alertmanager.is_some(),
            self.kubernetes.is_some(),
            self.otlp.is_some(),
            self.jaeger.is_some(),
            self.tempo.is_some(),
            self.loki.is_some(),
            self.elasticsearch.is_some(),
            self.victorialogs.is_some(),
        ];
        TABLES.into_iter().zip(is_there).filter(|(_, there)| *there).map(|(name, _)| name).collect()
    }

    /// The stores of log lines.
    pub(crate) fn log_stores(&self) -> impl Iterator<Item = (Store, &LogStore)> {
        let all = [
            (Store::Loki, &self.loki),
            (Store::Elasticsearch, &self.elasticsearch),
            (Store::VictoriaLogs, &self.victorialogs),
        ];
        all.into_iter().filter_map(|(store, config)| Some((store, config.as_ref()?)))
    }

    /// The labels that name a service, best first: what does so in Prometheus does so in the alerts that it sends.
    pub(crate) fn service_labels(&self) -> Vec<String> {
        let labels = self.prometheus.as_ref().map(|it| it.entity_labels.clone());
        labels.unwrap_or_else(|| Prometheus::default().entity_labels)
    }

    /// The same sources for an incident of another name.
    #[must_use]
    pub fn called(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same sources, with what a receiver holds.
    #[must_use]
    pub fn receiving(mut self, received: Received) -> Self {
        self.received = Some(received);
        self
    }

    /// A path of the configuration.
    pub(crate) fn path(&self, path: &Path) -> PathBuf {
        self.folder.join(path)
    }

    /// Replaces `${NAME}` by what the environment says.
    fn fill(&mut self) -> Result<(), ConfigError> {
        let folder = self.folder.clone();
        if let Some(it) = &mut self.prometheus {
            it.fill("prometheus", &folder)?;
        }
        if let Some(it) = &mut self.alertmanager {
            it.fill("alertmanager", &folder)?;
        }
        if let Some(it) = &mut self.otlp {
            it.token = expand("[otlp] token", &it.token)?;
        }
        if let Some(it) = &mut self.kubernetes
            && let Some(file) = &mut it.kubeconfig
        {
            let text = file.to_string_lossy().into_owned();
            *file = folder.join(expand("[kubernetes] kubeconfig", &text)?);
        }
        if let Some(it) = &mut self.jaeger {
            it.fill("jaeger", &folder)?;
        }
        if let Some(it) = &mut self.tempo {
            it.fill("tempo", &folder)?;
        }
        let stores = [
            ("loki", &mut self.loki),
            ("elasticsearch", &mut self.elasticsearch),
            ("victorialogs", &mut self.victorialogs),
        ];
        for (name, store) in stores {
            store.as_mut().map_or(Ok(()), |it| it.fill(name, &folder))?;
        }
        Ok(())
    }

    fn check(&self) -> Result<(), ConfigError> {
        let wrong = |place: &str, reason: String| Err(ConfigError::new(place, reason));
        if self.sources().is_empty() {
            let names = TABLES.map(|name| format!("[{name}]")).join(", ");
            return wrong("sources", format!("there is none; add one of {names}"));
        }
        let is_name = !self.name.is_empty()
            && self.name.len() <= 100
            && !self.name.contains(['/', '\\'])
            && !self.name.starts_with('.')
            && !self.name.chars().any(char::is_control);
        if !is_name {
            let reason = "must be a plain name of 1 to 100 bytes, without / and no dot in front";
            return wrong("name", reason.to_owned());
        }
        let positive = |place: &str, time: &SignedDuration| match *time > SignedDuration::ZERO {
            true => Ok(()),
            false => Err(ConfigError::new(place, "must be longer than nothing, such as \"30s\"")),
        };
        positive("history", &self.history)?;
        positive("limits.total", &self.limits.total)?;
        let limits = [
            ("limits.concurrency", self.limits.concurrency),
            ("limits.series", self.limits.series),
            ("limits.points", self.limits.points),
            ("limits.spans", self.limits.spans),
        ];
        for (place, limit) in limits {
            if limit == 0 {
                return wrong(place, "must be at least 1".to_owned());
            }
        }
        if let Some(it) = &self.prometheus {
            positive("[prometheus] timeout", &it.timeout)?;
            for (place, time) in [("step", &it.step), ("scrape_interval", &it.scrape_interval)] {
                if let Some(time) = time {
                    positive(&format!("[prometheus] {place}"), time)?;
                    if *time < SignedDuration::from_secs(1) {
                        return wrong(place, "must be at least 1 s".to_owned());
                    }
                }
            }
            if it.max_points < 10 || it.max_series == 0 || it.max_bytes < 1024 {
                let reason = "max_points must be at least 10, max_series 1, max_bytes 1024";
                return wrong("[prometheus]", reason.to_owned());
            }
            if it.entity_labels.is_empty() {
                return wrong("[prometheus] entity_labels", "name at least one label".to_owned());
            }
            for label in &it.entity_labels {
                if !is_label(label) {
                    let reason = format!("{label:?} is no name of a label");
                    return wrong("[prometheus] entity_labels", reason);
                }
            }
            if !it.conventions && it.series.is_empty() {
                let reason = "with conventions = false, [[prometheus.series]] must say what to ask";
                return wrong("[prometheus]", reason.to_owned());
            }
        }
        if let Some(it) = &self.alertmanager {
            positive("[alertmanager] timeout", &it.timeout)?;
        }
        if let Some(it) = &self.kubernetes {
            positive("[kubernetes] timeout", &it.timeout)?;
            if it.page == 0 || it.max_objects == 0 || it.max_bytes < 1024 {
                let reason = "page and max_objects must be at least 1, max_bytes 1024";
                return wrong("[kubernetes]", reason.to_owned());
            }
            for name in &it.namespaces {
                let is_name = (1..=63).contains(&name.len())
                    && name.bytes().all(|c| matches!(c, b'a'..=b'z' | b'0'..=b'9' | b'-'));
                if !is_name {
                    let reason = format!("{name:?} is no name of a namespace");
                    return wrong("[kubernetes] namespaces", reason);
                }
            }
        }
        for (store, it) in self.log_stores() {
            let name = store.name();
            positive(&format!("[{name}] timeout"), &it.timeout)?;
            if it.parts == 0 || !(1..=10_000).contains(&it.lines) {
                let reason = "parts must be at least 1, lines from 1 to 10000";
                return wrong(&format!("[{name}]"), reason.to_owned());
            }
            let is_index = |c: char| c.is_ascii_alphanumeric() || "-_.*,".contains(c);
            if it.index.is_empty() || !it.index.chars().all(is_index) {
                let reason = "must be names of indices, such as \"logs-*\"";
                return wrong(&format!("[{name}] index"), reason.to_owned());
            }
        }
        if let Some(it) = &self.jaeger {
            positive("[jaeger] timeout", &it.timeout)?;
            if it.parts == 0 || it.traces == 0 {
                return wrong("[jaeger]", "parts and traces must be at least 1".to_owned());
            }
        }
        if let Some(it) = &self.otlp {
            if it.files.is_empty() && it.listen.is_empty() {
                let reason =
                    "name at least one file or folder, or an address to listen on (listen)";
                return wrong("[otlp] files", reason.to_owned());
            }
            positive("[otlp] window", &it.window)?;
            if it.window_bytes < 1 << 20 || it.max_body < 1024 {
                let reason = "window_bytes must be at least 1048576, max_body 1024";
                return wrong("[otlp]", reason.to_owned());
            }
            let open = it.listen.iter().find(|address| !address.ip().is_loopback());
            if let Some(address) = open
                && it.token.is_empty()
            {
                let reason = format!(
                    "other machines reach {address}: set token, such as \"${{OTLP_TOKEN}}\", or listen on 127.0.0.1"
                );
                return wrong("[otlp] listen", reason);
            }
            if !it.token.is_empty() && it.token.len() < 16 {
                return wrong("[otlp] token", "must have at least 16 characters".to_owned());
            }
        }
        if let Some(it) = &self.tempo {
            positive("[tempo] timeout", &it.timeout)?;
            if it.parts == 0 || it.traces == 0 {
                return wrong("[tempo]", "parts and traces must be at least 1".to_owned());
            }
        }
        // So that an address is checked before anything is asked.
        let endpoints = [
            ("prometheus", self.prometheus.as_ref().map(Prometheus::endpoint)),
            ("alertmanager", self.alertmanager.as_ref().map(Alertmanager::endpoint)),
            ("jaeger", self.jaeger.as_ref().map(Jaeger::endpoint)),
            ("tempo", self.tempo.as_ref().map(Tempo::endpoint)),
        ];
        for (part, endpoint) in endpoints {
            endpoint.map(|it| crate::http::Http::new(part, &it)).transpose()?;
        }
        Ok(())
    }
}

/// Whether a text is the name of a label of Prometheus.
fn is_label(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// A text in which `${NAME}` and `${NAME:-default}` are replaced by the environment's.
pub fn expand(place: &str, text: &str) -> Result<String, ConfigError> {
    let wrong = |reason: String| ConfigError::new(place, reason);
    let (mut done, mut rest) = (String::new(), text);
    while let Some((before, after)) = rest.split_once("${") {
        done.push_str(before);
        let (hole, behind) =
            after.split_once('}').ok_or_else(|| wrong("a ${ without a }".to_owned()))?;
        let (name, default) = match hole.split_once(":-") {
            Some((name, default)) => (name, Some(default)),
            None => (hole, None),
        };
        match (std::env::var(name), default) {
            (Ok(value), _) if !value.is_empty() => done.push_str(value.trim()),
            (_, Some(default)) => done.push_str(default),
            _ => return Err(wrong(format!("the environment variable {name} is not set"))),
        }
        rest = behind;
    }
    done.push_str(rest);
    Ok(done)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<SourceConfig, String> {
        SourceConfig::parse(text, "source.toml".as_ref()).map_err(|error| error.to_string())
    }

    #[test]
    fn mistakes_are_reported_with_place_and_reason() {
        let cases = [
            ("", "source.toml: sources: there is none; add one of [prometheus]"),
            ("[prometheus]\nurl = 'localhost:9090'", "[prometheus]: url must begin with http://"),
            ("[prometheus]\nurl = ''", "[prometheus]: url"),
            ("[prometheus]\nadress = 'x'", "unknown field `adress`"),
            ("history = 'soon'\n[prometheus]\nurl='http://h'", "line 1, column 11"),
            ("[prometheus]\nurl = '${EOG_NO_SUCH_VARIABLE}'", "EOG_NO_SUCH_VARIABLE is not set"),
            ("name='a/b'\n[prometheus]\nurl='http://h'", "name: must be a plain name"),
            ("[prometheus]\nurl='http://h'\ntimeout='0s'", "[prometheus] timeout: must be longer"),
            ("[prometheus]\nurl='http://h'\nentity_labels=['a b']", "\"a b\" is no name"),
            ("[prometheus]\nurl='http://h'\nheaders={'a b'='c'}", "header \"a b\": this is no"),
            ("[otlp]\n", "[otlp] files: name at least one"),
        ];
        for (text, expected) in cases {
            let error = parse(text).expect_err(text);
            assert!(error.contains(expected), "{text}\n{error}");
        }
    }

    #[test]
    fn variables_have_defaults() {
        assert_eq!(expand("x", "a${EOG_NO_SUCH_VARIABLE:-b}c").as_deref(), Ok("abc"));
        assert_eq!(expand("x", "plain $5 {x}").as_deref(), Ok("plain $5 {x}"));
        assert!(expand("x", "${open").is_err());
    }

    #[test]
    fn a_file_of_mcp_servers_is_another_one() {
        assert!(!SourceConfig::is_one("[servers.db]\ncommand = 'x'"));
        assert!(SourceConfig::is_one("[alertmanager]\nurl = 'x'"));
    }
}
