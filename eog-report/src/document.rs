//! The document: the content of a report for people, section by section. Each form for people is a rendering of it, so
//! that a new section is written once, and all of them show it.

mod lists;
mod sections;

use eog_core::diagnosis::OriginGroup;
use eog_core::{Confidence, EntityId, Finding};

use crate::report::{Report, Weight};
use crate::words;
pub use sections::document;

/// The content of a report for people.
///
/// Its texts may come from telemetry or from a model: untrusted, and not yet cleaned.
///
/// ```
/// use eog_core::{Case, Config, Controller, Topology, Window};
/// use eog_report::{Form, Report, document};
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T11:00:00Z".parse()?)?;
/// let case = Case::from_anomalies(Topology::default(), window, vec![]);
/// let report = Report::new("checkout", Controller::new(Config::default(), case).diagnosis());
/// let document = document(&report);
/// let titles: Vec<&str> = document.shown(Form::Brief).map(|it| it.title.as_str()).collect();
/// assert_eq!(titles[0], "Inconclusive");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Document<'r> {
    /// The title of the incident.
    pub name: &'r str,
    /// The size of the input, its window, and forks: one line each.
    pub about: Vec<String>,
    /// In the order of reading.
    pub sections: Vec<Section<'r>>,
    /// What the investigation cost and why it ended: one line each.
    pub cost: Vec<String>,
}

impl<'r> Document<'r> {
    /// The sections that a form shows.
    pub fn shown(&self, form: Form) -> impl Iterator<Item = &Section<'r>> {
        self.sections.iter().filter(move |section| section.forms.contains(&form))
    }
}

/// A form for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// At a terminal, to be read in half a minute.
    Brief,
    /// At a terminal, with everything.
    Full,
    /// Markdown for a ticket.
    Ticket,
    /// The HTML page.
    Page,
}

impl Form {
    pub(crate) const ALL: &[Self] = &[Self::Brief, Self::Full, Self::Ticket, Self::Page];
    pub(crate) const UNABRIDGED: &[Self] = &[Self::Full, Self::Ticket, Self::Page];
    pub(crate) const WRITTEN: &[Self] = &[Self::Ticket, Self::Page];
}

/// The part of the page that a section belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// What the cause is, and how sure that is.
    Verdict,
    /// Other explanations.
    Hypotheses,
    /// What is not explained or was not evaluated.
    Gaps,
}

/// A part of a document under one title.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Section<'r> {
    /// Its title, such as `Root cause`.
    pub title: String,
    /// The subject of the title: the names of causes. Empty elsewhere.
    pub subject: String,
    /// What follows the title as it is, such as ` (likely)`.
    pub remark: String,
    /// Its blocks.
    pub blocks: Vec<Block<'r>>,
    /// The forms that show it.
    pub forms: &'static [Form],
    /// The part of the page.
    pub place: Place,
}

impl Section<'_> {
    /// The remark as a form escapes it, which may take the space before it away.
    pub fn remark_by(&self, escape: impl Fn(&str) -> String) -> String {
        let space = if self.remark.starts_with(' ') { " " } else { "" };
        format!("{space}{}", escape(self.remark.trim_start()))
    }
}

/// A part of a section.
#[derive(Clone, Debug)]
pub enum Block<'r> {
    /// A paragraph.
    Text(Tone, String),
    /// Lines of one kind, or a table.
    Rows(Rows),
    /// A group of origins with its evidence.
    Cause(Cause<'r>),
    /// How the incident spread. A terminal draws a tree, a ticket has a diagram; the page draws a section of its own.
    Spread,
}

/// Most rows on the page.
const PAGE: usize = 1_000;

/// The role of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tone {
    /// Plain.
    Plain,
    /// Secondary.
    Aside,
    /// Uncertain, or a limit of the result.
    Doubt,
}

/// Lines of one kind: a list, or a table in forms that have tables.
#[derive(Clone, Debug)]
pub struct Rows {
    /// The role of the lines.
    pub tone: Tone,
    /// The headings of a table; none for a list.
    pub columns: &'static [&'static str],
    /// Whether a list is numbered.
    pub is_numbered: bool,
    /// All lines: a form shows as many as it has room for.
    pub rows: Vec<Row>,
    /// The name of one line, and of several.
    pub what: (&'static str, &'static str),
    /// How many are shown in brief, and at a terminal or in a ticket in full.
    pub most: (usize, usize),
}

/// A line of a list, or a row of a table.
#[derive(Clone, Debug, Default)]
pub struct Row {
    /// Whether something is good or bad.
    pub is_well: Option<bool>,
    /// The row in one line.
    pub line: String,
    /// Text below that line.
    pub below: Vec<String>,
    /// The row in the cells of a table.
    pub cells: Vec<String>,
}

impl From<String> for Row {
    fn from(line: String) -> Self {
        Self { line, ..Self::default() }
    }
}

impl Rows {
    /// How many rows a form shows.
    pub fn room(&self, form: Form) -> usize {
        let most = match form {
            Form::Brief => self.most.0,
            Form::Full | Form::Ticket => self.most.1,
            Form::Page => PAGE,
        };
        most.min(self.rows.len())
    }

    /// That more rows exist than a form shows, and where: `… 3 more notes (the JSON has all)`.
    pub fn more(&self, form: Form) -> Option<String> {
        more(self.rows.len(), self.room(form), self.what)
    }
}

/// That there is more than is shown.
pub(crate) fn more(total: usize, shown: usize, (one, many): (&str, &str)) -> Option<String> {
    let left = total.saturating_sub(shown);
    let what = if left == 1 { one } else { many };
    (left > 0).then(|| format!("… {left} more {what} (the JSON has all)"))
}

/// A group of origins.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Cause<'r> {
    /// The confidence of the investigation.
    pub confidence: Confidence,
    /// That its origins are places of one change, in words.
    pub shared: Option<String>,
    /// Each origin.
    pub origins: Vec<Origin<'r>>,
}

/// An entity as a cause.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Origin<'r> {
    /// The entity.
    pub entity: &'r EntityId,
    /// Why it is a cause, in the words of its policy or of the model that wrote the narrative.
    pub why: String,
    /// The required questions about a cause, with answers.
    pub answers: Vec<(&'static str, String)>,
    /// Evidence, changes first.
    pub findings: Vec<&'r Finding>,
    /// The largest weights of evidence.
    pub weights: Vec<Weight<'r>>,
}

impl<'r> Cause<'r> {
    pub(crate) fn of(report: &'r Report, group: &'r OriginGroup) -> Self {
        let origins = group.origins.iter().map(|entity| Origin::of(report, entity)).collect();
        Self { confidence: group.confidence, shared: words::shared_change(group), origins }
    }
}
