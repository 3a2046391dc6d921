//! Commands that show what a report cites.

use eog_core::{EvidenceKind, Finding, Window};

use crate::clean::clean;

/// Where the evidence was read, for commands that show it again.
///
/// ```
/// use eog_report::Lookup;
/// let lookup = Lookup::new("incidents/flash sale");
/// assert_eq!(lookup.begin(), "eog tool evidence 'incidents/flash sale'");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    path: String,
    architecture: Option<String>,
    window: Option<Window>,
}

impl Lookup {
    /// Evidence of a folder.
    pub fn new(path: impl Into<String>) -> Self {
        Self { path: path.into(), architecture: None, window: None }
    }

    /// The architecture that goes with the folder.
    pub fn with_architecture(mut self, architecture: Option<String>) -> Self {
        self.architecture = architecture;
        self
    }

    /// The window of the investigation, if it is not the default one.
    pub fn with_window(mut self, window: Option<Window>) -> Self {
        self.window = window;
        self
    }

    /// The part that all commands share.
    pub fn begin(&self) -> String {
        format!("eog tool evidence {}", shell_word(&self.path))
    }

    /// The command that shows a finding; `None` for a verdict of an operator, which no file holds.
    pub fn command(&self, finding: &Finding) -> Option<String> {
        let is_said = finding.verdict().is_some()
            || finding.kind == EvidenceKind::Note && finding.source == "remark";
        if is_said {
            return None;
        }
        let entity = shell_word(finding.entity.as_str());
        let mut command = format!("{} {} --entity {entity}", self.begin(), finding.id());
        if let Some(window) = &self.window {
            command.push_str(&format!(" --window {}/{}", window.start(), window.end()));
        }
        if let Some(file) = &self.architecture {
            command.push_str(&format!(" --architecture {}", shell_word(file)));
        }
        Some(command)
    }
}

/// A word as a shell takes it as one. Characters that could harm a terminal are removed.
///
/// ```
/// use eog_report::shell_word;
/// assert_eq!(shell_word("shop/Service/cart"), "shop/Service/cart");
/// assert_eq!(shell_word("it's; rm"), r"'it'\''s; rm'");
/// assert_eq!(shell_word(""), "''");
/// ```
pub fn shell_word(word: &str) -> String {
    let is_plain =
        |c: char| c.is_ascii_alphanumeric() || matches!(c, '/' | '.' | '-' | '_' | ':' | '@');
    match !word.is_empty() && word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", clean(word).replace('\'', r"'\''")),
    }
}
