//! An ITBench ground truth, as given in its file.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::files::{FileError, list_folder, parse_json, read_text};
use crate::yaml;

/// The file of a scenario's folder that holds its truth.
const TRUTH_FILE: &str = "ground_truth.yaml";

/// A scenario: what its ground truth says happened, in either of the two forms.
///
/// Fields that only describe are taken as far as they are there; what scoring and simulation need
/// is checked when it is read.
///
/// ```
/// use eog_simulate::Scenario;
/// let scenario = Scenario::parse(
///     "spec:\n  groups:\n  - {id: db, kind: Service, filter: ['db\\b'], root_cause: true}\n",
///     "ground_truth.yaml".as_ref(),
/// )?;
/// assert_eq!(scenario.groups[0].kind, "Service");
/// # Ok::<(), eog_simulate::files::FileError>(())
/// ```
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Scenario {
    /// What it is called: its id, else its folder, else its place in the file.
    pub name: String,
    /// Its id, where the truth has one.
    pub id: Option<String>,
    /// The file that it was read from.
    pub file: PathBuf,
    /// Where in the file, for error messages.
    pub place: String,
    /// Groups of entities, in the order of the file: the first form.
    pub groups: Vec<ScenarioGroup>,
    /// Single entities, all of them root causes: the second form.
    pub entities: Vec<ScenarioEntity>,
    /// Groups that mean the same.
    pub aliases: Vec<Vec<String>>,
    /// What led to what.
    pub propagations: Vec<ScenarioPropagation>,
    /// The faults, as they were given.
    pub faults: Vec<Value>,
    /// The alerts, as they were given.
    pub alerts: Vec<Value>,
    /// What was read differently from how it was written, in words.
    pub notes: Vec<String>,
    /// The whole truth, as it was given.
    pub(crate) value: Value,
}

/// The truths of a file or folder.
#[derive(Clone, Debug, Default)]
pub struct Scenarios {
    /// Those that can be used, in order.
    pub usable: Vec<Scenario>,
    /// Why each of the others cannot be, with its file and place.
    pub left_out: Vec<String>,
}

impl Scenarios {
    /// What to know before trusting figures: truths left out, and what was read differently.
    pub fn notes(&self) -> Vec<String> {
        let left_out = self.left_out.iter().map(|reason| format!("left out: {reason}"));
        let odd = self.usable.iter().flat_map(|scenario| {
            scenario
                .notes
                .iter()
                .map(|note| format!("{}, {}: {note}", scenario.file.display(), scenario.place))
        });
        left_out.chain(odd).collect()
    }
}

/// Entities that one entry of a ground truth stands for.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ScenarioGroup {
    /// Its identifier within the truth.
    pub id: String,
    /// The kind of its entities, such as `Service`.
    pub kind: String,
    /// Their namespace, if they have one.
    #[serde(default)]
    pub namespace: Option<String>,
    /// Regular expressions; each matches at the beginning of a name. There is at least one if there
    /// is no `name`.
    #[serde(default, rename = "filter")]
    pub filters: Vec<String>,
    /// The one name. Filters take precedence.
    #[serde(default)]
    pub name: Option<String>,
    /// Whether it is a root cause.
    #[serde(default)]
    pub root_cause: bool,
}

/// An entity of the second form.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(from = "GivenEntity")]
#[non_exhaustive]
pub struct ScenarioEntity {
    /// Its API version, if it is given.
    pub api_version: Option<String>,
    /// Its kind.
    pub kind: String,
    /// Its namespace, if it has one.
    pub namespace: Option<String>,
    /// Its name.
    pub name: String,
}

/// One step of the chain from cause to effect.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[non_exhaustive]
pub struct ScenarioPropagation {
    /// The group of the cause.
    pub source: String,
    /// The group of the effect.
    pub target: String,
    /// What happens at the cause; a text, if it is of use.
    #[serde(default)]
    pub condition: Value,
    /// What follows from that; a text, if it is of use.
    #[serde(default)]
    pub effect: Value,
}

impl Scenario {
    /// Reads one truth (YAML or JSON), a list of truths, or a folder of scenarios with
    /// `ground_truth.yaml`. Of several truths those that cannot be used are left out.
    ///
    /// # Errors
    /// [`FileError`] names the file, the place, and what is wrong, when no truth can be used.
    pub fn read_all(path: &Path) -> Result<Scenarios, FileError> {
        let mut read = Vec::new();
        if path.is_dir() {
            for folder in list_folder(path)? {
                let file = folder.join(TRUTH_FILE);
                if file.is_file() {
                    Self::read_file(&file, &mut read);
                }
            }
        } else {
            Self::read_file(path, &mut read);
        }
        let mut scenarios = Scenarios::default();
        let mut first = None;
        for one in read {
            match one {
                Ok(scenario) => scenarios.usable.push(scenario),
                Err(error) => {
                    scenarios.left_out.push(error.to_string());
                    first.get_or_insert(error);
                }
            }
        }
        let expected = "a ground truth, a list of them, or folders with ground_truth.yaml";
        match first {
            _ if !scenarios.usable.is_empty() => Ok(scenarios),
            Some(error) => Err(error),
            None => Err(FileError::nothing(path, expected)),
        }
    }

    fn read_file(path: &Path, read: &mut Vec<Result<Self, FileError>>) {
        match read_text(path).and_then(|text| parse(&text, path)) {
            Ok(Value::Array(list)) => {
                let entries = list.into_iter().enumerate();
                read.extend(entries.map(|(number, value)| Self::of(value, path, Some(number + 1))));
            }
            Ok(one) => read.push(Self::of(one, path, None)),
            Err(error) => read.push(Err(error)),
        }
    }

    /// Reads one truth from text; `path` is what errors call it. Where that ends in `.json`, the
    /// text is JSON, else YAML.
    ///
    /// # Errors
    /// [`FileError`] names the place and what is wrong.
    pub fn parse(text: &str, path: &Path) -> Result<Self, FileError> {
        Self::of(parse(text, path)?, path, None)
    }

    /// Reads a truth, which may be one of a list.
    fn of(value: Value, path: &Path, number: Option<usize>) -> Result<Self, FileError> {
        let place = number.map_or("the truth".to_owned(), |number| format!("entry {number}"));
        let wrong = |reason: String| FileError::malformed(path, &place, reason);
        // Flat, or wrapped like an object of Kubernetes.
        let spec = value.get("spec").filter(|spec| spec.is_object()).unwrap_or(&value);
        let mut spec: Spec = Spec::deserialize(spec).map_err(|error| wrong(error.to_string()))?;
        if spec.groups.is_empty() && spec.entities.is_empty() {
            return Err(wrong(
                "it has neither groups nor entities; one of them is required".into(),
            ));
        }
        let notes: Vec<String> = spec.groups.iter_mut().filter_map(ScenarioGroup::mend).collect();
        for group in &spec.groups {
            group.check().map_err(wrong)?;
        }
        if !spec.groups.is_empty() && !spec.groups.iter().any(|group| group.root_cause) {
            return Err(wrong("no group has root_cause: true".into()));
        }
        let Spec { id, groups, entities, aliases, propagations, fault: faults, alerts } = spec;
        let id = id.map(|id| text_of(&id));
        let folder = path.parent().and_then(Path::file_name);
        let name = match (&id, folder) {
            (Some(id), _) => id.clone(),
            (None, Some(folder)) => folder.display().to_string(),
            (None, None) => format!("entry {}", number.unwrap_or(1)),
        };
        Ok(Self {
            name,
            id,
            file: path.to_owned(),
            place,
            groups,
            entities,
            aliases,
            propagations,
            faults,
            alerts,
            notes,
            value,
        })
    }

    /// Text of the faults, lowercase, without what a changed element contained.
    pub(crate) fn fault_words(&self) -> String {
        let mut words = String::new();
        for fault in &self.faults {
            for field in ["category", "condition", "fault_mechanism", "mechanism"] {
                words.push_str(fault.get(field).and_then(Value::as_str).unwrap_or_default());
                words.push(' ');
            }
        }
        words.to_lowercase()
    }

    /// A changed element: its path, old text and new text.
    pub(crate) fn changed(&self) -> Option<(String, String, String)> {
        self.faults.iter().find_map(|fault| {
            let changed = fault.get("changed").or_else(|| fault.pointer("/entity/changed"))?;
            let text = |field: &str| changed.get(field).map(text_of);
            Some((text("element")?, text("from")?, text("to")?))
        })
    }

    /// Alerts as pairs of name and group; the group may be missing.
    pub(crate) fn alert_pairs(&self) -> Vec<(String, Option<String>)> {
        let named = self.alerts.iter().filter_map(|alert| {
            let text = |field: &str| alert.get(field).and_then(Value::as_str).map(str::to_owned);
            let name = text("id").or_else(|| alert.as_str().map(str::to_owned))?;
            Some((name, text("group_id")))
        });
        named.collect()
    }
}

/// A filter that is no regular expression but occurs in truths. It is a file pattern for any name.
const ANY_FILE: &str = "*.*";

impl ScenarioGroup {
    /// Reads `*.*` as any name; a note when it occurred.
    fn mend(&mut self) -> Option<String> {
        let wrong: Vec<&mut String> =
            self.filters.iter_mut().filter(|filter| filter.trim() == ANY_FILE).collect();
        let note = format!("filter {ANY_FILE:?} of group {} is read as any name", self.id);
        let is_there = !wrong.is_empty();
        wrong.into_iter().for_each(|filter| ".*".clone_into(filter));
        is_there.then_some(note)
    }

    /// Whether it names something, by filters that can be read.
    fn check(&self) -> Result<(), String> {
        if self.filters.is_empty() && self.name.is_none() {
            return Err(format!("group {} has neither filter nor name", self.id));
        }
        self.filters.iter().try_for_each(|filter| {
            regex_syntax::parse(&format!("^(?:{filter})"))
                .map(|_| ())
                .map_err(|error| format!("filter {filter:?} of group {}: {error}", self.id))
        })
    }
}

fn parse(text: &str, path: &Path) -> Result<Value, FileError> {
    let is_json = path.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("json"));
    if is_json { parse_json(text, path) } else { yaml::parse(text, path) }
}

/// What is read of a truth.
#[derive(Deserialize)]
struct Spec {
    #[serde(default)]
    id: Option<Value>,
    #[serde(default)]
    groups: Vec<ScenarioGroup>,
    #[serde(default)]
    entities: Vec<ScenarioEntity>,
    #[serde(default)]
    aliases: Vec<Vec<String>>,
    #[serde(default)]
    propagations: Vec<ScenarioPropagation>,
    #[serde(default, deserialize_with = "one_or_several")]
    fault: Vec<Value>,
    #[serde(default, deserialize_with = "one_or_several")]
    alerts: Vec<Value>,
}

/// A list, one item without its list, or nothing.
fn one_or_several<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<Value>, D::Error> {
    Ok(match Value::deserialize(deserializer)? {
        Value::Null => Vec::new(),
        Value::Array(items) => items,
        one => vec![one],
    })
}

#[derive(Deserialize)]
struct GivenEntity {
    #[serde(default, rename = "apiVersion")]
    api_version: Value,
    kind: String,
    metadata: Metadata,
}

#[derive(Deserialize)]
struct Metadata {
    name: String,
    #[serde(default)]
    namespace: Option<String>,
}

impl From<GivenEntity> for ScenarioEntity {
    fn from(given: GivenEntity) -> Self {
        let GivenEntity { api_version, kind, metadata: Metadata { name, namespace } } = given;
        let api_version = api_version.as_str().map(str::to_owned);
        Self { api_version, kind, namespace, name }
    }
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Result<Scenario, String> {
        Scenario::parse(text, Path::new("truth.yaml")).map_err(|error| error.to_string())
    }

    const GROUP: &str = "groups: [{id: db, kind: Service, name: db, root_cause: true}]\n";

    #[test]
    fn what_only_describes_is_taken_as_far_as_it_is_there() {
        let said = |rest: &str| parsed(&format!("{GROUP}{rest}")).expect("is read");
        let listed = said("fault: [{category: Change, condition: A Flag is set}]");
        assert_eq!(listed.fault_words().trim_end(), "change a flag is set");
        assert_eq!(said("fault: {condition: Alone}").fault_words().trim(), "alone");
        assert_eq!(said("fault:\nalerts:").fault_words(), "");
        let edge = said("propagations: [{source: db, target: web, condition:, effect: 3}]");
        assert_eq!(edge.propagations[0].condition.as_str(), None);
        let alerts = said("alerts: [Slow, {id: Errors, group_id: db}, {group_id: web}]");
        let db = Some("db".to_owned());
        assert_eq!(alerts.alert_pairs(), [("Slow".to_owned(), None), ("Errors".to_owned(), db)]);
    }

    #[test]
    fn what_is_needed_is_checked() {
        for (text, said) in [
            (
                "{}",
                "truth.yaml, the truth: it has neither groups nor entities; one of them is required",
            ),
            ("groups: [{id: a, kind: Pod}]", "group a has neither filter nor name"),
            ("groups: [{id: a, kind: Pod, filter: ['a(']}]", "filter \"a(\" of group a: "),
            ("groups: [{id: a, kind: Pod, name: a}]", "no group has root_cause: true"),
        ] {
            let error = parsed(text).expect_err("is refused");
            assert!(error.contains(said), "{error}");
        }
        let json = Scenario::parse("[1,]", Path::new("truth.json")).expect_err("is no JSON");
        assert!(json.to_string().starts_with("truth.json, line 1, column 4: "), "{json}");
    }

    #[test]
    fn a_file_pattern_is_read_as_any_name() {
        let read = parsed("groups: [{id: db, kind: Pod, filter: ['*.*'], root_cause: true}]");
        let read = read.expect("is read");
        assert_eq!(read.groups[0].filters, [".*"]);
        assert_eq!(read.notes, ["filter \"*.*\" of group db is read as any name"]);
    }

    #[test]
    fn a_broken_truth_of_several_is_left_out_by_name() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("truths.json");
        let good = r#"{"groups": [{"id": "a", "kind": "Pod", "name": "a", "root_cause": true}]}"#;
        std::fs::write(&path, format!(r#"[{good}, {{"id": "7"}}]"#)).expect("is written");
        let read = Scenario::read_all(&path).expect("one can be used");
        assert_eq!((read.usable.len(), read.left_out.len()), (1, 1));
        assert!(read.left_out[0].contains("entry 2: it has neither groups"), "{:?}", read.left_out);
        std::fs::write(&path, r#"[{"id": "7"}]"#).expect("is written");
        assert!(Scenario::read_all(&path).is_err());
    }

    #[test]
    fn a_scenario_is_named_by_its_id_else_by_its_folder_else_by_its_place() {
        let name =
            |text: &str, path: &str| Scenario::parse(text, Path::new(path)).expect("is read").name;
        assert_eq!(name(&format!("id: 7\n{GROUP}"), "Scenario-1/ground_truth.yaml"), "7");
        assert_eq!(name(GROUP, "Scenario-1/ground_truth.yaml"), "Scenario-1");
        assert_eq!(name(GROUP, "truth.yaml"), "entry 1");
    }
}
