//! The secret that clients of an open address share with the server.

use std::fmt;

use crate::server::error::ServeError;

/// Fewest characters of a token.
const MIN: usize = 16;

/// Most characters of a token.
const MAX: usize = 1024;

/// The secret that clients of an open address share with the server. Only digests of it are kept.
///
/// ```
/// use eog_mcp::server::Token;
/// let token = Token::new("a-long-and-random-secret\n")?;
/// assert!(token.is("a-long-and-random-secret") && !token.is("another"));
/// assert!(Token::new("short").is_err());
/// assert_eq!(format!("{token:?}"), "Token");
/// # Ok::<(), eog_mcp::server::ServeError>(())
/// ```
#[derive(Clone)]
pub struct Token {
    digest: blake3::Hash,
    cookie: blake3::Hash,
}

impl Token {
    /// From text, without the white space around it.
    ///
    /// # Errors
    /// [`ServeError::Token`] for one that can be guessed or not be sent in a header.
    pub fn new(text: &str) -> Result<Self, ServeError> {
        let text = text.trim();
        if text.len() < MIN {
            return Err(ServeError::Token(
                "it has fewer than 16 characters; make one with `openssl rand -hex 32`",
            ));
        }
        if text.len() > MAX || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(ServeError::Token(
                "it must consist of at most 1024 printable ASCII characters without spaces",
            ));
        }
        let cookie =
            blake3::derive_key("eog 2026 cookie of a browser that has the token", text.as_bytes());
        Ok(Self { digest: blake3::hash(text.as_bytes()), cookie: cookie.into() })
    }

    /// Whether a text is the token. Takes the same time wherever the two differ.
    pub fn is(&self, text: &str) -> bool {
        blake3::hash(text.as_bytes()) == self.digest
    }

    /// What a browser keeps that had the token: the token cannot be derived from it.
    pub(super) fn cookie(&self) -> String {
        self.cookie.to_hex().to_string()
    }

    /// Whether a text is what a browser was given to keep. Takes the same time wherever the two differ.
    pub(super) fn is_cookie(&self, text: &str) -> bool {
        blake3::Hash::from_hex(text).is_ok_and(|given| given == self.cookie)
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}
