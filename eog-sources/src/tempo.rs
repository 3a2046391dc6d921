//! Tempo, by its query interface: traces that a search finds, spread over the time.

use std::collections::BTreeSet;

use serde::Deserialize;

use crate::capture::Parts;
use crate::config::{Limits, SourceConfig, Tempo as Config};
use crate::error::{AskError, ConfigError};
use crate::http::Http;
use crate::otlp;
use crate::period::Period;
use crate::piece::Piece;

const CUT: &str = "it is longer than max_bytes";

/// Longest id of a trace that is asked for, in characters.
const MAX_ID: usize = 64;

/// Tempo as a source.
pub(crate) struct Tempo<'a> {
    config: &'a Config,
    limits: &'a Limits,
    http: Http,
}

#[derive(Debug, Deserialize)]
struct Search {
    #[serde(default)]
    traces: Vec<Hit>,
}

#[derive(Debug, Deserialize)]
struct Hit {
    #[serde(rename = "traceID")]
    id: String,
}

impl<'a> Tempo<'a> {
    pub(crate) fn new(config: &'a Config, of: &'a SourceConfig) -> Result<Self, ConfigError> {
        let http = Http::new("tempo", &config.endpoint())?;
        Ok(Self { config, limits: &of.limits, http })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> String {
        self.http.place()
    }

    /// What it offers, for people.
    pub(crate) async fn offer(&self, period: Period) -> Result<Vec<String>, AskError> {
        let found = self.search(period).await?;
        let most = self.config.traces;
        let query = eog_evidence::shorten(&self.config.query, 200);
        let count =
            if found.len() < most { found.len().to_string() } else { format!("{most} or more") };
        Ok(vec![format!("{count} traces from {period} by {query}")])
    }

    /// Searches each part of the time, and asks for each trace that was found.
    pub(crate) async fn capture(&self, period: Period, parts: &mut Parts<'_>) {
        let mut ids = BTreeSet::new();
        for part in period.parts(self.config.parts) {
            let name = format!("tempo search {part}");
            let found = parts.value(&name, &name, async || self.search(part).await).await;
            ids.extend(found.into_iter().flatten());
        }
        let asked = ids.iter().map(|id| (format!("tempo trace {id}"), self.trace(id, period)));
        parts.all(asked, self.limits).await;
        parts.distinct_spans();
    }

    /// Ids of traces; what is no id is left out, as it becomes a part of an address.
    async fn search(&self, part: Period) -> Result<Vec<String>, AskError> {
        let (start, end) = (part.from / 1000, (part.until + 999) / 1000);
        let (start, end, limit) =
            (start.to_string(), end.to_string(), self.config.traces.to_string());
        let query = [
            ("q", self.config.query.as_str()),
            ("start", &start),
            ("end", &end),
            ("limit", &limit),
        ];
        let found: Search = self.http.get("api/search", &query).await?.whole(CUT)?.json()?;
        let is_id = |id: &String| {
            (1..=MAX_ID).contains(&id.len()) && id.bytes().all(|c| c.is_ascii_hexdigit())
        };
        Ok(found.traces.into_iter().map(|hit| hit.id).filter(is_id).collect())
    }

    async fn trace(&self, id: &str, period: Period) -> Result<Piece, AskError> {
        let answer = self.http.get(&format!("api/traces/{id}"), &[]).await?;
        let (spans, unusable) = otlp::trace(&answer.whole(CUT)?.body).map_err(AskError::Answer)?;
        let spans = spans.into_iter().filter(|span| period.contains(span.start / 1_000_000));
        let mut piece = Piece { spans: spans.collect(), ..Piece::default() };
        if unusable > 0 {
            piece.missing.push(format!("{unusable} spans without service.name, ids or times"));
        }
        Ok(piece)
    }
}
