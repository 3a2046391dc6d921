//! Where a key comes from.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::{ConfigError, Env, LlmConfig};
use crate::Secret;
use crate::provider::Kind;

/// A longer file does not contain a key.
const LONGEST: u64 = 16 << 10;

/// A key, and a description of its place.
pub(super) struct FoundKey {
    pub(super) key: Secret,
    pub(super) place: String,
    pub(super) warning: Option<String>,
}

impl LlmConfig {
    /// The key of a model: that of the model itself, else that of its provider, else the usual one.
    /// `None` if none is needed and none is configured.
    pub(super) fn key(
        &self,
        name: &str,
        kind: &Kind,
        env: &dyn Env,
    ) -> Result<Option<FoundKey>, ConfigError> {
        let provider = name.split_once('/').map_or(name, |(provider, _)| provider);
        let of_model = self.models.get(name).map(|it| (&it.key_env, &it.key_file));
        let of_provider = self.providers.get(provider).map(|it| (&it.key_env, &it.key_file));
        for (key_env, key_file) in of_model.into_iter().chain(of_provider) {
            match (key_env, key_file) {
                (Some(_), Some(_)) => {
                    let reason = "key_env and key_file are both set";
                    return Err(ConfigError::new(name, reason, "set one of them"));
                }
                (Some(variable), None) => return from_env(name, variable, env).map(Some),
                (None, Some(path)) => return from_file(name, path).map(Some),
                (None, None) => {}
            }
        }
        match kind.key_env {
            Some(variable) if !kind.keyless => from_env(name, variable, env).map(Some),
            _ if kind.keyless => Ok(None),
            _ => {
                let advice = format!("set key_env or key_file in [llm.providers.{provider}]");
                Err(ConfigError::new(name, "it needs a key, but none is configured", advice))
            }
        }
    }
}

fn from_env(name: &str, variable: &str, env: &dyn Env) -> Result<FoundKey, ConfigError> {
    let is_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    if variable.is_empty() || !variable.chars().all(is_name) {
        // It may be the key itself, written there by mistake, so it is not repeated.
        return Err(ConfigError::new(
            name,
            "its key_env is not the name of a variable",
            "name a variable (capital letters, digits and _), and set that variable to the key",
        ));
    }
    match env.var(variable).map(|key| key.trim().to_owned()).filter(|key| !key.is_empty()) {
        Some(key) => {
            let place = format!("the environment variable {variable}");
            Ok(FoundKey { key: Secret::new(key), place, warning: None })
        }
        None => Err(ConfigError::new(
            name,
            format!("its key is missing: the environment variable {variable} is not set"),
            format!("set {variable}, or choose another place with key_env or key_file"),
        )),
    }
}

fn from_file(name: &str, path: &Path) -> Result<FoundKey, ConfigError> {
    let wrong = |reason: String| {
        let advice = "write only the key to the file, or choose another place";
        ConfigError::new(name, format!("the key file {}: {reason}", path.display()), advice)
    };
    let file = File::open(path).map_err(|error| wrong(error.to_string()))?;
    let warning = readable_by_others(&file)
        .then(|| format!("{} is readable by other users: run chmod 600 {0}", path.display()));
    let mut text = String::new();
    let read = file.take(LONGEST + 1).read_to_string(&mut text);
    read.map_err(|error| wrong(error.to_string()))?;
    let key = text.trim();
    if key.is_empty() || text.len() as u64 > LONGEST {
        return Err(wrong("it does not contain a key".to_owned()));
    }
    let place = format!("the file {}", path.display());
    Ok(FoundKey { key: Secret::new(key), place, warning })
}

#[cfg(unix)]
fn readable_by_others(file: &File) -> bool {
    use std::os::unix::fs::PermissionsExt;
    file.metadata().is_ok_and(|it| it.permissions().mode() & 0o077 != 0)
}

#[cfg(not(unix))]
fn readable_by_others(_: &File) -> bool {
    false
}
