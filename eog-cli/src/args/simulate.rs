//! `eog simulate`.

use std::path::PathBuf;

use clap::Args;

/// An incident to make.
#[derive(Debug, Args)]
pub(crate) struct Simulate {
    /// The ground truth (YAML or JSON), a JSON list of truths, or a folder of scenarios.
    pub(crate) truth: PathBuf,

    /// The application architecture (JSON).
    pub(crate) architecture: PathBuf,

    /// The folder to write. Must not exist yet.
    #[arg(long, value_name = "DIR")]
    pub(crate) out: PathBuf,

    /// Which truth of a list.
    #[arg(long, value_name = "ID")]
    pub(crate) scenario: Option<String>,

    /// Noise, times and numbers are drawn from this.
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub(crate) seed: u64,

    /// About how much is written, from 1MB to 1GB. Most scenarios need 8 to 14 MB at the least: less
    /// is not written, and a note says so.
    #[arg(long, value_name = "SIZE", default_value = "10MB", value_parser = parse_size)]
    pub(crate) size: u64,
}

/// A number of bytes, such as `20MB`.
pub(crate) fn parse_size(text: &str) -> Result<u64, String> {
    let wrong = || format!("{text:?} is not a size such as 20MB or 1GB");
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
        return Err(format!("expected {} to {} bytes", sizes.start(), sizes.end()));
    }
    Ok(bytes)
}
