//! What people said, beside what a source tells.

use std::collections::BTreeMap;

use eog::evidence::{EvidenceTime, FindingContent, Signal, Trend};
use eog::{
    BoxFuture, ContextContract, ContextRequest, EntityId, EvidenceKind, Failure, Finding,
    LocalContext, Window,
};

/// A contract, with what people said of entities as findings before its own.
#[derive(Clone, Debug)]
pub struct Supplemented<C> {
    contract: C,
    notes: BTreeMap<EntityId, Finding>,
}

impl<C> Supplemented<C> {
    /// Adds notes by entity, which hold over the whole window.
    pub fn new(contract: C, notes: &BTreeMap<EntityId, String>, window: Window) -> Self {
        let finding = |(entity, text): (&EntityId, &String)| {
            let content = FindingContent {
                entity: entity.clone(),
                kind: EvidenceKind::Note,
                signal: Signal::Other,
                trend: Trend::Steady,
                time: EvidenceTime::During(window),
                quantity: None,
                change: None,
                peer: None,
                source: "person".to_owned(),
                query: format!("asked about {entity}"),
                excerpt: text.clone(),
            };
            (entity.clone(), Finding::new(content))
        };
        Self { contract, notes: notes.iter().map(finding).collect() }
    }
}

impl<C: ContextContract> ContextContract for Supplemented<C> {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        let Some(note) = self.notes.get(&request.entity).filter(|_| request.page <= 1) else {
            return self.contract.get_context(request);
        };
        Box::pin(async move {
            let mut context = self.contract.get_context(request).await?;
            context.findings.insert(0, note.clone());
            Ok(context)
        })
    }
}
