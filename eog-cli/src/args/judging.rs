//! Who judges, and what it may spend.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use eog_session::judge::{self, Options, PolicyChoice, parse_policy};

// Options that say who judges. (No documentation comment: clap would make it the description of the
// command.)
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Judging {
    /// Who judges the evidence: `evidence` (built-in rules, no model), the default; `llm`, a
    /// language model (see --model); or `command:PROGRAM`, which reads one packet as JSON from
    /// standard input and writes one decision as JSON to standard output (see `eog schema`). A
    /// program that is only temporarily unable to answer exits with code 75 (EX_TEMPFAIL); see
    /// --retries. [env: EOG_POLICY; in eog.toml: policy]
    #[arg(long, value_name = "POLICY", value_parser = parse_policy)]
    pub(crate) policy: Option<PolicyChoice>,

    /// Argument for the program of `--policy command:PROGRAM`. Can be repeated.
    #[arg(long, value_name = "ARG", allow_hyphen_values = true, requires = "policy")]
    pub(crate) policy_arg: Vec<OsString>,

    /// Variable of the environment for the program of `--policy command:PROGRAM`. It gets the environment
    /// without keys, tokens and passwords; this passes one of them on. Can be repeated.
    #[arg(long, value_name = "NAME", requires = "policy")]
    pub(crate) policy_env: Vec<OsString>,

    /// Settings file. Default: ./eog.toml if it exists, otherwise eog/eog.toml in the user's
    /// configuration directory. Options take precedence over variables, and variables over the
    /// file. `eog doctor` checks the configuration. [env: EOG_CONFIG]
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(crate) config: Option<PathBuf>,

    /// The language model, such as openai/gpt-5-mini, anthropic/claude-sonnet-4-5 or ollama/qwen3.
    /// Its key is read from the environment or a file (see docs/models.md). The option implies
    /// --policy llm; a model set only by the variable or the file is used if the policy is llm.
    /// [env: EOG_MODEL; in eog.toml: llm.model]
    #[arg(long, value_name = "PROVIDER/NAME", help_heading = MODEL)]
    pub(crate) model: Option<String>,

    /// The address of the model, up to but not including `chat/completions`, if it differs from that
    /// of its provider: http://localhost:8000/v1. [env: EOG_BASE_URL]
    #[arg(long, value_name = "URL", help_heading = MODEL)]
    pub(crate) base_url: Option<String>,

    /// Who chooses the window and where to start: the model (the default with --policy llm), or the
    /// built-in rules. [in eog.toml: bootstrap]
    #[arg(long, value_enum, value_name = "WHO", help_heading = MODEL)]
    pub(crate) bootstrap: Option<By>,

    /// Who searches, with a tree search (--controller lats, bfs, beam, hypotheses, treeseeker or react): chooses
    /// where to look, investigates, gives scores and plans. The model (the default with --policy llm), or built-in
    /// rules over what the policy decides on entities. eog.toml can name a model for each role (llm.roles).
    #[arg(long, value_enum, value_name = "WHO", help_heading = MODEL)]
    pub(crate) roles: Option<By>,

    /// Who writes the report: the built-in rules (the default), or the model, whose every statement
    /// is checked. [in eog.toml: finalize]
    #[arg(long, value_enum, value_name = "WHO", help_heading = MODEL)]
    pub(crate) finalize: Option<By>,

    /// The model that writes the report, if it is not the one that judges. Implies --finalize model.
    /// [in eog.toml: llm.finalize_model]
    #[arg(long, value_name = "PROVIDER/NAME", help_heading = MODEL)]
    pub(crate) finalize_model: Option<String>,

    /// The wording of the prompts: the name of a pack (see `eog prompt list`), or a folder with
    /// templates that replace shipped ones (see docs/models.md). [in eog.toml: prompts]
    #[arg(long, value_name = "PACK", help_heading = MODEL)]
    pub(crate) prompts: Option<PathBuf>,

    /// Folder with skills for the specialists of --controller hypotheses, beside those of the pack:
    /// SPECIALIST/NAME.md, where SPECIALIST is metrics, logs or traces. The first line says what a skill is good
    /// for; the rest is advice that the specialist loads when it needs it. A skill of the same name replaces a
    /// shipped one. [in eog.toml: skills]
    #[arg(long, value_name = "FOLDER", help_heading = MODEL)]
    pub(crate) skills: Option<PathBuf>,

    /// File (TOML or JSON) that names MCP servers whose tools the specialists of --controller hypotheses, and the
    /// agent of react, may call, beside those over the incident: those that it lists, or those that only read (docs/mcp.md).
    /// [in eog.toml: tools]
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(crate) tools: Option<PathBuf>,

    /// Maximum number of requests to models. Default: 500. A request that might exceed a limit is
    /// not sent, and the investigation ends with what it has found. [in eog.toml: llm.budget.calls]
    #[arg(long, value_name = "N", value_parser = parse_allowance, help_heading = MODEL)]
    pub(crate) max_model_calls: Option<u64>,

    /// Maximum number of tokens, input and output. [in eog.toml: llm.budget.tokens]
    #[arg(long, value_name = "N", value_parser = parse_allowance, help_heading = MODEL)]
    pub(crate) max_tokens: Option<u64>,

    /// Maximum cost, in US dollars. Requires the prices of all models. [in eog.toml: llm.budget.usd]
    #[arg(long, value_name = "USD", value_parser = parse_usd, help_heading = MODEL)]
    pub(crate) max_usd: Option<f64>,

    /// File with recorded model traffic: recorded requests are answered from it, others are sent and
    /// recorded in it. Contains no keys. To only replay, and fail if an answer is missing, set
    /// llm.cassette.mode in eog.toml.
    #[arg(long, value_name = "FILE", help_heading = MODEL)]
    pub(crate) cassette: Option<PathBuf>,
}

/// How much of something models may use.
pub(super) fn parse_allowance(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err(
            "with 0 no model can be asked; expected a whole number from 1 on (--policy evidence \
                      judges without a model)"
                .to_owned(),
        ),
        Ok(most) => Ok(most),
        Err(_) => Err("expected a whole number from 1 on, such as 500".to_owned()),
    }
}

/// What models may cost, in US dollars.
pub(super) fn parse_usd(text: &str) -> Result<f64, String> {
    let usd = text.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0);
    usd.ok_or_else(|| "expected an amount of US dollars, such as 2.50".to_owned())
}

const MODEL: &str = "Language model";

/// Who does a part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum By {
    /// The built-in rules: no call, no cost.
    Rules,
    /// The language model.
    Model,
}

impl Judging {
    /// The same without the command line around it.
    pub(crate) fn options(&self) -> Options {
        let by = |by| match by {
            By::Rules => judge::By::Rules,
            By::Model => judge::By::Model,
        };
        let Self {
            policy, policy_arg, config, model, base_url, bootstrap, roles, finalize, ..
        } = self.clone();
        Options {
            policy,
            policy_args: policy_arg,
            policy_env: self.policy_env.clone(),
            config,
            model,
            base_url,
            bootstrap: bootstrap.map(by),
            roles: roles.map(by),
            finalize: finalize.map(by),
            finalize_model: self.finalize_model.clone(),
            prompts: self.prompts.clone(),
            skills: self.skills.clone(),
            tools: self.tools.clone(),
            max_model_calls: self.max_model_calls,
            max_tokens: self.max_tokens,
            max_usd: self.max_usd,
            cassette: self.cassette.clone(),
        }
    }
}
