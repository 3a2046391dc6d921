//! One value of a row.

use std::borrow::Cow;
use std::cmp::Ordering;

use eog_core::Timestamp;
use serde::{Serialize, Serializer};

/// One value of a row. Borrowed while rows are selected, owned in a page.
///
/// In JSON: null, a Boolean, a number, RFC 3339 for a time, or text. A number that is not
/// finite is null.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum Cell<'a> {
    /// No value.
    Nothing,
    /// True or false.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// A measured number.
    Number(f64),
    /// A time.
    Time(Timestamp),
    /// Text.
    Text(Cow<'a, str>),
}

impl<'a> Cell<'a> {
    /// Borrowed text; empty text is nothing.
    pub(crate) fn text(text: &'a str) -> Self {
        if text.is_empty() { Self::Nothing } else { Self::Text(Cow::Borrowed(text)) }
    }

    /// A count of something in memory.
    pub(crate) fn count(count: usize) -> Self {
        Self::Count(u64::try_from(count).unwrap_or(u64::MAX))
    }

    /// The value as a number, for conditions and aggregates.
    pub(crate) fn as_number(&self) -> Option<f64> {
        match self {
            Self::Count(count) => Some(*count as f64),
            Self::Number(number) => Some(*number).filter(|number| !number.is_nan()),
            _ => None,
        }
    }

    /// The value without what it borrows.
    pub fn into_owned(self) -> Cell<'static> {
        match self {
            Self::Nothing => Cell::Nothing,
            Self::Flag(flag) => Cell::Flag(flag),
            Self::Count(count) => Cell::Count(count),
            Self::Number(number) => Cell::Number(number),
            Self::Time(at) => Cell::Time(at),
            Self::Text(text) => Cell::Text(Cow::Owned(text.into_owned())),
        }
    }

    /// The order of two values in a column; nothing comes last whichever way the column is sorted.
    pub(crate) fn compare(&self, other: &Self, falls: bool) -> Ordering {
        match (matches!(self, Self::Nothing), matches!(other, Self::Nothing)) {
            (true, true) => Ordering::Equal,
            (true, false) => Ordering::Greater,
            (false, true) => Ordering::Less,
            (false, false) if falls => other.cmp(self),
            (false, false) => self.cmp(other),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Self::Flag(_) => 0,
            Self::Count(_) | Self::Number(_) => 1,
            Self::Time(_) => 2,
            Self::Text(_) => 3,
            Self::Nothing => 4,
        }
    }
}

impl From<Option<f64>> for Cell<'_> {
    fn from(number: Option<f64>) -> Self {
        number.map_or(Self::Nothing, Self::Number)
    }
}

impl From<Option<Timestamp>> for Cell<'_> {
    fn from(at: Option<Timestamp>) -> Self {
        at.map_or(Self::Nothing, Self::Time)
    }
}

impl<'a> From<Option<&'a str>> for Cell<'a> {
    /// Empty text is nothing.
    fn from(text: Option<&'a str>) -> Self {
        text.map_or(Self::Nothing, Self::text)
    }
}

impl Ord for Cell<'_> {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Flag(a), Self::Flag(b)) => a.cmp(b),
            (Self::Count(a), Self::Count(b)) => a.cmp(b),
            (Self::Number(a), Self::Number(b)) => a.total_cmp(b),
            (Self::Count(a), Self::Number(b)) => (*a as f64).total_cmp(b),
            (Self::Number(a), Self::Count(b)) => a.total_cmp(&(*b as f64)),
            (Self::Time(a), Self::Time(b)) => a.cmp(b),
            (Self::Text(a), Self::Text(b)) => a.cmp(b),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl PartialOrd for Cell<'_> {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Cell<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Cell<'_> {}

impl Serialize for Cell<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Nothing => serializer.serialize_none(),
            Self::Flag(flag) => serializer.serialize_bool(*flag),
            Self::Count(count) => serializer.serialize_u64(*count),
            Self::Number(number) if number.is_finite() => serializer.serialize_f64(*number),
            Self::Number(_) => serializer.serialize_none(),
            Self::Time(at) => serializer.collect_str(at),
            Self::Text(text) => serializer.serialize_str(text),
        }
    }
}
