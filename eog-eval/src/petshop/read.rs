//! The files of the data set.

use std::path::{Path, PathBuf};

use eog::{EntityId, Timestamp};
use eog_simulate::files::{FileError, list_folder, read_json, read_text};
use serde::Deserialize;

use crate::error::EvalError;

/// Deepest folder below the data set that may hold an issue.
const MAX_DEPTH: usize = 4;

/// A data set: the graph, the normal period, and where the issues are.
#[derive(Clone, Debug)]
pub struct PetShop {
    /// Caller and callee.
    pub calls: Vec<(EntityId, EntityId)>,
    /// All services of the graph.
    pub services: Vec<EntityId>,
    /// The metrics of the normal period.
    pub normal: Table,
    /// The folders of the issues, by name.
    pub issues: Vec<PathBuf>,
}

/// One metrics file.
#[derive(Clone, Debug)]
pub struct Table {
    /// When each row was measured.
    pub times: Vec<Timestamp>,
    /// The columns.
    pub columns: Vec<Column>,
}

/// One column of a metrics file.
#[derive(Clone, Debug)]
pub struct Column {
    /// The service.
    pub service: EntityId,
    /// Such as `latency`.
    pub metric: String,
    /// Such as `Average`.
    pub statistic: String,
    /// A value for each row; nothing where the cell is empty.
    pub values: Vec<Option<f64>>,
}

/// The alert of an issue: the only part of its description that an investigation may see.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
pub struct Target {
    /// The service with the alert.
    pub node: EntityId,
    /// The metric, such as `latency`.
    pub metric: String,
    /// The statistic, such as `Average`.
    pub agg: String,
    /// When it fired, in seconds since 1970.
    pub timestamp: i64,
}

impl PetShop {
    /// Reads graph and normal period, and searches for issues.
    ///
    /// # Errors
    /// [`EvalError`] when a file is missing or malformed, or there is no issue.
    pub fn read(dir: &Path) -> Result<Self, EvalError> {
        if let Some(inner) = data_set_below(dir)? {
            let (dir, inner) = (dir.display(), inner.display());
            let reason = format!("{dir} has no graph.csv, but {inner} does; use that folder");
            return Err(EvalError::Setting { reason });
        }
        let (services, calls) = read_graph(&dir.join("graph.csv"))?;
        let normal = Table::read(&dir.join("noissue").join("metrics.csv"))?;
        let mut issues = Vec::new();
        find_issues(dir, 0, &mut issues)?;
        if issues.is_empty() {
            let expected = "folders with metrics.csv and target.json";
            return Err(FileError::nothing(dir, expected).into());
        }
        Ok(Self { calls, services, normal, issues })
    }
}

impl Target {
    /// Reads the alert of an issue and nothing else of it.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        #[derive(Deserialize)]
        struct File {
            target: Target,
        }
        Ok(read_json::<File>(path)?.target)
    }
}

/// The cause of an issue, for the scoring.
pub(super) fn root_cause(path: &Path) -> Result<EntityId, EvalError> {
    #[derive(Deserialize)]
    struct File {
        root_cause: Cause,
    }
    #[derive(Deserialize)]
    struct Cause {
        node: EntityId,
    }
    Ok(read_json::<File>(path)?.root_cause.node)
}

impl Table {
    /// Reads a metrics file: three header rows (service, metric, statistic), a row that names the
    /// index, then one row for each time.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the line, and what is wrong.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        let text = read_text(path)?;
        let mut lines = records(&text);
        let wrong = |line: usize, reason: String| wrong(path, line, reason);
        let mut header = |line: usize, name: &str| -> Result<csv::StringRecord, EvalError> {
            let record = lines
                .next()
                .ok_or_else(|| wrong(line, format!("the row of {name}s is missing")))?;
            let record = record.map_err(|error| wrong(line, error.to_string()))?;
            if record.get(0) != Some(name) {
                return Err(wrong(line, format!("the row of {name}s must start with {name:?}")));
            }
            Ok(record)
        };
        let (services, metrics, statistics) =
            (header(1, "microservice")?, header(2, "metric")?, header(3, "statistic")?);
        let width = services.len();
        let mut columns = Vec::new();
        for place in 1..width {
            let field = |row: &csv::StringRecord| row.get(place).unwrap_or_default().to_owned();
            let service = EntityId::new(field(&services))
                .map_err(|error| wrong(1, format!("column {}: {error}", place + 1)))?;
            let (metric, statistic) = (field(&metrics), field(&statistics));
            columns.push(Column { service, metric, statistic, values: Vec::new() });
        }
        let mut times = Vec::new();
        for (number, record) in lines.enumerate() {
            let line = number + 4;
            let record = record.map_err(|error| wrong(line, error.to_string()))?;
            let first = record.get(0).unwrap_or_default();
            if first == "unix_timestamp" {
                continue;
            }
            if record.len() != width {
                let found = record.len();
                return Err(wrong(
                    line,
                    format!("it has {found} fields, but the header has {width}"),
                ));
            }
            let seconds = first.parse::<f64>().ok().filter(|seconds| seconds.is_finite());
            let time = seconds.and_then(|seconds| Timestamp::from_second(seconds as i64).ok());
            times.push(time.ok_or_else(|| {
                wrong(line, format!("{first:?} is not a time in seconds since 1970"))
            })?);
            for (column, cell) in columns.iter_mut().zip(record.iter().skip(1)) {
                let value = match cell.trim() {
                    "" => None,
                    text => Some(text.parse::<f64>().map_err(|_| {
                        wrong(line, format!("{text:?} for {} is not a number", column.service))
                    })?),
                };
                column.values.push(value.filter(|value| value.is_finite()));
            }
        }
        Ok(Self { times, columns })
    }
}

/// The rows of a table without a header.
fn records(text: &str) -> csv::StringRecordsIntoIter<&[u8]> {
    let mut reader = csv::ReaderBuilder::new();
    reader.has_headers(false).flexible(true).from_reader(text.as_bytes()).into_records()
}

fn wrong(path: &Path, line: usize, reason: String) -> EvalError {
    EvalError::malformed(path, format_args!("line {line}"), reason)
}

/// A folder of a folder without a graph that has one.
fn data_set_below(dir: &Path) -> Result<Option<PathBuf>, EvalError> {
    if !dir.is_dir() || dir.join("graph.csv").exists() {
        return Ok(None);
    }
    Ok(list_folder(dir)?.into_iter().find(|inner| inner.join("graph.csv").is_file()))
}

fn find_issues(dir: &Path, depth: usize, found: &mut Vec<PathBuf>) -> Result<(), EvalError> {
    if dir.join("target.json").is_file() {
        found.push(dir.to_owned());
        return Ok(());
    }
    if depth < MAX_DEPTH {
        for path in list_folder(dir)?.into_iter().filter(|path| path.is_dir()) {
            find_issues(&path, depth + 1, found)?;
        }
    }
    Ok(())
}

/// An adjacency matrix: the row calls the column.
#[expect(clippy::type_complexity, reason = "services and calls, once")]
fn read_graph(path: &Path) -> Result<(Vec<EntityId>, Vec<(EntityId, EntityId)>), EvalError> {
    let text = read_text(path)?;
    let mut records = records(&text);
    let wrong = |line: usize, reason: String| wrong(path, line, reason);
    let name = |line: usize, text: &str| {
        EntityId::new(text).map_err(|error| wrong(line, error.to_string()))
    };
    let header = records.next().ok_or_else(|| wrong(1, "the file is empty".into()))?;
    let header = header.map_err(|error| wrong(1, error.to_string()))?;
    let services: Vec<EntityId> =
        header.iter().skip(1).map(|text| name(1, text)).collect::<Result<_, _>>()?;
    let mut calls = Vec::new();
    for (number, record) in records.enumerate() {
        let line = number + 2;
        let record = record.map_err(|error| wrong(line, error.to_string()))?;
        if record.len() != services.len() + 1 {
            let (found, width) = (record.len(), services.len() + 1);
            return Err(wrong(line, format!("it has {found} fields, but the header has {width}")));
        }
        let caller = name(line, record.get(0).unwrap_or_default())?;
        for (callee, cell) in services.iter().zip(record.iter().skip(1)) {
            let linked = cell.trim().parse::<f64>();
            let linked = linked.map_err(|_| wrong(line, format!("{cell:?} is not a number")))?;
            if linked != 0.0 && *callee != caller {
                calls.push((caller.clone(), callee.clone()));
            }
        }
    }
    Ok((services, calls))
}
