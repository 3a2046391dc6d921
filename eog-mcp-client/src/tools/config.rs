//! Which tools of which servers are offered to which specialists, checked when it is read.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use eog_search::Specialist;
use serde::Deserialize;
use serde_json::Value;

use crate::config::{allowed, parsed, text_of};
use crate::error::SourceError;
use crate::pasted::Pasted;
use crate::servers::{Server, ServerConfig, Variables};

/// Tools of MCP servers for the specialists of a tree search. The fields are described in
/// `docs/mcp.md`.
///
/// ```
/// use eog_mcp_client::ToolsConfig;
/// let config = ToolsConfig::parse(
///     r#"
///     [servers.db]
///     command = "db-server"
///     [[tools]]
///     server = "db"
///     names = ["read_query"]
///     specialists = ["logs"]
///     "#,
///     "tools.toml".as_ref(),
/// )?;
/// # let _ = config;
/// # Ok::<(), eog_mcp_client::SourceError>(())
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ToolsConfig {
    servers: BTreeMap<String, ServerConfig>,
    /// Servers in the form of other agents, beside ours.
    #[serde(rename = "mcpServers")]
    pasted: Option<Value>,
    servers_file: Option<PathBuf>,
    tools: Vec<Offer>,
    #[serde(skip)]
    file: PathBuf,
    #[serde(skip)]
    warnings: Vec<String>,
}

/// Tools of one server.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Offer {
    pub(super) server: String,
    /// Which. Without it, those that the server may be asked for by its own list, else those that only read.
    names: Option<BTreeSet<String>>,
    /// The specialists they are offered to: all unless given.
    #[serde(default = "all_specialists", rename = "specialists")]
    pub(super) agents: BTreeSet<Specialist>,
}

fn all_specialists() -> BTreeSet<Specialist> {
    Specialist::ALL.into_iter().chain([Specialist::Generalist]).collect()
}

impl ToolsConfig {
    /// Reads a configuration: TOML, or JSON when the name ends so.
    ///
    /// # Errors
    /// [`SourceError::Config`] that names the file, the place and the reason.
    pub fn read(file: &Path) -> Result<Self, SourceError> {
        let text = text_of(file)?;
        Self::parse(&text, file)
    }

    /// The same from a text; `file` names it, and its folder is where relative paths begin.
    ///
    /// # Errors
    /// As for [`ToolsConfig::read`].
    pub fn parse(text: &str, file: &Path) -> Result<Self, SourceError> {
        let mut config: Self = parsed(text, file)?;
        config.file = file.to_owned();
        let pasted = Pasted {
            inline: config.pasted.take(),
            file: config.servers_file.as_deref(),
            folder: file.parent().unwrap_or_else(|| Path::new("")),
            place: &file.display().to_string(),
        };
        config.warnings = pasted.add_to(&mut config.servers)?;
        config.check()?;
        Ok(config)
    }

    /// The file, and a part of it.
    pub(super) fn place(&self, part: &str) -> String {
        format!("{}: {part}", self.file.display())
    }

    pub(super) fn offers(&self) -> &[Offer] {
        &self.tools
    }

    pub(super) fn warnings(&self) -> Vec<String> {
        self.warnings.clone()
    }

    /// The tools that are listed for an offer, or else for its server, if any are.
    pub(super) fn allowed<'a>(&'a self, offer: &'a Offer) -> Option<&'a BTreeSet<String>> {
        let of_server = || self.servers.get(&offer.server)?.tools.as_ref();
        offer.names.as_ref().or_else(of_server)
    }

    /// The servers that tools are offered of, with their variables filled in.
    pub(super) fn checked_servers(
        &self,
        environment: &dyn Fn(&str) -> Option<String>,
    ) -> Result<BTreeMap<String, Server>, SourceError> {
        let folder = self.file.parent().unwrap_or_else(|| Path::new(""));
        let variables = Variables::of(folder, environment);
        let used: BTreeSet<&String> = self.tools.iter().map(|offer| &offer.server).collect();
        let checked = self.servers.iter().filter(|(name, _)| used.contains(name));
        let checked = checked.map(|(name, server)| {
            let wrong = |reason| SourceError::config(self.place(&format!("server {name}")), reason);
            Ok((name.clone(), server.check(&variables).map_err(wrong)?))
        });
        checked.collect()
    }

    fn check(&self) -> Result<(), SourceError> {
        let wrong = |part: &str, reason: String| SourceError::config(self.place(part), reason);
        if self.tools.is_empty() {
            let reason = "nothing is offered; add [[tools]] with a `server`".to_owned();
            return Err(wrong("tools", reason));
        }
        for (at, offer) in self.tools.iter().enumerate() {
            let part = format!("tools[{at}]");
            let server = allowed(&self.servers, &offer.server, offer.names.iter().flatten());
            let server = server.map_err(|reason| wrong(&part, reason))?;
            if offer.agents.is_empty() || offer.names.as_ref().is_some_and(BTreeSet::is_empty) {
                let reason = "an empty list offers nothing; omit it to use the default".to_owned();
                return Err(wrong(&part, reason));
            }
            for name in self.allowed(offer).into_iter().flatten() {
                if server.tool.get(name).and_then(|own| own.read_only) == Some(false) {
                    let reason = format!(
                        "server {}: {name} has `read_only = false`; specialists only read",
                        offer.server
                    );
                    return Err(wrong(&part, reason));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_wrong_configuration_is_reported_with_its_place() {
        const SERVER: &str = "[servers.db]\ncommand = 'db'\n";
        let parse = |text: &str| ToolsConfig::parse(text, Path::new("tools.toml"));
        parse(&format!("{SERVER}[[tools]]\nserver = 'db'")).unwrap();
        for (text, reason) in [
            (String::new(), "nothing is offered"),
            (format!("{SERVER}[[tools]]\nserver = 'dv'"), "no server \"dv\"; the servers are db"),
            (format!("{SERVER}[[tools]]\nserver = 'db'\nnames = []"), "an empty list"),
            (format!("{SERVER}[[tools]]\nserver = 'db'\nspecialists = ['cooks']"), "`cooks`"),
            (format!("{SERVER}[[tools]]\nserver = 'db'\ntool = 'x'"), "unknown field `tool`"),
            (
                format!("{SERVER}tools = ['a']\n[[tools]]\nserver = 'db'\nnames = ['b']"),
                "does not include \"b\"",
            ),
            (
                format!(
                    "{SERVER}tool.a.read_only = false\n[[tools]]\nserver = 'db'\nnames = ['a']"
                ),
                "specialists only read",
            ),
            (format!("{SERVER}[[evidence]]\nname = 'a'"), "unknown field `evidence`"),
        ] {
            let error = parse(&text).unwrap_err().to_string();
            assert!(error.contains(reason) && error.starts_with("tools.toml"), "{error}");
        }
    }
}
