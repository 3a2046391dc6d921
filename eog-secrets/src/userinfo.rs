//! Credentials before an `@`: in URLs (`https://user:pw@host`, `https://TOKEN@host`) and in the data
//! source names of Go (`user:pw@tcp(host)`).

use std::ops::Range;

use crate::marker;
use crate::random::Letters;
use crate::value::is_reference;

/// Longest user information before an `@`.
const MAX_LOGIN: usize = 512;

/// The secrets before the `@` at this place.
pub(crate) fn find(text: &[u8], at: usize) -> Vec<Range<usize>> {
    let from = at.saturating_sub(MAX_LOGIN);
    let before = text.get(from..at).unwrap_or_default();
    let breaks = |b: &u8| b.is_ascii_whitespace() || b"\"'`<>".contains(b);
    let start = from + before.iter().rposition(breaks).map_or(0, |at| at + 1);
    let word = text.get(start..at).unwrap_or_default();
    match memchr::memmem::rfind(word, b"://") {
        Some(slashes) => in_url(text, start, slashes, at),
        None => in_dsn(text, start, at).into_iter().collect(),
    }
}

fn in_url(text: &[u8], start: usize, slashes: usize, at: usize) -> Vec<Range<usize>> {
    let login_start = start + slashes + 3;
    let scheme = text.get(start..start + slashes).unwrap_or_default();
    let login = text.get(login_start..at).unwrap_or_default();
    // Passwords with `@`: the last one before the path counts.
    let tail = text.get(at + 1..).unwrap_or_default();
    let host = tail
        .iter()
        .take(MAX_LOGIN)
        .take_while(|b| !(b.is_ascii_whitespace() || b"/?#\"'`<>,;)]}\\".contains(b)));
    let host = tail.get(..host.count()).unwrap_or_default();
    let end = at + host.iter().rposition(|b| *b == b'@').map_or(0, |more| more + 1);
    let colon = login.iter().position(|b| *b == b':');
    let path = login.iter().position(|b| b"/?#".contains(b));
    let Some(colon) = colon.filter(|colon| path.is_none_or(|path| *colon < path)) else {
        let whole = login_start..end;
        return if path.is_none() && is_token(scheme, login) { vec![whole] } else { Vec::new() };
    };
    let (user, password) = (login_start..login_start + colon, login_start + colon + 1..end);
    if let Some(path) = path {
        // `https://host:8080/a/@b` has a port, not a password with a slash.
        let first = login.get(colon + 1..path).unwrap_or_default();
        if is_web(scheme) && first.iter().all(u8::is_ascii_digit) {
            return Vec::new();
        }
    }
    let secret = |range: &Range<usize>| {
        let value = text.get(range.clone()).unwrap_or_default();
        !value.is_empty() && !is_stand_in(value) && !marker::is_marker(value)
    };
    let name = text.get(user.clone()).unwrap_or_default();
    // GitHub and others take the token for the user: `https://TOKEN:x-oauth-basic@host`.
    let token = is_token(b"https", name) && (name.len() >= 20 || password.is_empty());
    let mut found = Vec::new();
    found.extend(Some(user).filter(|user| token && secret(user)));
    found.extend(Some(password).filter(secret));
    found
}

/// `${PASSWORD}` and `%s`, but not a password of one letter repeated.
fn is_stand_in(value: &[u8]) -> bool {
    is_reference(value) && !value.iter().all(u8::is_ascii_alphanumeric)
}

fn is_web(scheme: &[u8]) -> bool {
    scheme.ends_with(b"http") || scheme.ends_with(b"https")
}

/// Whether the only part before an `@` is a token, and not the name of a user.
fn is_token(scheme: &[u8], login: &[u8]) -> bool {
    let letters = Letters::of(login);
    let coded = letters.digit || (letters.lower && letters.upper) || login.len() >= 20;
    let web = is_web(scheme);
    let long_enough = login.len() >= if web { 5 } else { 16 };
    let upper = web && letters.upper && !letters.lower;
    !is_reference(login) && long_enough && (upper || (coded && (web || letters.digit)))
}

/// `user:pw@tcp(host:3306)/name`.
fn in_dsn(text: &[u8], start: usize, at: usize) -> Option<Range<usize>> {
    const NETWORKS: [&str; 6] = ["tcp(", "tcp4(", "tcp6(", "unix(", "udp(", "cloudsql("];
    let host = text.get(at + 1..)?;
    let network = NETWORKS.iter().any(|network| host.starts_with(network.as_bytes()));
    let login = text.get(start..at)?;
    let colon = login.iter().position(|b| *b == b':').filter(|colon| network && *colon > 0)?;
    let password = start + colon + 1..at;
    let value = text.get(password.clone())?;
    let known = value.is_empty() || is_stand_in(value) || marker::is_marker(value);
    (!known).then_some(password)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(text: &str) -> Vec<&str> {
        let at = text.find('@').expect("an @");
        find(text.as_bytes(), at).into_iter().filter_map(|range| text.get(range)).collect()
    }

    #[test]
    fn passwords_and_tokens_before_an_at_are_found() {
        for (text, found) in [
            ("postgres://bob:pw@db:5432/x", vec!["pw"]),
            ("postgres://bob:p/w+x@db:5432/x", vec!["p/w+x"]),
            ("postgres://bob:p@w@db:5432/x", vec!["p@w"]),
            ("redis://:pw@cache", vec!["pw"]),
            ("https://TOKEN@host/x", vec!["TOKEN"]),
            ("https://abc123def@host/x", vec!["abc123def"]),
            (
                "https://ghp_0123456789abcdefABCD:x-oauth-basic@host",
                vec!["ghp_0123456789abcdefABCD", "x-oauth-basic"],
            ),
            ("root:s3c/ret@tcp(db:3306)/shop", vec!["s3c/ret"]),
            ("dsn=root:s3cret@unix(/tmp/x.sock)/shop", vec!["s3cret"]),
        ] {
            assert_eq!(masked(text), found, "{text}");
        }
    }

    #[test]
    fn users_addresses_and_paths_stay() {
        for text in [
            "ssh://git@host/x",
            "postgres://app_user@db/x",
            "https://host:8080/@scope/x",
            "https://host/@user",
            "https://host/?mail=bob@example.org",
            "mail bob@example.org",
            "image: app@sha256:4bf92f3577b34da6",
            "http://bob:[masked]@host",
            "amqp://${USER}:${PASSWORD}@mq",
            "BinderProxy@2bd79ce",
        ] {
            assert!(masked(text).is_empty(), "{text}");
        }
    }
}
