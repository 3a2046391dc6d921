//! What is over goes in time: by age, by number, by the size of captures.

use std::path::{Path, PathBuf};

use eog_mcp::server::Server;
use jiff::Timestamp;

use crate::config::Keep;
use crate::desk::Desk;
use crate::incident::id;
use crate::outbox::Outbox;

/// Removes what is not kept any more: incidents with their captures and investigations. Blocks.
pub(crate) fn clear(
    desk: &Desk,
    outbox: &Outbox,
    server: &Server,
    captures: &Path,
    keep: &Keep,
    now: Timestamp,
) {
    let closed = desk.closed();
    let mut bytes = size(captures);
    let mut count = closed.len();
    let oldest = now.checked_sub(keep.age).unwrap_or(Timestamp::MIN);
    for (number, one) in closed {
        if one.at >= oldest && count <= keep.incidents && bytes <= keep.bytes {
            break;
        }
        if one.investigation.as_deref().is_some_and(|id| !server.forget(id)) {
            continue;
        }
        for folder in of_incident(captures, number) {
            bytes = bytes.saturating_sub(size(&folder));
            // What stays is removed the next time the size is too much.
            let _ = std::fs::remove_dir_all(folder);
        }
        desk.remove(number);
        tracing::info!(incident = %id(number), "incident removed, as `keep` says");
        count -= 1;
    }
    outbox.forget(std::time::SystemTime::from(oldest));
}

/// The captures of an incident.
fn of_incident(captures: &Path, number: u64) -> Vec<PathBuf> {
    let begins = format!("{}-", id(number));
    let entries = captures.read_dir().into_iter().flatten().flatten();
    let is_own = |entry: &std::fs::DirEntry| {
        entry.file_name().to_str().is_some_and(|name| name.starts_with(&begins))
    };
    entries.filter(is_own).map(|entry| entry.path()).collect()
}

fn size(path: &Path) -> u64 {
    let Ok(meta) = path.symlink_metadata() else { return 0 };
    if !meta.is_dir() {
        return meta.len();
    }
    path.read_dir().into_iter().flatten().flatten().map(|entry| size(&entry.path())).sum()
}
