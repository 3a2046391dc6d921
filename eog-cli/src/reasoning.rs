//! A language model that scores reasons, for `eog eval itbench --judge`.

use std::sync::Arc;

use eog_eval::itbench::{CauseToJudge, Judged, ReasoningJudge, Verdict};
use eog_prompts::{Pack, Phase, Prompter};
use eog_session::judge::{Options, one_model};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use tokio::runtime::Runtime;

use crate::args::OfJudge;
use crate::error::CliError;
use crate::progress::Progress;
use crate::runtime::runtime;

/// The question about the reasons of one run.
struct JudgeReasoning;

impl Phase for JudgeReasoning {
    const NAME: &'static str = "judge_reasoning";
    type Input = Question;
    type Answer = Verdicts;

    fn problems(input: &Question, answer: &Verdicts) -> Vec<String> {
        let wanted: Vec<usize> = input.causes.iter().map(|cause| cause.number).collect();
        let given: Vec<usize> = answer.verdicts.iter().map(|verdict| verdict.number).collect();
        if wanted == given {
            return Vec::new();
        }
        vec![format!(
            "verdicts: the numbers are {given:?}; give one for each of {wanted:?}, in order"
        )]
    }
}

#[derive(Serialize)]
struct Question {
    causes: Vec<CauseToJudge>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct Verdicts {
    /// One for each numbered cause, in order.
    verdicts: Vec<NumberedVerdict>,
}

#[derive(Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
struct NumberedVerdict {
    /// The number of the cause.
    number: usize,
    /// One sentence that names the detail that decides.
    because: String,
    /// How far the answer means what the truth says.
    score: Score,
}

#[derive(Serialize, Deserialize, JsonSchema)]
enum Score {
    #[serde(rename = "0")]
    Wrong,
    #[serde(rename = "0.5")]
    Partial,
    #[serde(rename = "1")]
    Right,
}

/// A model that scores, ready for use.
pub(crate) struct ModelJudge {
    name: String,
    prompter: Prompter,
    runtime: Arc<Runtime>,
}

impl ModelJudge {
    /// The model that the options name, if they name one. It has no fallbacks: scores of
    /// different judges are not comparable.
    pub(crate) fn choose(options: &OfJudge, progress: &Progress) -> Result<Option<Self>, CliError> {
        let Some(name) = options.judge.clone() else { return Ok(None) };
        let asked = Options {
            model: Some(name.clone()),
            config: options.config.clone(),
            base_url: options.base_url.clone(),
            cassette: options.cassette.clone(),
            max_model_calls: options.max_model_calls,
            max_tokens: options.max_tokens,
            max_usd: options.max_usd,
            ..Options::default()
        };
        let prompter = one_model(&asked, pack()?, &progress.listener())?;
        Ok(Some(Self { name, prompter, runtime: runtime()? }))
    }
}

/// The templates are not part of a pack, which users can change: a score must mean the same everywhere.
fn pack() -> Result<Pack, CliError> {
    let system = include_str!("templates/judge_reasoning.system.hbs");
    let user = include_str!("templates/judge_reasoning.user.hbs");
    let pack = Pack::sre().with_template("judge_reasoning.system", system);
    let pack = pack.and_then(|pack| pack.with_template("judge_reasoning.user", user));
    pack.map_err(|error| CliError::Usage(error.to_string()))
}

impl ReasoningJudge for ModelJudge {
    fn name(&self) -> String {
        self.name.clone()
    }

    fn judge(&self, causes: &[CauseToJudge]) -> Result<Vec<Judged>, String> {
        let question = Question { causes: causes.to_vec() };
        let asked = self.runtime.block_on(self.prompter.ask::<JudgeReasoning>(&question));
        let verdicts = asked.map_err(|failure| failure.message)?.answer.verdicts;
        let judged = verdicts.into_iter().map(|answer| Judged {
            verdict: match answer.score {
                Score::Wrong => Verdict::Wrong,
                Score::Partial => Verdict::Partial,
                Score::Right => Verdict::Right,
            },
            because: answer.because,
        });
        Ok(judged.collect())
    }
}
