//! Values with a path: `spec/containers[web]/env[DB_PASSWORD]/value`, `data/app.ini#db.password`.

use crate::names::{self, Name};
use crate::random::decoded;
use crate::value::{Tie, is_secret};

/// Last parts of a path that say nothing of what a value is: the part before them does.
const HOLDERS: [&str; 8] = ["value", "val", "values", "old", "new", "content", "text", "default"];

/// Whether the value at a path is a secret as a whole.
pub(crate) fn is_secret_at(path: &str, value: &str) -> bool {
    let mut parts: Vec<&str> =
        path.split(['/', '#', '[', ']']).filter(|part| !part.is_empty()).collect();
    if is_data_of_secret(&parts) {
        return is_secret(Name::Password, Tie::Sign, false, value.as_bytes());
    }
    // Indices say nothing either: `args[3]`.
    let silent = |part: &&str| {
        HOLDERS.iter().any(|holder| part.eq_ignore_ascii_case(holder))
            || part.bytes().all(|byte| byte.is_ascii_digit())
    };
    while parts.len() > 1 && parts.last().is_some_and(silent) {
        parts.pop();
    }
    let Some(name) = parts.last() else { return false };
    let last = name.rsplit('.').next().unwrap_or_default();
    if last.eq_ignore_ascii_case("auth") && is_login(value) {
        return true;
    }
    // A file in a ConfigMap (`app.properties`) is named by all of its name, a property by its end.
    let kind = names::judge(name, "").or_else(|| names::judge(last, ""));
    let loud = !name.bytes().any(|byte| byte.is_ascii_lowercase());
    // A file holds more than its secrets.
    let one_line = !value.trim_end().contains('\n');
    kind.is_some_and(|kind| one_line && is_secret(kind, Tie::Sign, loud, value.as_bytes()))
}

/// Whether a path leads below `data` or `stringData` of an object of kind `Secret`.
fn is_data_of_secret(parts: &[&str]) -> bool {
    let kind = parts.iter().position(|part| *part == "Secret");
    let below = kind.and_then(|at| parts.get(at + 1..)).unwrap_or_default();
    below.iter().any(|part| matches!(*part, "data" | "stringData"))
}

/// Whether a value is `user:password` in base64, as registries of Docker have it.
fn is_login(value: &str) -> bool {
    decoded(value.as_bytes()).is_some_and(|plain| plain.contains(&b':'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_show_what_values_are() {
        for (path, value, secret) in [
            ("env[DB_PASSWORD]/value", "hunter2", true),
            ("data/app.ini#db.password", "hunter2", true),
            ("shop/Secret/login#data/anything", "Ym9i", true),
            ("auths/registry.example.org/auth", "Ym9iOnB3", true),
            ("--password", "hunter2", true),
            ("password", "12345", true),
            ("env[DB_HOST]/value", "db", false),
            ("spec/volumes[0]/secret/secretName", "login", false),
            ("metadata/resourceVersion", "123456", false),
            ("env[MAX_TOKENS]/value", "4096", false),
            ("spec/replicas", "3", false),
            ("shop/ConfigMap/app#data/mode", "on", false),
            ("tolerations[0]/key", "node.kubernetes.io/not-ready", false),
            ("", "hunter2", false),
        ] {
            assert_eq!(is_secret_at(path, value), secret, "{path}");
        }
    }
}
