//! The report for a person at a terminal.

use eog_core::diagnosis::OriginGroup;
use eog_core::{Confidence, Finding};

use crate::clean::{clean, clean_to};
use crate::narrative::Author;
use crate::page::{BOLD, DIM, GREEN, PLAIN, Page, RED, YELLOW};
use crate::report::{MAX_CONSIDERED, MAX_UNLINKED, Report};
use crate::tree::tree;
use crate::words;

/// Findings shown for one cause; the rest is in the written report.
const MAX_FINDINGS: usize = 6;
/// Characters shown of each half of a claim; the written report has all of it.
const MAX_REASON: usize = 110;
/// Lines shown of a list that can be long.
const MAX_LINES: usize = 8;
/// Rows shown of the tree and of the alerts.
const MAX_ROWS: usize = 40;
/// Candidates shown when there is no finding.
const MAX_CANDIDATES: usize = 5;
/// Characters shown of operator input.
const MAX_SAID: usize = 210;

/// Renders the report with colours; the output stream takes them out where they do not belong.
/// Wraps at `width` columns, if given.
pub fn text(report: &Report, width: Option<usize>) -> String {
    let mut page = Page::new(width);
    head(&mut page, report);
    unusable(&mut page, report);
    told(&mut page, report);
    said(&mut page, report);
    if report.diagnosis.is_diagnosed() {
        for group in report.diagnosis.causes() {
            cause(&mut page, report, group);
        }
        spread(&mut page, report);
    } else {
        ranking(&mut page, report, (MAX_CANDIDATES, usize::MAX));
    }
    to_be_sure(&mut page, report, MAX_LINES);
    next_suspects(&mut page, report);
    similar(&mut page, report);
    considered(&mut page, report);
    unlinked(&mut page, report);
    alerts(&mut page, report);
    notes(&mut page, report, (MAX_LINES, usize::MAX));
    page.title("");
    page.line("", DIM, &report.cost());
    if let Some(run) = report.run.and_then(|run| run.in_words()) {
        page.line("", DIM, &run);
    }
    page.into_text()
}

pub(crate) fn head(page: &mut Page, report: &Report) {
    page.line("", BOLD, &clean(&report.name));
    let summary = format!(
        "{}, {}, window {}",
        words::count(report.diagnosis.topology.entities().len(), "entity", "entities"),
        words::count(report.diagnosis.anomalies.len(), "alert", "alerts"),
        words::window(&report.diagnosis.window)
    );
    page.line("", DIM, &summary);
    for fork in &report.diagnosis.forks {
        page.line("", DIM, &format!("forked {}", clean(&words::fork(fork))));
    }
}

/// What the result does not rest on because it could not be used.
pub(crate) fn unusable(page: &mut Page, report: &Report) {
    let parts = report.unusable();
    if parts.is_empty() {
        return;
    }
    page.title("PARTS OF THE INPUT COULD NOT BE USED");
    for part in parts.iter().take(MAX_LINES) {
        page.line("  ", YELLOW, &clean(part));
    }
    more(page, parts.len(), MAX_LINES, "files");
}

/// The summary by a model, or why there is none.
pub(crate) fn told(page: &mut Page, report: &Report) {
    match &report.narrative.author {
        Author::Rules => {}
        Author::Model { name } => {
            page.title(&format!("SUMMARY BY {}", clean(name)));
            page.line("  ", PLAIN, &clean(&report.narrative.summary));
        }
        Author::RulesAfterFailure { failure } => {
            page.title("NO SUMMARY BY A MODEL");
            page.line("  ", YELLOW, &clean(failure));
        }
    }
}

/// What operators said about entities, which takes precedence over the records.
pub(crate) fn said(page: &mut Page, report: &Report) {
    let said = report.said();
    if said.is_empty() {
        return;
    }
    page.title("OPERATOR INPUT");
    for line in said.iter().take(MAX_LINES) {
        page.line("  ", PLAIN, &clean_to(line, MAX_SAID));
    }
    more(page, said.len(), MAX_LINES, "inputs");
}

fn cause(page: &mut Page, report: &Report, group: &OriginGroup) {
    let style = if group.confidence == Confidence::Confirmed { RED } else { YELLOW };
    let confidence = words::confidence(group);
    page.title(&format!("{} ({confidence})", report.heading(group).to_uppercase()));
    if let Some(shared) = words::shared_change(group) {
        page.line("  ", PLAIN, &clean(&shared));
    }
    for origin in &group.origins {
        page.line("  ", style, &clean(origin.as_str()));
        let Some(belief) = report.diagnosis.belief(origin) else { continue };
        page.line("    ", PLAIN, &clean(&belief.summary));
        let findings = report.diagnosis.cited(belief);
        for finding in findings.iter().take(MAX_FINDINGS) {
            evidence(page, report, finding);
        }
        more(page, findings.len(), MAX_FINDINGS, "pieces of evidence");
        let weights = report.weights(origin);
        if !weights.is_empty() {
            page.line("    ", PLAIN, "largest weights of evidence, in log-odds:");
        }
        for weight in weights {
            page.line("      ", PLAIN, &clean_to(&weight.in_words(), MAX_REASON));
        }
    }
    for doubt in &group.doubts {
        page.line("    ", YELLOW, &format!("not confirmed: {}", clean(&doubt.to_string())));
    }
}

fn evidence(page: &mut Page, report: &Report, finding: &Finding) {
    let when = words::time(&finding.time);
    page.line("    • ", PLAIN, &format!("{when}  {}", clean(&words::finding(finding))));
    page.line(
        "      ",
        DIM,
        &format!("{}  {}", finding.id(), clean(&words::query(&finding.source, &finding.query))),
    );
    let command = report.lookup.as_ref().and_then(|lookup| lookup.command(finding));
    if let Some(command) = command {
        page.whole("      ", DIM, &command);
    }
}

fn spread(page: &mut Page, report: &Report) {
    page.title("HOW IT SPREAD");
    let rows = tree(&report.diagnosis);
    for row in rows.iter().take(MAX_ROWS) {
        let alerts = if row.alerts.is_empty() {
            String::new()
        } else {
            format!("  {RED}⚠ {}{RED:#}", clean(&row.alerts_in_words()))
        };
        let again = if row.repeated { "  (see above)" } else { "" };
        let below = format!("  {}", row.continued());
        let entity = format!("{}{alerts}{again}", clean(row.entity.as_str()));
        page.paragraph(&format!("  {}", row.lead()), &below, PLAIN, &entity);
        if let Some(claim) = row.claim.filter(|_| !row.repeated) {
            let because = clean_to(&claim.condition, MAX_REASON);
            let seen = clean_to(&claim.observed, MAX_REASON);
            page.paragraph(&below, &below, DIM, &format!("because {because}; seen as {seen}"));
        }
    }
    more(page, rows.len(), MAX_ROWS, "entities");
}

/// The best candidates, at most `most` of them, each with at most `chars` characters of why.
pub(crate) fn ranking(page: &mut Page, report: &Report, (most, chars): (usize, usize)) {
    if report.nothing_was_decided() {
        page.title("NO RESULT: every evaluation failed; see the notes");
        return;
    }
    let early = report.early();
    page.title(&format!("INCONCLUSIVE{early}: {}", words::inconclusive(&report.diagnosis)));
    if report.diagnosis.conclusion.ranking.is_empty() {
        page.line("  ", PLAIN, "Nothing was evaluated.");
        return;
    }
    let candidates: Vec<_> = report.diagnosis.candidates().collect();
    if candidates.is_empty() {
        page.line("  ", PLAIN, &words::no_candidates(&report.diagnosis));
        return;
    }
    for (position, ranked) in candidates.iter().take(most).enumerate() {
        match position {
            0 => page.line("  ", PLAIN, "Best guess, not a finding:"),
            1 => page.line("  ", PLAIN, "Other candidates:"),
            _ => {}
        }
        let name = clean(ranked.entity.as_str());
        let (label, score) = (ranked.label, words::score(ranked));
        let line = format!("{YELLOW}{name}{YELLOW:#} ({label}, {score})");
        page.line(&format!("  {}. ", position + 1), PLAIN, &line);
        if let Some(belief) = report.diagnosis.belief(&ranked.entity) {
            // The answer, as far as there is one, is what was said of the first.
            let most = if position == 0 { chars.saturating_mul(3) } else { chars };
            page.line("     ", PLAIN, &clean_to(&belief.summary, most));
        }
    }
    more(page, candidates.len(), most, "candidates");
}

/// What would show that the named causes are the causes, of at most `most` of them.
pub(crate) fn to_be_sure(page: &mut Page, report: &Report, most: usize) {
    let predictions = report.predictions();
    if predictions.is_empty() {
        return;
    }
    page.title("TO BE SURE");
    for line in predictions.iter().take(most) {
        page.line("  ", PLAIN, &clean(line));
    }
    more(page, predictions.len(), most, "causes");
    page.line("  ", DIM, "Check it after the repair with `eog verify`.");
}

/// The entities to check next, should the named causes be wrong.
pub(crate) fn next_suspects(page: &mut Page, report: &Report) {
    for (place, next) in words::next_suspects(&report.diagnosis).iter().enumerate() {
        if place == 0 {
            page.title("NEXT SUSPECTS");
        }
        page.line(&format!("  {}. ", place + 1), PLAIN, next);
    }
}

/// Closed incidents like this one.
pub(crate) fn similar(page: &mut Page, report: &Report) {
    for (place, line) in report.similar_in_words().enumerate() {
        if place == 0 {
            page.title("SIMILAR INCIDENTS");
        }
        page.line("  ", PLAIN, &clean(&line));
    }
}

fn considered(page: &mut Page, report: &Report) {
    let considered = report.also_considered();
    if considered.is_empty() {
        return;
    }
    page.title("ALSO CONSIDERED");
    for line in considered.iter().take(MAX_CONSIDERED) {
        page.line("  ", PLAIN, line);
    }
    more(page, considered.len(), MAX_CONSIDERED, "changes and entities");
}

fn unlinked(page: &mut Page, report: &Report) {
    let origins = report.unlinked_origins();
    if origins.is_empty() {
        return;
    }
    page.title("ORIGINS THAT REACH NO ALERT");
    for (origin, why) in origins.iter().take(MAX_UNLINKED) {
        let colon = if why.is_empty() { "" } else { ": " };
        page.line("  ", PLAIN, &format!("{}{colon}{why}", clean(origin.as_str())));
    }
    more(page, origins.len(), MAX_UNLINKED, "origins");
}

fn alerts(page: &mut Page, report: &Report) {
    page.title("ALERTS");
    let alerts = report.alerts();
    if alerts.is_empty() {
        page.line("  ", PLAIN, "none");
    }
    for alert in alerts.iter().take(MAX_ROWS) {
        let (anomaly, onset) = (alert.anomaly, words::instant(alert.anomaly.onset));
        let (name, entity) = (clean(&anomaly.name), clean(anomaly.entity.as_str()));
        let what = format!("{name} on {entity} since {onset}");
        if alert.explained_by.is_empty() {
            let lead = format!("  {RED}✗{RED:#} ");
            page.line(&lead, PLAIN, &format!("{what}  {RED}not explained{RED:#}"));
        } else {
            let by = words::list(alert.explained_by.iter().copied());
            let lead = format!("  {GREEN}✓{GREEN:#} ");
            page.line(&lead, PLAIN, &format!("{what}  explained by {}", clean(&by)));
        }
        if alert.began_before {
            let words =
                format!("the earlier onset at {onset} is not explained: it precedes the change");
            page.line("    ", YELLOW, &words);
        }
    }
    more(page, alerts.len(), MAX_ROWS, "alerts");
}

/// What a reader should know beside the result, at most `most` lines of at most `chars` characters.
pub(crate) fn notes(page: &mut Page, report: &Report, (most, chars): (usize, usize)) {
    let notes = report.notes();
    if notes.is_empty() {
        return;
    }
    page.title("NOTES");
    for note in notes.iter().take(most) {
        page.line("  ", DIM, &clean_to(note, chars));
    }
    more(page, notes.len(), most, "notes");
}

/// The singular of what is left out.
fn one(what: &str) -> String {
    let words = [
        ("pieces", "piece"),
        ("causes", "cause"),
        ("entities", "entity"),
        ("files", "file"),
        ("inputs", "input"),
        ("candidates", "candidate"),
        ("changes and entity", "change or entity"),
        ("that were considered", "that was considered"),
        ("origins", "origin"),
        ("alerts", "alert"),
        ("notes", "note"),
        ("doubts", "doubt"),
    ];
    words.iter().fold(what.to_owned(), |text, (many, one)| text.replace(many, one))
}

pub(crate) fn more(page: &mut Page, total: usize, shown: usize, what: &str) {
    if total > shown {
        let left = total - shown;
        let what = if left == 1 { one(what) } else { what.to_owned() };
        let words = format!("… {left} more {what} (the JSON has all)");
        page.line("    ", DIM, &words);
    }
}
