//! Label selectors, as far as Kubernetes defines them.

use serde_json::Value;

use crate::json::{list, word};

/// The labels that pods of this object carry: of the template for workloads, else its own.
pub(crate) fn pod_labels(object: &Value) -> Option<&Value> {
    object.pointer("/spec/template/metadata/labels").or_else(|| object.pointer("/metadata/labels"))
}

/// Whether a plain map of labels, none of them missing, is part of the given labels.
pub(crate) fn map_selects(selector: &Value, labels: Option<&Value>) -> bool {
    let Some(wanted) = selector.as_object().filter(|wanted| !wanted.is_empty()) else {
        return false;
    };
    wanted.iter().all(|(key, value)| labels.and_then(|labels| labels.get(key)) == Some(value))
}

/// Whether every expression of a list holds for the labels.
pub(crate) fn expressions_select(list: &Value, labels: Option<&Value>) -> bool {
    list.as_array().is_some_and(|list| list.iter().all(|one| holds(one, labels)))
}

/// Whether a selector with `matchLabels` and `matchExpressions` selects the labels. As in
/// Kubernetes an empty selector selects everything; a missing one nothing.
pub(crate) fn selects(selector: &Value, labels: Option<&Value>) -> bool {
    let by_map =
        selector.get("matchLabels").filter(|map| map.as_object().is_some_and(|m| !m.is_empty()));
    let expressions = selector.get("matchExpressions");
    selector.is_object()
        && by_map.is_none_or(|map| map_selects(map, labels))
        && expressions.is_none_or(|list| expressions_select(list, labels))
}

fn holds(expression: &Value, labels: Option<&Value>) -> bool {
    let value = labels.and_then(|labels| labels.get(word(expression, "/key")));
    let listed = value.is_some_and(|value| list(expression, "/values").any(|one| one == value));
    match word(expression, "/operator") {
        "In" => listed,
        "NotIn" => !listed,
        "Exists" => value.is_some(),
        "DoesNotExist" => value.is_none(),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn selectors_select_as_kubernetes_does() {
        let labels = json!({"app": "cart", "tier": "web"});
        let cases = [
            (json!({"matchLabels": {"app": "cart"}}), true),
            (json!({"matchLabels": {"app": "cart", "x": "y"}}), false),
            (json!({}), true),
            (Value::Null, false),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "In", "values": ["cart"]}]}),
                true,
            ),
            (
                json!({"matchExpressions": [{"key": "app", "operator": "NotIn", "values": ["cart"]}]}),
                false,
            ),
            (json!({"matchExpressions": [{"key": "no", "operator": "DoesNotExist"}]}), true),
            (json!({"matchExpressions": [{"key": "app", "operator": "Odd"}]}), false),
        ];
        for (selector, expected) in cases {
            assert_eq!(selects(&selector, Some(&labels)), expected, "{selector}");
        }
        assert!(!map_selects(&json!({}), Some(&labels)));
    }
}
