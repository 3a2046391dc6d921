//! Pages that are served: the report while an investigation runs and after it, the list of
//! investigations, the form that asks for a token, the page for an unknown address.
//!
//! They are made as the report is: escaped text, inert data, a policy of hashes. A live page may also
//! ask its own server, and no other host.

use eog_core::Timestamp;
use eog_report::clean::clean_up_to;
use eog_report::{Answer, Report, Step, StepKind, words};
use serde::Serialize;
use serde_json::Value;

use crate::assets::{CONNECT, Parts, page, render};
use crate::texts::MAX_TEXT;
use crate::{Charts, data, inert, sections};

const LIST: &str = include_str!("../assets/list.hbs");
const SIGN_IN: &str = include_str!("../assets/sign-in.hbs");
const MISSING: &str = include_str!("../assets/missing.hbs");
const WAITING: &str = include_str!("../assets/waiting.hbs");
pub(crate) const LIST_SCRIPT: &str = include_str!("../assets/page/list.js");

/// The data of a served page of an investigation beside its report.
#[derive(Clone, Debug, Serialize)]
pub struct Live {
    /// The path of the investigation, such as `/i/inv-000001`; what the page asks for lies below.
    pub base: String,
    /// The number of the first entry that is not in the page.
    pub next: u64,
    /// Its state, as the events send it.
    pub status: Value,
    /// Whether the incident can be closed on the page.
    pub closes: bool,
}

/// The page of an investigation so far: the report, with current events above it.
pub fn live(report: &Report, steps: &[Step], charts: &Charts, live: &Live) -> String {
    let (data, findings) = data::data(report, steps, charts);
    let sections = sections::sections(report, steps, charts, &findings);
    let is_running = live.status.get("running").and_then(Value::as_bool).unwrap_or_default();
    let live = inert::json(live);
    page(&sections, &inert::json(&data), Some((live.as_str(), is_running)))
}

/// One entry, for a page that grows.
#[derive(Serialize)]
struct NewEntry {
    seq: u64,
    kind: &'static str,
    words: String,
    name: Option<String>,
    why: String,
    from: Option<u64>,
    changed: String,
    seen: usize,
    answer: Option<String>,
    label: Option<String>,
    summary: Option<String>,
    rule: Option<String>,
    claims: Vec<(String, String)>,
    notified: Vec<String>,
    queued: Vec<String>,
    grown: Vec<data::Grown>,
}

/// One entry as JSON on one line, for a live page that was made before it.
pub fn live_step(step: &Step) -> String {
    let shown = |text: &str| clean_up_to(text, MAX_TEXT);
    let names = |all: &[eog_core::EntityId]| {
        all.iter().map(|entity| shown(entity.as_str())).collect::<Vec<_>>()
    };
    let belief = step.belief.as_ref();
    let claims = belief.iter().flat_map(|belief| &belief.claims);
    inert::json(&NewEntry {
        seq: step.seq,
        kind: match step.kind {
            StepKind::Opened => "opened",
            StepKind::Looked => "looked",
            StepKind::Observed => "observed",
            StepKind::Forked => "forked",
            StepKind::Other => "other",
        },
        words: shown(&step.words),
        name: step.entity.as_ref().map(|entity| shown(entity.as_str())),
        why: shown(&step.trail.why),
        from: step.trail.grew_from,
        changed: shown(&step.trail.changed),
        seen: step.saw.len(),
        answer: match &step.answer {
            Answer::None | Answer::Decided => None,
            Answer::Remembered(entry) => {
                Some(format!("unchanged packet: the answer of entry {entry}"))
            }
            Answer::Failed(reason) => Some(shown(&format!("failed: {reason}"))),
        },
        label: belief.map(|belief| belief.label.to_string()),
        summary: belief.map(|belief| shown(&belief.summary)),
        rule: belief.and_then(|belief| belief.rule.as_deref()).map(shown),
        claims: claims.map(|(from, to)| (shown(from.as_str()), shown(to.as_str()))).collect(),
        notified: names(&step.notified),
        queued: names(&step.trail.queued),
        grown: data::grown(step),
    })
}

/// One investigation in a list.
#[derive(Clone, Debug, Serialize)]
pub struct Row {
    /// The path of its page.
    pub path: String,
    /// Its id.
    pub id: String,
    /// The title of the incident. Untrusted.
    pub name: String,
    /// When it was begun, if known.
    pub began: Option<Timestamp>,
    /// `running`, `finished` or `interrupted`.
    pub status: String,
    /// How sure the result is; empty while there is none.
    pub confidence: String,
    /// The origins that explain an alert. Untrusted.
    pub origins: Vec<String>,
}

#[derive(Serialize)]
struct Listed<'a> {
    policy: String,
    style: &'a str,
    scripts: &'a [&'a str],
    rows: Vec<Cells>,
    count: usize,
    has_cases: bool,
    starts: bool,
    folders: Vec<String>,
}

#[derive(Serialize)]
struct Cells {
    path: String,
    id: String,
    name: String,
    began: String,
    status: String,
    confidence: String,
    origins: String,
}

/// The list of investigations, with a search, with a form that begins one where folders can be named, and with the way to
/// closed incidents if there are any.
pub fn list(rows: &[Row], folders: Option<&[String]>, has_cases: bool) -> String {
    let parts = Parts { more: CONNECT, ..Parts::small(vec![LIST_SCRIPT]) };
    let shown = |text: &str| clean_up_to(text, MAX_TEXT);
    let cells = |row: &Row| Cells {
        path: row.path.clone(),
        id: row.id.clone(),
        name: shown(&row.name),
        began: row.began.map(words::instant).unwrap_or_default(),
        status: row.status.clone(),
        confidence: row.confidence.clone(),
        origins: shown(&row.origins.join(", ")),
    };
    let Parts { style, scripts, .. } = &parts;
    let rows: Vec<Cells> = rows.iter().map(cells).collect();
    let count = rows.len();
    let policy = parts.policy();
    let starts = folders.is_some();
    let folders = folders.unwrap_or_default().iter().map(|name| shown(name)).collect();
    render(LIST, &Listed { policy, style, scripts, rows, count, has_cases, starts, folders })
}

#[derive(Serialize)]
struct Short<'a> {
    policy: String,
    style: &'a str,
    complaint: &'a str,
}

/// The page that asks for the token of the server, and what was wrong with the last one.
pub fn sign_in(complaint: &str) -> String {
    short(SIGN_IN, complaint)
}

/// A page that reloads, and why there is nothing to show yet.
pub fn waiting(why: &str) -> String {
    short(WAITING, &clean_up_to(why, MAX_TEXT))
}

/// A page for an unknown address, and why, with a link to the list.
pub fn missing(why: &str) -> String {
    short(MISSING, &clean_up_to(why, MAX_TEXT))
}

fn short(template: &str, complaint: &str) -> String {
    let parts = Parts::small(Vec::new());
    let policy = parts.policy();
    render(template, &Short { policy, style: &parts.style, complaint })
}

#[cfg(test)]
mod tests {
    use super::*;

    const HOSTILE: &str = "</script><script>alert(1)</script>\u{202e}\u{1b}[31m";

    #[test]
    fn a_list_shows_hostile_names_as_text() {
        let row = Row {
            path: "/i/inv-000001".to_owned(),
            id: "inv-000001".to_owned(),
            name: HOSTILE.to_owned(),
            began: Some("2026-03-20T12:00:00.5Z".parse().unwrap()),
            status: "finished".to_owned(),
            confidence: "likely".to_owned(),
            origins: vec![HOSTILE.to_owned()],
        };
        let page = list(&[row], Some(&[HOSTILE.to_owned()]), true);
        assert!(page.contains("&lt;/script&gt;") && !page.contains("<script>alert"), "{page}");
        assert!(!page.contains('\u{202e}') && !page.contains('\u{1b}'));
        assert!(page.contains("<time>2026-03-20 12:00:00Z</time>"), "{page}");
        assert!(
            page.contains("form-action &#x27;self&#x27;")
                && list(&[], None, true).contains("No investigation")
        );
    }

    #[test]
    fn the_form_says_what_was_wrong() {
        assert!(sign_in("the token is wrong").contains("the token is wrong"));
        assert!(
            waiting(HOSTILE).contains("&lt;/script&gt;") && !waiting(HOSTILE).contains("<script")
        );
        assert!(sign_in("").contains("script-src &#x27;none&#x27;"));
        assert!(missing("nothing here").contains("<a href=\"/\">"), "{}", missing(""));
        assert!(
            missing(HOSTILE).contains("&lt;/script&gt;") && !missing(HOSTILE).contains("<script")
        );
    }
}
