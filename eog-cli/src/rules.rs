//! The policy chosen by the command line, what it sets of a controller, and what it cannot set of this one.

use std::num::NonZeroU32;

use eog::controller::Concurrency;
use eog::{Budget, Config, LinearConfig};
use eog_search::{Profile as SearchProfile, SearchConfig, Setting};
use eog_session::controllers::{AnyLedger, AnySettings, Changes, ControllerName};
use eog_session::judge::Chosen;

use crate::args::{Evaluator, Fork, Judging, Sampling, Search, Start};
use crate::error::CliError;
use crate::shown::clean_line;

/// The policy chosen by the command line, with notes on options without effect.
pub(crate) fn choose(judging: &Judging) -> Result<Chosen, CliError> {
    let chosen = Chosen::choose(&judging.options())?;
    for note in chosen.notes() {
        eprintln!("{}", clean_line(&format!("eog: note: {note}")));
    }
    Ok(chosen)
}

/// The settings that an investigation begins with.
pub(crate) fn settings(
    start: &Start,
    width: Option<NonZeroU32>,
    policy: Option<String>,
) -> Result<AnySettings, CliError> {
    let budget = Budget::hops(start.budget);
    if let Some(profile) = start.controller.profile() {
        let wide = width.is_some_and(|width| width.get() > 1);
        let mut idle = start.of_eog().to_vec();
        idle.push(("--width", wide && profile == SearchProfile::React));
        idle.extend(unused(&start.search, profile));
        refuse(start.controller, &idle)?;
        let mut config = profile.config().with_policy(policy).with_budget(budget);
        if let Some(width) = width {
            config = config.with_width(width);
        }
        return Ok(searching(config, &start.search)?.into());
    }
    refuse(start.controller, &given(&start.search))?;
    let width = width.unwrap_or(NonZeroU32::MIN);
    match start.controller {
        ControllerName::Linear => {
            let mut idle = start.of_eog().to_vec();
            idle.push(("--width", width.get() > 1));
            refuse(ControllerName::Linear, &idle)?;
            Ok(LinearConfig { policy, budget, ..LinearConfig::default() }.into())
        }
        _ => {
            let concurrency = Concurrency::Window(width);
            Ok(Config { policy, budget, concurrency, ..start.rules() }.into())
        }
    }
}

/// A controller with its default settings, and what the command line sets of a tree search.
pub(crate) fn of(controller: ControllerName, search: &Search) -> Result<AnySettings, CliError> {
    if let Some(profile) = controller.profile() {
        refuse(controller, &unused(search, profile))?;
        return Ok(searching(profile.config(), search)?.into());
    }
    refuse(controller, &given(search))?;
    Ok(match controller {
        ControllerName::Linear => LinearConfig::default().into(),
        _ => Config::default().into(),
    })
}

/// The settings with the initial prompt of the file, unless one is given. One that no model reads is refused.
pub(crate) fn prompted(
    settings: AnySettings,
    search: &Search,
    (by_model, of_file): (bool, Option<&str>),
) -> Result<AnySettings, CliError> {
    match (settings, &search.initial_prompt, of_file) {
        (_, Some(_), _) if !by_model => {
            let reason = "--initial-prompt has no effect where rules play the roles; give --policy llm or \
                          --roles model, or omit it";
            Err(CliError::Usage(reason.to_owned()))
        }
        (AnySettings::Search(config), None, Some(prompt)) if by_model => {
            let prompted = config.as_ref().clone().with_initial_prompt(prompt);
            let unfit = |error: eog_search::Incoherent| {
                CliError::Usage(format!("search.initial_prompt in eog.toml: {error}"))
            };
            Ok(prompted.map_err(unfit)?.into())
        }
        (settings, ..) => Ok(settings),
    }
}

/// What a fork changes, and nothing that it leaves as it was.
pub(crate) fn changes(
    arguments: &Fork,
    policy: Option<String>,
    ledger: &AnyLedger,
) -> Result<Changes, CliError> {
    if let Some(before) = AnySettings::at(ledger, arguments.at) {
        refuse_roles(before.controller(), &arguments.running.judging)?;
    }
    let judge = || ledger.judge_at(arguments.at).map(str::to_owned);
    let named = policy.clone().or_else(judge);
    let settings = match AnySettings::at(ledger, arguments.at) {
        None => None,
        Some(AnySettings::Eog(before)) => {
            refuse(ControllerName::Eog, &given(&arguments.search))?;
            let after = forked(arguments, policy.as_ref(), &before);
            (*before != after).then(|| Config { policy: named, ..after }.into())
        }
        Some(AnySettings::Search(before)) => {
            let profile = before.profile();
            let mut idle = vec![
                ("--profile", arguments.profile.is_some()),
                ("--no-messages", arguments.no_messages),
                ("--messages", arguments.messages),
                ("--width", arguments.width.is_some() && profile == SearchProfile::React),
            ];
            idle.extend(unused(&arguments.search, profile));
            refuse(profile.into(), &idle)?;
            let mut budget = before.budget();
            budget.hops = arguments.budget.or(budget.hops);
            let width = arguments.width.unwrap_or(before.width());
            let after = before.as_ref().clone().with_budget(budget).with_width(width);
            let after = searching(after, &arguments.search)?;
            (*before != after).then(|| after.with_policy(named).into())
        }
        Some(AnySettings::Linear(before)) => {
            refuse(
                ControllerName::Linear,
                &[
                    ("--profile", arguments.profile.is_some()),
                    ("--no-messages", arguments.no_messages),
                    ("--messages", arguments.messages),
                    ("--width", arguments.width.is_some()),
                ],
            )?;
            refuse(ControllerName::Linear, &given(&arguments.search))?;
            let mut after = LinearConfig { policy: policy.clone(), ..(*before).clone() };
            after.policy = after.policy.or_else(|| before.policy.clone());
            after.budget.hops = arguments.budget.or(before.budget.hops);
            (*before != after).then(|| LinearConfig { policy: named, ..after }.into())
        }
    };
    Ok(Changes { policy, settings, ..Changes::default() })
}

/// A tree search with what the command line sets.
fn searching(mut config: SearchConfig, search: &Search) -> Result<SearchConfig, CliError> {
    let Search { rounds, depth, branch, accept, no_rescore, backup, no_siblings, .. } = *search;
    let Search { shown, textual, lot_seed, nodes, evaluator, exploration, .. } = *search;
    let Search { initial_prompt, .. } = search;
    let unfit = |error: eog_search::Incoherent| CliError::Usage(error.to_string());
    if let Some(backup) = backup {
        config = config.with_backup(backup.into()).map_err(unfit)?;
    }
    if let Some(nodes) = nodes {
        config = config.with_nodes(nodes.get()).map_err(unfit)?;
    }
    if evaluator == Some(Evaluator::Planner) {
        config = config.with_scores_of_planner().map_err(unfit)?;
    }
    if let Some(exploration) = exploration {
        config = config.with_exploration(exploration).map_err(unfit)?;
    }
    if let Some(sampling) = search.sampling {
        config = config.with_sampling_apart(sampling == Sampling::Apart).map_err(unfit)?;
    }
    if no_siblings {
        config = config.with_siblings(false).map_err(unfit)?;
    }
    if let Some(shown) = shown {
        config = config.with_shown(shown.get()).map_err(unfit)?;
    }
    if let Some(textual) = textual {
        if lot_seed.is_some() && textual.seed(lot_seed).is_none() {
            let reason = "--lot-seed has no effect with --textual signals; omit one of them";
            return Err(CliError::Usage(reason.to_owned()));
        }
        config = config.with_random(textual.seed(lot_seed)).map_err(unfit)?;
    }
    if no_rescore {
        config = config.with_rescore(false).map_err(unfit)?;
    }
    if let Some(rounds) = rounds {
        config = config.with_rounds(rounds.get());
    }
    if let Some(depth) = depth {
        config = config.with_depth(depth.get()).map_err(unfit)?;
    }
    if let Some(branch) = branch {
        config = config.with_branch(branch.get()).map_err(unfit)?;
    }
    if let Some(prompt) = initial_prompt {
        config = config.with_initial_prompt(prompt).map_err(unfit)?;
    }
    if let Some(accept) = accept {
        config = config.with_accept(accept).map_err(unfit)?;
    }
    Ok(config)
}

/// The options of tree searches, and whether each is given.
fn given(search: &Search) -> [(&'static str, bool); 15] {
    let Search { rounds, depth, branch, accept, no_rescore, backup, no_siblings, .. } = search;
    let Search { shown, textual, lot_seed, nodes, evaluator, exploration, .. } = search;
    [
        ("--initial-prompt", search.initial_prompt.is_some()),
        ("--sampling", search.sampling.is_some()),
        ("--nodes", nodes.is_some()),
        ("--evaluator", evaluator.is_some()),
        ("--exploration", exploration.is_some()),
        ("--rounds", rounds.is_some()),
        ("--depth", depth.is_some()),
        ("--branch", branch.is_some()),
        ("--accept", accept.is_some()),
        ("--no-rescore", *no_rescore),
        ("--backup", backup.is_some()),
        ("--no-siblings", *no_siblings),
        ("--shown", shown.is_some()),
        ("--textual", textual.is_some()),
        ("--lot-seed", lot_seed.is_some()),
    ]
}

/// Those that this profile does not use.
fn unused(search: &Search, profile: SearchProfile) -> Vec<(&'static str, bool)> {
    let config = profile.config();
    let setting = |name: &str| match name {
        "--depth" => Some(Setting::Depth),
        "--branch" => Some(Setting::Branch),
        "--accept" => Some(Setting::Accept),
        "--nodes" => Some(Setting::Nodes),
        "--evaluator" => Some(Setting::Evaluator),
        "--exploration" => Some(Setting::Exploration),
        "--sampling" => Some(Setting::Sampling),
        "--no-rescore" => Some(Setting::Rescore),
        "--backup" => Some(Setting::Backup),
        "--no-siblings" => Some(Setting::Siblings),
        "--shown" => Some(Setting::Shown),
        "--textual" | "--lot-seed" => Some(Setting::Random),
        _ => None,
    };
    let is_idle = |name: &str| setting(name).is_some_and(|setting| !config.uses(setting));
    given(search).into_iter().filter(|(name, _)| is_idle(name)).collect()
}

/// The rules of EoG after a fork.
fn forked(arguments: &Fork, policy: Option<&String>, before: &Config) -> Config {
    let mut config = before.clone();
    if policy.is_some() {
        config.policy = policy.cloned();
    }
    if let Some(profile) = arguments.profile {
        let Config { policy, budget, concurrency, broadcast, .. } = config;
        config = Config { policy, budget, concurrency, broadcast, ..profile.config() };
    }
    if let Some(hops) = arguments.budget {
        config.budget.hops = Some(hops);
    }
    if let Some(width) = arguments.width {
        config.concurrency = Concurrency::Window(width);
    }
    if arguments.no_messages || arguments.messages {
        config.broadcast = arguments.messages;
    }
    config
}

/// Refuses an option for the roles of a tree search where there is none, and skills and tools without a user.
pub(crate) fn refuse_roles(controller: ControllerName, judging: &Judging) -> Result<(), CliError> {
    let idle = judging.roles.is_some() && controller.profile().is_none();
    refuse(controller, &[("--roles", idle)])?;
    let of_specialists =
        [("--skills", judging.skills.is_some()), ("--tools", judging.tools.is_some())];
    let uses = |name: &str| match name {
        // The agent of a chain has no skills.
        "--skills" => controller.profile() == Some(SearchProfile::Hypotheses),
        _ => controller.calls_tools(),
    };
    refuse(controller, &of_specialists.map(|(name, given)| (name, given && !uses(name))))?;
    let by_rules = matches!(judging.roles, Some(crate::args::By::Rules));
    match of_specialists.iter().find(|(_, given)| *given && by_rules) {
        Some((name, _)) => Err(CliError::Usage(format!(
            "{name} has no effect with --roles rules; omit one of them"
        ))),
        None => Ok(()),
    }
}

/// Refuses options that a controller does not use: they would be ignored silently.
fn refuse(controller: ControllerName, options: &[(&str, bool)]) -> Result<(), CliError> {
    let given: Vec<&str> =
        options.iter().filter(|(_, given)| *given).map(|(name, _)| *name).collect();
    let (has, them) = if given.len() == 1 { ("has", "it") } else { ("have", "them") };
    match given[..] {
        [] => Ok(()),
        _ => Err(CliError::Usage(format!(
            "{} {has} no effect with the controller {controller}; omit {them}",
            given.join(", ")
        ))),
    }
}
