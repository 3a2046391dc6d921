//! What is shown of cases: lists, one case, statistics, similar ones.

use std::fmt::Write as _;

use comfy_table::{ContentArrangement, Table, TableStyle};
use eog::Diagnosis;
use eog_cases::reliability::{MIN_CASES, Reliability};
use eog_cases::similar::cases_like;
use eog_cases::{CaseFolder, Row};
use eog_report::clean::clean;
use eog_session::travel::Read;

use super::{clean_line_by_line, counted, print};
use crate::args::CasesFormat;
use crate::error::{CliError, Exit};
use crate::files;
use crate::shown::clean_line;

/// Characters of a full bar of the reliability curve.
const BAR: usize = 40;

pub(super) fn list(folder: &CaseFolder, format: CasesFormat) -> Result<Exit, CliError> {
    let mut listed = folder.list()?;
    listed.rows.sort_by(|a, b| b.at.cmp(&a.at).then_with(|| a.name.cmp(&b.name)));
    for (name, reason) in &listed.damaged {
        eprintln!(
            "{}",
            clean_line(&format!("eog: note: the case {name} cannot be used: {reason}"))
        );
    }
    if listed.rows.is_empty() && format == CasesFormat::Text {
        eprintln!("eog: there are no cases; `eog close` adds one");
        return Ok(Exit::Diagnosed);
    }
    print(format, &listed.rows, || format!("{}\n", table(&listed.rows)))?;
    Ok(Exit::Diagnosed)
}

fn table(rows: &[Row]) -> Table {
    let header = ["case", "closed", "by", "grade", "concluded", "true"];
    let body = rows.iter().map(|row| {
        let named: Vec<&str> = row.named.iter().map(eog::EntityId::as_str).collect();
        let concluded = match named.is_empty() {
            true => row.said.to_string(),
            false => format!("{}: {}", row.said, named.join(", ")),
        };
        let (at, grade) = (at(row.at), row.grade.to_string());
        [row.name.clone(), at, row.by.clone(), grade, concluded, row.truth.clone()]
    });
    drawn(&header, body)
}

fn drawn<const N: usize>(header: &[&str; N], body: impl Iterator<Item = [String; N]>) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    if let Some(width) = files::full_width() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table.set_header(header.iter().map(|name| (*name).to_owned()));
    for row in body {
        table.add_row(row.iter().map(|cell| clean(cell).into_owned()));
    }
    table
}

/// A time to the minute.
fn at(time: eog::Timestamp) -> String {
    time.strftime("%Y-%m-%d %H:%MZ").to_string()
}

pub(super) fn show(folder: &CaseFolder, name: &str, format: CasesFormat) -> Result<Exit, CliError> {
    let case = folder.case(name)?;
    print(format, &case, || {
        let mut text = format!("{}: {}\n\n", case.name, case.grade);
        let mut line = |what: &str, value: &str| {
            let _ = writeln!(text, "{what:<11}{value}");
        };
        let (window, closed) = (&case.window, &case.closed);
        line("incident", &case.incident);
        line("window", &format!("{} to {}", at(window.start()), at(window.end())));
        for (number, alert) in case.alerts.iter().enumerate() {
            line(if number == 0 { "alerts" } else { "" }, alert);
        }
        line("concluded", &case.concluded.in_words());
        line("judged by", &case.concluded.judge);
        line("true", &case.truth.in_words());
        for change in &case.truth.changes {
            line("change", change.as_str());
        }
        line("closed", &format!("{} by {}", at(closed.at), closed.by));
        if !closed.note.is_empty() {
            line("note", &closed.note);
        }
        let place = folder.path().join(&case.name);
        for (file, kept) in &case.kept {
            line("kept", &format!("{} ({} bytes)", place.join(file).display(), kept.bytes));
        }
        clean_line_by_line(&text)
    })?;
    Ok(Exit::Diagnosed)
}

pub(super) fn stats(folder: &CaseFolder, format: CasesFormat) -> Result<Exit, CliError> {
    let rows = folder.list()?.rows;
    let reliability = Reliability::of(&rows);
    print(format, &reliability, || in_words(&reliability))?;
    Ok(Exit::Diagnosed)
}

fn in_words(reliability: &Reliability) -> String {
    let grades = reliability.grades.iter().map(|(grade, count)| format!("{count} {grade}"));
    let grades: Vec<String> = grades.collect();
    let mut text = format!("{}: {}\n\n", counted(reliability.cases), grades.join(", "));
    let header = ["said", "promises", "right", "of", "share", "95 % interval", ""];
    let percent = |share: f64| format!("{:.0} %", share * 100.0);
    let words = reliability.words.iter().map(|word| {
        let share = match word.said_times {
            0 => "-".to_owned(),
            times => percent(word.right as f64 / times as f64),
        };
        let (low, high) = word.interval;
        let verdict = match word.keeps {
            None => format!("fewer than {MIN_CASES} cases"),
            Some(true) => "keeps its promise".to_owned(),
            Some(false) => "DOES NOT KEEP ITS PROMISE".to_owned(),
        };
        let promised = percent(word.promised);
        let (right, of) = (word.right.to_string(), word.said_times.to_string());
        let interval = format!("{} to {}", percent(low), percent(high));
        [word.said.to_string(), promised, right, of, share, interval, verdict]
    });
    let _ = writeln!(text, "{}", drawn(&header, words));
    if !reliability.curve.is_empty() {
        text += "\nprobability  right of cases\n";
    }
    for bin in &reliability.curve {
        let place = |share: f64| ((share * BAR as f64).round() as usize).min(BAR - 1);
        let mut bar: Vec<char> = std::iter::repeat_n('█', place(bin.right) + 1).collect();
        bar.resize(BAR, ' ');
        if bin.right == 0.0 {
            bar.fill(' ');
        }
        if let Some(mark) = bar.get_mut(place(bin.said)) {
            *mark = '│';
        }
        let bar: String = bar.into_iter().collect();
        let range = format!("{:.0}-{:.0} %", bin.from * 100.0, bin.to * 100.0);
        let _ = writeln!(text, "{range:<11}  {bar}  {} of {}", percent(bin.right), bin.cases);
    }
    if !reliability.curve.is_empty() {
        text += "\n│ is what was said: a bar that ends before it was said too boldly.\n";
    }
    text
}

pub(super) fn similar(
    folder: &CaseFolder,
    read: &Read,
    diagnosis: &Diagnosis,
    most: usize,
    format: CasesFormat,
) -> Result<Exit, CliError> {
    let found = cases_like(folder, &read.ledger, diagnosis, most)?;
    print(format, &found, || {
        if found.is_empty() {
            return "no case is like it\n".to_owned();
        }
        let header = ["case", "likeness", "true", "shared observations"];
        let body = found.iter().map(|it| {
            let likeness = format!("{:.2}", it.likeness);
            [it.case.clone(), likeness, it.truth.clone(), it.shared.join("; ")]
        });
        format!("{}\n", drawn(&header, body))
    })?;
    Ok(Exit::Diagnosed)
}
