//! Secrets are masked before anything is stored or shown.
//!
//! What is masked: every value of a `Secret`; values under key-like names (`…password`, `…TOKEN`,
//! `SECRET_KEY_BASE`, …) when they look like a value and not like a reference to one; in free text
//! bearer tokens, `name=value` and `name: value` with a key-like name, passwords in URLs, private
//! keys, and tokens with a well-known prefix. Numbers, durations and booleans under key-like names
//! (`maxTokens: 100`) stay, since they are settings.

use crate::text::words;

/// What stands in place of a secret.
pub const MASK: &str = "[masked]";

/// Words that make a name key-like wherever they stand in it.
const SECRET_WORDS: [&str; 11] = [
    "password",
    "passwd",
    "passphrase",
    "pwd",
    "secret",
    "secrets",
    "token",
    "tokens",
    "credential",
    "credentials",
    "apikey",
];

/// Pairs of words that make a name key-like.
const SECRET_PAIRS: [[&str; 2]; 7] = [
    ["api", "key"],
    ["access", "key"],
    ["private", "key"],
    ["signing", "key"],
    ["encryption", "key"],
    ["key", "base"],
    ["auth", "key"],
];

/// Last words of a name that make it speak *of* a secret without holding one.
const REFERENCE_WORDS: [&str; 21] = [
    "addr",
    "address",
    "count",
    "endpoint",
    "expiration",
    "file",
    "host",
    "issuer",
    "length",
    "limit",
    "name",
    "names",
    "path",
    "port",
    "ref",
    "service",
    "size",
    "ttl",
    "type",
    "uri",
    "url",
];

/// Beginnings of tokens that are secrets wherever they stand.
const TOKEN_PREFIXES: [&str; 14] = [
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xoxa-",
    "sk-",
    "sk_live_",
    "AKIA",
    "ASIA",
    "AIza",
    "eyJ",
];

/// Shortest token with a well-known prefix.
const MIN_TOKEN: usize = 16;

/// Whether a field of this name holds a secret.
fn is_secret_name(name: &str) -> bool {
    let words = words(name);
    if words.last().is_some_and(|last| REFERENCE_WORDS.contains(&last.as_str())) {
        return false;
    }
    let one = words.iter().any(|word| SECRET_WORDS.contains(&word.as_str()));
    let pass = words.last().is_some_and(|last| last == "pass");
    one || pass || words.windows(2).any(|pair| SECRET_PAIRS.iter().any(|wanted| pair == wanted))
}

/// Whether a field of this name may hold a key, which its value then tells.
fn is_key_name(name: &str) -> bool {
    words(name)
        .last()
        .is_some_and(|last| ["key", "auth", "salt", "seed", "cookie"].contains(&last.as_str()))
}

/// Whether a value looks drawn at random: long, one word, letters and digits mixed.
fn is_random(value: &str) -> bool {
    let has = |which: fn(&u8) -> bool| value.as_bytes().iter().any(which);
    value.len() >= 20
        && has(u8::is_ascii_digit)
        && has(u8::is_ascii_alphabetic)
        && value.bytes().all(|b| b.is_ascii_alphanumeric() || b"+/=_-".contains(&b))
}

/// Whether a value under a key-like name is a secret rather than a setting or a reference.
fn is_secret_value(name: &str, value: &str) -> bool {
    const SETTINGS: [&str; 9] = ["", "true", "false", "null", "none", "yes", "no", "on", "off"];
    let value = value.trim();
    // Tokens are also counted and timed; passwords are not.
    let counts = words(name).iter().any(|word| word == "token" || word == "tokens");
    let number = value.trim_end_matches(|c: char| c.is_ascii_alphabetic());
    let is_quantity =
        value.len() < 8 && value.len() - number.len() <= 2 && number.parse::<f64>().is_ok();
    let is_reference = value.starts_with("$(") || value.starts_with("${") || value == MASK;
    let is_setting = SETTINGS.contains(&value.to_ascii_lowercase().as_str());
    !(is_setting || is_reference || (counts && is_quantity))
}

/// Free text without its secrets.
///
/// ```
/// use eog_evidence::mask_text;
/// assert_eq!(mask_text("login with password=hunter2 failed"), "login with password=[masked] failed");
/// assert_eq!(mask_text("Authorization: Bearer abc.def"), "Authorization: Bearer [masked]");
/// assert_eq!(mask_text("token bucket is empty"), "token bucket is empty");
/// ```
pub fn mask_text(text: &str) -> String {
    let text = mask_url_passwords(&mask_private_keys(text));
    let mut out = String::with_capacity(text.len());
    let mut rest = text.as_str();
    let mut previous = "";
    loop {
        let (gap, tail) = rest.split_at(rest.find(|c| !is_gap(c)).unwrap_or(rest.len()));
        out.push_str(gap);
        if tail.is_empty() {
            return out;
        }
        let named = introduces_secret(previous, gap);
        let quote = gap.chars().last().filter(|c| named && (*c == '"' || *c == '\''));
        let end = match quote {
            Some(quote) => tail.find(quote),
            None => tail.find(is_gap),
        };
        let (word, after) = tail.split_at(end.unwrap_or(tail.len()));
        let secret = match named {
            true => is_secret_value(previous, word) && !is_scheme(word),
            false => is_token(word) || follows_scheme(previous, gap, word),
        };
        out.push_str(if secret { MASK } else { word });
        (previous, rest) = (word, after);
    }
}

/// Whether what stands between a key-like name and the next word makes that word its value.
fn introduces_secret(name: &str, gap: &str) -> bool {
    let assigns = gap.contains(['=', ':']) && !gap.contains(['\n', ',', ';', '}', '&', '{', '[']);
    let follows_flag = name.starts_with("--") && gap == " ";
    (assigns || follows_flag) && is_secret_name(name)
}

fn is_gap(c: char) -> bool {
    c.is_whitespace() || "=:\"',;&?{}[]()<>|\\".contains(c)
}

fn is_scheme(word: &str) -> bool {
    ["bearer", "basic"].contains(&word.to_ascii_lowercase().as_str())
}

/// Whether a word is the credential of an HTTP authorization.
fn follows_scheme(scheme: &str, gap: &str, word: &str) -> bool {
    let coded = word.bytes().any(|b| b.is_ascii_digit() || b.is_ascii_uppercase() || b == b'.');
    is_scheme(scheme) && gap == " " && word.len() >= 6 && coded
}

/// Whether a word is a credential by its well-known beginning.
fn is_token(word: &str) -> bool {
    word.len() >= MIN_TOKEN
        && TOKEN_PREFIXES.iter().any(|prefix| word.starts_with(prefix))
        && word.bytes().any(|byte| byte.is_ascii_digit())
}

fn mask_private_keys(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("-----BEGIN ") {
        out.push_str(before);
        let label = after.split_once("-----").map_or("", |(label, _)| label);
        if !label.contains("PRIVATE KEY") {
            out.push_str("-----BEGIN ");
            rest = after;
            continue;
        }
        out.push_str(MASK);
        let end = after.split_once("-----END ").and_then(|(_, end)| end.split_once("-----"));
        rest = end.map_or("", |(_, tail)| tail);
    }
    out.push_str(rest);
    out
}

fn mask_url_passwords(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("://") {
        out.push_str(before);
        out.push_str("://");
        rest = after;
        let end = after.find(|c: char| c.is_whitespace() || "/?#\"'".contains(c));
        let authority = after.get(..end.unwrap_or(after.len())).unwrap_or_default();
        let Some((login, _)) = authority.rsplit_once('@') else { continue };
        let Some((user, _)) = login.split_once(':') else { continue };
        out.push_str(user);
        out.push(':');
        out.push_str(MASK);
        rest = after.get(login.len()..).unwrap_or_default();
    }
    out.push_str(rest);
    out
}

/// The value of a named field without its secrets: all of it when the name is key-like.
pub fn mask_named(name: &str, value: &str) -> String {
    if is_secret_field(name, value) { MASK.to_owned() } else { mask_text(value) }
}

/// Whether a named field holds a secret: by its name, or by a key's name and a random value.
pub fn is_secret_field(name: &str, value: &str) -> bool {
    let named = is_secret_name(name) || (is_key_name(name) && is_random(value));
    named && is_secret_value(name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn secrets_in_text_are_masked_and_ordinary_text_is_not() {
        let cases = [
            ("DB_PASSWORD=hunter2", "DB_PASSWORD=[masked]"),
            ("password: 'open sesame' ok", "password: '[masked]' ok"),
            ("\"api_key\": \"abc123\"", "\"api_key\": \"[masked]\""),
            ("postgres://bob:pw@db:5432/x", "postgres://bob:[masked]@db:5432/x"),
            ("http://db:5432/x?token=abc", "http://db:5432/x?token=[masked]"),
            ("authorization: bearer eyJhbGci", "authorization: bearer [masked]"),
            ("key ghp_0123456789abcdefABCD end", "key [masked] end"),
            (
                "a -----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY----- b",
                "a [masked] b",
            ),
            ("run --password hunter2 --port 80", "run --password [masked] --port 80"),
            ("basic auth failed", "basic auth failed"),
            ("PASSWORD=12345", "PASSWORD=[masked]"),
            ("{\\\"password\\\":\\\"x1\\\"}", "{\\\"password\\\":\\\"[masked]\"}"),
            ("TOKEN_URL=http://auth:80", "TOKEN_URL=http://auth:80"),
            ("max_tokens=100 timeout=5s", "max_tokens=100 timeout=5s"),
            ("secretName: db-credentials", "secretName: db-credentials"),
            ("the token bucket is empty", "the token bucket is empty"),
            ("GET /products/6E92ZMYYFZ 200", "GET /products/6E92ZMYYFZ 200"),
        ];
        for (text, expected) in cases {
            assert_eq!(mask_text(text), expected);
        }
    }
}
