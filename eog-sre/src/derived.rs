//! What an investigation makes of records, in bytes: it is charged like the records themselves.

use eog_core::Timestamp;
use serde_json::Value;

use crate::names;
use crate::read::{CONSEQUENCES, ObjectHistory, Records};

/// About how many bytes an object takes in the graph and where paths are searched.
const OBJECT: usize = 2_000;

/// About how many bytes a finding takes as a fact and as a part of the incident, without values.
const FINDING: usize = 1_500;

/// Most findings about what differs between two states of one object.
const MOST: usize = 12;

/// So much of a value is shown, and so often is it held: as a value and in the excerpt of a fact,
/// and of the incident.
const SHOWN: usize = 200;
const HELD: usize = 4;

/// About how many bytes a series takes that attribution uses, without its points.
const SERIES: usize = 500;

/// About how many bytes the graph, the facts and the incident of records take, and the series of attribution.
pub(crate) fn derived(records: &Records) -> usize {
    let objects = records.objects.histories.iter().map(|(entity, history)| {
        let has_changes = !CONSEQUENCES.contains(&names::kind_of(entity));
        OBJECT + if has_changes { of_changes(history) } else { 0 }
    });
    let series = records.metrics.iter();
    let series = series.map(|one| SERIES + one.points.at.len() * size_of::<(Timestamp, f64)>());
    objects.sum::<usize>() + records.events.len() * FINDING + series.sum::<usize>()
}

fn of_changes(history: &ObjectHistory) -> usize {
    let pairs = history.states.windows(2).map(|pair| match pair {
        [old, new] => {
            let mut findings = Findings { left: MOST, bytes: 0 };
            findings.of_objects(&old.object, &new.object);
            findings.bytes
        }
        _ => 0,
    });
    pairs.sum()
}

/// About the findings on what differs between two states.
struct Findings {
    left: usize,
    bytes: usize,
}

impl Findings {
    /// Status and bookkeeping make none.
    fn of_objects(&mut self, old: &Value, new: &Value) {
        for part in ["/metadata/labels", "/metadata/annotations"] {
            self.between(old.pointer(part), new.pointer(part));
        }
        let fields = |object| Value::as_object(object).into_iter().flatten().map(|(name, _)| name);
        let new_ones = fields(new).filter(|name| old.get(name).is_none());
        for name in
            fields(old).chain(new_ones).filter(|name| *name != "status" && *name != "metadata")
        {
            self.between(old.get(name), new.get(name));
        }
    }

    fn between(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if self.left == 0 || old == new {
            return;
        }
        match (old, new) {
            (Some(Value::Object(old)), Some(Value::Object(new))) => {
                let new_ones = new.keys().filter(|name| !old.contains_key(*name));
                for name in old.keys().chain(new_ones) {
                    self.between(old.get(name), new.get(name));
                }
            }
            (Some(Value::Array(old)), Some(Value::Array(new))) => {
                for at in 0..old.len().max(new.len()) {
                    self.between(old.get(at), new.get(at));
                }
            }
            _ => {
                self.left -= 1;
                self.bytes += FINDING + HELD * (shown(old) + shown(new));
            }
        }
    }
}

fn shown(value: Option<&Value>) -> usize {
    match value {
        Some(Value::String(text)) => text.len().min(SHOWN),
        Some(Value::Object(_) | Value::Array(_)) => SHOWN,
        _ => 0,
    }
}
