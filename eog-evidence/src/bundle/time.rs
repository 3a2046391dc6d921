//! What to do about a text that is no time.

use eog_core::Timestamp;
use jiff::civil::DateTime;

use crate::text::shorten;

/// What is wrong with a time without a zone.
pub(super) const NO_ZONE: &str =
    "has no time zone; append Z if it is UTC, else the offset, such as +02:00";

/// Why a text is no instant, and how to write it.
pub(super) fn no_time(text: &str) -> String {
    let shown = shorten(text, 60);
    if text.parse::<DateTime>().is_ok() {
        return format!("{shown:?} {NO_ZONE}");
    }
    match of_unix(text) {
        Some(instant) => format!("{shown:?} is a Unix time; write it as {instant}"),
        None => format!("{shown:?} is not like 2026-01-01T10:00:00Z"),
    }
}

/// A number of seconds or milliseconds since 1970, if it lies between 1973 and 2286.
fn of_unix(text: &str) -> Option<Timestamp> {
    let number: i64 = text.parse().ok()?;
    match number {
        100_000_000..10_000_000_000 => Timestamp::from_second(number).ok(),
        100_000_000_000..10_000_000_000_000 => Timestamp::from_millisecond(number).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_says_how_to_write_a_time() {
        let cases = [
            ("2026-01-01 10:00:00", format!("\"2026-01-01 10:00:00\" {NO_ZONE}")),
            ("2026-01-01T10:00:00.5", format!("\"2026-01-01T10:00:00.5\" {NO_ZONE}")),
            (
                "1767261600",
                "\"1767261600\" is a Unix time; write it as 2026-01-01T10:00:00Z".into(),
            ),
            (
                "1767261600500",
                "\"1767261600500\" is a Unix time; write it as 2026-01-01T10:00:00.5Z".into(),
            ),
            ("soon", "\"soon\" is not like 2026-01-01T10:00:00Z".into()),
            ("12", "\"12\" is not like 2026-01-01T10:00:00Z".into()),
        ];
        for (text, expected) in cases {
            assert_eq!(no_time(text), expected);
        }
    }
}
