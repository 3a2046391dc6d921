//! Reading a side file through.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read};
use std::time::Duration;

use eog_core::{Digest, Usage};

use super::record::{self, FirstLine, SideRecord};
use super::{CallFigures, MAX_SIDE_LINE_BYTES, SideError};
use crate::journal::Medium;

/// What a side file held.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SideRecords {
    /// Every record, in the order of writing.
    pub records: Vec<SideRecord>,
    /// What was left out at the end, if anything.
    pub cut: Option<SideCut>,
}

/// The remains of an interrupted write at the end of a side file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SideCut {
    /// The line that they are, counted from 1.
    pub line: u64,
    /// How long they are.
    pub bytes: u64,
}

impl fmt::Display for SideCut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { line, bytes } = self;
        write!(
            f,
            "the side file ended in an interrupted write, so the {bytes} bytes of its line {line} \
             were left out; the lines before are whole"
        )
    }
}

impl SideRecords {
    /// What all runs have cost: evaluations, calls outside the loop, and waste. The budgets of a
    /// resumed run begin with it.
    pub fn usage_so_far(&self) -> Usage {
        let mut sum = Usage::default();
        for record in &self.records {
            match record {
                SideRecord::Evaluation { usage, .. }
                | SideRecord::Outside { usage, .. }
                | SideRecord::Wasted { usage, .. } => sum += *usage,
                SideRecord::Run { .. } | SideRecord::Stopped { .. } => {}
            }
        }
        sum
    }

    /// How long all runs have taken, without the time between them. Of a run that was killed, the
    /// time up to the last figure that it left counts; time that overlaps counts once.
    pub fn wall_so_far(&self) -> Duration {
        let mut spans = Vec::new();
        let mut run = 0;
        for record in &self.records {
            match record {
                SideRecord::Run { at, .. } => run = at.as_microsecond(),
                SideRecord::Evaluation { context, policy, .. } => {
                    let ends = [context, policy].into_iter().flatten().map(CallFigures::end_us);
                    spans.push((run, later(run, ends.max().unwrap_or(0))));
                }
                SideRecord::Outside { at, took_us, .. } => {
                    spans.push((at.as_microsecond(), later(at.as_microsecond(), *took_us)));
                }
                SideRecord::Stopped { wall_ms, .. } => {
                    spans.push((run, later(run, wall_ms.saturating_mul(1000))));
                }
                SideRecord::Wasted { .. } => {}
            }
        }
        covered(spans)
    }

    /// The recorded answer of an outside call, if there is one. Searches all records.
    pub fn outside(&self, key: &Digest) -> Option<&serde_json::Value> {
        self.records.iter().find_map(|record| match record {
            SideRecord::Outside { key: recorded, answer, .. } if recorded == key => Some(answer),
            _ => None,
        })
    }
}

impl CallFigures {
    /// Microseconds from the begin of the run to the end of the call.
    fn end_us(&self) -> u64 {
        self.started_ms.saturating_mul(1000).saturating_add(self.took_us)
    }
}

fn later(start_us: i64, by_us: u64) -> i64 {
    start_us.saturating_add_unsigned(by_us)
}

/// How much time the spans cover together, in microseconds from anywhere.
fn covered(mut spans: Vec<(i64, i64)>) -> Duration {
    spans.sort_unstable();
    let mut total = 0_u64;
    let mut until = i64::MIN;
    for (start, end) in spans {
        let start = start.max(until);
        if end > start {
            total = total.saturating_add(end.abs_diff(start));
            until = end;
        }
    }
    Duration::from_micros(total)
}

/// A side file that was read through.
pub(super) struct Scan {
    pub(super) records: SideRecords,
    /// The bytes to keep; 0 if not even the first line is whole.
    pub(super) kept: u64,
}

/// Reads every line, one at a time.
pub(super) fn scan(medium: &dyn Medium) -> Result<Scan, SideError> {
    let path = medium.path();
    let failed = |source: io::Error| SideError::unusable(path, "read", source);
    let size = medium.size().map_err(failed)?;
    // A writer may add to the file meanwhile; only what was there at the start is read.
    let mut reader = BufReader::new(medium.reader().map_err(failed)?.take(size));
    let mut found = Scan { records: SideRecords::default(), kept: 0 };
    for number in 1.. {
        let damaged =
            |reason: String| SideError::Damaged { path: path.to_owned(), line: number, reason };
        let line = next_line(&mut reader).map_err(failed)?;
        let torn = match &line {
            Line::End => return Ok(found),
            Line::Unfinished(begun) if number == 1 && !begins_header(begun) => {
                return Err(SideError::NotASideFile { path: path.to_owned() });
            }
            Line::Unfinished(_) => true,
            Line::TooLong => {
                return Err(damaged(format!("it is longer than {MAX_SIDE_LINE_BYTES} bytes")));
            }
            Line::Whole(line) if number == 1 => match record::read_header(line) {
                FirstLine::Known => false,
                FirstLine::Format(format) => {
                    return Err(SideError::UnknownFormat { path: path.to_owned(), format });
                }
                FirstLine::Foreign => {
                    return Err(SideError::NotASideFile { path: path.to_owned() });
                }
            },
            Line::Whole(line) => match serde_json::from_slice(line) {
                Ok(record) => {
                    found.records.records.push(record);
                    false
                }
                // A write of which the end was stored before the middle.
                Err(_) if !is_json(line) && at_end(&mut reader).map_err(failed)? => true,
                Err(error) => return Err(damaged(error.to_string())),
            },
        };
        if torn {
            let bytes = size.saturating_sub(found.kept);
            found.records.cut = Some(SideCut { line: number, bytes });
            return Ok(found);
        }
        found.kept += line.len();
    }
    Ok(found)
}

/// What stands at one place of a side file.
enum Line {
    /// Nothing: the file ends here.
    End,
    /// A line with its line feed.
    Whole(Vec<u8>),
    /// The beginning of a line, and nothing after it. Only as much as a line may have.
    Unfinished(Vec<u8>),
    /// A line that is longer than one may be.
    TooLong,
}

impl Line {
    fn len(&self) -> u64 {
        match self {
            Self::Whole(line) | Self::Unfinished(line) => line.len() as u64,
            Self::End | Self::TooLong => 0,
        }
    }
}

fn next_line(reader: &mut impl BufRead) -> io::Result<Line> {
    let mut line = Vec::new();
    reader.by_ref().take(MAX_SIDE_LINE_BYTES).read_until(b'\n', &mut line)?;
    if line.is_empty() {
        return Ok(Line::End);
    }
    if line.ends_with(b"\n") {
        return Ok(Line::Whole(line));
    }
    // The system may have filled the file up with zeros, as far as it likes.
    Ok(if skip_line(reader)? { Line::TooLong } else { Line::Unfinished(line) })
}

/// Skips the rest of a line. Whether it has an end.
fn skip_line(reader: &mut impl BufRead) -> io::Result<bool> {
    loop {
        let chunk = reader.fill_buf()?;
        if chunk.is_empty() {
            return Ok(false);
        }
        let (length, ended) = match chunk.iter().position(|byte| *byte == b'\n') {
            Some(place) => (place + 1, true),
            None => (chunk.len(), false),
        };
        reader.consume(length);
        if ended {
            return Ok(true);
        }
    }
}

fn at_end(reader: &mut impl BufRead) -> io::Result<bool> {
    Ok(reader.fill_buf()?.is_empty())
}

fn is_json(line: &[u8]) -> bool {
    serde_json::from_slice::<serde::de::IgnoredAny>(line).is_ok()
}

/// Whether an interrupted creation leaves this behind.
fn begins_header(begun: &[u8]) -> bool {
    let header = record::header();
    let zeros = begun.len() <= header.len() && begun.iter().all(|byte| *byte == 0);
    header.starts_with(begun) || zeros
}
