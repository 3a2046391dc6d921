//! A context contract in memory.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use eog::contract::{Coverage, Route};
use eog::{BoxFuture, ContextContract, ContextRequest, EntityId, Failure, Finding, LocalContext};

use crate::names::entity;

/// A context contract that holds its evidence in memory and records what was asked.
///
/// It answers by the request alone: equal requests get equal contexts. Findings come in the order
/// in which they were added; an entity without any has an empty context.
///
/// ```
/// use eog::{ContextContract, Failure};
/// use eog_testkit::{MemoryContext, finding};
/// let contract = MemoryContext::default()
///     .with(finding("S4").excerpt("out of memory"))
///     // S4's load becomes visible once S3 has said something new.
///     .when_new("S3", finding("S4").excerpt("30 % more requests from S3"))
///     // The source is down when S3 is visited for the second time.
///     .fail_on_visit("S3", 2, Failure::context("source is down"));
/// assert!(contract.requests().is_empty());
/// ```
#[derive(Debug, Default)]
pub struct MemoryContext {
    findings: BTreeMap<EntityId, Vec<(Shown, Finding)>>,
    mentions: BTreeMap<EntityId, Vec<EntityId>>,
    omitted: BTreeMap<EntityId, Vec<String>>,
    routes: BTreeMap<EntityId, Vec<Route>>,
    coverage: BTreeMap<EntityId, Coverage>,
    failures: Vec<(EntityId, Option<u32>, Failure)>,
    requests: Mutex<Vec<ContextRequest>>,
}

/// In which requests a finding is shown.
#[derive(Clone, Debug)]
enum Shown {
    FromVisit(u32),
    WhenNew(EntityId),
    OnPage(u32),
}

impl MemoryContext {
    /// Adds a finding to the context of the entity it is on.
    #[must_use]
    pub fn with(self, finding: impl Into<Finding>) -> Self {
        self.from_visit(1, finding)
    }

    /// Adds findings, each to the context of the entity it is on.
    #[must_use]
    pub fn with_all(self, findings: impl IntoIterator<Item = impl Into<Finding>>) -> Self {
        findings.into_iter().fold(self, Self::with)
    }

    /// Adds a finding that shows from this visit on; visits are counted from 1.
    #[must_use]
    pub fn from_visit(self, visit: u32, finding: impl Into<Finding>) -> Self {
        self.add(Shown::FromVisit(visit), finding.into())
    }

    /// Adds a finding that shows in the visits for which a message of `neighbour` is new, and
    /// only in these.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn when_new(self, neighbour: &str, finding: impl Into<Finding>) -> Self {
        self.add(Shown::WhenNew(entity(neighbour)), finding.into())
    }

    /// Adds a finding that shows on this page alone; pages are counted from 1, and what has no page
    /// shows on the first. How many pages are left follows from the findings.
    #[must_use]
    pub fn on_page(self, page: u32, finding: impl Into<Finding>) -> Self {
        self.add(Shown::OnPage(page), finding.into())
    }

    /// Adds a finding that states the way on which effects travel, hop by hop.
    ///
    /// # Panics
    /// When a name is not valid.
    #[must_use]
    #[track_caller]
    pub fn route(mut self, finding: impl Into<Finding>, hops: &[&str]) -> Self {
        let finding = finding.into();
        let hops = hops.iter().map(|name| entity(name)).collect();
        let route = Route { finding: finding.id().clone(), hops };
        self.routes.entry(finding.entity.clone()).or_default().push(route);
        self.with(finding)
    }

    /// Says which kinds of evidence were recorded of an entity, and of others alone.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn recorded(mut self, of: &str, coverage: Coverage) -> Self {
        self.coverage.insert(entity(of), coverage);
        self
    }

    /// Lets the context of one entity mention another.
    ///
    /// # Panics
    /// When a name is not valid.
    #[must_use]
    #[track_caller]
    pub fn mention(mut self, of: &str, mentioned: &str) -> Self {
        self.mentions.entry(entity(of)).or_default().push(entity(mentioned));
        self
    }

    /// Lets the context of an entity say that its bounds left something out.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn omit(mut self, of: &str, what: &str) -> Self {
        self.omitted.entry(entity(of)).or_default().push(what.to_owned());
        self
    }

    /// Fails whenever this entity is asked for.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn fail(mut self, of: &str, failure: Failure) -> Self {
        self.failures.push((entity(of), None, failure));
        self
    }

    /// Fails at one visit of this entity; visits are counted from 1.
    ///
    /// # Panics
    /// When the name is not valid.
    #[must_use]
    #[track_caller]
    pub fn fail_on_visit(mut self, of: &str, visit: u32, failure: Failure) -> Self {
        self.failures.push((entity(of), Some(visit), failure));
        self
    }

    /// Every request so far, in order.
    pub fn requests(&self) -> Vec<ContextRequest> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn add(mut self, shown: Shown, finding: Finding) -> Self {
        self.findings.entry(finding.entity.clone()).or_default().push((shown, finding));
        self
    }

    fn answer(&self, request: &ContextRequest) -> Result<LocalContext, Failure> {
        self.requests.lock().unwrap_or_else(PoisonError::into_inner).push(request.clone());
        let failure = self.failures.iter().find(|(entity, visit, _)| {
            *entity == request.entity && visit.is_none_or(|visit| visit == request.visit)
        });
        if let Some((_, _, failure)) = failure {
            return Err(failure.clone());
        }
        if let Some(query) = &request.query {
            let all = self.findings.get(&query.entity).into_iter().flatten();
            return Ok(query.answer(all.map(|(_, finding)| finding.clone()), None));
        }
        let all = || self.findings.get(&request.entity).into_iter().flatten();
        let first = request.page <= 1;
        let shown = all().filter(|(shown, _)| match shown {
            Shown::FromVisit(visit) => first && request.visit >= *visit,
            Shown::WhenNew(neighbour) => first && request.changed_neighbours.contains(neighbour),
            Shown::OnPage(page) => request.page == *page || request.page == 0,
        });
        let pages = all().map(|(shown, _)| if let Shown::OnPage(page) = shown { *page } else { 1 });
        let last = if request.page == 0 { 0 } else { pages.max().unwrap_or(1) };
        let findings: Vec<Finding> = shown.map(|(_, finding)| finding.clone()).collect();
        let routes = self.routes.get(&request.entity).into_iter().flatten();
        let is_shown =
            |route: &&Route| findings.iter().any(|finding| *finding.id() == route.finding);
        Ok(LocalContext {
            routes: routes.filter(is_shown).cloned().collect(),
            coverage: self.coverage.get(&request.entity).cloned(),
            pages_left: last.saturating_sub(request.page),
            findings,
            mentions: self.mentions.get(&request.entity).cloned().unwrap_or_default(),
            omitted: self.omitted.get(&request.entity).cloned().unwrap_or_default(),
        })
    }
}

impl ContextContract for MemoryContext {
    fn get_context<'a>(
        &'a self,
        request: &'a ContextRequest,
    ) -> BoxFuture<'a, Result<LocalContext, Failure>> {
        Box::pin(async move { self.answer(request) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::hour;

    fn request(name: &str, visit: u32, changed: &[&str]) -> ContextRequest {
        ContextRequest {
            entity: entity(name),
            window: hour(),
            page: 1,
            visit,
            changed_neighbours: changed.iter().map(|name| entity(name)).collect(),
            query: None,
        }
    }

    fn excerpts(context: &LocalContext) -> Vec<&str> {
        context.findings.iter().map(|finding| finding.excerpt.as_str()).collect()
    }

    #[test]
    fn findings_show_by_visit_and_by_new_message() {
        let contract = MemoryContext::default()
            .with(crate::finding("a").excerpt("always"))
            .from_visit(2, crate::finding("a").excerpt("later"))
            .when_new("b", crate::finding("a").excerpt("after b"))
            .with_all([crate::finding("c").excerpt("elsewhere")])
            .mention("a", "z")
            .omit("a", "2 more");
        for (visit, changed, expected) in [
            (1, &[][..], &["always"][..]),
            (1, &["b"], &["always", "after b"]),
            (2, &["c"], &["always", "later"]),
            (3, &["b", "c"], &["always", "later", "after b"]),
        ] {
            let context = contract.answer(&request("a", visit, changed)).expect("no failure set");
            assert_eq!(excerpts(&context), expected, "visit {visit}, new {changed:?}");
            assert_eq!(context.mentions, [entity("z")]);
            assert_eq!(context.omitted, ["2 more"]);
        }
        let empty = contract.answer(&request("unknown", 1, &[]));
        assert_eq!(empty, Ok(LocalContext::default()));
    }

    #[test]
    fn further_pages_are_given_one_by_one() {
        let contract = MemoryContext::default()
            .route(crate::finding("a").excerpt("first"), &["z", "a"])
            .on_page(2, crate::finding("a").excerpt("second"))
            .on_page(3, crate::finding("a").excerpt("third"))
            .recorded("a", Coverage::default());
        for (page, expected, left) in [
            (1, &["first"][..], 2),
            (2, &["second"], 1),
            (3, &["third"], 0),
            (4, &[], 0),
            (0, &["first", "second", "third"], 0),
        ] {
            let request = ContextRequest { page, ..request("a", 1, &[]) };
            let context = contract.answer(&request).expect("no failure set");
            assert_eq!((excerpts(&context).as_slice(), context.pages_left), (expected, left));
            assert_eq!(context.routes.is_empty(), page > 1);
            assert_eq!(context.coverage, Some(Coverage::default()));
        }
    }

    #[test]
    fn failures_strike_by_entity_and_visit_and_requests_are_recorded() {
        let down = Failure::context("down");
        let contract = MemoryContext::default().fail("a", down.clone()).fail_on_visit(
            "b",
            2,
            Failure::context("hiccup"),
        );
        assert_eq!(contract.answer(&request("a", 7, &[])), Err(down));
        assert!(contract.answer(&request("b", 1, &[])).is_ok());
        assert!(contract.answer(&request("b", 2, &["a"])).is_err());
        let asked: Vec<_> =
            contract.requests().into_iter().map(|r| (r.entity.to_string(), r.visit)).collect();
        assert_eq!(asked, [("a".to_owned(), 7), ("b".to_owned(), 1), ("b".to_owned(), 2)]);
    }
}
