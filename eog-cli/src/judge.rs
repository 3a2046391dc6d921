//! Who judges, opens and writes the report: the built-in rules, a program, or a language model.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::sync::Arc;

use eog::{
    AbductivePolicy, BoxFuture, BudgetKind, CallRecorder, Case, CommandPolicy, Digest, Usage,
    command_identity,
};
use eog_evidence::EvidencePolicy;
use eog_llm::{ConfigError, Recorded};
use eog_prompts::{
    ChatError, ChatErrorKind, ChatModel, ChatRequest, ChatResponse, Finalizer, LlmPolicy,
    ModelInfo, Opening, Pack, PackError, Prompter,
};
use eog_report::clean::{clean, clean_line};

use crate::args::{By, Judging, PolicyChoice};
use crate::course;
use crate::error::CliError;
use crate::progress::Progress;
use crate::settings::Settings;
use crate::watch::Watch;

/// What a ledger calls the built-in rules.
const EVIDENCE: &str = "evidence";

/// Who judges, according to the command line and the settings. Nothing has been called or started.
pub(crate) struct Judge {
    pub(crate) settings: Settings,
    arguments: Vec<OsString>,
    pack: Option<Arc<Pack>>,
}

/// The models, ready for use.
pub(crate) struct Models {
    explore: Prompter,
    finalize: Prompter,
    watch: Watch,
}

impl Models {
    /// The budget that prevented a call, if any did.
    pub(crate) fn over_budget(&self) -> Option<BudgetKind> {
        self.watch.over_budget()
    }

    /// Rejects the result if recorded traffic lacked an answer: it says nothing about the models.
    pub(crate) fn must_be_recorded(&self) -> Result<(), CliError> {
        self.watch.missed().map_or(Ok(()), |missed| Err(CliError::NotRecorded(missed)))
    }
}

impl Judge {
    /// Reads the settings and checks what they name, before anything is spent.
    pub(crate) fn choose(judging: &Judging) -> Result<Self, CliError> {
        let judge = Self::outline(judging)?;
        if judge.settings.asks_models() {
            judge.settings.llm.build(&variables).map_err(unusable)?;
            for idle in judge.settings.llm.idle_models().iter().filter(|it| it.meant.is_some()) {
                let line = format!("eog: note: {}: {}", idle.section(), idle.words());
                eprintln!("{}", clean_line(&line));
            }
        }
        Ok(judge)
    }

    /// Like [`Self::choose`] without keys: for prompts that are shown and never sent.
    pub(crate) fn outline(judging: &Judging) -> Result<Self, CliError> {
        let settings = Settings::load(judging)?;
        if let PolicyChoice::Command(program) = &settings.policy
            && let Some(reason) = no_program(program)
        {
            return Err(CliError::Usage(format!("--policy: {reason}")));
        }
        if let Some(reason) = settings.idle_options(judging) {
            return Err(CliError::Usage(reason));
        }
        let pack = match settings.asks_models() {
            true => Some(Arc::new(pack(settings.prompts.as_deref())?)),
            false => None,
        };
        Ok(Self { settings, arguments: judging.policy_arg.clone(), pack })
    }

    /// The name of the policy in a ledger. Arguments may contain secrets, and ledgers are shared.
    pub(crate) fn name(&self) -> String {
        match (&self.settings.policy, self.arguments.len()) {
            (PolicyChoice::Evidence, _) => EVIDENCE.to_owned(),
            (PolicyChoice::Llm, _) => self.settings.llm_name(),
            (PolicyChoice::Command(program), 0) => format!("command:{}", program.display()),
            (PolicyChoice::Command(program), given) => {
                let arguments = if given == 1 { "argument" } else { "arguments" };
                format!("command:{} with {given} {arguments}", program.display())
            }
        }
    }

    /// Whether the user has chosen a policy.
    pub(crate) fn is_named(&self) -> bool {
        self.settings.names_policy
    }

    /// What determines the answers of the policy besides the packet.
    pub(crate) fn identity(&self, case: &Case) -> Result<String, CliError> {
        Ok(match &self.settings.policy {
            // The version of all crates of this project.
            PolicyChoice::Evidence => format!("{EVIDENCE} {}", env!("CARGO_PKG_VERSION")),
            PolicyChoice::Llm => {
                // The alerts stand in every prompt.
                let frame = Digest::of(&(case.window, &case.anomalies));
                let words = self.pack.as_ref().map(|pack| pack.digest().to_string());
                let (name, version) = (self.settings.llm_name(), env!("CARGO_PKG_VERSION"));
                format!("{name} {version} {} {frame}", words.unwrap_or_default())
            }
            PolicyChoice::Command(program) => command_identity(program, &self.arguments)?,
        })
    }

    /// The models, if any are used. The recorder stores every answer before it is used; what earlier
    /// runs have spent counts.
    pub(crate) fn models(
        &self,
        recorder: &CallRecorder,
        spent_before: Usage,
        progress: &Progress,
    ) -> Result<Option<Models>, CliError> {
        let Some(pack) = &self.pack else { return Ok(None) };
        let notice = progress.notice();
        let built = self.settings.llm.build_telling(&variables, notice.as_ref());
        let built = built.map_err(unusable)?;
        built.meter.charge(spent_before);
        let watch = Watch::default();
        let prompter = |models: Vec<Arc<dyn ChatModel>>| {
            let alone = models.len() == 1;
            let recorded = models.into_iter().map(|model| {
                let told = progress.of_model(model);
                watch.over(Arc::new(Recorded::new(told, recorder.clone())), alone)
            });
            Prompter::new(Arc::clone(pack), recorded.collect())
        };
        let (explore, finalize) = (prompter(built.explore), prompter(built.finalize));
        Ok(Some(Models { explore, finalize, watch }))
    }

    /// Prompters whose models cannot be called, to render prompts. `None` if no model is used.
    pub(crate) fn unarmed(&self) -> Result<Option<Unarmed>, CliError> {
        let Some(pack) = &self.pack else { return Ok(None) };
        let llm = &self.settings.llm;
        let prompter = |chain: Result<Vec<&str>, ConfigError>| {
            let infos = chain?.into_iter().map(|name| llm.info(name));
            let models = infos.map(|info| Ok(Arc::new(Unasked(info?)) as Arc<dyn ChatModel>));
            Ok(Prompter::new(Arc::clone(pack), models.collect::<Result<_, ConfigError>>()?))
        };
        let (explore, finalize) = (llm.explore_chain(), llm.finalize_chain());
        let explore = prompter(explore).map_err(unusable)?;
        let finalize = prompter(finalize).map_err(unusable)?;
        Ok(Some(Unarmed { explore, finalize }))
    }

    /// The policy.
    pub(crate) fn policy(&self, models: Option<&Models>, case: &Case) -> Box<dyn AbductivePolicy> {
        match (&self.settings.policy, models) {
            (PolicyChoice::Llm, Some(models)) => {
                Box::new(LlmPolicy::new(models.explore.clone()).for_case(case))
            }
            (PolicyChoice::Command(program), _) => Box::new(
                self.arguments.iter().fold(CommandPolicy::new(program), CommandPolicy::arg),
            ),
            _ => Box::new(EvidencePolicy::default()),
        }
    }

    /// What chooses where to start, if a model does.
    pub(crate) fn opening(&self, models: Option<&Models>) -> Option<Opening> {
        let models = models.filter(|_| self.settings.bootstrap == By::Model)?;
        Some(Opening::new(Arc::new(models.explore.clone())))
    }

    /// What writes the report, if a model does.
    pub(crate) fn finalizer(&self, models: Option<&Models>) -> Option<Finalizer> {
        let models = models.filter(|_| self.settings.finalize == By::Model)?;
        Some(Finalizer::new(models.finalize.clone()))
    }

    /// Rejects a policy other than the one that the ledger names, if it names one.
    pub(crate) fn must_be_that_of(&self, ledger: &eog::Ledger, at: u64) -> Result<(), CliError> {
        let now = self.name();
        match course::judge_at(ledger, at) {
            Some(judge) if judge != now => Err(CliError::Usage(format!(
                "the policy of this ledger is {}, but now it would be {}; give the same --policy (and \
                 its --policy-arg, or its --model), or change the policy from an entry on with \
                 `eog fork` and its --policy",
                clean(judge),
                clean(&now)
            ))),
            _ => Ok(()),
        }
    }
}

/// Prompters whose models cannot be called.
pub(crate) struct Unarmed {
    pub(crate) explore: Prompter,
    pub(crate) finalize: Prompter,
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
pub(crate) fn pack(prompts: Option<&Path>) -> Result<Pack, CliError> {
    let Some(prompts) = prompts else { return Ok(Pack::sre()) };
    let name = prompts.to_str().filter(|name| !name.contains(['/', '\\']) && !prompts.is_dir());
    let pack = match name {
        Some(name) => Pack::named(name),
        None => Pack::load(prompts),
    };
    pack.map_err(|error| CliError::Usage(match error {
        PackError::UnknownPack { name, known } => format!(
            "--prompts {name}: there is neither a folder nor a pack of that name; the packs are \
             {known}, and `eog prompt export {name}` creates such a folder"
        ),
        PackError::Unreadable { path, .. } if !path.exists() => format!(
            "--prompts {}: there is no such folder; `eog prompt export FOLDER` creates one",
            path.display()
        ),
        error => format!("--prompts: {error}"),
    }))
}

/// Environment variables. Empty ones count as absent.
pub(crate) fn variables(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

#[expect(clippy::needless_pass_by_value, reason = "map_err hands errors over by value")]
pub(crate) fn unusable(error: ConfigError) -> CliError {
    CliError::Usage(format!("{error}; `eog doctor` checks the configuration"))
}

/// Why a program cannot be started: reported once instead of for each entity. It is not run.
pub(crate) fn no_program(program: &OsStr) -> Option<String> {
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
             its arguments with --policy-arg",
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
