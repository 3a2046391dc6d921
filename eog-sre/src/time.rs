//! Timestamps as snapshots write them.

use eog_core::Timestamp;
use jiff::civil;
use jiff::tz::TimeZone;

/// Reads `2025-12-15 17:24:44.327494932` (UTC), RFC 3339, or the same with an offset.
pub(crate) fn parse(text: &str) -> Option<Timestamp> {
    let text = text.trim();
    if text.len() > 64 {
        return None;
    }
    if let Some(at) = plain(text) {
        return Some(at);
    }
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let (date, time) = text.split_once([' ', 'T'])?;
    format!("{date}T{time}Z").parse().ok()
}

/// Reads `2025-12-15 17:24:44.3` in UTC, the form of nearly every row. Nothing for any other form, which is not to say
/// that it is no time.
fn plain(text: &str) -> Option<Timestamp> {
    let fraction = text.get(19..)?;
    let is_plain = fraction.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    let clock = is_plain.then(|| text.parse::<civil::DateTime>().ok()).flatten()?;
    TimeZone::UTC.to_timestamp(clock).ok()
}

/// Reads the time out of a file name such as `alerts_at_2025-12-15T17-30-49.329092.json` or
/// `alerts_2025-12-15T175223.904312Z.json`.
pub(crate) fn from_file_name(name: &str) -> Option<Timestamp> {
    let at = name.rfind('T').filter(|at| *at >= 10)?;
    let date = name.get(at - 10..at)?;
    let rest = name.get(at + 1..)?;
    let stem = rest.trim_end_matches(".json").trim_end_matches('Z');
    let digits: String = stem.chars().filter(|c| c.is_ascii_digit() || *c == '.').collect();
    let (clock, fraction) = digits.split_once('.').unwrap_or((&digits, "0"));
    let (hour, minute) = (clock.get(0..2)?, clock.get(2..4)?);
    let second = clock.get(4..6).unwrap_or("00");
    format!("{date}T{hour}:{minute}:{second}.{fraction}Z").parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_a_timestamp_is_read() {
        let cases = [
            ("2025-12-15 17:24:44.327494932", Some("2025-12-15T17:24:44.327494932Z")),
            ("2025-12-15T17:24:44Z", Some("2025-12-15T17:24:44Z")),
            ("2025-12-15 17:24:44+00:00", Some("2025-12-15T17:24:44Z")),
            ("2025-12-15 19:24:44+02:00", Some("2025-12-15T17:24:44Z")),
            ("", None),
            ("yesterday", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text), expected.map(|at| at.parse().unwrap()), "{text}");
        }
    }

    #[test]
    fn the_short_way_agrees_with_the_full_parser() {
        let texts = [
            "2025-12-15 17:24:44",
            "2025-12-15 17:24:44.3",
            "2025-12-15 17:24:44.327494932",
            "2025-12-15 17:24:44.999999999",
            "2024-02-29 00:00:00",
            "2025-02-29 00:00:00",
            "2025-13-01 00:00:00",
            "2025-12-15 24:00:00",
            "2025-12-15 17:24:60",
            "2025-12-15 17:24:44.",
            "2025-12-15 17:24:44.1234567890",
            "2025-12-15 17:24:44.-1",
            "0000-01-01 00:00:00",
            "9999-12-31 23:59:59.999999999",
        ];
        for text in texts {
            let (date, time) = text.split_once(' ').unwrap();
            let full: Option<Timestamp> = format!("{date}T{time}Z").parse().ok();
            assert_eq!(parse(text), full, "{text}");
        }
    }

    #[test]
    fn the_time_of_a_dump_is_in_its_name() {
        let cases = [
            ("alerts_at_2025-12-15T17-30-49.329092.json", Some("2025-12-15T17:30:49.329092Z")),
            (
                "alerts_in_alerting_state_2025-12-15T175223.904312Z.json",
                Some("2025-12-15T17:52:23.904312Z"),
            ),
            ("Tea.json", None),
            ("alerts_at_2025-12-15T1.json", None),
        ];
        for (name, expected) in cases {
            assert_eq!(from_file_name(name), expected.map(|at| at.parse().unwrap()), "{name}");
        }
    }
}
