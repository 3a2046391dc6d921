//! Masks objects before they are stored, and still lets a changed secret be seen as changed.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use eog_evidence::{is_secret_field, mask_text};

/// Masks objects, and still lets a changed secret be seen as changed.
///
/// While a snapshot is read, each secret value of a place gets a number in the order in which the
/// values came up: `[masked 1]`, `[masked 2]`. The values themselves are forgotten with the masker.
#[derive(Debug, Default)]
pub struct Masker {
    seen: BTreeMap<String, Vec<String>>,
}

impl Masker {
    /// Masks every secret below `value`. `place` names the object, for distinguishing values.
    pub fn mask(&mut self, place: &str, kind: &str, value: &mut Value) {
        if kind == "Secret" {
            for field in ["data", "stringData"] {
                if let Some(data) = value.get_mut(field) {
                    self.mask_all(&format!("{place}#{field}"), data);
                }
            }
        }
        self.mask_below(place, value);
    }

    fn mask_all(&mut self, place: &str, value: &mut Value) {
        match value {
            Value::Object(map) => {
                for (key, value) in map.iter_mut() {
                    self.mask_all(&format!("{place}/{key}"), value);
                }
                mask_keys(map);
            }
            Value::Array(items) => {
                for (at, item) in items.iter_mut().enumerate() {
                    self.mask_all(&format!("{place}/{at}"), item);
                }
            }
            Value::Null => {}
            other => *other = Value::String(self.numbered(place, &other.to_string())),
        }
    }

    fn mask_below(&mut self, place: &str, value: &mut Value) {
        match value {
            Value::Object(map) => {
                // An environment entry is a pair of fields, `name` and `value`.
                let name = map.get("name").and_then(Value::as_str).unwrap_or_default().to_owned();
                for (key, value) in map.iter_mut() {
                    let inner = format!("{place}/{key}");
                    let holder = if key == "value" && !name.is_empty() { &name } else { key };
                    match value {
                        Value::String(text) => self.mask_field(&inner, holder, text),
                        _ => self.mask_below(&inner, value),
                    }
                }
                mask_keys(map);
            }
            Value::Array(items) => {
                let mut flag = String::new();
                for (at, item) in items.iter_mut().enumerate() {
                    let name = item.get("name").and_then(Value::as_str).map(str::to_owned);
                    let inner = format!("{place}/{}", name.unwrap_or_else(|| at.to_string()));
                    let Value::String(text) = item else {
                        self.mask_below(&inner, item);
                        continue;
                    };
                    self.mask_field(&inner, &flag, text);
                    flag = if text.starts_with('-') { text.clone() } else { String::new() };
                }
            }
            Value::String(text) => self.mask_field(place, "", text),
            _ => {}
        }
    }

    fn mask_field(&mut self, place: &str, name: &str, text: &mut String) {
        if text.starts_with("[masked ") {
            return;
        }
        if is_secret_field(name, text) {
            *text = self.numbered(place, text);
            return;
        }
        let masked = mask_text(text);
        if masked != *text {
            // Which of several secrets in one text changed is not given, only that one did.
            let version = self.version(place, text);
            *text = if version == 1 { masked } else { format!("{masked} [{version}]") };
        }
    }

    fn numbered(&mut self, place: &str, secret: &str) -> String {
        format!("[masked {}]", self.version(place, secret))
    }

    fn version(&mut self, place: &str, secret: &str) -> usize {
        let seen = self.seen.entry(place.to_owned()).or_default();
        let known = seen.iter().position(|known| known == secret);
        known.unwrap_or_else(|| {
            seen.push(secret.to_owned());
            seen.len() - 1
        }) + 1
    }
}

/// The names of fields without their secrets.
fn mask_keys(map: &mut Map<String, Value>) {
    let keys = map.keys().map(|key| (key.clone(), mask_text(key)));
    let secret: Vec<(String, String)> = keys.filter(|(key, masked)| key != masked).collect();
    for (key, masked) in secret {
        let value = map.remove(&key).unwrap_or_default();
        map.insert(masked, value);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_changed_secret_shows_as_changed_and_masked() {
        let mut masker = Masker::default();
        let secret = |value: &str| json!({"data": {"pw": value}, "type": "Opaque"});
        let env = |value: &str| json!({"env": [{"name": "SECRET_KEY_BASE", "value": value}, {"name": "A", "value": "b"}]});
        let mut seen = Vec::new();
        for value in ["one", "two", "one"] {
            let (mut secret, mut env) = (secret(value), env(value));
            masker.mask("ns/Secret/s", "Secret", &mut secret);
            masker.mask("ns/Deployment/d", "Deployment", &mut env);
            assert!(!format!("{secret}{env}").contains(value));
            assert_eq!(env["env"][1]["value"], "b");
            seen.push((secret["data"]["pw"].clone(), env["env"][0]["value"].clone()));
        }
        assert_ne!(seen[0], seen[1]);
        assert_eq!(seen[0], seen[2]);
    }

    #[test]
    fn secrets_inside_embedded_text_show_their_change() {
        let mut masker = Masker::default();
        let mut first = json!({"data": {"app.conf": "url=http://a\npassword=one"}});
        let mut second = json!({"data": {"app.conf": "url=http://a\npassword=two"}});
        masker.mask("ns/ConfigMap/c", "ConfigMap", &mut first);
        masker.mask("ns/ConfigMap/c", "ConfigMap", &mut second);
        assert_ne!(first, second);
        assert!(!first.to_string().contains("one") && !second.to_string().contains("two"));
    }
}
