//! `eog doctor`: what is configured, and what is missing.

use std::fmt::Write as _;

#[cfg(feature = "models")]
use eog_llm::{Check, CheckStatus};
use eog_report::clean::clean;
use eog_session::judge::{self, By, PolicyChoice, Settings};

use crate::args::Doctor;
use crate::error::{CliError, Exit, without_effect};
use crate::files;

/// Says what is configured and what is missing. Makes no calls.
pub(crate) fn run(arguments: &Doctor) -> Result<Exit, CliError> {
    let settings = Settings::load(&arguments.judging.options())?;
    let mut lines = Lines::default();
    lines.good("version", concat!("eog ", env!("CARGO_PKG_VERSION")));
    match &settings.file {
        Some(path) => lines.good("settings", &path.display().to_string()),
        None => lines.good("settings", "no eog.toml; only options and variables"),
    }
    let who = |by| if by == By::Model { "the model" } else { "the built-in rules" };
    let policy = match &settings.policy {
        PolicyChoice::Evidence => "evidence: the built-in evidence policy, no model".to_owned(),
        // Without a model, the name ends after the colon.
        PolicyChoice::Llm => settings.llm_name().trim_end_matches(':').to_owned(),
        PolicyChoice::Command(program) => format!("command:{}", program.display()),
    };
    match &settings.policy {
        PolicyChoice::Command(program) => match judge::no_program(program) {
            Some(reason) => lines.add(Mark::Wrong, "policy", &reason),
            None => lines.good("policy", &policy),
        },
        _ => lines.good("policy", &policy),
    }
    lines.good("bootstrap", who(settings.bootstrap));
    lines.good("roles", who(settings.roles));
    lines.good("finalize", who(settings.finalize));
    lines.of_models(&settings, arguments);
    files::print(&lines.text)?;
    Ok(if lines.is_wrong { Exit::BadInput } else { Exit::Diagnosed })
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Mark {
    Good,
    Doubtful,
    Wrong,
}

#[derive(Default)]
struct Lines {
    text: String,
    is_wrong: bool,
}

impl Lines {
    fn good(&mut self, what: &str, detail: &str) {
        self.add(Mark::Good, what, detail);
    }

    /// Prompts and models.
    #[cfg(feature = "models")]
    fn of_models(&mut self, settings: &Settings, arguments: &Doctor) {
        match judge::pack(settings.prompts.as_deref()) {
            Ok(pack) => self.good("prompts", pack.name()),
            Err(error) => self.add(Mark::Wrong, "prompts", &CliError::from(error).to_string()),
        }
        if let Some(idle) = settings.idle_options(&arguments.judging.options()) {
            self.add(Mark::Wrong, "options", &without_effect(&idle));
        } else if settings.asks_models() {
            self.checks(settings.llm.check(&judge::variables));
        } else {
            let models = match settings.llm.model {
                Some(_) => "set but not used: set --policy llm, or policy = \"llm\", to use it",
                None => "not set and not needed; --model sets one",
            };
            self.good("models", models);
            self.checks(settings.llm.check_idle_names());
        }
    }

    /// That there are none, which is wrong only where they are asked.
    #[cfg(not(feature = "models"))]
    fn of_models(&mut self, settings: &Settings, arguments: &Doctor) {
        if let Some(idle) = settings.idle_options(&arguments.judging.options()) {
            self.add(Mark::Wrong, "options", &without_effect(&idle));
        }
        let lacks = CliError::not_built("language models", "models").to_string();
        let mark = if settings.asks_models() { Mark::Wrong } else { Mark::Doubtful };
        self.add(mark, "models", &lacks);
    }

    #[cfg(feature = "models")]
    fn checks(&mut self, checks: Vec<Check>) {
        for check in checks {
            let mark = match check.status {
                CheckStatus::Ok => Mark::Good,
                CheckStatus::Warning => Mark::Doubtful,
                CheckStatus::Wrong => Mark::Wrong,
            };
            self.add(mark, &check.what, &check.detail);
        }
    }

    fn add(&mut self, mark: Mark, what: &str, detail: &str) {
        let word = match mark {
            Mark::Good => "ok     ",
            Mark::Doubtful => "warning",
            Mark::Wrong => "ERROR  ",
        };
        self.is_wrong |= mark == Mark::Wrong;
        let (what, detail) = (clean(what), clean(detail));
        let _ = writeln!(self.text, "{word}  {what}: {detail}");
    }
}
