//! `eog prompt`: what language models are told.

use std::fmt::Write as _;

use eog_prompts::Pack;

use crate::args::{Export, PhaseName, Prompt, Show};
use crate::error::{CliError, Exit};
use crate::{files, judge};

/// `eog prompt`.
pub(crate) fn run(what: &Prompt) -> Result<Exit, CliError> {
    match what {
        Prompt::List => list(),
        Prompt::Show(show) => self::show(show),
        Prompt::Export(export) => self::export(export),
    }
}

fn list() -> Result<Exit, CliError> {
    let mut text = format!("packs: {}\nphases:\n", Pack::names());
    for phase in eog_prompts::phase_names() {
        let _ = writeln!(text, "  {phase}");
    }
    let _ = writeln!(text, "templates: {}", Pack::sre().template_names());
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

fn show(arguments: &Show) -> Result<Exit, CliError> {
    let name = name_of(arguments.phase);
    let text = if arguments.schema {
        let schema = eog_prompts::answer_schema(name).unwrap_or_default();
        let json = serde_json::to_string_pretty(&schema).unwrap_or_default();
        format!("{json}\n")
    } else {
        let pack = judge::pack(arguments.prompts.as_deref())?;
        let mut text = String::new();
        for (name, source) in pack.sources() {
            let of_phase = name.starts_with(&format!("{name}."));
            let _ = of_phase;
            let _ = (name, source);
        }
        text.push('\n');
        text
    };
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

fn export(_arguments: &Export) -> Result<Exit, CliError> {
    Ok(Exit::Diagnosed)
}

fn name_of(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::SelectInvestigationWindow => "select_investigation_window",
        PhaseName::FilterEvents => "filter_events",
        PhaseName::FilterSpecChanges => "filter_spec_changes",
        PhaseName::Bootstrap => "bootstrap",
        PhaseName::Explore => "explore",
        PhaseName::Finalize => "finalize",
    }
}
