//! A context contract whose evidence is in memory.

use std::collections::BTreeMap;

use crate::contract::packet::LocalContext;
use crate::contract::{BoxFuture, ContextContract, ContextRequest, Failure};
use crate::evidence::Finding;
use crate::ids::EntityId;

/// A context contract that holds every context in memory. An entity without one has an empty context.
///
/// For incidents whose evidence is gathered before the investigation begins, and for small programs.
/// `eog-testkit` has one that also fails on demand and records what was asked.
///
/// ```
/// use eog_core::{EntityId, EvidenceKind, InMemoryContext};
/// use eog_core::evidence::{EvidenceTime, FindingContent, Signal};
/// let mut memory = InMemoryContext::default();
/// let at = EvidenceTime::At("2026-01-01T10:04:00Z".parse()?);
/// let killed = FindingContent::new("db".parse()?, EvidenceKind::Event, Signal::Exhaustion, at)
///     .from_source("kernel log", "oom")
///     .with_excerpt("process 4021 killed: out of memory");
/// memory.add(killed.into());
/// assert_eq!(memory.context(&EntityId::new("db")?).findings.len(), 1);
/// assert!(memory.context(&EntityId::new("web")?).findings.is_empty());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, Default, PartialEq)]
pub struct InMemoryContext(BTreeMap<EntityId, LocalContext>);

impl InMemoryContext {
    /// Adds a finding to the context of its entity, after the findings that are there.
    pub fn add(&mut self, finding: Finding) {
        self.0.entry(finding.entity.clone()).or_default().findings.push(finding);
    }

    /// Replaces the context of an entity.
    pub fn insert(&mut self, entity: EntityId, context: LocalContext) {
        self.0.insert(entity, context);
    }

    /// The context of an entity.
    pub fn context(&self, entity: &EntityId) -> LocalContext {
        self.0.get(entity).cloned().unwrap_or_default()
    }
}

impl FromIterator<Finding> for InMemoryContext {
    fn from_iter<I: IntoIterator<Item = Finding>>(findings: I) -> Self {
        let mut memory = Self::default();
        findings.into_iter().for_each(|finding| memory.add(finding));
        memory
    }
}

impl ContextContract for InMemoryContext {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move {
            Ok(match &request.query {
                Some(query) => query.answer(self.context(&query.entity).findings, None),
                None => self.context(&request.entity),
            })
        })
    }
}
