//! Names: of investigations, and of the subjects that hold their parts.

use std::fmt;
use std::str::FromStr;

use crate::NatsError;

/// What an investigation is called on a cluster: 1 to 64 ASCII letters, digits, `-` and `_`, so that it is one
/// token of a subject and one name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvestigationId(String);

impl InvestigationId {
    const LONGEST: usize = 64;

    /// The name as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for InvestigationId {
    type Err = NatsError;

    fn from_str(text: &str) -> Result<Self, NatsError> {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        match !text.is_empty() && text.len() <= Self::LONGEST && text.bytes().all(plain) {
            true => Ok(Self(text.to_owned())),
            false => Err(NatsError::BadName { name: text.chars().take(80).collect() }),
        }
    }
}

impl fmt::Display for InvestigationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// A part of an investigation that is a sequence of bytes with one writer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The journal.
    Ledger,
    /// The side file.
    Side,
}

impl Part {
    /// How subjects name it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Ledger => "ledger",
            Self::Side => "side",
        }
    }
}

/// The streams and buckets of one installation, all beginning with its prefix.
#[derive(Clone, Debug)]
pub(crate) struct Names {
    prefix: String,
}

impl Names {
    /// # Errors
    /// [`NatsError::BadName`]: a prefix is written as the name of an investigation is.
    pub(crate) fn new(prefix: &str) -> Result<Self, NatsError> {
        Ok(Self { prefix: prefix.parse::<InvestigationId>()?.0 })
    }

    /// The stream of all journals and side files.
    pub(crate) fn stream(&self) -> String {
        format!("{}-ledgers", self.prefix)
    }

    /// The bucket of blocks that are too long for a message.
    pub(crate) fn blocks(&self) -> String {
        format!("{}-blocks", self.prefix)
    }

    /// The bucket of checkpoints.
    pub(crate) fn checkpoints(&self) -> String {
        format!("{}-checkpoints", self.prefix)
    }

    /// The bucket of values that are decisions, and that of those which are too long for a value.
    pub(crate) fn decisions(&self) -> String {
        format!("{}-memory", self.prefix)
    }

    /// The bucket of what was spent.
    pub(crate) fn spending(&self) -> String {
        format!("{}-spending", self.prefix)
    }

    /// The bucket of closed cases.
    pub(crate) fn cases(&self) -> String {
        format!("{}-cases", self.prefix)
    }

    /// All buckets of objects.
    pub(crate) fn objects(&self) -> [String; 4] {
        [self.blocks(), self.checkpoints(), self.decisions(), self.cases()]
    }

    /// The stream of investigations that wait for a worker.
    pub(crate) fn work(&self) -> String {
        format!("{}-work", self.prefix)
    }

    /// The stream of what is known of investigations beside their ledgers.
    pub(crate) fn register(&self) -> String {
        format!("{}-register", self.prefix)
    }

    /// A subject of an investigation.
    pub(crate) fn of(&self, what: &str, id: &str) -> String {
        format!("{}.{what}.{id}", self.prefix)
    }

    /// The subject of an investigation in it.
    pub(crate) fn work_subject(&self, id: &str) -> String {
        format!("{}.work.{id}", self.prefix)
    }

    /// Every subject of the stream.
    pub(crate) fn subjects(&self) -> Vec<String> {
        [Part::Ledger, Part::Side].map(|part| format!("{}.*", self.family(part))).into()
    }

    /// What the subjects of a part begin with.
    pub(crate) fn family(&self, part: Part) -> String {
        format!("{}.{}", self.prefix, part.as_str())
    }

    /// The subject of a part of an investigation.
    pub(crate) fn subject(&self, part: Part, id: &InvestigationId) -> String {
        format!("{}.{id}", self.family(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_token() {
        for name in ["a", "run-1", "A_9", &"x".repeat(64)] {
            assert_eq!(name.parse::<InvestigationId>().unwrap().as_str(), name);
        }
        for name in ["", "a.b", "a b", "*", ">", "é", "a/b", "$x", &"x".repeat(65)] {
            let error = name.parse::<InvestigationId>().unwrap_err();
            assert!(matches!(error, NatsError::BadName { .. }), "{error}");
        }
    }
}
