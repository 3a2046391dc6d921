//! How severe a line says it is.

use eog_core::evidence::Signal;

/// The level of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    Error,
    Warning,
    Info,
    Debug,
    /// None of these, or not given.
    Unknown,
}

impl Level {
    /// The level of which a word speaks, in any case.
    pub(super) fn of(text: &str) -> Self {
        const WORDS: [(Level, &[&str]); 4] = [
            (
                Level::Error,
                &[
                    "error",
                    "err",
                    "fatal",
                    "critical",
                    "crit",
                    "panic",
                    "severe",
                    "alert",
                    "emerg",
                    "emergency",
                ],
            ),
            (Level::Warning, &["warning", "warn"]),
            (Level::Info, &["info", "information", "informational", "notice"]),
            (Level::Debug, &["debug", "trace", "verbose", "fine", "finer", "finest"]),
        ];
        let text = text.trim();
        let is_named = |words: &[&str]| words.iter().any(|word| word.eq_ignore_ascii_case(text));
        let found = WORDS.into_iter().find(|(_, words)| is_named(words));
        found.map_or(Self::Unknown, |(level, _)| level)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
            Self::Info => "info",
            Self::Debug => "debug",
            Self::Unknown => "no level",
        }
    }

    /// The subject of a line of this level, unless it is given.
    pub(super) fn signal(self) -> Signal {
        match self {
            Self::Error => Signal::Errors,
            _ => Signal::Other,
        }
    }

    /// Whether lines of this level report trouble.
    pub(super) fn is_severe(self) -> bool {
        matches!(self, Self::Error | Self::Warning)
    }
}
