//! How truths and outputs name entities, and what they say in words.

use std::fmt;

use serde_json::Value;

/// An entity as an output names it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct NamedEntity {
    /// Its namespace, where it is given.
    pub namespace: Option<String>,
    /// Its kind, where it is given.
    pub kind: Option<String>,
    /// Its name.
    pub name: String,
}

impl NamedEntity {
    /// Reads `namespace/Kind/name`, `Kind/name`, `name Kind`, or a mere name. A namespace that is
    /// empty or `unknown` is not given.
    ///
    /// ```
    /// use eog_eval::itbench::NamedEntity;
    /// let cart = NamedEntity::parse("otel/Service/cart");
    /// assert_eq!((cart.kind.as_deref(), cart.name.as_str()), (Some("Service"), "cart"));
    /// assert_eq!(NamedEntity::parse("cart Service").kind, cart.kind);
    /// ```
    pub fn parse(text: &str) -> Self {
        let text = text.trim();
        let given = |part: &str| {
            (!part.is_empty() && !part.eq_ignore_ascii_case("unknown")).then(|| part.to_owned())
        };
        let parts: Vec<&str> = text.splitn(3, '/').collect();
        let (namespace, kind, name) = match parts.as_slice() {
            [namespace, kind, name] => (given(namespace), given(kind), *name),
            [kind, name] => (None, given(kind), *name),
            _ => match text.rsplit_once(' ') {
                Some((name, kind)) => (None, given(kind), name),
                None => (None, None, text),
            },
        };
        Self { namespace, kind, name: name.trim().to_owned() }
    }
}

impl fmt::Display for NamedEntity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let parts = [self.namespace.as_deref(), self.kind.as_deref(), Some(self.name.as_str())];
        f.write_str(&parts.into_iter().flatten().collect::<Vec<_>>().join("/"))
    }
}

/// A text that says something.
pub(super) fn text_in(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}
