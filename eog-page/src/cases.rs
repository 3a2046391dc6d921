//! The page of closed incidents: the list, and how right the words and probabilities of their conclusions were.

use eog_core::Timestamp;
use eog_report::clean::clean_up_to;
use eog_report::words;
use serde::Serialize;

use crate::assets::{Parts, render};
use crate::served::LIST_SCRIPT;
use crate::texts::MAX_TEXT;

const CASES: &str = include_str!("../assets/cases.hbs");

/// The square of the curve, in its own units, and the margin around it.
const SIDE: f64 = 300.0;
const MARGIN: f64 = 40.0;

/// Closed incidents.
#[derive(Clone, Debug, Default)]
pub struct Cases {
    /// Each of them, the last first.
    pub rows: Vec<CaseRow>,
    /// Each word that names a cause.
    pub words: Vec<WordRow>,
    /// How right probabilities were, lowest first.
    pub curve: Vec<Bin>,
}

/// A closed incident in a list.
#[derive(Clone, Debug)]
pub struct CaseRow {
    /// Its name. Untrusted.
    pub name: String,
    /// When it was closed.
    pub at: Timestamp,
    /// The name of the person that closed it. Untrusted.
    pub by: String,
    /// What was true, in a few words. Untrusted.
    pub truth: String,
    /// How sure the conclusion was.
    pub said: String,
    /// How right it was.
    pub grade: String,
}

/// A word of confidence, and how often it was right.
#[derive(Clone, Debug)]
pub struct WordRow {
    /// The word.
    pub said: String,
    /// The share of right conclusions that it promises.
    pub promised: f64,
    /// How often it was said, and how often it was right.
    pub times: usize,
    /// How often it was right.
    pub right: usize,
    /// The interval of 95 % of the share that is right.
    pub interval: (f64, f64),
    /// Whether it keeps its promise; `None` with too few cases.
    pub keeps: Option<bool>,
}

/// Conclusions of about the same probability.
#[derive(Clone, Copy, Debug)]
pub struct Bin {
    /// How many there are.
    pub cases: usize,
    /// Their mean probability.
    pub said: f64,
    /// The share that was right.
    pub right: f64,
    /// Its interval of 95 %.
    pub interval: (f64, f64),
}

#[derive(Serialize)]
struct Shown<'a> {
    policy: String,
    style: &'a str,
    scripts: &'a [&'a str],
    rows: Vec<Cells>,
    count: usize,
    words: Vec<WordCells>,
    curve: Option<Curve>,
}

#[derive(Serialize)]
struct Cells {
    name: String,
    at: String,
    by: String,
    truth: String,
    said: String,
    grade: String,
}

#[derive(Serialize)]
struct WordCells {
    said: String,
    promised: String,
    times: usize,
    right: usize,
    interval: String,
    keeps: &'static str,
}

#[derive(Serialize)]
struct Curve {
    side: f64,
    size: f64,
    margin: f64,
    ticks: Vec<Tick>,
    points: Vec<Point>,
    line: String,
}

#[derive(Serialize)]
struct Tick {
    percent: u32,
    x: String,
    y: String,
}

#[derive(Serialize)]
struct Point {
    x: String,
    y: String,
    low: String,
    high: String,
    said: String,
    right: String,
    cases: usize,
}

/// The page.
pub fn cases(of: &Cases) -> String {
    let parts = Parts::small(vec![LIST_SCRIPT]);
    let shown = |text: &str| clean_up_to(text, MAX_TEXT);
    let cells = |row: &CaseRow| Cells {
        name: shown(&row.name),
        at: words::instant(row.at),
        by: shown(&row.by),
        truth: shown(&row.truth),
        said: row.said.clone(),
        grade: row.grade.clone(),
    };
    let Parts { style, scripts, .. } = &parts;
    render(
        CASES,
        &Shown {
            policy: parts.policy(),
            style,
            scripts,
            rows: of.rows.iter().map(cells).collect(),
            count: of.rows.len(),
            words: of.words.iter().filter(|word| word.times > 0).map(word).collect(),
            curve: (!of.curve.is_empty()).then(|| curve(&of.curve)),
        },
    )
}

fn word(word: &WordRow) -> WordCells {
    let (low, high) = word.interval;
    WordCells {
        said: word.said.clone(),
        promised: percent(word.promised),
        times: word.times,
        right: word.right,
        interval: format!("{} to {}", percent(low), percent(high)),
        keeps: match word.keeps {
            None => "too few cases",
            Some(true) => "yes",
            Some(false) => "no",
        },
    }
}

fn curve(bins: &[Bin]) -> Curve {
    let x = |share: f64| format!("{:.1}", MARGIN + SIDE * share);
    let y = |share: f64| format!("{:.1}", MARGIN + SIDE * (1.0 - share));
    let point = |bin: &Bin| Point {
        x: x(bin.said),
        y: y(bin.right),
        low: y(bin.interval.0),
        high: y(bin.interval.1),
        said: percent(bin.said),
        right: percent(bin.right),
        cases: bin.cases,
    };
    let tick = |quarter: u32| {
        let share = f64::from(quarter) / 4.0;
        Tick { percent: 25 * quarter, x: x(share), y: y(share) }
    };
    let points: Vec<Point> = bins.iter().map(point).collect();
    let line = points.iter().map(|point| format!("{},{}", point.x, point.y));
    Curve {
        side: MARGIN + SIDE,
        size: SIDE + 2.0 * MARGIN,
        margin: MARGIN,
        ticks: (0..=4).map(tick).collect(),
        line: line.collect::<Vec<_>>().join(" "),
        points,
    }
}

fn percent(share: f64) -> String {
    format!("{:.0} %", 100.0 * share)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_names_are_text_and_the_curve_has_its_points() {
        let hostile = "</script><script>alert(1)</script>\u{202e}";
        let row = CaseRow {
            name: hostile.to_owned(),
            at: Timestamp::UNIX_EPOCH,
            by: hostile.to_owned(),
            truth: hostile.to_owned(),
            said: "likely".to_owned(),
            grade: "exact".to_owned(),
        };
        let bin = |said, right| Bin { cases: 4, said, right, interval: (right / 2.0, 1.0) };
        let word = WordRow {
            said: "likely".to_owned(),
            promised: 0.5,
            times: 40,
            right: 10,
            interval: (0.14, 0.4),
            keeps: Some(false),
        };
        let all = Cases {
            rows: vec![row],
            words: vec![word],
            curve: vec![bin(0.5, 0.25), bin(0.9, 1.0)],
        };
        let page = cases(&all);
        assert!(!page.contains("<script>alert") && !page.contains('\u{202e}'), "{page}");
        assert!(page.contains(r#"points="190.0,265.0 310.0,40.0""#), "{page}");
        assert!(page.contains("Said 50 %: 25 % right (n = 4)"), "{page}");
        assert!(page.contains("<td>14 % to 40 %</td><td>no</td>"), "{page}");
        assert!(cases(&Cases::default()).contains("No incident was closed yet"));
    }
}
