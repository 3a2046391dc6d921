//! Sections of the document as the template writes them.

use eog_report::document::{Block, Cause, Document, Form, Origin, Place, Row, Rows, Section, Tone};
use eog_report::words;
use serde::Serialize;

use super::{MAX_NAMES, shown};
use crate::data::Findings;

/// A section of the document.
#[derive(Serialize)]
pub(crate) struct Part {
    title: String,
    subject: String,
    remark: String,
    /// Whether it can be folded away, and stands open.
    is_cause: bool,
    is_open: bool,
    blocks: Vec<Written>,
}

/// A block: the one of its parts that is there.
#[derive(Default, Serialize)]
struct Written {
    text: String,
    is_aside: bool,
    list: Option<List>,
    table: Option<Table>,
    more: String,
    origins: Vec<Named>,
}

#[derive(Serialize)]
struct List {
    is_numbered: bool,
    rows: Vec<String>,
}

#[derive(Serialize)]
struct Table {
    columns: &'static [&'static str],
    rows: Vec<Cells>,
}

#[derive(Serialize)]
struct Cells {
    /// Whether it is still to be explained.
    is_open: bool,
    head: String,
    cells: Vec<String>,
}

#[derive(Serialize)]
struct Named {
    /// Empty for the only one of a section, whose title names it.
    name: String,
    why: String,
    weights: Vec<String>,
    evidence: Vec<Link>,
}

#[derive(Serialize)]
struct Link {
    row: u32,
    id: String,
    when: String,
    text: String,
}

/// The sections of one place, the first cause open.
pub(super) fn parts(document: &Document<'_>, place: Place, findings: &Findings) -> Vec<Part> {
    let here = document.shown(Form::Page).filter(|section| section.place == place);
    let mut parts: Vec<Part> = here.map(|section| part(section, findings)).collect();
    parts.iter_mut().find(|part| part.is_cause).into_iter().for_each(|part| part.is_open = true);
    parts
}

fn part(section: &Section<'_>, findings: &Findings) -> Part {
    Part {
        title: section.title.clone(),
        subject: shown(&section.subject),
        remark: section.remark_by(shown),
        is_cause: section.blocks.iter().any(|block| matches!(block, Block::Cause(_))),
        is_open: false,
        blocks: section.blocks.iter().map(|block| written(block, findings)).collect(),
    }
}

fn written(block: &Block<'_>, findings: &Findings) -> Written {
    match block {
        Block::Text(tone, text) => {
            let is_aside = *tone == Tone::Aside;
            Written { text: shown(text), is_aside, ..Written::default() }
        }
        Block::Rows(rows) => {
            let more = rows.more(Form::Page).unwrap_or_default();
            let shown = &rows.rows[..rows.room(Form::Page)];
            let (list, table) = match rows.columns.is_empty() {
                true => (Some(list(rows, shown)), None),
                false => (None, Some(table(rows, shown))),
            };
            Written { list, table, more, ..Written::default() }
        }
        Block::Cause(cause) => Written { origins: named(cause, findings), ..Written::default() },
        // The page draws it.
        Block::Spread => Written::default(),
    }
}

fn list(of: &Rows, rows: &[Row]) -> List {
    List { is_numbered: of.is_numbered, rows: rows.iter().map(|row| shown(&row.line)).collect() }
}

fn table(of: &Rows, rows: &[Row]) -> Table {
    let row = |row: &Row| {
        let mut cells = row.cells.iter().map(|cell| shown(cell));
        let head = cells.next().unwrap_or_default();
        Cells { is_open: row.is_well == Some(false), head, cells: cells.collect() }
    };
    Table { columns: of.columns, rows: rows.iter().map(row).collect() }
}

fn named(cause: &Cause<'_>, findings: &Findings) -> Vec<Named> {
    let is_one = cause.origins.len() == 1;
    let named = |origin: &Origin<'_>| Named {
        name: if is_one { String::new() } else { shown(origin.entity.as_str()) },
        why: shown(&origin.why),
        weights: origin.weights.iter().map(|weight| shown(&weight.in_words())).collect(),
        evidence: links(origin, findings),
    };
    cause.origins.iter().map(named).collect()
}

fn links(origin: &Origin<'_>, findings: &Findings) -> Vec<Link> {
    let link = |finding: &&eog_core::Finding| {
        Some(Link {
            row: findings.place(finding.id())?,
            id: finding.id().to_string(),
            when: words::time(&finding.time),
            text: shown(&words::finding(finding)),
        })
    };
    origin.findings.iter().filter_map(link).take(MAX_NAMES).collect()
}
