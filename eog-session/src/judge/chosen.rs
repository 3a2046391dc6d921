//! The policy that judges, opens and writes the report: the built-in one, a program, or a language model.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use eog::memory::command_identity;
use eog::{
    AbductivePolicy, BoxFuture, Budget, BudgetKind, Case, CommandPolicy, Limits, Purse, Window,
};
use eog_evidence::{BoundByVerdicts, EvidencePolicy, Incident, Weights};
use eog_report::Narrative;
use eog_search::tools::Skill;
use eog_search::{Roles, Toolset};

use super::masked::Masked;
use super::models::{self, Asked};
use super::settings::{By, Options, PolicyChoice, Settings, read_small};
use super::{Evidence, ForRun, Judge, JudgeError, OpeningError, Policies};
use crate::controllers::AnyFinished;

/// What stands before the digest of the prompts in the name of a judge that asks models.
const PROMPTS: &str = ", prompts ";

/// The name of a judge without the prompts that it asks with, and the beginning of their digest, if it asks a model. Another
/// wording makes no other judge.
pub fn split_prompts(name: &str) -> (&str, Option<&str>) {
    name.split_once(PROMPTS).map_or((name, None), |(judge, prompts)| (judge, Some(prompts)))
}

/// The policy, according to options and settings. Nothing has been called or started.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// What is set.
    pub settings: Settings,
    /// The built-in policy, with the weights that are set.
    evidence: EvidencePolicy,
    arguments: Vec<OsString>,
    /// Variables that the program gets although they hold secrets.
    passed: Vec<OsString>,
    /// The models, if any are asked.
    asked: Option<Asked>,
    limits: Limits,
    /// What other processes spend from, too.
    purse: Option<Arc<dyn Purse>>,
}

impl Chosen {
    /// Reads the settings and checks what they name, before anything is spent.
    ///
    /// # Errors
    /// [`JudgeError`] says what does not fit, and what to do.
    pub fn choose(options: &Options) -> Result<Self, JudgeError> {
        let chosen = Self::outline(options)?;
        if chosen.settings.asks_models() {
            models::budget(&chosen.settings)?;
        }
        Ok(chosen)
    }

    /// Like [`Chosen::choose`] without keys: for prompts that are shown and never sent.
    ///
    /// # Errors
    /// As for [`Chosen::choose`].
    pub fn outline(options: &Options) -> Result<Self, JudgeError> {
        let settings = Settings::load(options)?;
        if let PolicyChoice::Command(program) = &settings.policy
            && let Some(reason) = no_program(program)
        {
            return Err(JudgeError::Option { option: "policy", reason });
        }
        if let Some(idle) = settings.idle_options(options) {
            return Err(idle.into());
        }
        let is_idle = options.weights.is_some() && settings.policy != PolicyChoice::Evidence;
        if is_idle {
            let reason = "only the evidence policy weighs evidence, and another policy judges; leave it out, or \
                          choose the policy `evidence`";
            return Err(JudgeError::Option { option: "weights", reason: reason.to_owned() });
        }
        let evidence = settings.weights.as_deref().map(read_weights).transpose()?;
        let evidence = evidence.map_or_else(EvidencePolicy::default, EvidencePolicy::new);
        let asked = settings.asks_models().then(|| Asked::of(&settings)).transpose()?;
        let (arguments, passed) = (options.policy_args.clone(), options.policy_env.clone());
        let limits = Limits::default();
        Ok(Self { settings, evidence, arguments, passed, asked, limits, purse: None })
    }

    /// How long calls may take, and how often they are tried.
    #[must_use]
    pub fn with_limits(self, limits: Limits) -> Self {
        Self { limits, ..self }
    }

    /// What models may be asked for, by the limits that are set.
    ///
    /// # Errors
    /// [`JudgeError`] when settings of models do not fit.
    pub fn budget(&self) -> Result<Budget, JudgeError> {
        models::budget(&self.settings)
    }

    /// The same, with models that spend from this purse: its budget holds for all who share it, in place
    /// of that of each investigation.
    #[must_use]
    pub fn spending_from(self, purse: Arc<dyn Purse>) -> Self {
        Self { purse: Some(purse), ..self }
    }

    /// What a person should know of the choice: settings of models that are never used, though
    /// they seem to be meant.
    pub fn notes(&self) -> Vec<String> {
        self.asked.as_ref().map_or_else(Vec::new, |_| models::idle(&self.settings))
    }

    /// Whether packets show what stands out in the incident as a whole: to programs and models.
    pub fn reads_case_file(&self) -> bool {
        !matches!(self.settings.policy, PolicyChoice::Evidence)
    }

    /// Whether models play the roles of a tree search, and the initial prompt for the planner.
    pub fn planner(&self) -> (bool, Option<&str>) {
        (self.settings.roles == By::Model, self.settings.initial_prompt.as_deref())
    }

    /// Whether the user has chosen a policy.
    pub fn is_named(&self) -> bool {
        self.settings.names_policy
    }

    /// The program that judges. It gets no keys and tokens of others, unless it is given them by name.
    fn program(&self, program: &OsStr) -> CommandPolicy {
        let program = self.arguments.iter().fold(CommandPolicy::new(program), CommandPolicy::arg);
        let hidden = std::env::vars_os().map(|(name, value)| (name, value.into_string()));
        let hidden = hidden.filter(|(name, value)| {
            let value = value.as_deref().unwrap_or_default();
            let is_secret = eog_evidence::is_secret_field(&name.to_string_lossy(), value);
            // Where a secret is stored is none.
            let is_place = Path::new(value).is_absolute() && Path::new(value).exists();
            is_secret && !is_place && !self.passed.contains(name)
        });
        hidden.fold(program, |program, (name, _)| program.without_variable(name))
    }

    /// What decides the answers of the models besides a question.
    fn of_models(&self, case: &Case) -> String {
        self.asked.as_ref().map_or_else(String::new, |asked| asked.identity(&self.settings, case))
    }

    /// Prompters whose models cannot be called, to render prompts. `None` if no model is used.
    ///
    /// # Errors
    /// [`JudgeError`] when settings of models do not fit.
    #[cfg(feature = "models")]
    pub fn unarmed(&self) -> Result<Option<super::Unarmed>, JudgeError> {
        self.asked.as_ref().map(|asked| asked.unarmed(&self.settings)).transpose()
    }
}

impl Policies for Chosen {
    /// Arguments of a program may contain secrets, and ledgers are shared: they are only counted.
    fn name(&self) -> String {
        let judge = match (&self.settings.policy, self.arguments.len()) {
            (PolicyChoice::Evidence, _) => Evidence::recorded_name(self.evidence.weights()),
            (PolicyChoice::Llm, _) => self.settings.llm_name(),
            (PolicyChoice::Command(program), 0) => format!("command:{}", program.display()),
            (PolicyChoice::Command(program), given) => {
                let arguments = if given == 1 { "argument" } else { "arguments" };
                format!("command:{} with {given} {arguments}", program.display())
            }
        };
        let own = models::of_roles(&self.settings);
        // A model that only chooses the start or writes the report judges nothing.
        let judges = self.settings.policy == PolicyChoice::Llm || self.settings.roles == By::Model;
        let prompts = self.asked.as_ref().filter(|_| judges).map_or_else(String::new, |asked| {
            let digest = asked.prompts_digest();
            format!("{PROMPTS}{}", digest.get(..12).unwrap_or(&digest))
        });
        match self.settings.other_roles() {
            None => format!("{judge}{own}{prompts}"),
            Some(By::Rules) => format!("{judge}, roles by rules{prompts}"),
            Some(By::Model) => {
                format!("{judge}, roles by {}{own}{prompts}", self.settings.llm_name())
            }
        }
    }

    fn identity(&self, case: &Case) -> Result<String, JudgeError> {
        let judge = match &self.settings.policy {
            PolicyChoice::Evidence => {
                let name = Evidence::recorded_name(self.evidence.weights());
                format!("{name} {}", env!("CARGO_PKG_VERSION"))
            }
            PolicyChoice::Llm => self.of_models(case),
            PolicyChoice::Command(program) => command_identity(program, &self.arguments)?,
        };
        let own = models::of_roles(&self.settings);
        Ok(match self.settings.other_roles() {
            Some(By::Model) => format!("{judge}, roles by {}{own}", self.of_models(case)),
            // The rules are of this version, and what they are asked is not remembered.
            Some(By::Rules) | None => format!("{judge}{own}"),
        })
    }

    fn judge(&self, run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        let models = self.asked.as_ref();
        let models = models.map(|asked| asked.judge(&self.settings, self.purse.as_ref(), &run));
        Ok(Box::new(OfRun { models: models.transpose()?, chosen: self.clone() }))
    }
}

/// The chosen policy for one run, with its models.
struct OfRun {
    chosen: Chosen,
    models: Option<Box<dyn Judge>>,
}

impl Judge for OfRun {
    fn open<'a>(
        &'a self,
        incident: &'a Incident,
        window: Option<Window>,
    ) -> Option<BoxFuture<'a, Result<Case, OpeningError>>> {
        self.models.as_ref()?.open(incident, window)
    }

    fn reads_case_file(&self) -> bool {
        self.chosen.reads_case_file()
    }

    fn asks_for_evidence(&self) -> bool {
        matches!(self.chosen.settings.policy, PolicyChoice::Llm)
    }

    fn queries(&self) -> u32 {
        self.chosen.settings.searches
    }

    fn policy(&self, case: &Case) -> Box<dyn AbductivePolicy> {
        match (&self.chosen.settings.policy, &self.models) {
            (PolicyChoice::Llm, Some(models)) => models.policy(case),
            (PolicyChoice::Command(program), _) => {
                Box::new(BoundByVerdicts(Masked(self.chosen.program(program))))
            }
            _ => Box::new(self.chosen.evidence.clone()),
        }
    }

    fn roles(&self) -> Option<Box<dyn Roles>> {
        self.models.as_ref()?.roles()
    }

    fn tools(
        &self,
        of_source: Vec<Skill>,
    ) -> BoxFuture<'_, Result<Vec<Arc<dyn Toolset>>, JudgeError>> {
        match &self.models {
            Some(models) => models.tools(of_source),
            None => Box::pin(async { Ok(Vec::new()) }),
        }
    }

    fn limits(&self) -> Limits {
        self.chosen.limits
    }

    fn narrate<'a>(&'a self, finished: &'a AnyFinished) -> Option<BoxFuture<'a, Narrative>> {
        self.models.as_ref()?.narrate(finished)
    }

    fn over_budget(&self) -> Option<BudgetKind> {
        self.models.as_ref()?.over_budget()
    }

    fn check(&self) -> Result<(), JudgeError> {
        self.models.as_ref().map_or(Ok(()), |models| models.check())
    }
}

/// Reads a table of weights for the evidence policy.
///
/// # Errors
/// [`JudgeError::Settings`] names the file, and the term or the line.
pub fn read_weights(path: &Path) -> Result<Weights, JudgeError> {
    let unusable = |reason: String| JudgeError::Settings { path: path.to_owned(), reason };
    let text = read_small(path).map_err(unusable)?;
    Weights::read(&text).map_err(|error| unusable(error.to_string()))
}

/// Environment variables. Empty ones count as absent.
pub fn variables(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

/// Why a program cannot be started, reported once instead of for each entity. It is not run.
pub fn no_program(program: &OsStr) -> Option<String> {
    let path = Path::new(program);
    let is_found = if path.components().count() > 1 {
        is_executable(path)
    } else {
        let search = std::env::var_os("PATH").unwrap_or_default();
        std::env::split_paths(&search).any(|folder| is_executable(&folder.join(path)))
    };
    (!is_found).then(|| {
        format!(
            "there is no executable program {}; give its path, such as command:./triage.py, and \
             its arguments apart from it",
            path.display()
        )
    })
}

fn is_executable(path: &Path) -> bool {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        path.metadata().is_ok_and(|meta| meta.is_file() && meta.permissions().mode() & 0o111 != 0)
    }
    #[cfg(not(unix))]
    path.is_file()
}
