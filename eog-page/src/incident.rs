//! The page of an incident of the on-call service: its stage, its alerts, the link to its investigation.

use eog_core::Timestamp;
use eog_report::clean::clean_up_to;
use eog_report::words;
use serde::Serialize;

use crate::assets::{Parts, render};
use crate::texts::MAX_TEXT;

const INCIDENT: &str = include_str!("../assets/incident.hbs");
/// Most alerts of one page.
const MAX_ALERTS: usize = 200;

/// An incident, as its page shows it.
#[derive(Clone, Debug)]
pub struct Incident {
    /// Its id, such as `in-000001`.
    pub id: String,
    /// Its title. Untrusted.
    pub title: String,
    /// Its stage: `queued`, `running`, `firing`, `resolved` or `closed`.
    pub stage: String,
    /// When its first alert came in.
    pub opened: Timestamp,
    /// The id of its investigation.
    pub investigation: Option<String>,
    /// How sure the last result is.
    pub confidence: Option<String>,
    /// The causes of the last result. Untrusted.
    pub causes: Vec<String>,
    /// Why the last run has no result.
    pub problem: Option<String>,
    /// What followed the repair of the causes. Untrusted.
    pub recovery: Option<String>,
    /// Its alerts.
    pub alerts: Vec<Alerted>,
    /// How many more it had that are not kept.
    pub left_out: u64,
}

/// An alert of an incident. Its texts are untrusted.
#[derive(Clone, Debug)]
pub struct Alerted {
    /// Its name.
    pub name: String,
    /// Since when it fires.
    pub since: Timestamp,
    /// Until when it fired; `None` while it fires.
    pub until: Option<Timestamp>,
    /// Its description.
    pub says: String,
    /// Its labels, in words.
    pub labels: String,
}

#[derive(Serialize)]
struct Shown<'a> {
    policy: String,
    style: &'a str,
    id: &'a str,
    title: String,
    stage: &'a str,
    /// What the stage is, in words.
    means: &'static str,
    opened: String,
    /// Whether a result is expected soon. The page does not reload while it is read.
    waits: bool,
    investigation: Option<&'a str>,
    confidence: Option<&'a str>,
    causes: String,
    problem: Option<String>,
    recovery: Option<String>,
    alerts: Vec<Cells>,
    more: u64,
}

#[derive(Serialize)]
struct Cells {
    name: String,
    since: String,
    until: Option<String>,
    says: String,
    labels: String,
}

/// The page of an incident: of its alerts, those that fire and began last come first.
pub fn incident(of: &Incident) -> String {
    let parts = Parts::small(Vec::new());
    let shown = |text: &str| clean_up_to(text, MAX_TEXT);
    let mut alerts: Vec<&Alerted> = of.alerts.iter().collect();
    alerts.sort_by_key(|alert| (alert.until.is_some(), std::cmp::Reverse(alert.since)));
    let cells = |alert: &&Alerted| Cells {
        name: shown(&alert.name),
        since: words::instant(alert.since),
        until: alert.until.map(words::instant),
        says: shown(&alert.says),
        labels: shown(&alert.labels),
    };
    let hidden = u64::try_from(alerts.len().saturating_sub(MAX_ALERTS)).unwrap_or(u64::MAX);
    let page = Shown {
        policy: parts.policy(),
        style: &parts.style,
        id: &of.id,
        title: shown(&of.title),
        stage: &of.stage,
        means: means(&of.stage),
        opened: words::instant(of.opened),
        waits: matches!(of.stage.as_str(), "queued" | "running"),
        investigation: of.investigation.as_deref(),
        confidence: of.confidence.as_deref(),
        causes: shown(&of.causes.join(", ")),
        problem: of.problem.as_deref().map(shown),
        recovery: of.recovery.as_deref().map(shown),
        alerts: alerts.iter().take(MAX_ALERTS).map(cells).collect(),
        more: hidden.saturating_add(of.left_out),
    };
    render(INCIDENT, &page)
}

/// A stage in words; empty for an unknown one.
fn means(stage: &str) -> &'static str {
    match stage {
        "queued" => "waiting for its investigation",
        "running" => "being investigated",
        "firing" => "investigated; alerts are still firing",
        "resolved" => "no alert is firing; it is closed if that lasts",
        "closed" => "closed; a later alert opens another incident",
        _ => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</title><script>alert(1)</script>\u{202e}\u{1b}[31m";

    fn alerted(second: usize) -> Alerted {
        Alerted {
            name: format!("A{second:03} {HOSTILE}"),
            since: format!("2026-03-20T12:{:02}:{:02}Z", second / 60, second % 60).parse().unwrap(),
            until: (second % 2 == 1).then(|| "2026-03-20T13:00:00Z".parse().unwrap()),
            says: HOSTILE.to_owned(),
            labels: format!("job={HOSTILE}"),
        }
    }

    fn of(stage: &str, investigation: Option<&str>, alerts: usize) -> Incident {
        Incident {
            id: "in-000001".to_owned(),
            title: HOSTILE.to_owned(),
            stage: stage.to_owned(),
            opened: "2026-03-20T12:00:00.5Z".parse().unwrap(),
            investigation: investigation.map(str::to_owned),
            confidence: investigation.map(|_| "likely".to_owned()),
            causes: investigation.map(|_| HOSTILE.to_owned()).into_iter().collect(),
            problem: investigation.is_none().then(|| HOSTILE.to_owned()),
            recovery: investigation.map(|_| HOSTILE.to_owned()),
            alerts: (0..alerts).map(alerted).collect(),
            left_out: 2,
        }
    }

    #[test]
    fn it_says_how_it_stands_and_shows_hostile_texts_as_text() {
        for shown in [of("queued", None, 2), of("firing", Some("inv-000007"), 2)] {
            let page = incident(&shown);
            assert!(page.contains("&lt;/title&gt;") && !page.contains("<script"), "{page}");
            assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'), "{page}");
            assert!(page.contains("script-src &#x27;none&#x27;"), "{page}");
            assert!(page.contains("<time>2026-03-20 12:00:00Z</time>"), "{page}");
            let is_there = shown.investigation.is_some();
            assert_eq!(page.contains("href=\"/i/inv-000007\""), is_there, "{page}");
            assert_eq!(page.contains(">Reload<"), !is_there, "{page}");
            assert!(!page.contains("http-equiv=\"refresh\""), "{page}");
            assert_eq!(page.contains("class=\"open\""), !is_there, "{page}");
        }
    }

    #[test]
    fn it_promises_nothing_where_nothing_is_to_come() {
        for stage in ["queued", "running", "firing", "resolved", "closed"] {
            let page = incident(&of(stage, None, 0));
            let waits = matches!(stage, "queued" | "running");
            assert_eq!(page.contains("no investigation yet"), waits, "{page}");
            assert_eq!(page.contains("href=\"/incidents/in-000001\""), waits, "{page}");
            assert!(page.contains("No alerts are stored.") && !page.contains("<table"), "{page}");
            assert!(page.contains(&format!("<dd>{stage}: {}</dd>", means(stage))), "{page}");
        }
    }

    #[test]
    fn of_many_alerts_those_are_shown_that_fire() {
        let page = incident(&of("firing", None, MAX_ALERTS + 50));
        let place = |name: &str| page.find(&format!("\">{name} "));
        assert!(place("A248") < place("A000") && place("A000") < place("A249"), "{page}");
        assert_eq!(page.matches("<tr><th scope=\"row\">").count(), MAX_ALERTS);
        assert!(page.contains("Further alerts, not shown: 52."), "{page}");
    }
}
