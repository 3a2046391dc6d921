//! Jaeger, by its query interface: traces of each service, spread over the time.

use std::collections::{BTreeMap, BTreeSet};

use serde::Deserialize;
use serde_json::Value;

use crate::capture::Parts;
use crate::config::{Jaeger as Config, Limits, SourceConfig};
use crate::error::{AskError, ConfigError};
use crate::http::{Answer, Http};
use crate::period::Period;
use crate::piece::{Piece, Span};
use crate::spans::{Attributes, add, failed, plain, sender, text};

/// Jaeger as a source.
pub(crate) struct Jaeger<'a> {
    config: &'a Config,
    limits: &'a Limits,
    http: Http,
}

#[derive(Debug, Deserialize)]
struct Data<T> {
    #[serde(default = "Vec::new")]
    data: Vec<T>,
}

#[derive(Debug, Deserialize)]
struct Trace {
    #[serde(default)]
    spans: Vec<Given>,
    #[serde(default)]
    processes: BTreeMap<String, Process>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    #[serde(rename = "traceID")]
    trace_id: String,
    #[serde(rename = "spanID")]
    span_id: String,
    #[serde(default)]
    operation_name: String,
    #[serde(default)]
    references: Vec<Reference>,
    /// Microseconds since 1970.
    start_time: i64,
    /// Microseconds.
    #[serde(default)]
    duration: i64,
    #[serde(default)]
    tags: Vec<Tag>,
    #[serde(rename = "processID", default)]
    process: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Reference {
    #[serde(default)]
    ref_type: String,
    #[serde(rename = "spanID")]
    span_id: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Process {
    service_name: String,
    #[serde(default)]
    tags: Vec<Tag>,
}

#[derive(Debug, Deserialize)]
struct Tag {
    key: String,
    #[serde(default)]
    value: Value,
}

impl<'a> Jaeger<'a> {
    pub(crate) fn new(config: &'a Config, of: &'a SourceConfig) -> Result<Self, ConfigError> {
        let http = Http::new("jaeger", &config.endpoint())?;
        Ok(Self { config, limits: &of.limits, http })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> String {
        self.http.place()
    }

    /// What it offers, for people.
    pub(crate) async fn offer(&self) -> Result<Vec<String>, AskError> {
        let services = self.services().await?;
        let names = eog_evidence::shorten(&services.join(", "), 400);
        Ok(vec![format!("{} services: {names}", services.len())])
    }

    /// Asks for traces of each service and each part of the time.
    pub(crate) async fn capture(&self, period: Period, parts: &mut Parts<'_>) {
        let services = async || self.services().await;
        let services = parts.value("jaeger services", "the services", services).await;
        let Some(services) = services else { return };
        let times = period.parts(self.config.parts);
        let questions: Vec<(&String, Period)> =
            services.iter().flat_map(|one| times.iter().map(move |part| (one, *part))).collect();
        let asked = questions.into_iter().map(|(service, part)| {
            (format!("jaeger {service} {part}"), self.traces(service, part))
        });
        parts.all(asked, self.limits).await;
        parts.distinct_spans();
    }

    async fn services(&self) -> Result<Vec<String>, AskError> {
        if !self.config.services.is_empty() {
            return Ok(self.config.services.clone());
        }
        let found: Data<String> = parsed(&self.http.get("api/services", &[]).await?)?;
        let mut names = found.data;
        names.sort();
        Ok(names)
    }

    async fn traces(&self, service: &str, part: Period) -> Result<Piece, AskError> {
        let (start, end) = ((part.from * 1000).to_string(), (part.until * 1000).to_string());
        let limit = self.config.traces.to_string();
        let query = [("service", service), ("start", &start), ("end", &end), ("limit", &limit)];
        piece(&self.http.get("api/traces", &query).await?)
    }
}

/// What an answer says of traces.
pub(crate) fn piece(answer: &Answer) -> Result<Piece, AskError> {
    let found: Data<Trace> = parsed(answer)?;
    Ok(of(found.data))
}

/// The same of the list of traces within an answer, as Jaeger's pages save it, too.
pub(crate) fn traces(answer: &Answer) -> Result<Piece, AskError> {
    let found: Vec<Strict> = parsed(answer)?;
    Ok(of(found.into_iter().map(|it| Trace { spans: it.spans, processes: it.processes }).collect()))
}

/// A trace that has spans and processes: other lists are none of traces.
#[derive(Deserialize)]
struct Strict {
    spans: Vec<Given>,
    processes: BTreeMap<String, Process>,
}

fn of(traces: Vec<Trace>) -> Piece {
    let mut piece = Piece::default();
    let mut nameless = 0;
    for trace in traces {
        for given in trace.spans {
            match span(given, &trace.processes) {
                Some(span) => piece.spans.push(span),
                None => nameless += 1,
            }
        }
    }
    if nameless > 0 {
        piece.missing.push(format!("{nameless} spans name no service"));
    }
    piece
}

fn parsed<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<T, AskError> {
    answer.whole("it is longer than max_bytes; ask for fewer traces in more parts")?.json()
}

fn attributes(tags: Vec<Tag>) -> Attributes {
    let mut all = Attributes::new();
    for Tag { key, value } in tags {
        add(&mut all, &key, &plain(&value));
    }
    all
}

fn span(given: Given, processes: &BTreeMap<String, Process>) -> Option<Span> {
    let process = processes.get(&given.process)?;
    let mut resource = Attributes::new();
    for Tag { key, value } in &process.tags {
        add(&mut resource, key, &plain(value));
    }
    add(&mut resource, "service.name", &process.service_name);
    let attributes = attributes(given.tags);
    let of = |name: &str| attributes.get(name).map(String::as_str).unwrap_or_default();
    let kinds = ["Internal", "Server", "Client", "Producer", "Consumer"];
    let kind = kinds.into_iter().find(|kind| kind.eq_ignore_ascii_case(of("span.kind")));
    let is_error = of("error") == "true" || of("otel.status_code") == "ERROR";
    let parent = given.references.iter().find(|it| it.ref_type == "CHILD_OF");
    let parent = parent.or(given.references.first());
    Some(Span {
        start: given.start_time.checked_mul(1000)?,
        nanoseconds: u64::try_from(given.duration).ok()?.checked_mul(1000)?,
        who: sender(&resource)?,
        trace: given.trace_id,
        id: given.span_id,
        parent: parent.map(|parent| parent.span_id.clone()).unwrap_or_default(),
        name: text(&given.operation_name),
        kind: kind.unwrap_or_default().to_owned(),
        failed: Some(is_error || failed(&attributes).unwrap_or(false)),
        message: text(of("otel.status_description")),
        resource,
        attributes,
    })
}

/// The same trace is found by each of its services: each span counts once.
pub(crate) fn distinct(pieces: &mut [(String, Piece)]) {
    let mut seen: BTreeSet<(String, String)> = BTreeSet::new();
    for (_, piece) in pieces {
        piece.spans.retain(|span| seen.insert((span.trace.clone(), span.id.clone())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::Who;

    const TRACES: &str = r#"{"data":[{"traceID":"t","spans":[
        {"traceID":"t","spanID":"a","operationName":"GET /","references":[],"startTime":1767261600000000,"duration":2500,
         "tags":[{"key":"span.kind","type":"string","value":"client"},{"key":"error","type":"bool","value":true}],"processID":"p1"},
        {"traceID":"t","spanID":"b","operationName":"SELECT","references":[{"refType":"CHILD_OF","traceID":"t","spanID":"a"}],
         "startTime":1767261600000100,"duration":2000,"tags":[{"key":"span.kind","value":"server"}],"processID":"p2"},
        {"traceID":"t","spanID":"c","startTime":1,"processID":"absent"}],
        "processes":{"p1":{"serviceName":"web","tags":[]},"p2":{"serviceName":"db"}}}],"total":0,"errors":null}"#;

    #[test]
    fn traces_are_read() {
        let answer = Answer { body: TRACES.as_bytes().to_vec(), is_cut: false };
        let found: Data<Trace> = parsed(&answer).unwrap();
        let [trace] = <[Trace; 1]>::try_from(found.data).unwrap();
        let all = trace.spans.into_iter().map(|given| span(given, &trace.processes));
        let all: Vec<Option<Span>> = all.collect();
        let [Some(web), Some(db), None] = &all[..] else { panic!("{all:?}") };
        assert_eq!(
            (web.who.clone(), web.failed, web.nanoseconds),
            (Who::service("web"), Some(true), 2_500_000)
        );
        assert_eq!((db.parent.as_str(), db.kind.as_str(), db.failed), ("a", "Server", Some(false)));
    }

    #[test]
    fn a_trace_found_twice_counts_once() {
        let answer = Answer { body: TRACES.as_bytes().to_vec(), is_cut: false };
        let piece = || {
            let found: Data<Trace> = parsed(&answer).unwrap();
            let trace = found.data.into_iter().next().unwrap();
            let spans = trace.spans.into_iter().filter_map(|given| span(given, &trace.processes));
            Piece { spans: spans.collect(), ..Piece::default() }
        };
        let mut pieces = [("web".to_owned(), piece()), ("db".to_owned(), piece())];
        distinct(&mut pieces);
        assert_eq!((pieces[0].1.spans.len(), pieces[1].1.spans.len()), (2, 0));
    }
}
