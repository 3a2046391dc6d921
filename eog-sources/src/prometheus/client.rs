//! Queries over a range: cut into what a server gives at once, halved where it is too much.

use super::answer::{Matrix, Raw, matrix, names};
use crate::config::Prometheus as Config;
use crate::error::{AskError, ConfigError};
use crate::http::Http;
use crate::period::{Period, shown};
use crate::piece::Millis;

/// How often a part of the range is halved when it is too much for the server.
const HALVINGS: u32 = 3;

/// A server that has the HTTP interface of Prometheus.
#[derive(Clone, Debug)]
pub(super) struct Client {
    http: Http,
    max_points: i64,
    max_series: usize,
}

/// What a query over a range gave.
#[derive(Debug, Default)]
pub(super) struct Ranged {
    /// Each label set once, with its points by time.
    pub(super) series: Vec<Raw>,
    /// What is left out or missing.
    pub(super) missing: Vec<String>,
    pub(super) notes: Vec<String>,
}

impl Client {
    pub(super) fn new(config: &Config) -> Result<Self, ConfigError> {
        let http = Http::new("prometheus", &config.endpoint())?;
        let (max_points, max_series) = (i64::from(config.max_points), config.max_series);
        Ok(Self { http, max_points, max_series })
    }

    pub(super) fn place(&self) -> String {
        self.http.place()
    }

    /// What the server says it is.
    pub(super) async fn version(&self) -> Result<String, AskError> {
        let answer = self.http.get("api/v1/status/buildinfo", &[]).await?;
        let value: serde_json::Value = answer.json()?;
        let text = value.pointer("/data/version").and_then(serde_json::Value::as_str);
        Ok(eog_evidence::shorten(text.unwrap_or("unknown"), 60))
    }

    /// The names of metrics that there were.
    pub(super) async fn metrics(&self, period: Period) -> Result<Vec<String>, AskError> {
        let [start, end] = [seconds(period.from), seconds(period.until)];
        let query = [("start", start.as_str()), ("end", &end)];
        names(&self.http.get("api/v1/label/__name__/values", &query).await?)
    }

    /// The value at one time; with a range, its points.
    pub(super) async fn at(&self, query: &str, at: Millis) -> Result<Matrix, AskError> {
        let timeout = format!("{}ms", self.http.timeout().as_millis());
        let form = [("query", query), ("time", &seconds(at)), ("timeout", &timeout)];
        matrix(&self.http.post("api/v1/query", &form).await?, self.max_series)
    }

    /// The values over a range, from whole multiples of the step on, so that equal questions have
    /// equal answers.
    pub(super) async fn range(
        &self,
        query: &str,
        period: Period,
        step_ms: Millis,
    ) -> Result<Ranged, AskError> {
        let mut found = Ranged::default();
        let first = period.from.div_euclid(step_ms) * step_ms;
        let mut waiting = Vec::new();
        let mut from = first;
        while from <= period.until {
            let until = (from + (self.max_points - 1) * step_ms).min(period.until);
            waiting.push((Period { from, until }, 0));
            from += self.max_points * step_ms;
        }
        waiting.reverse();
        let (mut answered, mut last) = (false, None);
        while let Some((part, halved)) = waiting.pop() {
            match self.part(query, part, step_ms).await {
                Ok(matrix) => {
                    answered = true;
                    self.take(matrix, &mut found);
                }
                Err(error)
                    if error.is_too_much() && halved < HALVINGS && part.until > part.from =>
                {
                    let steps = (part.until - part.from) / step_ms;
                    let middle = part.from + steps / 2 * step_ms;
                    waiting.push((Period { from: middle + step_ms, ..part }, halved + 1));
                    waiting.push((Period { until: middle, ..part }, halved + 1));
                    waiting.retain(|(part, _)| part.from <= part.until);
                }
                Err(error) => {
                    let (from, until) = (shown(part.from), shown(part.until));
                    found.missing.push(format!("{from} to {until}: {error}"));
                    let goes_on = error.is_too_much();
                    last = Some(error);
                    // A server that is away or refuses the question does so for each part of it.
                    if !goes_on {
                        break;
                    }
                }
            }
        }
        match last {
            Some(error) if !answered => Err(error),
            _ => Ok(found),
        }
    }

    async fn part(&self, query: &str, part: Period, step_ms: Millis) -> Result<Matrix, AskError> {
        let timeout = format!("{}ms", self.http.timeout().as_millis());
        let (start, end, step) = (seconds(part.from), seconds(part.until), seconds(step_ms));
        let form = [
            ("query", query),
            ("start", &start),
            ("end", &end),
            ("step", &step),
            ("timeout", &timeout),
        ];
        matrix(&self.http.post("api/v1/query_range", &form).await?, self.max_series)
    }

    fn take(&self, matrix: Matrix, found: &mut Ranged) {
        let add_once = |text: String, list: &mut Vec<String>| {
            if !list.contains(&text) {
                list.push(text);
            }
        };
        if matrix.is_cut {
            let count = matrix.series.len();
            let text =
                format!("an answer was longer than max_bytes: {count} series of it are used");
            add_once(text, &mut found.missing);
        }
        if matrix.left_out > 0 {
            let (kept, all) = (matrix.series.len(), matrix.series.len() + matrix.left_out);
            let text = format!("{all} series, only the first {kept} are used (max_series)");
            add_once(text, &mut found.missing);
        }
        for warning in matrix.warnings {
            let warning = eog_evidence::shorten(&eog_evidence::mask_text(&warning), 300);
            add_once(format!("the server says: {warning}"), &mut found.missing);
        }
        for one in matrix.series {
            // Parts come by time, and each gives its series sorted.
            match found.series.binary_search_by(|known| known.labels.cmp(&one.labels)) {
                Ok(at) => {
                    if let Some(known) = found.series.get_mut(at) {
                        known.points.extend(one.points);
                    }
                }
                Err(at) if found.series.len() < self.max_series => found.series.insert(at, one),
                Err(_) => {
                    let max = self.max_series;
                    add_once(format!("more than {max} series (max_series)"), &mut found.missing);
                }
            }
        }
    }
}

/// Seconds with their fraction, as the interface takes them.
fn seconds(at: Millis) -> String {
    format!("{}.{:03}", at.div_euclid(1000), at.rem_euclid(1000))
}
