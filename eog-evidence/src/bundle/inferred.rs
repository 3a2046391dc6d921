//! A topology where none is given: who names whom in errors and warnings.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::incident::{Edge, EffectDirection};
use eog_core::{EntityId, Topology};

use super::intake::{ByEntity, Telemetry};

/// Shortest name that counts in a text, in characters: shorter ones are common words.
const MIN_NAME: usize = 3;

/// Most edges that are inferred, and that a warning names.
const MAX_EDGES: usize = 10_000;
const MAX_NAMED: usize = 20;

/// Words before a name that is not called: it is who calls, or for whom it is done.
const OTHERS: [&str; 6] = ["from", "by", "for", "of", "client", "caller"];

/// Adds calls to a topology without edges, where no record names another entity in a column of its own: an error or warning
/// that names a known entity is taken for a call to it. Gives what is to be said of it.
pub(super) fn calls(topology: &mut Topology, telemetry: &ByEntity) -> Option<String> {
    let is_stated =
        topology.edges().next().is_some() || telemetry.values().any(|it| names_peer(it));
    if is_stated || telemetry.len() < 2 {
        return None;
    }
    let names = Names::of(topology.entities().chain(telemetry.keys()));
    let mut calls: BTreeSet<(&EntityId, EntityId)> = BTreeSet::new();
    for (caller, telemetry) in telemetry {
        for pattern in telemetry.logs.severe_patterns() {
            let named = names.within(&pattern.example);
            let others = named.into_iter().filter(|callee| *callee != caller);
            calls.extend(others.map(|callee| (caller, callee.clone())));
        }
        if calls.len() > MAX_EDGES {
            break;
        }
    }
    if calls.is_empty() {
        let reason = "no edges are known: the topology has none, and no record names another entity; what began \
                      elsewhere cannot be followed to the alerts";
        return Some(reason.to_owned());
    }
    let told: Vec<String> = calls
        .iter()
        .take(MAX_NAMED)
        .map(|(caller, callee)| format!("{caller} calls {callee}"))
        .collect();
    let note = format!(
        "the topology has no edges: {} are inferred from names in errors and warnings: {}",
        calls.len(),
        told.join("; ")
    );
    for (caller, callee) in calls.into_iter().take(MAX_EDGES) {
        topology.add_edge(Edge {
            source: caller.clone(),
            target: callee,
            relation: "calls".to_owned(),
            effects: EffectDirection::TargetToSource,
        });
    }
    Some(note)
}

/// Whether a record of an entity names another one in a column of its own.
fn names_peer(of: &Telemetry) -> bool {
    !of.spans.is_empty()
        || of.series.values().any(|series| series.peer.is_some())
        || of.events.iter().any(|event| event.peer.is_some())
        || of.logs.severe_peers().next().is_some()
}

/// Entities by the words that name them.
struct Names<'e>(BTreeMap<&'e str, Option<&'e EntityId>>);

impl<'e> Names<'e> {
    fn of(entities: impl Iterator<Item = &'e EntityId>) -> Self {
        let mut names: BTreeMap<&str, Option<&EntityId>> = BTreeMap::new();
        for entity in entities {
            let whole = entity.as_str();
            // Telemetry often leaves the namespace out.
            let plain = whole.rsplit('/').next().unwrap_or(whole);
            for name in BTreeSet::from([whole, plain]) {
                if name.chars().count() >= MIN_NAME {
                    let known = names.entry(name).or_insert(Some(entity));
                    // What may be meant by a name is one.
                    *known = known.filter(|known| *known == entity);
                }
            }
        }
        Self(names)
    }

    /// The entities that a text names as what it is about.
    fn within(&self, text: &str) -> Vec<&'e EntityId> {
        let is_between = |c: char| c.is_whitespace() || "\"'`,;:=()[]{}<>|@".contains(c);
        let words = text.split(is_between).filter(|word| !word.is_empty());
        let mut before = String::new();
        let mut found = Vec::new();
        for word in words {
            let word = word.trim_matches(['/', '.', '-', '!', '?']);
            let host = word.split('.').next().unwrap_or(word);
            let named = [word, host].into_iter().find_map(|name| self.0.get(name).copied()?);
            if let Some(entity) = named.filter(|_| !OTHERS.contains(&before.as_str())) {
                found.push(entity);
            }
            before = word.to_lowercase();
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_whole_words_and_not_those_of_callers() {
        let all = ["auth-service", "shop/cart", "db", "eu/web", "us/web"];
        let all = all.map(|name| EntityId::new(name).unwrap());
        let names = Names::of(all.iter());
        for (text, expected) in [
            ("token not checked: auth-service answered 503", "auth-service"),
            ("GET http://cart.shop.svc:8080/items: timeout", "shop/cart"),
            ("cannot reach \"auth-service\", nor shop/cart.", "auth-service shop/cart"),
            ("request from auth-service failed", ""),
            ("auth-service-2 and my-auth-service are others", ""),
            // Too short, and either of two.
            ("db is gone, web too", ""),
        ] {
            let found: Vec<&str> = names.within(text).iter().map(|it| it.as_str()).collect();
            assert_eq!(found.join(" "), expected, "{text}");
        }
    }
}
