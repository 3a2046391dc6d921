//! `get_k8_spec`: the states of one object, as far as they were dumped.

use std::collections::BTreeSet;
use std::sync::Arc;

use eog_core::{EntityId, Timestamp};
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::query::{Page, near};
use super::tool::Tool;
use super::{ToolError, Toolbox, entities};
use crate::evidence::ITEM_KEYS;
use crate::unfold::UNFOLDED;

/// States of a page unless a limit is given: whole objects are large.
const DEFAULT_STATES: usize = 10;

/// The states of one object.
///
/// An object is shown as it is stored: without `resourceVersion`, the field lists of managers and
/// the last applied copy, with secrets masked, and with JSON and YAML inside a ConfigMap expanded.
#[derive(Clone, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields, default)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct GetK8Spec {
    /// The full name of an object such as `shop/Deployment/cart`, or the end of its name if that
    /// is unique.
    pub entity: String,
    /// Return every recorded state instead of only the last.
    pub all_observations: bool,
    /// Return the state at this time, as the last dump before it shows it. RFC 3339.
    #[cfg_attr(feature = "schema", schemars(with = "Option<String>"))]
    pub at: Option<Timestamp>,
    /// Return only this part, such as `spec/template/spec/containers[web]/env`; accepts the paths
    /// of k8s_spec_change_analysis.
    pub field: Option<String>,
    /// Maximum number of states: 10 by default, at most 1000; 0 means 1000.
    pub limit: Option<usize>,
    /// Number of states to skip.
    pub offset: usize,
}

/// One state of an object.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpecObservation {
    /// The first dump that shows it.
    pub first_seen: Timestamp,
    /// The last consecutive dump that shows it.
    pub last_seen: Timestamp,
    /// The object, or the requested part; null when this state lacks the part.
    pub spec: Arc<Value>,
}

/// The answer to [`GetK8Spec`].
#[derive(Clone, Debug, PartialEq, Serialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SpecHistory {
    /// The full name of the object.
    pub entity: EntityId,
    /// Number of recorded states.
    pub states: usize,
    /// The first dump that shows the object.
    pub first_seen: Timestamp,
    /// The last dump that shows it.
    pub last_seen: Timestamp,
    /// When it was reported deleted, if it was.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub deleted: Option<Timestamp>,
    /// The requested states, in time order.
    pub observations: Page<SpecObservation>,
}

impl Tool for GetK8Spec {
    const NAME: &'static str = "get_k8_spec";
    const SUMMARY: &'static str =
        "One object as recorded: its last state, its state at a time, or every state";
    const DESCRIPTION: &'static str = "\
Returns an object as the last dump shows it, as it was at a time, or in every state that was
recorded. Consecutive dumps that show the same state are merged. Secrets are masked; JSON and YAML
inside a ConfigMap are expanded. Give a field to see one part. For what changed,
k8s_spec_change_analysis is shorter.";
    const EXAMPLES: &'static [&'static str] = &[
        r#"{"entity": "shop/Deployment/cart"}"#,
        r#"{"entity": "shop/ConfigMap/settings", "all_observations": true, "field": "data"}"#,
    ];
    type Answer = SpecHistory;

    fn run(&self, toolbox: &Toolbox) -> Result<SpecHistory, ToolError> {
        let snapshot = toolbox.snapshot();
        if self.entity.trim().is_empty() {
            let hint = "give one such as shop/Deployment/cart";
            return Err(ToolError::argument("entity", "is missing", hint));
        }
        let dumped: BTreeSet<&EntityId> = snapshot.objects.histories.keys().collect();
        let entity = entities::one(&dumped, &self.entity)?;
        let history = snapshot.objects.histories.get(entity);
        let Some((history, (first, last))) = history
            .and_then(|history| Some((history, (history.states.first()?, history.states.last()?))))
        else {
            return Err(ToolError::argument("entity", "no dump shows it", ""));
        };
        let chosen: Vec<_> = match (self.at, self.all_observations) {
            (Some(at), false) => {
                let state = history.states.iter().rev().find(|state| state.first_seen <= at);
                let state = state.ok_or_else(|| {
                    let reason =
                        format!("the first dump that shows it is from {}", first.first_seen);
                    ToolError::argument("at", reason, "give a later time, or use all_observations")
                })?;
                vec![state]
            }
            (Some(_), true) => {
                let hint = "leave one of them out";
                return Err(ToolError::argument(
                    "at",
                    "cannot be combined with all_observations",
                    hint,
                ));
            }
            (None, true) => history.states.iter().collect(),
            (None, false) => vec![last],
        };
        let mut observations = Vec::new();
        let mut missing = None;
        for state in &chosen {
            let spec = match self.field.as_deref().map(str::trim).filter(|path| !path.is_empty()) {
                None => Some(folded(&state.object)),
                Some(path) => match part(&state.object, path) {
                    Ok(found) => Some(folded(found)),
                    Err(hint) => {
                        missing = Some((path, hint));
                        None
                    }
                },
            };
            observations.push((state, spec));
        }
        if let (Some((path, hint)), true) =
            (missing, observations.iter().all(|(_, spec)| spec.is_none()))
        {
            return Err(ToolError::argument("field", format!("{path:?} does not exist"), hint));
        }
        let limit = self.limit.or(Some(DEFAULT_STATES));
        Ok(SpecHistory {
            entity: entity.clone(),
            states: history.states.len(),
            first_seen: first.first_seen,
            last_seen: last.last_seen,
            deleted: history.deleted,
            observations: Page::cut(
                observations.into_iter(),
                self.offset,
                limit,
                |(state, spec)| SpecObservation {
                    first_seen: state.first_seen,
                    last_seen: state.last_seen,
                    spec: Arc::new(spec.unwrap_or(Value::Null)),
                },
            ),
        })
    }
}

/// A value in which unfolded text stands as its structure.
fn folded(value: &Value) -> Value {
    match value {
        Value::Object(map) => match map.get(UNFOLDED).filter(|_| map.len() == 1) {
            Some(structure) => structure.clone(),
            None => {
                Value::Object(map.iter().map(|(key, value)| (key.clone(), folded(value))).collect())
            }
        },
        Value::Array(items) => Value::Array(items.iter().map(folded).collect()),
        other => other.clone(),
    }
}

/// The part of an object at a path. Keys may hold the separators themselves, so at each step the
/// longest key that fits is taken.
///
/// # Errors
/// What there is where the path ends.
fn part<'v>(object: &'v Value, path: &str) -> Result<&'v Value, String> {
    let (mut at, mut rest) = (object, path.trim_start_matches(['/', '.']));
    loop {
        if let Some(structure) = at.get(UNFOLDED) {
            at = structure;
            rest = rest.trim_start_matches('#');
        }
        if rest.is_empty() {
            return Ok(at);
        }
        let step = match at {
            Value::Object(map) => {
                let keys = map.keys().filter(|key| {
                    let after = rest.strip_prefix(key.as_str());
                    let ends =
                        |rest: &str| rest.is_empty() || rest.starts_with(['/', '.', '#', '[']);
                    after.is_some_and(ends)
                });
                let key = keys.max_by_key(|key| key.len());
                key.and_then(|key| Some((map.get(key)?, rest.get(key.len()..)?)))
            }
            Value::Array(items) => rest
                .strip_prefix('[')
                .and_then(|rest| rest.split_once(']'))
                .and_then(|(key, rest)| Some((item(items, key)?, rest))),
            _ => None,
        };
        let Some((below, after)) = step else { return Err(around(at, rest)) };
        (at, rest) = (below, after.trim_start_matches(['/', '.']));
    }
}

/// The item of a list by one of the fields that distinguish items, else by its place.
fn item<'v>(items: &'v [Value], key: &str) -> Option<&'v Value> {
    let names = |item: &&Value| {
        let mut fields = ITEM_KEYS.iter().filter_map(|field| item.get(field));
        fields.any(|field| match field {
            Value::Number(number) => number.as_u64().is_some_and(|n| key.parse() == Ok(n)),
            other => other.as_str() == Some(key),
        })
    };
    items.iter().find(names).or_else(|| items.get(key.parse::<usize>().ok()?))
}

/// What there is at a place where a path does not go on.
fn around(at: &Value, rest: &str) -> String {
    match at {
        Value::Object(map) => {
            let wanted = rest.split(['/', '.', '#', '[']).next().unwrap_or(rest);
            near(wanted, map.keys().map(String::as_str), "fields there")
        }
        Value::Array(items) => {
            let names = items
                .iter()
                .filter_map(|item| ITEM_KEYS.iter().find_map(|field| item.get(field)?.as_str()));
            let names = super::query::listed(names);
            format!(
                "this is a list of {} items ({names}); select one with [name] or [0]",
                items.len()
            )
        }
        _ => "this is a plain value, which has no parts".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_path_leads_to_a_part_or_says_what_is_there() {
        let object = json!({
            "metadata": {"annotations": {"example.org/restartedAt": "now"}},
            "data": {"app.json": {"#": {"flags": {"x": "on"}}}},
            "spec": {"containers": [{"name": "web", "image": "a"}, {"name": "log"}], "args": ["b"]},
        });
        let cases = [
            ("spec/containers[web]/image", json!("a")),
            ("spec.containers[1].name", json!("log")),
            ("/spec/args[0]", json!("b")),
            ("metadata/annotations/example.org/restartedAt", json!("now")),
            ("data/app.json#flags.x", json!("on")),
            ("data/app.json", json!({"flags": {"x": "on"}})),
        ];
        for (path, expected) in cases {
            assert_eq!(part(&object, path), Ok(&expected), "{path}");
        }
        let wrong = [
            ("spec/container", "did you mean containers?"),
            ("spec/containers/image", "a list of 2 items (web, log)"),
            ("spec/containers[x]", "a list of 2 items"),
            ("spec/args[0]/x", "a plain value"),
        ];
        for (path, expected) in wrong {
            let hint = part(&object, path).unwrap_err();
            assert!(hint.contains(expected), "{path}: {hint}");
        }
    }
}
