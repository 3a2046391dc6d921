//! Dictionaries: each distinct value once, known by a number.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use super::number;

/// Texts by their numbers. Number 0 is the empty text.
#[derive(Debug, Default)]
pub(crate) struct Texts(pub(crate) Vec<Arc<str>>);

impl Texts {
    /// The text of a number; empty for one that is not there.
    pub(crate) fn get(&self, number: u32) -> &str {
        self.0.get(number as usize).map(AsRef::as_ref).unwrap_or_default()
    }
}

/// A dictionary under way: equal values have one number, in the order in which they came.
#[derive(Debug)]
pub(crate) struct Interner<T: ?Sized> {
    values: Vec<Arc<T>>,
    /// Look-ups alone.
    known: HashMap<Arc<T>, u32>,
    size: usize,
}

/// What a value needs besides its own bytes: pointers, counts, and its place in the look-up.
const ENTRY: usize = 100;

impl<T: ?Sized + Eq + Hash> Interner<T> {
    /// An empty dictionary.
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), known: HashMap::new(), size: 0 }
    }

    /// The number of a value, which is copied when it is new.
    pub(crate) fn number(&mut self, value: &T, copy: impl FnOnce(&T) -> Arc<T>) -> u32 {
        if let Some(known) = self.known.get(value) {
            return *known;
        }
        let (new, shared) = (number(self.values.len()), copy(value));
        self.size += ENTRY + size_of_val(value);
        self.values.push(Arc::clone(&shared));
        self.known.insert(shared, new);
        new
    }

    /// About how many bytes it holds by now.
    pub(crate) fn size(&self) -> usize {
        self.size
    }

    /// The values by their numbers.
    pub(crate) fn into_values(mut self) -> Vec<Arc<T>> {
        drop(self.known);
        self.values.shrink_to_fit();
        self.values
    }
}

impl Interner<str> {
    /// A dictionary of texts, with the empty text as number 0.
    pub(crate) fn of_texts() -> Self {
        let mut texts = Self::new();
        texts.text("");
        texts
    }

    /// The number of a text.
    pub(crate) fn text(&mut self, text: &str) -> u32 {
        self.number(text, |text| text.into())
    }

    /// The texts by their numbers.
    pub(crate) fn into_texts(self) -> Texts {
        Texts(self.into_values())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_texts_have_one_number_and_the_empty_text_is_zero() {
        let mut texts = Interner::of_texts();
        assert_eq!(["b", "a", "b", ""].map(|text| texts.text(text)), [1, 2, 1, 0]);
        let texts = texts.into_texts();
        assert_eq!([0, 1, 2, 3].map(|number| texts.get(number)), ["", "b", "a", ""]);
    }
}
