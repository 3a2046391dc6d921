//! What a report cites, found again in its source.

use std::collections::BTreeSet;

use eog::{Case, ContextContract as _, ContextRequest, EntityId, EvidenceId, Failure, Finding};

use super::Opened;

/// Most pages of one context that are searched.
const MAX_PAGES: u32 = 64;

/// Searches a finding by its id: in the contexts of the entity that is named, then of those joined with
/// it, then of all. Ids are derived from content, so what is found is what was cited. `case` gives the
/// window and the topology. Nothing where no context holds it: the files or the window are others.
///
/// # Errors
/// The first [`Failure`] of the source.
pub async fn find_again(
    source: &Opened,
    case: &Case,
    id: &EvidenceId,
    entity: Option<&EntityId>,
) -> Result<Option<Finding>, Failure> {
    let topology = &case.topology;
    let near = entity.map(|entity| topology.neighbours(entity)).unwrap_or_default();
    let near = near.into_iter().map(|neighbour| neighbour.entity);
    let alerting = case.anomalies.iter().map(|anomaly| anomaly.entity.clone());
    let order = entity.cloned().into_iter().chain(near).chain(alerting);
    let mut asked = BTreeSet::new();
    for entity in order.chain(topology.entities().cloned()) {
        if !asked.insert(entity.clone()) {
            continue;
        }
        if let Some(found) = of_entity(source, case, id, &entity).await? {
            return Ok(Some(found));
        }
    }
    Ok(None)
}

/// A later visit shows more about relations whose messages are new, so each of them is asked for.
async fn of_entity(
    source: &Opened,
    case: &Case,
    id: &EvidenceId,
    entity: &EntityId,
) -> Result<Option<Finding>, Failure> {
    let joined = case.topology.neighbours(entity).into_iter().map(|one| one.entity);
    let joined: BTreeSet<EntityId> = joined.collect();
    for (visit, changed_neighbours) in [(1, BTreeSet::new()), (2, joined)] {
        let mut request = ContextRequest {
            entity: entity.clone(),
            window: case.window,
            page: 0,
            visit,
            changed_neighbours,
            query: None,
        };
        // All at once is bounded, too: what it leaves out stands on pages.
        for page in 0..=MAX_PAGES {
            request.page = page;
            let context = source.get_context(&request).await?;
            let is_last = context.omitted.is_empty() || context.findings.is_empty();
            let found = context.findings.into_iter().find(|finding| finding.id() == id);
            if found.is_some() {
                return Ok(found);
            }
            if is_last {
                break;
            }
        }
    }
    Ok(None)
}
