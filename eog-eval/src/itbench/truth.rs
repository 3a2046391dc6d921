//! The ground truth of a scenario, in both of its forms.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use eog_simulate::{Scenario, ScenarioEntity, ScenarioGroup};
use regex::Regex;
use serde_json::Value;

use super::named::{NamedEntity, text_in};
use crate::error::EvalError;
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
    /// What was read differently from how it was written.
    mended: Vec<String>,
    /// What aliases and propagations name that is no group.
    unknown: BTreeSet<String>,
    /// What happened, with the group or the entity that it happened to.
    conditions: Vec<(Happened, String)>,
    /// Whether what says what a namespace allows stands for the namespace.
    policies_count: bool,
}

/// Kinds that say what a namespace allows.
pub(crate) const POLICIES: [&str; 3] = ["ResourceQuota", "LimitRange", "NetworkPolicy"];

/// The target of an event.
#[derive(Clone, Debug)]
enum Happened {
    ToGroup(String),
    ToEntity(NamedEntity),
}

impl GroundTruth {
    /// Reads one truth (YAML or JSON), a list of truths, or a folder of scenarios with
    /// `ground_truth.yaml`.
    ///
    /// # Errors
    /// [`EvalError`] names the file, the place, and what is wrong.
    pub fn read_all(path: &Path) -> Result<Vec<Self>, EvalError> {
        Scenario::read_all(path)?.usable.iter().map(Self::of).collect()
    }

    /// Reads a truth from text; `path` is what errors call it. Where that ends in `.json`, the text
    /// is JSON, else YAML.
    ///
    /// # Errors
    /// [`EvalError`] names the place and what is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, EvalError> {
        Self::of(&Scenario::parse(text, path)?)
    }

    /// What scoring needs of a scenario.
    ///
    /// # Errors
    /// [`EvalError`] when a filter is too large.
    pub fn of(scenario: &Scenario) -> Result<Self, EvalError> {
        let groups: Vec<Group> = if scenario.groups.is_empty() {
            scenario.entities.iter().map(Group::of_entity).collect()
        } else {
            let wrong = |reason| EvalError::malformed(&scenario.file, &scenario.place, reason);
            let groups = scenario.groups.iter().map(|group| Group::of(group).map_err(wrong));
            groups.collect::<Result<_, _>>()?
        };
        let classes = classes(&groups, &scenario.aliases);
        let ends = scenario.propagations.iter().flat_map(|edge| [&edge.source, &edge.target]);
        let named: BTreeSet<&String> = ends.chain(scenario.aliases.iter().flatten()).collect();
        let is_group = |id: &String| groups.iter().any(|group| group.id == *id);
        let unknown = named.into_iter().filter(|id| !is_group(id)).cloned().collect();
        let of_fault = scenario.faults.iter().filter_map(happened);
        let of_edge = scenario.propagations.iter().filter_map(|edge| {
            Some((Happened::ToGroup(edge.source.clone()), text_in(&edge.condition)?))
        });
        let conditions = of_fault.chain(of_edge).collect();
        let edges = scenario.propagations.iter();
        let propagations = edges.map(|edge| (edge.source.clone(), edge.target.clone())).collect();
        let (id, mended) = (scenario.id.clone(), scenario.notes.clone());
        let policies_count = false;
        let read =
            Self { id, groups, propagations, classes, mended, unknown, conditions, policies_count };
        Ok(read)
    }

    /// The same truth, in which a quota, a limit range or a network policy stands for its namespace, too. A truth that
    /// names a namespace means what was imposed on it, which is an object of its own.
    ///
    /// ```
    /// use eog_eval::itbench::{GroundTruth, NamedEntity};
    /// let text = "spec:\n  groups:\n  - {id: shop, kind: Namespace, filter: [shop], root_cause: true}\n";
    /// let truth = GroundTruth::parse(text, "ground_truth.yaml".as_ref())?;
    /// let quota = NamedEntity::parse("shop/ResourceQuota/memory");
    /// assert!(truth.classes_of(&quota).is_empty());
    /// assert_eq!(truth.counting_policies().classes_of(&quota).len(), 1);
    /// # Ok::<(), eog_eval::EvalError>(())
    /// ```
    #[must_use]
    pub fn counting_policies(self) -> Self {
        Self { policies_count: true, ..self }
    }

    /// What is odd about it, in words: aliases and propagations of groups that it does not have.
    /// An edge with such an end can match nothing.
    pub fn notes(&self) -> Vec<String> {
        let note = |id: &String| {
            let near = nearest(id, self.groups.iter().map(|group| group.id.as_str()));
            format!("aliases or propagations refer to {id:?}, which is not a group{near}")
        };
        self.mended.iter().cloned().chain(self.unknown.iter().map(note)).collect()
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
        let matching = self.groups.iter().filter(|group| self.matches(group, entity).is_some());
        matching.map(|group| self.class(&group.id)).collect()
    }

    /// How many bytes match of the name of an entity, or of the namespace that it stands for.
    fn matches(&self, group: &Group, entity: &NamedEntity) -> Option<usize> {
        let own = group.matches(entity);
        let kind = entity.kind.as_deref().unwrap_or_default();
        if !self.policies_count || !POLICIES.contains(&kind) {
            return own;
        }
        let of_namespace = entity.namespace.as_ref().and_then(|name| {
            let kind = Some("Namespace".to_owned());
            group.matches(&NamedEntity { namespace: None, kind, name: name.clone() })
        });
        own.max(of_namespace)
    }

    /// The classes of the groups that describe an entity best: of several filters that match its
    /// name, those that match most of it.
    pub fn best_classes_of(&self, entity: &NamedEntity) -> BTreeSet<&str> {
        let matching: Vec<(usize, &Group)> = self
            .groups
            .iter()
            .filter_map(|group| Some((self.matches(group, entity)?, group)))
            .collect();
        let longest = matching.iter().map(|(length, _)| *length).max();
        let best = matching.iter().filter(|(length, _)| Some(*length) == longest);
        best.map(|(_, group)| self.class(&group.id)).collect()
    }
}

impl Group {
    fn of(given: &ScenarioGroup) -> Result<Self, String> {
        let ScenarioGroup { id, kind, namespace, filters, name, root_cause, .. } = given.clone();
        let names = match name.filter(|_| filters.is_empty()) {
            Some(name) => Names::Exactly(name),
            None => {
                let compiled = filters.iter().map(|filter| {
                    Regex::new(&format!("^(?:{filter})"))
                        .map_err(|error| format!("filter {filter:?} of group {id}: {error}"))
                });
                Names::Filters(compiled.collect::<Result<_, _>>()?)
            }
        };
        Ok(Self { id, kind, namespace, root_cause, names })
    }

    /// An entity of the second form: all it names are root causes.
    fn of_entity(given: &ScenarioEntity) -> Self {
        let ScenarioEntity { kind, namespace, name, .. } = given.clone();
        let id = format!("{}/{kind}/{name}", namespace.as_deref().unwrap_or_default());
        Self { id, kind, namespace, root_cause: true, names: Names::Exactly(name) }
    }

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

/// The target of a fault, and its condition.
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
