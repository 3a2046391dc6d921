//! Alertmanager, by version 2 of its interface: alerts that are active now, with what they say.

use std::collections::BTreeMap;

use eog_evidence::{mask_named, mask_text, shorten};
use jiff::Timestamp;
use serde::Deserialize;

use crate::capture::Parts;
use crate::config::Alertmanager as Config;
use crate::error::{AskError, ConfigError};
use crate::http::{Answer, Http};
use crate::period::Period;
use crate::piece::{Alert, Piece, Place, Run};

/// Most alerts of one answer that are used.
const MAX_ALERTS: usize = 20_000;

/// Longest text of an alert, in characters.
const MAX_TEXT: usize = 2_000;

/// Most annotations of an alert that are kept.
const MAX_SAID: usize = 64;

/// Annotations that describe an alert, best first.
const DESCRIPTIONS: [&str; 3] = ["description", "message", "summary"];

/// Alertmanager as a source.
pub(crate) struct Alertmanager<'a> {
    config: &'a Config,
    http: Http,
}

/// An alert that a client has sent, such as Alertmanager by its webhook.
#[derive(Clone, Debug)]
pub struct SentAlert {
    /// Its labels. Untrusted.
    pub labels: BTreeMap<String, String>,
    /// What it says about itself. Untrusted.
    pub annotations: BTreeMap<String, String>,
    /// Since when it is active.
    pub starts_at: Timestamp,
    /// Until when it was, if it is no more.
    pub ends_at: Option<Timestamp>,
}

/// Adds alerts that were sent. What a source says of one of them is joined with it later.
pub(crate) fn sent(alerts: &[SentAlert], period: Period, all: &mut Piece) {
    for SentAlert { labels, annotations, starts_at, ends_at } in alerts.iter().cloned() {
        let status = Status::default();
        let given =
            Given { labels, annotations, generator_url: String::new(), starts_at, ends_at, status };
        all.alerts.extend(alert(given, period));
    }
}

/// An alert as the interface gives it.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    #[serde(default, rename = "generatorURL")]
    generator_url: String,
    starts_at: Timestamp,
    #[serde(default)]
    ends_at: Option<Timestamp>,
    #[serde(default)]
    status: Status,
}

#[derive(Debug, Default, Deserialize)]
struct Status {
    #[serde(default)]
    state: String,
}

#[derive(Debug, Deserialize)]
struct Group {
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    alerts: Vec<serde::de::IgnoredAny>,
}

impl<'a> Alertmanager<'a> {
    pub(crate) fn new(config: &'a Config) -> Result<Self, ConfigError> {
        let http = Http::new("alertmanager", &config.endpoint())?;
        Ok(Self { config, http })
    }

    /// Where it is.
    pub(crate) fn place(&self) -> String {
        self.http.place()
    }

    /// What it offers, for people.
    pub(crate) async fn offer(&self) -> Result<Vec<String>, AskError> {
        let status = self.http.get("api/v2/status", &[]).await?;
        let status: serde_json::Value = parsed(&status)?;
        let version = status.pointer("/versionInfo/version").and_then(serde_json::Value::as_str);
        let alerts = self.alerts().await?;
        let suppressed = alerts.iter().filter(|one| one.status.state == "suppressed").count();
        let groups: Vec<Group> = parsed(&self.http.get("api/v2/alerts/groups", &[]).await?)?;
        let by: std::collections::BTreeSet<String> = groups
            .iter()
            .map(|group| group.labels.keys().cloned().collect::<Vec<_>>().join(", "))
            .filter(|labels| !labels.is_empty())
            .collect();
        let by = by.into_iter().collect::<Vec<_>>().join("; ");
        let grouped = groups.iter().map(|group| group.alerts.len()).sum::<usize>();
        let by = if by.is_empty() { String::new() } else { format!(" by {}", shorten(&by, 200)) };
        Ok(vec![
            format!("version {}", shorten(version.unwrap_or("unknown"), 60)),
            format!("{} active alerts, {suppressed} of them silenced or inhibited", alerts.len()),
            format!("{} groups{by}, {grouped} alerts in them", groups.len()),
        ])
    }

    /// Asks for the alerts that are active. What was active before is not known here.
    pub(crate) async fn capture(&self, period: Period, parts: &mut Parts<'_>) {
        let ask = async || Ok(piece(self.alerts().await?, period));
        parts.piece("alertmanager alerts", ask).await;
    }

    async fn alerts(&self) -> Result<Vec<Given>, AskError> {
        let mut query = vec![("active", "true"), ("silenced", "true"), ("inhibited", "true")];
        query.extend(self.config.filter.iter().map(|filter| ("filter", filter.as_str())));
        parsed(&self.http.get("api/v2/alerts", &query).await?)
    }
}

fn parsed<T: serde::de::DeserializeOwned>(answer: &Answer) -> Result<T, AskError> {
    answer.whole("it is longer than max_bytes")?.json()
}

/// What an answer says of alerts in a period.
fn piece(given: Vec<Given>, period: Period) -> Piece {
    let mut piece = Piece::default();
    if given.len() > MAX_ALERTS {
        let count = given.len();
        piece.missing.push(format!("{count} alerts, only {MAX_ALERTS} are used"));
    }
    let alerts = given.into_iter().take(MAX_ALERTS);
    piece.alerts = alerts.filter_map(|one| alert(one, period)).collect();
    piece.alerts.sort_by(|a, b| (&a.name, &a.labels).cmp(&(&b.name, &b.labels)));
    piece
}

/// The same from the bytes of an answer.
#[cfg(any(test, feature = "fuzzing"))]
pub(crate) fn read(answer: &Answer, period: Period) -> Result<Piece, AskError> {
    Ok(piece(parsed(answer)?, period))
}

/// An alert that was active in a period.
fn alert(given: Given, period: Period) -> Option<Alert> {
    let began = given.starts_at.as_millisecond();
    // An alert that is not renewed ends a while after it was last received.
    let last = given.ends_at.map_or(period.until, Timestamp::as_millisecond).min(period.until);
    if began > period.until || last < period.from {
        return None;
    }
    let mut labels = given.labels;
    for (name, value) in &mut labels {
        *value = shorten(&mask_named(name, value), MAX_TEXT);
    }
    let description = DESCRIPTIONS.iter().find_map(|name| given.annotations.get(*name));
    let said = given.annotations.values().chain([&given.generator_url]).filter(|it| !it.is_empty());
    let said = said.take(MAX_SAID).map(|text| shorten(&mask_text(text), MAX_TEXT)).collect();
    Some(Alert {
        name: labels.get("alertname").filter(|name| !name.is_empty())?.clone(),
        labels,
        who: None,
        description: description
            .map(|text| shorten(&mask_text(text), MAX_TEXT))
            .unwrap_or_default(),
        said,
        place: Place::default(),
        runs: vec![Run { active_at: began, first: began.max(period.from), last }],
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alerts_of_the_period_are_taken_masked() {
        let text = r#"[{"annotations":{"summary":"login with password=hunter2 failed"},
            "endsAt":"2026-01-01T10:10:00.000Z","fingerprint":"x","receivers":[{"name":"r"}],
            "startsAt":"2026-01-01T10:00:00.000Z","status":{"inhibitedBy":[],"silencedBy":[],"state":"active"},
            "updatedAt":"2026-01-01T10:05:00.000Z","generatorURL":"http://p","labels":{"alertname":"A","job":"cart"}}]"#;
        let answer = Answer { body: text.as_bytes().to_vec(), is_cut: false };
        let at = |text: &str| text.parse::<Timestamp>().unwrap().as_millisecond();
        let of = |from, until| {
            let given: Vec<Given> = parsed(&answer).unwrap();
            alert(given.into_iter().next().unwrap(), Period { from: at(from), until: at(until) })
        };
        let found = of("2026-01-01T09:00:00Z", "2026-01-01T10:05:00Z").unwrap();
        assert_eq!(found.description, "login with password=[masked] failed");
        assert_eq!(found.runs[0].last, at("2026-01-01T10:05:00Z"));
        assert!(of("2026-01-01T08:00:00Z", "2026-01-01T09:00:00Z").is_none());
        assert!(of("2026-01-01T11:00:00Z", "2026-01-01T12:00:00Z").is_none());
    }
}
