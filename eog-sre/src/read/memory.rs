//! How much memory a snapshot will need, and how much there is.

use super::{Folder, Layout, ReadOptions, SnapshotError};

/// Most memory that a row other than an object can need, in bytes: its texts are cut.
const ROW: u64 = 4096;

/// Refuses a snapshot that would not fit, before any of it is read.
///
/// # Errors
/// [`SnapshotError::TooLarge`].
pub(crate) fn check_memory(
    folder: &Folder,
    layout: &Layout,
    options: &ReadOptions,
) -> Result<(), SnapshotError> {
    let Some(allowed) = options.max_memory.or_else(available) else { return Ok(()) };
    let needed = estimate(folder, layout, options.max_rows_per_file);
    if needed <= allowed {
        return Ok(());
    }
    Err(SnapshotError::TooLarge { path: folder.root().display().to_string(), needed, allowed })
}

/// A cautious estimate in bytes. Repeated texts are kept once, so that real snapshots need much
/// less; an object is kept whole, as a tree that is larger than its text.
fn estimate(folder: &Folder, layout: &Layout, max_rows: usize) -> u64 {
    let rows = (max_rows as u64).saturating_mul(ROW);
    // For each kind the share of its files' size that its records can need, in percent.
    let kinds = [
        (&layout.alerts, 400, u64::MAX),
        (&layout.events, 200, rows),
        (&layout.objects, 400, u64::MAX),
        (&layout.logs, 200, rows),
        (&layout.traces, 100, rows),
        (&layout.metrics, 100, rows),
    ];
    let needed = kinds.into_iter().flat_map(|(files, percent, most)| {
        let sizes = files.iter().map(|file| folder.size(file));
        sizes.map(move |size| (size / 100).saturating_mul(percent).min(most))
    });
    needed.fold(0, u64::saturating_add)
}

/// The memory that can be had without swapping, within the limit of the process's group, if the
/// system tells.
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
}
