//! Checks a configuration without any call.

use std::path::Path;

use super::{ConfigError, Env, LlmConfig, LlmRole, RULES};
use crate::provider::parse;
use crate::{GenaiModel, Meter, Metered};

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// The model or the key of the configuration that was checked.
    pub what: String,
    /// The outcome.
    pub status: CheckStatus,
    /// What was found, or what is wrong and what to do. Contains no key.
    pub detail: String,
}

/// The outcome of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CheckStatus {
    /// Ready.
    Ok,
    /// It works, but deserves attention.
    Warning,
    /// It does not work.
    Wrong,
}

impl Check {
    fn new(what: &str, status: CheckStatus, detail: impl Into<String>) -> Self {
        Self { what: what.to_owned(), status, detail: detail.into() }
    }

    fn wrong(error: &ConfigError) -> Self {
        let detail = format!("{}; {}", error.reason, error.advice);
        Self::new(&error.place, CheckStatus::Wrong, detail)
    }
}

impl LlmConfig {
    /// Checks what is configured and what is missing. Makes no calls and writes nothing.
    pub fn check(&self, env: &dyn Env) -> Vec<Check> {
        let mut checks = Vec::new();
        checks.extend(self.check_names().err().map(|error| Check::wrong(&error)));
        checks.extend(
            self.idle_models()
                .into_iter()
                .map(|idle| Check::new(&idle.section(), CheckStatus::Warning, idle.words())),
        );
        match self.names() {
            Ok(names) => {
                checks.extend(names.into_iter().flat_map(|name| self.check_model(name, env)));
            }
            Err(error) => checks.push(Check::wrong(&error)),
        }
        checks.push(self.check_budget());
        checks.extend(self.check_cassette());
        checks
    }

    /// Checks only the names of models and providers, and reports problems as warnings: for a
    /// configuration whose models are not used at present. Keys are not checked.
    pub fn check_idle_names(&self) -> Vec<Check> {
        let of_roles = LlmRole::ALL.into_iter().filter_map(|role| self.role(role));
        let of_roles = of_roles
            .flat_map(|role| std::iter::once(&role.model).chain(role.fallbacks.iter().flatten()));
        let first = self.model.iter().chain(&self.finalize_model).chain(&self.fallbacks);
        let first = first.chain(of_roles).filter(|name| *name != RULES);
        let mut names: Vec<&str> = Vec::new();
        for name in first {
            if !names.contains(&name.as_str()) {
                names.push(name);
            }
        }
        let errors = names.into_iter().filter_map(|name| parse(name).err());
        errors
            .chain(self.check_names().err())
            .map(|error| Check { status: CheckStatus::Warning, ..Check::wrong(&error) })
            .collect()
    }

    fn check_model(&self, name: &str, env: &dyn Env) -> Vec<Check> {
        if self.replays() {
            return match self.info(name) {
                Ok(_) => vec![Check::new(name, CheckStatus::Ok, "replayed: needs no key")],
                Err(error) => vec![Check::wrong(&error)],
            };
        }
        if self.may_replay()
            && let Ok((kind, _)) = parse(name)
            && let Err(error) = self.key(name, &kind, env)
        {
            let detail = format!(
                "{}; {}. Without it, only recorded requests can be answered",
                error.reason, error.advice
            );
            return vec![Check::new(name, CheckStatus::Warning, detail)];
        }
        match self.try_model(name, env) {
            Ok(checks) => checks,
            Err(error) => vec![Check::wrong(&error)],
        }
    }

    fn try_model(&self, name: &str, env: &dyn Env) -> Result<Vec<Check>, ConfigError> {
        let (kind, _) = parse(name)?;
        let found = self.key(name, &kind, env)?;
        let settings = self.settings(name, found.as_ref().map(|it| it.key.clone()))?;
        let model = GenaiModel::new(name, settings)?;
        let prices = self.capabilities(name).prices;
        // An unusable budget is reported once, not for every model.
        Metered::new(model, Meter::new(self.budget().unwrap_or_default()), prices)?;
        let place = found.as_ref().map_or("no key", |it| &it.place);
        let base_url = self.base_url(name);
        let at = base_url.as_deref().map_or(String::new(), |url| format!(", at {url}"));
        let mut checks =
            vec![Check::new(name, CheckStatus::Ok, format!("ready: key from {place}{at}"))];
        if found.is_none() {
            checks[0].detail = format!("ready: needs no key{at}");
        }
        let warning = found.as_ref().and_then(|it| it.warning.clone());
        checks.extend(warning.map(|detail| Check::new(name, CheckStatus::Warning, detail)));
        if found.is_some() && base_url.as_deref().is_some_and(in_the_clear) {
            let detail = "its key is sent over the network unencrypted: use https in base_url";
            checks.push(Check::new(name, CheckStatus::Warning, detail));
        }
        Ok(checks)
    }

    fn check_budget(&self) -> Check {
        let what = "llm.budget";
        match self.budget() {
            Err(error) => Check::wrong(&error),
            Ok(budget) => {
                let limits: Vec<String> = [
                    budget.model_calls.map(|n| format!("{n} calls")),
                    budget.tokens.map(|n| format!("{n} tokens")),
                    budget.cost_micro_usd.map(|n| format!("{} US dollars", n as f64 / 1e6)),
                ]
                .into_iter()
                .flatten()
                .collect();
                if limits.is_empty() {
                    let detail = "no limits: set calls, tokens or usd";
                    return Check::new(what, CheckStatus::Warning, detail);
                }
                Check::new(what, CheckStatus::Ok, format!("at most {}", limits.join(", ")))
            }
        }
    }

    fn check_cassette(&self) -> Option<Check> {
        let given = self.cassette.as_ref()?;
        let (what, path) = ("llm.cassette", given.path.display());
        Some(if given.path.is_file() {
            Check::new(what, CheckStatus::Ok, format!("{path}"))
        } else if self.replays() {
            let detail = format!("{path} does not exist: record it with the mode \"auto\"");
            Check::new(what, CheckStatus::Wrong, detail)
        } else if given.path.exists() {
            Check::new(what, CheckStatus::Wrong, format!("{path} is not a file: choose another"))
        } else if !folder_of(&given.path).is_dir() {
            let detail = format!("{path}: its folder does not exist; create it, or choose another");
            Check::new(what, CheckStatus::Wrong, detail)
        } else {
            Check::new(what, CheckStatus::Ok, format!("{path} will be created"))
        })
    }
}

fn folder_of(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Whether requests to this address can be read on the way.
fn in_the_clear(base_url: &str) -> bool {
    let Ok(url) = reqwest::Url::parse(base_url) else { return false };
    let host = url.host_str().unwrap_or_default();
    let local = host == "localhost" || host == "[::1]" || host.starts_with("127.");
    url.scheme() == "http" && !local
}
