//! What sources say, in one form for all of them.

use std::collections::BTreeMap;

use eog_core::evidence::{PeerRole, Signal};
use eog_core::incident::EffectDirection;
use eog_evidence::ObjectState;
use serde::{Deserialize, Serialize};

/// The measured entity, before it has the name that a bundle gives it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Who {
    Service {
        #[serde(default, skip_serializing_if = "String::is_empty")]
        namespace: String,
        name: String,
    },
    Pod {
        namespace: String,
        name: String,
    },
    /// A machine: what a node exporter runs on, and a node of a cluster.
    Host(String),
    /// Any other object of a cluster, such as a ConfigMap.
    Object {
        kind: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        namespace: String,
        name: String,
    },
}

impl Who {
    pub(crate) fn service(name: impl Into<String>) -> Self {
        Self::Service { namespace: String::new(), name: name.into() }
    }
}

/// A time in milliseconds since 1970.
pub(crate) type Millis = i64;

/// One series.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) who: Who,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) peer: Option<(Who, PeerRole)>,
    pub(crate) metric: String,
    pub(crate) signal: Signal,
    pub(crate) unit: String,
    pub(crate) points: Vec<(Millis, f64)>,
}

/// One alert, with every time that it was active.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Alert {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    /// The entity it is about, where its source knows that better than its labels say.
    #[serde(default)]
    pub(crate) who: Option<Who>,
    #[serde(default)]
    pub(crate) description: String,
    /// What else it says about itself, and where it comes from.
    #[serde(default)]
    pub(crate) said: Vec<String>,
    pub(crate) runs: Vec<Run>,
    /// Decided when all sources have been asked.
    #[serde(skip)]
    pub(crate) place: Place,
}

/// Where an alert is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) enum Place {
    /// On something that a source knows.
    Known(Who),
    /// On something that no source knows, by the label that names it.
    Unknown(Who, String),
    /// Nothing in it names anything.
    #[default]
    Nothing,
}

/// One time that an alert was active.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub(crate) struct Run {
    /// Since when what it watches is so.
    pub(crate) active_at: Millis,
    /// When it was seen firing first and last.
    pub(crate) first: Millis,
    pub(crate) last: Millis,
}

/// Something that was changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Change {
    pub(crate) at: Millis,
    pub(crate) who: Who,
    pub(crate) signal: Signal,
    pub(crate) path: String,
    pub(crate) old: Option<String>,
    pub(crate) new: Option<String>,
    pub(crate) description: String,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Happened {
    pub(crate) at: Millis,
    pub(crate) who: Who,
    pub(crate) reason: String,
    pub(crate) signal: Signal,
    pub(crate) message: String,
}

/// What state an object was seen in.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Seen {
    pub(crate) at: Millis,
    pub(crate) who: Who,
    pub(crate) state: ObjectState,
    pub(crate) reason: String,
}

/// An edge: `source` *relation* `target`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Link {
    pub(crate) source: Who,
    pub(crate) target: Who,
    pub(crate) relation: String,
    pub(crate) effects: EffectDirection,
}

/// One traced operation.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Span {
    /// Nanoseconds since 1970.
    pub(crate) start: i64,
    pub(crate) nanoseconds: u64,
    pub(crate) who: Who,
    pub(crate) trace: String,
    pub(crate) id: String,
    pub(crate) parent: String,
    pub(crate) name: String,
    /// `Server`, `Client`, `Producer`, `Consumer` or `Internal`; empty if it is not known.
    pub(crate) kind: String,
    pub(crate) failed: Option<bool>,
    pub(crate) message: String,
    pub(crate) resource: BTreeMap<String, String>,
    pub(crate) attributes: BTreeMap<String, String>,
}

/// One line of a log.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Line {
    /// Nanoseconds since 1970.
    pub(crate) at: i64,
    pub(crate) who: Who,
    pub(crate) level: String,
    pub(crate) text: String,
    pub(crate) trace: String,
    pub(crate) resource: BTreeMap<String, String>,
}

/// What one question gave.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct Piece {
    pub(crate) series: Vec<Measured>,
    pub(crate) alerts: Vec<Alert>,
    pub(crate) changes: Vec<Change>,
    pub(crate) events: Vec<Happened>,
    pub(crate) states: Vec<Seen>,
    pub(crate) links: Vec<Link>,
    pub(crate) spans: Vec<Span>,
    pub(crate) lines: Vec<Line>,
    /// What is worth knowing about the answer.
    pub(crate) notes: Vec<String>,
    /// What could not be had, and why.
    pub(crate) missing: Vec<String>,
}

impl Piece {
    /// How many points its series have.
    pub(crate) fn points(&self) -> usize {
        self.series.iter().map(|series| series.points.len()).sum()
    }

    /// Takes over another.
    pub(crate) fn join(&mut self, other: Self) {
        self.series.extend(other.series);
        self.alerts.extend(other.alerts);
        self.changes.extend(other.changes);
        self.events.extend(other.events);
        self.states.extend(other.states);
        self.links.extend(other.links);
        self.spans.extend(other.spans);
        self.lines.extend(other.lines);
        self.notes.extend(other.notes);
        self.missing.extend(other.missing);
    }
}
