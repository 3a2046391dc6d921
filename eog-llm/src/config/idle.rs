//! Sections of models that are not used: perhaps a name is misspelt.

use strsim::damerau_levenshtein;

use super::LlmConfig;

/// A section `[llm.models."…"]` of a model that is not configured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdleModel {
    /// The name of the section.
    pub name: String,
    /// The configured models.
    pub configured: Vec<String>,
    /// The configured model that is probably meant: one with a similar name and no section of its
    /// own.
    pub meant: Option<String>,
}

impl IdleModel {
    /// The section, as it is written in the file.
    pub fn section(&self) -> String {
        format!("llm.models.{:?}", self.name)
    }

    /// What is wrong with it, in one sentence.
    pub fn words(&self) -> String {
        match &self.meant {
            Some(meant) => format!("no configured model has this name; did you mean {meant:?}?"),
            None => format!(
                "it has no effect, because no configured model has this name; configured: {}",
                self.configured.join(", ")
            ),
        }
    }
}

impl LlmConfig {
    /// The sections of models that are not configured. Such a section is not an error, but has no
    /// effect.
    pub fn idle_models(&self) -> Vec<IdleModel> {
        let names = self.names().unwrap_or_default();
        let configured: Vec<String> = names.into_iter().map(str::to_owned).collect();
        if configured.is_empty() {
            return Vec::new();
        }
        let idle = self.models.keys().filter(|name| !configured.contains(name));
        idle.map(|name| {
            let bare = configured.iter().filter(|model| !self.models.contains_key(*model));
            let meant = bare
                .filter(|model| is_misspelt(name, model))
                .min_by_key(|model| damerau_levenshtein(name, model))
                .cloned();
            IdleModel { name: name.clone(), configured: configured.clone(), meant }
        })
        .collect()
    }
}

/// Whether one name may be the other with a typo. Names that differ only in their numbers belong to
/// two models.
fn is_misspelt(given: &str, known: &str) -> bool {
    let letters = |name: &str| -> String {
        name.chars().filter(|c| c.is_alphabetic()).flat_map(char::to_lowercase).collect()
    };
    let digits = |name: &str| -> String { name.chars().filter(char::is_ascii_digit).collect() };
    digits(given) == digits(known) && damerau_levenshtein(&letters(given), &letters(known)) <= 2
}
