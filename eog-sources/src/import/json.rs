//! JSON files: one value, one a line, or values over several lines, each recognized by what it holds.

use std::io::{self, BufRead as _, Read as _};

use eog_core::evidence::Signal;
use eog_core::incident::EffectDirection;
use eog_sre::{AlertState, read_notices, read_time};
use serde::Deserialize;
use serde_json::Value;

use super::files::{Input, MAX_WHOLE};
use super::records::{Found, hits, log_parts, objects, streams};
use super::{FileAccount, Importing, MAX_RECORDS};
use crate::alertmanager::SentAlert;
use crate::http::Answer;
use crate::otlp::Reading;
use crate::period::Period;
use crate::piece::{Change, Link, Piece, Span, Who};

/// Longest line, in bytes.
const MAX_LINE: u64 = 32 << 20;

/// All times.
pub(super) const ALWAYS: Period = Period { from: 0, until: i64::MAX };

impl Importing<'_> {
    pub(super) fn json(
        &mut self,
        input: &mut Input<'_>,
        account: &mut FileAccount,
    ) -> io::Result<()> {
        let (mut line, mut number) = (Vec::new(), 0_u64);
        loop {
            line.clear();
            number += 1;
            let read = input.reader().take(MAX_LINE).read_until(b'\n', &mut line)?;
            if read == 0 {
                return Ok(());
            }
            if line.last() != Some(&b'\n') && read as u64 == MAX_LINE {
                // One value of this length may still be read as a whole.
                return self.values(line, input, account);
            }
            let text = line.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&line).trim_ascii();
            if text.is_empty() {
                continue;
            }
            match serde_json::from_slice::<Value>(text) {
                Ok(value) => self.value(value, input, account),
                // A value that goes on in the next line.
                Err(error) if error.is_eof() && text.first().is_some_and(|c| b"{[".contains(c)) => {
                    let line = std::mem::take(&mut line);
                    return self.values(line, input, account);
                }
                // A log may begin with a bracket, and hold lines of other kinds.
                Err(_) if number == 1 => {
                    let first = std::mem::take(&mut line);
                    return self.lines(Some(first), input, account);
                }
                Err(error) => account.lose(1, format!("line {number}: {error}")),
            }
        }
    }

    /// Values over several lines, the first of which is read.
    fn values(
        &mut self,
        mut begin: Vec<u8>,
        input: &mut Input<'_>,
        account: &mut FileAccount,
    ) -> io::Result<()> {
        let left = MAX_WHOLE.saturating_sub(begin.len() as u64);
        input.reader().take(left + 1).read_to_end(&mut begin)?;
        if begin.len() as u64 > MAX_WHOLE {
            account.lose(
                1,
                format!(
                    "a value of JSON over more than {MAX_WHOLE} bytes; split it, or save one a line"
                ),
            );
            return Ok(());
        }
        let text = begin.strip_prefix(b"\xef\xbb\xbf").unwrap_or(&begin);
        let mut values = serde_json::Deserializer::from_slice(text).into_iter::<Value>();
        let mut done = 0;
        while let Some(value) = values.next() {
            match value {
                Ok(value) => {
                    done = values.byte_offset();
                    self.value(value, input, account);
                }
                Err(error) => {
                    // `kubectl cluster-info dump` puts logs behind its objects.
                    let rest = text.get(done..).unwrap_or_default();
                    let at = rest.windows(10).position(|it| it == b"==== START");
                    match at.and_then(|at| rest.get(at..)) {
                        Some(rest) => {
                            let mut rest = io::Cursor::new(rest.to_vec());
                            self.read_lines(
                                None,
                                &mut rest,
                                input.written,
                                &input.name.clone(),
                                account,
                            )?;
                        }
                        None => account.lose(1, format!("broken JSON: {error}")),
                    }
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// One value, whatever it is.
    pub(super) fn value(&mut self, value: Value, input: &Input<'_>, account: &mut FileAccount) {
        let has = |pointer: &str| value.pointer(pointer).is_some();
        if let Value::Object(_) = &value {
            if has("/kind") && (has("/apiVersion") || has("/items")) || has("/items/0/metadata") {
                return self.objects(value, account);
            }
            let keys = [
                "/resourceSpans",
                "/resourceLogs",
                "/resourceMetrics",
                "/batches",
                "/trace/resourceSpans",
                "/trace/batches",
                "/result/resourceSpans",
                "/data/0/spans",
            ];
            if keys.iter().any(|key| has(key)) {
                return self.traces(&value, account);
            }
            if let Some(kind) = value.pointer("/data/resultType").and_then(Value::as_str) {
                return match kind {
                    "streams" => {
                        let fallback = self.options.entity.as_deref().map(Who::service);
                        self.found("Loki answer", streams(&value, |_| fallback.clone()), account);
                    }
                    _ => self.prometheus(&value, account),
                };
            }
            if has("/streams/0/stream") {
                let answer = serde_json::json!({"data": {"result": value["streams"]}});
                let fallback = self.options.entity.as_deref().map(Who::service);
                return self.found("Loki answer", streams(&answer, |_| fallback.clone()), account);
            }
            if has("/hits/hits") {
                let fallback = self.of(input);
                let found = hits(&value, |_| Some(fallback.clone()));
                return self.found("Elasticsearch answer", found, account);
            }
            if has("/elements/nodes") && has("/elements/edges") {
                return self.kiali(&value, account);
            }
            if has("/traceId") && has("/localEndpoint") {
                return self.zipkin(std::slice::from_ref(&value), account);
            }
            if log_parts(&value).is_some() {
                let kind = if has("/_msg") { "VictoriaLogs" } else { "JSON log lines" };
                let fallback = self.of(input);
                let found = objects(std::slice::from_ref(&value), |_| Some(fallback.clone()));
                return self.found(kind, found, account);
            }
        }
        if let Value::Array(list) = &value {
            let first = list.first().cloned().unwrap_or_default();
            if first.get("traceId").is_some() && first.get("id").is_some() {
                return self.zipkin(list, account);
            }
            // Zipkin answers with a list of traces, each a list of spans.
            if list.iter().any(|it| it.pointer("/0/traceId").is_some()) {
                let traces = list.iter().filter_map(Value::as_array);
                return traces.for_each(|one| self.zipkin(one, account));
            }
            let is_change =
                ["time", "entity", "path"].iter().all(|name| first.get(*name).is_some());
            if is_change {
                return self.changes(list, account);
            }
            if first.get("labels").is_none() && log_parts(&first).is_some() {
                let fallback = self.of(input);
                let found = objects(list, |_| Some(fallback.clone()));
                return self.found("JSON log lines", found, account);
            }
            if first.get("kind").is_some() && first.get("metadata").is_some() {
                return list.iter().for_each(|one| self.objects(one.clone(), account));
            }
        }
        match read_notices(&value) {
            Ok(read) => self.alerts(read, account),
            Err(reason) => account.lose(1, reason),
        }
    }

    /// Objects of a cluster, alone or in a list.
    fn objects(&mut self, mut value: Value, account: &mut FileAccount) {
        let list_kind = value.get("kind").and_then(Value::as_str).unwrap_or_default().to_owned();
        let items = match value.get_mut("items").map(Value::take) {
            Some(Value::Array(items)) => items,
            _ => vec![value],
        };
        account.is("Kubernetes objects");
        let (mut taken, mut without) = (0, std::collections::BTreeSet::new());
        for mut item in items {
            // Items of a typed list do not repeat their kind.
            if item.get("kind").is_none()
                && let (Some(kind), Some(map)) =
                    (list_kind.strip_suffix("List"), item.as_object_mut())
            {
                map.insert("kind".to_owned(), kind.into());
            }
            let kind = item.get("kind").and_then(Value::as_str).unwrap_or("?").to_owned();
            match self.cluster.add(item) {
                Ok(Some(_)) => taken += 1,
                Ok(None) => {
                    account.lost += 1;
                    without.insert(kind);
                }
                Err(reason) => account.lose(1, reason),
            }
        }
        account.take("objects", taken);
        if !without.is_empty() {
            let kinds = without.into_iter().take(8).collect::<Vec<_>>().join(", ");
            account.lose(0, format!("kinds that say nothing of incidents: {kinds}"));
        }
    }

    fn traces(&mut self, value: &Value, account: &mut FileAccount) {
        let kind =
            ["resourceSpans", "resourceLogs", "resourceMetrics", "batches", "trace", "result"];
        let kind = kind.into_iter().find(|name| value.get(*name).is_some());
        account.is(match kind {
            Some("batches" | "trace") => "Tempo answer",
            Some("result") => "Jaeger v3 answer",
            Some(_) => "OTLP JSON",
            None => "Jaeger answer",
        });
        let mut reading = Reading::new(ALWAYS, (MAX_RECORDS, MAX_RECORDS));
        if let Err(error) = reading.take(value.to_string().as_bytes(), 1) {
            account.lose(1, error.to_string());
        }
        let (piece, points) = reading.in_parts();
        self.add(piece, account);
        self.add_points(points, account);
    }

    fn prometheus(&mut self, value: &Value, account: &mut FileAccount) {
        account.is("Prometheus answer");
        let answer = Answer { body: value.to_string().into_bytes(), is_cut: false };
        match crate::prometheus::saved(&answer, MAX_RECORDS) {
            Ok(piece) => self.add(piece, account),
            Err(error) => account.lose(1, error.to_string()),
        }
    }

    /// Records of a log.
    fn found(&mut self, kind: &str, found: Found, account: &mut FileAccount) {
        account.is(kind);
        if found.lost > 0 {
            let reason = "records of logs without a time, a message, or a name of who wrote them";
            account.lose(found.lost, reason);
        }
        self.add(Piece { lines: found.lines, ..Piece::default() }, account);
    }

    fn alerts(&mut self, read: eog_sre::Notices, account: &mut FileAccount) {
        account.is(&read.form.to_string());
        for reason in &read.unusable {
            account.lose(1, reason.as_str());
        }
        let mut sent = Vec::new();
        for alert in read.alerts {
            let Some(starts_at) = alert.starts_at else {
                account.lose(1, "an alert without a start time");
                continue;
            };
            if alert.state == AlertState::Pending {
                account.lose(1, "an alert that has not fired");
                continue;
            }
            // Whether it goes on is not known from a file.
            let ends_at = Some(alert.ends_at.unwrap_or(starts_at).max(starts_at));
            sent.push(SentAlert {
                labels: alert.labels,
                annotations: alert.annotations,
                starts_at,
                ends_at,
            });
        }
        let mut piece = Piece::default();
        crate::alertmanager::sent(&sent, ALWAYS, &mut piece);
        self.add(piece, account);
    }

    fn changes(&mut self, list: &[Value], account: &mut FileAccount) {
        account.is("list of changes");
        let mut piece = Piece::default();
        for one in list {
            let text =
                |name: &str| one.get(name).and_then(Value::as_str).unwrap_or_default().to_owned();
            let Some(at) = one.get("time").and_then(read_time) else {
                account.lose(1, "a change without a time");
                continue;
            };
            let value = |name: &str| one.get(name).and_then(Value::as_str).map(str::to_owned);
            let signal = one.get("signal").and_then(|it| Signal::deserialize(it).ok());
            piece.changes.push(Change {
                at: at.as_millisecond(),
                who: Who::service(text("entity")),
                signal: signal.unwrap_or(Signal::Configuration),
                path: text("path"),
                old: value("old"),
                new: value("new"),
                description: text("description"),
            });
        }
        self.add(piece, account);
    }

    /// Spans of Zipkin, version 2.
    fn zipkin(&mut self, list: &[Value], account: &mut FileAccount) {
        account.is("Zipkin v2");
        let mut piece = Piece::default();
        for one in list {
            let text =
                |pointer: &str| one.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
            let start =
                one.get("timestamp").and_then(Value::as_i64).and_then(|it| it.checked_mul(1000));
            let service = text("/localEndpoint/serviceName");
            let (Some(start), false) = (start, service.is_empty()) else {
                account.lose(1, "a span without a time or localEndpoint.serviceName");
                continue;
            };
            let mut attributes = crate::spans::Attributes::new();
            for (name, value) in one.get("tags").and_then(Value::as_object).into_iter().flatten() {
                crate::spans::add(&mut attributes, name, value.as_str().unwrap_or_default());
            }
            let peer = text("/remoteEndpoint/serviceName");
            if !peer.is_empty() {
                crate::spans::add(&mut attributes, "peer.service", peer);
            }
            let is_error = attributes.contains_key("error");
            let kind = ["Internal", "Server", "Client", "Producer", "Consumer"];
            let kind = kind.into_iter().find(|kind| kind.eq_ignore_ascii_case(text("/kind")));
            let duration = one.get("duration").and_then(Value::as_u64).unwrap_or(0);
            piece.spans.push(Span {
                start,
                nanoseconds: duration.saturating_mul(1000),
                who: Who::service(service),
                trace: text("/traceId").to_owned(),
                id: text("/id").to_owned(),
                parent: text("/parentId").to_owned(),
                name: crate::spans::text(text("/name")),
                kind: kind.unwrap_or_default().to_owned(),
                failed: Some(is_error || crate::spans::failed(&attributes).unwrap_or(false)),
                message: String::new(),
                resource: crate::spans::Attributes::new(),
                attributes,
            });
        }
        self.add(piece, account);
    }

    /// A graph as Kiali gives it.
    fn kiali(&mut self, value: &Value, account: &mut FileAccount) {
        account.is("Kiali graph");
        let list = |pointer: &str| {
            value.pointer(pointer).and_then(Value::as_array).cloned().unwrap_or_default()
        };
        let mut nodes = std::collections::BTreeMap::new();
        for node in list("/elements/nodes") {
            let text = |name: &str| {
                node.pointer(&format!("/data/{name}")).and_then(Value::as_str).unwrap_or_default()
            };
            let name =
                ["workload", "service", "app"].into_iter().map(text).find(|it| !it.is_empty());
            if let Some(name) = name {
                let who =
                    Who::Service { namespace: text("namespace").to_owned(), name: name.to_owned() };
                nodes.insert(text("id").to_owned(), who);
            }
        }
        let mut piece = Piece::default();
        for edge in list("/elements/edges") {
            let end =
                |name: &str| nodes.get(edge.pointer(&format!("/data/{name}"))?.as_str()?).cloned();
            let (Some(source), Some(target)) = (end("source"), end("target")) else {
                account.lose(1, "an edge to a node without a name");
                continue;
            };
            let (relation, effects) = ("calls".to_owned(), EffectDirection::TargetToSource);
            piece.links.push(Link { source, target, relation, effects });
        }
        self.add(piece, account);
    }
}
