//! Instants in few words: a day that all of them share is said once.

use eog_core::Timestamp;

/// How instants of one prompt are written: with their day, or without when all share it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Times {
    /// The day they share, such as `2026-01-01`; empty when there are several.
    day: String,
}

impl Times {
    /// For these instants.
    pub(crate) fn over(instants: impl IntoIterator<Item = Timestamp>) -> Self {
        let mut days = instants.into_iter().map(day_of);
        let first = days.next().unwrap_or_default();
        let shared = days.all(|day| day == first);
        Self { day: if shared { first } else { String::new() } }
    }

    /// The day they share; empty when there are several.
    pub(crate) fn day(&self) -> &str {
        &self.day
    }

    /// An instant to the second, in UTC.
    pub(crate) fn at(&self, instant: Timestamp) -> String {
        let time = instant.strftime("%H:%M:%S").to_string();
        if day_of(instant) == self.day { time } else { format!("{} {time}", day_of(instant)) }
    }
}

/// The time from one instant to a later one, in its two largest units, such as `4m 10s`.
pub(crate) fn between(from: Timestamp, to: Timestamp) -> String {
    let seconds = to.as_second().abs_diff(from.as_second());
    let (days, hours) = (seconds / 86_400, seconds / 3_600 % 24);
    let (minutes, rest) = (seconds / 60 % 60, seconds % 60);
    match (days, hours, minutes) {
        (0, 0, 0) => format!("{rest}s"),
        (0, 0, _) => format!("{minutes}m {rest}s"),
        (0, _, _) => format!("{hours}h {minutes}m"),
        _ => format!("{days}d {hours}h"),
    }
}

fn day_of(instant: Timestamp) -> String {
    instant.strftime("%Y-%m-%d").to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(text: &str) -> Timestamp {
        text.parse().expect("a time")
    }

    #[test]
    fn a_shared_day_is_said_once() {
        let (early, late) = (at("2026-01-01T10:00:00Z"), at("2026-01-01T23:59:59Z"));
        let times = Times::over([early, late]);
        assert_eq!((times.day(), times.at(late).as_str()), ("2026-01-01", "23:59:59"));
        assert_eq!(times.at(at("2026-01-02T00:00:00Z")), "2026-01-02 00:00:00");
        let times = Times::over([early, at("2026-01-02T00:00:00Z")]);
        assert_eq!((times.day(), times.at(early).as_str()), ("", "2026-01-01 10:00:00"));
    }

    #[test]
    fn spans_are_written_in_two_units() {
        let start = at("2026-01-01T10:00:00Z");
        for (end, said) in [
            ("2026-01-01T10:00:09Z", "9s"),
            ("2026-01-01T10:04:10Z", "4m 10s"),
            ("2026-01-01T12:04:10Z", "2h 4m"),
            ("2026-01-04T12:04:10Z", "3d 2h"),
        ] {
            assert_eq!(between(start, at(end)), said);
        }
    }
}
