//! Plain placeholders in the texts of a configuration.
//!
//! A template comes from the configuration, never from telemetry, and is parsed once. What is put
//! in is never read again.

use std::fmt;

use eog_core::Timestamp;
use jiff::tz::TimeZone;
use serde::Deserialize;
use serde_json::Value;

/// How a value is written where a placeholder stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Quote {
    /// As it is. Only plain names may stand in the middle of a text this way.
    Plain,
    /// Within a literal of SQL, between single quotes.
    Sql,
    /// Within a string of JSON or of a query language, between double quotes.
    Text,
    /// Within a regular expression.
    Regex,
}

/// A placeholder: a name, and how its value is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Hole {
    pub(super) name: String,
    /// The format of a time, after a colon.
    pub(super) format: Option<String>,
    quote: Quote,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Piece {
    Text(String),
    Hole(Hole),
}

/// A text with placeholders such as `{entity}`, `{start:unix}` and `{entity|sql}`; `{{` and `}}`
/// are braces.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub(super) struct Template(Vec<Piece>);

/// What a template was filled with.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Filling {
    Text(String),
    Number(i64),
    List(Vec<String>),
}

impl From<Filling> for Value {
    fn from(filling: Filling) -> Self {
        match filling {
            Filling::Text(text) => text.into(),
            Filling::Number(number) => number.into(),
            Filling::List(list) => list.into(),
        }
    }
}

impl fmt::Display for Filling {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(text) => f.write_str(text),
            Self::Number(number) => number.fmt(f),
            Self::List(list) => f.write_str(&list.join(",")),
        }
    }
}

impl TryFrom<String> for Template {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let mut pieces = Vec::new();
        let mut plain = String::new();
        let mut rest = text.as_str();
        while let Some(at) = rest.find(['{', '}']) {
            let (before, from) = rest.split_at(at);
            plain.push_str(before);
            if from.starts_with("{{") || from.starts_with("}}") {
                plain.push_str(&from[..1]);
                rest = &from[2..];
                continue;
            }
            let inner = from.strip_prefix('{').and_then(|inner| inner.split_once('}'));
            let Some((hole, after)) = inner else {
                return Err(format!(
                    "unmatched brace in {text:?}; double it to write a literal brace"
                ));
            };
            pieces.push(Piece::Text(std::mem::take(&mut plain)));
            pieces.push(Piece::Hole(Hole::parse(hole)?));
            rest = after;
        }
        plain.push_str(rest);
        pieces.push(Piece::Text(plain));
        pieces.retain(|piece| *piece != Piece::Text(String::new()));
        Ok(Self(pieces))
    }
}

impl Hole {
    fn parse(text: &str) -> Result<Self, String> {
        let (named, quote) = match text.rsplit_once('|') {
            None => (text, Quote::Plain),
            Some((named, "sql")) => (named, Quote::Sql),
            Some((named, "text")) => (named, Quote::Text),
            Some((named, "regex")) => (named, Quote::Regex),
            Some((_, other)) => {
                return Err(format!(
                    "unknown quoting {other:?} in {{{text}}}; use sql, text or regex"
                ));
            }
        };
        let (name, format) = match named.split_once(':') {
            None => (named, None),
            Some((name, format)) => (name, Some(format.to_owned())),
        };
        let is_name = !name.is_empty()
            && name.chars().all(|c| c.is_alphanumeric() || "_-. ".contains(c))
            && name.trim() == name;
        if is_name {
            Ok(Self { name: name.to_owned(), format, quote })
        } else {
            Err(format!(
                "{{{text}}} is not a placeholder: a name consists of letters, digits, spaces, `_`, `-` and `.`"
            ))
        }
    }

    /// The value as it stands in a text.
    fn written(&self, value: &str) -> Result<String, String> {
        match self.quote {
            Quote::Plain if value.chars().all(is_plain) => Ok(value.to_owned()),
            Quote::Plain => Err(format!(
                "{:?} must be quoted here: write {{{}|sql}}, {{{}|text}} or {{{}|regex}}",
                eog_evidence::shorten(value, 80),
                self.name,
                self.name,
                self.name
            )),
            // Some databases take a backslash for an escape.
            Quote::Sql if value.contains('\\') => Err(format!(
                "{:?} contains a backslash, which databases interpret differently",
                eog_evidence::shorten(value, 80)
            )),
            Quote::Sql => Ok(value.replace('\'', "''")),
            Quote::Regex => Ok(regex::escape(value)),
            Quote::Text => {
                let quoted = serde_json::Value::from(value).to_string();
                Ok(quoted.get(1..quoted.len() - 1).unwrap_or_default().to_owned())
            }
        }
    }
}

/// Whether a character means nothing in any language that a text may be written in.
fn is_plain(c: char) -> bool {
    c.is_alphanumeric() || "._/:@-+ ,".contains(c)
}

impl Template {
    /// The placeholders, in order.
    pub(super) fn holes(&self) -> impl Iterator<Item = &Hole> {
        self.0.iter().filter_map(|piece| match piece {
            Piece::Hole(hole) => Some(hole),
            Piece::Text(_) => None,
        })
    }

    /// Puts the values into an argument of a tool. A template that is one placeholder and nothing
    /// else gives the value as it is.
    pub(super) fn argument(
        &self,
        value: impl Fn(&Hole) -> Result<Filling, String>,
    ) -> Result<Filling, String> {
        if let [Piece::Hole(hole)] = self.0.as_slice() {
            let filling = value(hole)?;
            return match (&hole.quote, filling) {
                (Quote::Plain, filling) => Ok(filling),
                (_, filling) => hole.written(&filling.to_string()).map(Filling::Text),
            };
        }
        let mut text = String::new();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Hole(hole) => text.push_str(&hole.written(&value(hole)?.to_string())?),
            }
        }
        Ok(Filling::Text(text))
    }

    /// Puts the fields of a row into a text for people, where nothing needs quotes. A field that
    /// the row lacks is left out; nothing when it lacks all.
    pub(super) fn words<'a>(&self, field: impl Fn(&str) -> Option<&'a str>) -> Option<String> {
        let mut text = String::new();
        let mut found = self.holes().next().is_none();
        for piece in &self.0 {
            match piece {
                Piece::Text(plain) => text.push_str(plain),
                Piece::Hole(hole) => {
                    let value = field(&hole.name);
                    found |= value.is_some();
                    text.push_str(value.unwrap_or_default());
                }
            }
        }
        found.then_some(text)
    }
}

/// A time in a chosen format: `rfc3339`, `unix`, `unix_ms`, or a pattern such as `%Y-%m-%d %H:%M`
/// in UTC.
pub(super) fn write_time(at: Timestamp, format: Option<&str>) -> Result<Filling, String> {
    Ok(match format.unwrap_or("rfc3339") {
        "rfc3339" => Filling::Text(at.to_string()),
        "unix" => Filling::Number(at.as_second()),
        "unix_ms" => Filling::Number(at.as_millisecond()),
        pattern if pattern.contains('%') => {
            let text = jiff::fmt::strtime::format(pattern, &at.to_zoned(TimeZone::UTC));
            Filling::Text(
                text.map_err(|error| format!("invalid time format {pattern:?}: {error}"))?,
            )
        }
        other => {
            return Err(format!(
                "unknown time format {other:?}; use rfc3339, unix, unix_ms or a pattern such as \
                 %Y-%m-%d %H:%M:%S"
            ));
        }
    })
}

/// Reads a time that a server gave. `format` as for [`write_time`]; without one, what RFC 3339
/// and ISO 8601 allow, in UTC where no zone is given.
pub(super) fn read_time(text: &str, format: Option<&str>) -> Option<Timestamp> {
    let text = text.trim();
    let utc = |time: jiff::civil::DateTime| Some(time.to_zoned(TimeZone::UTC).ok()?.timestamp());
    match format {
        None | Some("rfc3339") => text.parse().ok().or_else(|| text.parse().ok().and_then(utc)),
        Some("unix") => unix(text, 1_000_000_000.0),
        Some("unix_ms") => unix(text, 1_000_000.0),
        Some(pattern) => {
            let parsed = jiff::fmt::strtime::parse(pattern, text).ok()?;
            parsed.to_timestamp().ok().or_else(|| parsed.to_datetime().ok().and_then(utc))
        }
    }
}

/// A number of seconds or milliseconds since 1970, which may have decimals.
fn unix(text: &str, nanoseconds: f64) -> Option<Timestamp> {
    if let Ok(whole) = text.parse::<i64>() {
        return match nanoseconds < 1e9 {
            true => Timestamp::from_millisecond(whole).ok(),
            false => Timestamp::from_second(whole).ok(),
        };
    }
    let value: f64 = text.parse().ok().filter(|value: &f64| value.is_finite())?;
    // To the microsecond: a double has no more digits for a time of this century.
    let microseconds = (value * nanoseconds / 1000.0).round();
    Timestamp::from_microsecond(microseconds as i64).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filled(template: &str, entity: &str) -> Result<Filling, String> {
        let template = Template::try_from(template.to_owned())?;
        template.argument(|hole| match hole.name.as_str() {
            "entity" => Ok(Filling::Text(entity.to_owned())),
            "start" => write_time("2026-01-01T10:00:00Z".parse().unwrap(), hole.format.as_deref()),
            name => Err(format!("no {name}")),
        })
    }

    #[test]
    fn values_are_put_in_and_quoted() {
        let text = |text: &str| Ok(Filling::Text(text.to_owned()));
        assert_eq!(filled("{entity}", "a'b"), text("a'b"));
        assert_eq!(filled("x='{entity|sql}'", "a' OR '1'='1"), text("x='a'' OR ''1''=''1'"));
        assert_eq!(filled("{{\"e\":\"{entity|text}\"}}", "a\"b"), text("{\"e\":\"a\\\"b\"}"));
        assert_eq!(filled("^{entity|regex}$", "a.b"), text("^a\\.b$"));
        assert_eq!(filled("{start:unix}", ""), Ok(Filling::Number(1_767_261_600)));
        assert_eq!(filled("at {start:%H:%M}", ""), text("at 10:00"));
        assert_eq!(filled("service/{entity}", "cart"), text("service/cart"));
    }

    #[test]
    fn what_is_put_in_is_never_a_template() {
        assert_eq!(filled("{entity}", "{start}"), Ok(Filling::Text("{start}".to_owned())));
        let quoted = filled("'{entity|sql}'", "{start}");
        assert_eq!(quoted, Ok(Filling::Text("'{start}'".to_owned())));
    }

    #[test]
    fn what_needs_quotes_is_refused_without() {
        let error = filled("x = '{entity}'", "a' OR '1'='1").unwrap_err();
        assert!(error.contains("must be quoted here"), "{error}");
        assert!(filled("x = '{entity|sql}'", "a\\").unwrap_err().contains("backslash"));
    }

    #[test]
    fn what_is_no_template_is_reported() {
        for (bad, reason) in [
            ("a{", "unmatched brace"),
            ("a}b", "unmatched brace"),
            ("{}", "not a placeholder"),
            ("{entity|html}", "sql, text or regex"),
            ("{start:noon}", "unknown time format"),
            ("{other}", "no other"),
        ] {
            let error = filled(bad, "x").unwrap_err();
            assert!(error.contains(reason), "{bad}: {error}");
        }
    }

    #[test]
    fn times_are_read_in_many_forms() {
        let expected: Timestamp = "2026-01-01T10:00:00.5Z".parse().unwrap();
        for (text, format) in [
            ("2026-01-01T10:00:00.5Z", None),
            ("2026-01-01 10:00:00.5", None),
            ("2026-01-01T11:00:00.5+01:00", None),
            ("1767261600.5", Some("unix")),
            ("1767261600500", Some("unix_ms")),
            ("01/01/2026 10:00:00.5", Some("%d/%m/%Y %H:%M:%S%.f")),
        ] {
            assert_eq!(read_time(text, format), Some(expected), "{text}");
        }
        for (text, format) in [("noon", None), ("NaN", Some("unix")), ("", Some("unix_ms"))] {
            assert_eq!(read_time(text, format), None, "{text}");
        }
    }
}
