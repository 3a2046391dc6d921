//! Metrics of OpenTelemetry, received or from a file: points with what they are of, and the series that they make.
//!
//! ```text
//! protobuf (receiver), JSON (json) ──► Metric::row ──► points by stream ──► series
//! ```

pub(crate) mod json;
mod series;

use crate::piece::{Millis, Who};
use crate::place::who_of;
use crate::spans::{Attributes, failed, peer, sender};

pub(crate) use series::series;

/// Histograms of durations of requests, as the semantic conventions name them now and named them before.
const REQUESTS: [&str; 9] = [
    "http.server.request.duration",
    "http.server.duration",
    "rpc.server.call.duration",
    "rpc.server.duration",
    "http.client.request.duration",
    "http.client.duration",
    "rpc.client.call.duration",
    "rpc.client.duration",
    "db.client.operation.duration",
];

/// Attributes that say how a request ended: points that differ in them alone are of the same requests.
const OUTCOMES: [&str; 3] = ["error.type", "http.response.status_code", "http.status_code"];

/// Longest name of a metric, and with attributes, in characters.
const MAX_NAME: usize = 200;
const MAX_NAMED: usize = 300;

/// What the points of a stream have in common.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct SeriesKey {
    pub(crate) who: Who,
    /// Its name; of metrics without a known meaning with the attributes of the point.
    pub(crate) metric: String,
    /// As eog writes it.
    pub(crate) unit: String,
    /// Who is asked, for metrics of clients.
    pub(crate) peer: String,
    pub(crate) failed: bool,
    pub(crate) kind: PointKind,
    /// A hash of all attributes and of the resource, which distinguishes streams.
    pub(crate) stream: u64,
}

/// What a point means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum PointKind {
    /// A level at a time.
    Level,
    /// A sum that only grows.
    Total(Since),
    /// Count and sum of what was measured.
    Spread(Since),
}

/// Since when a point counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Since {
    /// The start of the process.
    Start,
    /// The point before.
    Last,
}

/// A point of a series: a level and a total are in `sum`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Point {
    pub(crate) at: Millis,
    pub(crate) count: f64,
    pub(crate) sum: f64,
}

/// Points, each with its stream.
pub(crate) type Points = Vec<(SeriesKey, Point)>;

/// What the points of a metric have in common.
pub(crate) struct Metric<'a> {
    pub(crate) resource: &'a Attributes,
    pub(crate) name: String,
    unit: &'a str,
    /// The service that sent it, if the resource names one.
    sender: Option<Who>,
}

/// A point of which neither its resource nor itself says what it is of.
const NAMELESS: &str = "a point without service.name or another name of what it is of";

/// A point without what makes one.
pub(crate) const UNUSABLE: &str = "a point without a time or a number";

/// What the points of a sum are.
///
/// # Errors
/// Why they cannot be used.
pub(crate) fn kind_of_sum(is_monotonic: bool, since: Since) -> Result<PointKind, &'static str> {
    match (is_monotonic, since) {
        (true, since) => Ok(PointKind::Total(since)),
        (false, Since::Start) => Ok(PointKind::Level),
        (false, Since::Last) => {
            Err("a point of a sum of deltas that may fall, whose level is not known")
        }
    }
}

impl<'a> Metric<'a> {
    pub(crate) fn new(resource: &'a Attributes, name: &str, unit: &'a str) -> Self {
        let name = eog_evidence::shorten(&eog_evidence::mask_text(name), MAX_NAME);
        Self { resource, name, unit, sender: sender(resource) }
    }

    /// A point with its stream.
    ///
    /// # Errors
    /// Why it cannot be used.
    pub(crate) fn row(
        &self,
        attributes: &Attributes,
        kind: PointKind,
        nanos: u64,
        (count, sum): (f64, f64),
    ) -> Result<(SeriesKey, Point), &'static str> {
        let at = i64::try_from(nanos / 1_000_000).unwrap_or(0);
        if at == 0 || !count.is_finite() || !sum.is_finite() {
            return Err(UNUSABLE);
        }
        let (unit, scale) = self.measure(kind);
        let has_error = attributes.contains_key("error.type")
            || attributes.get("status.code").is_some_and(|it| it == "STATUS_CODE_ERROR");
        let failed = failed(attributes).unwrap_or(has_error);
        let graph = self.graph(attributes);
        let (who, peer) = match graph {
            Some((client, server)) => (Some(Who::service(client)), server),
            None if self.name.contains(".client.") => (self.who(attributes), peer(attributes)),
            None => (self.who(attributes), ""),
        };
        let key = SeriesKey {
            who: who.ok_or(NAMELESS)?,
            metric: if graph.is_some() { self.name.clone() } else { self.named(attributes) },
            unit: unit.to_owned(),
            peer: peer.to_owned(),
            failed,
            kind,
            stream: self.stream(attributes),
        };
        Ok((key, Point { at, count, sum: sum * scale }))
    }

    /// Who is measured: who sends it, or what the attributes name, such as a machine or a pod.
    fn who(&self, attributes: &Attributes) -> Option<Who> {
        let of_point = || sender(attributes);
        let named = || {
            let all = self.resource.iter().chain(attributes);
            let all: Attributes = all.map(|(name, value)| (name.clone(), value.clone())).collect();
            let services: [&str; 0] = [];
            eog_sre::subject::subjects(&all, &services).first().map(who_of)
        };
        self.sender.clone().or_else(of_point).or_else(named)
    }

    /// Who calls whom, by the metrics of a service graph.
    fn graph<'p>(&self, attributes: &'p Attributes) -> Option<(&'p str, &'p str)> {
        let is_one = self.name.starts_with("traces_service_graph_request")
            || self.name.starts_with("traces.service.graph.request");
        let of = |name: &str| attributes.get(name).map(String::as_str).filter(|it| !it.is_empty());
        is_one.then(|| Some((of("client")?, of("server")?))).flatten()
    }

    /// Its name with the attributes of a point, unless all of its points are of the same requests.
    fn named(&self, attributes: &Attributes) -> String {
        let all: Vec<String> = attributes
            .iter()
            .filter(|(name, value)| !value.is_empty() && !OUTCOMES.contains(&name.as_str()))
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        match all.is_empty() || is_of_requests(&self.name) || is_share(&self.name) {
            true => self.name.clone(),
            false => {
                eog_evidence::shorten(&format!("{}{{{}}}", self.name, all.join(",")), MAX_NAMED)
            }
        }
    }

    /// The unit of its series, and by what its values are multiplied for it.
    fn measure(&self, kind: PointKind) -> (&'a str, f64) {
        match (self.unit, kind) {
            _ if is_share(&self.name) => ("ratio", 1.0),
            ("s", PointKind::Spread(_)) => ("ms", 1000.0),
            ("us", PointKind::Spread(_)) => ("ms", 0.001),
            ("ns", PointKind::Spread(_)) => ("ms", 0.000_001),
            ("By", _) => ("bytes", 1.0),
            ("%", _) => ("percent", 1.0),
            (unit, _) if unit == "1" || unit.starts_with('{') => ("", 1.0),
            (unit, _) => (unit, 1.0),
        }
    }

    /// A hash of attributes and resource: which stream of points it is.
    fn stream(&self, attributes: &Attributes) -> u64 {
        let mut hasher = blake3::Hasher::new();
        for part in [self.resource, attributes] {
            for (name, value) in part {
                hasher.update(name.as_bytes()).update(&[0]);
                hasher.update(value.as_bytes()).update(&[0]);
            }
            hasher.update(&[1]);
        }
        let mut first = [0; 8];
        first.copy_from_slice(&hasher.finalize().as_bytes()[..8]);
        u64::from_le_bytes(first)
    }
}

/// Whether a metric has a known meaning. A receiver, which holds what comes for hours, holds no others.
#[cfg(feature = "otlp")]
pub(crate) fn is_known(metric: &str) -> bool {
    is_of_requests(metric) || is_share(metric)
}

/// Whether it is a histogram of durations of requests.
fn is_of_requests(metric: &str) -> bool {
    REQUESTS.contains(&metric)
}

/// A share of what there is, from 0 to 1, by the convention for names.
fn is_share(metric: &str) -> bool {
    metric.ends_with("utilization")
}

#[cfg(test)]
mod tests;
