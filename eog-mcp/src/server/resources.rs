//! Ledger, report, graph and tree of each investigation, as resources.

use eog_report::Report;
use eog_report::page::plain;
use eog_session::travel;
use rmcp::ErrorData;
use rmcp::model::{
    ListResourceTemplatesResult, ListResourcesResult, ReadResourceResult, Resource,
    ResourceContents, ResourceTemplate,
};

use super::Server;
use super::error::Problem;
use eog_session::store::{InvestigationId, Part};

/// Investigations of one page of the list.
const PAGE: usize = 50;

/// Longest resource that is sent, in bytes.
const MAX_BYTES: u64 = 64 << 20;

/// How every address begins.
const BEGIN: &str = "eog://investigations/";

/// How the address of a part ends, its media type, and its title.
fn offered(part: Part) -> [&'static str; 3] {
    match part {
        Part::Ledger => ["ledger", "application/x-ndjson", "Every step, one JSON object a line"],
        Part::Report => ["report", "text/markdown", "The report"],
        Part::Dot => ["graph.dot", "text/vnd.graphviz", "The causal graph for Graphviz"],
        Part::Mermaid => ["graph.mermaid", "text/vnd.mermaid", "The causal graph for Mermaid"],
        Part::Tree => ["tree", "text/plain", "The tree of a tree search"],
    }
}

/// The address of a part.
pub(super) fn uri(id: &InvestigationId, part: Part) -> String {
    format!("{BEGIN}{id}/{}", offered(part)[0])
}

/// What kinds of addresses there are.
pub(super) fn templates() -> ListResourceTemplatesResult {
    let one = |part: Part| {
        let [tail, mime, title] = offered(part);
        ResourceTemplate::new(format!("{BEGIN}{{id}}/{tail}"), tail)
            .with_title(title)
            .with_description("`id` is the id of an investigation, such as inv-000001.")
            .with_mime_type(mime)
    };
    ListResourceTemplatesResult::with_all_items(Part::ALL.map(one).to_vec())
}

impl Server {
    /// One page of all parts of all investigations, newest first. Blocks.
    pub(super) fn resources(&self, cursor: Option<&str>) -> Result<ListResourcesResult, ErrorData> {
        let from: usize = cursor.unwrap_or("0").parse().map_err(|_| {
            ErrorData::invalid_params("the cursor is not one that this server gave", None)
        })?;
        let ids = self.0.store.ids();
        let page = ids.iter().rev().skip(from).take(PAGE);
        let resources = page.flat_map(|id| {
            let began = self.0.store.began(id).ok();
            let grows =
                began.as_ref().is_some_and(|began| began.config.controller().profile().is_some());
            let name = began.map(|began| began.name).unwrap_or_default();
            let parts = Part::ALL.into_iter().filter(move |part| grows || *part != Part::Tree);
            parts.map(move |part| {
                let [tail, mime, title] = offered(part);
                let resource = Resource::new(uri(id, part), format!("{id} {tail}"))
                    .with_title(format!("{title}: {name} ({id})"))
                    .with_mime_type(mime);
                match self.0.store.part_bytes(id, part) {
                    Some(bytes) => resource.with_size(bytes),
                    None => resource,
                }
            })
        });
        let mut result = ListResourcesResult::with_all_items(resources.collect());
        result.next_cursor = Some(from.saturating_add(PAGE))
            .filter(|next| *next < ids.len())
            .map(|next| next.to_string());
        Ok(result)
    }

    /// One part: as the last run left it, or as it follows from the journal at this moment. Blocks.
    pub(super) fn read_part(&self, address: &str) -> Result<ReadResourceResult, ErrorData> {
        let shown = eog_evidence::shorten(address, 200);
        let unknown = || {
            let tails = Part::ALL.map(|part| offered(part)[0]).join(", ");
            ErrorData::resource_not_found(
                format!("there is no resource {shown}; there are {BEGIN}{{id}}/ with {tails}"),
                None,
            )
        };
        let (id, tail) = address
            .strip_prefix(BEGIN)
            .and_then(|rest| rest.split_once('/'))
            .ok_or_else(unknown)?;
        let part =
            Part::ALL.into_iter().find(|part| offered(*part)[0] == tail).ok_or_else(unknown)?;
        let id = self
            .0
            .store
            .find(id)
            .map_err(|problem| ErrorData::resource_not_found(problem.to_string(), None))?;
        let text = self.part(&id, part).map_err(|problem| {
            ErrorData::internal_error(format!("{shown} cannot be read: {problem}"), None)
        })?;
        let contents = ResourceContents::text(text, address).with_mime_type(offered(part)[1]);
        Ok(ReadResourceResult::new(vec![contents]))
    }

    fn part(&self, id: &InvestigationId, part: Part) -> Result<String, Problem> {
        let store = &self.0.store;
        let bytes = store.part_bytes(id, part);
        let journal = store.journal(id).metadata().map_or(0, |meta| meta.len());
        if bytes.unwrap_or(journal) > MAX_BYTES {
            return Err(Problem::Store(format!(
                "it is longer than {MAX_BYTES} bytes; read {} in the state folder of the server",
                part.file()
            )));
        }
        if let Some(text) = store.part(id, part) {
            return Ok(text);
        }
        if part == Part::Ledger {
            return Ok(travel::read_journal(&store.journal(id))?.ledger.to_json_lines());
        }
        let standing = self.standing(id)?;
        let report = Report::new(standing.began.name, standing.finished.diagnosis());
        Ok(match part {
            Part::Ledger => standing.finished.to_json_lines(),
            Part::Report => eog_report::markdown(&report),
            Part::Dot => eog_report::dot(&report),
            Part::Mermaid => eog_report::mermaid(&report),
            Part::Tree => match standing.finished.tree(None) {
                Some(tree) => plain(&tree),
                None => {
                    let controller = standing.finished.controller();
                    format!("the controller {controller} grows no tree; read the ledger\n")
                }
            },
        })
    }
}
