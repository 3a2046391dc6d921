//! Results for people.

use eog::travel::Explanation;
use eog_prompts::Narrative;
use eog_session::controllers::AnyFinished;

/// Renders results for people. `name` is what the incident is called; a finished investigation may
/// also be one that was cut short, or is still running. `told` is the result in words, unless they are
/// those of the rules.
pub trait Reports: Send + Sync {
    /// The result as plain text.
    fn text(&self, name: &str, finished: &AnyFinished, told: Option<&Narrative>) -> String;

    /// The result as Markdown.
    fn markdown(&self, name: &str, finished: &AnyFinished, told: Option<&Narrative>) -> String;

    /// The causal graph for Graphviz.
    fn dot(&self, name: &str, finished: &AnyFinished) -> String;

    /// The causal graph for Mermaid.
    fn mermaid(&self, name: &str, finished: &AnyFinished) -> String;

    /// Why an entity has its label, as plain text.
    fn explanation(&self, name: &str, finished: &AnyFinished, explanation: &Explanation) -> String;
}
