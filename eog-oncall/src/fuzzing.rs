//! What holds of what the service reads, whatever it is. Each function takes bytes and panics when something
//! does not hold; the targets of `fuzz/` and the tests of this crate call the same ones.

use std::fs;

use jiff::{SignedDuration, Timestamp};

use crate::Config;
use crate::alert::Notification;
use crate::incident::{Incident, Pace};
use crate::own::Own;
use crate::template::{Body, Form};

/// Alerts that an incident of these checks keeps.
const MOST: usize = 8;

/// A body of the webhook is refused, or its alerts make an incident that is stored and read again.
///
/// # Panics
/// When neither is so.
pub fn webhook(bytes: &[u8]) {
    let read = Notification::read(bytes, &Own::fixed(), Timestamp::UNIX_EPOCH);
    let Ok(sent) = read else { return };
    let second = SignedDuration::from_secs(1);
    let pace = Pace { settle: second, pause: second, quiet: second, watch: second };
    for now in [Timestamp::UNIX_EPOCH, Timestamp::MAX] {
        let mut incident = Incident::new(1, sent.key.clone(), sent.labels.clone(), now);
        for (fingerprint, alert) in &sent.alerts {
            // What is asked of live sources is made of it.
            let _ = alert.sent();
            incident.receive(fingerprint, alert.clone(), now, MOST);
        }
        assert!(incident.alerts.len() <= MOST);
        if incident.is_due(now, &pace) {
            incident.begin();
            incident.fail("no".to_owned(), true, now);
        }
        let _ = (incident.title(), incident.stage(), incident.is_over(now, &pace));
        let text = serde_json::to_string(&incident).expect("an incident is JSON");
        let again: Incident = serde_json::from_str(&text).expect("it was written a moment ago");
        assert_eq!(serde_json::to_string(&again).ok(), Some(text));
    }
}

/// A file of an incident is refused, or goes on.
///
/// # Panics
/// When it does neither.
pub fn incident(bytes: &[u8]) {
    let Ok(mut incident) = serde_json::from_slice::<Incident>(bytes) else { return };
    let now = Timestamp::UNIX_EPOCH;
    let second = SignedDuration::from_secs(1);
    let pace = Pace { settle: second, pause: second, quiet: second, watch: second };
    if incident.is_due(now, &pace) {
        incident.begin();
        incident.cut_off();
    }
    let _ = (incident.id(), incident.title(), incident.stage(), incident.is_over(now, &pace));
}

/// A configuration is read, or refused by name.
///
/// # Panics
/// When an error does not name the file.
pub fn oncall_toml(bytes: &[u8]) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("oncall.toml");
    fs::write(&file, bytes).expect("a file in it");
    let source = "[prometheus]\nurl = 'http://localhost:1'\n";
    fs::write(folder.path().join("source.toml"), source).expect("a file in it");
    match Config::read(&file) {
        Ok(config) => assert!(!config.in_words().is_empty()),
        Err(error) => assert!(error.to_string().contains("oncall.toml"), "{error}"),
    }
}

/// A template of a message is refused, or what it makes is bounded.
///
/// # Panics
/// When neither is so.
pub fn template(bytes: &[u8]) {
    let text = String::from_utf8_lossy(bytes);
    for form in [Form::Json, Form::Slack, Form::Markdown] {
        if let Err(error) = Body::new(form, Some((&text, "own.hbs"))) {
            assert!(error.starts_with("own.hbs: "), "{error}");
        }
    }
}

#[cfg(test)]
#[path = "../../fuzz/replay.rs"]
mod replay;

#[cfg(test)]
mod tests {
    use super::replay::replay;

    #[test]
    fn corpora_of_the_targets_are_read() {
        replay("webhook", super::webhook);
        replay("incident", super::incident);
        replay("oncall_toml", super::oncall_toml);
        replay("template", super::template);
    }
}
