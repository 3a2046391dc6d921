//! A line as words, with errors that name file and line.

use std::fmt;

use eog_core::{EntityId, Label, Timestamp};

/// What is wrong with a case.
#[derive(Debug)]
pub(crate) struct CaseError {
    pub(crate) file: String,
    pub(crate) line: usize,
    pub(crate) reason: String,
}

impl fmt::Display for CaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.reason)
    }
}

/// The words of one line that are not read yet.
pub(crate) struct Words<'t> {
    left: Vec<&'t str>,
}

impl<'t> Words<'t> {
    pub(crate) fn of(line: &'t str) -> Self {
        Self { left: line.split_whitespace().rev().collect() }
    }

    pub(crate) fn next(&mut self) -> Option<&'t str> {
        self.left.pop()
    }

    pub(crate) fn expect(&mut self, usage: &str) -> Result<&'t str, String> {
        self.next().ok_or_else(|| usage.to_owned())
    }

    /// Takes a word if it is the next one.
    pub(crate) fn take(&mut self, word: &str) -> bool {
        let found = self.left.last() == Some(&word);
        if found {
            self.left.pop();
        }
        found
    }

    pub(crate) fn peek(&self) -> Option<&'t str> {
        self.left.last().copied()
    }

    /// The words up to one of these, which stays.
    pub(crate) fn until(&mut self, stops: &[&str]) -> Vec<&'t str> {
        let mut taken = Vec::new();
        while self.peek().is_some_and(|word| !stops.contains(&word)) {
            taken.extend(self.next());
        }
        taken
    }

    pub(crate) fn end(&self) -> Result<(), String> {
        match self.peek() {
            None => Ok(()),
            Some(word) => Err(format!("{word:?} is one word too many")),
        }
    }
}

pub(crate) fn entity(word: &str) -> Result<EntityId, String> {
    EntityId::new(word).map_err(|error| error.to_string())
}

pub(crate) fn label(word: &str) -> Result<Label, String> {
    [Label::Healthy, Label::Symptom, Label::Origin, Label::Defer]
        .into_iter()
        .find(|label| label.to_string() == word)
        .ok_or_else(|| format!("there is no label {word:?}"))
}

/// `A>B`: A explains B.
pub(crate) fn edge(word: &str) -> Result<(EntityId, EntityId), String> {
    let (cause, effect) =
        word.split_once('>').ok_or_else(|| format!("{word:?} is not `<cause>><effect>`"))?;
    Ok((entity(cause)?, entity(effect)?))
}

/// `10:05` on the day of every case.
pub(crate) fn time(word: &str) -> Result<Timestamp, String> {
    let text = format!("2026-01-01T{word}:00Z");
    text.parse().map_err(|_| format!("{word:?} is not a time such as 10:05"))
}

pub(crate) fn number<N: std::str::FromStr>(what: &str, word: &str) -> Result<N, String> {
    word.parse().map_err(|_| format!("{what} takes a number, not {word:?}"))
}
