//! Object dumps: every observation of every object, without what never matters and without secrets.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use eog_core::{EntityId, Timestamp};
use eog_evidence::mask_text;
use serde_json::Value;

use super::tsv::Table;
use super::{Folder, SnapshotError};
use crate::masker::Masker;
use crate::names::EntityName;
use crate::time;
use crate::unfold::unfold;
use crate::warnings::Warnings;

/// One state of an object, and between which dumps it was seen.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Observation {
    pub(crate) first_seen: Timestamp,
    pub(crate) last_seen: Timestamp,
    pub(crate) object: Arc<Value>,
}

/// Everything seen of one object, in time order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct ObjectHistory {
    pub(crate) states: Vec<Observation>,
    /// When it was reported as deleted, if it was.
    pub(crate) deleted: Option<Timestamp>,
}

impl ObjectHistory {
    pub(crate) fn latest(&self) -> Option<&Value> {
        self.states.last().map(|state| state.object.as_ref())
    }
}

/// Objects by entity, with the file they came from, and for each kind the sorted times of all its
/// rows, which distinguish the rounds of dumps.
#[derive(Debug, Default)]
pub(crate) struct Objects {
    pub(crate) histories: BTreeMap<EntityId, ObjectHistory>,
    pub(crate) dumps: BTreeMap<String, Vec<Timestamp>>,
    pub(crate) file: String,
}

/// Kinds that change all the time as a consequence of something else.
pub(crate) const CONSEQUENCES: [&str; 12] = [
    "CSIStorageCapacity",
    "CertificateSigningRequest",
    "ControllerRevision",
    "Endpoints",
    "EndpointSlice",
    "Event",
    "Lease",
    "NodeMetrics",
    "PodMetrics",
    "ReplicaSet",
    "VolumeAttachment",
    "VolumeSnapshotContent",
];

/// About how many bytes a row needs besides its object.
const ROW: usize = 200;

/// About how many bytes a body needs that no row had before, besides its objects.
const BODY: usize = 700;

/// Reads object tables.
///
/// # Errors
/// [`SnapshotError`] when a table lacks a column or cannot be read.
pub(crate) fn read_objects(
    folder: &mut Folder,
    files: &[String],
    max_rows: usize,
    warnings: &mut Warnings,
) -> Result<Objects, SnapshotError> {
    let mut masker = Masker::default();
    let mut objects = Objects::default();
    let mut rows: Vec<(Timestamp, Body)> = Vec::new();
    // What each text of a body held, by its digest. Look-ups alone.
    let mut bodies: HashMap<[u8; 32], Vec<Body>> = HashMap::new();
    let mut account = folder.budget().account();
    let mut kept = 0;
    for file in files {
        let Some(source) = folder.open(file, warnings) else { continue };
        let Some(mut table) = Table::open(file, source, &["Timestamp", "Body"], max_rows)? else {
            warnings.note(format!("{file}: is empty"));
            continue;
        };
        if objects.file.is_empty() {
            table.file().clone_into(&mut objects.file);
        }
        let (at, body) = (table.column("Timestamp"), table.column("Body"));
        while table.next_row(warnings) {
            let Some(seen) = time::parse(table.unmasked(at)) else {
                table.reject("the Timestamp is not a time", warnings);
                continue;
            };
            // Most rows repeat an object that did not change since the dump before.
            let digest = *blake3::hash(table.unmasked(body).as_bytes()).as_bytes();
            let found = match bodies.get(&digest) {
                Some(known) => known.clone(),
                None => match read_body(table.unmasked(body), &mut masker) {
                    Ok(found) => {
                        let weights = found.iter().map(|body| weight(&body.object));
                        kept += BODY + weights.sum::<usize>();
                        bodies.entry(digest).or_insert(found).clone()
                    }
                    Err(reason) => {
                        table.reject(reason, warnings);
                        continue;
                    }
                },
            };
            kept += ROW * found.len();
            rows.extend(found.into_iter().map(|body| (seen, body)));
            if !account.holds(kept) {
                return Ok(Objects::default());
            }
        }
    }
    rows.sort_by_key(|(seen, _)| *seen);
    for (seen, body) in rows {
        objects.add(seen, body);
    }
    Ok(objects)
}

/// About how many bytes a value takes. Small values take many times their text.
fn weight(value: &Value) -> usize {
    // What an allocation costs besides, and a slot of a map.
    const HEAP: usize = 16;
    const SLOT: usize = size_of::<String>() + 3 * size_of::<usize>() + 2 * HEAP;
    let within = match value {
        Value::String(text) => HEAP + text.len(),
        Value::Array(items) => HEAP + items.iter().map(weight).sum::<usize>(),
        Value::Object(fields) => {
            let fields = fields.iter().map(|(name, value)| SLOT + name.len() + weight(value));
            2 * HEAP + fields.sum::<usize>()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    size_of::<Value>() + within
}

/// An object as one row describes it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Body {
    pub(crate) entity: EntityId,
    kind: Arc<str>,
    object: Arc<Value>,
    deleted: bool,
}

impl Objects {
    fn add(&mut self, seen: Timestamp, body: Body) {
        let Body { entity, kind, object, deleted } = body;
        match self.dumps.get_mut(&*kind) {
            Some(times) => times.push(seen),
            None => drop(self.dumps.insert(kind.to_string(), vec![seen])),
        }
        let history = self.histories.entry(entity).or_default();
        history.deleted = deleted.then_some(seen);
        match history.states.last_mut() {
            Some(last) if Arc::ptr_eq(&last.object, &object) || last.object == object => {
                last.last_seen = seen;
            }
            _ => history.states.push(Observation { first_seen: seen, last_seen: seen, object }),
        }
    }
}

/// The objects of one cell, masked by `masker`: a bare object, an `{object, type}` envelope, or a list of objects.
pub(crate) fn read_body(body: &str, masker: &mut Masker) -> Result<Vec<Body>, &'static str> {
    let mut value: Value = serde_json::from_str(body).map_err(|_| "the Body is not valid JSON")?;
    let mut deleted = false;
    if let Some(inner) = value.get_mut("object").filter(|inner| inner.get("kind").is_some()) {
        let inner = inner.take();
        deleted = value.get("type").and_then(Value::as_str) == Some("DELETED");
        value = inner;
    }
    let is_list = value.get("kind").and_then(Value::as_str).is_some_and(|k| k.ends_with("List"));
    let items = match value.get_mut("items").map(Value::take) {
        Some(Value::Array(items)) if is_list => items,
        Some(items) => {
            if let Some(slot) = value.get_mut("items") {
                *slot = items;
            }
            vec![value]
        }
        None => vec![value],
    };
    let rows = items.into_iter().map(|item| read_object(item, deleted, masker));
    rows.collect::<Option<Vec<_>>>().ok_or("the object has no kind or no name")
}

fn read_object(mut object: Value, deleted: bool, masker: &mut Masker) -> Option<Body> {
    let text = |pointer: &str| object.pointer(pointer).and_then(Value::as_str).map(mask_text);
    let kind = text("/kind")?;
    let namespace = text("/metadata/namespace");
    let name = EntityName::new(namespace.as_deref(), &kind, &text("/metadata/name")?);
    let entity = name.id()?;
    thin_out(&mut object);
    if let Some(Value::Object(data)) = object.get_mut("data").filter(|_| kind == "ConfigMap") {
        data.values_mut().for_each(unfold);
    }
    masker.mask(entity.as_str(), &kind, &mut object);
    // Whether serde_json keeps the order of the file is up to other crates of a build.
    object.sort_all_objects();
    Some(Body { entity, kind: kind.into(), object: Arc::new(object), deleted })
}

/// Drops what only takes space: the field lists of managers, and the last applied copy of the
/// whole object, which repeats it and its secrets as text.
fn thin_out(object: &mut Value) {
    let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else { return };
    metadata.remove("resourceVersion");
    if let Some(Value::Array(managers)) = metadata.get_mut("managedFields") {
        for manager in managers.iter_mut().filter_map(Value::as_object_mut) {
            manager.remove("fieldsV1");
        }
    }
    if let Some(Value::Object(annotations)) = metadata.get_mut("annotations") {
        annotations.remove("kubectl.kubernetes.io/last-applied-configuration");
    }
}
