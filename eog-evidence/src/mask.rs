//! Secrets are masked where text comes in, before anything is stored or shown: one masker, `eog-secrets`,
//! for every source.

use eog_core::EntityId;
use eog_secrets::{Masked, Masker};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

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

/// The value of a named field without its secrets: all of it when the name, or the path, is that of one.
pub fn mask_named(name: &str, value: &str) -> String {
    Masker::new().mask_value(name, value).into_owned()
}

/// Whether a named field holds a secret.
pub fn is_secret_field(name: &str, value: &str) -> bool {
    Masker::new().is_secret(name, value)
}

/// Reads JSON from outside: no text of it, key or value, gets past unmasked, whatever it is read into.
///
/// # Errors
/// As of `serde_json`, with the place; what is quoted is masked.
///
/// ```
/// let labels: std::collections::BTreeMap<String, String> =
///     eog_evidence::masked_json(br#"{"password": "hunter2", "job": "web"}"#)?;
/// assert_eq!((&*labels["password"], &*labels["job"]), ("[masked]", "web"));
/// # Ok::<(), serde_json::Error>(())
/// ```
pub fn masked_json<T: DeserializeOwned>(text: &[u8]) -> serde_json::Result<T> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let read = T::deserialize(Masked::new(&mut reader));
    read.and_then(|value| reader.end().map(|()| value)).map_err(|error| masked_error(&error))
}

/// The parser quotes what it did not expect. The place is read back from the text.
fn masked_error(error: &serde_json::Error) -> serde_json::Error {
    serde::de::Error::custom(mask_text(&error.to_string()))
}

/// The same of JSON that was read already.
///
/// # Errors
/// As of `serde_json`; what is quoted is masked.
pub fn masked_value<T: DeserializeOwned>(value: Value) -> serde_json::Result<T> {
    T::deserialize(Masked::new(value)).map_err(|error| masked_error(&error))
}

/// A value from outside that was not read by one of these, with every text of it masked.
///
/// # Errors
/// When the value is not one that JSON holds.
pub fn masked<T: Serialize + DeserializeOwned>(value: &T) -> serde_json::Result<T> {
    serde_json::to_value(value).and_then(masked_value)
}

/// The name of an entity that no reader made, without its secrets.
pub(crate) fn masked_entity(name: &EntityId) -> EntityId {
    let masked = mask_text(name.as_str());
    if masked == name.as_str() {
        return name.clone();
    }
    // It may be too long now.
    EntityId::new(masked).or_else(|_| EntityId::new(MASK)).unwrap_or_else(|_| name.clone())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_quote_nothing_and_keep_their_place() {
        let text = "{\n\"a\": \"token=s3ss10nT0k3n9\"}";
        let error = masked_json::<std::collections::BTreeMap<String, u8>>(text.as_bytes());
        let error = error.unwrap_err();
        assert_eq!((error.line(), error.column()), (2, 26));
        assert!(error.to_string().contains("[masked]"), "{error}");
        assert!(!error.to_string().contains("s3ss10n"), "{error}");
        assert!(masked_json::<Value>(b"1 2").is_err(), "nothing may follow");
    }
}
