//! Log lines on their way into a bundle: on disk, so that any number of them takes little memory, and thinned out to what a
//! bundle may hold.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, BufReader, BufWriter, Seek as _};
use std::path::Path;

use eog_core::{EntityId, Timestamp};
use eog_evidence::{mask_text, shorten};

use crate::bundle::id;
use crate::piece::{Line, Millis};

/// Most lines, and most bytes of them, that are written.
#[derive(Clone, Copy)]
pub(super) struct Bounds {
    pub(super) lines: u64,
    pub(super) bytes: u64,
}

/// Somewhat less than a bundle may hold.
pub(super) const BOUNDS: Bounds = Bounds { lines: 1_500_000, bytes: 200 << 20 };

/// Longest message, in characters.
const MAX_TEXT: usize = 2_000;

/// Levels whose lines are kept before all others.
const GRAVE: [&str; 12] = [
    "error",
    "err",
    "fatal",
    "critical",
    "crit",
    "panic",
    "severe",
    "alert",
    "emerg",
    "emergency",
    "warning",
    "warn",
];

const HEADER: [&str; 5] = ["time", "entity", "level", "message", "trace"];

/// Lines on disk.
pub(super) struct Spool {
    writer: csv::Writer<BufWriter<File>>,
    entities: BTreeSet<EntityId>,
    extent: Option<(Millis, Millis)>,
    /// Lines and bytes of errors and warnings, and of others.
    grave: (u64, u64),
    other: (u64, u64),
    lost: u64,
    /// The time of which lines are kept, and how many lie outside of it.
    only: Option<(Millis, Millis)>,
    outside: u64,
}

/// What was written of the lines.
pub(super) struct Thinned {
    pub(super) kept: usize,
    all: u64,
    lost: u64,
    steps: (u64, u64),
}

impl Thinned {
    /// What was left out.
    pub(super) fn in_words(&self) -> Option<String> {
        let (grave, other) = self.steps;
        let lost = match self.lost {
            0 => String::new(),
            lost => format!("; {lost} without a time or a name that an entity can have"),
        };
        if grave == 1 && other == 1 {
            return (self.lost > 0).then(|| format!("log lines left out{lost}"));
        }
        Some(format!(
            "{} of {} log lines are kept, as many as a bundle may hold: one of {grave} errors and warnings, one of \
             {other} others{lost}; --window takes fewer",
            self.kept, self.all
        ))
    }
}

impl Spool {
    /// Lines of a time, or all.
    pub(super) fn new(only: Option<(Millis, Millis)>) -> io::Result<Self> {
        let file = BufWriter::with_capacity(1 << 20, tempfile::tempfile()?);
        Ok(Self {
            writer: csv::Writer::from_writer(file),
            entities: BTreeSet::new(),
            extent: None,
            grave: (0, 0),
            other: (0, 0),
            lost: 0,
            only,
            outside: 0,
        })
    }

    pub(super) fn put(&mut self, line: &Line) -> io::Result<()> {
        let (Ok(time), Some(entity)) = (Timestamp::from_nanosecond(line.at.into()), id(&line.who))
        else {
            self.lost += 1;
            return Ok(());
        };
        let at = line.at / 1_000_000;
        if self.only.is_some_and(|(from, until)| at < from || at > until) {
            self.outside += 1;
            return Ok(());
        }
        let message = shorten(&mask_text(&line.text), MAX_TEXT);
        let fields =
            [time.to_string(), entity.to_string(), line.level.clone(), message, line.trace.clone()];
        self.writer.write_record(&fields)?;
        let bytes = fields.iter().map(|field| field.len() as u64 + 1).sum::<u64>();
        let class = match is_grave(&line.level) {
            true => &mut self.grave,
            false => &mut self.other,
        };
        *class = (class.0 + 1, class.1 + bytes);
        let (first, last) = self.extent.unwrap_or((at, at));
        self.extent = Some((first.min(at), last.max(at)));
        if !self.entities.contains(&entity) {
            self.entities.insert(entity);
        }
        Ok(())
    }

    /// How many lines lie outside of the time of which lines are kept.
    pub(super) fn outside(&self) -> u64 {
        self.outside
    }

    pub(super) fn entities(&self) -> impl Iterator<Item = EntityId> {
        self.entities.iter().cloned()
    }

    pub(super) fn extent(&self) -> Option<(Millis, Millis)> {
        self.extent
    }

    /// Writes the lines of a bundle: all, or evenly as many as it may hold, of errors and warnings up to half of that.
    pub(super) fn write(self, to: &Path, most: Bounds) -> io::Result<Thinned> {
        let Self { writer, grave, other, lost, .. } = self;
        let mut file = writer.into_inner().map_err(csv::IntoInnerError::into_error)?;
        io::Write::flush(&mut file)?;
        let mut file = file.into_inner().map_err(io::IntoInnerError::into_error)?;
        file.rewind()?;
        let step = |(lines, bytes): (u64, u64), (most, room): (u64, u64)| {
            lines.div_ceil(most.max(1)).max(bytes.div_ceil(room.max(1))).max(1)
        };
        let fits = grave.0 + other.0 <= most.lines && grave.1 + other.1 <= most.bytes;
        let of_grave = if fits { 1 } else { step(grave, (most.lines / 2, most.bytes / 2)) };
        let used = (grave.0 / of_grave, grave.1 / of_grave);
        let room = (most.lines.saturating_sub(used.0), most.bytes.saturating_sub(used.1));
        let of_other = if fits { 1 } else { step(other, room) };
        let all = grave.0 + other.0;
        let mut thinned = Thinned { kept: 0, all, lost, steps: (of_grave, of_other) };
        if all == 0 {
            return Ok(thinned);
        }
        let mut out = csv::Writer::from_path(to)?;
        out.write_record(HEADER)?;
        let mut reader =
            csv::ReaderBuilder::new().has_headers(false).from_reader(BufReader::new(file));
        let (mut record, mut seen) = (csv::ByteRecord::new(), (0_u64, 0_u64));
        while reader.read_byte_record(&mut record)? {
            let level = record.get(2).and_then(|it| std::str::from_utf8(it).ok());
            let (count, step) = match is_grave(level.unwrap_or_default()) {
                true => (&mut seen.0, of_grave),
                false => (&mut seen.1, of_other),
            };
            *count += 1;
            if (*count - 1) % step == 0 {
                out.write_byte_record(&record)?;
                thinned.kept += 1;
            }
        }
        out.flush()?;
        Ok(thinned)
    }
}

fn is_grave(level: &str) -> bool {
    GRAVE.iter().any(|grave| level.eq_ignore_ascii_case(grave))
}
