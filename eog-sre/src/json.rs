//! Parts of JSON by their places, which are JSON pointers.

use eog_core::Timestamp;
use serde_json::Value;

use crate::time;

/// A text.
pub(crate) fn text<'a>(value: &'a Value, place: &str) -> Option<&'a str> {
    value.pointer(place)?.as_str()
}

/// A text; empty where there is none.
pub(crate) fn word<'a>(value: &'a Value, place: &str) -> &'a str {
    text(value, place).unwrap_or_default()
}

/// The items of a list; none where there is no list.
pub(crate) fn list<'a>(value: &'a Value, place: &str) -> impl Iterator<Item = &'a Value> + use<'a> {
    value.pointer(place).and_then(Value::as_array).into_iter().flatten()
}

/// A time.
pub(crate) fn moment(value: &Value, place: &str) -> Option<Timestamp> {
    time::parse(text(value, place)?)
}

/// A condition in the status of an object of Kubernetes, by its type.
pub(crate) fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    list(object, "/status/conditions").find(|condition| word(condition, "/type") == kind)
}

/// Whether a condition is there and holds.
pub(crate) fn is_true(condition: Option<&Value>) -> bool {
    condition.is_some_and(|condition| word(condition, "/status") == "True")
}

/// Since when a condition is as it is.
pub(crate) fn since(condition: &Value) -> Option<Timestamp> {
    moment(condition, "/lastTransitionTime")
}
