//! What the name of a field says about its value.

/// How much a name promises a secret, and hence how much its value has to confirm.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Name {
    /// Whatever a person types: any value that is no setting and no reference is one. It may have
    /// several words.
    Password,
    /// Whatever a machine hands out (`access_token`, `API_KEY`): the same, in one word.
    Credential,
    /// A bare `secret` or `token`, which parsers, Kubernetes and window managers speak of as well:
    /// the value must look like a credential.
    Token,
    /// A `…key`, which is more often a name in a map than a secret: the value must look like one.
    Key,
    /// `auth`, `salt`, `session`: the value must look drawn at random.
    Random,
}

/// Words that say *password* wherever they stand in a name.
const PASSWORDS: [&str; 12] = [
    "password",
    "passwords",
    "passwd",
    "passphrase",
    "passcode",
    "pwd",
    "pw",
    "credential",
    "credentials",
    "creds",
    "mnemonic",
    "otp",
];

/// Words that say *credential* wherever they stand in a name.
const CREDENTIALS: [&str; 9] = [
    "apikey",
    "secretkey",
    "accesskey",
    "privatekey",
    "accountkey",
    "sharedkey",
    "authkey",
    "jsessionid",
    "phpsessid",
];

/// Words that say so of the word *key*, *token* or *data* after them.
const KEY_KINDS: [&str; 22] = [
    "access",
    "account",
    "api",
    "app",
    "application",
    "auth",
    "client",
    "decryption",
    "deploy",
    "encryption",
    "host",
    "license",
    "master",
    "private",
    "recovery",
    "secret",
    "service",
    "shared",
    "signing",
    "ssh",
    "storage",
    "tls",
];

/// Ends of words that are written without a separator (`dbpassword`, `requirepass`).
const JOINED: [&str; 14] = [
    "password",
    "passwd",
    "passphrase",
    "requirepass",
    "masterauth",
    "apikey",
    "secretkey",
    "accesstoken",
    "authtoken",
    "csrftoken",
    "idtoken",
    "refreshtoken",
    "sessiontoken",
    "xsrftoken",
];

/// Kinds of keys that name a place in data.
const PLACES: [&str; 26] = [
    "cache",
    "composite",
    "config",
    "dedup",
    "foreign",
    "group",
    "grouping",
    "hash",
    "idempotency",
    "index",
    "label",
    "lookup",
    "map",
    "metric",
    "object",
    "partition",
    "partitioning",
    "primary",
    "public",
    "redis",
    "registry",
    "routing",
    "row",
    "sort",
    "topology",
    "unique",
];

/// Last words of a name that make it speak *of* a secret without holding one.
const ABOUT: [&str; 72] = [
    "addr",
    "address",
    "age",
    "algorithm",
    "attempts",
    "bucket",
    "change",
    "class",
    "column",
    "controller",
    "count",
    "enabled",
    "endpoint",
    "error",
    "errors",
    "expiration",
    "expired",
    "expires",
    "expiry",
    "field",
    "file",
    "format",
    "generator",
    "host",
    "id",
    "ids",
    "index",
    "issuer",
    "kind",
    "label",
    "length",
    "limit",
    "list",
    "lookup",
    "manager",
    "max",
    "method",
    "min",
    "mode",
    "mount",
    "name",
    "names",
    "namespace",
    "path",
    "paths",
    "policy",
    "port",
    "projection",
    "provider",
    "ref",
    "refs",
    "request",
    "required",
    "reset",
    "retries",
    "review",
    "rotation",
    "scope",
    "seconds",
    "service",
    "size",
    "source",
    "state",
    "status",
    "store",
    "time",
    "timeout",
    "ttl",
    "type",
    "uri",
    "url",
    "version",
];

/// The words of a name, in lower case: `dbPassword_2` is `db`, `password`, `2`.
fn words(name: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut previous = ' ';
    for c in name.chars() {
        let starts = (c.is_ascii_uppercase() && !previous.is_ascii_uppercase())
            || c.is_ascii_digit() != previous.is_ascii_digit();
        if !c.is_alphanumeric() {
            previous = ' ';
            continue;
        }
        match words.last_mut() {
            Some(word) if !starts && previous != ' ' => word.push(c.to_ascii_lowercase()),
            // `APIKey`: the last capital of several begins the next word.
            _ => words.push(c.to_ascii_lowercase().to_string()),
        }
        previous = c;
    }
    words
}

/// What a name says, or nothing. `before` is the word in front of it, for `API key: …`.
pub(crate) fn judge(name: &str, before: &str) -> Option<Name> {
    let mut words = words(name);
    while words.last().is_some_and(|last| last.bytes().all(|b| b.is_ascii_digit())) {
        words.pop();
    }
    let before = before.to_ascii_lowercase();
    if words.len() == 1 && KEY_KINDS.contains(&before.as_str()) {
        words.insert(0, before);
    }
    let last = words.last()?.as_str();
    if ABOUT.contains(&last) {
        return None;
    }
    let any = |known: &[&str]| words.iter().any(|word| known.contains(&word.as_str()));
    let pair = |first: &[&str], second: &[&str]| {
        words.windows(2).any(|pair| match pair {
            [a, b] => first.contains(&a.as_str()) && second.contains(&b.as_str()),
            _ => false,
        })
    };
    let joined =
        |end: &&str| words.iter().any(|word| word.ends_with(end) && word.len() > end.len());
    if any(&PASSWORDS) || ["pass", "pin"].contains(&last) {
        return Some(Name::Password);
    }
    if let Some(end) = JOINED.iter().find(|end| joined(end)).or(JOINED.iter().find(|e| **e == last))
    {
        let typed = end.contains("pass");
        return Some(if typed { Name::Password } else { Name::Credential });
    }
    let counted = ["max", "min", "num", "total", "prompt", "completion", "input", "output"];
    if any(&CREDENTIALS)
        || pair(&KEY_KINDS, &["key", "keys"])
        || pair(&["key"], &["data", "base", "material"])
        || (words.len() > 1 && any(&["secret"]))
    {
        return Some(Name::Credential);
    }
    if any(&["token", "tokens", "secret", "secrets", "jwt", "apitoken"]) {
        let named = words.len() > 1 && !counted.contains(&words.first()?.as_str());
        return Some(if named && last == "token" { Name::Credential } else { Name::Token });
    }
    if ["key", "keys"].contains(&last) && !any(&PLACES) {
        return Some(Name::Key);
    }
    let random = ["auth", "salt", "seed", "cookie", "session", "sessionid", "sig", "signature"];
    random.contains(&last).then_some(Name::Random)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_judged_by_their_words() {
        let cases = [
            ("password", Some(Name::Password)),
            ("DB_PASSWORD", Some(Name::Password)),
            ("spring.datasource.password", Some(Name::Password)),
            ("dbPassword2", Some(Name::Password)),
            ("requirepass", Some(Name::Password)),
            ("api_key", Some(Name::Credential)),
            ("x-api-key", Some(Name::Credential)),
            ("accessToken", Some(Name::Credential)),
            ("client-key-data", Some(Name::Credential)),
            ("AccountKey", Some(Name::Credential)),
            ("SECRET_KEY_BASE", Some(Name::Credential)),
            ("token", Some(Name::Token)),
            ("maxTokens", Some(Name::Token)),
            ("MY_BILLING_KEY", Some(Name::Key)),
            ("auth", Some(Name::Random)),
            ("secretName", None),
            ("tokenExpirationSeconds", None),
            ("TOKEN_URL", None),
            ("passwordPolicy", None),
            ("partitionKey", None),
            ("topologyKey", None),
            ("compass", None),
            ("author", None),
            ("monkey", None),
        ];
        for (name, expected) in cases {
            assert_eq!(judge(name, ""), expected, "{name}");
        }
        assert_eq!(judge("key", "API"), Some(Name::Credential));
    }
}
