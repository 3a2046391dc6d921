//! What label selectors choose among, found by namespace and label.

use std::collections::HashMap;

use eog_core::EntityId;
use serde_json::Value;

use super::labels::{map_selects, pod_labels};
use crate::names;

/// What runs pods, or is one, with the labels that its pods carry.
pub(super) struct Selectable<'a> {
    all: Vec<Labelled<'a>>,
    /// The places of all in a namespace. Look-ups alone, as in `by_label`.
    by_namespace: HashMap<Option<&'a str>, Vec<usize>>,
    /// The places of all with a label in a namespace: there may be as many selectors as workloads.
    by_label: HashMap<(Option<&'a str>, &'a str, &'a Value), Vec<usize>>,
}

/// An entity and the labels of its pods.
type Labelled<'a> = (&'a EntityId, Option<&'a Value>);

impl<'a> Selectable<'a> {
    /// Of objects as they were last dumped, in the order of their names.
    pub(super) fn new(objects: impl Iterator<Item = (&'a EntityId, &'a Value)>) -> Self {
        let all: Vec<Labelled<'a>> =
            objects.map(|(entity, object)| (entity, pod_labels(object))).collect();
        let mut by_namespace: HashMap<_, Vec<usize>> = HashMap::new();
        let mut by_label: HashMap<_, Vec<usize>> = HashMap::new();
        for (place, (entity, labels)) in all.iter().enumerate() {
            let namespace = names::namespace_of(entity);
            by_namespace.entry(namespace).or_default().push(place);
            for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
                by_label.entry((namespace, key.as_str(), value)).or_default().push(place);
            }
        }
        Self { all, by_namespace, by_label }
    }

    /// All of them, in every namespace.
    pub(super) fn all(&self) -> &[Labelled<'a>] {
        &self.all
    }

    /// All in a namespace.
    pub(super) fn within<'s>(
        &'s self,
        namespace: Option<&'s str>,
    ) -> impl Iterator<Item = Labelled<'s>> {
        let places = self.by_namespace.get(&namespace).into_iter().flatten();
        places.filter_map(|place| self.all.get(*place).copied())
    }

    /// The labels of the pods of one of them.
    pub(super) fn labels_of(&self, entity: &EntityId) -> Option<Option<&'a Value>> {
        let place = self.all.binary_search_by(|(one, _)| (*one).cmp(entity)).ok()?;
        self.all.get(place).map(|(_, labels)| *labels)
    }

    /// Those in a namespace that a plain map of labels selects.
    pub(super) fn by_map<'s>(
        &'s self,
        namespace: Option<&'s str>,
        selector: &'s Value,
    ) -> impl Iterator<Item = &'s EntityId> {
        let labels = selector.as_object().into_iter().flatten();
        let none = const { &Vec::new() };
        let places = labels.map(|(key, value)| {
            self.by_label.get(&(namespace, key.as_str(), value)).unwrap_or(none)
        });
        let fewest = places.min_by_key(|places| places.len()).unwrap_or(none).iter();
        fewest.filter_map(move |place| {
            let (entity, labels) = self.all.get(*place)?;
            map_selects(selector, *labels).then_some(*entity)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_map_selects_what_has_all_its_labels_in_its_namespace() {
        let object = |labels: Value| json!({"metadata": {"labels": labels}});
        let objects = [
            ("shop/Pod/a", object(json!({"app": "cart", "tier": "web"}))),
            ("shop/Pod/b", object(json!({"app": "cart"}))),
            ("shop/Pod/c", object(json!({"app": 1, "tier": "web"}))),
            ("store/Pod/d", object(json!({"app": "cart", "tier": "web"}))),
            ("shop/Pod/e", json!({})),
        ]
        .map(|(name, object)| (EntityId::new(name).unwrap(), object));
        let selectable = Selectable::new(objects.iter().map(|(name, object)| (name, object)));
        for (namespace, selector, expected) in [
            (Some("shop"), json!({"app": "cart"}), "ab"),
            (Some("shop"), json!({"app": "cart", "tier": "web"}), "a"),
            (Some("shop"), json!({"tier": "web", "app": 1}), "c"),
            (Some("store"), json!({"app": "cart"}), "d"),
            (Some("shop"), json!({"app": "none", "tier": "web"}), ""),
            (None, json!({"app": "cart"}), ""),
            (Some("shop"), json!({}), ""),
            (Some("shop"), Value::Null, ""),
        ] {
            let found = selectable.by_map(namespace, &selector).map(names::bare);
            assert_eq!(found.collect::<String>(), expected, "{namespace:?} {selector}");
            let here = selectable.within(namespace);
            let slow = here.filter(|(_, labels)| map_selects(&selector, *labels));
            let slow = slow.map(|(entity, _)| names::bare(entity));
            assert_eq!(slow.collect::<String>(), expected, "{namespace:?} {selector}");
        }
        assert_eq!(selectable.all().len(), 5);
    }
}
