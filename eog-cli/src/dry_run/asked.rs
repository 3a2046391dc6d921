//! What language models would be asked first, and the most that all of it could use.

use std::fmt::Write as _;

use crate::shown::clean_line;
use eog::{Case, ContextPacket};
use eog_prompts::{ChatRequest, LlmPolicy, Prompter, Role, TokenCounter};
use eog_session::controllers::AnySettings;
use eog_session::judge::{By, Chosen, PolicyChoice, Unarmed};
use eog_session::run::Start as Begin;

use crate::args::Start;
use crate::error::CliError;

/// A model may correct its answer once.
const TRIES: u64 = 2;

/// The first prompt and the bound, where models are asked.
pub(super) fn calls(
    judge: &Chosen,
    start: &Start,
    begin: &Begin,
    first: Option<&ContextPacket>,
) -> Result<String, CliError> {
    let Some(unarmed) = judge.unarmed()? else { return Ok(String::new()) };
    let asks = judge.settings.policy == PolicyChoice::Llm;
    let mut text = match first {
        Some(packet) if asks => first_prompt(&unarmed.explore, &begin.by_rule, packet)?,
        _ => String::new(),
    };
    text += &bound(judge, &unarmed, start, begin);
    Ok(text)
}

fn first_prompt(
    prompter: &Prompter,
    case: &Case,
    packet: &ContextPacket,
) -> Result<String, CliError> {
    let policy = LlmPolicy::new(prompter.clone()).for_case(case);
    let request = policy.prompt(packet).map_err(|error| CliError::Usage(error.to_string()))?;
    let Some(model) = prompter.models().first() else { return Ok(String::new()) };
    let counter = TokenCounter::of(model.info());
    let tokens = counter.request(&request);
    let how = match counter.encoding() {
        Some(encoding) => format!("counted with {encoding}"),
        None => "estimated, because the tokenizer of the model is unknown".to_owned(),
    };
    let mut text = format!("\nFIRST PROMPT to {}: {tokens} tokens, {how}\n", model.info().name);
    write_request(&mut text, &request);
    Ok(text)
}

fn write_request(text: &mut String, request: &ChatRequest) {
    for message in &request.messages {
        let who = match message.role {
            Role::System => "system",
            Role::User => "user",
            Role::Assistant => "assistant",
        };
        let _ = writeln!(text, "--- {who}");
        for line in message.text.lines() {
            let _ = writeln!(text, "{}", clean_line(line));
        }
    }
}

/// The most that everything can use, whatever the models answer.
fn bound(judge: &Chosen, unarmed: &Unarmed, start: &Start, begin: &Begin) -> String {
    let Unarmed { explore, finalize, roles: players } = unarmed;
    let chain = |prompter: &Prompter| prompter.models().len() as u64;
    let entities = begin.by_rule.topology.entities().count() as u64;
    let (evaluations, roles, how) = match &begin.settings {
        AnySettings::Eog(config) => {
            let visits = config.max_visits.map(u64::from);
            let how = visits.map_or(String::new(), |most| format!(", at most {most} visits each"));
            (visits.map_or(u64::MAX, |most| most.saturating_mul(entities)), 0, how)
        }
        AnySettings::Linear(_) => (entities, 0, ", one visit each".to_owned()),
        AnySettings::Search(config) => {
            let most = config.most_asked();
            (most.looks, most.roles, format!(", at most {} evaluations", most.looks))
        }
    };
    let judged = match judge.settings.policy {
        PolicyChoice::Llm => start.budget.min(evaluations),
        PolicyChoice::Evidence | PolicyChoice::Command(_) => 0,
    };
    let played = if judge.settings.roles == By::Model { roles } else { 0 };
    let finalized = u64::from(judge.settings.finalize == By::Model);
    let reports = if finalized == 1 { "report" } else { "reports" };
    // The role with the most models bounds all roles.
    let players = players.iter().map(chain).max().unwrap_or(1);
    let judged_by = judged.saturating_mul(chain(explore));
    let asked = judged_by.saturating_add(played.saturating_mul(players));
    let questions = asked.saturating_add(finalized * chain(finalize));
    let calls = questions.saturating_mul(TRIES);
    let most = [explore, finalize].map(|prompter| {
        let limits = prompter.limits();
        // The correction shows the model its answer.
        u64::from(limits.max_prompt_tokens) + 2 * u64::from(limits.max_output_tokens)
    });
    let tokens = calls.saturating_mul(most[0].max(most[1]));
    let budget = &judge.settings.llm.budget;
    let mut text = format!(
        "\nUPPER BOUND for the whole investigation: {judged} judgements of {entities} entities \
         (--budget {}{how}), {}{finalized} {reports}, {calls} requests including corrections and \
         fallbacks, {tokens} tokens.\n",
        start.budget,
        if played > 0 { format!("{played} calls for other roles, ") } else { String::new() },
    );
    if judge.settings.bootstrap == By::Model {
        text += "In addition, the model chooses where to start: the window, then events and changes \
                 page by page.\n";
    }
    let mut limits = Vec::new();
    limits.extend(budget.calls.map(|calls| format!("{calls} requests")));
    limits.extend(budget.tokens.map(|tokens| format!("{tokens} tokens")));
    limits.extend(budget.usd.map(|usd| format!("{usd} USD")));
    let _ = writeln!(text, "Limits that may end it earlier: {}.", limits.join(", "));
    text
}
