//! Groups templates of one shape: which words are constants, and which vary.

use std::collections::{BTreeMap, BTreeSet};

use super::tokens::{Kind, Token, is_event};

/// Fewest different words in one place, all around it being alike, for that place to be a value.
/// Programs choose between few words (`up` and `down`; `low`, `normal` and `high`), and write a line for each.
const MIN_VARIETY: usize = 5;

/// The same for a place where a name is expected. Two alternatives can still be roles (`on host primary`).
const MIN_NAMES: usize = 3;

/// Fewest words that lines of one kind have in common when another word varies.
const MIN_CONSTANTS: usize = 2;

/// Most splits on the way to a group, which bounds the time; what is not of one kind then stays apart.
const MAX_SPLITS: usize = 32;

/// A template with its number. All rows of a partition have one shape.
pub(super) type Row<'t> = (u32, Vec<Token<'t>>);

/// Calls `group` with each group: the numbers of its rows, and their tokens with holes where they differ.
///
/// Rows are split by the word of fewest alternatives until those words that still differ are values.
/// Values never split rows.
pub(super) fn partition<'t>(rows: Vec<Row<'t>>, group: &mut impl FnMut(Vec<u32>, &[Token<'t>])) {
    let mut pending = vec![(rows, 0)];
    while let Some((rows, splits)) = pending.pop() {
        let columns = columns(&rows);
        match splitting_column(&columns) {
            Some(at) if splits < MAX_SPLITS => {
                pending.extend(split(rows, at).into_iter().map(|part| (part, splits + 1)));
            }
            Some(_) => rows.iter().for_each(|(number, tokens)| group(vec![*number], tokens)),
            None => {
                let numbers = rows.iter().map(|(number, _)| *number).collect();
                let first = rows.into_iter().next().map_or(Vec::new(), |(_, tokens)| tokens);
                let merged: Vec<Token<'t>> = first
                    .iter()
                    .zip(&columns)
                    .map(|(token, column)| column.merged(*token))
                    .collect();
                group(numbers, &merged);
            }
        }
    }
}

/// What stands in one place of all rows.
struct Column<'t> {
    words: BTreeSet<&'t str>,
    /// Whether all of these are values by themselves.
    has_values_only: bool,
    has_values: bool,
    has_names_only: bool,
    has_holes: bool,
    /// The aside of all rows: `None` as long as there is no row.
    aside: Option<Option<&'static str>>,
}

fn columns<'t>(rows: &[Row<'t>]) -> Vec<Column<'t>> {
    let width = rows.first().map_or(0, |(_, tokens)| tokens.len());
    let new = || Column {
        words: BTreeSet::new(),
        has_values_only: true,
        has_values: false,
        has_names_only: true,
        has_holes: false,
        aside: None,
    };
    let mut columns: Vec<Column<'t>> = std::iter::repeat_with(new).take(width).collect();
    for (_, tokens) in rows {
        for (column, token) in columns.iter_mut().zip(tokens) {
            column.add(token.kind);
            column.add_aside(token.aside);
        }
    }
    columns
}

impl<'t> Column<'t> {
    fn add(&mut self, kind: Kind<'t>) {
        match kind {
            Kind::Hole => self.has_holes = true,
            Kind::Value(word) => {
                self.words.insert(word);
                self.has_values = true;
            }
            Kind::Name(word) => {
                self.words.insert(word);
                self.has_values_only = false;
            }
            Kind::Word(word) => {
                self.words.insert(word);
                (self.has_values_only, self.has_names_only) = (false, false);
            }
            Kind::Mark(_) => {}
        }
    }

    fn add_aside(&mut self, aside: Option<&'static str>) {
        self.aside = Some(match self.aside {
            None => aside,
            Some(known) if known == aside => aside,
            Some(Some(_)) if aside.is_some() => Some("(<*>)"),
            Some(_) => None,
        });
    }

    fn alternatives(&self) -> usize {
        self.words.len() + usize::from(self.has_holes)
    }

    /// A word that all rows share.
    fn is_constant(&self) -> bool {
        !self.has_values_only && self.alternatives() == 1
    }

    /// Words that differ, and are not values by themselves.
    fn differs(&self) -> bool {
        !self.has_values_only && self.alternatives() > 1
    }

    /// Whether words that differ are values after all: a value stands in this place elsewhere, or there
    /// are many of them which do not say what happened.
    fn varies(&self) -> bool {
        let events = || self.words.iter().filter(|word| is_event(word)).count();
        let enough = if self.has_names_only { MIN_NAMES } else { MIN_VARIETY };
        self.has_holes
            || self.has_values
            || (self.words.len() >= enough && 2 * events() <= self.words.len())
    }

    fn merged<'a>(&self, token: Token<'a>) -> Token<'a> {
        let kind = if self.alternatives() > 1 { Kind::Hole } else { token.kind };
        Token { kind, aside: self.aside.flatten(), ..token }
    }
}

/// The column to split by; none if the rows are of one kind.
fn splitting_column(columns: &[Column<'_>]) -> Option<usize> {
    let constants = columns.iter().filter(|column| column.is_constant()).count();
    let differing = || columns.iter().enumerate().filter(|(_, column)| column.differs());
    // Most words of a line of one kind are constants.
    let alike = constants >= MIN_CONSTANTS && constants > differing().count();
    let splitting = differing().filter(|(_, column)| !alike || !column.varies());
    splitting.min_by_key(|(at, column)| (column.alternatives(), *at)).map(|(at, _)| at)
}

fn split(rows: Vec<Row<'_>>, at: usize) -> Vec<Vec<Row<'_>>> {
    let mut parts: BTreeMap<Option<Kind<'_>>, Vec<Row<'_>>> = BTreeMap::new();
    for row in rows {
        parts.entry(row.1.get(at).map(|token| token.kind)).or_default().push(row);
    }
    parts.into_values().collect()
}
