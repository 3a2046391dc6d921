//! Time as an argument: from when, until when.

use std::fmt;

use eog_core::{Timestamp, Window};
use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::filter::parse_time;

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
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
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
            format!("{text:?} is no window; write START/END, such as 2026-01-01T10:00:00Z/2026-01-01T11:00:00Z; one of them may be missing")
        })?;
        let instant = |text: &str| match text.trim() {
            "" => Ok(None),
            text => parse_time(text).map(Some),
        };
        Self { start: instant(start)?, end: instant(end)? }.checked()
    }
}

impl<'de> Deserialize<'de> for TimeRange {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(RangeVisitor)
    }
}

struct RangeVisitor;

impl<'de> Visitor<'de> for RangeVisitor {
    type Value = TimeRange;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a window: {\"start\": TIME, \"end\": TIME} or \"START/END\"")
    }

    fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<TimeRange, E> {
        text.parse().map_err(E::custom)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<TimeRange, A::Error> {
        use serde::de::Error;
        let mut range = TimeRange::default();
        while let Some((name, value)) = map.next_entry::<String, Option<String>>()? {
            let at = value.as_deref().map(parse_time).transpose().map_err(Error::custom)?;
            match name.as_str() {
                "start" => range.start = at,
                "end" => range.end = at,
                other => return Err(Error::unknown_field(other, &["start", "end"])),
            }
        }
        range.checked().map_err(Error::custom)
    }
}

#[cfg(feature = "schema")]
impl schemars::JsonSchema for TimeRange {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "TimeRange".into()
    }

    fn inline_schema() -> bool {
        true
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "A half-open window; either end may be missing. Times are RFC 3339.",
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
        })
    }
}
