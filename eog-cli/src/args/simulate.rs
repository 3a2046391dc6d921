//! `eog simulate`.

use std::path::PathBuf;

use clap::Args;
use eog_simulate::snapshot::Harmless;

const SIMULATE_CODES: &str = "\
Exit codes:
  0    written
  1    output could not be written
  2    wrong command line, or the output exists already
  4    a ground truth or the architecture cannot be used, or the folder cannot be written";

/// An incident to simulate.
#[derive(Debug, Args)]
#[command(after_help = SIMULATE_CODES)]
pub(crate) struct Simulate {
    /// Ground truth (YAML or JSON), a list of ground truths, or a folder of scenarios.
    pub(crate) truth: PathBuf,

    /// Application architecture (JSON).
    pub(crate) architecture: PathBuf,

    /// Folder to create. It must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Ground truth to use, if there are several.
    #[arg(long, value_name = "ID")]
    pub(crate) scenario: Option<String>,

    /// Seed for noise, times and random numbers.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// Approximate size of the snapshot, from 1MB to 1GB. Most scenarios need at least 8 to 14 MB; a snapshot
    /// that is larger than requested is reported in a note.
    #[arg(long, value_name = "SIZE", default_value = "10MB", value_parser = parse_size)]
    pub(crate) size: u64,

    #[command(flatten)]
    pub(crate) harmless: HarmlessChanges,
}

// Changes that harm nothing. (No documentation comment: clap would make it the description of the command.)
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct HarmlessChanges {
    /// Average number of harmless changes per hour, at random times over the recording.
    #[arg(long, value_name = "N", default_value_t = Harmless::default().per_hour, value_parser = clap::value_parser!(u32).range(0..=600))]
    pub(crate) harmless_changes: u32,

    /// Additional harmless changes between the first harm and the first alert.
    #[arg(long, value_name = "N", default_value_t = Harmless::default().decoys, value_parser = clap::value_parser!(u32).range(0..=20))]
    pub(crate) decoys: u32,
}

impl From<&HarmlessChanges> for Harmless {
    fn from(given: &HarmlessChanges) -> Self {
        Self { per_hour: given.harmless_changes, decoys: given.decoys }
    }
}

/// A number of bytes, such as `20MB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size; expected for example 20MB or 1GB");
    let letters = text.trim_start_matches(|letter: char| letter.is_ascii_digit());
    let number: u64 = text.strip_suffix(letters).unwrap_or(text).parse().map_err(|_| wrong())?;
    let unit = match letters.trim().to_ascii_uppercase().as_str() {
        "" | "B" => 1,
        "KB" | "K" => 1_000,
        "MB" | "M" => 1_000_000,
        "GB" | "G" => 1_000_000_000,
        _ => return Err(wrong()),
    };
    let bytes = number.checked_mul(unit).ok_or_else(wrong)?;
    let sizes = eog_simulate::snapshot::SIZES;
    if !sizes.contains(&bytes) {
        return Err(format!("expected between {} and {} bytes", sizes.start(), sizes.end()));
    }
    Ok(bytes)
}
