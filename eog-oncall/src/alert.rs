//! Alerts as Alertmanager's webhook sends them (version 4), bounded and masked.

use std::collections::BTreeMap;

use eog_evidence::{mask_named, mask_text, shorten};
use eog_sources::SentAlert;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use crate::own::Own;

/// The version of the webhook's body.
const VERSION: &str = "4";
/// Most alerts of one request.
const MAX_ALERTS: usize = 10_000;
/// Most labels or annotations of an alert.
const MAX_NAMES: usize = 64;
/// Most characters of a name, a label and an annotation.
const MAX_NAME: usize = 100;
const MAX_LABEL: usize = 300;
const MAX_TEXT: usize = 1_000;

/// What the webhook sends.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Body {
    version: String,
    group_key: String,
    #[serde(default)]
    truncated_alerts: u64,
    #[serde(default)]
    group_labels: BTreeMap<String, String>,
    alerts: Vec<Given>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Given {
    status: Status,
    #[serde(default)]
    labels: BTreeMap<String, String>,
    #[serde(default)]
    annotations: BTreeMap<String, String>,
    starts_at: Timestamp,
    #[serde(default)]
    ends_at: Option<Timestamp>,
    #[serde(default)]
    fingerprint: String,
}

#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "lowercase")]
enum Status {
    Firing,
    Resolved,
}

/// An alert, as an incident keeps it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Alert {
    /// Its labels, masked. Untrusted.
    pub labels: BTreeMap<String, String>,
    /// What it says about itself, masked. Untrusted.
    pub annotations: BTreeMap<String, String>,
    /// Since when it fires.
    pub starts_at: Timestamp,
    /// Until when it fired; nothing while it fires.
    pub ends_at: Option<Timestamp>,
}

/// A request of the webhook.
#[derive(Debug)]
pub(crate) struct Notification {
    /// What Alertmanager calls the group.
    pub(crate) key: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Alerts by what tells them apart.
    pub(crate) alerts: Vec<(String, Alert)>,
    /// How many alerts Alertmanager has left out.
    pub(crate) truncated: u64,
}

impl Alert {
    /// Whether it fires.
    pub fn is_firing(&self) -> bool {
        self.ends_at.is_none()
    }

    /// What it is called.
    pub fn name(&self) -> &str {
        self.labels.get("alertname").map_or("alert", String::as_str)
    }

    /// What it says about itself, in short if it does so in short.
    pub(crate) fn says(&self) -> &str {
        let of = |name| self.annotations.get(name).map(String::as_str);
        of("summary").or_else(|| of("description")).or_else(|| of("message")).unwrap_or_default()
    }

    pub(crate) fn sent(&self) -> SentAlert {
        SentAlert {
            labels: self.labels.clone(),
            annotations: self.annotations.clone(),
            starts_at: self.starts_at,
            ends_at: self.ends_at,
        }
    }
}

impl Notification {
    /// Reads the body of a request. What held a secret is told apart by digests of this service.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(crate) fn read(body: &[u8], own: &Own) -> Result<Self, String> {
        let body: Body = serde_json::from_slice(body).map_err(|error| {
            mask_text(&format!("not a body of Alertmanager's webhook: {error}"))
        })?;
        if body.version != VERSION {
            let version = shorten(&mask_text(&body.version), 20);
            return Err(format!(
                "version {version:?} of the webhook; eog reads version {VERSION:?}"
            ));
        }
        if body.alerts.len() > MAX_ALERTS {
            return Err(format!(
                "{} alerts in one request, more than {MAX_ALERTS}; set max_alerts in Alertmanager's \
                 webhook_config",
                body.alerts.len()
            ));
        }
        Ok(Self {
            key: key(&body.group_key, own),
            labels: labels(&body.group_labels),
            alerts: body.alerts.into_iter().map(|given| alert(given, own)).collect(),
            truncated: body.truncated_alerts,
        })
    }
}

/// What a group is called without its secrets, still apart from others that differ in those alone.
fn key(given: &str, own: &Own) -> String {
    let masked = mask_text(given);
    let apart = if masked == given { String::new() } else { format!(" #{}", own.digest(given)) };
    shorten(&masked, 2_000) + &apart
}

fn alert(given: Given, own: &Own) -> (String, Alert) {
    let mut fingerprint = shorten(&mask_text(&given.fingerprint), 64);
    let labels = labels(&given.labels);
    let holds_secret = given.labels.iter().any(|(name, value)| mask_named(name, value) != *value);
    if fingerprint.is_empty() {
        // Older senders have none; equal labels are the same alert.
        fingerprint = own.digest(&serde_json::to_string(&given.labels).unwrap_or_default());
    } else if holds_secret {
        // It is a hash of all labels, by which a secret could be tried.
        fingerprint = own.digest(&fingerprint);
    }
    let ends_at = (given.status == Status::Resolved)
        .then(|| given.ends_at.unwrap_or(given.starts_at).max(given.starts_at));
    let texts = given.annotations.into_iter().take(MAX_NAMES);
    let annotations =
        texts.map(|(name, text)| (name_of(&name), shorten(&mask_named(&name, &text), MAX_TEXT)));
    let alert =
        Alert { labels, annotations: annotations.collect(), starts_at: given.starts_at, ends_at };
    (fingerprint, alert)
}

fn labels(given: &BTreeMap<String, String>) -> BTreeMap<String, String> {
    let all = given.iter().take(MAX_NAMES);
    all.map(|(name, value)| {
        let value = shorten(&mask_named(name, value), MAX_LABEL);
        (name_of(name), value)
    })
    .collect()
}

/// The name of a label or annotation, without a secret.
fn name_of(given: &str) -> String {
    shorten(&mask_text(given), MAX_NAME)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Alertmanager 0.28 sends it.
    const REAL: &str = r#"{"receiver":"eog","status":"firing","alerts":[
        {"status":"firing","labels":{"alertname":"HighErrorRate","job":"web"},
         "annotations":{"summary":"login with password=hunter2 failed"},
         "startsAt":"2026-01-01T10:00:00.5Z","endsAt":"0001-01-01T00:00:00Z",
         "generatorURL":"http://p/graph","fingerprint":"a1"},
        {"status":"resolved","labels":{"alertname":"Slow","job":"web"},"annotations":{},
         "startsAt":"2026-01-01T09:00:00Z","endsAt":"2026-01-01T09:30:00Z","fingerprint":"b2"}],
        "groupLabels":{"job":"web"},"commonLabels":{},"commonAnnotations":{},
        "externalURL":"http://a","version":"4","groupKey":"{}:{job=\"web\"}","truncatedAlerts":3}"#;

    #[test]
    fn a_request_is_read_bounded_and_masked() {
        let read = Notification::read(REAL.as_bytes(), &Own::fixed()).unwrap();
        assert_eq!((read.alerts.len(), read.truncated), (2, 3));
        let (fingerprint, first) = &read.alerts[0];
        assert_eq!((fingerprint.as_str(), first.is_firing()), ("a1", true));
        assert_eq!(first.annotations["summary"], "login with password=[masked] failed");
        assert_eq!(read.alerts[1].1.ends_at, Some("2026-01-01T09:30:00Z".parse().unwrap()));
    }

    #[test]
    fn keys_and_labels_that_tell_alerts_apart_hold_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let (here, elsewhere) = (Own::of(folder.path()).unwrap(), Own::fixed());
        let by = |own: &Own, secret: &str| {
            let text = REAL.replace("{job=\\\"web\\\"}", &format!("password={secret}"));
            let text = text.replace("\"fingerprint\":\"a1\"", "\"fingerprint\":\"\"");
            let text = text.replace("\"job\":\"web\"}", &format!("\"password\":\"{secret}\"}}"));
            Notification::read(text.as_bytes(), own).unwrap()
        };
        let of = |secret: &str| by(&here, secret);
        let (one, other) = (of("hunter2"), of("hunter3"));
        assert_eq!((&one.key, &one.alerts), (&of("hunter2").key, &of("hunter2").alerts));
        // What tells them apart cannot be tried by who has not the key: Alertmanager's own hash neither.
        let foreign = by(&elsewhere, "hunter2");
        assert!(one.key != foreign.key && one.alerts[0].0 != foreign.alerts[0].0);
        assert!(one.alerts[1].0 != "b2" && one.alerts[1].0 != foreign.alerts[1].0);
        assert!(one.key.starts_with("{}:password=[masked] #"), "{}", one.key);
        assert!(one.key != other.key && one.alerts[0].0 != other.alerts[0].0);
        assert!(!format!("{one:?}").contains("hunter"), "{one:?}");
        let plain = Notification::read(REAL.as_bytes(), &here).unwrap();
        assert_eq!((plain.key.as_str(), plain.alerts[1].0.as_str()), ("{}:{job=\"web\"}", "b2"));
    }

    #[test]
    fn what_is_no_such_request_is_refused_with_a_reason() {
        for (from, to, expected) in [
            ("\"version\":\"4\"", "\"version\":\"3\"", "version \"3\""),
            ("2026-01-01T10:00:00.5Z", "yesterday", "line 4"),
            ("\"groupKey\"", "\"other\"", "groupKey"),
        ] {
            let error = Notification::read(REAL.replace(from, to).as_bytes(), &Own::fixed());
            let error = error.unwrap_err();
            assert!(error.contains(expected), "{error}");
        }
    }
}
