//! The one tool that reads bundles, too: local evidence about an entity, as the controller sees it.

use std::path::Path;

use eog::{ContextContract, ContextRequest, EntityId, LocalContext, Window};
use eog_evidence::near_entities;
use eog_session::source::Opened;
use serde_json::{Map, Value};

use crate::error::CliError;
use crate::runtime::runtime;

/// The name of the tool.
pub(super) const TOOL: &str = "get_context_contract";

/// What the tool can be asked of a bundle.
const ARGUMENTS: [&str; 3] = ["entity", "window", "page"];

/// A page of evidence about an entity of a bundle, with the relations that a second look brings.
pub(super) fn context(
    bundle: &Opened,
    arguments: &Map<String, Value>,
) -> Result<LocalContext, CliError> {
    let unusable = |reason: String| CliError::Usage(format!("{TOOL}: {reason}"));
    if let Some(other) = arguments.keys().find(|name| !ARGUMENTS.contains(&name.as_str())) {
        let known = ARGUMENTS.join(", ");
        return Err(unusable(format!("{other} goes with a snapshot; of a bundle: {known}")));
    }
    let named = arguments.get("entity").and_then(Value::as_str).unwrap_or_default().trim();
    if named.is_empty() {
        return Err(unusable("entity is missing; give one of the topology".to_owned()));
    }
    let asked = window(arguments.get("window")).map_err(unusable)?;
    let case = bundle.case(asked).map_err(|error| unusable(error.to_string()))?;
    let entity = EntityId::new(named).map_err(|error| unusable(error.to_string()))?;
    if !case.topology.contains(&entity) {
        let near = near_entities(&case.topology, named);
        let near =
            if near.is_empty() { String::new() } else { format!("; near: {}", near.join(", ")) };
        return Err(unusable(format!("there is no entity {named:?} in the topology{near}")));
    }
    let page = match arguments.get("page") {
        None => 1,
        Some(page) => page
            .as_u64()
            .and_then(|page| u32::try_from(page).ok())
            .filter(|page| *page > 0)
            .ok_or_else(|| unusable("page is not a number from 1 on".to_owned()))?,
    };
    let request = ContextRequest {
        entity,
        window: case.window,
        page,
        visit: 2,
        changed_neighbours: [].into(),
    };
    let answer = runtime()?.block_on(bundle.get_context(&request));
    answer.map_err(|failure| unusable(failure.to_string()))
}

/// `START/END`, or an object with both.
fn window(given: Option<&Value>) -> Result<Option<Window>, String> {
    let ends = match given {
        None => return Ok(None),
        Some(Value::String(text)) => {
            text.split_once('/').map(|(a, b)| (a.to_owned(), b.to_owned()))
        }
        Some(Value::Object(ends)) => {
            let end = |name: &str| ends.get(name).and_then(Value::as_str).map(str::to_owned);
            end("start").zip(end("end"))
        }
        Some(_) => None,
    };
    let wrong = || "window is not START/END, such as 2026-01-01T10:00:00Z/2026-01-01T11:00:00Z";
    let (start, end) = ends.ok_or_else(wrong)?;
    let (start, end) = (start.trim().parse(), end.trim().parse());
    let (Ok(start), Ok(end)) = (start, end) else { return Err(wrong().to_owned()) };
    Window::new(start, end).map(Some).map_err(|error| error.to_string())
}

/// Whether a path leads to a bundle.
pub(super) fn is_bundle(path: &Path) -> bool {
    path.join("bundle.json").is_file()
}
