//! Time as an argument: from when, until when.

use eog_core::{Timestamp, Window};
use serde::Deserialize;
use serde_json::Value;

use super::filter::parse_time;
use super::{described, unexpected};

/// A half-open range `[start, end)` of which either end may be missing.
///
/// As JSON `{"start": "2026-01-01T10:00:00Z", "end": "2026-01-01T11:00:00Z"}`, or one text
/// `START/END`.
///
/// ```
/// use eog_sre::tools::TimeRange;
/// let range: TimeRange = "2026-01-01T10:00:00Z/".parse()?;
/// assert!(range.contains("2026-01-01T10:00:00Z".parse().unwrap()));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct TimeRange {
    /// The first instant.
    pub start: Option<Timestamp>,
    /// The first instant that is not part of it.
    pub end: Option<Timestamp>,
}

impl TimeRange {
    /// Whether an instant is part of it.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= at) && self.end.is_none_or(|end| at < end)
    }

    /// Whether any instant from `first` to `last`, both of them inclusive, is part of it.
    pub fn overlaps(&self, first: Timestamp, last: Timestamp) -> bool {
        self.start.is_none_or(|start| start <= last) && self.end.is_none_or(|end| first < end)
    }

    fn checked(self) -> Result<Self, String> {
        match (self.start, self.end) {
            (Some(start), Some(end)) if end <= start => {
                Err(format!("a window must end after it starts, but {end} is not after {start}"))
            }
            _ => Ok(self),
        }
    }
}

impl From<Window> for TimeRange {
    fn from(window: Window) -> Self {
        Self { start: Some(window.start()), end: Some(window.end()) }
    }
}

impl std::str::FromStr for TimeRange {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let (start, end) = text.split_once('/').ok_or_else(|| {
            format!("{text:?} is not a window; write START/END, such as 2026-01-01T10:00:00Z/2026-01-01T11:00:00Z; either may be left out")
        })?;
        let instant = |text: &str| match text.trim() {
            "" => Ok(None),
            text => parse_time(text).map(Some),
        };
        Self { start: instant(start)?, end: instant(end)? }.checked()
    }
}

/// The ends of a window as a map gives them.
#[derive(Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Ends {
    start: Option<String>,
    end: Option<String>,
}

impl TryFrom<Value> for TimeRange {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match given {
            Value::String(text) => text.parse(),
            map @ Value::Object(_) => {
                let ends: Ends = serde_json::from_value(map).map_err(|error| error.to_string())?;
                let instant = |text: Option<String>| text.as_deref().map(parse_time).transpose();
                Self { start: instant(ends.start)?, end: instant(ends.end)? }.checked()
            }
            other => {
                let expected = "a window: {\"start\": TIME, \"end\": TIME} or \"START/END\"";
                Err(unexpected(&other, expected))
            }
        }
    }
}

described!(TimeRange, {
    "description": "A period that includes its start but not its end; either may be missing. Times are RFC 3339.",
    "anyOf": [
        {
            "type": "object",
            "properties": {
                "start": { "type": ["string", "null"], "format": "date-time" },
                "end": { "type": ["string", "null"], "format": "date-time" }
            },
            "additionalProperties": false
        },
        { "type": "string", "pattern": "/" }
    ]
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_its_start_and_not_its_end() {
        let cases = [
            (
                r#"{"start": "1970-01-01T00:00:01Z", "end": "1970-01-01T00:00:03Z"}"#,
                [1, 2].as_slice(),
            ),
            (r#""1970-01-01T00:00:04Z/""#, &[4]),
            (r#""/1970-01-01 00:00:01""#, &[0]),
            (r#"{}"#, &[0, 1, 2, 3, 4]),
        ];
        for (given, expected) in cases {
            let range: TimeRange = serde_json::from_str(given).unwrap();
            let inside = |second: &i64| range.contains(Timestamp::from_second(*second).unwrap());
            assert_eq!((0..5).filter(inside).collect::<Vec<_>>(), expected, "{given}");
        }
    }
}
