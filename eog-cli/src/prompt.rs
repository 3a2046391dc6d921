//! `eog prompt`: the prompts for language models.

use std::fmt::Write as _;

use eog_prompts::{Pack, phases};
use eog_session::judge;

use crate::args::{Export, PhaseName, Prompt, Show};
use crate::error::{CliError, Exit};
use crate::files;

/// `eog prompt`.
pub(crate) fn run(what: &Prompt) -> Result<Exit, CliError> {
    match what {
        Prompt::List => list(),
        Prompt::Show(arguments) => show(arguments),
        Prompt::Export(arguments) => export(arguments),
    }
}

fn list() -> Result<Exit, CliError> {
    let mut text = format!("packs: {}\nphases:\n", Pack::names());
    for form in phases::answer_forms() {
        let _ = writeln!(text, "  {}", form.name);
    }
    text += "templates and partials:\n";
    for (name, _) in Pack::sre().texts() {
        let _ = writeln!(text, "  {name}.hbs");
    }
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

fn show(arguments: &Show) -> Result<Exit, CliError> {
    let phase = name_of(arguments.phase);
    let mut text = String::new();
    if arguments.schema {
        let form = phases::answer_forms().into_iter().find(|form| form.name == phase);
        let json = form.and_then(|form| serde_json::to_string_pretty(&form.schema).ok());
        text += &json.unwrap_or_default();
        text.push('\n');
    } else {
        let pack = judge::pack(arguments.prompts.as_deref())?;
        let included = included(&pack, phase);
        for (name, template) in pack.texts().filter(|(name, _)| included.contains(name)) {
            let _ = writeln!(text, "--- {name}.hbs\n{}\n", template.trim_end());
        }
    }
    files::print(&text)?;
    Ok(Exit::Diagnosed)
}

/// The templates of a phase, and the partials that they include.
fn included<'p>(pack: &'p Pack, phase: &str) -> Vec<&'p str> {
    let of_phase = |name: &str| name.split_once('.').is_some_and(|(prefix, _)| prefix == phase);
    let mut names: Vec<&str> =
        pack.texts().map(|(name, _)| name).filter(|name| of_phase(name)).collect();
    let mut at = 0;
    while let Some(name) = names.get(at) {
        at += 1;
        let Some((_, text)) = pack.texts().find(|(other, _)| other == name) else { continue };
        for (partial, _) in pack.texts() {
            let is_included = text.match_indices("{{> ").any(|(start, _)| {
                let rest = text.get(start + 4..).unwrap_or_default();
                rest.split(|c: char| c.is_whitespace() || c == '}').next() == Some(partial)
            });
            if is_included && !names.contains(&partial) {
                names.push(partial);
            }
        }
    }
    names
}

fn export(arguments: &Export) -> Result<Exit, CliError> {
    let pack = judge::pack(arguments.prompts.as_deref())?;
    let folder = &arguments.folder;
    files::prepare(folder)?;
    for (name, _) in pack.texts() {
        files::refuse_taken(&folder.join(format!("{name}.hbs")), "give another folder")?;
    }
    for (name, text) in pack.texts() {
        files::write(folder, &format!("{name}.hbs"), text)?;
    }
    let count = pack.texts().count();
    let folder = folder.display();
    files::print(&format!(
        "{count} templates written to {folder}; use them with --prompts {folder}\n"
    ))?;
    Ok(Exit::Diagnosed)
}

fn name_of(phase: PhaseName) -> &'static str {
    match phase {
        PhaseName::SelectInvestigationWindow => "select_investigation_window",
        PhaseName::FilterEvents => "filter_events",
        PhaseName::FilterSpecChanges => "filter_spec_changes",
        PhaseName::Bootstrap => "bootstrap",
        PhaseName::ClassifyEvidence => "classify_evidence",
        PhaseName::Explore => "explore",
        PhaseName::SearchPropose => "search_propose",
        PhaseName::SearchAct => "search_act",
        PhaseName::SearchEvaluate => "search_evaluate",
        PhaseName::SearchPlan => "search_plan",
        PhaseName::SearchReflect => "search_reflect",
        PhaseName::SearchHypothesize => "search_hypothesize",
        PhaseName::SearchInvestigate => "search_investigate",
        PhaseName::SearchWeigh => "search_weigh",
        PhaseName::SearchDecompose => "search_decompose",
        PhaseName::SearchSteer => "search_steer",
        PhaseName::SearchStep => "search_step",
        PhaseName::SearchProgress => "search_progress",
        PhaseName::SearchReact => "search_react",
        PhaseName::SearchCompact => "search_compact",
        PhaseName::Finalize => "finalize",
    }
}
