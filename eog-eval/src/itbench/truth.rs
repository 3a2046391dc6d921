//! The ground truth of a scenario, in both of its forms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use regex::Regex;
use serde::Deserialize;
use serde_json::Value;

use super::output::NamedEntity;
use crate::error::{EvalError, read_text};
use crate::near::nearest;

/// Entities that one entry of a ground truth stands for.
#[derive(Clone, Debug)]
pub struct Group {
    /// Its identifier within the truth.
    pub id: String,
    /// The kind of its entities, such as `Service`.
    pub kind: String,
    /// Their namespace, if they have one.
    pub namespace: Option<String>,
    /// Whether it is a root cause.
    pub root_cause: bool,
    names: Names,
}

#[derive(Clone, Debug)]
enum Names {
    /// Any of these matches at the beginning of a name.
    Filters(Vec<Regex>),
    Exactly(String),
}

/// What happened in a scenario.
///
/// ```
/// use eog_eval::itbench::GroundTruth;
/// let truth = GroundTruth::parse(
///     "spec:\n  groups:\n  - {id: db, kind: Service, filter: ['db\\b'], root_cause: true}\n",
///     "ground_truth.yaml".as_ref(),
/// )?;
/// assert_eq!(truth.root_causes().len(), 1);
/// # Ok::<(), eog_eval::EvalError>(())
/// ```
#[derive(Clone, Debug)]
pub struct GroundTruth {
    /// The scenario, where the truth names it.
    pub id: Option<String>,
    /// All groups, in the order of the file.
    pub groups: Vec<Group>,
    /// From cause to effect, by group.
    pub propagations: Vec<(String, String)>,
    /// For each group the first group, by name, of its class of aliases.
    classes: BTreeMap<String, String>,
    /// What aliases and propagations name that is no group.
    unknown: BTreeSet<String>,
    /// What happened, with the group or the entity that it happened to.
    conditions: Vec<(Happened, String)>,
}

/// To whom something happened.
#[derive(Clone, Debug)]
enum Happened {
    ToGroup(String),
    ToEntity(NamedEntity),
}

impl GroundTruth {
    /// Reads `ground_truth.yaml`, or the same as JSON.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read(path: &Path) -> Result<Self, EvalError> {
        Self::parse(&read_text(path)?, path)
    }

    /// Reads a file with one truth after the other in a JSON list, each with its `id`.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, EvalError> {
        let list: Vec<Value> = crate::error::read_json(path)?;
        let one = |(number, value)| Self::of(value, path, &format!("entry {}", number + 1));
        list.into_iter().enumerate().map(one).collect()
    }

    /// Reads a truth from text; `path` is what errors call it.
    ///
    /// # Errors
    /// [`EvalError`] names the place and what is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, EvalError> {
        // JSON is YAML too.
        Self::of(super::yaml::parse(text, path)?, path, "the truth")
    }

    pub(crate) fn of(value: Value, path: &Path, place: &str) -> Result<Self, EvalError> {
        let wrong = |reason: String| EvalError::malformed(path, place, reason);
        // Flat, or wrapped like an object of Kubernetes.
        let spec = match value.get("spec") {
            Some(spec) if spec.is_object() => spec.clone(),
            _ => value,
        };
        let file: File = serde_json::from_value(spec).map_err(|error| wrong(error.to_string()))?;
        if file.groups.is_empty() && file.entities.is_empty() {
            return Err(wrong("neither groups nor entities; one of them is needed".into()));
        }
        let groups: Vec<Group> = if file.groups.is_empty() {
            file.entities.into_iter().map(GivenEntity::into_group).collect()
        } else {
            let groups = file.groups.into_iter().map(|group| group.checked().map_err(&wrong));
            groups.collect::<Result<_, _>>()?
        };
        if !groups.iter().any(|group| group.root_cause) {
            return Err(wrong("no group is marked root_cause: true".into()));
        }
        let classes = classes(&groups, &file.aliases);
        let ends = file.propagations.iter().flat_map(|edge| [&edge.source, &edge.target]);
        let named: BTreeSet<&String> = ends.chain(file.aliases.iter().flatten()).collect();
        let is_group = |id: &String| groups.iter().any(|group| group.id == *id);
        let unknown = named.into_iter().filter(|id| !is_group(id)).cloned().collect();
        let of_fault = file.fault.as_array().into_iter().flatten().filter_map(happened);
        let of_edge = file.propagations.iter().filter_map(|edge| {
            Some((Happened::ToGroup(edge.source.clone()), text_in(&edge.condition)?))
        });
        let conditions = of_fault.chain(of_edge).collect();
        let edges = file.propagations.into_iter().map(|edge| (edge.source, edge.target));
        let (id, propagations) = (file.id.map(text_of), edges.collect());
        Ok(Self { id, groups, propagations, classes, unknown, conditions })
    }

    /// What is odd about it, in words: aliases and propagations of groups that it does not have.
    /// An edge with such an end can match nothing.
    pub fn notes(&self) -> Vec<String> {
        let told = |id: &String| {
            let near = nearest(id, self.groups.iter().map(|group| group.id.as_str()));
            format!("aliases or propagations name {id:?}, which is no group{near}")
        };
        self.unknown.iter().map(told).collect()
    }

    /// What the truth says of the entities of a class: the conditions of its faults and of the
    /// propagations that begin there, each once, in the order of the file.
    pub fn conditions(&self, class: &str) -> Vec<&str> {
        let mut found: Vec<&str> = Vec::new();
        for (happened, condition) in &self.conditions {
            let is_of_class = match happened {
                Happened::ToGroup(group) => self.class(group) == class,
                Happened::ToEntity(entity) => self.classes_of(entity).contains(class),
            };
            if is_of_class && !found.contains(&condition.as_str()) {
                found.push(condition);
            }
        }
        found
    }

    /// The class of aliases of a group: all groups that mean the same have one name.
    pub fn class<'a>(&'a self, group: &'a str) -> &'a str {
        self.classes.get(group).map_or(group, String::as_str)
    }

    /// The classes of the root causes.
    pub fn root_causes(&self) -> BTreeSet<&str> {
        let roots = self.groups.iter().filter(|group| group.root_cause);
        roots.map(|group| self.class(&group.id)).collect()
    }

    /// The classes of all groups that an entity belongs to.
    pub fn classes_of(&self, entity: &NamedEntity) -> BTreeSet<&str> {
        let matching = self.groups.iter().filter(|group| group.matches(entity).is_some());
        matching.map(|group| self.class(&group.id)).collect()
    }

    /// The classes of the groups that describe an entity best: of several filters that match its
    /// name, those that match most of it.
    pub fn best_classes_of(&self, entity: &NamedEntity) -> BTreeSet<&str> {
        let matching: Vec<(usize, &Group)> =
            self.groups.iter().filter_map(|group| Some((group.matches(entity)?, group))).collect();
        let longest = matching.iter().map(|(length, _)| *length).max();
        let best = matching.iter().filter(|(length, _)| Some(*length) == longest);
        best.map(|(_, group)| self.class(&group.id)).collect()
    }
}

impl Group {
    /// How many bytes of an entity's name match, if the entity belongs here: kind and namespace
    /// agree where both sides give them, and the name matches.
    ///
    /// A filter matches at the beginning of a name, its end is open: the filters are written so
    /// (`.*mail` for `shop-mail-stress`; an open beginning would let `ad-.*` match `load-1`).
    pub fn matches(&self, entity: &NamedEntity) -> Option<usize> {
        let kind = entity.kind.as_deref();
        if kind.is_some_and(|kind| !kind.eq_ignore_ascii_case(&self.kind)) {
            return None;
        }
        let elsewhere = |own: &String| entity.namespace.as_ref().is_some_and(|other| other != own);
        if self.namespace.as_ref().is_some_and(elsewhere) {
            return None;
        }
        match &self.names {
            Names::Exactly(name) => (*name == entity.name).then_some(name.len()),
            Names::Filters(filters) => {
                let found = filters.iter().filter_map(|filter| filter.find(&entity.name));
                found.map(|found| found.len()).max()
            }
        }
    }
}

/// Groups that are aliases of each other, directly or over others, share the first name.
fn classes(groups: &[Group], aliases: &[Vec<String>]) -> BTreeMap<String, String> {
    let mut classes: BTreeMap<String, String> =
        groups.iter().map(|group| (group.id.clone(), group.id.clone())).collect();
    for alias in aliases {
        let members: BTreeSet<String> =
            alias.iter().map(|id| classes.get(id).cloned().unwrap_or_else(|| id.clone())).collect();
        let Some(first) = members.first().cloned() else { continue };
        for id in alias {
            classes.entry(id.clone()).or_insert_with(|| first.clone());
        }
        for class in classes.values_mut().filter(|class| members.contains(*class)) {
            class.clone_from(&first);
        }
    }
    classes
}

#[derive(Deserialize)]
struct File {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    groups: Vec<GivenGroup>,
    #[serde(default)]
    aliases: Vec<Vec<String>>,
    #[serde(default)]
    propagations: Vec<GivenEdge>,
    #[serde(default)]
    entities: Vec<GivenEntity>,
    /// Only its words are read, as far as they are there.
    #[serde(default)]
    fault: Value,
}

/// To whom a fault happened, and its condition.
fn happened(fault: &Value) -> Option<(Happened, String)> {
    let condition = text_in(fault.get("condition")?)?;
    let entity = fault.get("entity")?;
    let part = |name: &str| entity.get(name).and_then(text_in);
    if let Some(group) = part("group_id") {
        return Some((Happened::ToGroup(group), condition));
    }
    let (namespace, kind, name) = (part("namespace"), part("kind"), part("name")?);
    Some((Happened::ToEntity(NamedEntity { namespace, kind, name }), condition))
}

/// A text that says something.
pub(super) fn text_in(value: &Value) -> Option<String> {
    value.as_str().map(str::trim).filter(|text| !text.is_empty()).map(str::to_owned)
}

#[derive(Deserialize)]
struct GivenGroup {
    id: String,
    kind: String,
    #[serde(default)]
    namespace: Option<String>,
    #[serde(default)]
    filter: Vec<String>,
    #[serde(default)]
    name: Option<String>,
    #[serde(default)]
    root_cause: bool,
}

impl GivenGroup {
    fn checked(self) -> Result<Group, String> {
        let names = match (self.name, self.filter.is_empty()) {
            (_, false) => {
                let compiled = self.filter.iter().map(|filter| {
                    Regex::new(&format!("^(?:{filter})"))
                        .map_err(|error| format!("filter {filter:?} of group {}: {error}", self.id))
                });
                Names::Filters(compiled.collect::<Result<_, _>>()?)
            }
            (Some(name), true) => Names::Exactly(name),
            (None, true) => return Err(format!("group {} has neither filter nor name", self.id)),
        };
        let Self { id, kind, namespace, root_cause, .. } = self;
        Ok(Group { id, kind, namespace, root_cause, names })
    }
}

#[derive(Deserialize)]
struct GivenEdge {
    source: String,
    target: String,
    #[serde(default)]
    condition: Value,
}

/// An entity of the second form: all it names are root causes.
#[derive(Deserialize)]
struct GivenEntity {
    kind: String,
    metadata: GivenMetadata,
}

#[derive(Deserialize)]
struct GivenMetadata {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

impl GivenEntity {
    fn into_group(self) -> Group {
        let GivenMetadata { name, namespace } = self.metadata;
        let id = format!("{}/{}/{name}", namespace.as_deref().unwrap_or_default(), self.kind);
        Group { id, kind: self.kind, namespace, root_cause: true, names: Names::Exactly(name) }
    }
}

fn text_of(value: Value) -> String {
    match value {
        Value::String(text) => text,
        other => other.to_string(),
    }
}
