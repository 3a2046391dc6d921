//! Names and times of a test, from short text.

use eog::{EntityId, Timestamp, Window};

/// The day of all short times, an arbitrary one.
const DAY: &str = "2026-01-01";

/// The entity of this name.
///
/// # Panics
/// When the name is not a valid [`EntityId`].
///
/// ```
/// assert_eq!(eog_testkit::entity("S1").as_str(), "S1");
/// ```
#[track_caller]
pub fn entity(name: &str) -> EntityId {
    EntityId::new(name).unwrap_or_else(|error| panic!("{error}"))
}

/// An instant: `"10:05"` or `"10:05:30"` on one fixed day in UTC, or a full RFC 3339 time.
///
/// # Panics
/// When the text is none of these.
///
/// ```
/// use eog_testkit::at;
/// assert_eq!(at("10:05"), at("2026-01-01T10:05:00Z"));
/// ```
#[track_caller]
pub fn at(time: &str) -> Timestamp {
    let full = match time.len() {
        5 => format!("{DAY}T{time}:00Z"),
        8 => format!("{DAY}T{time}Z"),
        _ => time.to_owned(),
    };
    full.parse().unwrap_or_else(|error| {
        panic!("{time:?} is not a time such as 10:05, 10:05:30 or {DAY}T10:05:00Z: {error}")
    })
}

/// The window from `start` to just before `end`, both as [`at`] takes them.
///
/// # Panics
/// When a time is not valid, or the window would be empty.
///
/// ```
/// use eog_testkit::{at, window};
/// assert!(window("10:00", "10:30").contains(at("10:29:59")));
/// ```
#[track_caller]
pub fn window(start: &str, end: &str) -> Window {
    Window::new(at(start), at(end)).unwrap_or_else(|error| panic!("{error}"))
}

/// The window that [`case`](crate::case), [`seeded`](crate::seeded) and
/// [`packet`](crate::packet) use by default: 10:00 to 11:00.
pub fn hour() -> Window {
    window("10:00", "11:00")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn short_times_lie_on_one_day() {
        assert_eq!(at("09:59:30").to_string(), "2026-01-01T09:59:30Z");
        assert_eq!(hour(), window("10:00", "11:00"));
    }

    #[test]
    #[should_panic(expected = "\"25:00\" is not a time such as 10:05")]
    fn a_wrong_time_is_named() {
        at("25:00");
    }

    #[test]
    #[should_panic(expected = "a window must end after it starts")]
    fn an_empty_window_is_refused() {
        window("10:00", "10:00");
    }

    #[test]
    #[should_panic(expected = "it begins or ends with white space")]
    fn a_wrong_name_is_refused() {
        entity(" S1");
    }
}
