//! Files of traces, log lines and metrics: OTLP as JSON, as the collector's file exporter writes it or as people print it, and what
//! Tempo and Jaeger answer.

use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};

use serde::Deserialize;
use serde_json::Value;
use serde_json::value::RawValue;

use crate::capture::Parts;
use crate::config::{Otlp as Config, SourceConfig};
use crate::error::AskError;
use crate::http::Answer;
use crate::metrics::{Points, json, series};
use crate::period::Period;
use crate::piece::{Line, Piece, Span};
use crate::spans::{Attributes, add, failed, plain, sender, text};

/// Longest line that is read, in bytes: the collector writes a batch of records on each.
const MAX_LINE: u64 = 32 << 20;

/// Longest value over several lines, in bytes: all of it is in memory at once.
const MAX_WHOLE: u64 = 64 << 20;

/// Most bytes of files that are read to see what they hold, before anything is asked.
const MAX_PROBED: u64 = 64 << 20;

/// Most points of metrics of a file that are read.
const MAX_POINTS: usize = 2_000_000;

/// Most files that are read.
const MAX_FILES: usize = 1_000;

/// Files as a source.
pub(crate) struct Otlp<'a> {
    config: &'a Config,
    of: &'a SourceConfig,
}

/// A request of OTLP, of any kind; and the other forms in which traces are written: Tempo's answer (`batches`, `trace`),
/// Jaeger's of version 3 (`result`), and Jaeger's interface and download (`data`).
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Request {
    resource_spans: Option<Vec<Batch>>,
    resource_logs: Option<Vec<Batch>>,
    resource_metrics: Option<Vec<json::Batch>>,
    batches: Option<Vec<Batch>>,
    trace: Option<Inner>,
    result: Option<Inner>,
    data: Option<Box<RawValue>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Inner {
    resource_spans: Option<Vec<Batch>>,
    batches: Option<Vec<Batch>>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Batch {
    #[serde(default)]
    resource: Holder,
    #[serde(default, alias = "instrumentationLibrarySpans")]
    scope_spans: Vec<Scope>,
    #[serde(default)]
    scope_logs: Vec<Scope>,
}

#[derive(Debug, Default, Deserialize)]
pub(crate) struct Holder {
    #[serde(default)]
    pub(crate) attributes: Vec<KeyValue>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Scope {
    #[serde(default)]
    spans: Vec<GivenSpan>,
    #[serde(default)]
    log_records: Vec<GivenLog>,
}

#[derive(Debug, Deserialize)]
pub(crate) struct KeyValue {
    key: String,
    #[serde(default)]
    value: Value,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[derive(Default)]
struct GivenSpan {
    trace_id: String,
    span_id: String,
    parent_span_id: String,
    name: String,
    kind: Value,
    start_time_unix_nano: Value,
    end_time_unix_nano: Value,
    attributes: Vec<KeyValue>,
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Status {
    code: Value,
    message: String,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct GivenLog {
    time_unix_nano: Value,
    observed_time_unix_nano: Value,
    severity_text: String,
    severity_number: Value,
    body: Value,
    trace_id: String,
}

impl<'a> Otlp<'a> {
    pub(crate) fn new(config: &'a Config, of: &'a SourceConfig) -> Self {
        Self { config, of }
    }

    /// Where the files are.
    pub(crate) fn place(&self) -> String {
        let files = self.config.files.iter().map(|file| file.display().to_string());
        let listens = self.config.listen.iter().map(|address| format!("port {}", address.port()));
        files.chain(listens).collect::<Vec<_>>().join(", ")
    }

    /// What there is, for people.
    pub(crate) fn offer(&self) -> Result<Vec<String>, AskError> {
        let mut lines = Vec::new();
        if !self.config.listen.is_empty() {
            let addresses: Vec<String> =
                self.config.listen.iter().map(ToString::to_string).collect();
            let addresses = addresses.join(", ");
            lines.push(format!("receives OTLP at {addresses} while the on-call service runs"));
        }
        if self.config.files.is_empty() {
            return Ok(lines);
        }
        let files = self.files()?;
        let bytes = files.iter().filter_map(|file| file.metadata().ok()).map(|it| it.len());
        let bytes = bytes.sum::<u64>();
        lines.push(format!("{} files of {bytes} bytes in all", files.len()));
        if bytes > MAX_PROBED {
            return Ok(lines);
        }
        let (mut usable, mut reasons) = (0, Vec::new());
        for file in files {
            let place = file.display().to_string();
            let all = Period { from: 0, until: i64::MAX };
            let piece = read(&file, all, (usize::MAX, usize::MAX)).map_err(AskError::Answer)?;
            let (spans, logs, series) = (piece.spans.len(), piece.lines.len(), piece.series.len());
            usable += spans + logs + series;
            lines.push(format!("{place}: {spans} spans, {logs} log lines, {series} series"));
            reasons.extend(piece.missing.into_iter().map(|reason| format!("{place}: {reason}")));
        }
        match usable {
            0 => Err(AskError::Answer(format!(
                "nothing in the files can be used: {}",
                reasons.first().map_or("they hold no spans, log lines or metrics", String::as_str)
            ))),
            _ => {
                lines.extend(reasons);
                Ok(lines)
            }
        }
    }

    /// Reads each file, and what was received.
    pub(crate) async fn capture(&self, period: Period, parts: &mut Parts<'_>) {
        if !self.config.listen.is_empty() {
            let read = async || self.received(period);
            parts.piece("otlp received", read).await;
        }
        if self.config.files.is_empty() {
            return;
        }
        let files = async || self.files();
        let Some(files) = parts.value("otlp files", "the files", files).await else { return };
        let (mut spans, mut lines) = (0, 0);
        for file in files {
            let left = (
                self.config.max_spans.saturating_sub(spans),
                self.config.max_logs.saturating_sub(lines),
            );
            let name = format!("otlp {}", file.display());
            let read = async || read(&file, period, left).map_err(AskError::Answer);
            if let Some(piece) = parts.piece(&name, read).await {
                spans += piece.spans.len();
                lines += piece.lines.len();
            }
        }
    }

    fn received(&self, period: Period) -> Result<Piece, AskError> {
        match &self.of.received {
            Some(received) => {
                Ok(received.piece(period, self.config.max_spans, self.config.max_logs))
            }
            None => Err(AskError::NotAsked("the on-call service alone receives")),
        }
    }

    /// The files, those of folders sorted by name.
    fn files(&self) -> Result<Vec<PathBuf>, AskError> {
        let mut all = Vec::new();
        for path in &self.config.files {
            let path = self.of.path(path);
            let failed =
                |error: std::io::Error| AskError::Answer(format!("{}: {error}", path.display()));
            if !path.metadata().map_err(failed)?.is_dir() {
                all.push(path);
                continue;
            }
            let entries = path.read_dir().map_err(failed)?;
            let mut found: Vec<PathBuf> = entries
                .filter_map(|entry| Some(entry.ok()?.path()))
                .filter(|path| {
                    let ends = ["json", "jsonl"];
                    path.extension().is_some_and(|end| ends.iter().any(|known| end == *known))
                })
                .collect();
            found.sort();
            all.extend(found);
        }
        match all.len() {
            0 => Err(AskError::Answer("there is no file that ends in .json or .jsonl".to_owned())),
            count if count > MAX_FILES => {
                Err(AskError::Answer(format!("{count} files; name at most {MAX_FILES}")))
            }
            _ => Ok(all),
        }
    }
}

/// Reads what a file says of a period, up to so many spans and lines: one request a line, or values of JSON over several lines.
pub(crate) fn read(path: &Path, period: Period, left: (usize, usize)) -> Result<Piece, String> {
    let mut reader = BufReader::new(File::open(path).map_err(|error| error.to_string())?);
    let (mut reading, mut line, mut number) = (Reading::new(period, left), Vec::new(), 0_u64);
    loop {
        line.clear();
        number += 1;
        let mut bounded = reader.by_ref().take(MAX_LINE);
        let read = bounded.read_until(b'\n', &mut line).map_err(|error| error.to_string())?;
        if read == 0 {
            break;
        }
        if line.last() != Some(&b'\n') && line.len() as u64 == MAX_LINE {
            reading.broken.add(number, &format!("longer than {MAX_LINE} bytes"));
            reader.skip_until(b'\n').map_err(|error| error.to_string())?;
            continue;
        }
        if line.trim_ascii().is_empty() {
            continue;
        }
        match reading.take(&line, number) {
            // A value that goes on in the next line: people print it so to look at it.
            Err(error) if error.is_eof() => {
                let mut bounded = reader.by_ref().take(MAX_WHOLE - line.len() as u64 + 1);
                bounded.read_to_end(&mut line).map_err(|error| error.to_string())?;
                if line.len() as u64 > MAX_WHOLE {
                    let reason = format!("a value that goes on for more than {MAX_WHOLE} bytes");
                    reading.broken.add(number, &reason);
                } else {
                    reading.values(&line, number);
                }
                break;
            }
            Err(error) => reading.broken.add(number, &error.to_string()),
            Ok(()) => {}
        }
    }
    Ok(reading.end())
}

/// What is read of requests.
pub(crate) struct Reading {
    piece: Piece,
    broken: Broken,
    nameless: u64,
    left_out: u64,
    points: Points,
    /// Points beyond the most.
    beyond: u64,
    period: Period,
    spans: usize,
    lines: usize,
}

impl Reading {
    pub(crate) fn new(period: Period, (spans, lines): (usize, usize)) -> Self {
        Self {
            piece: Piece::default(),
            broken: Broken::default(),
            nameless: 0,
            left_out: 0,
            points: Points::new(),
            beyond: 0,
            period,
            spans,
            lines,
        }
    }

    /// Takes in values of JSON, one after the other.
    fn values(&mut self, text: &[u8], line: u64) {
        let values = serde_json::Deserializer::from_slice(text).into_iter::<Box<RawValue>>();
        for value in values {
            let taken = value.and_then(|value| self.take(value.get().as_bytes(), line));
            if let Err(error) = taken {
                self.broken.add(line, &error.to_string());
                // What follows what is broken cannot be separated.
                if error.is_syntax() || error.is_eof() {
                    return;
                }
            }
        }
    }

    /// Takes in one value: a request, or another form in which traces are written.
    pub(crate) fn take(&mut self, text: &[u8], line: u64) -> Result<(), serde_json::Error> {
        let request: Request = serde_json::from_slice(text)?;
        let Request {
            resource_spans,
            resource_logs,
            resource_metrics,
            batches,
            trace,
            result,
            data,
            ..
        } = request;
        let mut is_known =
            resource_spans.is_some() || resource_logs.is_some() || resource_metrics.is_some();
        for batch in resource_metrics.into_iter().flatten() {
            json::points(batch, &mut |point| match point {
                Ok(_) if self.points.len() >= MAX_POINTS => self.beyond += 1,
                Ok(point) => self.points.push(point),
                Err(reason) => self.broken.add(line, reason),
            });
        }
        let inner = [trace, result].into_iter().flatten();
        let inner = inner.flat_map(|it| [it.resource_spans, it.batches]).flatten();
        let spans: Vec<Vec<Batch>> = inner.chain(resource_spans).chain(batches).collect();
        is_known |= !spans.is_empty();
        for batch in spans.into_iter().chain(resource_logs).flatten() {
            self.batch(batch, line);
        }
        if let Some(traces) = data {
            let answer = Answer { body: traces.get().as_bytes().to_vec(), is_cut: false };
            if let Ok(piece) = crate::jaeger::traces(&answer) {
                is_known = true;
                self.missed(&piece.missing, line);
                piece.spans.into_iter().for_each(|span| self.span(span));
            }
        }
        if !is_known {
            let reason = "JSON, but without resourceSpans, resourceLogs, resourceMetrics, batches or traces of Jaeger in data";
            self.broken.add(line, reason);
        }
        Ok(())
    }

    fn missed(&mut self, reasons: &[String], line: u64) {
        reasons.iter().for_each(|reason| self.broken.add(line, reason));
    }

    fn span(&mut self, span: Span) {
        if !self.period.contains(span.start / 1_000_000) {
            return;
        }
        match self.piece.spans.len() < self.spans {
            true => self.piece.spans.push(span),
            false => self.left_out += 1,
        }
    }

    fn batch(&mut self, batch: Batch, number: u64) {
        let resource = attributes(batch.resource.attributes);
        let Some(who) = sender(&resource) else {
            let of_spans = batch.scope_spans.iter().map(|scope| scope.spans.len());
            let of_logs = batch.scope_logs.iter().map(|scope| scope.log_records.len());
            self.nameless += of_spans.chain(of_logs).map(|count| count as u64).sum::<u64>();
            return;
        };
        for given in batch.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            match span(given, &who, &resource) {
                Some(span) => self.span(span),
                None => self.broken.add(number, "a span without ids or times"),
            }
        }
        for given in batch.scope_logs.into_iter().flat_map(|scope| scope.log_records) {
            match log(&given, &who, &resource) {
                Some(line) if !self.period.contains(line.at / 1_000_000) => {}
                Some(_) if self.piece.lines.len() >= self.lines => self.left_out += 1,
                Some(line) => self.piece.lines.push(line),
                None => self.broken.add(number, "a log record without a time"),
            }
        }
    }

    /// What was read, and what could not be.
    pub(crate) fn end(self) -> Piece {
        let period = self.period;
        let (mut piece, points) = self.in_parts();
        series(points.iter().map(|(key, point)| (key, *point)), period, &mut piece);
        piece
    }

    /// What was read but for the series, which points of other files may belong to, and what could not be.
    pub(crate) fn in_parts(self) -> (Piece, Points) {
        let Self { mut piece, broken, nameless, left_out, points, beyond, .. } = self;
        if let Some(first) = broken.first {
            piece.missing.push(format!("{} records cannot be used: {first}", broken.count));
        }
        if nameless > 0 {
            piece.missing.push(format!("{nameless} records have no service.name"));
        }
        if left_out > 0 {
            piece.missing.push(format!("{left_out} records beyond max_spans or max_logs"));
        }
        if beyond > 0 {
            piece.missing.push(format!("{beyond} points of metrics beyond {MAX_POINTS}"));
        }
        (piece, points)
    }
}

/// The spans of one trace as Tempo gives it, and how many cannot be used.
pub(crate) fn trace(text: &[u8]) -> Result<(Vec<Span>, u64), String> {
    #[derive(Deserialize)]
    #[serde(rename_all = "camelCase")]
    struct Trace {
        #[serde(default, alias = "batches")]
        resource_spans: Vec<Batch>,
    }
    let trace: Trace = serde_json::from_slice(text).map_err(|error| error.to_string())?;
    let (mut spans, mut unusable) = (Vec::new(), 0);
    for batch in trace.resource_spans {
        let resource = attributes(batch.resource.attributes);
        let who = sender(&resource);
        for given in batch.scope_spans.into_iter().flat_map(|scope| scope.spans) {
            match who.as_ref().and_then(|who| span(given, who, &resource)) {
                Some(span) => spans.push(span),
                None => unusable += 1,
            }
        }
    }
    Ok((spans, unusable))
}

/// Records that cannot be used: how many, and why the first.
#[derive(Default)]
struct Broken {
    count: u64,
    first: Option<String>,
}

impl Broken {
    fn add(&mut self, line: u64, reason: &str) {
        self.count += 1;
        let _ = self.first.get_or_insert_with(|| format!("line {line}: {reason}"));
    }
}

pub(crate) fn attributes(given: Vec<KeyValue>) -> Attributes {
    let mut all = Attributes::new();
    for KeyValue { key, value } in given {
        add(&mut all, &key, &any(&value));
    }
    all
}

/// A value of any kind: `{"stringValue": "x"}` and its like.
fn any(value: &Value) -> String {
    let Some(map) = value.as_object() else { return plain(value) };
    match map.iter().next() {
        Some((kind, inner)) if kind != "arrayValue" && kind != "kvlistValue" => plain(inner),
        Some((_, inner)) => inner.to_string(),
        None => String::new(),
    }
}

/// A number of 64 bits, which JSON holds as text.
pub(crate) fn number(value: &Value) -> Option<i64> {
    value.as_i64().or_else(|| value.as_str()?.parse().ok())
}

fn span(given: GivenSpan, who: &crate::piece::Who, resource: &Attributes) -> Option<Span> {
    let start = number(&given.start_time_unix_nano).filter(|start| *start > 0)?;
    let end = number(&given.end_time_unix_nano)?;
    if given.trace_id.is_empty() || given.span_id.is_empty() {
        return None;
    }
    let kinds = ["", "Internal", "Server", "Client", "Producer", "Consumer"];
    let kind = match &given.kind {
        Value::String(name) => {
            let name = name.trim_start_matches("SPAN_KIND_").to_lowercase();
            kinds.into_iter().find(|kind| kind.to_lowercase() == name)
        }
        other => usize::try_from(other.as_u64().unwrap_or_default())
            .ok()
            .and_then(|at| kinds.get(at).copied()),
    };
    let attributes = attributes(given.attributes);
    let failed = match &given.status.code {
        Value::String(code) if code.ends_with("ERROR") => Some(true),
        Value::Number(code) if code.as_u64() == Some(2) => Some(true),
        // A status that was not set is no error, by the specification.
        _ => Some(failed(&attributes).unwrap_or(false)),
    };
    Some(Span {
        start,
        nanoseconds: u64::try_from(end.saturating_sub(start)).unwrap_or_default(),
        who: who.clone(),
        trace: id(&given.trace_id),
        id: id(&given.span_id),
        parent: id(&given.parent_span_id),
        name: text(&given.name),
        kind: kind.unwrap_or_default().to_owned(),
        failed,
        message: text(&given.status.message),
        resource: resource.clone(),
        attributes,
    })
}

fn id(text: &str) -> String {
    eog_evidence::shorten(text, 64)
}

/// The name of a severity by its number.
pub(crate) fn level(severity: i64) -> &'static str {
    match severity {
        21.. => "fatal",
        17..=20 => "error",
        13..=16 => "warn",
        9..=12 => "info",
        1..=8 => "debug",
        _ => "",
    }
}

fn log(given: &GivenLog, who: &crate::piece::Who, resource: &Attributes) -> Option<Line> {
    let time = number(&given.time_unix_nano).filter(|at| *at > 0);
    let at = time.or_else(|| number(&given.observed_time_unix_nano).filter(|at| *at > 0))?;
    let level = match given.severity_text.as_str() {
        "" => level(number(&given.severity_number).unwrap_or_default()),
        given => given,
    };
    Some(Line {
        at,
        who: who.clone(),
        level: eog_evidence::shorten(&eog_evidence::mask_text(level), 40),
        text: text(&any(&given.body)),
        trace: id(&given.trace_id),
        resource: resource.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::piece::Who;

    const SPAN: &str = r#"{"resourceSpans":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},"scopeSpans":[{"scope":{},"spans":[{"traceId":"5b8efff798038103d269b633813fc60c","spanId":"eee19b7ec3c1b174","parentSpanId":"","name":"GET /cart","kind":2,"startTimeUnixNano":"1767261600000000000","endTimeUnixNano":"1767261600250000000","attributes":[{"key":"http.response.status_code","value":{"intValue":"503"}},{"key":"password","value":{"stringValue":"hunter2"}}],"status":{}}]}]}]}"#;
    const LOG: &str = r#"{"resourceLogs":[{"resource":{"attributes":[{"key":"service.name","value":{"stringValue":"cart"}}]},"scopeLogs":[{"logRecords":[{"timeUnixNano":"1767261600000000000","severityNumber":17,"body":{"stringValue":"no answer of db"},"traceId":"5b8e"}]}]}]}"#;

    fn read_text(text: &str, most: usize) -> Piece {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("a.jsonl");
        std::fs::write(&file, text).unwrap();
        let period = Period { from: 1_767_261_000_000, until: 1_767_262_000_000 };
        read(&file, period, (most, most)).unwrap()
    }

    #[test]
    fn spans_and_lines_are_read_masked() {
        let piece = read_text(&format!("{SPAN}\n{LOG}\n"), 10);
        let [span] = &piece.spans[..] else { panic!("{piece:?}") };
        assert_eq!((span.who.clone(), span.failed), (Who::service("cart"), Some(true)));
        assert_eq!((span.nanoseconds, span.kind.as_str()), (250_000_000, "Server"));
        assert_eq!(span.attributes["password"], "[masked]");
        let [line] = &piece.lines[..] else { panic!("{piece:?}") };
        assert_eq!((line.level.as_str(), line.text.as_str()), ("error", "no answer of db"));
        assert_eq!(piece.missing, [""; 0]);
    }

    /// As people save, print and download them.
    #[test]
    fn other_forms_are_read_or_named() {
        let pretty = |text: &str| {
            let value: Value = serde_json::from_str(text).unwrap();
            serde_json::to_string_pretty(&value).unwrap()
        };
        let jaeger = r#"{"data":[{"traceID":"t","spans":[{"traceID":"t","spanID":"a","operationName":"GET","startTime":1767261600000000,"duration":2500,"tags":[],"processID":"p1"}],"processes":{"p1":{"serviceName":"web","tags":[]}}}]}"#;
        for (text, expected) in [
            (pretty(SPAN), 1),
            (format!("{}\n{}", pretty(SPAN), pretty(LOG)), 2),
            (SPAN.replace("resourceSpans", "batches"), 1),
            (pretty(&format!("{{\"trace\":{SPAN}}}")), 1),
            (pretty(&format!("{{\"result\":{SPAN}}}")), 1),
            (pretty(jaeger), 1),
        ] {
            let piece = read_text(&text, 10);
            assert_eq!(
                (piece.spans.len() + piece.lines.len(), piece.missing.len()),
                (expected, 0),
                "{text}"
            );
        }
        for (text, expected) in [
            (
                pretty(r#"{"foo": 1}"#),
                "1 records cannot be used: line 1: JSON, but without resourceSpans",
            ),
            (pretty(SPAN)[..200].to_owned(), "1 records cannot be used: line 1: EOF"),
        ] {
            let piece = read_text(&text, 10);
            assert!(piece.missing[0].starts_with(expected), "{:?}", piece.missing);
        }
    }

    #[test]
    fn what_is_broken_beyond_the_bounds_or_of_another_time_is_left_out() {
        let early = SPAN.replace("17672616", "16672616");
        let nameless = SPAN.replace("service.name", "other");
        let text = [SPAN, SPAN, "{broken", &early, &nameless, "", LOG].join("\n");
        let piece = read_text(&text, 1);
        assert_eq!((piece.spans.len(), piece.lines.len()), (1, 1));
        let missing = piece.missing.join("\n");
        for expected in ["line 3: ", "1 records have no service.name", "1 records beyond"] {
            assert!(missing.contains(expected), "{expected}: {missing}");
        }
    }
}
