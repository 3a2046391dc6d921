//! What Jaeger and OpenTelemetry write of spans and log lines, in one form.

use std::collections::BTreeMap;

use eog_evidence::{mask_named, mask_text, shorten};
use serde_json::Value;

use crate::piece::Who;

/// Longest text of a span or a line that is kept, in characters.
const MAX_TEXT: usize = 2_000;

/// Most attributes of one record that are kept.
const MAX_ATTRIBUTES: usize = 64;

/// Attributes by name, masked.
pub(crate) type Attributes = BTreeMap<String, String>;

/// A text, masked and bounded.
pub(crate) fn text(text: &str) -> String {
    shorten(&mask_text(text), MAX_TEXT)
}

/// Adds an attribute, masked.
pub(crate) fn add(attributes: &mut Attributes, name: &str, value: &str) {
    if attributes.len() < MAX_ATTRIBUTES && !name.is_empty() {
        let value = shorten(&mask_named(name, value), MAX_TEXT);
        attributes.insert(shorten(name, 200), value);
    }
}

/// The service that sent a record, by the attributes of its resource.
pub(crate) fn sender(resource: &Attributes) -> Option<Who> {
    let of = |name: &str| resource.get(name).map(String::as_str).unwrap_or_default();
    let name = of("service.name");
    let namespaces = ["k8s.namespace.name", "service.namespace"];
    let namespace = namespaces.into_iter().map(of).find(|name| !name.is_empty());
    (!name.is_empty()).then(|| Who::Service {
        namespace: namespace.unwrap_or_default().to_owned(),
        name: name.to_owned(),
    })
}

/// Attributes that name who is asked, best first.
const PEERS: [&str; 4] = ["peer.service", "server.address", "net.peer.name", "db.system"];

/// Who is asked; empty where it is not said.
pub(crate) fn peer(attributes: &Attributes) -> &str {
    let found = PEERS.iter().find_map(|name| attributes.get(*name).filter(|it| !it.is_empty()));
    found.map(String::as_str).unwrap_or_default()
}

/// Whether a request failed, by the attributes that say how it ended; as a server sees it.
pub(crate) fn failed(attributes: &Attributes) -> Option<bool> {
    let code = ["http.response.status_code", "http.status_code"];
    let code = code.into_iter().find_map(|name| attributes.get(name)?.parse::<u16>().ok());
    let grpc = attributes.get("rpc.grpc.status_code").and_then(|code| code.parse::<u16>().ok());
    match (code, grpc) {
        (Some(code), _) => Some(code >= 500),
        (None, Some(code)) => Some(matches!(code, 2 | 4 | 12 | 13 | 14 | 15)),
        (None, None) => None,
    }
}

/// A value of JSON as text.
pub(crate) fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => String::new(),
        other => other.to_string(),
    }
}
