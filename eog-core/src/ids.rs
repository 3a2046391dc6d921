//! Names of things: entities and pieces of evidence.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize, Serializer};

use crate::digest::Digest;
use crate::evidence::kind::EvidenceKind;

/// Longest accepted [`EntityId`], in bytes.
pub const MAX_ENTITY_ID_BYTES: usize = 512;

/// The name of an entity: a service, a pod, a configuration, a machine, a module.
///
/// Never empty, at most [`MAX_ENTITY_ID_BYTES`] long, without control characters and without
/// white space at either end. Names compare by bytes; cloning is cheap.
///
/// ```
/// use eog_core::EntityId;
/// let entity = EntityId::new("shop/Service/cart")?;
/// assert_eq!(entity.as_str(), "shop/Service/cart");
/// assert!(EntityId::new(" cart").is_err());
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(with = "String", extend("minLength" = 1, "maxLength" = 512))
)]
pub struct EntityId(Arc<str>);

impl EntityId {
    /// Checks and takes a name.
    ///
    /// # Errors
    /// [`InvalidId`] when the name is empty, too long, padded with white space, or holds a
    /// control character.
    pub fn new(name: impl Into<String>) -> Result<Self, InvalidId> {
        let name = name.into();
        let reason = if name.is_empty() {
            "it is empty"
        } else if name.len() > MAX_ENTITY_ID_BYTES {
            "it is longer than 512 bytes"
        } else if name.trim() != name {
            "it begins or ends with white space"
        } else if name.chars().any(char::is_control) {
            "it holds a control character"
        } else {
            return Ok(Self(name.into()));
        };
        Err(InvalidId::new("entity name", &name, reason))
    }

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for EntityId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:?}", &*self.0)
    }
}

impl std::str::FromStr for EntityId {
    type Err = InvalidId;
    fn from_str(name: &str) -> Result<Self, InvalidId> {
        Self::new(name)
    }
}

impl TryFrom<String> for EntityId {
    type Error = InvalidId;
    fn try_from(name: String) -> Result<Self, InvalidId> {
        Self::new(name)
    }
}

impl TryFrom<&str> for EntityId {
    type Error = InvalidId;
    fn try_from(name: &str) -> Result<Self, InvalidId> {
        Self::new(name)
    }
}

impl Serialize for EntityId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl From<EntityId> for String {
    fn from(id: EntityId) -> Self {
        id.0.as_ref().to_owned()
    }
}

impl std::borrow::Borrow<str> for EntityId {
    fn borrow(&self) -> &str {
        &self.0
    }
}

/// The id of a finding, derived from its content: a three-letter kind, `-`, and 20 hex digits.
///
/// Equal findings have equal ids on any machine. The kind is part of the id, so that a reader of a
/// message can distinguish a cited change from a cited metric.
///
/// ```
/// use eog_core::{EvidenceId, EvidenceKind};
/// let id: EvidenceId = "chg-00112233445566778899".to_owned().try_into()?;
/// assert_eq!(id.kind(), EvidenceKind::Change);
/// # Ok::<(), eog_core::InvalidId>(())
/// ```
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[cfg_attr(
    feature = "schema",
    schemars(
        with = "String",
        extend("pattern" = "^(chg|evt|met|log|spn|alr|nte)-[0-9a-f]{20}$")
    )
)]
pub struct EvidenceId(Arc<str>);

impl EvidenceId {
    const HEX_DIGITS: usize = 20;

    /// The id of a finding of this kind with this content.
    pub(crate) fn derive(kind: EvidenceKind, content: &[u8]) -> Self {
        let hex = Digest::of_bytes(content).to_string();
        Self(format!("{}-{}", kind.code(), &hex[..Self::HEX_DIGITS]).into())
    }

    /// The kind of finding the id stands for.
    pub fn kind(&self) -> EvidenceKind {
        EvidenceKind::from_code(&self.0[..3]).unwrap_or(EvidenceKind::Note)
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for EvidenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(&self.0)
    }
}

impl fmt::Debug for EvidenceId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::str::FromStr for EvidenceId {
    type Err = InvalidId;
    fn from_str(id: &str) -> Result<Self, InvalidId> {
        id.to_owned().try_into()
    }
}

impl TryFrom<&str> for EvidenceId {
    type Error = InvalidId;
    fn try_from(id: &str) -> Result<Self, InvalidId> {
        id.to_owned().try_into()
    }
}

impl TryFrom<String> for EvidenceId {
    type Error = InvalidId;
    fn try_from(text: String) -> Result<Self, InvalidId> {
        let well_formed = text.split_once('-').is_some_and(|(code, hex)| {
            EvidenceKind::from_code(code).is_some()
                && hex.len() == Self::HEX_DIGITS
                && hex.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b))
        });
        if well_formed {
            Ok(Self(text.into()))
        } else {
            let reason = "it is not a kind (chg, evt, met, log, spn, alr, nte), a dash and 20 \
                          lower-case hex digits";
            Err(InvalidId::new("evidence id", &text, reason))
        }
    }
}

impl Serialize for EvidenceId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.0)
    }
}

impl From<EvidenceId> for String {
    fn from(id: EvidenceId) -> Self {
        id.0.as_ref().to_owned()
    }
}

/// A name or id that is not valid.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what} {value:?} is not usable: {reason}")]
pub struct InvalidId {
    what: &'static str,
    value: String,
    reason: &'static str,
}

impl InvalidId {
    pub(crate) fn new(what: &'static str, value: &str, reason: &'static str) -> Self {
        Self { what, value: shorten(value), reason }
    }
}

/// At most 60 characters of a text that may be huge, for error messages.
fn shorten(text: &str) -> String {
    let mut short: String = text.chars().take(60).collect();
    if short.len() < text.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::{EntityId, EvidenceId, MAX_ENTITY_ID_BYTES};
    use crate::evidence::kind::EvidenceKind;

    #[test]
    fn entity_names_are_checked() {
        let longest = "x".repeat(MAX_ENTITY_ID_BYTES);
        for name in ["a", "shop/Service/cart", "a b", "überlast", "日本", longest.as_str()] {
            assert_eq!(EntityId::new(name).map(|id| id.to_string()), Ok(name.to_owned()));
        }
        let too_long = "x".repeat(MAX_ENTITY_ID_BYTES + 1);
        let cases = [
            ("", "it is empty"),
            (" a", "it begins or ends with white space"),
            ("a\u{a0}", "it begins or ends with white space"),
            ("a\nb", "it holds a control character"),
            ("a\u{7f}b", "it holds a control character"),
            (too_long.as_str(), "it is longer than 512 bytes"),
        ];
        for (name, reason) in cases {
            let error = EntityId::new(name).unwrap_err().to_string();
            assert!(error.ends_with(reason), "{error}");
            assert!(error.len() < 200, "the message repeats all of a long name");
        }
    }

    #[test]
    fn names_compare_by_bytes() {
        let mut names = ["b", "a", "B", "a/b", "é", "e\u{301}"].map(|n| EntityId::new(n).unwrap());
        names.sort();
        let sorted: Vec<&str> = names.iter().map(EntityId::as_str).collect();
        assert_eq!(sorted, ["B", "a", "a/b", "b", "e\u{301}", "é"]);
    }

    #[test]
    fn names_that_are_not_usable_are_not_read() {
        assert!(serde_json::from_str::<EntityId>("\" a\"").is_err());
        assert!(serde_json::from_str::<EvidenceId>("\"chg-00\"").is_err());
    }

    #[test]
    fn evidence_ids_are_checked() {
        let good = "evt-0123456789abcdef0123";
        let id = EvidenceId::try_from(good.to_owned()).unwrap();
        assert_eq!((id.as_str(), id.kind()), (good, EvidenceKind::Event));
        for bad in [
            "",
            "-",
            "evt",
            "evt-",
            "evt-0123456789abcdef012",
            "evt-0123456789abcdef01234",
            "evt-0123456789ABCDEF0123",
            "abc-0123456789abcdef0123",
            "évt-0123456789abcdef0123",
            "chg-évtévtévtévtévtévtév",
        ] {
            assert!(EvidenceId::try_from(bad.to_owned()).is_err(), "{bad:?} was taken");
        }
    }
}
