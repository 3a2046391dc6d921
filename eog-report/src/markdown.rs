//! The report as Markdown, for a ticket.

mod escape;

use std::fmt::Write as _;

use eog_core::Finding;
use eog_core::diagnosis::OriginGroup;

use self::escape::{code, text, text_up_to};
use crate::document::{Block, Cause, Document, Form, Rows, Tone, document};
use crate::mermaid::mermaid;
use crate::report::Report;
use crate::words;

/// Characters shown of a paragraph, or of an answer to a question: several pieces of telemetry.
const MAX_TEXT: usize = 2_000;

/// Renders the report as Markdown.
pub fn markdown(report: &Report) -> String {
    let document = document(report);
    let mut out = format!("# Root causes: {}\n\n", text(document.name));
    head(&mut out, report, &document);
    for section in document.shown(Form::Ticket) {
        let colon = if section.subject.is_empty() { "" } else { ": " };
        let (title, subject) = (&section.title, text_up_to(&section.subject, MAX_TEXT));
        let _ = writeln!(out, "\n## {title}{colon}{subject}{}", section.remark_by(text));
        for block in &section.blocks {
            match block {
                Block::Text(Tone::Aside, words) => {
                    let _ = writeln!(out, "\n*{}*", text_up_to(words, MAX_TEXT));
                }
                Block::Text(_, words) => {
                    let _ = writeln!(out, "\n{}", text_up_to(words, MAX_TEXT));
                }
                Block::Rows(rows) if rows.columns.is_empty() => list(&mut out, rows),
                Block::Rows(rows) => table(&mut out, rows),
                Block::Cause(of) => cause(&mut out, report, of),
                Block::Spread => spread(&mut out, report),
            }
        }
    }
    out
}

fn head(out: &mut String, report: &Report, document: &Document<'_>) {
    let (early, confidence) = (report.early(), report.diagnosis.conclusion.confidence);
    // Places of one change are one cause.
    let of =
        |group: &OriginGroup| if group.shared_change.is_some() { 1 } else { group.origins.len() };
    let result = match report.diagnosis.causes().map(of).sum::<usize>() {
        0 => "",
        1 => "the root cause is ",
        _ => "the root causes are ",
    };
    let _ = writeln!(out, "- Result: {result}**{confidence}**{early}");
    for line in &document.about {
        let _ = writeln!(out, "- {}", text_up_to(line, MAX_TEXT));
    }
    let _ = writeln!(out, "- Window: {}", text(&report.diagnosis.bootstrap.window_reason));
    for fork in &report.diagnosis.forks {
        let _ = writeln!(out, "- The hash of the last entry before the fork is {}", fork.parent);
    }
    let _ = writeln!(out, "- Cost: {}", text(&document.cost.join("; ")));
}

fn list(out: &mut String, rows: &Rows) {
    out.push('\n');
    for (position, row) in rows.rows.iter().take(rows.room(Form::Ticket)).enumerate() {
        let line = text_up_to(&row.line, MAX_TEXT);
        let _ = match rows.is_numbered {
            true => writeln!(out, "{}. {line}", position + 1),
            false => writeln!(out, "- {line}"),
        };
    }
    if let Some(more) = rows.more(Form::Ticket) {
        let _ = writeln!(out, "- {more}");
    }
}

fn table(out: &mut String, rows: &Rows) {
    out.push('\n');
    heading(out, rows.columns);
    for row in rows.rows.iter().take(rows.room(Form::Ticket)) {
        for (column, cell) in rows.columns.iter().zip(&row.cells) {
            let cell = match *column {
                "Query" if !cell.is_empty() => code(cell),
                _ => text_up_to(cell, MAX_TEXT),
            };
            let _ = write!(out, "| {cell} ");
        }
        out.push_str("|\n");
    }
    if let Some(more) = rows.more(Form::Ticket) {
        let _ = writeln!(out, "\n{more}");
    }
}

fn heading(out: &mut String, columns: &[&str]) {
    let _ = writeln!(out, "| {} |", columns.join(" | "));
    let _ = writeln!(out, "{}|", "|---".repeat(columns.len()));
}

fn cause(out: &mut String, report: &Report, cause: &Cause<'_>) {
    for origin in &cause.origins {
        if cause.origins.len() > 1 {
            let _ = writeln!(out, "\n### {}", text(origin.entity.as_str()));
        }
        let _ = writeln!(out, "\n{}\n", text(&origin.why));
        for (question, answer) in &origin.answers {
            let _ = writeln!(out, "- {question}: {}", text_up_to(answer, MAX_TEXT));
        }
        evidence(out, report, &origin.findings);
        if !origin.weights.is_empty() {
            let _ = writeln!(out, "\nLargest weights of evidence, in log-odds:\n");
        }
        for weight in &origin.weights {
            let _ = writeln!(out, "- {}", text_up_to(&weight.in_words(), MAX_TEXT));
        }
    }
}

fn evidence(out: &mut String, report: &Report, findings: &[&Finding]) {
    if findings.is_empty() {
        return;
    }
    out.push('\n');
    heading(out, &["Time", "Evidence", "Query"]);
    for finding in findings {
        let (time, query) = (words::time(&finding.time), code(&report.query(finding)));
        let _ = writeln!(out, "| {time} | {} | {query} |", text(&words::finding(finding)));
    }
}

fn spread(out: &mut String, report: &Report) {
    let _ = writeln!(out, "\n```mermaid\n{}```\n", mermaid(report));
    for claim in &report.diagnosis.causal {
        let _ = writeln!(
            out,
            "- {} → {}: because {}; seen as {}",
            text(claim.cause.as_str()),
            text(claim.effect.as_str()),
            text(claim.condition.trim()),
            text(claim.observed.trim())
        );
    }
}
