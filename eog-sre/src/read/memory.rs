//! How much memory a snapshot will need, and how much there is.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};

use super::budget::Budget;
use super::resource::MAX_REMEMBERED;
use super::{Folder, Layout, MAX_FIELD_BYTES, MAX_TEXT, ReadOptions, SnapshotError};

/// What records of one kind need: two to four times of what was measured (the figures are in
/// `docs/sre.md`). A recording that needs more is found out while it is read, by its [`Budget`].
struct Need {
    /// Bytes of each row, with what growing columns hold in reserve.
    row: u64,
    /// Bytes of texts and values for each hundred bytes of the file.
    share: u64,
    /// Most bytes of texts that a row can keep.
    most: u64,
    /// Most bytes of what is remembered while a file is read.
    working: u64,
}

/// Most bytes of a text that is kept.
const TEXT: u64 = 4 * MAX_TEXT as u64;

/// Alerts, events, objects, logs, traces, metrics.
const NEEDS: [Need; Layout::KINDS] = [
    Need { row: 0, share: 400, most: u64::MAX, working: 0 },
    Need { row: 1_000, share: 0, most: 0, working: 0 },
    Need { row: 150, share: 150, most: u64::MAX, working: MAX_FIELD_BYTES as u64 },
    Need { row: 300, share: 40, most: 2 * TEXT, working: MAX_REMEMBERED as u64 },
    Need { row: 200, share: 5, most: 4 * TEXT, working: MAX_REMEMBERED as u64 / 4 },
    Need { row: 60, share: 4, most: 16 * TEXT, working: 0 },
];

/// Refuses a snapshot that would not fit, before any of it is read. Gives what may be used.
///
/// # Errors
/// [`SnapshotError::TooLarge`].
pub(crate) fn check_memory(
    folder: &Folder,
    layout: &Layout,
    options: &ReadOptions,
) -> Result<Budget, SnapshotError> {
    let Some(allowed) = options.max_memory.or_else(available) else {
        return Ok(Budget::new(u64::MAX));
    };
    let needed = estimate(folder, layout, options.max_rows_per_file);
    if needed <= allowed {
        return Ok(Budget::new(allowed));
    }
    Err(SnapshotError::TooLarge { path: folder.root().display().to_string(), needed, allowed })
}

/// An estimate in bytes from the sizes of the files and the length of their rows.
fn estimate(folder: &Folder, layout: &Layout, max_rows: usize) -> u64 {
    let Layout { alerts, events, objects, logs, traces, metrics } = layout;
    let kinds = [alerts, events, objects, logs, traces, metrics].into_iter().zip(NEEDS);
    let needed = kinds.flat_map(|(files, need)| {
        files.iter().map(move |file| {
            let size = folder.size(file);
            let rows = if need.row > 0 { rows(folder, file, size) } else { 0 };
            need.of(size, rows.min(max_rows as u64))
        })
    });
    needed.fold(0, u64::saturating_add)
}

impl Need {
    /// Bytes for a file of a size and a number of rows.
    fn of(&self, size: u64, rows: u64) -> u64 {
        let texts = (size / 100).saturating_mul(self.share);
        let texts = texts.min(if self.row > 0 { rows.saturating_mul(self.most) } else { u64::MAX });
        let working = (size / 10).min(self.working);
        rows.saturating_mul(self.row).saturating_add(texts).saturating_add(working)
    }
}

/// How much of a file is read, at its beginning, middle and end each, in bytes.
const SAMPLE: u64 = 64 * 1024;

/// About how many rows a file has: as if it were everywhere as dense as where it is densest of
/// what is read. Line ends within fields count too. A file that cannot be opened has none.
fn rows(folder: &Folder, file: &str, size: u64) -> u64 {
    let Ok(mut source) = folder.peek(file) else { return 0 };
    let last = size.saturating_sub(SAMPLE);
    let counts =
        [0, last / 2, last].into_iter().filter_map(|start| count(&mut source, start, size).ok());
    counts.max().unwrap_or(0)
}

/// The rows of a file by the share of line ends in one place.
fn count(source: &mut File, start: u64, size: u64) -> io::Result<u64> {
    let mut bytes = Vec::new();
    source.seek(SeekFrom::Start(start))?;
    source.take(SAMPLE).read_to_end(&mut bytes)?;
    // What has no line end is one row.
    let ends = memchr::memchr_iter(b'\n', &bytes).count().max(1) as u64;
    let length = (bytes.len() as u64).max(1);
    Ok(ends.saturating_mul(size).div_ceil(length))
}

/// The memory that can be had without swapping, within the limit of the process's group, if the
/// system says.
fn available() -> Option<u64> {
    let text = |path: &str| std::fs::read_to_string(path).ok();
    let free = text("/proc/meminfo").as_deref().and_then(free_memory);
    let number = |path: &str| text(path)?.trim().parse::<u64>().ok();
    let limit = number("/sys/fs/cgroup/memory.max");
    let used = number("/sys/fs/cgroup/memory.current").unwrap_or(0);
    let group = limit.map(|limit| limit.saturating_sub(used));
    free.into_iter().chain(group).min()
}

/// `MemAvailable` of `/proc/meminfo`, in bytes.
fn free_memory(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    line.split_whitespace().next()?.parse::<u64>().ok()?.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_the_system_says_is_understood() {
        let text = "MemTotal:       24683520 kB\nMemFree: 1 kB\nMemAvailable:    2048 kB\n";
        assert_eq!(free_memory(text), Some(2048 * 1024));
        assert_eq!(free_memory("MemTotal: 1 kB\n"), None);
        assert_eq!(free_memory("MemAvailable: many kB\n"), None);
        assert_eq!(free_memory("MemAvailable: 18446744073709551615 kB\n"), None);
    }

    #[test]
    fn rows_are_counted_where_they_are_densest() {
        let place = tempfile::tempdir().unwrap();
        let folder = Folder::new(place.path()).unwrap();
        let counted = |text: &str| {
            std::fs::write(place.path().join("t.tsv"), text).unwrap();
            rows(&folder, "t.tsv", text.len() as u64)
        };
        assert_eq!(counted(""), 0);
        assert_eq!(counted("a\nb\nc\n"), 3);
        assert_eq!(counted("no end"), 1);
        let long = format!("{}\n", "x".repeat(999)).repeat(1_000);
        assert!((1_000..1_020).contains(&counted(&long)), "{}", counted(&long));
        let short = "xxx\n".repeat(50_000);
        let both = counted(&(long.clone() + &short));
        assert!((250_000..320_000).contains(&both), "{both}");
        assert_eq!(rows(&folder, "ground_truth.tsv", 10), 0);
    }
}
