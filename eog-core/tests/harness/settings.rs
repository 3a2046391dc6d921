//! Settings of a case or of one of its runs.

use std::num::NonZeroU32;

use eog_core::Config;
use eog_core::controller::{
    Briefing, ChangeRule, Checks, ClaimRule, Concurrency, Damping, Order, Wake, Widening,
};

use super::script::Run;
use super::words::number;

pub(crate) fn profile(name: &str) -> Result<Config, String> {
    match name {
        "default" => Ok(Config::default()),
        "paper" => Ok(Config::paper()),
        _ => Err(format!("there is no profile {name:?}; write `default` or `paper`")),
    }
}

/// Applies `<setting> <value>`.
pub(crate) fn apply(run: &mut Run, setting: &str, value: &str) -> Result<(), String> {
    let config = &mut run.config;
    match setting {
        "profile" => *config = profile(value)?,
        "answers" => run.newest_first = choice(value, "newest_first", "oldest_first")?,
        "broadcast" => config.broadcast = choice(value, "on", "off")?,
        "memory" => config.decision_memory = choice(value, "on", "off")?,
        "anomalies" => config.anomalies_in_packets = choice(value, "on", "off")?,
        "briefing" => config.briefing = choice(value, "on", "off")?.then(Briefing::default),
        "pages" => {
            let pages = number(setting, value)?;
            config.briefing = Some(Briefing { pages, ..Briefing::default() });
        }
        "queries" => {
            let queries = number(setting, value)?;
            config.briefing = Some(Briefing { queries, ..Briefing::default() });
        }
        "widening" => config.widening = choice(value, "on", "off")?.then(Widening::default),
        "radius" => {
            let radius = limit(setting, value)?;
            config.widening = Some(Widening { radius, ..Widening::default() });
        }
        "origins" => {
            let origins_read = choice(value, "read", "wait")?;
            config.widening = Some(Widening { origins_read, ..Widening::default() });
        }
        "others" => {
            let others_named = choice(value, "named", "kept")?;
            config.widening = Some(Widening { others_named, ..Widening::default() });
        }
        "unlinked" => {
            let unlinked_named = choice(value, "named", "kept")?;
            config.widening = Some(Widening { unlinked_named, ..Widening::default() });
        }
        "chains" => {
            let chains_read = choice(value, "read", "wait")?;
            config.widening = Some(Widening { chains_read, ..Widening::default() });
        }
        "late_messages" => config.late_messages = choice(value, "on", "off")?,
        "cooldown" => config.cooldown = number(setting, value)?,
        "flips" => config.flip_threshold = number(setting, value)?,
        "max_entities" => config.max_entities = number(setting, value)?,
        "max_evidence" => config.max_evidence = number(setting, value)?,
        "max_visits" => config.max_visits = limit(setting, value)?,
        "proposals" => config.max_proposals = limit(setting, value)?,
        "hops" => config.budget.hops = limit(setting, value)?,
        "tokens" => config.budget.tokens = limit(setting, value)?,
        "calls" => config.budget.model_calls = limit(setting, value)?,
        "cost" => config.budget.cost_micro_usd = limit(setting, value)?,
        "width" => {
            let width = NonZeroU32::new(number(setting, value)?).ok_or("width must not be 0")?;
            config.concurrency = Concurrency::Window(width);
        }
        "order" => {
            let priority = choice(value, "priority", "fifo")?;
            config.order = if priority { Order::Priority } else { Order::Fifo };
        }
        "wake" => {
            config.wake = match value {
                "at_odds" => Wake::AtOdds,
                "contradicted" => Wake::Contradicted,
                "visited" => Wake::Visited,
                "all" => Wake::All,
                _ => {
                    return Err(format!(
                        "write `at_odds`, `contradicted`, `visited` or `all`, not {value:?}"
                    ));
                }
            };
        }
        "change" => {
            let text = choice(value, "text", "substance")?;
            config.change = if text { ChangeRule::Text } else { ChangeRule::Substance };
        }
        "claims" => {
            let add = choice(value, "accumulate", "supersede")?;
            config.claims = if add { ClaimRule::Accumulate } else { ClaimRule::Supersede };
        }
        "damping" => {
            config.damping = match value {
                "last_word" => Damping::LastWord,
                "absorbing" => Damping::Absorbing,
                "label" => Damping::LabelOverride,
                _ => {
                    return Err(format!(
                        "write `last_word`, `absorbing` or `label`, not {value:?}"
                    ));
                }
            };
        }
        "checks" => {
            let full = choice(value, "full", "unknown_entities")?;
            config.checks = if full { Checks::Full } else { Checks::UnknownEntitiesOnly };
        }
        _ => return Err(format!("there is no setting {setting:?}")),
    }
    Ok(())
}

fn choice(value: &str, yes: &str, no: &str) -> Result<bool, String> {
    match value {
        _ if value == yes => Ok(true),
        _ if value == no => Ok(false),
        _ => Err(format!("write `{yes}` or `{no}`, not {value:?}")),
    }
}

fn limit<N: std::str::FromStr>(what: &str, value: &str) -> Result<Option<N>, String> {
    if value == "none" { Ok(None) } else { number(what, value).map(Some) }
}
