//! A duration as an argument.

use jiff::SignedDuration;
use serde::Deserialize;
use serde_json::Value;

use super::{described, unexpected};

/// A duration, never negative. As JSON, text such as `"5m"`, `"90s"`, `"1h 30m"`, or a
/// number of seconds.
///
/// ```
/// use eog_sre::tools::Length;
/// let length: Length = serde_json::from_str(r#""5m""#)?;
/// assert_eq!(length.seconds(), 300.0);
/// # Ok::<(), serde_json::Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "Value")]
pub struct Length(SignedDuration);

impl Length {
    /// A duration of whole seconds.
    pub const fn from_secs(seconds: u32) -> Self {
        Self(SignedDuration::from_secs(seconds as i64))
    }

    /// In seconds.
    pub fn seconds(self) -> f64 {
        self.0.as_secs_f64()
    }

    /// As a duration.
    pub fn duration(self) -> SignedDuration {
        self.0
    }

    fn new(duration: SignedDuration) -> Result<Self, String> {
        // A thousand years is further than any recording reaches, and safe to add to any time.
        let longest = SignedDuration::from_hours(24 * 366 * 1000);
        match duration.is_negative() || duration > longest {
            true => Err("a duration must be between 0 and 1000 years".to_owned()),
            false => Ok(Self(duration)),
        }
    }
}

impl std::str::FromStr for Length {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        if let Ok(seconds) = text.trim().parse::<f64>() {
            return from_seconds(seconds);
        }
        let duration = text.trim().parse::<SignedDuration>();
        Self::new(
            duration.map_err(|_| format!("{text:?} is not a duration; write 90s, 5m or 1h 30m"))?,
        )
    }
}

fn from_seconds(seconds: f64) -> Result<Length, String> {
    let duration = SignedDuration::try_from_secs_f64(seconds);
    Length::new(duration.map_err(|_| format!("{seconds} is not a valid number of seconds"))?)
}

impl TryFrom<Value> for Length {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match given {
            Value::String(text) => text.parse(),
            Value::Number(seconds) => from_seconds(seconds.as_f64().unwrap_or(f64::NAN)),
            other => {
                let expected = "a duration such as \"5m\", or a number of seconds";
                Err(unexpected(&other, expected))
            }
        }
    }
}

described!(Length, {
    "description": "A duration: text such as 5m or 1h 30m, or a number of seconds.",
    "type": ["string", "number"]
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_are_read_or_refused() {
        let cases = [
            ("5m", Some(300.0)),
            ("1h 30m", Some(5400.0)),
            ("90s", Some(90.0)),
            ("PT2M", Some(120.0)),
            ("1.5", Some(1.5)),
            ("-5m", None),
            ("soon", None),
            ("1e300", None),
            ("NaN", None),
        ];
        for (text, expected) in cases {
            let read = text.parse::<Length>().ok().map(Length::seconds);
            assert_eq!(read, expected, "{text}");
        }
        assert_eq!(serde_json::from_str::<Length>("60").unwrap().seconds(), 60.0);
        assert!(serde_json::from_str::<Length>("-1").is_err());
    }
}
