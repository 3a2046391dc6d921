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
    if let Some(at) = plain(text.as_bytes()) {
        return Some(at);
    }
    if let Ok(at) = text.parse() {
        return Some(at);
    }
    let (date, time) = text.split_once([' ', 'T'])?;
    format!("{date}T{time}Z").parse().ok()
}

/// Reads `2025-12-15 17:24:44` in UTC with up to nine more digits behind a dot, the form of nearly
/// every row. Nothing for any other form, which is not to say that it is no time.
fn plain(text: &[u8]) -> Option<Timestamp> {
    let (clock, fraction) = text.split_at_checked(19)?;
    let [year @ .., b'-', m1, m2, b'-', d1, d2, b' ', h1, h2, b':', n1, n2, b':', s1, s2] = clock
    else {
        return None;
    };
    let number = |digits: &[u8]| {
        digits.iter().try_fold(0_i32, |sum, digit| {
            digit.is_ascii_digit().then(|| sum * 10 + i32::from(digit - b'0'))
        })
    };
    let pair = |tens: &u8, ones: &u8| number(&[*tens, *ones]).and_then(|n| i8::try_from(n).ok());
    let nanoseconds = match fraction {
        [] => 0,
        [b'.', digits @ ..] if (1..=9).contains(&digits.len()) => {
            let missing = u32::try_from(9 - digits.len()).ok()?;
            number(digits)? * 10_i32.pow(missing)
        }
        _ => return None,
    };
    let year = number(year).and_then(|year| i16::try_from(year).ok())?;
    let date = civil::Date::new(year, pair(m1, m2)?, pair(d1, d2)?).ok()?;
    // A leap second is left to the full parser.
    let time = civil::Time::new(pair(h1, h2)?, pair(n1, n2)?, pair(s1, s2)?, nanoseconds).ok()?;
    TimeZone::UTC.to_timestamp(date.to_datetime(time)).ok()
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
