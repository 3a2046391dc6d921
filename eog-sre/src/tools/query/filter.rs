//! Conditions on columns.
//!
//! A condition is written `COLUMN OP VALUE`, such as `reason=Killing,Unhealthy`. `=` takes one or
//! more values with commas between, in which `*` matches any text and `?` any character.

use eog_core::Timestamp;
use regex::{Regex, RegexBuilder};
use serde::Deserialize;
use serde_json::Value;

use super::{Cell, Kind, described, texts, unexpected};
use crate::time;
use crate::tools::ToolError;

/// Most conditions of one call.
const MAX_FILTERS: usize = 32;

/// Most values of one condition.
const MAX_VALUES: usize = 200;

/// Longest pattern, in bytes.
const MAX_PATTERN: usize = 1000;

/// Most memory of a compiled pattern, in bytes.
const MAX_COMPILED: usize = 1 << 20;

/// How a condition compares.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operator {
    /// `=`: equal to one of the values; `*` matches any text, `?` any character.
    Is,
    /// `!=`: equal to none of the values.
    IsNot,
    /// `~`: contains the text, ignoring case.
    Contains,
    /// `!~`: does not contain the text.
    Lacks,
    /// `=~`: a regular expression matches somewhere.
    Matches,
    /// `<`.
    Below,
    /// `<=`.
    AtMost,
    /// `>`.
    Above,
    /// `>=`.
    AtLeast,
}

/// Operators as they are written; one that begins with another stands before it.
const OPERATORS: [(&str, Operator); 9] = [
    ("=~", Operator::Matches),
    ("!=", Operator::IsNot),
    ("!~", Operator::Lacks),
    ("<=", Operator::AtMost),
    (">=", Operator::AtLeast),
    ("=", Operator::Is),
    ("~", Operator::Contains),
    ("<", Operator::Below),
    (">", Operator::Above),
];

/// One condition on one column.
///
/// ```
/// use eog_sre::tools::{Filter, Operator};
/// let filter: Filter = "reason=Killing,Unhealthy".parse()?;
/// assert_eq!((filter.column.as_str(), filter.operator), ("reason", Operator::Is));
/// assert_eq!(filter.values, ["Killing", "Unhealthy"]);
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Filter {
    /// The column.
    pub column: String,
    /// How it is compared.
    pub operator: Operator,
    /// With what; one value except for [`Operator::Is`] and [`Operator::IsNot`].
    pub values: Vec<String>,
}

impl Filter {
    fn new(column: &str, operator: Operator, text: &str) -> Self {
        let several = matches!(operator, Operator::Is | Operator::IsNot) && text.contains(',');
        let mut values = Vec::new();
        if several {
            values.extend(text.split(',').take(MAX_VALUES).map(|value| value.trim().to_owned()));
        } else {
            values.push(text.trim().to_owned());
        }
        Self { column: column.trim().to_owned(), operator, values }
    }

    /// A condition of which the column is known: `>=5`, `~refused`, or a bare value.
    fn on(column: &str, text: &str) -> Self {
        let text = text.trim_start();
        let found = OPERATORS.iter().find_map(|(sign, op)| Some((op, text.strip_prefix(sign)?)));
        match found {
            Some((operator, value)) => Self::new(column, *operator, value),
            None => Self::new(column, Operator::Is, text),
        }
    }
}

impl std::str::FromStr for Filter {
    type Err = String;
    fn from_str(text: &str) -> Result<Self, String> {
        let at = text.find(['=', '!', '~', '<', '>']).filter(|at| *at > 0);
        let at = at.ok_or_else(|| {
            format!("{text:?} is not a condition; write COLUMN=VALUE, or use !=, ~, !~, =~, <, <=, > or >= instead of =")
        })?;
        let (column, rest) = text.split_at(at);
        let found = OPERATORS.iter().find_map(|(sign, op)| Some((op, rest.strip_prefix(sign)?)));
        let (operator, value) = found.ok_or_else(|| {
            format!("{text:?} has no valid operator after the column; use =, !=, ~, !~, =~, <, <=, > or >=")
        })?;
        Ok(Self::new(column, *operator, value))
    }
}

/// Conditions that all must hold.
///
/// As JSON either a map, `{"reason": "Killing", "times": ">=5", "namespace": ["a", "b"]}`, or a
/// list, `["reason=Killing", "times>=5"]`, or one such text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(try_from = "Value")]
pub struct Filters(pub Vec<Filter>);

impl Filters {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Filter> {
        self.0.iter()
    }
}

impl TryFrom<Value> for Filters {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        let filters: Result<Vec<Filter>, String> = match given {
            Value::Null => Ok(Vec::new()),
            Value::String(text) => text.parse().map(|filter| vec![filter]),
            Value::Array(list) => {
                texts(list, MAX_FILTERS, "conditions")?.iter().map(|text| text.parse()).collect()
            }
            Value::Object(map) if map.len() > MAX_FILTERS => {
                Err(format!("more than {MAX_FILTERS} conditions"))
            }
            Value::Object(map) => map.iter().map(|(column, value)| on(column, value)).collect(),
            other => {
                let expected = "conditions: {\"column\": \"value\"} or [\"column=value\"]";
                Err(unexpected(&other, expected))
            }
        };
        filters.map(Self)
    }
}

/// The condition that a map gives for a column.
fn on(column: &str, value: &Value) -> Result<Filter, String> {
    let is = |values| Filter { column: column.to_owned(), operator: Operator::Is, values };
    match value {
        Value::String(text) => Ok(Filter::on(column, text)),
        Value::Array(values) if values.len() > MAX_VALUES => {
            Err(format!("more than {MAX_VALUES} values in a condition"))
        }
        Value::Array(values) => Ok(is(values.iter().map(plain).collect())),
        other => Ok(is(vec![plain(other)])),
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}

described!(Filters, {
    "description": "Conditions, all of which must hold.",
    "anyOf": [
        {
            "type": "object",
            "additionalProperties": {
                "anyOf": [
                    { "type": ["string", "number", "boolean", "null"] },
                    { "type": "array", "items": { "type": ["string", "number", "boolean"] } }
                ]
            }
        },
        { "type": "array", "items": { "type": "string" } },
        { "type": "string" }
    ]
});

/// Text with `*` for any text and `?` for any character, compared as a whole.
#[derive(Debug)]
pub(crate) enum Pattern {
    Exact(String),
    Glob(Regex),
}

impl Pattern {
    /// # Errors
    /// The reason, when the pattern is too long.
    pub(crate) fn new(text: &str) -> Result<Self, String> {
        if text.len() > MAX_PATTERN {
            return Err(format!("a pattern is longer than {MAX_PATTERN} bytes"));
        }
        if !text.contains(['*', '?']) {
            return Ok(Self::Exact(text.to_owned()));
        }
        let mut expression = String::from("(?s)^");
        for character in text.chars() {
            match character {
                '*' => expression.push_str(".*"),
                '?' => expression.push('.'),
                other => expression.push_str(&regex::escape(other.encode_utf8(&mut [0; 4]))),
            }
        }
        expression.push('$');
        Ok(Self::Glob(compile(&expression, false)?))
    }

    pub(crate) fn fits(&self, text: &str) -> bool {
        match self {
            Self::Exact(exact) => exact == text,
            Self::Glob(expression) => expression.is_match(text),
        }
    }
}

fn compile(expression: &str, ignore_case: bool) -> Result<Regex, String> {
    if expression.len() > 4 * MAX_PATTERN {
        return Err(format!("a pattern is longer than {MAX_PATTERN} bytes"));
    }
    let mut builder = RegexBuilder::new(expression);
    builder.case_insensitive(ignore_case).size_limit(MAX_COMPILED).dfa_size_limit(MAX_COMPILED);
    builder.build().map_err(|error| format!("{expression:?} is not a valid pattern: {error}"))
}

/// A condition that is ready to be checked against cells of one column.
#[derive(Debug)]
pub(crate) enum Condition {
    /// One of the patterns fits (or none does), or the cell is empty and that is asked for.
    Text { patterns: Vec<Pattern>, empty: bool, negated: bool },
    /// A pattern matches somewhere in the text (or does not).
    Found { expression: Regex, negated: bool },
    /// The cell's order to one of the values is accepted.
    Ordered { values: Vec<Cell<'static>>, operator: Operator, empty: bool },
}

impl Condition {
    /// # Errors
    /// [`ToolError::Argument`] when the condition does not fit what the column holds.
    pub(crate) fn new(filter: &Filter, kind: Kind) -> Result<Self, ToolError> {
        let Filter { column, operator, values } = filter;
        let wrong = |reason: String, hint: &str| ToolError::argument("filters", reason, hint);
        let first = values.first().map(String::as_str).unwrap_or_default();
        let negated = matches!(operator, Operator::IsNot | Operator::Lacks);
        match (operator, kind) {
            (Operator::Is | Operator::IsNot, Kind::Text) => {
                let mut patterns = Vec::new();
                for value in values {
                    patterns.push(Pattern::new(value).map_err(|reason| wrong(reason, ""))?);
                }
                if values.len() > 1 {
                    // A value may itself hold commas.
                    let whole = Pattern::new(&values.join(","));
                    patterns.extend(whole.ok());
                    patterns.extend(Pattern::new(&values.join(", ")).ok());
                }
                let empty = values.iter().any(String::is_empty);
                Ok(Self::Text { patterns, empty, negated })
            }
            (Operator::Contains | Operator::Lacks, Kind::Text) => {
                let expression = compile(&regex::escape(first), true);
                let expression = expression.map_err(|reason| wrong(reason, ""))?;
                Ok(Self::Found { expression, negated })
            }
            (Operator::Matches, Kind::Text) => {
                if first.len() > MAX_PATTERN {
                    let reason = format!("a pattern is longer than {MAX_PATTERN} bytes");
                    return Err(wrong(reason, ""));
                }
                let expression = compile(first, false)
                    .map_err(|reason| wrong(reason, "to search for plain text, use column~text"))?;
                Ok(Self::Found { expression, negated: false })
            }
            (Operator::Contains | Operator::Lacks | Operator::Matches, kind) => {
                let reason = format!("{column} holds {}, not text", kind.name());
                Err(wrong(reason, "use =, !=, <, <=, > or >="))
            }
            (_, Kind::Text) => {
                let reason = format!("{column} holds text, which has no order");
                Err(wrong(reason, "use =, !=, ~, !~ or =~"))
            }
            (_, Kind::Flag) if !matches!(operator, Operator::Is | Operator::IsNot) => {
                Err(wrong(format!("{column} holds true or false"), "use = or !="))
            }
            (_, kind) => {
                let filled = values.iter().filter(|value| !value.is_empty());
                let cells = filled.map(|value| {
                    let cell = match kind {
                        Kind::Time => time::parse(value).map(Cell::Time),
                        Kind::Flag => value.parse().ok().map(Cell::Flag),
                        Kind::Number | Kind::Text => {
                            let number = value.parse().ok().filter(|number: &f64| !number.is_nan());
                            number.map(Cell::Number)
                        }
                    };
                    let example = match kind {
                        Kind::Time => "write times as 2026-01-01T10:00:00Z",
                        Kind::Flag => "write true or false",
                        Kind::Number | Kind::Text => "write a number such as 5 or 0.25",
                    };
                    cell.ok_or_else(|| {
                        wrong(format!("{column} is {}, and {value:?} is not", kind.name()), example)
                    })
                });
                let cells = cells.collect::<Result<Vec<_>, _>>()?;
                let empty = values.iter().any(String::is_empty);
                Ok(Self::Ordered { values: cells, operator: *operator, empty })
            }
        }
    }

    pub(crate) fn holds(&self, cell: &Cell<'_>) -> bool {
        match self {
            Self::Text { patterns, empty, negated } => {
                let fits = match cell {
                    Cell::Text(text) => patterns.iter().any(|pattern| pattern.fits(text)),
                    _ => *empty,
                };
                fits != *negated
            }
            Self::Found { expression, negated } => match cell {
                Cell::Text(text) => expression.is_match(text) != *negated,
                _ => *negated,
            },
            Self::Ordered { values, operator, empty } => match (operator, cell) {
                (Operator::Is, Cell::Nothing) => *empty,
                (Operator::IsNot, Cell::Nothing) => !*empty,
                (_, Cell::Nothing) => false,
                (Operator::IsNot, cell) => !values.iter().any(|value| value == cell),
                (Operator::Below, cell) => values.iter().any(|value| cell < value),
                (Operator::AtMost, cell) => values.iter().any(|value| cell <= value),
                (Operator::Above, cell) => values.iter().any(|value| cell > value),
                (Operator::AtLeast, cell) => values.iter().any(|value| cell >= value),
                (_, cell) => values.iter().any(|value| value == cell),
            },
        }
    }
}

/// A time as an argument gives it.
pub(super) fn parse_time(text: &str) -> Result<Timestamp, String> {
    time::parse(text).ok_or_else(|| format!("{text:?} is not a time such as 2026-01-01T10:00:00Z"))
}
