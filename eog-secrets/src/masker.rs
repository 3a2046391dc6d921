//! The masker: what this crate is used by.

use std::borrow::Cow;
use std::ops::Range;

use crate::field::is_secret_at;
use crate::marker::MASK;
use crate::scan::Scanner;

/// Most passes over one text. Each masks what the pass before laid bare, by a marker beside it;
/// two do for text that was not made to need more.
const MAX_PASSES: usize = 16;

/// Masks secrets in text, in values with a path, and in bytes.
///
/// The first masker of a program builds the automaton over all rules (some ten milliseconds); a
/// further one costs nothing. Patterns are compiled when they are first needed.
#[derive(Clone, Copy)]
pub struct Masker {
    scanner: &'static Scanner,
}

impl Masker {
    /// How many times longer than a text its masked form can be: every byte a secret of its own.
    pub const MAX_GROWTH: usize = MASK.len();

    /// The masker.
    pub fn new() -> Self {
        Self { scanner: Scanner::shared() }
    }

    /// The text without its secrets: each is replaced by [`MASK`].
    ///
    /// ```
    /// let masker = eog_secrets::Masker::new();
    /// assert_eq!(masker.mask("Authorization: Bearer abc.def1"), "Authorization: Bearer [masked]");
    /// assert_eq!(masker.mask("the token bucket is empty"), "the token bucket is empty");
    /// ```
    pub fn mask<'t>(&self, text: &'t str) -> Cow<'t, str> {
        let secrets = self.scanner.secrets(text.as_bytes());
        if secrets.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut masked = replaced(text, &secrets);
        for _ in 1..MAX_PASSES {
            let secrets = self.scanner.secrets(masked.as_bytes());
            if secrets.is_empty() {
                return Cow::Owned(masked);
            }
            masked = replaced(&masked, &secrets);
        }
        if self.scanner.secrets(masked.as_bytes()).is_empty() {
            return Cow::Owned(masked);
        }
        // Made to lay something bare with every pass: none of it is shown.
        Cow::Borrowed(MASK)
    }

    /// The value at a path without its secrets: all of it is replaced when the path names a secret.
    ///
    /// Parts of a path are separated by `/`, `#` and brackets. Where the last part says nothing
    /// (`value`, an index), the one before it counts. Below `data` of a `Secret`, everything is one.
    ///
    /// ```
    /// let masker = eog_secrets::Masker::new();
    /// assert_eq!(masker.mask_value("shop/Secret/login#data/user", "Ym9i"), "[masked]");
    /// assert_eq!(masker.mask_value("env[TOKEN_URL]/value", "http://auth:80"), "http://auth:80");
    /// ```
    pub fn mask_value<'t>(&self, path: &str, value: &'t str) -> Cow<'t, str> {
        if self.is_secret(path, value) {
            return Cow::Borrowed(MASK);
        }
        let masked = self.mask(value);
        // A secret of several lines may have left one, which the path names.
        if self.is_secret(path, &masked) { Cow::Borrowed(MASK) } else { masked }
    }

    /// Whether the value at a path is a secret as a whole. It may hold one when it is not.
    pub fn is_secret(&self, path: &str, value: &str) -> bool {
        is_secret_at(path, value)
    }

    /// Bytes without their secrets. What is not UTF-8 stays as it is.
    ///
    /// ```
    /// let masker = eog_secrets::Masker::new();
    /// assert_eq!(*masker.mask_bytes(b"\xff password=hunter2"), *b"\xff password=[masked]");
    /// ```
    pub fn mask_bytes<'t>(&self, bytes: &'t [u8]) -> Cow<'t, [u8]> {
        if let Ok(text) = std::str::from_utf8(bytes) {
            return match self.mask(text) {
                Cow::Borrowed(text) => Cow::Borrowed(text.as_bytes()),
                Cow::Owned(text) => Cow::Owned(text.into_bytes()),
            };
        }
        let mut masked = Vec::with_capacity(bytes.len());
        // Invalid bytes end a text, as a line does: no secret that is text crosses them.
        for chunk in bytes.utf8_chunks() {
            let text = self.mask(chunk.valid());
            masked.extend_from_slice(text.as_bytes());
            masked.extend_from_slice(chunk.invalid());
        }
        Cow::Owned(masked)
    }
}

impl Default for Masker {
    fn default() -> Self {
        Self::new()
    }
}

impl std::fmt::Debug for Masker {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Masker")
    }
}

/// The first of these places that is between two characters.
fn boundary(text: &str, mut places: impl Iterator<Item = usize>) -> usize {
    places.find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The text with markers in place of ranges, which are in order and apart.
fn replaced(text: &str, secrets: &[Range<usize>]) -> String {
    let mut masked = String::with_capacity(text.len() + MASK.len());
    let mut from = 0;
    for secret in secrets {
        // Rules see bytes: a character they cut belongs to the secret.
        let start = boundary(text, (0..=secret.start).rev()).max(from);
        let end = boundary(text, secret.end..=text.len());
        masked.push_str(text.get(from..start).unwrap_or_default());
        masked.push_str(MASK);
        from = end.max(from);
    }
    masked.push_str(text.get(from..).unwrap_or_default());
    masked
}
