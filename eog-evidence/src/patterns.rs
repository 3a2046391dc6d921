//! Patterns of log lines: masked first, then compared with each other.
//!
//! Values that look like values are masked line by line (see [`template`](crate::template)). What is left of
//! a million lines is a few thousand templates, which are grouped as Drain does it (He et al., *Drain: an
//! online log parsing approach with fixed depth tree*, ICWS 2017): by shape, then word by word, and words that
//! vary within a group become holes. Drain takes lines as they come and so depends on their order. Here
//! the templates of all lines are compared at once, which also takes the place of its similarity threshold: a
//! word is a value when all that stands around it is alike.

mod partition;
mod tokens;

use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::template::{HOLE, MAX_TEMPLATE, mask_values};
use crate::text::shorten;
use partition::{Row, partition};
use tokens::Shape;

/// Most templates that a [`Miner`] holds at once.
pub const MAX_TEMPLATES: usize = 16_384;

/// The number of all lines that a full miner does not know.
const OTHER: u32 = u32::MAX;

/// Finds the patterns of log lines.
///
/// ```
/// let mut miner = eog_evidence::Miner::new();
/// let lines = [
///     "payment 17 failed: gateway timeout request=mxrtsm",
///     "payment 18 failed: gateway timeout request=kwpzao",
///     "payment queue is full",
/// ];
/// let numbers = lines.map(|line| miner.add(line));
/// let patterns = miner.mine();
/// let of = numbers.map(|number| patterns.text(number));
/// assert_eq!(of[0], "payment <*> failed: gateway timeout request=<*>");
/// assert_eq!(of[1], of[0]);
/// assert_eq!(of[2], "payment queue is full");
/// ```
///
/// # Order
/// The patterns are a function of the *set* of masked lines: neither the order of lines nor how often
/// each occurs matters, as long as there are at most [`MAX_TEMPLATES`] different ones.
///
/// # Memory
/// When more come, those held so far are replaced by their patterns, which takes the order of lines into
/// account, though only where a later line would have shown that a word varies. If more than half of
/// the places are still taken then, lines unknown so far are no longer distinguished: their pattern is `<*>`.
/// A template has at most 640 bytes, unless nearly every second byte is a value, so that at most about
/// 20 MB are held, and four bytes more for each template that was ever new.
#[derive(Clone, Debug, Default)]
pub struct Miner {
    /// Look-ups alone: nothing depends on its order.
    numbers: HashMap<String, u32>,
    /// For each number the one that stands for it: itself, or a smaller one that it was merged into.
    merged: Vec<u32>,
    /// Whether patterns fill the places.
    full: bool,
    buffer: String,
}

/// The pattern of each line that a [`Miner`] was given.
#[derive(Clone, Debug)]
pub struct Patterns {
    /// By the numbers of lines, a place in `texts`.
    places: Vec<u32>,
    texts: Vec<String>,
}

impl Miner {
    /// No lines yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a line, and gives the number by which [`Patterns`] knows its pattern.
    pub fn add(&mut self, line: &str) -> u32 {
        let mut template = std::mem::take(&mut self.buffer);
        template.clear();
        mask_values(line, &mut template);
        let number = self.number(&template);
        self.buffer = template;
        number
    }

    fn number(&mut self, template: &str) -> u32 {
        if let Some(number) = self.numbers.get(template) {
            return *number;
        }
        if self.numbers.len() >= MAX_TEMPLATES && !self.full {
            self.compact();
        }
        let Ok(number) = u32::try_from(self.merged.len()) else { return OTHER };
        if self.numbers.len() >= MAX_TEMPLATES {
            return OTHER;
        }
        self.merged.push(number);
        self.numbers.insert(template.to_owned(), number);
        number
    }

    /// Replaces templates by their patterns, which are templates too.
    fn compact(&mut self) {
        let mut members: BTreeMap<String, Vec<u32>> = BTreeMap::new();
        for group in groups(self.numbers.iter().map(|(text, number)| (text.as_str(), *number))) {
            members.entry(group.text).or_default().extend(group.members);
        }
        self.numbers.clear();
        for (text, members) in members {
            let Some(least) = members.iter().copied().min() else { continue };
            for member in members {
                if let Some(merged) = self.merged.get_mut(member as usize) {
                    *merged = least;
                }
            }
            self.numbers.insert(text, least);
        }
        self.full = self.numbers.len() > MAX_TEMPLATES / 2;
    }

    /// The patterns of all lines so far.
    pub fn mine(&self) -> Patterns {
        let mut of_number: Vec<Option<String>> = vec![None; self.merged.len()];
        for group in groups(self.numbers.iter().map(|(text, number)| (text.as_str(), *number))) {
            let text = shorten(&group.text, MAX_TEMPLATE);
            for member in group.members {
                if let Some(place) = of_number.get_mut(member as usize) {
                    *place = Some(text.clone());
                }
            }
        }
        let texts: BTreeSet<&String> = of_number.iter().flatten().collect();
        let texts: Vec<String> = texts.into_iter().cloned().collect();
        let mut places: Vec<u32> = Vec::with_capacity(self.merged.len());
        for (number, text) in of_number.iter().enumerate() {
            let place = match text {
                Some(text) => texts.binary_search(text).ok().and_then(|at| u32::try_from(at).ok()),
                // Merged into a smaller number, whose place is known.
                None => {
                    self.merged.get(number).and_then(|into| places.get(*into as usize)).copied()
                }
            };
            places.push(place.unwrap_or(OTHER));
        }
        Patterns { places, texts }
    }

    /// About how many bytes are held.
    pub fn size(&self) -> usize {
        let texts: usize = self.numbers.keys().map(String::len).sum();
        texts
            + self.numbers.len() * size_of::<(String, u32)>()
            + self.merged.len() * size_of::<u32>()
    }
}

impl Patterns {
    /// The pattern of a line, by the number that [`Miner::add`] gave; at most 160 characters.
    pub fn text(&self, number: u32) -> &str {
        let place = self.places.get(number as usize);
        place.and_then(|place| self.texts.get(*place as usize)).map_or(HOLE, String::as_str)
    }

    /// All patterns in alphabetical order.
    pub fn texts(&self) -> &[String] {
        &self.texts
    }
}

/// Templates of one kind.
struct Group {
    text: String,
    members: Vec<u32>,
}

/// The groups of numbered templates, in an order that depends on the templates alone.
fn groups<'t>(templates: impl Iterator<Item = (&'t str, u32)>) -> Vec<Group> {
    let mut sorted: Vec<(&str, u32)> = templates.collect();
    sorted.sort_unstable();
    let mut shapes: BTreeMap<Shape, Vec<Row<'t>>> = BTreeMap::new();
    for (text, number) in sorted {
        let tokens = tokens::tokens(text);
        shapes.entry(tokens::shape(&tokens)).or_default().push((number, tokens));
    }
    let mut groups = Vec::new();
    for rows in shapes.into_values() {
        partition(rows, &mut |members, tokens| {
            groups.push(Group { text: tokens::text(tokens), members });
        });
    }
    groups
}

/// The pattern of each template among all of them; both of any length.
pub(crate) fn patterns_of<'t>(templates: &BTreeSet<&'t str>) -> BTreeMap<&'t str, String> {
    let numbered: Vec<&str> = templates.iter().copied().collect();
    let mut patterns = BTreeMap::new();
    for group in groups(numbered.iter().copied().zip(0..)) {
        for member in &group.members {
            if let Some(template) = numbered.get(*member as usize) {
                patterns.insert(*template, group.text.clone());
            }
        }
    }
    patterns
}

#[cfg(test)]
mod tests;
