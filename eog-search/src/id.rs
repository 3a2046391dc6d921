//! Names of nodes: paths of ordinals.

use std::fmt;
use std::str::FromStr;

use eog_core::EntityId;
use serde::{Deserialize, Serialize, Serializer};

/// The name of a node: the ordinals on the way to it, counted from 1 in the order in which each
/// parent's children were proposed.
///
/// It depends on the tree alone, never on a clock or on the order of answers.
///
/// ```
/// use eog_search::NodeId;
/// let node: NodeId = "3.1.2".parse()?;
/// assert_eq!((node.depth(), node.parent().unwrap().to_string()), (3, "3.1".to_owned()));
/// assert_eq!(NodeId::root().to_string(), "root");
/// # Ok::<(), eog_search::InvalidPlace>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Deserialize)]
#[serde(try_from = "String")]
pub struct NodeId(Vec<u32>);

impl NodeId {
    const ROOT: &'static str = "root";

    /// The root: the case itself.
    pub fn root() -> Self {
        Self::default()
    }

    /// From the ordinals, counted from 1.
    pub(crate) fn of(ordinals: Vec<u32>) -> Self {
        Self(ordinals)
    }

    /// Whether it is the root.
    pub fn is_root(&self) -> bool {
        self.0.is_empty()
    }

    /// How many steps from the root.
    pub fn depth(&self) -> usize {
        self.0.len()
    }

    /// The node that it was proposed at; nothing for the root.
    pub fn parent(&self) -> Option<Self> {
        let (_, above) = self.0.split_last()?;
        Some(Self(above.to_vec()))
    }

    /// The child of this ordinal.
    #[must_use]
    pub fn child(&self, ordinal: u32) -> Self {
        let mut ordinals = self.0.clone();
        ordinals.push(ordinal);
        Self(ordinals)
    }

    /// The ordinals, the root's child first.
    pub fn ordinals(&self) -> &[u32] {
        &self.0
    }

    /// Whether the other node is this one or stands below it.
    pub fn holds(&self, other: &Self) -> bool {
        other.0.starts_with(&self.0)
    }
}

impl fmt::Display for NodeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ordinals: Vec<String> = self.0.iter().map(u32::to_string).collect();
        f.pad(if self.is_root() { Self::ROOT.to_owned() } else { ordinals.join(".") }.as_str())
    }
}

impl FromStr for NodeId {
    type Err = InvalidPlace;

    fn from_str(text: &str) -> Result<Self, InvalidPlace> {
        if text == Self::ROOT {
            return Ok(Self::root());
        }
        let ordinal = |part: &str| part.parse().ok().filter(|ordinal: &u32| *ordinal > 0);
        let ordinals: Option<Vec<u32>> = text.split('.').map(ordinal).collect();
        let node = ordinals.map(Self).filter(|node| node.to_string() == text);
        node.ok_or_else(|| InvalidPlace(text.chars().take(40).collect()))
    }
}

impl TryFrom<String> for NodeId {
    type Error = InvalidPlace;

    fn try_from(text: String) -> Result<Self, InvalidPlace> {
        text.parse()
    }
}

impl Serialize for NodeId {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

/// A place in the tree where something is evaluated or asked: a node, or a step of the simulation that
/// begins at it, such as `3.1+2`.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
#[serde(try_from = "String")]
pub struct Place {
    node: NodeId,
    step: u32,
    /// The same as text.
    key: EntityId,
}

impl Place {
    /// A node itself.
    pub fn node(node: NodeId) -> Self {
        Self::step(node, 0)
    }

    pub(crate) fn root() -> Self {
        Self::node(NodeId::root())
    }

    /// A step of the simulation from a node, counted from 1; 0 is the node itself.
    pub fn step(node: NodeId, step: u32) -> Self {
        let text = if step == 0 { node.to_string() } else { format!("{node}+{step}") };
        let Ok(key) = EntityId::new(shortened(text)) else {
            unreachable!("digits and dots, never empty")
        };
        Self { node, step, key }
    }

    /// The node, or the one that the simulation begins at.
    pub fn at(&self) -> &NodeId {
        &self.node
    }

    /// Which step of the simulation, counted from 1; 0 for the node itself.
    pub fn step_number(&self) -> u32 {
        self.step
    }

    /// What questions about it are keyed by.
    pub(crate) fn key(&self) -> &EntityId {
        &self.key
    }
}

/// Names are at most 512 bytes long; deeper trees than that are keyed by the end of the path.
fn shortened(text: String) -> String {
    match text.len() > eog_core::MAX_ENTITY_ID_BYTES {
        true => text[text.len() - eog_core::MAX_ENTITY_ID_BYTES..].to_owned(),
        false => text,
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.key.as_str())
    }
}

impl TryFrom<String> for Place {
    type Error = InvalidPlace;

    fn try_from(text: String) -> Result<Self, InvalidPlace> {
        let place = match text.split_once('+') {
            None => Self::node(text.parse()?),
            Some((node, step)) => {
                let step = step.parse().map_err(|_| InvalidPlace(text.clone()))?;
                Self::step(node.parse()?, step)
            }
        };
        if place.key.as_str() == text { Ok(place) } else { Err(InvalidPlace(text)) }
    }
}

impl Serialize for Place {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.key.as_str())
    }
}

/// Text that names no place in a tree.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} is no place in a tree; a place is root or ordinals, such as 3.1.2 or 3.1+2")]
pub struct InvalidPlace(String);
