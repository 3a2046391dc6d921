//! How investigations are named.

use std::fmt;

/// What an investigation is called: counted, never named by a client.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct InvestigationId(u64);

impl fmt::Display for InvestigationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "inv-{:06}", self.0)
    }
}

impl InvestigationId {
    pub(crate) fn numbered(number: u64) -> Self {
        Self(number)
    }

    pub(crate) fn number(&self) -> u64 {
        self.0
    }

    /// Reads an id exactly as it is written.
    pub fn parse(text: &str) -> Option<Self> {
        let id = Self(text.strip_prefix("inv-")?.parse().ok()?);
        (id.to_string() == text).then_some(id)
    }
}
