//! Alerts in any form in which they are sent, bounded and masked.

use std::collections::BTreeMap;

use eog_evidence::{mask_named, mask_text, shorten};
use eog_sources::SentAlert;
use eog_sre::subject::{SERVICE_LABELS, subjects};
use eog_sre::{AlertForm, AlertState, Notice, Notices, read_notices};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::own::Own;

/// Most alerts of one request.
const MAX_ALERTS: usize = 10_000;
/// Most labels or annotations of an alert.
const MAX_NAMES: usize = 64;
/// Most characters of a name, a label and an annotation.
const MAX_NAME: usize = 100;
const MAX_LABEL: usize = 300;
const MAX_TEXT: usize = 1_000;
/// Most alerts that an answer names.
const MAX_NAMED: usize = 3;

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

/// A request with alerts.
#[derive(Clone, Debug)]
pub(crate) struct Notification {
    /// What the sender calls the group.
    pub(crate) key: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// Alerts by identity.
    pub(crate) alerts: Vec<(String, Alert)>,
    /// How many alerts the sender has left out.
    pub(crate) truncated: u64,
    /// The form in which they came.
    pub(crate) form: AlertForm,
    /// What the sender is to know.
    pub(crate) notes: Vec<String>,
    /// Where a subscription is to be confirmed, and to which topic.
    pub(crate) subscription: Option<(String, String)>,
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
    /// Reads the body of a request, in any form of alerts. What held a secret is identified by digests of this
    /// service.
    ///
    /// # Errors
    /// What is wrong with it, or what was expected in its place.
    pub(crate) fn read(body: &[u8], own: &Own, now: Timestamp) -> Result<Self, String> {
        let body: Value = serde_json::from_slice(body)
            .map_err(|error| mask_text(&format!("invalid JSON: {error}")))?;
        let Notices { form, group, group_labels, alerts, truncated, unusable, subscription } =
            read_notices(&body).map_err(|error| mask_text(&error))?;
        let count = alerts.len() + unusable.len();
        if count > MAX_ALERTS {
            return Err(format!(
                "{count} alerts in one request, more than {MAX_ALERTS}; set max_alerts in Alertmanager's \
                 webhook_config"
            ));
        }
        if let (true, Some(first)) = (alerts.is_empty(), unusable.first()) {
            return Err(format!("{form}: {}", shorten(&mask_text(first), 300)));
        }
        let mut notes = Vec::new();
        if let Some(first) = unusable.first() {
            let (count, first) = (unusable.len(), shorten(&mask_text(first), 300));
            notes.push(format!("{count} cannot be used: {first}"));
        }
        let (pending, active): (Vec<Notice>, Vec<Notice>) =
            alerts.into_iter().partition(|alert| alert.state == AlertState::Pending);
        if !pending.is_empty() {
            notes.push(format!("{} not firing yet", pending.len()));
        }
        let nameless = active.iter().filter(|alert| {
            subjects(&alert.labels, &SERVICE_LABELS).is_empty() && alert.state == AlertState::Firing
        });
        for alert in nameless.take(MAX_NAMED) {
            let labels: Vec<&str> = alert.labels.keys().map(String::as_str).collect();
            notes.push(format!(
                "no label of {} names its entity ({}); its other texts are searched",
                shorten(
                    &mask_text(alert.labels.get("alertname").map_or("", String::as_str)),
                    MAX_NAME
                ),
                shorten(&labels.join(", "), MAX_LABEL)
            ));
        }
        Ok(Self {
            form,
            // What comes without a group is one: `group_by` divides it.
            key: key(group.as_deref().unwrap_or("alerts"), own),
            labels: labels(&group_labels),
            alerts: active.into_iter().map(|given| alert(given, own, now)).collect(),
            truncated,
            notes,
            subscription,
        })
    }

    /// What became of it, in one line.
    pub(crate) fn in_words(&self) -> String {
        let count = match self.alerts.len() {
            1 => "1 alert".to_owned(),
            count => format!("{count} alerts"),
        };
        let notes: String = self.notes.iter().map(|note| format!("; {note}")).collect();
        format!("taken in: {count} ({}){notes}", self.form)
    }
}

/// What a group is called without its secrets, still apart from others that differ in those alone.
fn key(given: &str, own: &Own) -> String {
    let masked = mask_text(given);
    let apart = if masked == given { String::new() } else { format!(" #{}", own.digest(given)) };
    shorten(&masked, 2_000) + &apart
}

fn alert(given: Notice, own: &Own, now: Timestamp) -> (String, Alert) {
    let mut fingerprint = shorten(&mask_text(&given.key), 64);
    let labels = labels(&given.labels);
    let holds_secret = given.labels.iter().any(|(name, value)| mask_named(name, value) != *value);
    if fingerprint.is_empty() {
        // Equal labels are the same alert.
        fingerprint = own.digest(&serde_json::to_string(&given.labels).unwrap_or_default());
    } else if holds_secret || given.key.chars().count() > 64 {
        // It may be a hash of all labels, by which a secret could be tried.
        fingerprint = own.digest(&given.key);
    }
    let starts_at = given.starts_at.filter(|at| at.as_second() > 0);
    let is_over = given.state == AlertState::Resolved;
    // Prometheus says until when an alert is to count, or, in the past, when it ended.
    let ended = given.ends_at.filter(|at| is_over || *at <= now);
    let starts_at = starts_at.unwrap_or_else(|| ended.unwrap_or(now));
    let ends_at = match is_over {
        true => Some(ended.unwrap_or(starts_at).max(starts_at)),
        false => ended.map(|at| at.max(starts_at)),
    };
    let texts = given.annotations.into_iter().take(MAX_NAMES);
    let annotations =
        texts.map(|(name, text)| (name_of(&name), shorten(&mask_named(&name, &text), MAX_TEXT)));
    (fingerprint, Alert { labels, annotations: annotations.collect(), starts_at, ends_at })
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

    const NOW: Timestamp = Timestamp::UNIX_EPOCH;

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
        let read = Notification::read(REAL.as_bytes(), &Own::fixed(), NOW).unwrap();
        assert_eq!((read.alerts.len(), read.truncated), (2, 3));
        let (fingerprint, first) = &read.alerts[0];
        assert_eq!((fingerprint.as_str(), first.is_firing()), ("a1", true));
        assert_eq!(first.annotations["summary"], "login with password=[masked] failed");
        assert_eq!(read.alerts[1].1.ends_at, Some("2026-01-01T09:30:00Z".parse().unwrap()));
    }

    #[test]
    fn keys_and_labels_that_identify_alerts_hold_no_secret() {
        let folder = tempfile::tempdir().unwrap();
        let (here, elsewhere) =
            (Own::of(&eog::durable::RealDisk, folder.path()).unwrap(), Own::fixed());
        let by = |own: &Own, secret: &str| {
            let text = REAL.replace("{job=\\\"web\\\"}", &format!("password={secret}"));
            let text = text.replace("\"fingerprint\":\"a1\"", "\"fingerprint\":\"\"");
            let text = text.replace("\"job\":\"web\"}", &format!("\"password\":\"{secret}\"}}"));
            Notification::read(text.as_bytes(), own, NOW).unwrap()
        };
        let of = |secret: &str| by(&here, secret);
        let (one, other) = (of("hunter2"), of("hunter3"));
        assert_eq!((&one.key, &one.alerts), (&of("hunter2").key, &of("hunter2").alerts));
        // Identities cannot be guessed without the key, and neither can Alertmanager's own hash.
        let foreign = by(&elsewhere, "hunter2");
        assert!(one.key != foreign.key && one.alerts[0].0 != foreign.alerts[0].0);
        assert!(one.alerts[1].0 != "b2" && one.alerts[1].0 != foreign.alerts[1].0);
        assert!(one.key.starts_with("{}:password=[masked] #"), "{}", one.key);
        assert!(one.key != other.key && one.alerts[0].0 != other.alerts[0].0);
        assert!(!format!("{one:?}").contains("hunter"), "{one:?}");
        let plain = Notification::read(REAL.as_bytes(), &here, NOW).unwrap();
        assert_eq!((plain.key.as_str(), plain.alerts[1].0.as_str()), ("{}:{job=\"web\"}", "b2"));
    }

    #[test]
    fn what_is_no_such_request_is_refused_with_a_reason() {
        for (from, to, expected) in [
            ("\"version\":\"4\"", "\"version\":\"3\"", "version \"3\""),
            ("\"alerts\":[", "\"alarms\":[", "expected a JSON body of Alertmanager"),
            ("{\"receiver\"", "receiver", "invalid JSON"),
        ] {
            let text = REAL.replace(from, to);
            let error = Notification::read(text.as_bytes(), &Own::fixed(), NOW).unwrap_err();
            assert!(error.contains(expected) && error.lines().count() == 1, "{error}");
        }
    }

    #[test]
    fn an_alert_that_cannot_be_used_is_reported_with_the_others() {
        let text = REAL.replace("2026-01-01T10:00:00.5Z", "yesterday");
        let read = Notification::read(text.as_bytes(), &Own::fixed(), NOW).unwrap();
        assert_eq!(read.alerts.len(), 1);
        let summary = read.in_words();
        assert!(
            summary.contains("1 cannot be used: alert 1: \"yesterday\" is no time"),
            "{summary}"
        );
    }

    #[test]
    fn what_prometheus_sends_counts_until_it_ends() {
        let text = r#"[{"labels":{"alertname":"A","host":"a"},"startsAt":"2026-01-01T10:00:00Z","endsAt":"2026-01-01T10:09:00Z"},
            {"labels":{"alertname":"A","severity":"page"},"startsAt":"2026-01-01T10:00:00Z","endsAt":"2026-01-01T09:59:00Z"},
            {"labels":{"alertname":"B","severity":"page"}}]"#;
        let now = "2026-01-01T10:05:00Z".parse().unwrap();
        let read = Notification::read(text.as_bytes(), &Own::fixed(), now).unwrap();
        let ends: Vec<bool> = read.alerts.iter().map(|(_, alert)| alert.is_firing()).collect();
        assert_eq!(ends, [true, false, true]);
        assert_eq!(read.alerts[2].1.starts_at, now, "it says no time");
        let summary = read.in_words();
        assert!(
            summary.starts_with("taken in: 3 alerts (Alertmanager alerts (api/v2))"),
            "{summary}"
        );
        assert!(
            summary.contains("no label of B names its entity (alertname, severity)"),
            "{summary}"
        );
    }
}
