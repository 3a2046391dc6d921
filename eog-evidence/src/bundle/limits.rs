//! Bounds of what a bundle may hold. Beyond them reading stops with an error that says so.

/// Largest JSON file, in bytes.
pub const MAX_JSON_BYTES: u64 = 16 * 1024 * 1024;

/// Largest CSV file, in bytes.
pub const MAX_CSV_BYTES: u64 = 256 * 1024 * 1024;

/// Most rows of one CSV file, and most entries of a JSON list.
pub const MAX_ROWS: usize = 2_000_000;

/// Longest field of a CSV row, in bytes; rows with a longer one are skipped with a warning.
pub const MAX_FIELD_BYTES: usize = 16 * 1024;

/// Memory that is reckoned with for each byte of a JSON file: what a list of short names was measured to need.
pub(super) const MEMORY_PER_JSON_BYTE: u64 = 24;

/// What an investigation needs of all memory, in hundredths of what is held of the telemetry: it makes its own
/// tables of it. Measured.
pub(super) const USE_PERCENT: u64 = 130;

/// How many failure events an incident keeps, earliest first.
pub const MAX_FAILURES: usize = 1_000;

/// How many skipped rows of a file are listed with their line and reason; all are counted.
pub const MAX_LISTED: usize = 5;

/// How many other bundles a manifest may name as a baseline.
pub const MAX_BORROWED: usize = 16;
