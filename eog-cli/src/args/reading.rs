//! How a snapshot is read.

use std::path::PathBuf;

use clap::Args;

// Options for reading an incident, whatever is then done with it. --cache goes with a snapshot.
// (No documentation comment: clap would make it the description of the command.)
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Reading {
    /// Folder that caches parsed snapshots, so that the next run starts at once. Created if missing;
    /// any number of runs and snapshots may share it. A changed snapshot is read again. Not for bundles.
    #[arg(long, hide_short_help = true, value_name = "DIR")]
    pub(crate) cache: Option<PathBuf>,

    /// Maximum memory for an incident, such as 6G or 500M. Default: for a snapshot the memory that the system
    /// reports as free, for a bundle no limit. A snapshot estimated to need more is refused before it is read, and
    /// any input that turns out to need more while it is read. Without K, M or G, SIZE is in bytes.
    #[arg(long, hide_short_help = true, value_name = "SIZE", value_parser = parse_size)]
    pub(crate) max_memory: Option<u64>,

    /// Refuse input with unusable records: exit code 4 and an error that names the file, the line and the
    /// reason. Without it such records are skipped, and counted by file on standard error and at the top of
    /// the report.
    #[arg(long, hide_short_help = true)]
    pub(crate) strict: bool,
}

/// Bytes, or thousands (K), millions (M) or thousand millions (G) of them.
pub(super) fn parse_size(text: &str) -> Result<u64, String> {
    let text = text.trim();
    let number = text.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let unit = match text.get(number.len()..).unwrap_or_default().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "K" | "KB" => 1_000,
        "M" | "MB" => 1_000_000,
        "G" | "GB" => 1_000_000_000,
        _ => return Err("expected a size such as 6G, 500M or 1000000".to_owned()),
    };
    let number: u64 = number
        .parse()
        .map_err(|_| "expected a whole number, such as 6G, 500M or 1000000".to_owned())?;
    number.checked_mul(unit).ok_or_else(|| "that is too large".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_read() {
        let cases = [
            ("6G", Some(6_000_000_000)),
            ("500mb", Some(500_000_000)),
            ("1000", Some(1000)),
            ("0", Some(0)),
            ("", None),
            ("1.5G", None),
            ("6T", None),
            ("-1", None),
            ("99999999999G", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_size(text).ok(), expected, "{text}");
        }
    }
}
