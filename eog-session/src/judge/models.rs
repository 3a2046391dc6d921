//! Language models: how they are set, and what they do in a run.

use std::path::Path;
use std::sync::Arc;

use eog::{
    AbductivePolicy, BoxFuture, Budget, BudgetKind, CallRecorder, Case, Digest, Purse, Window,
};
use eog_evidence::{BoundByVerdicts, EvidencePolicy, Incident, OrEvidence};
pub(super) use eog_llm::LlmConfig;
use eog_llm::{ConfigError, LlmRole, Notice, RULES, Recorded};
use eog_mcp_client::{McpTools, SourceError, ToolsConfig};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, Finalizer, LlmPolicy, LlmRoles,
    ModelInfo, Opening, Pack, Prompter, load_skills,
};
use eog_report::Narrative;
use eog_search::tools::{Skill, Skills};
use eog_search::{Roles, Toolset};

use super::settings::{By, Env, Options, PolicyChoice, Settings};
use super::watch::Watch;
use super::{ForRun, Judge, JudgeError, OpeningError, variables};
use crate::controllers::AnyFinished;
use crate::listener::Listener;

/// Maximum number of requests to models in one investigation, if no limit is set.
pub(super) const DEFAULT_CALLS: u64 = 500;

/// The section `[llm]`, overridden by options and variables.
pub(super) fn overridden(options: &Options, env: Env<'_>, mut llm: LlmConfig) -> LlmConfig {
    if let Some(model) = options.model.clone().or_else(|| env("EOG_MODEL")) {
        llm.model = Some(model);
    }
    if let Some(model) = &options.finalize_model {
        llm.finalize_model = Some(model.clone());
    }
    let url = options.base_url.clone().or_else(|| env("EOG_BASE_URL"));
    if let (Some(url), Some(model)) = (url, llm.model.clone()) {
        llm.models.entry(model).or_default().base_url = Some(url);
    }
    let budget = &mut llm.budget;
    budget.calls = options.max_model_calls.or(budget.calls).or(Some(DEFAULT_CALLS));
    budget.tokens = options.max_tokens.or(budget.tokens);
    budget.usd = options.max_usd.or(budget.usd);
    if let Some(path) = &options.cassette {
        let mode = llm.cassette.map_or(eog_llm::CassetteMode::Auto, |cassette| cassette.mode);
        llm.cassette = Some(eog_llm::CassetteConfig { path: path.clone(), mode });
    }
    llm
}

/// The name of the models that judge, in a ledger.
pub(super) fn name(llm: &LlmConfig) -> String {
    let mut chain = llm.explore_chain().unwrap_or_default();
    chain.extend(llm.falls_back_to_rules().then_some(RULES));
    format!("llm:{}", chain.join(","))
}

/// The models that are configured for single roles of a tree search, as they follow the name of the
/// policy; empty where there are none, or rules play the roles.
pub(super) fn of_roles(settings: &Settings) -> String {
    let own = LlmRole::ALL.into_iter().filter(|role| settings.llm.role(*role).is_some());
    let names = own.filter(|_| settings.roles == By::Model).map(|role| {
        let chain = settings.llm.role_chain(role).unwrap_or_default();
        format!(", {} {}", role.name(), chain.join(","))
    });
    names.collect()
}

/// Settings of models that are never used, though they seem to be meant.
pub(super) fn idle(settings: &Settings) -> Vec<String> {
    let idle = settings.llm.idle_models().into_iter().filter(|it| it.meant.is_some());
    idle.map(|idle| format!("{}: {}", idle.section(), idle.words())).collect()
}

/// The most requests, if there is a limit.
pub(super) fn most_calls(llm: &LlmConfig) -> Option<u64> {
    llm.budget.calls
}

/// What models may be asked for.
pub(super) fn budget(settings: &Settings) -> Result<Budget, JudgeError> {
    Ok(settings.llm.build(&variables)?.meter.budget())
}

/// What models are asked with. Nothing has been called or started.
#[derive(Clone, Debug)]
pub(super) struct Asked {
    pack: Arc<Pack>,
    /// Those of the pack, and those of the user.
    skills: Arc<Skills>,
    /// Servers with tools for specialists.
    servers: Option<Arc<ToolsConfig>>,
}

impl Asked {
    /// The digest of the wording of the prompts.
    pub(super) fn prompts_digest(&self) -> String {
        self.pack.digest().to_string()
    }

    pub(super) fn of(settings: &Settings) -> Result<Self, JudgeError> {
        let pack = Arc::new(pack(settings.prompts.as_deref())?);
        let skills = Arc::new(skills(settings, &pack)?);
        let servers = settings.tools.as_deref().filter(|_| settings.roles == By::Model);
        let servers = servers.map(ToolsConfig::read).transpose();
        let servers = servers.map_err(|error| of_servers(settings, &error))?.map(Arc::new);
        Ok(Self { pack, skills, servers })
    }

    /// What decides the answers of the models besides a question.
    pub(super) fn identity(&self, settings: &Settings, case: &Case) -> String {
        // The alerts stand in every prompt.
        let frame = Digest::of(&(case.window, &case.anomalies));
        let (name, version) = (settings.llm_name(), env!("CARGO_PKG_VERSION"));
        format!("{name} {version} {} {frame}", self.pack.digest())
    }

    /// The models, ready for use. The recorder stores every answer before it is used; what earlier runs have spent
    /// counts.
    pub(super) fn judge(
        &self,
        settings: &Settings,
        purse: Option<&Arc<dyn Purse>>,
        run: &ForRun<'_>,
    ) -> Result<Box<dyn Judge>, JudgeError> {
        let listener = Arc::clone(&run.listener);
        let notice = Notice::new(move |line| listener.notice(line));
        let built = settings.llm.build_notifying(&variables, Some(&notice))?;
        built.meter.charge(run.spent_before);
        if let Some(purse) = purse {
            // These models are new, and have none.
            let _ = built.meter.share(Arc::clone(purse));
        }
        let watch = Watch::default();
        let prompter = |models: Vec<Arc<dyn ChatModel>>| {
            let alone = models.len() == 1;
            let recorded = models.into_iter().map(|model| {
                let listener = Arc::clone(&run.listener);
                let announced: Arc<dyn ChatModel> = Arc::new(Announced { model, listener });
                watch.over(Arc::new(Recorded::new(announced, run.recorder.clone())), alone)
            });
            Prompter::new(Arc::clone(&self.pack), recorded.collect())
        };
        let [planner, executor, evaluator] = built.roles.map(&prompter);
        let (explore, finalize) = (prompter(built.explore), prompter(built.finalize));
        let roles = LlmRoles::new(explore.clone());
        let roles = roles.with_planner(planner).with_executor(executor).with_evaluator(evaluator);
        let (recorder, listener) = (run.recorder.clone(), Arc::clone(&run.listener));
        let (asked, settings) = (self.clone(), settings.clone());
        Ok(Box::new(Models {
            asked,
            settings,
            explore,
            finalize,
            roles,
            watch,
            recorder,
            listener,
        }))
    }

    pub(super) fn unarmed(&self, settings: &Settings) -> Result<Unarmed, JudgeError> {
        let llm = &settings.llm;
        let prompter = |chain: Result<Vec<&str>, ConfigError>| {
            let infos = chain?.into_iter().map(|name| llm.info(name));
            let models = infos.map(|info| Ok(Arc::new(Unasked(info?)) as Arc<dyn ChatModel>));
            let models = models.collect::<Result<_, ConfigError>>()?;
            Ok::<_, ConfigError>(Prompter::new(Arc::clone(&self.pack), models))
        };
        let explore = prompter(llm.explore_chain())?;
        let finalize = prompter(llm.finalize_chain())?;
        let [planner, executor, evaluator] =
            LlmRole::ALL.map(|role| prompter(llm.role_chain(role)));
        let roles = [planner?, executor?, evaluator?];
        Ok(Unarmed { explore, finalize, roles })
    }
}

/// The models of one run, in the parts that are theirs.
struct Models {
    asked: Asked,
    settings: Settings,
    explore: Prompter,
    finalize: Prompter,
    roles: LlmRoles,
    watch: Watch,
    recorder: CallRecorder,
    listener: Arc<dyn Listener>,
}

impl Models {
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

impl Judge for Models {
    fn open<'a>(
        &'a self,
        incident: &'a Incident,
        window: Option<Window>,
    ) -> Option<BoxFuture<'a, Result<Case, OpeningError>>> {
        (self.settings.bootstrap == By::Model).then(|| {
            let opening = Opening::new(Arc::new(self.explore.clone()));
            Box::pin(self.opened(opening, incident, window)) as BoxFuture<'a, _>
        })
    }

    fn policy(&self, case: &Case) -> Box<dyn AbductivePolicy> {
        match self.settings.policy {
            PolicyChoice::Llm => {
                let policy = LlmPolicy::new(self.explore.clone()).for_case(case);
                match self.settings.llm.falls_back_to_rules() {
                    true => Box::new(BoundByVerdicts(OrEvidence(policy))),
                    false => Box::new(BoundByVerdicts(policy)),
                }
            }
            _ => Box::new(EvidencePolicy::default()),
        }
    }

    fn roles(&self) -> Option<Box<dyn Roles>> {
        let plays = self.settings.roles == By::Model;
        plays.then(|| Box::new(self.roles.clone()) as Box<dyn Roles>)
    }

    /// Rules load no skills, and call no tools of servers.
    fn tools(
        &self,
        of_source: Vec<Skill>,
    ) -> BoxFuture<'_, Result<Vec<Arc<dyn Toolset>>, JudgeError>> {
        Box::pin(async {
            if self.settings.roles == By::Rules {
                return Ok(Vec::new());
            }
            let skills = Skills::new([of_source, self.asked.skills.all().to_vec()].concat());
            let mut tools = vec![Arc::new(skills) as Arc<dyn Toolset>];
            if let Some(config) = &self.asked.servers {
                let opened = McpTools::open(config, self.recorder.clone()).await;
                let opened = opened.map_err(|error| of_servers(&self.settings, &error))?;
                opened.notes().iter().for_each(|line| self.listener.notice(line));
                tools.push(Arc::new(opened));
            }
            Ok(tools)
        })
    }

    fn narrate<'a>(&'a self, finished: &'a AnyFinished) -> Option<BoxFuture<'a, Narrative>> {
        (self.settings.finalize == By::Model).then(|| {
            let finalizer = Finalizer::new(self.finalize.clone());
            let diagnosis = finished.diagnosis();
            let narrative = async move { finalizer.finalize(&diagnosis).await.narrative };
            Box::pin(narrative) as BoxFuture<'a, _>
        })
    }

    fn over_budget(&self) -> Option<BudgetKind> {
        self.watch.over_budget()
    }

    /// What came of recorded traffic that lacks an answer says nothing of the models.
    fn check(&self) -> Result<(), JudgeError> {
        self.watch.missed().map_or(Ok(()), |missed| Err(JudgeError::Unusable(missed)))
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
    let announced = built.explore.into_iter().map(|model| {
        let listener = Arc::clone(listener);
        Arc::new(Announced { model, listener }) as Arc<dyn ChatModel>
    });
    Ok(Prompter::new(Arc::new(pack), announced.collect()))
}

/// A model whose calls are announced to a listener.
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
    /// For judging, and choosing where to start.
    pub explore: Prompter,
    /// For writing the result.
    pub finalize: Prompter,
    /// For planning, acting and scoring in a tree search.
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
    let stripped = reason.strip_prefix(&format!("{file}: ")).unwrap_or(&reason).to_owned();
    JudgeError::Settings { path, reason: stripped }
}

/// The skills of a pack, and those of a folder that the user names. Of equal names the user's count.
fn skills(settings: &Settings, pack: &Pack) -> Result<Skills, JudgeError> {
    let mut skills = pack.skills();
    if let Some(folder) = &settings.skills {
        let own = load_skills(folder);
        let wrong = |reason| JudgeError::Option { option: "skills", reason };
        skills.extend(own.map_err(|error| wrong(error.to_string()))?);
    }
    Ok(Skills::new(skills))
}
