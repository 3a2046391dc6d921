//! The report at a terminal.

mod cause;
mod folded;
mod spread;

use crate::clean::{clean, clean_to};
use crate::document::{Block, Form, Row, Rows, Section, Tone, document, more};
use crate::page::{BOLD, DIM, GREEN, PLAIN, Page, RED, YELLOW};
use crate::report::Report;

/// Characters shown in brief of a line, and of a paragraph.
const BRIEF: (usize, usize) = (200, 600);

/// Renders everything, with colours; the output stream takes them out where they do not belong. Wraps at `width` columns,
/// if given.
pub fn text(report: &Report, width: Option<usize>) -> String {
    render(report, Form::Full, width)
}

/// Renders a summary that is read in half a minute, in the same way.
///
/// The verdict with its evidence, how it spread without those that only pass an effect on, and what speaks
/// against it. [`text`] has everything else: queries, other entities, notes.
pub fn short(report: &Report, width: Option<usize>) -> String {
    render(report, Form::Brief, width)
}

fn render(report: &Report, form: Form, width: Option<usize>) -> String {
    let document = document(report);
    let mut page = Page::new(width);
    page.line("", BOLD, &clean(document.name));
    for line in &document.about {
        page.line("", DIM, &clean(line));
    }
    for section in document.shown(form) {
        title(&mut page, section);
        for block in &section.blocks {
            match block {
                Block::Text(tone, text) => page.line("  ", style(*tone), &cut(text, form, BRIEF.1)),
                Block::Rows(table) => rows(&mut page, table, form),
                Block::Cause(cause) => cause::cause(&mut page, report, cause, form),
                Block::Spread if form == Form::Brief => spread::brief(&mut page, report),
                Block::Spread => spread::full(&mut page, report),
            }
        }
    }
    page.title("");
    for line in &document.cost {
        page.line("", DIM, line);
    }
    page.into_text()
}

/// The title in capitals; names and what follows it stay as they are.
fn title(page: &mut Page, section: &Section<'_>) {
    page.title(&format!(
        "{}{}",
        section.title.to_uppercase(),
        section.remark_by(|it| clean(it).into_owned())
    ));
}

fn rows(page: &mut Page, table: &Rows, form: Form) {
    for (position, row) in table.rows.iter().take(table.room(form)).enumerate() {
        let lead = match row.is_well {
            Some(true) => format!("  {GREEN}✓{GREEN:#} "),
            Some(false) => format!("  {RED}✗{RED:#} "),
            None if table.is_numbered => format!("  {}. ", position + 1),
            None => "  ".to_owned(),
        };
        line(page, &lead, table.tone, row, form);
    }
    if let Some(more) = table.more(form) {
        page.line("    ", DIM, &more);
    }
}

fn line(page: &mut Page, lead: &str, tone: Tone, row: &Row, form: Form) {
    page.line(lead, style(tone), &cut(&row.line, form, BRIEF.0));
    for below in &row.below {
        page.line("     ", DIM, &cut(below, form, BRIEF.1));
    }
}

fn style(tone: Tone) -> anstyle::Style {
    match tone {
        Tone::Plain => PLAIN,
        Tone::Aside => DIM,
        Tone::Doubt => YELLOW,
    }
}

/// Cleaned, and cut to the limit.
fn cut(text: &str, form: Form, brief: usize) -> String {
    if form == Form::Brief { clean_to(text, brief) } else { clean(text).into_owned() }
}

/// That there is more than is shown, on a line of its own.
fn left(page: &mut Page, total: usize, shown: usize, what: (&'static str, &'static str)) {
    if let Some(more) = more(total, shown, what) {
        page.line("    ", DIM, &more);
    }
}
