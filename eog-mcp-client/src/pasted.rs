//! Servers that are configured in the form of other agents, beside ours.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::path::Path;

use serde_json::Value;

use super::config::text_of;
use super::error::SourceError;
use super::servers::{ServerConfig, pasted_servers};

/// Where such servers are.
pub(super) struct Pasted<'a> {
    /// In the configuration itself.
    pub(super) inline: Option<Value>,
    /// In a file of their own.
    pub(super) file: Option<&'a Path>,
    /// Where relative paths begin.
    pub(super) folder: &'a Path,
    /// The configuration.
    pub(super) place: &'a str,
}

impl Pasted<'_> {
    /// Adds them to servers in our own form, which may add bounds to them. Returns what was passed over.
    pub(super) fn add_to(
        self,
        servers: &mut BTreeMap<String, ServerConfig>,
    ) -> Result<Vec<String>, SourceError> {
        let mut texts = Vec::new();
        if let Some(pasted) = self.inline {
            let pasted = serde_json::json!({ "mcpServers": pasted });
            texts.push((pasted.to_string(), self.place.to_owned()));
        }
        if let Some(file) = self.file {
            let file = self.folder.join(file);
            let place = file.display().to_string();
            texts.push((text_of(&file)?, place));
        }
        let mut passed_over = Vec::new();
        for (text, place) in texts {
            let (pasted, warnings) = pasted_servers(&text, &place)?;
            passed_over.extend(warnings);
            for (name, server) in pasted {
                match servers.entry(name) {
                    Entry::Vacant(free) => {
                        free.insert(server);
                    }
                    Entry::Occupied(mut own) => bound(own.get_mut(), server, &place)?,
                }
            }
        }
        Ok(passed_over)
    }
}

/// Gives a pasted server the bounds that are written in our own form.
fn bound(own: &mut ServerConfig, pasted: ServerConfig, place: &str) -> Result<(), SourceError> {
    if own.command.is_some() || own.url.is_some() {
        let reason = "this server is defined here and in the pasted JSON; keep one";
        return Err(SourceError::config(place, reason));
    }
    let bounds = std::mem::take(own);
    let ServerConfig { command, args, env, cwd, url, headers, .. } = pasted;
    *own = ServerConfig { command, args, env, cwd, url, headers, ..bounds };
    Ok(())
}
