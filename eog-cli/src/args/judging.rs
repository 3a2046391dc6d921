//! The policy, and what it may spend.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, ValueEnum};
use eog_session::judge::{self, Options, PolicyChoice, parse_policy};

// Options of the policy. (No documentation comment: clap would make it the description of the
// command.)
#[derive(Clone, Debug, Default, Args)]
pub(crate) struct Judging {
    /// Which policy judges the evidence: evidence, llm or command:PROGRAM.
    ///
    /// `evidence`, the default, is the built-in evidence policy, which needs no model. `llm` is a language model
    /// (see --model). `command:PROGRAM` reads one packet as JSON from standard input and writes one decision as JSON
    /// to standard output (see `eog schema`); a program that is only temporarily unable to answer exits with code
    /// 75 (EX_TEMPFAIL), see --retries. [env: EOG_POLICY; in eog.toml: policy]
    #[arg(long, value_name = "POLICY", value_parser = parse_policy)]
    pub(crate) policy: Option<PolicyChoice>,

    /// Table of weights for the evidence policy, in place of the shipped one: a file as `eog eval fit --out` writes it.
    /// Ledgers name the table that judged by its digest. [in eog.toml: weights]
    #[arg(long, hide_short_help = true, value_name = "FILE")]
    pub(crate) weights: Option<PathBuf>,

    /// Argument for the program of `--policy command:PROGRAM`. Can be repeated.
    #[arg(
        long,
        hide_short_help = true,
        value_name = "ARG",
        allow_hyphen_values = true,
        requires = "policy"
    )]
    pub(crate) policy_arg: Vec<OsString>,

    /// Environment variable to pass to the program of `--policy command:PROGRAM`. By default it gets the
    /// environment without keys, tokens and passwords. Can be repeated.
    #[arg(long, hide_short_help = true, value_name = "NAME", requires = "policy")]
    pub(crate) policy_env: Vec<OsString>,

    /// Settings file. Default: ./eog.toml if it exists, otherwise eog/eog.toml in the user's
    /// configuration directory. Options take precedence over variables, and variables over the
    /// file. `eog doctor` checks the configuration. [env: EOG_CONFIG]
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = MODEL)]
    pub(crate) config: Option<PathBuf>,

    /// Language model, such as openai/gpt-5-mini; implies --policy llm.
    ///
    /// Other examples: anthropic/claude-sonnet-4-5, ollama/qwen3. Its key is read from the environment or a file
    /// (see docs/models.md). A model set only by the variable or the file is used if the policy is llm.
    /// [env: EOG_MODEL; in eog.toml: llm.model]
    #[arg(long, value_name = "PROVIDER/NAME", help_heading = MODEL)]
    pub(crate) model: Option<String>,

    /// Base URL of the model, up to but not including `chat/completions`, if it differs from that
    /// of its provider: http://localhost:8000/v1. [env: EOG_BASE_URL]
    #[arg(long, hide_short_help = true, value_name = "URL", help_heading = MODEL)]
    pub(crate) base_url: Option<String>,

    /// How the window and the seeds are chosen: by the model (the default with --policy llm), or by the
    /// built-in rules. [in eog.toml: bootstrap]
    #[arg(long, hide_short_help = true, value_enum, value_name = "BY", help_heading = MODEL)]
    pub(crate) bootstrap: Option<By>,

    /// What plays the roles of a tree search (--controller lats, bfs, beam, hypotheses, treeseeker or react), which
    /// choose where to look, investigate, score and plan: the model (the default with --policy llm), or built-in
    /// rules over the decisions of the policy. eog.toml can name a model for each role (llm.roles).
    #[arg(long, hide_short_help = true, value_enum, value_name = "BY", help_heading = MODEL)]
    pub(crate) roles: Option<By>,

    /// How the report is written: by the built-in rules (the default), or by the model, whose every
    /// statement is checked. [in eog.toml: finalize]
    #[arg(long, hide_short_help = true, value_enum, value_name = "BY", help_heading = MODEL)]
    pub(crate) finalize: Option<By>,

    /// The model that writes the report, if another than that of the policy. Implies --finalize model.
    /// [in eog.toml: llm.finalize_model]
    #[arg(long, hide_short_help = true, value_name = "PROVIDER/NAME", help_heading = MODEL)]
    pub(crate) finalize_model: Option<String>,

    /// The wording of the prompts: the name of a pack (see `eog prompt list`), or a folder with
    /// templates that replace shipped ones (see docs/models.md). [in eog.toml: prompts]
    #[arg(long, hide_short_help = true, value_name = "PACK", help_heading = MODEL)]
    pub(crate) prompts: Option<PathBuf>,

    /// Folder with skills for the specialists of --controller hypotheses, beside those of the pack:
    /// SPECIALIST/NAME.md, where SPECIALIST is metrics, logs or traces. The first line says what a skill is for; the
    /// rest is advice that the specialist loads when needed. A skill of the same name replaces a shipped one.
    /// [in eog.toml: skills]
    #[arg(long, hide_short_help = true, value_name = "FOLDER", help_heading = MODEL)]
    pub(crate) skills: Option<PathBuf>,

    /// File (TOML or JSON) that names MCP servers whose tools the specialists of --controller hypotheses, and the
    /// agent of react, may call, in addition to the tools of the incident: the tools that the file lists, or those
    /// that only read (docs/mcp.md). [in eog.toml: tools]
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = MODEL)]
    pub(crate) tools: Option<PathBuf>,

    /// Maximum number of requests to models. Default: 500. A request that might exceed a limit is
    /// not sent, and the investigation ends with what it has found. [in eog.toml: llm.budget.calls]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_allowance, help_heading = MODEL)]
    pub(crate) max_model_calls: Option<u64>,

    /// Maximum number of tokens, input and output. [in eog.toml: llm.budget.tokens]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_allowance, help_heading = MODEL)]
    pub(crate) max_tokens: Option<u64>,

    /// Maximum cost in US dollars. Requires the prices of all models. [in eog.toml: llm.budget.usd]
    #[arg(long, hide_short_help = true, value_name = "USD", value_parser = parse_usd, help_heading = MODEL)]
    pub(crate) max_usd: Option<f64>,

    /// How often a model may search the records of any entity before it judges one, with --controller eog. Each search costs a
    /// request; none by default. [in eog.toml: searches]
    #[arg(long, hide_short_help = true, value_name = "N", value_parser = parse_searches, help_heading = MODEL)]
    pub(crate) searches: Option<u32>,

    /// File with recorded model traffic: recorded requests are answered from it, others are sent and
    /// recorded in it. Contains no keys. To only replay, and fail if an answer is missing, set
    /// llm.cassette.mode in eog.toml.
    #[arg(long, hide_short_help = true, value_name = "FILE", help_heading = MODEL)]
    pub(crate) cassette: Option<PathBuf>,
}

/// A maximum of calls or tokens.
pub(super) fn parse_allowance(text: &str) -> Result<u64, String> {
    match text.parse() {
        Ok(0) => Err(
            "with 0 no model can be called; expected a whole number from 1 on (--policy evidence \
                      judges without a model)"
                .to_owned(),
        ),
        Ok(most) => Ok(most),
        Err(_) => Err("expected a whole number from 1 on, such as 500".to_owned()),
    }
}

fn parse_searches(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected a whole number, such as 8".to_owned())
}

/// What models may cost, in US dollars.
pub(super) fn parse_usd(text: &str) -> Result<f64, String> {
    let usd = text.parse().ok().filter(|usd: &f64| usd.is_finite() && *usd >= 0.0);
    usd.ok_or_else(|| "expected an amount of US dollars, such as 2.50".to_owned())
}

const MODEL: &str = "Language model";

/// What does a part of the work.
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
            searches: self.searches,
            weights: self.weights.clone(),
            cassette: self.cassette.clone(),
        }
    }
}
