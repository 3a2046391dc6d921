//! Derived metrics: arithmetic over metrics, such as `errors / requests * 100`.
//!
//! This is a small precedence parser. Of the expression crates the best known has a licence that
//! cannot be used here, and the others take no metric names with colons and no label selectors.
//! Text is bounded, and so is the depth, so that no input can exhaust the stack.

use std::fmt;

use super::statistic::Statistic;

/// Longest expression, in bytes.
pub const MAX_EXPRESSION_BYTES: usize = 1_000;

/// Deepest nesting of parentheses and signs.
pub const MAX_EXPRESSION_DEPTH: usize = 32;

/// A parsed expression.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Number(f64),
    /// One statistic of a metric; without one the statistic that the question names.
    Metric {
        statistic: Option<Statistic>,
        selector: Selector,
    },
    Negated(Box<Expression>),
    Binary {
        operator: char,
        left: Box<Expression>,
        right: Box<Expression>,
    },
}

/// A metric, perhaps only its series with some labels: `name{label="glob", other!="glob"}`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Selector {
    pub(crate) metric: String,
    pub(crate) labels: Vec<LabelTest>,
}

/// A test of one label's value against a glob pattern.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct LabelTest {
    pub(crate) label: String,
    pub(crate) pattern: String,
    pub(crate) negated: bool,
}

/// Where an expression is wrong, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ExpressionError {
    /// The character, counted from 1.
    pub(crate) place: usize,
    pub(crate) reason: String,
}

impl fmt::Display for ExpressionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "at character {}: {}", self.place, self.reason)
    }
}

impl Expression {
    pub(crate) fn parse(text: &str) -> Result<Self, ExpressionError> {
        if text.len() > MAX_EXPRESSION_BYTES {
            let reason = format!("the expression is longer than {MAX_EXPRESSION_BYTES} bytes");
            return Err(ExpressionError { place: 1, reason });
        }
        let mut parser = Parser { text: text.chars().collect(), at: 0, depth: 0 };
        let expression = parser.sum()?;
        match parser.peek() {
            None => Ok(expression),
            Some(found) => Err(parser.error(format!("unexpected {found:?}"))),
        }
    }

    /// The metrics that are named, in order of appearance.
    pub(crate) fn selectors(&self) -> Vec<&Selector> {
        match self {
            Self::Number(_) => Vec::new(),
            Self::Metric { selector, .. } => vec![selector],
            Self::Negated(inner) => inner.selectors(),
            Self::Binary { left, right, .. } => {
                let mut all = left.selectors();
                all.extend(right.selectors());
                all
            }
        }
    }

    /// The value, given that of each metric. Nothing when a metric has none, or when the result
    /// is not a finite number (a division by zero).
    pub(crate) fn value(
        &self,
        of: &mut impl FnMut(Option<Statistic>, &Selector) -> Option<f64>,
    ) -> Option<f64> {
        let value = match self {
            Self::Number(number) => *number,
            Self::Metric { statistic, selector } => of(*statistic, selector)?,
            Self::Negated(inner) => -inner.value(of)?,
            Self::Binary { operator, left, right } => {
                let (left, right) = (left.value(of)?, right.value(of)?);
                match operator {
                    '+' => left + right,
                    '-' => left - right,
                    '*' => left * right,
                    _ => left / right,
                }
            }
        };
        value.is_finite().then_some(value)
    }
}

struct Parser {
    text: Vec<char>,
    at: usize,
    depth: usize,
}

impl Parser {
    fn error(&self, reason: impl Into<String>) -> ExpressionError {
        ExpressionError { place: self.at + 1, reason: reason.into() }
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        while self.text.get(self.at).is_some_and(|c| c.is_whitespace()) {
            self.at += 1;
        }
        self.text.get(self.at).copied()
    }

    fn take(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        self.at += usize::from(found);
        found
    }

    fn expect(&mut self, wanted: char) -> Result<(), ExpressionError> {
        if self.take(wanted) {
            return Ok(());
        }
        let found = self.peek().map_or("the end".to_owned(), |c| format!("{c:?}"));
        Err(self.error(format!("expected {wanted:?}, found {found}")))
    }

    fn sum(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.product()?;
        while let Some(operator) = self.peek().filter(|c| ['+', '-'].contains(c)) {
            self.at += 1;
            left = binary(operator, left, self.product()?);
        }
        Ok(left)
    }

    fn product(&mut self) -> Result<Expression, ExpressionError> {
        let mut left = self.operand()?;
        while let Some(operator) = self.peek().filter(|c| ['*', '/'].contains(c)) {
            self.at += 1;
            left = binary(operator, left, self.operand()?);
        }
        Ok(left)
    }

    fn operand(&mut self) -> Result<Expression, ExpressionError> {
        if self.depth >= MAX_EXPRESSION_DEPTH {
            return Err(self.error(format!("more than {MAX_EXPRESSION_DEPTH} levels of nesting")));
        }
        self.depth += 1;
        let operand = match self.peek() {
            Some('-') => {
                self.at += 1;
                self.operand().map(|inner| Expression::Negated(Box::new(inner)))
            }
            Some('(') => {
                self.at += 1;
                let inner = self.sum()?;
                self.expect(')').map(|()| inner)
            }
            Some(c) if c.is_ascii_digit() || c == '.' => self.number(),
            Some(c) if c == '"' || begins_name(c) => self.metric(),
            Some(c) => Err(self.error(format!("unexpected {c:?}"))),
            None => Err(self.error("expected a metric, a number or \"(\"")),
        };
        self.depth -= 1;
        operand
    }

    fn number(&mut self) -> Result<Expression, ExpressionError> {
        let start = self.at;
        let mut text = String::new();
        while let Some(c) = self.text.get(self.at).copied() {
            let signs_exponent = ['+', '-'].contains(&c) && text.ends_with(['e', 'E']);
            if !(c.is_ascii_digit() || ['.', 'e', 'E'].contains(&c) || signs_exponent) {
                break;
            }
            text.push(c);
            self.at += 1;
        }
        let number = text.parse::<f64>().ok().filter(|number| number.is_finite());
        number.map(Expression::Number).ok_or_else(|| ExpressionError {
            place: start + 1,
            reason: format!("{text:?} is not a number"),
        })
    }

    /// `metric`, `metric{label="value"}`, or `statistic(metric)`.
    fn metric(&mut self) -> Result<Expression, ExpressionError> {
        let start = self.at;
        let quoted = self.peek() == Some('"');
        let name = self.name()?;
        if quoted || !self.take('(') {
            let selector = self.selector(name)?;
            return Ok(Expression::Metric { statistic: None, selector });
        }
        let Some(statistic) = Statistic::parse(&name) else {
            let known = Statistic::NAMES.join(", ");
            let reason = format!("{name:?} is not a function; use one of {known}");
            return Err(ExpressionError { place: start + 1, reason });
        };
        self.peek();
        let metric = self.name()?;
        let selector = self.selector(metric)?;
        self.expect(')')?;
        Ok(Expression::Metric { statistic: Some(statistic), selector })
    }

    fn selector(&mut self, metric: String) -> Result<Selector, ExpressionError> {
        let mut labels = Vec::new();
        if self.take('{') {
            while !self.take('}') {
                self.peek();
                let label = self.name()?;
                let negated = self.take('!');
                self.expect('=')?;
                if self.peek() != Some('"') {
                    return Err(self.error("the value of a label must be in double quotes"));
                }
                let pattern = self.name()?;
                labels.push(LabelTest { label, pattern, negated });
                if !self.take(',') && self.peek() != Some('}') {
                    return Err(self.error("expected \",\" or \"}\""));
                }
            }
        }
        Ok(Selector { metric, labels })
    }

    /// A bare name, or anything in double quotes.
    fn name(&mut self) -> Result<String, ExpressionError> {
        if self.peek() == Some('"') {
            let start = self.at;
            let rest = self.text.get(start + 1..).unwrap_or_default();
            let Some(length) = rest.iter().position(|c| *c == '"') else {
                return Err(self.error("the quote is never closed"));
            };
            self.at = start + length + 2;
            return Ok(rest.iter().take(length).collect());
        }
        let rest = self.text.get(self.at..).unwrap_or_default();
        if !rest.first().copied().is_some_and(begins_name) {
            return Err(self.error("expected the name of a metric or label"));
        }
        let belongs = |c: &&char| begins_name(**c) || c.is_ascii_digit() || **c == '.';
        let name: String = rest.iter().take_while(belongs).collect();
        self.at += name.len();
        Ok(name)
    }
}

fn begins_name(c: char) -> bool {
    c.is_ascii_alphabetic() || c == '_' || c == ':'
}

fn binary(operator: char, left: Expression, right: Expression) -> Expression {
    Expression::Binary { operator, left: Box::new(left), right: Box::new(right) }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `a` is 6, `ns:b` is 2, `zero` 0; others have no value. A statistic adds a hundred.
    fn value(text: &str) -> Result<Option<f64>, ExpressionError> {
        let expression = Expression::parse(text)?;
        Ok(expression.value(&mut |statistic, selector| {
            let plain = match selector.metric.as_str() {
                "a" => 6.0,
                "ns:b" => 2.0,
                "zero" => 0.0,
                _ => return None,
            };
            Some(plain + if statistic.is_some() { 100.0 } else { 0.0 })
        }))
    }

    #[test]
    fn arithmetic_follows_the_usual_order() {
        let cases = [
            ("a / ns:b * 100", Some(300.0)),
            ("a + ns:b * 2", Some(10.0)),
            ("(a + ns:b) * 2", Some(16.0)),
            ("a - ns:b - 1", Some(3.0)),
            ("-a + 1e1", Some(4.0)),
            ("- -a", Some(6.0)),
            ("sum(a) / 2", Some(53.0)),
            ("p95(a{x=\"1*\", y!=\"2\"})", Some(106.0)),
            ("\"ns:b\" * .5", Some(1.0)),
            ("a / zero", None),
            ("a + unknown", None),
            ("1e308 * 10", None),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text), Ok(expected), "{text}");
        }
    }

    #[test]
    fn errors_name_the_place() {
        let cases = [
            ("", "at character 1: expected a metric, a number or \"(\""),
            ("a +", "at character 4: expected a metric, a number or \"(\""),
            ("a b", "at character 3: unexpected 'b'"),
            ("(a", "at character 3: expected ')', found the end"),
            ("a % 2", "at character 3: unexpected '%'"),
            ("1.2.3", "at character 1: \"1.2.3\" is not a number"),
            ("a{x=1}", "at character 5: the value of a label must be in double quotes"),
            ("a{x=\"1\" y=\"2\"}", "at character 9: expected \",\" or \"}\""),
            ("a{\"x", "at character 3: the quote is never closed"),
            ("sum(2)", "at character 5: expected the name of a metric or label"),
            ("é", "at character 1: unexpected 'é'"),
        ];
        for (text, expected) in cases {
            assert_eq!(value(text).map_err(|error| error.to_string()), Err(expected.into()));
        }
        let unknown = value("system(a)").unwrap_err().to_string();
        assert!(
            unknown.starts_with("at character 1: \"system\" is not a function; use one of mean,")
        );
    }

    #[test]
    fn depth_and_length_are_bounded() {
        for deep in ["(".repeat(900), "-".repeat(900)] {
            let error = value(&deep).unwrap_err();
            assert_eq!(
                (error.place, error.reason.as_str()),
                (33, "more than 32 levels of nesting")
            );
        }
        assert!(value(&"1+".repeat(MAX_EXPRESSION_BYTES)).is_err());
        assert_eq!(value(&format!("{}1", "1+".repeat(499))), Ok(Some(500.0)));
    }

    #[test]
    fn selectors_are_given_in_order() {
        let expression = Expression::parse("b{x=\"1\"} / (sum(a) - b)").unwrap();
        let names: Vec<&str> =
            expression.selectors().iter().map(|selector| selector.metric.as_str()).collect();
        assert_eq!(names, ["b", "a", "b"]);
    }
}
