//! Results for people.

use eog::Finished;
use eog::travel::Explanation;

/// Renders results for people. `name` is what the incident is called; a finished investigation may
/// also be one that was cut short, or is still running.
pub trait Reports: Send + Sync {
    /// The result as plain text.
    fn text(&self, name: &str, finished: &Finished) -> String;

    /// The result as Markdown.
    fn markdown(&self, name: &str, finished: &Finished) -> String;

    /// The causal graph for Graphviz.
    fn dot(&self, name: &str, finished: &Finished) -> String;

    /// The causal graph for Mermaid.
    fn mermaid(&self, name: &str, finished: &Finished) -> String;

    /// Why an entity has its label, as plain text.
    fn explanation(&self, name: &str, finished: &Finished, explanation: &Explanation) -> String;
}
