//! A phase: one kind of question, with its name, input and answer.

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

/// One kind of question to a model.
///
/// Its templates are `NAME.system.hbs` and `NAME.user.hbs`. The first is the same for every
/// question of the phase and has only the field `answer_form`; the second has the fields of the
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
    /// Its name in templates, cassettes and the ledger.
    const NAME: &'static str;

    /// The input, which serializes to an object. Its strings may be untrusted: they are masked and
    /// escaped before a template sees them. Mark fields that templates must not see with
    /// `serde(skip)`.
    type Input: Serialize + Sync;

    /// The answer. The model sees the documentation of its fields, so write it for the model.
    type Answer: Serialize + DeserializeOwned + JsonSchema + Send;

    /// Whether a model whose answer cannot be used is asked to correct it. If not, the caller reports the
    /// problem and counts that as another question.
    const CORRECTS: bool = true;

    /// What came after the question, where it is a conversation that goes on: oldest first.
    fn since(_input: &Self::Input) -> Vec<Since> {
        Vec::new()
    }

    /// Everything that is wrong with an answer of the right form, each with what to do about it; the
    /// model reads it. An answer without problems is used.
    fn problems(input: &Self::Input, answer: &Self::Answer) -> Vec<String>;

    /// Whether it is worth another request to have these problems mended. Where it is not, the answer
    /// is used without the parts that have them.
    fn worth_asking_again(_problems: &[String]) -> bool {
        true
    }

    /// What is left of a corrected answer that still has problems: the same without the parts that
    /// have them, in which it says what was refused. It is used only if it has no problems. Nothing
    /// unless a phase has parts that can be refused alone.
    fn without_refused(_input: &Self::Input, _answer: &Self::Answer) -> Option<Self::Answer> {
        None
    }
}

/// What came after the question of a phase, where it is a conversation that goes on.
#[derive(Clone, Debug, PartialEq)]
pub enum Since {
    /// What the model answered.
    Said(String),
    /// What came of it: data for the template `NAME.came.hbs`.
    Came(serde_json::Value),
}
