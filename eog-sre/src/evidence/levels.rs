//! What a status says of limits: quotas that are used up, autoscalers at their maximum, budgets that
//! allow nothing.

use serde_json::Value;

use crate::quantity::quantity;

/// The first resource of a quota of which nothing is left, as readable text.
pub(crate) fn used_up(quota: &Value) -> Option<String> {
    let hard = quota.pointer("/status/hard")?.as_object()?;
    let used = quota.pointer("/status/used")?;
    let full = hard.iter().find(|(name, hard)| {
        let left = quantity(hard).zip(used.get(name.as_str()).and_then(quantity));
        // A limit of none at all forbids a kind of object and is used up by nobody.
        left.is_some_and(|(hard, used)| hard > 0.0 && used >= hard)
    });
    full.map(|(name, hard)| format!("all of {name} is used: {}", plain(hard)))
}

/// A value without the quotes of a text.
fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}
