//! Errors of providers, in our own words and without keys.

use std::error::Error as StdError;
use std::time::Duration;

use eog_prompts::{ChatError, ChatErrorKind};
use genai::Error;
use jiff::Timestamp;
use reqwest::StatusCode;
use reqwest::header::{DATE, HeaderMap, RETRY_AFTER};

use crate::Masker;

/// How many characters of a provider's message are shown.
const SHOWN: usize = 400;

/// What `genai` has instead of the text of an error that it cannot read to the end.
const UNREAD: &str = "Failed to read error body: ";

/// Makes errors of one model.
#[derive(Debug)]
pub(super) struct Errors {
    pub(super) model: String,
    pub(super) masker: Masker,
    /// Longest answer.
    pub(super) max_bytes: usize,
}

impl Errors {
    pub(super) fn of(&self, kind: ChatErrorKind, message: &str) -> ChatError {
        ChatError::new(&self.model, kind, self.masker.mask(message))
    }

    pub(super) fn from(&self, error: &Error) -> ChatError {
        match error {
            Error::HttpError { status, body, headers, .. } => self.status(*status, body, headers),
            Error::WebStream { error, .. } => match error.downcast_ref::<Error>() {
                Some(inner) => self.from(inner),
                None => self.connection(error.as_ref()),
            },
            Error::WebModelCall { .. } => self.connection(error),
            Error::ChatResponse { body, .. } => self.said_in_stream(&body.to_string()),
            Error::StreamParse { serde_error, .. } => self.of(
                ChatErrorKind::Unreadable,
                &format!("an event of the response is not JSON ({serde_error}): check base_url"),
            ),
            other => self.of(ChatErrorKind::NotAccepted, &shortened(&other.to_string())),
        }
    }

    /// Whether the connection broke, in contrast to an answer that says something is wrong.
    pub(super) fn is_broken_connection(&self, error: &Error) -> bool {
        matches!(error, Error::WebStream { error, .. } if error.downcast_ref::<Error>().is_none())
    }

    fn status(&self, status: StatusCode, body: &str, headers: &HeaderMap) -> ChatError {
        let (kind, advice) = kind(status, body);
        let said = match body.starts_with(UNREAD) {
            true => format!("its text broke off, or is longer than {} bytes", self.max_bytes),
            false => format!("the provider says: {}", shortened(body)),
        };
        let message = format!("HTTP status {}: {advice}; {said}", status.as_u16());
        ChatError { retry_after: retry_after(headers), ..self.of(kind, &message) }
    }

    fn said_in_stream(&self, body: &str) -> ChatError {
        let message = format!("the provider failed during its answer: {}", shortened(body));
        let limited = body.contains("rate_limit");
        let kind = if limited { ChatErrorKind::RateLimited } else { ChatErrorKind::Unavailable };
        self.of(kind, &message)
    }

    fn connection(&self, error: &(dyn StdError + 'static)) -> ChatError {
        let mut causes = vec![error.to_string()];
        let mut kind = ChatErrorKind::Unavailable;
        let mut next = Some(error);
        while let Some(error) = next {
            match error.downcast_ref::<reqwest::Error>() {
                Some(error) if error.is_connect() => kind = ChatErrorKind::Unreachable,
                Some(error) if error.is_timeout() => kind = ChatErrorKind::TimedOut,
                _ => {}
            }
            next = error.source();
            causes.extend(next.map(ToString::to_string));
        }
        let what = match kind {
            ChatErrorKind::Unreachable => "the provider cannot be reached",
            _ => "the connection to the provider was lost",
        };
        let said = shortened(&causes.join(": "));
        let message = format!("{what}: check the network and base_url ({said})");
        self.of(kind, &message)
    }
}

fn kind(status: StatusCode, body: &str) -> (ChatErrorKind, &'static str) {
    match status.as_u16() {
        429 if body.contains("insufficient_quota") => {
            (ChatErrorKind::NotAllowed, "the account has no credit left")
        }
        429 => (ChatErrorKind::RateLimited, "too many requests: lower llm.limits"),
        401 | 403 => {
            (ChatErrorKind::NotAllowed, "the key is invalid or has no access to this model")
        }
        404 => {
            (ChatErrorKind::NotAccepted, "unknown model or address: check the name and base_url")
        }
        408 | 504 => (ChatErrorKind::TimedOut, "the provider took too long"),
        500.. => (ChatErrorKind::Unavailable, "the provider failed"),
        300..=399 => (ChatErrorKind::NotAccepted, "redirects are not followed: check base_url"),
        _ => (
            ChatErrorKind::NotAccepted,
            "the request was rejected: set what the model does not accept in its capabilities, such as \
             capabilities = { temperature = false, structured_output = \"none\" }",
        ),
    }
}

/// The delay that a response asks for: in milliseconds, in seconds, or until a date.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    let text = |name: &str| headers.get(name)?.to_str().ok().map(str::trim);
    if let Some(wait) = text("retry-after-ms").and_then(|ms| ms.parse().ok()) {
        return Some(Duration::from_millis(wait));
    }
    let wanted = text(RETRY_AFTER.as_str())?;
    if let Ok(seconds) = wanted.parse::<f64>() {
        return Duration::try_from_secs_f64(seconds).ok();
    }
    // The response says when it was sent, so that no two clocks need to agree.
    let sent = text(DATE.as_str()).and_then(http_date).unwrap_or_else(Timestamp::now);
    Duration::try_from(http_date(wanted)?.duration_since(sent)).ok()
}

fn http_date(text: &str) -> Option<Timestamp> {
    Some(jiff::fmt::rfc2822::parse(text).ok()?.timestamp())
}

fn shortened(text: &str) -> String {
    let text = text.trim();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reqwest::header::HeaderValue;

    #[test]
    fn waits_are_read_in_every_form() {
        let headers = |pairs: &[(&'static str, &'static str)]| {
            pairs
                .iter()
                .map(|(name, value)| {
                    (name.parse().expect("a name"), HeaderValue::from_static(value))
                })
                .collect::<HeaderMap>()
        };
        let wait = |pairs: &[(&'static str, &'static str)]| retry_after(&headers(pairs));
        assert_eq!(wait(&[("retry-after", "7")]), Some(Duration::from_secs(7)));
        assert_eq!(wait(&[("retry-after-ms", "250")]), Some(Duration::from_millis(250)));
        let sent = ("date", "Wed, 21 Oct 2015 07:28:00 GMT");
        let until = ("retry-after", "Wed, 21 Oct 2015 07:29:30 GMT");
        assert_eq!(wait(&[sent, until]), Some(Duration::from_secs(90)));
        // A date that has passed, and what is no wait at all.
        assert_eq!(wait(&[("date", until.1), ("retry-after", sent.1)]), None);
        assert_eq!(wait(&[("retry-after", "soon")]), None);
        assert_eq!(wait(&[]), None);
    }
}
