//! Whether a value under a telling name is a secret, a setting, or a reference to one.

use crate::marker;
use crate::names::Name;
use crate::random::{Letters, decoded, is_hex, is_random};

/// Values that are settings or say that there is no value.
const SETTINGS: [&str; 29] = [
    "true",
    "false",
    "null",
    "nil",
    "none",
    "yes",
    "no",
    "on",
    "off",
    "undefined",
    "empty",
    "unset",
    "redacted",
    "str",
    "string",
    "hidden",
    "removed",
    "masked",
    "filtered",
    "omitted",
    "n/a",
    "optional",
    "required",
    "disabled",
    "enabled",
    "unknown",
    "<nil>",
    "present",
    "absent",
];

/// Words by which people say something *of* a password: `password: incorrect`, `token is expired`.
const STATES: [&str; 66] = [
    "a",
    "about",
    "already",
    "also",
    "an",
    "and",
    "authentication",
    "bad",
    "being",
    "cannot",
    "case",
    "changed",
    "check",
    "correct",
    "currently",
    "does",
    "encrypted",
    "error",
    "expected",
    "expired",
    "expiring",
    "failed",
    "failure",
    "field",
    "for",
    "from",
    "going",
    "has",
    "hashed",
    "identical",
    "in",
    "incorrect",
    "invalid",
    "it",
    "its",
    "just",
    "leaked",
    "longer",
    "malformed",
    "mandatory",
    "mismatch",
    "missing",
    "must",
    "needed",
    "never",
    "no",
    "not",
    "now",
    "of",
    "ok",
    "old",
    "only",
    "or",
    "refused",
    "rejected",
    "reset",
    "revoked",
    "set",
    "stale",
    "still",
    "stored",
    "the",
    "too",
    "used",
    "valid",
    "wrong",
];

/// How a value is tied to its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tie {
    /// By a sign of assignment, a tag, a flag or quotes.
    Sign,
    /// By a colon and a space in running text: `error: token: unexpected`.
    Colon,
    /// By words: `the password is …`.
    Words,
}

/// Whether the value of a field of this name is a secret.
pub(crate) fn is_secret(name: Name, tie: Tie, loud: bool, value: &[u8]) -> bool {
    let value = value.trim_ascii();
    if is_reference(value) || is_setting(value) {
        return false;
    }
    match name {
        Name::Password => tie != Tie::Words || !is_adverb(value),
        Name::Credential => {
            let sure = tie == Tie::Sign || is_coded(value);
            sure && !is_place(value) && !is_printed_object(value)
        }
        Name::Token => is_coded(value) && !is_place(value) && !is_printed_object(value),
        Name::Key => {
            // `MY_APP_KEY=…` in an environment; elsewhere a key is mostly a name.
            let enough = if loud { 6 } else { 16 };
            value.len() >= enough
                && is_coded(value)
                && !is_place(value)
                && (loud || (is_random(value) && !is_hex(value)))
        }
        Name::Random => {
            let login = || decoded(value).is_some_and(|text| text.contains(&b':'));
            (value.len() >= 20 && is_random(value)) || (value.len() >= 6 && login())
        }
    }
}

/// Whether a value stands for one that is elsewhere, or was already masked.
pub(crate) fn is_reference(value: &[u8]) -> bool {
    let Some((first, rest)) = value.split_first() else { return true };
    let within = |open: &[u8], close: &[u8]| value.starts_with(open) && value.ends_with(close);
    let name = |b: &u8| b.is_ascii_uppercase() || b.is_ascii_digit() || *b == b'_';
    let variable = |b: u8| b == b'$' || b == b'%';
    marker::is_marker(value)
        || rest.iter().all(|byte| byte == first)
        || within(b"$(", b")")
        || within(b"${", b"}")
        || within(b"{{", b"}}")
        || within(b"<", b">")
        || (within(b"[", b"]") && is_setting(value.get(1..value.len() - 1).unwrap_or_default()))
        || (within(b"(", b")") && is_setting(value.get(1..value.len() - 1).unwrap_or_default()))
        || (variable(*first) && rest.iter().all(|byte| name(byte) || *byte == b'%'))
        || (*first == b'%' && rest.len() <= 2)
        || is_call(value)
}

/// Whether a value is a piece of a program that fetches it: `os.environ.get(…`, `process.env.KEY`.
fn is_call(value: &[u8]) -> bool {
    let name = |b: &u8| b.is_ascii_alphanumeric() || b"._".contains(b);
    let end = value.iter().position(|b| !name(b)).unwrap_or(value.len());
    let head = value.get(..end).unwrap_or_default();
    let fetches = ["os.environ", "os.getenv", "os.Getenv", "process.env.", "System.getenv"];
    fetches.iter().any(|call| head.starts_with(call.as_bytes()))
}

fn is_setting(value: &[u8]) -> bool {
    value.is_empty() || SETTINGS.iter().any(|word| value.eq_ignore_ascii_case(word.as_bytes()))
}

/// Whether a word gives the state of a secret. Punctuation at its end does not count.
pub(crate) fn is_state(value: &[u8]) -> bool {
    let first = value.split(|byte| b" \t".contains(byte)).next().unwrap_or_default();
    let end = first.iter().rposition(u8::is_ascii_alphanumeric).map_or(0, |at| at + 1);
    let word = first.get(..end).unwrap_or_default();
    STATES.iter().any(|state| word.eq_ignore_ascii_case(state.as_bytes()))
        || SETTINGS.iter().any(|state| word.eq_ignore_ascii_case(state.as_bytes()))
}

/// Whether a word begins to say what happened after a value: `password=x for user bob`.
pub(crate) fn goes_on_after(word: &[u8]) -> bool {
    const TELLING: [&str; 48] = [
        "accepted",
        "after",
        "again",
        "allowed",
        "as",
        "at",
        "because",
        "before",
        "but",
        "by",
        "connecting",
        "connection",
        "denied",
        "does",
        "done",
        "during",
        "end",
        "fails",
        "fallback",
        "given",
        "host",
        "if",
        "into",
        "is",
        "login",
        "matched",
        "on",
        "password",
        "port",
        "received",
        "retry",
        "retrying",
        "returned",
        "sent",
        "server",
        "so",
        "status",
        "succeeded",
        "success",
        "then",
        "timed",
        "to",
        "user",
        "using",
        "via",
        "was",
        "when",
        "with",
    ];
    TELLING.iter().any(|telling| word.eq_ignore_ascii_case(telling.as_bytes()))
}

/// Whether a word of small letters ends as what follows *is* often does: `temporarily`, `stored`.
fn is_adverb(value: &[u8]) -> bool {
    value.iter().all(|byte| byte.is_ascii_lowercase() || *byte == b'-')
        && ["ed", "ing", "ly", "able", "ible"].iter().any(|end| value.ends_with(end.as_bytes()))
}

/// Whether a value is made as credentials are: long, letters with digits or in both cases.
fn is_coded(value: &[u8]) -> bool {
    let letters = Letters::of(value);
    let inner = Letters::of(value.get(1..).unwrap_or_default());
    let mixed = (letters.lower || letters.upper) && letters.digit;
    value.len() >= 6 && (mixed || (letters.lower && inner.upper))
        || (value.len() >= 10 && letters.digit)
}

/// Whether a value is a path, an address or the name of a resource.
fn is_place(value: &[u8]) -> bool {
    let plain = |b: &u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b"/._-".contains(b);
    let path = value.starts_with(b"/") && value.iter().filter(|b| **b == b'/').count() > 1;
    let address = memchr::memmem::find(value, b"://").is_some();
    let label = value.iter().any(|b| b"-.".contains(b)) && !value.iter().any(u8::is_ascii_digit);
    address || ((path || label) && value.iter().all(plain))
}

/// Whether a value is an object as a program prints it: `Token{a64f992 …`, `BinderProxy@2bd79ce`.
fn is_printed_object(value: &[u8]) -> bool {
    let name = |b: &u8| b.is_ascii_alphanumeric() || b"._$".contains(b);
    let Some(end) = value.iter().position(|byte| !name(byte)) else { return false };
    let Some((sign, rest)) = value.get(end..).and_then(<[u8]>::split_first) else { return false };
    match sign {
        b'{' | b'(' | b'[' => end > 0,
        b'@' => rest.len() <= 16 && rest.iter().take_while(|b| b.is_ascii_hexdigit()).count() >= 4,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_and_settings_are_no_secrets() {
        for value in [
            "",
            "true",
            "$(SECRET)",
            "${X}",
            "$DB_PASSWORD",
            "****",
            "[masked]",
            "[masked 2]",
            "<redacted>",
            "%s",
            "{{ .Values.p }}",
            "[REDACTED]",
            "NULL",
        ] {
            assert!(!is_secret(Name::Password, Tie::Sign, false, value.as_bytes()), "{value}");
        }
        for value in ["hunter2", "12345", "a/b", "$ecret", "correct horse"] {
            assert!(is_secret(Name::Password, Tie::Sign, false, value.as_bytes()), "{value}");
        }
    }

    #[test]
    fn bare_tokens_must_look_like_one() {
        for value in [
            "Token{a64f992",
            "db-credentials",
            "EOF",
            "android.os.BinderProxy@2bd79ce",
            "/var/run/secrets/kubernetes.io/serviceaccount/token",
            "100",
            "http://auth:80/v1",
        ] {
            assert!(!is_secret(Name::Token, Tie::Sign, false, value.as_bytes()), "{value}");
        }
        assert!(is_secret(Name::Token, Tie::Sign, false, b"s3ss10nT0k"));
    }
}
