//! Values of options.

use std::io::Read as _;
use std::net::SocketAddr;
use std::num::NonZeroU32;
use std::path::PathBuf;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use eog::{Timestamp, Window};
use eog_search::Exploration;
use eog_session::controllers::ControllerName;

/// A file to be written.
pub(super) fn parse_file(text: &str) -> Result<PathBuf, String> {
    let file = PathBuf::from(text);
    match file.file_name().is_none() || file.is_dir() {
        true => Err("it is a folder; give a file".to_owned()),
        false => Ok(file),
    }
}

pub(super) fn parse_window(text: &str) -> Result<Window, String> {
    let (start, end) = text
        .split_once('/')
        .ok_or("expected START/END, such as 2026-01-01T10:00:00Z/2026-01-01T11:00:00Z")?;
    Window::new(parse_instant(start)?, parse_instant(end)?).map_err(|error| error.to_string())
}

pub(super) fn parse_instant(text: &str) -> Result<Timestamp, String> {
    text.parse().map_err(|_| format!("{text:?} is not a time such as 2026-01-01T10:00:00Z"))
}

/// A controller by its name. Shells complete the names.
pub(super) fn controllers() -> impl TypedValueParser<Value = ControllerName> {
    let names = PossibleValuesParser::new(ControllerName::all().map(ControllerName::name));
    names.try_map(|name| name.parse::<ControllerName>())
}

/// How many calls of the policy an investigation may make.
pub(super) fn parse_budget(text: &str) -> Result<u64, String> {
    let calls = text.parse().ok().filter(|calls| *calls > 0);
    calls.ok_or_else(|| "expected a whole number from 1 on, such as 200".to_owned())
}

pub(super) fn parse_address(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected an IP address and a port, such as 127.0.0.1:8765".to_owned())
}

pub(super) fn parse_count(text: &str) -> Result<NonZeroU32, String> {
    text.parse().map_err(|_| format!("expected a whole number from 1 to {}", u32::MAX))
}

/// A text, or `@FILE` with the text of a file, for the planner of a search.
pub(super) fn parse_prompt(text: &str) -> Result<String, String> {
    let Some(path) = text.strip_prefix('@') else { return Ok(text.to_owned()) };
    let wrong = |reason: String| format!("{path}: {reason}");
    let file = std::fs::File::open(path).map_err(|error| wrong(error.to_string()))?;
    let mut read = String::new();
    let most = eog_search::MAX_PROMPT as u64 + 1;
    file.take(most).read_to_string(&mut read).map_err(|error| wrong(error.to_string()))?;
    Ok(read)
}

/// A factor of exploration, such as `1.4`, or where it begins and ends, such as `2..0.5`.
pub(super) fn parse_exploration(text: &str) -> Result<Exploration, String> {
    let factor = |text: &str| {
        let factor = text.parse::<f64>().ok().filter(|factor| (0.0..=1000.0).contains(factor));
        factor.map(|factor| (factor * 2.0_f64.powi(32)).round() as u64)
    };
    let explores = match text.split_once("..") {
        Some((first, last)) => {
            factor(first).zip(factor(last)).map(|(a, b)| Exploration::Linear(a, b))
        }
        None => factor(text).map(Exploration::Fixed),
    };
    explores.ok_or_else(|| {
        "expected a number from 0 to 1000 such as 1.4, or two with .. between them such as 2..0.5".to_owned()
    })
}

/// The longest time that can be set.
const MAX_SECONDS: Duration = Duration::from_secs(1_000_000_000);

pub(super) fn parse_seconds(text: &str) -> Result<Duration, String> {
    let seconds: f64 = text.parse().map_err(|_| "expected a number of seconds".to_owned())?;
    match Duration::try_from_secs_f64(seconds) {
        Ok(duration) if duration.is_zero() => Err("expected more than 0 seconds".to_owned()),
        Ok(duration) if duration <= MAX_SECONDS => Ok(duration),
        _ if seconds > 0.0 => {
            Err("expected at most 1000000000 seconds, which are 31 years".to_owned())
        }
        _ => Err("expected more than 0 seconds".to_owned()),
    }
}
