//! Several periods as one: a baseline of other runs.

use std::borrow::Cow;

use eog_core::{Timestamp, Window};
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Periods in order that do not overlap; none at all, too. In JSON one period, or a list of them.
///
/// ```
/// use eog_evidence::Intervals;
/// let two: Intervals = serde_json::from_str(
///     r#"[{"start": "2026-01-01T12:00:00Z", "end": "2026-01-01T13:00:00Z"},
///         {"start": "2026-01-01T10:00:00Z", "end": "2026-01-01T11:00:00Z"}]"#,
/// )?;
/// assert_eq!(two.iter().count(), 2);
/// assert!(two.contains("2026-01-01T10:30:00Z".parse()?));
/// assert!(!two.contains("2026-01-01T11:30:00Z".parse()?));
/// assert_eq!(two.seconds(), 7200.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Intervals(Vec<Window>);

impl Intervals {
    /// No period.
    pub const NONE: Self = Self(Vec::new());

    /// The periods in order.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = Window> + '_ {
        self.0.iter().copied()
    }

    /// Whether there is no period.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an instant lies in one of them.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.holding(at).is_some()
    }

    /// The period in which an instant lies.
    pub fn holding(&self, at: Timestamp) -> Option<Window> {
        let after = self.0.partition_point(|window| window.start() <= at);
        let window = *self.0.get(after.checked_sub(1)?)?;
        window.contains(at).then_some(window)
    }

    /// How long they last together, in seconds.
    pub fn seconds(&self) -> f64 {
        self.iter().map(|one| one.end().duration_since(one.start()).as_secs_f64()).sum()
    }

    /// These, or others where there are none.
    #[must_use]
    pub(crate) fn or_else(&self, others: impl FnOnce() -> Self) -> Self {
        if self.is_empty() { others() } else { self.clone() }
    }
}

impl FromIterator<Window> for Intervals {
    /// Periods in any order; those that overlap or touch become one.
    fn from_iter<I: IntoIterator<Item = Window>>(windows: I) -> Self {
        let mut windows: Vec<Window> = windows.into_iter().collect();
        windows.sort_by_key(|window| (window.start(), window.end()));
        let mut joined: Vec<Window> = Vec::new();
        for window in windows {
            let last = joined.last_mut().filter(|last| window.start() <= last.end());
            let whole = last
                .as_ref()
                .and_then(|last| Window::new(last.start(), last.end().max(window.end())).ok());
            match (last, whole) {
                (Some(last), Some(whole)) => *last = whole,
                _ => joined.push(window),
            }
        }
        Self(joined)
    }
}

impl From<Window> for Intervals {
    fn from(window: Window) -> Self {
        Self(vec![window])
    }
}

impl From<Option<Window>> for Intervals {
    fn from(window: Option<Window>) -> Self {
        window.into_iter().collect()
    }
}

/// One period, or several.
#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(untagged)]
enum OneOrMore {
    One(Window),
    More(Vec<Window>),
}

impl Serialize for Intervals {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.as_slice() {
            [one] => OneOrMore::One(*one).serialize(serializer),
            more => OneOrMore::More(more.to_vec()).serialize(serializer),
        }
    }
}

impl<'de> Deserialize<'de> for Intervals {
    /// An error says what is wrong with a period, not merely that neither form fits.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> serde::de::Visitor<'de> for Visitor {
            type Value = Intervals;

            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a period with start and end, or a list of them")
            }

            fn visit_map<A: serde::de::MapAccess<'de>>(
                self,
                map: A,
            ) -> Result<Intervals, A::Error> {
                let map = serde::de::value::MapAccessDeserializer::new(map);
                Window::deserialize(map).map(Intervals::from)
            }

            fn visit_seq<A: serde::de::SeqAccess<'de>>(
                self,
                mut list: A,
            ) -> Result<Intervals, A::Error> {
                let mut windows = Vec::new();
                while let Some(window) = list.next_element::<Window>()? {
                    windows.push(window);
                }
                Ok(windows.into_iter().collect())
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<Intervals, E> {
                Ok(Intervals::NONE)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for Intervals {
    fn schema_name() -> Cow<'static, str> {
        "Intervals".into()
    }

    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        OneOrMore::json_schema(generator)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn window(start: i64, end: i64) -> Window {
        let at = |second| Timestamp::from_second(second).unwrap();
        Window::new(at(start), at(end)).unwrap()
    }

    #[test]
    fn periods_are_put_in_order_and_joined() {
        let joined: Intervals =
            [window(50, 60), window(0, 10), window(5, 20)].into_iter().collect();
        assert_eq!(joined.iter().collect::<Vec<_>>(), [window(0, 20), window(50, 60)]);
        assert_eq!(joined.seconds(), 30.0);
    }

    #[test]
    fn one_period_is_written_as_one() {
        let one = Intervals::from(window(0, 10));
        let text = serde_json::to_string(&one).unwrap();
        assert!(text.starts_with('{'), "{text}");
        assert_eq!(serde_json::from_str::<Intervals>(&text).unwrap(), one);
        let fault = r#"[{"start": "2026-01-01T10:00:00Z", "end": "2026-01-01T09:00:00Z"}]"#;
        let error = serde_json::from_str::<Intervals>(fault).unwrap_err().to_string();
        assert!(error.contains("2026-01-01T09:00:00Z"), "{error}");
        assert!(serde_json::from_str::<Intervals>("7").is_err());
    }
}
