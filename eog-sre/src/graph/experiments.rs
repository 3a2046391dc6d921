//! What a fault experiment aims at: the selectors in its specification.

use eog_core::EntityId;
use serde_json::Value;

use super::labels::{expressions_select, map_selects};
use crate::names;

/// Deepest place of a selector: a scheduled experiment, or a step of a workflow, holds the
/// experiment in a field of its own.
const MAX_DEPTH: usize = 6;

/// Most selectors of one object.
const MAX_AIMS: usize = 64;

/// One selector of an experiment.
pub(super) struct Aim<'a> {
    selector: &'a Value,
}

/// The selectors of an experiment, those of a schedule and of what it spawns included.
pub(super) fn aims(object: &Value) -> Vec<Aim<'_>> {
    let mut found = Vec::new();
    let spec = object.get("spec").unwrap_or(&Value::Null);
    collect(spec, 0, &mut found);
    found
}

fn collect<'a>(value: &'a Value, depth: usize, found: &mut Vec<Aim<'a>>) {
    if depth > MAX_DEPTH || found.len() >= MAX_AIMS {
        return;
    }
    match value {
        Value::Object(fields) => {
            for (name, inner) in fields {
                if name == "selector" && inner.is_object() {
                    found.push(Aim { selector: inner });
                } else {
                    collect(inner, depth + 1, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect(item, depth + 1, found)),
        _ => {}
    }
}

impl<'a> Aim<'a> {
    /// Whether labels of the target are selected, in the namespaces that the selector names, else
    /// in the experiment's own.
    pub(super) fn hits(
        &self,
        target: &EntityId,
        labels: Option<&Value>,
        own_namespace: Option<&str>,
    ) -> bool {
        let home = names::namespace_of(target);
        let named: Option<Vec<&str>> = self
            .selector
            .get("namespaces")
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).collect())
            .filter(|list: &Vec<&str>| !list.is_empty());
        let in_reach = match &named {
            None => home == own_namespace,
            Some(some) => home.is_some_and(|home| some.contains(&home)),
        };
        let field = |name: &str| self.selector.get(name);
        let filled = |value: &&Value| match value {
            Value::Object(map) => !map.is_empty(),
            Value::Array(list) => !list.is_empty(),
            _ => false,
        };
        let by_map = field("labelSelectors").or_else(|| field("matchLabels")).filter(filled);
        let by_expression =
            field("expressionSelectors").or_else(|| field("matchExpressions")).filter(filled);
        let narrowed = ["pods", "fieldSelectors", "nodes", "nodeSelectors"];
        let selected = match (by_map, by_expression) {
            // A selector of namespaces alone aims at everything in them.
            (None, None) => {
                named.is_some()
                    && !narrowed.iter().any(|name| field(name).is_some_and(|v| filled(&v)))
            }
            (map, list) => {
                map.is_none_or(|map| map_selects(map, labels))
                    && list.is_none_or(|list| expressions_select(list, labels))
            }
        };
        in_reach && selected
    }

    /// Pods that the selector names, with their namespaces.
    pub(super) fn pods(&self) -> impl Iterator<Item = (&'a str, &'a str)> + use<'a> {
        let spaces = self.selector.get("pods").and_then(Value::as_object).into_iter().flatten();
        spaces.flat_map(|(space, names)| {
            let names = names.as_array().into_iter().flatten().filter_map(Value::as_str);
            names.map(move |name| (space.as_str(), name))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_are_found_wherever_they_stand_and_select_by_any_form() {
        let labels = json!({"app": "web"});
        let target = EntityId::new("shop/Deployment/web").unwrap();
        let by_label = json!({"namespaces": ["shop"], "labelSelectors": {"app": "web"}});
        let by_name = json!({"pods": {"shop": ["web-1"]}});
        let by_expression = json!({"namespaces": ["shop"], "expressionSelectors": [
            {"key": "app", "operator": "In", "values": ["web", "cart"]}]});
        let cases = [
            (json!({"selector": by_label}), true),
            (json!({"target": {"selector": by_label}}), true),
            (json!({"networkChaos": {"selector": by_label}}), true),
            (json!({"templates": [{"podChaos": {"selector": by_label}}]}), true),
            (json!({"selector": by_expression}), true),
            (json!({"selector": {"namespaces": ["shop"]}}), true),
            (json!({"selector": {"namespaces": ["shop"], "labelSelectors": {"app": "x"}}}), false),
            (
                json!({"selector": {"namespaces": ["other"], "labelSelectors": {"app": "web"}}}),
                false,
            ),
            (json!({"selector": {"labelSelectors": {"app": "web"}}}), false),
            (json!({"selector": by_name}), false),
            (json!({"selector": {}}), false),
        ];
        for (spec, expected) in cases {
            let object = json!({ "spec": spec });
            let hit =
                aims(&object).iter().any(|aim| aim.hits(&target, Some(&labels), Some("tests")));
            assert_eq!(hit, expected, "{object}");
        }
        let object = json!({"spec": {"selector": by_name}});
        let named: Vec<_> = aims(&object).iter().flat_map(Aim::pods).collect();
        assert_eq!(named, [("shop", "web-1")]);
    }
}
