//! Why a source cannot be configured, asked or captured.

use std::path::PathBuf;
use std::time::Duration;

/// What is wrong with a configuration, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{place}: {reason}")]
pub struct ConfigError {
    place: String,
    reason: String,
}

impl ConfigError {
    pub(crate) fn new(place: impl Into<String>, reason: impl Into<String>) -> Self {
        Self { place: place.into(), reason: reason.into() }
    }

    /// The same within a file.
    pub(crate) fn within(self, file: &str) -> Self {
        Self { place: format!("{file}: {}", self.place), ..self }
    }
}

/// Why a question to a source has no answer.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum AskError {
    /// There is no answer from there.
    #[error("not reachable: {0}")]
    Away(String),
    /// It took too long.
    #[error("no answer within {} s", .0.as_secs_f64())]
    Slow(Duration),
    /// It refused.
    #[error("HTTP {status}: {said}")]
    Status { status: u16, said: String },
    /// Redirects are not followed: they would carry a token to where it was not meant for.
    #[error(
        "HTTP {status}: it redirects{}, which is not followed; check url, and whether a proxy asks to \
         sign in first",
        to.as_ref().map_or_else(String::new, |to| format!(" to {to}"))
    )]
    Elsewhere { status: u16, to: Option<String> },
    /// A page for people.
    #[error(
        "it answered with a web page (HTML, HTTP {status}) and not with data; check url, and whether a \
         proxy asks to sign in first"
    )]
    Page { status: u16 },
    /// What was answered cannot be read.
    #[error("the answer cannot be used: {0}")]
    Answer(String),
    /// It was not asked any more.
    #[error("not asked: {0}")]
    NotAsked(&'static str),
}

impl AskError {
    pub(crate) fn of_request(error: &reqwest::Error) -> Self {
        // The innermost reason says most, and holds no address with credentials.
        let mut inner: &dyn std::error::Error = error;
        while let Some(source) = inner.source() {
            inner = source;
        }
        Self::Away(inner.to_string())
    }

    /// Whether the same question may be answered a moment later.
    pub(crate) fn may_pass(&self) -> bool {
        match self {
            Self::Away(_) => true,
            Self::Status { status, .. } => matches!(status, 429 | 502 | 504),
            Self::Page { status } => matches!(status, 502 | 504),
            _ => false,
        }
    }

    /// Whether less may be answered where all was too much.
    pub(crate) fn is_too_much(&self) -> bool {
        match self {
            Self::Slow(_) => true,
            // Prometheus says 503 when a query timed out, and 422 when it holds too many samples.
            Self::Status { status, said } => {
                *status == 503 || *status == 422 && said.contains("too many samples")
            }
            _ => false,
        }
    }
}

/// Why nothing could be captured.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum CaptureError {
    /// The configuration cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The folder holds something else.
    #[error("{}: {reason}", path.display())]
    Folder {
        /// The folder.
        path: PathBuf,
        /// Why it cannot be used, and what to do.
        reason: String,
    },
    /// A file could not be written or read.
    #[error("{}: {reason}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// No source answered.
    #[error("no source gave anything:{}", lines(.0))]
    Nothing(Vec<String>),
}

fn lines(reasons: &[String]) -> String {
    reasons.iter().map(|reason| format!("\n  {reason}")).collect()
}
