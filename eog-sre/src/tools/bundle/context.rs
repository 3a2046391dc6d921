//! `get_context_contract` of a bundle: local evidence about an entity, as the controller sees it.

use eog_core::{ContextRequest, LocalContext, Window};
use eog_evidence::open_case;

use super::{BundleTool, BundleToolbox};
use crate::tools::{GetContextContract, TimeRange, ToolError, entities, get_context_contract};

impl BundleTool for GetContextContract {
    const ARGUMENTS: &'static [&'static str] = &["entity", "window", "page"];

    fn of_bundle(&self, toolbox: &BundleToolbox<'_>) -> Result<LocalContext, ToolError> {
        if self.entity.trim().is_empty() {
            let hint = "build_topology lists all of them";
            return Err(ToolError::argument("entity", "is missing", hint));
        }
        let entity = entities::one(&toolbox.entities(), &self.entity)?.clone();
        let window = window(toolbox, self.window)?;
        if self.page == 0 {
            return Err(ToolError::argument("page", "is not a number from 1 on", ""));
        }
        // A second visit also brings the relations that are as usual.
        let (page, visit) = (self.page, 2);
        let changed_neighbours = [].into();
        let request =
            ContextRequest { entity, window, page, visit, changed_neighbours, query: None };
        Ok(toolbox.context.local_context(&request))
    }
}

/// The window that is asked for, a missing end taken from that of an investigation.
pub(super) fn window(
    toolbox: &BundleToolbox<'_>,
    wanted: Option<TimeRange>,
) -> Result<Window, ToolError> {
    let case = || open_case(toolbox.incident, None).map_err(|error| error.to_string());
    get_context_contract::window(|| case().map(|case| case.window), wanted)
}
