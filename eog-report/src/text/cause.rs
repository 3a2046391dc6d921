//! A cause with its evidence, at a terminal.

use eog_core::{Confidence, EvidenceKind, Finding};

use super::left;
use crate::clean::{clean, clean_to};
use crate::document::{Cause, Form, Origin};
use crate::page::{DIM, PLAIN, Page, RED, YELLOW};
use crate::report::{Report, Weight};
use crate::words;

/// Findings shown for one cause in brief, and in full.
const MAX_FINDINGS: (usize, usize) = (3, 6);
/// Characters shown of a finding, or of a weight of evidence.
const MAX_WORDS: usize = 140;
/// Characters shown in brief of a model's text on a cause.
const MAX_WHY: usize = 600;
/// Places of one change of which the evidence is shown in brief.
const MAX_PLACES: usize = 2;
/// The name of findings.
const EVIDENCE: (&str, &str) = ("piece of evidence", "pieces of evidence");

pub(super) fn cause(page: &mut Page, report: &Report, cause: &Cause<'_>, form: Form) {
    let style = if cause.confidence == Confidence::Confirmed { RED } else { YELLOW };
    if let Some(shared) = &cause.shared {
        page.line("  ", PLAIN, &clean_to(shared, MAX_WHY));
    }
    let is_cut = cause.shared.is_some() && form == Form::Brief;
    let shown = if is_cut { MAX_PLACES.min(cause.origins.len()) } else { cause.origins.len() };
    let (shown, others) = cause.origins.split_at(shown);
    for origin in shown {
        page.line("  ", style, &clean(origin.entity.as_str()));
        match form {
            Form::Brief => brief(page, origin),
            _ => full(page, report, origin),
        }
    }
    if !others.is_empty() {
        page.line("  ", style, &clean(&words::list(others.iter().map(|origin| origin.entity))));
    }
}

fn full(page: &mut Page, report: &Report, origin: &Origin<'_>) {
    page.line("    ", PLAIN, &clean(&origin.why));
    for finding in origin.findings.iter().take(MAX_FINDINGS.1) {
        evidence(page, report, finding);
    }
    left(page, origin.findings.len(), MAX_FINDINGS.1, EVIDENCE);
    if !origin.weights.is_empty() {
        page.line("    ", PLAIN, "largest weights of evidence, in log-odds:");
    }
    for weight in &origin.weights {
        page.line("      ", PLAIN, &clean_to(&weight.in_words(), MAX_WORDS));
    }
}

fn evidence(page: &mut Page, report: &Report, finding: &Finding) {
    let when = words::time(&finding.time);
    page.line("    • ", PLAIN, &format!("{when}  {}", clean(&words::finding(finding))));
    let query = words::query(&finding.source, &finding.query);
    page.line("      ", DIM, &format!("{}  {}", finding.id(), clean(&query)));
    let command = report.lookup.as_ref().and_then(|lookup| lookup.command(finding));
    if let Some(command) = command {
        page.whole("      ", DIM, &command);
    }
}

fn brief(page: &mut Page, origin: &Origin<'_>) {
    let carrying = || origin.weights.iter().filter(|weight| weight.term.log_odds > 0);
    for weight in carrying().take(MAX_FINDINGS.0) {
        let when = weight.finding.map(|finding| words::time(&finding.time) + "  ");
        let line = format!("{}{}", when.unwrap_or_default(), in_words_of(weight));
        page.line("    • ", PLAIN, &line);
    }
    if carrying().next().is_some() {
        return;
    }
    // Policies without weights, such as models, say why in words of their own.
    if !origin.why.is_empty() {
        page.line("    ", PLAIN, &clean_to(&origin.why, MAX_WHY));
    }
    // A note says how what is listed here is connected, which the chain shows.
    let is_shown =
        |finding: &&&Finding| finding.kind != EvidenceKind::Note || finding.verdict().is_some();
    let shown: Vec<_> = origin.findings.iter().filter(is_shown).collect();
    for finding in shown.iter().take(MAX_FINDINGS.0) {
        let when = words::time(&finding.time);
        page.line("    • ", PLAIN, &format!("{when}  {}", in_words(finding)));
    }
    left(page, shown.len(), MAX_FINDINGS.0, EVIDENCE);
}

/// The text of a weight of evidence, with its finding if there is one.
fn in_words_of(weight: &Weight<'_>) -> String {
    let text = match weight.finding {
        Some(finding) => in_words(finding),
        None => clean_to(&weight.term.text, MAX_WORDS),
    };
    format!("{text} ({} {})", weight.term.name, words::log_odds(weight.term.log_odds))
}

/// The text of a finding, and of a change also the note on it.
fn in_words(finding: &Finding) -> String {
    let words = clean_to(&words::finding(finding), MAX_WORDS);
    let about = finding.change.as_ref().and_then(|change| {
        let (text, _) = finding.excerpt.split_once(&format!(" ({} from ", change.path))?;
        (!text.is_empty()).then(|| clean_to(text, MAX_WORDS))
    });
    about.map_or(words.clone(), |text| format!("{words}: {text}"))
}
