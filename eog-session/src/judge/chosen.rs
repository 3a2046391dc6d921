//! Who judges, opens and writes the report: the built-in rules, a program, or a language model.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use eog::memory::command_identity;
use eog::{
    AbductivePolicy, BoxFuture, Budget, BudgetKind, CallRecorder, Case, CommandPolicy, Digest,
    Limits, Purse, Window,
};
use eog_evidence::{BoundByVerdicts, EvidencePolicy, Incident};
use eog_llm::{ConfigError, LlmRole, Notice, Recorded};
use eog_mcp_client::{McpTools, SourceError, ToolsConfig};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, Finalizer, LlmPolicy, LlmRoles,
    ModelInfo, Opening, Pack, Prompter, load_skills,
};

use eog_report::Narrative;
use eog_search::tools::Skills;
use eog_search::{Roles, Toolset};

use super::masked::Masked;
use super::settings::{By, Options, PolicyChoice, Settings};
use super::watch::Watch;
use super::{Evidence, ForRun, Judge, JudgeError, OpeningError, Policies};
use crate::controllers::AnyFinished;
use crate::listener::Listener;

/// Who judges, according to options and settings. Nothing has been called or started.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// What is set.
    pub settings: Settings,
    arguments: Vec<OsString>,
    /// Variables that the program gets although they hold secrets.
    passed: Vec<OsString>,
    pack: Option<Arc<Pack>>,
    /// Those of the pack, and those of the user.
    skills: Arc<Skills>,
    /// Servers with tools for specialists.
    servers: Option<Arc<ToolsConfig>>,
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
            chosen.settings.llm.build(&variables)?;
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
        let pack = match settings.asks_models() {
            true => Some(Arc::new(pack(settings.prompts.as_deref())?)),
            false => None,
        };
        let skills = Arc::new(skills(&settings, pack.as_deref())?);
        let (arguments, passed) = (options.policy_args.clone(), options.policy_env.clone());
        let servers = settings.tools.as_deref().filter(|_| settings.roles == By::Model);
        let servers = servers.map(ToolsConfig::read).transpose();
        let servers = servers.map_err(|error| of_servers(&settings, &error))?;
        let (servers, limits) = (servers.map(Arc::new), Limits::default());
        Ok(Self { settings, arguments, passed, pack, skills, servers, limits, purse: None })
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
        Ok(self.settings.llm.build(&variables)?.meter.budget())
    }

    /// The same, with models that spend from this purse: its budget holds for all who do so together, in place
    /// of that of each investigation.
    #[must_use]
    pub fn spending_from(self, purse: Arc<dyn Purse>) -> Self {
        Self { purse: Some(purse), ..self }
    }

    /// What a person should know of the choice: settings of models that are never used, though
    /// somebody seems to have meant them.
    pub fn notes(&self) -> Vec<String> {
        if !self.settings.asks_models() {
            return Vec::new();
        }
        let idle = self.settings.llm.idle_models().into_iter().filter(|it| it.meant.is_some());
        idle.map(|idle| format!("{}: {}", idle.section(), idle.words())).collect()
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

    /// What decides the answers of the model besides a question.
    fn of_model(&self, case: &Case) -> String {
        // The alerts stand in every prompt.
        let frame = Digest::of(&(case.window, &case.anomalies));
        let words = self.pack.as_ref().map(|pack| pack.digest().to_string());
        let (name, version) = (self.settings.llm_name(), env!("CARGO_PKG_VERSION"));
        format!("{name} {version} {} {frame}", words.unwrap_or_default())
    }

    /// The models, if any are used. The recorder stores every answer before it is used; what earlier
    /// runs have spent counts.
    fn models(&self, run: &ForRun<'_>) -> Result<Option<Models>, JudgeError> {
        let Some(pack) = &self.pack else { return Ok(None) };
        let listener = Arc::clone(&run.listener);
        let notice = Notice::new(move |line| listener.notice(line));
        let built = self.settings.llm.build_telling(&variables, Some(&notice))?;
        built.meter.charge(run.spent_before);
        if let Some(purse) = &self.purse {
            // These models are new, and have none.
            let _ = built.meter.share(Arc::clone(purse));
        }
        let watch = Watch::default();
        let prompter = |models: Vec<Arc<dyn ChatModel>>| {
            let alone = models.len() == 1;
            let recorded = models.into_iter().map(|model| {
                let listener = Arc::clone(&run.listener);
                let told: Arc<dyn ChatModel> = Arc::new(Announced { model, listener });
                watch.over(Arc::new(Recorded::new(told, run.recorder.clone())), alone)
            });
            Prompter::new(Arc::clone(pack), recorded.collect())
        };
        let [planner, executor, evaluator] = built.roles.map(&prompter);
        let (explore, finalize) = (prompter(built.explore), prompter(built.finalize));
        let roles = LlmRoles::new(explore.clone());
        let roles = roles.with_planner(planner).with_executor(executor).with_evaluator(evaluator);
        Ok(Some(Models { explore, finalize, roles, watch }))
    }

    /// Prompters whose models cannot be called, to render prompts. `None` if no model is used.
    ///
    /// # Errors
    /// [`JudgeError`] when settings of models do not fit.
    pub fn unarmed(&self) -> Result<Option<Unarmed>, JudgeError> {
        let Some(pack) = &self.pack else { return Ok(None) };
        let llm = &self.settings.llm;
        let prompter = |chain: Result<Vec<&str>, ConfigError>| {
            let infos = chain?.into_iter().map(|name| llm.info(name));
            let models = infos.map(|info| Ok(Arc::new(Unasked(info?)) as Arc<dyn ChatModel>));
            let models = models.collect::<Result<_, ConfigError>>()?;
            Ok::<_, ConfigError>(Prompter::new(Arc::clone(pack), models))
        };
        let (explore, finalize) = (llm.explore_chain(), llm.finalize_chain());
        let explore = prompter(explore)?;
        let finalize = prompter(finalize)?;
        let [planner, executor, evaluator] =
            LlmRole::ALL.map(|role| prompter(llm.role_chain(role)));
        let roles = [planner?, executor?, evaluator?];
        Ok(Some(Unarmed { explore, finalize, roles }))
    }
}

impl Policies for Chosen {
    /// Arguments of a program may contain secrets, and ledgers are shared: they are only counted.
    fn name(&self) -> String {
        let judge = match (&self.settings.policy, self.arguments.len()) {
            (PolicyChoice::Evidence, _) => Evidence::NAME.to_owned(),
            (PolicyChoice::Llm, _) => self.settings.llm_name(),
            (PolicyChoice::Command(program), 0) => format!("command:{}", program.display()),
            (PolicyChoice::Command(program), given) => {
                let arguments = if given == 1 { "argument" } else { "arguments" };
                format!("command:{} with {given} {arguments}", program.display())
            }
        };
        let own = self.settings.models_of_roles();
        match self.settings.other_roles() {
            None => format!("{judge}{own}"),
            Some(By::Rules) => format!("{judge}, roles by rules"),
            Some(By::Model) => format!("{judge}, roles by {}{own}", self.settings.llm_name()),
        }
    }

    fn identity(&self, case: &Case) -> Result<String, JudgeError> {
        let judge = match &self.settings.policy {
            PolicyChoice::Evidence => Evidence.identity(case)?,
            PolicyChoice::Llm => self.of_model(case),
            PolicyChoice::Command(program) => command_identity(program, &self.arguments)?,
        };
        let own = self.settings.models_of_roles();
        Ok(match self.settings.other_roles() {
            Some(By::Model) => format!("{judge}, roles by {}{own}", self.of_model(case)),
            // The rules are of this version, and what they are asked is not remembered.
            Some(By::Rules) | None => format!("{judge}{own}"),
        })
    }

    fn judge(&self, run: ForRun<'_>) -> Result<Box<dyn Judge>, JudgeError> {
        let models = self.models(&run)?;
        let (recorder, listener) = (run.recorder.clone(), Arc::clone(&run.listener));
        Ok(Box::new(OfRun { models, chosen: self.clone(), recorder, listener }))
    }
}

/// The models, ready for use.
struct Models {
    explore: Prompter,
    finalize: Prompter,
    roles: LlmRoles,
    watch: Watch,
}

/// Who was chosen, for one run, with its models.
struct OfRun {
    chosen: Chosen,
    models: Option<Models>,
    recorder: CallRecorder,
    listener: Arc<dyn Listener>,
}

impl OfRun {
    async fn opened(
        &self,
        opening: Opening,
        incident: &Incident,
        window: Option<Window>,
    ) -> Result<Case, OpeningError> {
        let opened = opening.open(incident, window).await;
        self.check()?;
        Ok(opened?.case)
    }
}

impl Judge for OfRun {
    fn open<'a>(
        &'a self,
        incident: &'a Incident,
        window: Option<Window>,
    ) -> Option<BoxFuture<'a, Result<Case, OpeningError>>> {
        let chosen = &self.chosen.settings;
        let models = self.models.as_ref().filter(|_| chosen.bootstrap == By::Model)?;
        let opening = Opening::new(Arc::new(models.explore.clone()));
        Some(Box::pin(self.opened(opening, incident, window)))
    }

    fn policy(&self, case: &Case) -> Box<dyn AbductivePolicy> {
        match (&self.chosen.settings.policy, &self.models) {
            (PolicyChoice::Llm, Some(models)) => {
                let policy = LlmPolicy::new(models.explore.clone()).for_case(case);
                Box::new(BoundByVerdicts(policy))
            }
            (PolicyChoice::Command(program), _) => {
                Box::new(BoundByVerdicts(Masked(self.chosen.program(program))))
            }
            _ => Box::new(EvidencePolicy::default()),
        }
    }

    fn roles(&self) -> Option<Box<dyn Roles>> {
        let models = self.models.as_ref().filter(|_| self.chosen.settings.roles == By::Model)?;
        Some(Box::new(models.roles.clone()))
    }

    /// Rules load no skills, and call no tools of servers.
    fn tools(&self) -> BoxFuture<'_, Result<Vec<Arc<dyn Toolset>>, JudgeError>> {
        Box::pin(async {
            let settings = &self.chosen.settings;
            if settings.roles == By::Rules {
                return Ok(Vec::new());
            }
            let mut tools = vec![Arc::clone(&self.chosen.skills) as Arc<dyn Toolset>];
            if let Some(config) = &self.chosen.servers {
                let opened = McpTools::open(config, self.recorder.clone()).await;
                let opened = opened.map_err(|error| of_servers(settings, &error))?;
                opened.notes().iter().for_each(|line| self.listener.notice(line));
                tools.push(Arc::new(opened));
            }
            Ok(tools)
        })
    }

    fn limits(&self) -> Limits {
        self.chosen.limits
    }

    fn tell<'a>(&'a self, finished: &'a AnyFinished) -> Option<BoxFuture<'a, Narrative>> {
        let chosen = &self.chosen.settings;
        let models = self.models.as_ref().filter(|_| chosen.finalize == By::Model)?;
        let finalizer = Finalizer::new(models.finalize.clone());
        let diagnosis = finished.diagnosis();
        Some(Box::pin(async move { finalizer.finalize(&diagnosis).await.narrative }))
    }

    fn over_budget(&self) -> Option<BudgetKind> {
        self.models.as_ref()?.watch.over_budget()
    }

    /// What came of recorded traffic that lacks an answer says nothing of the models.
    fn check(&self) -> Result<(), JudgeError> {
        let missed = self.models.as_ref().and_then(|models| models.watch.missed());
        missed.map_or(Ok(()), |missed| Err(JudgeError::Unusable(missed)))
    }
}

/// The one model that the options name, ready to be asked in the words of a pack. No other takes its
/// place, and nothing is recorded.
///
/// # Errors
/// [`JudgeError`] when the settings or the model cannot be used.
pub fn one_model(
    options: &Options,
    pack: Pack,
    listener: &Arc<dyn Listener>,
) -> Result<Prompter, JudgeError> {
    let mut llm = Settings::load(options)?.llm;
    llm.fallbacks.clear();
    llm.finalize_model = None;
    llm.roles = eog_llm::RolesConfig::default();
    let built = llm.build(&variables)?;
    let told = built.explore.into_iter().map(|model| {
        let listener = Arc::clone(listener);
        Arc::new(Announced { model, listener }) as Arc<dyn ChatModel>
    });
    Ok(Prompter::new(Arc::new(pack), told.collect()))
}

/// A model whose calls are told.
struct Announced {
    model: Arc<dyn ChatModel>,
    listener: Arc<dyn Listener>,
}

impl ChatModel for Announced {
    fn info(&self) -> &ModelInfo {
        self.model.info()
    }

    fn chat<'a>(
        &'a self,
        request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        self.listener.asking_model(&self.model.info().name, &request.phase);
        Box::pin(super::traced::chat(&*self.model, request))
    }
}

/// Prompters whose models cannot be called.
pub struct Unarmed {
    /// Who would judge, and choose where to start.
    pub explore: Prompter,
    /// Who would tell the result.
    pub finalize: Prompter,
    /// Who would plan, act and give scores in a tree search.
    pub roles: [Prompter; 3],
}

/// A model that is never called.
struct Unasked(ModelInfo);

impl ChatModel for Unasked {
    fn info(&self) -> &ModelInfo {
        &self.0
    }

    fn chat<'a>(
        &'a self,
        _request: &'a ChatRequest,
    ) -> BoxFuture<'a, Result<ChatResponse, ChatError>> {
        let never = ChatError::new(&self.0.name, ChatErrorKind::NotRecorded, "no calls are made");
        Box::pin(std::future::ready(Err(never)))
    }
}

/// The templates of the prompts: a shipped pack, or a folder.
///
/// # Errors
/// [`JudgeError`] when there is no such pack, or its templates cannot be used.
pub fn pack(prompts: Option<&Path>) -> Result<Pack, JudgeError> {
    let Some(prompts) = prompts else { return Ok(Pack::sre()) };
    let name = prompts.to_str().filter(|name| !name.contains(['/', '\\']) && !prompts.is_dir());
    Ok(match name {
        Some(name) => Pack::named(name)?,
        None => Pack::load(prompts)?,
    })
}

/// What is wrong with the file that names servers, or with one of them.
fn of_servers(settings: &Settings, error: &SourceError) -> JudgeError {
    let path = settings.tools.clone().unwrap_or_default();
    let (file, reason) = (path.display().to_string(), error.to_string());
    let told = reason.strip_prefix(&format!("{file}: ")).unwrap_or(&reason).to_owned();
    JudgeError::Settings { path, reason: told }
}

/// The skills of a pack, and those of a folder that the user names. Of equal names the user's count.
fn skills(settings: &Settings, pack: Option<&Pack>) -> Result<Skills, JudgeError> {
    let mut skills = pack.map(Pack::skills).unwrap_or_default();
    if let Some(folder) = &settings.skills {
        let own = load_skills(folder);
        let wrong = |reason| JudgeError::Option { option: "skills", reason };
        skills.extend(own.map_err(|error| wrong(error.to_string()))?);
    }
    Ok(Skills::new(skills))
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
