//! Keys, and how they are kept out of all output.

use std::fmt;
use std::sync::Arc;

use eog_evidence::MASK;

/// A key. It is never shown: its `Debug` form is `[masked]`.
///
/// ```
/// use eog_llm::Secret;
/// assert_eq!(format!("{:?}", Secret::new("sk-1234")), "[masked]");
/// ```
#[derive(Clone, PartialEq, Eq)]
pub struct Secret(Arc<str>);

impl Secret {
    /// A secret with this text.
    pub fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }

    /// The text itself.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(MASK)
    }
}

/// Shorter texts are not keys: masking them would damage unrelated text.
const SHORTEST_KEY: usize = 6;

/// Masks known keys, and what looks like a secret, in text.
///
/// ```
/// use eog_llm::{Masker, Secret};
/// let masker = Masker::of([Secret::new("plain-looking")]);
/// assert_eq!(masker.mask("key plain-looking, password=hunter2"), "key [masked], password=[masked]");
/// ```
#[derive(Clone, Debug, Default)]
pub struct Masker {
    /// The longest first, since one key may be a prefix of another.
    known: Arc<[Secret]>,
}

impl Masker {
    /// A masker that knows these keys.
    pub fn of(keys: impl IntoIterator<Item = Secret>) -> Self {
        let mut known: Vec<Secret> =
            keys.into_iter().filter(|key| key.expose().len() >= SHORTEST_KEY).collect();
        known.sort_by(|a, b| {
            b.expose().len().cmp(&a.expose().len()).then_with(|| a.expose().cmp(b.expose()))
        });
        known.dedup();
        Self { known: known.into() }
    }

    /// The text without secrets.
    pub fn mask(&self, text: &str) -> String {
        eog_evidence::mask_text(&self.mask_known(text))
    }

    /// The text without known keys. Nothing else is masked.
    pub fn mask_known(&self, text: &str) -> String {
        self.known.iter().fold(text.to_owned(), |text, key| text.replace(key.expose(), MASK))
    }
}
