//! What a phase of an investigation is to the prompts: a name, what it is given, what it answers.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One kind of question to a model.
///
/// Its templates are `NAME.system.hbs` and `NAME.user.hbs`. The first is the same for every
/// question of the phase and sees nothing but `answer_form`; the second sees the fields of the
/// input.
///
/// ```
/// use eog_prompts::Phase;
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Serialize)]
/// struct Text {
///     text: String,
/// }
///
/// #[derive(Serialize, Deserialize, schemars::JsonSchema)]
/// struct Verdict {
///     /// Whether it speaks of a failure.
///     failure: bool,
/// }
///
/// struct Triage;
/// impl Phase for Triage {
///     const NAME: &'static str = "triage";
///     type Input = Text;
///     type Answer = Verdict;
///     fn problems(_input: &Text, _answer: &Verdict) -> Vec<String> {
///         Vec::new()
///     }
/// }
/// let form = eog_prompts::answer_form::<Verdict>("triage");
/// assert_eq!(form.schema["required"], serde_json::json!(["failure"]));
/// ```
pub trait Phase {
    /// Its name: of its templates, in cassettes and in the ledger.
    const NAME: &'static str;

    /// What it is given. Serialises to an object; its strings may be untrusted, they are masked
    /// and neutralised before a template sees them. What templates must not see is `serde(skip)`.
    type Input: Serialize + Sync;

    /// What it answers. The documentation of the fields is shown to the model, so write it for
    /// the model.
    type Answer: Serialize + DeserializeOwned + JsonSchema + Send;

    /// Everything that is wrong with an answer of the right form, each with what to do about it:
    /// the model reads them. An answer without problems is used.
    fn problems(input: &Self::Input, answer: &Self::Answer) -> Vec<String>;
}
