//! `eog doctor`: what is configured, and what is missing.

use std::fmt::Write as _;

use eog_llm::{Check, CheckStatus};
use eog_report::clean::clean;
use eog_session::judge::{self, By, PolicyChoice, Settings, variables};

use crate::args::Doctor;
use crate::error::{CliError, Exit, told_idle};
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
        PolicyChoice::Evidence => "evidence: the built-in rules, no model".to_owned(),
        PolicyChoice::Llm if settings.llm.model.is_none() => "llm".to_owned(),
        PolicyChoice::Llm => settings.llm_name(),
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
    match judge::pack(settings.prompts.as_deref()) {
        Ok(pack) => lines.good("prompts", pack.name()),
        Err(error) => lines.add(Mark::Wrong, "prompts", &CliError::from(error).to_string()),
    }
    if let Some(idle) = settings.idle_options(&arguments.judging.options()) {
        lines.add(Mark::Wrong, "options", &told_idle(&idle));
    } else if settings.asks_models() {
        lines.checks(settings.llm.check(&variables));
    } else {
        let models = match settings.llm.model {
            Some(_) => {
                "one is set but not used: set --policy llm, or policy = \"llm\", to let it judge"
            }
            None => "none is set and none is needed; --model sets one",
        };
        lines.good("models", models);
        lines.checks(settings.llm.check_idle_names());
    }
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
