//! The application's architecture: components and their dependencies, from a JSON file.

use std::fs::File;
use std::io;
use std::path::Path;

use eog_evidence::{FolderHandle, is_ground_truth, shorten};
use serde_json::Value;

use crate::read::{SnapshotError, read_json};

/// Most components, and most dependencies, that are used.
const MAX_PARTS: usize = 10_000;

/// A component of the application.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Component {
    pub(crate) name: String,
    pub(crate) is_infrastructure: bool,
    /// Whether it watches the application rather than being part of it.
    pub(crate) observes: bool,
}

/// Components and dependencies as declared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Architecture {
    pub(crate) components: Vec<Component>,
    /// Source depends on target.
    pub(crate) dependencies: Vec<(String, String)>,
}

/// Opens a file that a trusted person has named, unless it is ground truth.
fn open_named(path: &Path) -> io::Result<File> {
    let real = path.canonicalize()?;
    let named = path.file_name().unwrap_or_default().to_string_lossy();
    if is_ground_truth(&named) {
        return Err(io::Error::other("it is ground truth, which must not be read"));
    }
    let folder = FolderHandle::open(real.parent().unwrap_or(&real))?;
    folder.file(real.file_name().unwrap_or_default())
}

impl Architecture {
    /// # Errors
    /// [`SnapshotError::Architecture`].
    pub(crate) fn open(path: &Path, below: Option<&FolderHandle>) -> Result<Self, SnapshotError> {
        let fail = |reason: String| SnapshotError::Architecture {
            path: path.display().to_string(),
            reason,
        };
        let opened = match below {
            Some(folder) => folder.file(path),
            None => open_named(path),
        };
        let file = opened.map_err(|error| {
            fail(match error.kind() {
                io::ErrorKind::NotFound => "there is no such file".to_owned(),
                _ => error.to_string(),
            })
        })?;
        Self::from_json(&read_json(file).map_err(&fail)?).ok_or_else(|| {
            fail(
                "it has neither components.services nor dependencies with source and target".into(),
            )
        })
    }

    fn from_json(value: &Value) -> Option<Self> {
        let list = |pointer: &str| {
            value.pointer(pointer).and_then(Value::as_array).into_iter().flatten().take(MAX_PARTS)
        };
        let text = |value: &Value, field: &str| {
            let text = value.get(field).and_then(Value::as_str).unwrap_or_default();
            shorten(text.trim(), 120)
        };
        let mut architecture = Self::default();
        for (pointer, is_infrastructure) in
            [("/components/services", false), ("/components/infrastructure", true)]
        {
            for component in list(pointer) {
                let kind = text(component, "type").to_lowercase();
                let observes = kind.contains("observability") || kind.contains("monitoring");
                let name = text(component, "name");
                architecture.components.push(Component { name, is_infrastructure, observes });
            }
        }
        architecture.components.retain(|component| !component.name.is_empty());
        for dependency in list("/dependencies") {
            let (source, target) = (text(dependency, "source"), text(dependency, "target"));
            if !source.is_empty() && !target.is_empty() {
                architecture.dependencies.push((source, target));
            }
        }
        let is_empty = architecture.components.is_empty() && architecture.dependencies.is_empty();
        (!is_empty).then_some(architecture)
    }

    /// Whether a component of this name only watches the application.
    pub(crate) fn observes(&self, name: &str) -> bool {
        self.components.iter().any(|component| component.observes && component.name == name)
    }
}
