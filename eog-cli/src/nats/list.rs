//! `eog list`: the investigations on a cluster.

use comfy_table::{ContentArrangement, Table, TableStyle};
use eog_nats::{InvestigationId, Registered};
use eog_report::clean::clean;
use serde::Serialize;

use super::order::Order;
use super::reach::Reached;
use super::state::State;
use crate::args::{List, ListFormat};
use crate::error::{CliError, Exit};
use crate::files;

/// One line of the list.
#[derive(Serialize)]
pub(super) struct Line {
    pub(super) id: String,
    /// What the incident is called.
    pub(super) name: String,
    pub(super) controller: String,
    pub(super) submitted: eog::Timestamp,
    pub(super) status: &'static str,
    pub(super) confidence: String,
    pub(super) origins: Vec<String>,
    /// Entries of the ledger when it ended.
    pub(super) entries: u64,
    /// How often a worker took it.
    pub(super) attempts: u64,
    /// Which worker has or had it.
    pub(super) worker: String,
    pub(super) note: String,
}

/// `eog list`.
pub(crate) fn list(arguments: &List) -> Result<Exit, CliError> {
    let reached = Reached::connecting(&arguments.nats)?;
    let lines = lines(&reached)?;
    match arguments.format {
        ListFormat::Json => {
            let text = serde_json::to_string_pretty(&lines)
                .map_err(|error| CliError::Usage(error.to_string()))?;
            files::print(&format!("{text}\n"))?;
        }
        ListFormat::Text if lines.is_empty() => {
            eprintln!("eog: there are no investigations; eog submit adds one");
        }
        ListFormat::Text => files::print(&format!("{}\n", table(&lines)))?,
    }
    Ok(Exit::Diagnosed)
}

/// All investigations, the latest first.
pub(super) fn lines(reached: &Reached) -> Result<Vec<Line>, CliError> {
    let all = reached.register.all()?;
    let mut lines: Vec<Line> = all.iter().map(|(id, it)| line(id, it)).collect();
    lines.sort_by(|a, b| b.submitted.cmp(&a.submitted).then_with(|| a.id.cmp(&b.id)));
    Ok(lines)
}

/// What cannot be read is listed all the same.
fn line(id: &InvestigationId, registered: &Registered) -> Line {
    let order = Order::read(&registered.order);
    let state = State::read(&registered.state);
    let unreadable = order.as_ref().err().or(state.as_ref().err()).map(ToString::to_string);
    let state = state.ok().flatten();
    let order = order.ok();
    Line {
        id: id.to_string(),
        name: order.as_ref().map(|order| order.name.clone()).unwrap_or_default(),
        controller: order
            .as_ref()
            .map(|order| order.settings.controller().to_string())
            .unwrap_or_default(),
        submitted: order.map_or(eog::Timestamp::UNIX_EPOCH, |order| order.submitted),
        status: state.as_ref().map_or("waiting", |state| state.status.as_str()),
        confidence: state.as_ref().map(|state| state.confidence.clone()).unwrap_or_default(),
        origins: state.as_ref().map(|state| state.origins.clone()).unwrap_or_default(),
        entries: state.as_ref().map_or(0, |state| state.entries),
        attempts: state.as_ref().map_or(0, |state| state.attempts),
        worker: state.as_ref().map(|state| state.worker.clone()).unwrap_or_default(),
        note: unreadable.or(state.map(|state| state.note)).unwrap_or_default(),
    }
}

fn table(lines: &[Line]) -> Table {
    let mut table = Table::new();
    table.load_style(TableStyle::new());
    if let Some(width) = files::full_width() {
        table.set_content_arrangement(ContentArrangement::Dynamic);
        table.set_width(u16::try_from(width).unwrap_or(u16::MAX));
    }
    table.set_header(["ID", "INCIDENT", "STATUS", "RESULT", "NOTE"]);
    for line in lines {
        let result = match line.origins.as_slice() {
            [] => line.confidence.clone(),
            origins => format!("{}: {}", line.confidence, origins.join(", ")),
        };
        let cells = [line.id.as_str(), &line.name, line.status, &result, &line.note];
        table.add_row(cells.map(|cell| clean(cell).into_owned()));
    }
    table
}
