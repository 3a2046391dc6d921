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

/// Bounds of a whole capture.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Limits {
    /// When nothing more is asked.
    pub(crate) total: SignedDuration,
    /// Most questions at once.
    pub(crate) concurrency: usize,
    /// Most series in all.
    pub(crate) series: usize,
    /// Most points in all.
    pub(crate) points: usize,
    /// Spans of a source after which nothing more is asked.
    pub(crate) spans: usize,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            total: SignedDuration::from_mins(5),
            concurrency: 4,
            series: 20_000,
            points: 2_000_000,
            spans: 300_000,
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

/// `[prometheus]`: Prometheus, or what has its interface (Thanos, Mimir, VictoriaMetrics).
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Prometheus {
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) timeout: SignedDuration,
    pub(crate) max_bytes: usize,
    /// Distance between points; by default the scrape interval, or more for a long range.
    pub(crate) step: Option<SignedDuration>,
    /// How often targets are scraped; by default measured on `up`.
    pub(crate) scrape_interval: Option<SignedDuration>,
    /// Most points of a series in one answer: Prometheus refuses more than 11,000.
    pub(crate) max_points: u32,
    /// Most series of one question.
    pub(crate) max_series: usize,
    /// Labels that name a service, best first.
    pub(crate) entity_labels: Vec<String>,
    /// Whether metrics of known names are looked for.
    pub(crate) conventions: bool,
    /// Label matchers that all questions by convention have, such as `cluster="eu"`.
    pub(crate) matchers: Vec<String>,
    pub(crate) series: Vec<OwnSeries>,
}

impl Default for Prometheus {
    fn default() -> Self {
        Self {
            url: String::new(),
            headers: BTreeMap::new(),
            ca_file: None,
            timeout: SignedDuration::from_secs(30),
            max_bytes: 32 << 20,
            step: None,
            scrape_interval: None,
            max_points: 11_000,
            max_series: 5_000,
            entity_labels: eog_sre::subject::SERVICE_LABELS.map(str::to_owned).to_vec(),
            conventions: true,
            matchers: Vec::new(),
            series: Vec::new(),
        }
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

/// `[alertmanager]`: Alertmanager, by version 2 of its interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Alertmanager {
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) timeout: SignedDuration,
    pub(crate) max_bytes: usize,
    /// Matchers as `amtool` has them; only alerts that match all are used.
    pub(crate) filter: Vec<String>,
}

impl Default for Alertmanager {
    fn default() -> Self {
        Self {
            url: String::new(),
            headers: BTreeMap::new(),
            ca_file: None,
            timeout: SignedDuration::from_secs(10),
            max_bytes: 16 << 20,
            filter: Vec::new(),
        }
    }
}

/// `[kubernetes]`: the API of a cluster.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Kubernetes {
    /// By default what `KUBECONFIG` names, `~/.kube/config`, or the service account within a cluster.
    pub(crate) kubeconfig: Option<PathBuf>,
    /// A context of the kubeconfig; by default its current one.
    pub(crate) context: Option<String>,
    /// By default all.
    pub(crate) namespaces: Vec<String>,
    /// Whether machines are listed; that takes a right in the whole cluster.
    pub(crate) nodes: bool,
    /// Whether metadata of Secrets is listed, which tells when they were written.
    pub(crate) secrets: bool,
    pub(crate) timeout: SignedDuration,
    pub(crate) max_bytes: usize,
    /// Objects in one answer.
    pub(crate) page: u32,
    /// Most objects in all.
    pub(crate) max_objects: usize,
}

impl Default for Kubernetes {
    fn default() -> Self {
        Self {
            kubeconfig: None,
            context: None,
            namespaces: Vec::new(),
            nodes: true,
            secrets: false,
            timeout: SignedDuration::from_secs(30),
            max_bytes: 16 << 20,
            page: 500,
            max_objects: 20_000,
        }
    }
}

/// `[otlp]`: what is received by OTLP, and files of the OpenTelemetry collector's file exporter.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Otlp {
    /// Files, or folders whose `.json` and `.jsonl` files are read.
    pub(crate) files: Vec<PathBuf>,
    pub(crate) max_spans: usize,
    pub(crate) max_logs: usize,
    /// Where it is listened, by `eog serve --on-call`.
    pub(crate) listen: Vec<SocketAddr>,
    /// How long what was received is held.
    pub(crate) window: SignedDuration,
    /// How much of it is held, in bytes.
    pub(crate) window_bytes: usize,
    /// Most bytes of a request, as sent and decompressed.
    pub(crate) max_body: usize,
    /// What senders must send as `Authorization: Bearer`; empty for none.
    pub(crate) token: String,
}

impl Default for Otlp {
    fn default() -> Self {
        Self {
            files: Vec::new(),
            max_spans: 200_000,
            max_logs: 200_000,
            listen: Vec::new(),
            window: SignedDuration::from_hours(2),
            window_bytes: 256 << 20,
            max_body: 4 << 20,
            token: String::new(),
        }
    }
}

/// `[jaeger]`: Jaeger's query interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Jaeger {
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) timeout: SignedDuration,
    pub(crate) max_bytes: usize,
    /// By default all that Jaeger knows.
    pub(crate) services: Vec<String>,
    /// Most traces of a service in each of the parts that the time is cut into.
    pub(crate) traces: usize,
    /// How many parts.
    pub(crate) parts: u32,
}

impl Default for Jaeger {
    fn default() -> Self {
        Self {
            url: String::new(),
            headers: BTreeMap::new(),
            ca_file: None,
            timeout: SignedDuration::from_secs(30),
            max_bytes: 32 << 20,
            services: Vec::new(),
            traces: 100,
            parts: 12,
        }
    }
}

/// `[tempo]`: Tempo's query interface.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct Tempo {
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) timeout: SignedDuration,
    pub(crate) max_bytes: usize,
    /// TraceQL; only traces that match are asked for.
    pub(crate) query: String,
    /// Most traces in each of the parts that the time is cut into.
    pub(crate) traces: usize,
    /// How many parts.
    pub(crate) parts: u32,
}

impl Default for Tempo {
    fn default() -> Self {
        Self {
            url: String::new(),
            headers: BTreeMap::new(),
            ca_file: None,
            timeout: SignedDuration::from_secs(30),
            max_bytes: 32 << 20,
            query: "{}".to_owned(),
            traces: 20,
            parts: 12,
        }
    }
}

/// `[loki]`, `[elasticsearch]` and `[victorialogs]`: a store of log lines.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(crate) struct LogStore {
    pub(crate) url: String,
    pub(crate) headers: BTreeMap<String, String>,
    pub(crate) ca_file: Option<PathBuf>,
    pub(crate) timeout: SignedDuration,
    pub(crate) max_bytes: usize,
    /// LogQL, Lucene's syntax or LogsQL; by default all lines.
    query: Option<String>,
    /// The indices of Elasticsearch.
    pub(crate) index: String,
    /// Most lines in each of the parts that the time is cut into.
    pub(crate) lines: usize,
    /// How many parts.
    pub(crate) parts: u32,
}

impl Default for LogStore {
    fn default() -> Self {
        Self {
            url: String::new(),
            headers: BTreeMap::new(),
            ca_file: None,
            timeout: SignedDuration::from_secs(30),
            max_bytes: 32 << 20,
            query: None,
            index: "logs-*,filebeat-*,logstash-*".to_owned(),
            lines: 5_000,
            parts: 24,
        }
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

macro_rules! endpoint {
    ($($of:ident),*) => {$(
        impl $of {
            pub(crate) fn endpoint(&self) -> Endpoint<'_> {
                Endpoint {
                    url: &self.url,
                    headers: &self.headers,
                    ca_file: self.ca_file.as_deref(),
                    timeout: self.timeout.unsigned_abs(),
                    max_bytes: self.max_bytes,
                }
            }
        }
    )*};
}
endpoint!(Prometheus, Alertmanager, Jaeger, Tempo, LogStore);

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
        let fields = |part: &str,
                      url: &mut String,
                      headers: &mut BTreeMap<String, String>,
                      ca: &mut Option<PathBuf>| {
            *url = expand(&format!("[{part}] url"), url)?;
            for (name, value) in headers.iter_mut() {
                *value = expand(&format!("[{part}] headers.{name}"), value)?;
            }
            if let Some(file) = ca {
                *file = folder.join(&*file);
            }
            Ok::<(), ConfigError>(())
        };
        if let Some(it) = &mut self.prometheus {
            fields("prometheus", &mut it.url, &mut it.headers, &mut it.ca_file)?;
        }
        if let Some(it) = &mut self.alertmanager {
            fields("alertmanager", &mut it.url, &mut it.headers, &mut it.ca_file)?;
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
            fields("jaeger", &mut it.url, &mut it.headers, &mut it.ca_file)?;
        }
        if let Some(it) = &mut self.tempo {
            fields("tempo", &mut it.url, &mut it.headers, &mut it.ca_file)?;
        }
        let stores = [
            ("loki", &mut self.loki),
            ("elasticsearch", &mut self.elasticsearch),
            ("victorialogs", &mut self.victorialogs),
        ];
        for (name, store) in stores {
            if let Some(it) = store {
                fields(name, &mut it.url, &mut it.headers, &mut it.ca_file)?;
            }
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
        if let Some(it) = &self.prometheus {
            crate::http::Http::new("prometheus", &it.endpoint())?;
        }
        if let Some(it) = &self.alertmanager {
            crate::http::Http::new("alertmanager", &it.endpoint())?;
        }
        if let Some(it) = &self.jaeger {
            crate::http::Http::new("jaeger", &it.endpoint())?;
        }
        if let Some(it) = &self.tempo {
            crate::http::Http::new("tempo", &it.endpoint())?;
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
    fn mistakes_are_told_with_place_and_reason() {
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
