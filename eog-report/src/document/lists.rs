//! The lists and tables of a document.

use eog_core::EntityId;

use super::{Block, Row, Rows, Tone};
use crate::narrative::Moment;
use crate::report::Report;
use crate::words;

/// The name of one line of a list, and of several.
type What = (&'static str, &'static str);

pub(super) fn plain(lines: Vec<String>, what: What, most: (usize, usize)) -> Vec<Block<'static>> {
    list(Tone::Plain, lines, what, most)
}

pub(super) fn doubts(lines: Vec<String>, what: What, most: (usize, usize)) -> Vec<Block<'static>> {
    list(Tone::Doubt, lines, what, most)
}

pub(super) fn asides(lines: Vec<String>, what: What, most: (usize, usize)) -> Vec<Block<'static>> {
    list(Tone::Aside, lines, what, most)
}

pub(super) fn numbered(
    lines: Vec<String>,
    what: What,
    most: (usize, usize),
) -> Vec<Block<'static>> {
    let rows = lines.into_iter().map(Row::from).collect();
    rows_of(Rows { is_numbered: true, ..table(&[], rows, what, most) })
}

fn list(tone: Tone, lines: Vec<String>, what: What, most: (usize, usize)) -> Vec<Block<'static>> {
    let rows = lines.into_iter().map(Row::from).collect();
    rows_of(Rows { tone, ..table(&[], rows, what, most) })
}

fn table(
    columns: &'static [&'static str],
    rows: Vec<Row>,
    what: What,
    most: (usize, usize),
) -> Rows {
    Rows { tone: Tone::Plain, columns, is_numbered: false, rows, what, most }
}

/// Empty where there are no rows.
fn rows_of(rows: Rows) -> Vec<Block<'static>> {
    if rows.rows.is_empty() { Vec::new() } else { vec![Block::Rows(rows)] }
}

/// The best candidates where there is no finding.
pub(super) fn candidates(report: &Report) -> Vec<Block<'static>> {
    let diagnosis = &report.diagnosis;
    let text = |text: &str| Block::Text(Tone::Plain, text.to_owned());
    if diagnosis.conclusion.ranking.is_empty() {
        return vec![text("Nothing was evaluated.")];
    }
    let row = |ranked: &eog_core::diagnosis::Ranked| {
        let (entity, label, score) = (&ranked.entity, ranked.label, words::score(ranked));
        let why = diagnosis.belief(entity).map(|belief| belief.summary.clone()).unwrap_or_default();
        let line = format!("{entity} ({label}, {score})");
        let cells = [entity.to_string(), label.to_string(), score, why.clone()];
        Row { below: vec![why], ..Row::of(line, cells) }
    };
    let rows: Vec<Row> = diagnosis.candidates().map(row).collect();
    if rows.is_empty() {
        return vec![text(&words::no_candidates(diagnosis))];
    }
    let columns = &["Candidate", "Label", "Score", "Why"];
    let table = table(columns, rows, ("candidate", "candidates"), (3, 10));
    let lead = text("The best guess comes first; none of these is a finding.");
    vec![lead, Block::Rows(Rows { is_numbered: true, ..table })]
}

/// What happened, in the order of time.
pub(super) fn timeline(report: &Report) -> Vec<Block<'static>> {
    let row = |it: &Moment| {
        let (time, entity) = (words::time(&it.time), it.entity.to_string());
        let line = format!("{time}  {entity}: {}", it.what);
        let evidence = it.evidence.as_ref().map(ToString::to_string).unwrap_or_default();
        Row::of(line, [time, entity, it.what.clone(), evidence, it.query.clone()])
    };
    let rows = report.narrative.timeline.iter().map(row).collect();
    let columns = &["Time", "Entity", "What", "Evidence", "Query"];
    rows_of(table(columns, rows, ("moment", "moments"), (0, 1_000)))
}

/// Changes and entities that are not named, with why.
pub(super) fn considered(report: &Report) -> Vec<Block<'static>> {
    let rows = report.also_considered().into_iter().map(|it| {
        let change = [it.change.clone(), it.made.clone()].join(" ");
        Row::of(it.in_words(), [it.entity, change.trim().to_owned(), it.why])
    });
    let columns = &["Entity", "Change", "Why it is not named"];
    let what = ("change or entity", "changes and entities");
    rows_of(table(columns, rows.collect(), what, (3, 10)))
}

/// Every alert, with what explains it.
pub(super) fn alerts(report: &Report) -> Vec<Block<'static>> {
    let rows: Vec<Row> = report
        .alerts()
        .iter()
        .map(|alert| {
            let by = words::list(alert.explained_by.iter().copied());
            let is_well = !alert.explained_by.is_empty();
            let by =
                if is_well { format!("explained by {by}") } else { "not explained".to_owned() };
            let early = alert.began_before.then(|| {
                let onset = words::instant(alert.anomaly.onset);
                format!("the earlier onset at {onset} is not explained: it precedes the change")
            });
            let anomaly = alert.anomaly;
            let cell = early.iter().fold(by.clone(), |by, early| format!("{by}; {early}"));
            let since = words::instant(anomaly.onset);
            let cells = [anomaly.name.clone(), anomaly.entity.to_string(), since, cell];
            let line = format!("{}  {by}", alert.in_words());
            Row { is_well: Some(is_well), below: Vec::from_iter(early), ..Row::of(line, cells) }
        })
        .collect();
    if rows.is_empty() {
        return vec![Block::Text(Tone::Plain, "None.".to_owned())];
    }
    let columns = &["Alert", "Entity", "Since", "Explanation"];
    rows_of(table(columns, rows, ("alert", "alerts"), (0, 40)))
}

/// The belief about each entity.
pub(super) fn beliefs(report: &Report) -> Vec<Block<'static>> {
    let row = |(entity, belief): (&EntityId, &eog_core::Belief)| {
        let cells = [entity.to_string(), belief.label.to_string(), belief.summary.clone()];
        Row::of(format!("{entity}: {}", belief.label), cells)
    };
    let rows = report.diagnosis.beliefs.iter().map(row).collect();
    rows_of(table(&["Entity", "Label", "Why"], rows, ("entity", "entities"), (0, usize::MAX)))
}
