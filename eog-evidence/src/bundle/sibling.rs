//! A bundle beside this one, by name.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Serialize};

/// Longest name of a directory on common file systems, in bytes.
const MAX_NAME: usize = 255;

/// The name of a directory beside that of a bundle, written as `../NAME`. A bundle is untrusted, so
/// that nothing else can be named.
///
/// ```
/// use eog_evidence::SiblingName;
/// assert_eq!(SiblingName::new("../run-07")?.as_str(), "run-07");
/// for path in ["run-07", "../..", "../a/b", "/etc", "../", "..\\run"] {
///     assert!(SiblingName::new(path).is_err());
/// }
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SiblingName(String);

impl SiblingName {
    /// A name from `../NAME`.
    ///
    /// # Errors
    /// What is wrong, in words: anything but two dots, one slash and one plain name.
    pub fn new(path: &str) -> Result<Self, String> {
        let name = path.strip_prefix("../").unwrap_or_default();
        let is_plain = !name.is_empty()
            && name.len() <= MAX_NAME
            && !matches!(name, "." | "..")
            && !name.contains(['/', '\\', ':'])
            && !name.chars().any(char::is_control);
        if is_plain {
            return Ok(Self(name.to_owned()));
        }
        let path = crate::text::shorten(path, 60);
        Err(format!("{path:?} does not name a bundle beside this one; write it as ../NAME"))
    }

    /// The name without the dots.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for SiblingName {
    type Error = String;

    fn try_from(path: String) -> Result<Self, String> {
        Self::new(&path)
    }
}

impl From<SiblingName> for String {
    fn from(name: SiblingName) -> Self {
        format!("../{}", name.0)
    }
}

impl JsonSchema for SiblingName {
    fn schema_name() -> Cow<'static, str> {
        "SiblingName".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({
            "description": "The name of a bundle beside this one, as ../NAME.",
            "type": "string",
            "pattern": r"^\.\./[^/\\:]+$"
        })
    }
}
