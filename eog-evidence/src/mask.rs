//! Secrets are masked where text comes in, before anything is stored or shown: one masker, `eog-secrets`,
//! for every source.

use std::borrow::Cow;

use eog_secrets::Masker;

/// What stands in place of a secret.
pub const MASK: &str = eog_secrets::MASK;

/// Free text without its secrets.
///
/// ```
/// use eog_evidence::mask_text;
/// assert_eq!(mask_text("login with password=hunter2 failed"), "login with password=[masked] failed");
/// assert_eq!(mask_text("Authorization: Bearer abc.def1"), "Authorization: Bearer [masked]");
/// assert_eq!(mask_text("token bucket is empty"), "token bucket is empty");
/// ```
pub fn mask_text(text: &str) -> String {
    Masker::new().mask(text).into_owned()
}

/// Masks a text in place, which costs nothing where it holds no secret.
pub(crate) fn mask_in_place(text: &mut String) {
    let masked = match Masker::new().mask(text) {
        Cow::Borrowed(same) if same.len() == text.len() => return,
        masked => masked.into_owned(),
    };
    *text = masked;
}

/// The value of a named field without its secrets: all of it when the name, or the path, is that of one.
pub fn mask_named(name: &str, value: &str) -> String {
    Masker::new().mask_value(name, value).into_owned()
}

/// Whether a named field holds a secret.
pub fn is_secret_field(name: &str, value: &str) -> bool {
    Masker::new().is_secret(name, value)
}
