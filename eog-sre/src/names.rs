//! Entity names of the SRE domain: `namespace/Kind/name`.

use std::fmt;

use eog_core::{EntityId, MAX_ENTITY_ID_BYTES};

/// Kinds that run pods.
pub(crate) const WORKLOAD_KINDS: [&str; 5] =
    ["Deployment", "StatefulSet", "DaemonSet", "Rollout", "DeploymentConfig"];

/// A Kubernetes-style object name, taken apart.
///
/// Written as `namespace/Kind/name`; objects that live in no namespace are written `Kind/name`.
///
/// ```
/// use eog_sre::EntityName;
/// let pod = EntityName::parse("shop/Pod/cart-1").unwrap();
/// assert_eq!(pod.namespace.as_deref(), Some("shop"));
/// assert_eq!(EntityName::parse("Node/a").unwrap().namespace, None);
/// assert_eq!(pod.to_string(), "shop/Pod/cart-1");
/// ```
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct EntityName {
    /// The namespace, or nothing for objects of the whole cluster.
    pub namespace: Option<String>,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The bare name.
    pub name: String,
}

impl EntityName {
    /// Puts a name together. An empty namespace counts as none.
    pub fn new(namespace: Option<&str>, kind: &str, name: &str) -> Self {
        let namespace = namespace.map(clean).filter(|part| !part.is_empty());
        Self { namespace, kind: clean(kind), name: clean(name) }
    }

    /// Takes a name apart, or gives nothing when it has not two or three parts.
    pub fn parse(text: &str) -> Option<Self> {
        let mut parts = text.split('/');
        let (first, second, third) = (parts.next()?, parts.next()?, parts.next());
        if parts.next().is_some() {
            return None;
        }
        let name = match third {
            Some(name) => Self::new(Some(first), second, name),
            None => Self::new(None, first, second),
        };
        (!name.kind.is_empty() && !name.name.is_empty()).then_some(name)
    }

    /// The name as an entity, or nothing when telemetry gave a name that no entity can have.
    pub fn id(&self) -> Option<EntityId> {
        if self.kind.is_empty() || self.name.is_empty() {
            return None;
        }
        EntityId::new(self.to_string()).ok()
    }
}

impl fmt::Display for EntityName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.namespace {
            Some(namespace) => write!(f, "{namespace}/{}/{}", self.kind, self.name),
            None => write!(f, "{}/{}", self.kind, self.name),
        }
    }
}

/// The entity `namespace/Kind/name`, if the parts make one.
pub(crate) fn entity(namespace: &str, kind: &str, name: &str) -> Option<EntityId> {
    EntityName::new(Some(namespace), kind, name).id()
}

/// The bare name of an entity: its last segment.
pub(crate) fn bare(entity: &EntityId) -> &str {
    entity.as_str().rsplit('/').next().unwrap_or_default()
}

/// The kind of an entity: the segment before the last.
pub(crate) fn kind_of(entity: &EntityId) -> &str {
    entity.as_str().rsplit('/').nth(1).unwrap_or_default()
}

/// The namespace of an entity, if it has one.
pub(crate) fn namespace_of(entity: &EntityId) -> Option<&str> {
    let mut parts = entity.as_str().split('/');
    let first = parts.next()?;
    (parts.count() == 2).then_some(first)
}

/// Kind and bare name of an entity, for sentences that say the namespace elsewhere.
pub(crate) fn short(entity: &EntityId) -> &str {
    let text = entity.as_str();
    let after = namespace_of(entity).and_then(|space| text.get(space.len() + 1..));
    after.unwrap_or(text)
}

/// A part of a name without what would break the form: slashes, control characters, padding.
fn clean(part: &str) -> String {
    let kept = part.trim().chars().filter(|c| !c.is_control());
    let mut name: String = kept.map(|c| if c == '/' { '_' } else { c }).collect();
    let longest = MAX_ENTITY_ID_BYTES / 4;
    if name.len() > longest {
        let end = (0..=longest).rev().find(|at| name.is_char_boundary(*at)).unwrap_or(0);
        name.truncate(end);
    }
    name.trim().to_owned()
}

/// Whether an API version (`group/version`) is one of fault experiments.
pub(crate) fn is_experiment_group(version: &str) -> bool {
    version.split_once('/').is_some_and(|(group, _)| group.to_lowercase().contains("chaos"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_from_telemetry_become_entities_or_nothing() {
        let cases = [
            (("shop", "Pod", "cart-1"), Some("shop/Pod/cart-1")),
            (("", "Node", "a"), Some("Node/a")),
            (("shop", "Pod", " padded\n"), Some("shop/Pod/padded")),
            (("shop", "Pod", "a/b"), Some("shop/Pod/a_b")),
            (("shop", "Pod", "  "), None),
            (("shop", "", "x"), None),
        ];
        for ((namespace, kind, name), expected) in cases {
            let id = entity(namespace, kind, name);
            assert_eq!(id.as_ref().map(EntityId::as_str), expected, "{name:?}");
        }
        assert!(entity("n", "Pod", &"é".repeat(4000)).is_some());
    }

    #[test]
    fn parts_of_an_entity_are_found_again() {
        let (pod, node) = (entity("shop", "Pod", "p").unwrap(), entity("", "Node", "n").unwrap());
        assert_eq!((namespace_of(&pod), kind_of(&pod), bare(&pod)), (Some("shop"), "Pod", "p"));
        assert_eq!((namespace_of(&node), kind_of(&node), bare(&node)), (None, "Node", "n"));
        assert_eq!(EntityName::parse("a/b/c/d"), None);
    }
}
