//! The report for a person at a terminal.

use std::fmt::Write as _;

use anstyle::{AnsiColor, Style};
use eog::{Confidence, Finding, OriginGroup};

use super::chain;
use super::clean::{clean, clean_to};
use super::model::Report;
use super::words;

const BOLD: Style = Style::new().bold();
const DIM: Style = Style::new().dimmed();
const RED: Style = AnsiColor::Red.on_default().bold();
const YELLOW: Style = AnsiColor::Yellow.on_default();
const GREEN: Style = AnsiColor::Green.on_default();

/// Findings shown for one cause; the rest is in the written report.
const MAX_FINDINGS: usize = 6;
/// Characters shown of each half of a claim; the written report has all of it.
const MAX_REASON: usize = 110;
/// Lines shown of a list that can be long.
const MAX_LINES: usize = 8;

/// Renders the report with colours; the output stream takes them out where they do not belong.
pub(crate) fn text(report: &Report) -> String {
    let mut out = String::new();
    head(&mut out, report);
    if report.is_diagnosed() {
        for group in report.causes() {
            cause(&mut out, report, group);
        }
        spread(&mut out, report);
    } else {
        ranking(&mut out, report);
    }
    unlinked(&mut out, report);
    alerts(&mut out, report);
    notes(&mut out, report);
    cost(&mut out, report);
    out
}

/// Writing into a string cannot fail.
macro_rules! line {
    ($out:expr) => { let _ = writeln!($out); };
    ($out:expr, $($arg:tt)*) => { let _ = writeln!($out, $($arg)*); };
}

fn title(out: &mut String, words: &str) {
    line!(out, "\n{BOLD}{words}{BOLD:#}");
}

fn head(out: &mut String, report: &Report) {
    line!(out, "{BOLD}{}{BOLD:#}", clean(&report.name));
    line!(
        out,
        "{DIM}{}, {}, window {}{DIM:#}",
        words::count(report.entities, "entity", "entities"),
        words::count(report.anomalies.len(), "alert", "alerts"),
        words::window(&report.window)
    );
}

fn cause(out: &mut String, report: &Report, group: &OriginGroup) {
    let style = if group.confidence == Confidence::Confirmed { RED } else { YELLOW };
    let kind = if group.mutual { "ROOT CAUSES, each explaining the other" } else { "ROOT CAUSE" };
    title(out, &format!("{kind} ({})", group.confidence));
    for origin in &group.origins {
        line!(out, "  {style}{}{style:#}", clean(origin.as_str()));
        let Some(belief) = report.beliefs.get(origin) else { continue };
        line!(out, "    {}", clean(&belief.summary));
        let findings = report.cited(belief);
        for finding in findings.iter().take(MAX_FINDINGS) {
            evidence(out, finding);
        }
        more(out, findings.len(), MAX_FINDINGS, "pieces of evidence");
    }
    for doubt in &group.doubts {
        line!(out, "    {YELLOW}not confirmed:{YELLOW:#} {}", clean(doubt));
    }
}

fn evidence(out: &mut String, finding: &Finding) {
    let when = words::time(&finding.time);
    line!(out, "    {DIM}•{DIM:#} {when}  {}", clean(&words::finding(finding)));
    line!(out, "      {DIM}{}  {}{DIM:#}", finding.id(), clean(&words::query(finding)));
}

fn spread(out: &mut String, report: &Report) {
    title(out, "HOW IT SPREAD");
    for row in chain::tree(report) {
        let alerts = if row.alerts.is_empty() {
            String::new()
        } else {
            format!("  {RED}⚠ {}{RED:#}", clean(&row.alerts.join(", ")))
        };
        let again = if row.repeated { "  (see above)" } else { "" };
        line!(
            out,
            "  {DIM}{}{DIM:#}{}{alerts}{DIM}{again}{DIM:#}",
            row.branches,
            clean(row.entity.as_str())
        );
        if let Some(claim) = row.claim.filter(|_| !row.repeated) {
            line!(
                out,
                "  {DIM}{}because {}; seen as {}{DIM:#}",
                row.continued,
                clean_to(&claim.condition, MAX_REASON),
                clean_to(&claim.observed, MAX_REASON)
            );
        }
    }
}

fn ranking(out: &mut String, report: &Report) {
    title(out, "INCONCLUSIVE: no origin was found that explains an alert");
    if report.conclusion.ranking.is_empty() {
        line!(out, "  Nothing was evaluated.");
        return;
    }
    line!(out, "  Best candidates, not findings:");
    for (position, ranked) in report.conclusion.ranking.iter().take(5).enumerate() {
        let score = ranked.score;
        line!(
            out,
            "  {}. {YELLOW}{}{YELLOW:#} {DIM}({}, score {}: judged {} + reach {} + change {} + label {}){DIM:#}",
            position + 1,
            clean(ranked.entity.as_str()),
            ranked.label,
            score.total(),
            score.judged,
            score.reach,
            score.change,
            score.label
        );
        if let Some(belief) = report.beliefs.get(&ranked.entity) {
            line!(out, "     {}", clean(&belief.summary));
        }
    }
}

fn unlinked(out: &mut String, report: &Report) {
    let mut groups = report.unlinked().peekable();
    if groups.peek().is_none() {
        return;
    }
    title(out, "ORIGINS THAT REACH NO ALERT");
    for origin in groups.flat_map(|group| &group.origins) {
        line!(out, "  {}", clean(origin.as_str()));
    }
}

fn alerts(out: &mut String, report: &Report) {
    title(out, "ALERTS");
    if report.anomalies.is_empty() {
        line!(out, "  none");
    }
    for (position, anomaly) in report.anomalies.iter().enumerate() {
        let what = format!(
            "{} on {} {DIM}since {}{DIM:#}",
            clean(&anomaly.name),
            clean(anomaly.entity.as_str()),
            words::instant(anomaly.onset)
        );
        let by = report.explained_by(position);
        if by.is_empty() {
            line!(out, "  {RED}✗{RED:#} {what}  {RED}not explained{RED:#}");
        } else {
            let origins: Vec<&str> =
                by.iter().flat_map(|group| &group.origins).map(eog::EntityId::as_str).collect();
            line!(out, "  {GREEN}✓{GREEN:#} {what}  explained by {}", clean(&origins.join(", ")));
        }
        if report.conclusion.earlier_onset.contains(&position) {
            line!(
                out,
                "    {YELLOW}its earlier onset at {} is not explained: it began before the change{YELLOW:#}",
                words::instant(anomaly.onset)
            );
        }
    }
}

fn notes(out: &mut String, report: &Report) {
    let conclusion = &report.conclusion;
    let mut notes: Vec<String> = Vec::new();
    let listed = |entities: &[eog::EntityId]| {
        entities.iter().map(eog::EntityId::as_str).collect::<Vec<_>>().join(", ")
    };
    notes.extend(report.failures.iter().cloned());
    if !conclusion.damped.is_empty() {
        notes.push(format!("changed too often, set to Defer: {}", listed(&conclusion.damped)));
    }
    if !conclusion.unread.is_empty() {
        notes.push(format!(
            "have messages they were not evaluated with: {}",
            listed(&conclusion.unread)
        ));
    }
    notes.extend(report.ignored.iter().map(|ignored| format!("left out: {ignored}")));
    notes.extend(report.warnings.iter().cloned());
    if notes.is_empty() {
        return;
    }
    title(out, "NOTES");
    for note in notes.iter().take(MAX_LINES) {
        line!(out, "  {DIM}{}{DIM:#}", clean(note));
    }
    more(out, notes.len(), MAX_LINES, "notes");
}

fn more(out: &mut String, total: usize, shown: usize, what: &str) {
    if total > shown {
        line!(
            out,
            "    {DIM}… {} more {what} (--out or --format json shows all){DIM:#}",
            total - shown
        );
    }
}

fn cost(out: &mut String, report: &Report) {
    line!(out, "\n{DIM}{}{DIM:#}", words::cost(report));
}
