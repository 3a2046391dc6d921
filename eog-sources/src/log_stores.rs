//! Stores of log lines: Loki, Elasticsearch or OpenSearch, and VictoriaLogs, asked for each part of the time.

use std::collections::BTreeMap;

use eog_core::Timestamp;
use serde_json::Value;

use crate::capture::Parts;
use crate::config::{Limits, LogStore as Config, SourceConfig};
use crate::error::{AskError, ConfigError};
use crate::http::{Answer, Http};
use crate::import::records::{Found, hits, objects, streams};
use crate::period::Period;
use crate::piece::{Piece, Who};

/// Most characters of a query that a note names.
const MAX_QUERY: usize = 200;

/// Which store it is: they are asked differently.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Store {
    Loki,
    Elasticsearch,
    VictoriaLogs,
}

impl Store {
    /// The name of its table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Loki => "loki",
            Self::Elasticsearch => "elasticsearch",
            Self::VictoriaLogs => "victorialogs",
        }
    }
}

/// A store as a source.
pub(crate) struct LogStore<'a> {
    store: Store,
    config: &'a Config,
    limits: &'a Limits,
    http: Http,
}

impl<'a> LogStore<'a> {
    pub(crate) fn new(
        store: Store,
        config: &'a Config,
        of: &'a SourceConfig,
    ) -> Result<Self, ConfigError> {
        let http = Http::new(store.name(), &config.endpoint())?;
        Ok(Self { store, config, limits: &of.limits, http })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> String {
        self.http.place()
    }

    /// What it offers, for people.
    pub(crate) async fn offer(&self, period: Period) -> Result<Vec<String>, AskError> {
        let found = self.ask(period).await?;
        let query = eog_evidence::shorten(&self.config.query_of(self.store), MAX_QUERY);
        let count = match found.lines.len() {
            count if count < self.config.lines => count.to_string(),
            count => format!("{count} or more"),
        };
        let mut lines = vec![format!("{count} log lines from {period} by {query}")];
        lines.extend(found.missing);
        Ok(lines)
    }

    /// Asks for each part of the time.
    pub(crate) async fn capture(&self, period: Period, parts: &mut Parts<'_>) {
        let name = self.store.name();
        let times = period.parts(self.config.parts).into_iter();
        parts.all(times.map(|at| (format!("{name} {at}"), self.ask(at))), self.limits).await;
    }

    async fn ask(&self, part: Period) -> Result<Piece, AskError> {
        let query = self.config.query_of(self.store);
        let limit = self.config.lines.to_string();
        let time = |at| Timestamp::from_millisecond(at).unwrap_or_default().to_string();
        let (from, until) = (time(part.from), time(part.until));
        let answer = match self.store {
            Store::Loki => {
                let (start, end) =
                    (format!("{}000000", part.from), format!("{}000000", part.until));
                let asked = [
                    ("query", query.as_str()),
                    ("start", &start),
                    ("end", &end),
                    ("limit", &limit),
                    ("direction", "forward"),
                ];
                self.http.get("loki/api/v1/query_range", &asked).await?
            }
            Store::Elasticsearch => {
                let query = format!("@timestamp:[{from} TO {until}] AND ({query})");
                let asked = [("q", query.as_str()), ("size", &limit), ("sort", "@timestamp:asc")];
                let index = self.config.index.as_str();
                self.http.get(&format!("{index}/_search"), &asked).await?
            }
            Store::VictoriaLogs => {
                let asked = [
                    ("query", query.as_str()),
                    ("start", &from),
                    ("end", &until),
                    ("limit", &limit),
                ];
                self.http.get("select/logsql/query", &asked).await?
            }
        };
        let mut piece = read(self.store, &answer)?;
        if piece.lines.len() >= self.config.lines {
            let most = self.config.lines;
            piece.missing.push(format!("there may be more than {most} lines (lines)"));
        }
        Ok(piece)
    }
}

/// The lines of an answer.
pub(crate) fn read(store: Store, answer: &Answer) -> Result<Piece, AskError> {
    let answer = answer.whole("it is longer than max_bytes; ask for fewer lines in more parts")?;
    let no_fallback = |_: &BTreeMap<String, String>| None::<Who>;
    let Found { lines, lost } = match store {
        Store::VictoriaLogs => {
            let values = serde_json::Deserializer::from_slice(&answer.body).into_iter::<Value>();
            let values: Vec<Value> = values
                .collect::<Result<_, _>>()
                .map_err(|error| AskError::Answer(error.to_string()))?;
            objects(&values, no_fallback)
        }
        Store::Loki => {
            let value: Value = answer.json()?;
            if value.pointer("/data/resultType").and_then(Value::as_str) != Some("streams") {
                let reason = "it gives no streams; `query` must select log lines, such as {namespace=\"shop\"}";
                return Err(AskError::Answer(reason.to_owned()));
            }
            streams(&value, no_fallback)
        }
        Store::Elasticsearch => {
            let value: Value = answer.json()?;
            if value.pointer("/hits/hits").is_none() {
                return Err(AskError::Answer("it has no hits".to_owned()));
            }
            hits(&value, no_fallback)
        }
    };
    let mut piece = Piece { lines, ..Piece::default() };
    if lost > 0 {
        let reason = "records without a time, a message, or a name of who wrote them";
        piece.missing.push(format!("{lost} {reason}"));
    }
    Ok(piece)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Answers as the documents of the three show them, with names of our own.
    #[test]
    fn lines_are_read_of_each_store() {
        let cases = [
            (
                Store::Loki,
                r#"{"status":"success","data":{"resultType":"streams","result":[
                    {"stream":{"service_name":"cart","namespace":"shop","detected_level":"error"},"values":[["1767261600000000000","no answer of db"],["1767261601000000000","password=hunter2"]]},
                    {"stream":{"filename":"/x"},"values":[["1767261600000000000","nobody"]]}],"stats":{}}}"#,
                2,
            ),
            (
                Store::Elasticsearch,
                r#"{"took":2,"timed_out":false,"_shards":{"total":1},"hits":{"total":{"value":2,"relation":"eq"},"max_score":null,"hits":[
                    {"_index":"logs","_id":"1","_source":{"@timestamp":"2026-01-01T10:00:00.000Z","message":"no answer of db","log.level":"error","service":{"name":"cart"},"kubernetes":{"namespace":"shop"}}},
                    {"_index":"logs","_id":"2","_source":{"message":"no time"}}]}}"#,
                1,
            ),
            (
                Store::VictoriaLogs,
                "{\"_msg\":\"no answer of db\",\"_stream\":\"{}\",\"_time\":\"2026-01-01T10:00:00Z\",\"level\":\"error\",\"service.name\":\"cart\",\"k8s.namespace.name\":\"shop\"}\n",
                1,
            ),
        ];
        for (store, text, count) in cases {
            let answer = Answer { body: text.as_bytes().to_vec(), is_cut: false };
            let piece = read(store, &answer).unwrap();
            assert_eq!(piece.lines.len(), count, "{store:?}");
            let first = &piece.lines[0];
            let expected = Who::Service { namespace: "shop".into(), name: "cart".into() };
            assert_eq!((&first.who, first.level.as_str()), (&expected, "error"), "{store:?}");
            assert_eq!(first.at, 1_767_261_600_000_000_000, "{store:?}");
            let is_reported = piece.missing.iter().any(|it| it.starts_with("1 records without"));
            assert_eq!(is_reported, store != Store::VictoriaLogs, "{:?}", piece.missing);
            assert!(!format!("{piece:?}").contains("hunter2"));
            let cut = Answer { is_cut: true, ..answer };
            assert!(read(store, &cut).unwrap_err().to_string().contains("max_bytes"));
            let broken = Answer { body: b"<html>".to_vec(), is_cut: false };
            assert!(read(store, &broken).is_err());
        }
    }
}
