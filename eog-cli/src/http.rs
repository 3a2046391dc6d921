//! How commands are reached over HTTP: the token, and what protects an address.

use std::net::SocketAddr;
use std::path::Path;

use eog_mcp::server::{HttpSettings, Token};

use crate::args::Serve;
use crate::error::CliError;
use crate::shown::clean_line;

/// The most bytes of a file with a token.
const MAX_TOKEN: u64 = 4096;

/// Longest request in bytes, unless an option says otherwise: of clients, and of Alertmanager, which sends all alerts
/// of a group at once and drops them where they are refused for their length.
const MAX_BODY: u64 = 1 << 20;
const MAX_ALERTS: u64 = 16 << 20;

/// The address and how it is protected.
pub(crate) fn http(
    serve: &Serve,
    address: SocketAddr,
) -> Result<(SocketAddr, HttpSettings), CliError> {
    let mut settings = HttpSettings::default();
    settings.token = token(serve.token_file.as_deref(), "EOG_MCP_TOKEN")?;
    settings.hosts.clone_from(&serve.hosts);
    settings.origins.clone_from(&serve.origins);
    let usual = if serve.on_call.is_some() { MAX_ALERTS } else { MAX_BODY };
    settings.max_body_bytes =
        usize::try_from(serve.max_body.unwrap_or(usual)).unwrap_or(usize::MAX);
    settings.grace = serve.grace;
    settings.protect(address)?;
    Ok((address, settings))
}

/// The token from its file or the environment, never from the command line, which others can see.
pub(crate) fn token(file: Option<&Path>, variable: &str) -> Result<Option<Token>, CliError> {
    let (text, from) = match file {
        Some(path) => {
            let unusable = |reason: String| CliError::Input { path: path.to_owned(), reason };
            let meta = path.metadata().map_err(|error| unusable(error.to_string()))?;
            if meta.len() > MAX_TOKEN {
                return Err(unusable(format!("it is longer than {MAX_TOKEN} bytes")));
            }
            let text = std::fs::read_to_string(path).map_err(|e| unusable(e.to_string()))?;
            (text, path.display().to_string())
        }
        None => match std::env::var(variable) {
            Ok(text) => (text, variable.to_owned()),
            Err(_) => return Ok(None),
        },
    };
    Token::new(&text)
        .map(Some)
        .map_err(|error| CliError::Usage(clean_line(&format!("{from}: {error}"))))
}
