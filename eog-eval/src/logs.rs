//! Patterns of log lines, compared with those that people assigned.
//!
//! Input is the structured form of loghub (Zhu et al., *Loghub: A Large Collection of System Log Datasets for
//! AI-driven Log Analytics*, ISSRE 2023): a CSV file for each system, with the message of each line as
//! `Content` and the template that it belongs to as `EventId`.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::path::{Path, PathBuf};

use eog_evidence::Miner;
use eog_simulate::files::FileError;
use serde::Serialize;

use crate::EvalError;
use crate::table::csv_text;

/// How the name of a file ends that is evaluated.
pub const SUFFIX: &str = "_structured.csv";

/// How well the patterns of each system's lines are found.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct LogsReport {
    /// By name.
    pub systems: Vec<SystemScore>,
    /// The mean of the systems' grouping accuracies.
    pub mean_grouping_accuracy: f64,
}

/// The lines of one system.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct SystemScore {
    /// As the name of the file begins.
    pub system: String,
    /// Number of lines.
    pub lines: usize,
    /// Number of templates that people assigned.
    pub events: usize,
    /// Number of patterns that were found.
    pub patterns: usize,
    /// See [`grouping_accuracy`].
    pub grouping_accuracy: f64,
}

/// Mines the patterns of every file `*_structured.csv` in a folder and in the folders within it, each
/// by itself, and compares them with its events. Instead of a folder, one file can be given.
///
/// # Errors
/// [`EvalError`] when the folder has no such file, or one cannot be read, lacks a column or has no lines.
pub fn evaluate(dir: &Path) -> Result<LogsReport, EvalError> {
    let files = if dir.is_file() { vec![dir.to_owned()] } else { structured_files(dir)? };
    if files.is_empty() {
        return Err(FileError::nothing(
            dir,
            "files NAME_structured.csv with columns Content and EventId",
        )
        .into());
    }
    let systems =
        files.iter().map(|file| score(file)).collect::<Result<Vec<SystemScore>, EvalError>>()?;
    let sum: f64 = systems.iter().map(|system| system.grouping_accuracy).sum();
    Ok(LogsReport { mean_grouping_accuracy: sum / systems.len() as f64, systems })
}

fn structured_files(dir: &Path) -> Result<Vec<PathBuf>, EvalError> {
    let mut files = Vec::new();
    for path in entries(dir)? {
        if path.is_dir() {
            files.extend(entries(&path)?.into_iter().filter(|path| is_structured(path)));
        } else if is_structured(&path) {
            files.push(path);
        }
    }
    files.sort_by_cached_key(|file| (system(file), file.clone()));
    Ok(files)
}

fn entries(dir: &Path) -> Result<Vec<PathBuf>, EvalError> {
    let unusable = |error: std::io::Error| EvalError::file(dir, error);
    let entries = std::fs::read_dir(dir).map_err(unusable)?;
    entries.map(|entry| Ok(entry.map_err(unusable)?.path())).collect()
}

fn is_structured(path: &Path) -> bool {
    path.is_file() && path.to_string_lossy().ends_with(SUFFIX)
}

/// The name of a system: `Apache` of `Apache_2k.log_structured.csv`.
fn system(file: &Path) -> String {
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let name = name.trim_end_matches(SUFFIX).trim_end_matches(".csv").trim_end_matches(".log");
    name.trim_end_matches("_2k").trim_end_matches("_full").to_owned()
}

fn score(file: &Path) -> Result<SystemScore, EvalError> {
    let mut reader = csv::Reader::from_path(file).map_err(|error| EvalError::file(file, error))?;
    let header = reader.byte_headers().map_err(|error| EvalError::file(file, error))?.clone();
    let column = |name: &str| {
        let place = header.iter().position(|cell| cell.trim_ascii() == name.as_bytes());
        place.ok_or_else(|| {
            EvalError::malformed(file, "line 1", format!("there is no column {name}"))
        })
    };
    let (content, event) = (column("Content")?, column("EventId")?);
    let (mut miner, mut events) = (Miner::new(), HashMap::new());
    let mut lines: Vec<(u32, usize)> = Vec::new();
    for record in reader.byte_records() {
        let record = record.map_err(|error| EvalError::file(file, error))?;
        let cell = |at: usize| String::from_utf8_lossy(record.get(at).unwrap_or_default());
        let next = events.len();
        let event = *events.entry(cell(event).into_owned()).or_insert(next);
        lines.push((miner.add(&cell(content)), event));
    }
    if lines.is_empty() {
        return Err(EvalError::malformed(file, "line 2", "there are no lines"));
    }
    let patterns = miner.mine();
    let grouped: Vec<(&str, usize)> =
        lines.iter().map(|(number, event)| (patterns.text(*number), *event)).collect();
    Ok(SystemScore {
        system: system(file),
        lines: lines.len(),
        events: events.len(),
        patterns: counts(grouped.iter().map(|(pattern, _)| *pattern)).len(),
        grouping_accuracy: grouping_accuracy(&grouped),
    })
}

/// The share of lines, each given with its pattern and its event, whose lines of the same pattern are
/// exactly the lines of the same event (Zhu et al., *Tools and Benchmarks for Automated Log Parsing*, ICSE-SEIP
/// 2019). No lines score 0.
///
/// ```
/// use eog_eval::logs::grouping_accuracy;
/// // Two lines of one event have two patterns; the third line is alone, as it should be.
/// assert_eq!(grouping_accuracy(&[("a", 1), ("b", 1), ("c", 2), ("d", 3)]), 0.5);
/// ```
pub fn grouping_accuracy<P: Copy + Eq + Hash, E: Copy + Eq + Hash>(lines: &[(P, E)]) -> f64 {
    let patterns = counts(lines.iter().map(|(pattern, _)| *pattern));
    let events = counts(lines.iter().map(|(_, event)| *event));
    let both = counts(lines.iter().copied());
    let right = |(pattern, event): &&(P, E)| {
        let count = both.get(&(*pattern, *event));
        count == patterns.get(pattern) && count == events.get(event)
    };
    lines.iter().filter(right).count() as f64 / lines.len().max(1) as f64
}

fn counts<T: Eq + Hash>(items: impl Iterator<Item = T>) -> HashMap<T, usize> {
    let mut counts = HashMap::new();
    for item in items {
        *counts.entry(item).or_default() += 1;
    }
    counts
}

impl LogsReport {
    /// A row for each system, and one for the mean.
    pub fn to_csv(&self) -> String {
        let header = ["system", "lines", "events", "patterns", "grouping_accuracy"];
        let mut rows: Vec<Vec<String>> = self
            .systems
            .iter()
            .map(|system| {
                let SystemScore { system, lines, events, patterns, grouping_accuracy } = system;
                vec![
                    system.clone(),
                    lines.to_string(),
                    events.to_string(),
                    patterns.to_string(),
                    format!("{grouping_accuracy:.4}"),
                ]
            })
            .collect();
        let mean = format!("{:.4}", self.mean_grouping_accuracy);
        rows.push(vec!["mean".into(), String::new(), String::new(), String::new(), mean]);
        csv_text(&header, rows)
    }
}

impl fmt::Display for LogsReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.systems.iter().map(|system| system.system.chars().count());
        let width = names.max().unwrap_or(0).max("system".len());
        writeln!(
            f,
            "{:width$} {:>9} {:>7} {:>9}  grouping accuracy",
            "system", "lines", "events", "patterns"
        )?;
        for system in &self.systems {
            let SystemScore { system, lines, events, patterns, grouping_accuracy } = system;
            writeln!(
                f,
                "{system:width$} {lines:>9} {events:>7} {patterns:>9}  {grouping_accuracy:.4}"
            )?;
        }
        writeln!(
            f,
            "{:width$} {:>9} {:>7} {:>9}  {:.4}",
            "mean", "", "", "", self.mean_grouping_accuracy
        )
    }
}
