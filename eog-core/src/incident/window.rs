//! Time as data: the window of an investigation. Nothing here reads a clock.

use std::fmt;

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

/// A half-open time window `[start, end)` in UTC, never empty.
///
/// ```
/// use eog_core::Window;
/// let window = Window::new("2026-01-01T10:00:00Z".parse()?, "2026-01-01T10:30:00Z".parse()?)?;
/// assert!(window.contains("2026-01-01T10:00:00Z".parse()?));
/// assert!(!window.contains("2026-01-01T10:30:00Z".parse()?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "WindowBounds", into = "WindowBounds")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(feature = "schema", schemars(with = "WindowBounds"))]
pub struct Window {
    start: Timestamp,
    end: Timestamp,
}

impl Window {
    /// A window from `start` to just before `end`.
    ///
    /// # Errors
    /// [`InvalidWindow`] unless `start < end`.
    pub fn new(start: Timestamp, end: Timestamp) -> Result<Self, InvalidWindow> {
        if start < end { Ok(Self { start, end }) } else { Err(InvalidWindow { start, end }) }
    }

    /// The first instant inside the window.
    pub fn start(&self) -> Timestamp {
        self.start
    }

    /// The first instant after the window.
    pub fn end(&self) -> Timestamp {
        self.end
    }

    /// Whether an instant lies in the window.
    pub fn contains(&self, at: Timestamp) -> bool {
        self.start <= at && at < self.end
    }
}

impl fmt::Display for Window {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} to {}", self.start, self.end)
    }
}

/// An instant for people: to the second, in UTC, such as `2026-01-01T10:00:00Z`.
pub fn to_the_second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

/// The persisted form of a [`Window`].
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
struct WindowBounds {
    start: Timestamp,
    end: Timestamp,
}

impl TryFrom<WindowBounds> for Window {
    type Error = InvalidWindow;
    fn try_from(bounds: WindowBounds) -> Result<Self, InvalidWindow> {
        Self::new(bounds.start, bounds.end)
    }
}

impl From<Window> for WindowBounds {
    fn from(window: Window) -> Self {
        Self { start: window.start, end: window.end }
    }
}

/// A window whose end does not lie after its start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a window must end after it starts, but {end} is not after {start}")]
pub struct InvalidWindow {
    start: Timestamp,
    end: Timestamp,
}

#[cfg(test)]
mod tests {
    use super::Window;

    #[test]
    fn holds_its_start_and_not_its_end() {
        let at = |text: &str| text.parse().unwrap();
        let window = Window::new(at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z")).unwrap();
        for (instant, inside) in [
            ("2026-01-01T09:59:59.999999999Z", false),
            ("2026-01-01T10:00:00Z", true),
            ("2026-01-01T10:59:59.999999999Z", true),
            ("2026-01-01T11:00:00Z", false),
        ] {
            assert_eq!(window.contains(at(instant)), inside, "{instant}");
        }
    }

    #[test]
    fn is_never_empty() {
        let at = |text: &str| text.parse().unwrap();
        let (early, late) = (at("2026-01-01T10:00:00Z"), at("2026-01-01T11:00:00Z"));
        assert!(Window::new(early, early).is_err());
        let error = Window::new(late, early).unwrap_err().to_string();
        assert!(
            error.contains("2026-01-01T10:00:00Z is not after 2026-01-01T11:00:00Z"),
            "{error}"
        );
        let reversed = r#"{"start":"2026-01-01T11:00:00Z","end":"2026-01-01T10:00:00Z"}"#;
        assert!(serde_json::from_str::<Window>(reversed).is_err());
    }
}
