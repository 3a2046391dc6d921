//! `eog.toml` and the environment: settings beside the command line.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use super::models::{self, LlmConfig};
use super::{IdleOptions, JudgeError};

/// Maximum size of a settings file.
const MAX_BYTES: u64 = 1 << 20;

/// How variables are read.
pub(super) type Env<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What is asked for, before settings and variables: each choice is theirs where it is absent.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Options {
    /// The policy.
    pub policy: Option<PolicyChoice>,
    /// Arguments of the program that judges.
    pub policy_args: Vec<OsString>,
    /// Variables that it gets although they hold secrets.
    pub policy_env: Vec<OsString>,
    /// The file with settings.
    pub config: Option<PathBuf>,
    /// The language model, which then judges unless a policy is named.
    pub model: Option<String>,
    /// Where the model is.
    pub base_url: Option<String>,
    /// What chooses where to start.
    pub bootstrap: Option<By>,
    /// What plays the roles of a tree search beside that of the policy.
    pub roles: Option<By>,
    /// What writes the result.
    pub finalize: Option<By>,
    /// The model that writes the result.
    pub finalize_model: Option<String>,
    /// The name of a pack of prompts, or a folder.
    pub prompts: Option<PathBuf>,
    /// A folder with skills for the specialists of a tree search.
    pub skills: Option<PathBuf>,
    /// A file that names MCP servers whose tools such specialists may call.
    pub tools: Option<PathBuf>,
    /// Most requests to models.
    pub max_model_calls: Option<u64>,
    /// Most tokens.
    pub max_tokens: Option<u64>,
    /// Most money, in US dollars.
    pub max_usd: Option<f64>,
    /// How often a model may search other records before it judges an entity.
    pub searches: Option<u32>,
    /// A table of weights for the evidence policy, in place of the shipped one.
    pub weights: Option<PathBuf>,
    /// File with recorded traffic of models.
    pub cassette: Option<PathBuf>,
}

/// What does a part of the work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum By {
    /// The built-in rules: no call, no cost.
    Rules,
    /// The language model.
    Model,
}

/// The policy.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum PolicyChoice {
    /// The built-in rules.
    #[default]
    Evidence,
    /// A language model.
    Llm,
    /// A program.
    Command(OsString),
}

/// Reads `evidence`, `llm` or `command:PROGRAM`.
///
/// # Errors
/// What is expected.
pub fn parse_policy(text: &str) -> Result<PolicyChoice, String> {
    match text.split_once(':') {
        None if text == "evidence" => Ok(PolicyChoice::Evidence),
        None if text == "llm" => Ok(PolicyChoice::Llm),
        Some(("command", "")) => Err("the program is missing after `command:`".to_owned()),
        Some(("command", program)) => Ok(PolicyChoice::Command(program.into())),
        Some(("llm", model)) => Err(format!("write `llm` alone, and give {model} as the model")),
        _ => Err("expected `evidence`, `llm` or `command:PROGRAM`".to_owned()),
    }
}

/// The settings, in order of precedence: options, variables, the file.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The file that was read, if there was one.
    pub file: Option<PathBuf>,
    /// The policy.
    pub policy: PolicyChoice,
    /// Whether the policy is set explicitly, or what plays the roles beside it.
    pub names_policy: bool,
    /// What chooses where to start.
    pub bootstrap: By,
    /// What plays the roles of a tree search beside that of the policy. Other controllers do not use it.
    pub roles: By,
    /// What writes the result.
    pub finalize: By,
    /// The name of a pack, or a folder.
    pub prompts: Option<PathBuf>,
    /// A folder with skills for the specialists of a tree search, beside those of the pack.
    pub skills: Option<PathBuf>,
    /// A file that names MCP servers whose tools such specialists may call.
    pub tools: Option<PathBuf>,
    /// How often a model may search the records of any entity before it judges one. Each search costs a request.
    pub searches: u32,
    /// A table of weights for the evidence policy, in place of the shipped one.
    pub weights: Option<PathBuf>,
    /// A text for the planner of a tree search, beside the case.
    pub initial_prompt: Option<String>,
    /// The language models.
    pub llm: LlmConfig,
}

/// The file as written.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct File {
    policy: Option<String>,
    bootstrap: Option<By>,
    finalize: Option<By>,
    prompts: Option<PathBuf>,
    skills: Option<PathBuf>,
    tools: Option<PathBuf>,
    searches: Option<u32>,
    weights: Option<PathBuf>,
    search: SearchFile,
    llm: LlmConfig,
}

/// What the file says of tree searches.
#[derive(Debug, Default, Deserialize)]
#[serde(default, deny_unknown_fields)]
struct SearchFile {
    initial_prompt: Option<String>,
}

impl Settings {
    /// Reads the file and the variables; the options take precedence.
    ///
    /// # Errors
    /// [`JudgeError`] when the file or a variable cannot be used.
    pub fn load(options: &Options) -> Result<Self, JudgeError> {
        Self::with(options, &|name| std::env::var(name).ok().filter(|value| !value.is_empty()))
    }

    fn with(options: &Options, env: Env<'_>) -> Result<Self, JudgeError> {
        let path = find(options, env)?;
        let file = path.as_deref().map(read).transpose()?.unwrap_or_default();
        let named = |policy: String, place: &str| {
            parse_policy(&policy).map_err(|reason| JudgeError::Choice(format!("{place}: {reason}")))
        };
        let policy = match (&options.policy, &options.model) {
            (Some(policy), _) => Some(policy.clone()),
            (None, Some(_)) => Some(PolicyChoice::Llm),
            (None, None) => match (env("EOG_POLICY"), file.policy, &path) {
                (Some(policy), ..) => Some(named(policy, "EOG_POLICY")?),
                (None, Some(policy), Some(path)) => {
                    Some(named(policy, &format!("{}: policy", path.display()))?)
                }
                _ => None,
            },
        };
        let llm = models::overridden(options, env, file.llm);
        let finalizes = llm.finalize_model.is_some().then_some(By::Model);
        let judged_by_model = policy == Some(PolicyChoice::Llm);
        let by_default = if judged_by_model { By::Model } else { By::Rules };
        Ok(Self {
            names_policy: policy.is_some() || options.roles.is_some(),
            roles: options.roles.unwrap_or(by_default),
            policy: policy.unwrap_or_default(),
            bootstrap: options.bootstrap.or(file.bootstrap).unwrap_or(by_default),
            finalize: options.finalize.or(file.finalize).or(finalizes).unwrap_or(By::Rules),
            prompts: options.prompts.clone().or(file.prompts),
            skills: options.skills.clone().or(file.skills),
            tools: options.tools.clone().or(file.tools),
            searches: options.searches.or(file.searches).unwrap_or(0),
            weights: options.weights.clone().or(file.weights),
            initial_prompt: file.search.initial_prompt,
            llm,
            file: path,
        })
    }

    /// The name of the models that judge, in a ledger.
    pub fn llm_name(&self) -> String {
        models::name(&self.llm)
    }

    /// The most requests to models in one investigation.
    pub fn max_model_calls(&self) -> Option<u64> {
        models::most_calls(&self.llm)
    }

    /// What plays the roles of a tree search, unless it is the default.
    pub fn other_roles(&self) -> Option<By> {
        (self.roles != self.default_roles()).then_some(self.roles)
    }

    fn default_roles(&self) -> By {
        if self.policy == PolicyChoice::Llm { By::Model } else { By::Rules }
    }

    /// The options for language models that are given although none is used.
    pub fn idle_options(&self, options: &Options) -> Option<IdleOptions> {
        let given = [
            ("model", options.model.is_some()),
            ("base_url", options.base_url.is_some()),
            ("prompts", options.prompts.is_some()),
            ("skills", options.skills.is_some()),
            ("tools", options.tools.is_some()),
            ("max_model_calls", options.max_model_calls.is_some()),
            ("max_tokens", options.max_tokens.is_some()),
            ("max_usd", options.max_usd.is_some()),
            ("cassette", options.cassette.is_some()),
            ("searches", options.searches.is_some()),
        ];
        let idle: Vec<&str> =
            given.into_iter().filter(|(_, given)| *given).map(|(name, _)| name).collect();
        if idle.is_empty() || self.asks_models() {
            return None;
        }
        let by_program = matches!(self.policy, PolicyChoice::Command(_));
        Some(IdleOptions { options: idle, by_program })
    }

    /// Whether any model may be called.
    pub fn asks_models(&self) -> bool {
        self.policy == PolicyChoice::Llm
            || self.bootstrap == By::Model
            || self.roles == By::Model
            || self.finalize == By::Model
    }
}

/// The file to read, if there is one. A file that is named must exist.
fn find(options: &Options, env: Env<'_>) -> Result<Option<PathBuf>, JudgeError> {
    if let Some(path) = options.config.clone().or_else(|| env("EOG_CONFIG").map(PathBuf::from)) {
        return Ok(Some(path));
    }
    let of_user = env("XDG_CONFIG_HOME")
        .map(PathBuf::from)
        .or_else(|| env("HOME").map(|home| Path::new(&home).join(".config")))
        .map(|folder| folder.join("eog/eog.toml"));
    let places = std::iter::once(PathBuf::from("eog.toml")).chain(of_user);
    Ok(places.into_iter().find(|path| path.is_file()))
}

/// The text of a file of settings or weights, or why it cannot be read.
pub(super) fn read_small(path: &Path) -> Result<String, String> {
    let size = path.metadata().map_err(|error| error.to_string())?.len();
    if size > MAX_BYTES {
        return Err(format!("it has {size} bytes, which is too large for settings"));
    }
    std::fs::read_to_string(path).map_err(|error| error.to_string())
}

fn read(path: &Path) -> Result<File, JudgeError> {
    let unusable = |reason: String| JudgeError::Settings { path: path.to_owned(), reason };
    let text = read_small(path).map_err(unusable)?;
    toml::from_str(&text).map_err(|error| {
        // The line may contain a key that was written there by mistake.
        let start = error.span().map_or(0, |span| span.start);
        let number = text.get(..start).map_or(1, |before| before.matches('\n').count() + 1);
        let line = text.lines().nth(number - 1).unwrap_or_default();
        let message = eog_evidence::mask_text(error.message());
        let advice = if names_a_key(line) || message != error.message() {
            ". Do not write keys of providers into this file: use key_env to name a variable, or \
             key_file to name a file with the key"
        } else {
            ""
        };
        unusable(format!("line {number}: {message}{advice}"))
    })
}

/// Whether a line of TOML sets a field whose name suggests a key or another secret.
fn names_a_key(line: &str) -> bool {
    let before_values = line.split('=').rev().skip(1);
    let fields = before_values.map(|before| {
        let before = before.trim_end().trim_end_matches(['"', '\'']);
        let start = before.rfind(|c: char| !(c.is_ascii_alphanumeric() || "_-".contains(c)));
        before[start.map_or(0, |at| at + 1)..].to_lowercase()
    });
    let of_key = |word: &str| {
        ["key", "keys", "apikey", "token", "secret", "password", "credential", "credentials"]
            .contains(&word)
    };
    fields.into_iter().any(|field| field.split(['_', '-']).any(of_key))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn settings(options: Options, variables: &[(&str, &str)], file: &str) -> Settings {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("eog.toml");
        std::fs::write(&path, file).expect("a file");
        let options = Options { config: options.config.clone().or(Some(path)), ..options };
        let env = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        };
        Settings::with(&options, &env).expect("settings")
    }

    const FILE: &str =
        "policy = \"llm\"\n[llm]\nmodel = \"openai/of-file\"\nbudget = { calls = 7 }\n";

    #[test]
    fn options_come_before_variables_and_those_before_the_file() {
        let of_file = settings(Options::default(), &[], FILE);
        assert_eq!(of_file.llm.model.as_deref(), Some("openai/of-file"));
        assert_eq!((of_file.policy, of_file.bootstrap), (PolicyChoice::Llm, By::Model));
        assert_eq!(of_file.llm.budget.calls, Some(7));

        let variables = [("EOG_MODEL", "ollama/of-env"), ("EOG_POLICY", "evidence")];
        let of_env = settings(Options::default(), &variables, FILE);
        assert_eq!(of_env.llm.model.as_deref(), Some("ollama/of-env"));
        assert_eq!((of_env.policy, of_env.bootstrap), (PolicyChoice::Evidence, By::Rules));

        let options = Options {
            model: Some("gemini/of-option".to_owned()),
            max_model_calls: Some(3),
            base_url: Some("http://localhost:1/v1".to_owned()),
            ..Options::default()
        };
        let of_option = settings(options, &variables, FILE);
        assert_eq!(of_option.policy, PolicyChoice::Llm, "a model is to judge");
        assert_eq!(of_option.llm.budget.calls, Some(3));
        let url = of_option.llm.models["gemini/of-option"].base_url.as_deref();
        assert_eq!(url, Some("http://localhost:1/v1"));
    }

    #[test]
    fn limits_of_unused_models_are_refused() {
        let limited = Options { max_model_calls: Some(3), ..Options::default() };
        let reason = settings(limited.clone(), &[], "").idle_options(&limited);
        let said = reason.expect("no model is asked").to_string();
        assert!(said.starts_with("max_model_calls has no effect, because the built-in rules"));
        assert!(!said.contains("--"), "{said}");
        assert_eq!(settings(limited.clone(), &[], FILE).idle_options(&limited), None);
        let finalizing = Options { finalize: Some(By::Model), ..limited };
        assert_eq!(settings(finalizing.clone(), &[], "").idle_options(&finalizing), None);
        // What the file says of models may wait there until one is asked.
        let file = "[llm]\nmodel = \"openai/of-file\"\nbudget = { calls = 7 }\n";
        let none = Options::default();
        assert_eq!(settings(none.clone(), &[], file).idle_options(&none), None);
        let other = Options {
            policy: Some(PolicyChoice::Evidence),
            model: Some("openai/x".to_owned()),
            ..Options::default()
        };
        assert!(settings(other.clone(), &[], "").idle_options(&other).is_some());
    }

    #[test]
    fn a_model_of_its_own_writes_the_result_and_calls_are_always_limited() {
        let settings = settings(
            Options { finalize_model: Some("openai/large".to_owned()), ..Options::default() },
            &[],
            "",
        );
        assert_eq!(settings.finalize, By::Model);
        assert_eq!(settings.policy, PolicyChoice::Evidence);
        assert!(settings.asks_models());
        assert_eq!(settings.llm.budget.calls, Some(models::DEFAULT_CALLS));
    }
}
