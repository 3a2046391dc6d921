//! Pages of a context: the own findings first, then what is known of dependencies.

use std::collections::BTreeSet;
use std::ops::Range;

use eog_core::{EntityId, Finding, LocalContext, Window};

/// Maximum number of findings on one page; notes on effects are added to the first page beyond it.
pub const PAGE_FINDINGS: usize = 24;

/// Maximum number of findings when all pages are requested at once.
pub const MAX_FINDINGS_AT_ONCE: usize = 240;

/// Default number of dependencies on one page.
pub const DEPS_PER_PAGE: usize = 3;

/// Default token limit of a page.
pub const MAX_TOKENS: usize = 8000;

/// Bytes of JSON that count as one token. An estimate: English prose has about four bytes a token,
/// names and numbers have fewer.
const BYTES_PER_TOKEN: usize = 3;

/// Which part of the local evidence about an entity is requested.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContextQuery {
    /// The entity.
    pub entity: EntityId,
    /// The window under investigation.
    pub window: Window,
    /// Page number, starting at 1; 0 returns all pages at once.
    pub page: u32,
    /// Number of dependencies on each page after the entity's own; 0 counts as 1.
    pub deps_per_page: usize,
    /// Approximate number of tokens for the findings of a page, estimated at three bytes of JSON per
    /// token. A page contains at least one finding. Page 0 and the notes on the first page have
    /// limits of their own.
    pub max_tokens: usize,
    /// Neighbours whose traffic with the entity is to be included.
    pub changed_neighbours: BTreeSet<EntityId>,
}

impl ContextQuery {
    /// The first page with the default limits.
    pub fn new(entity: EntityId, window: Window) -> Self {
        Self {
            entity,
            window,
            page: 1,
            deps_per_page: DEPS_PER_PAGE,
            max_tokens: MAX_TOKENS,
            changed_neighbours: BTreeSet::new(),
        }
    }
}

/// One page out of everything, each list strongest first.
pub(super) fn page(
    own: Vec<Finding>,
    dependencies: Vec<Vec<Finding>>,
    query: &ContextQuery,
) -> LocalContext {
    if query.page == 0 {
        return everything(own, dependencies);
    }
    let wanted = query.page as usize;
    let own_pages = pack(&own, query.max_tokens);
    let first_of_dependencies = own_pages.len().max(1) + 1;
    let mut context = LocalContext::default();
    if wanted < first_of_dependencies {
        let rows = own_pages.get(wanted - 1).cloned().unwrap_or(0..0);
        let left = own.len() - rows.end;
        context.findings = own.into_iter().skip(rows.start).take(rows.len()).collect();
        if left > 0 {
            context
                .omitted
                .push(format!("{left} weaker findings are left for page {} and later", wanted + 1));
        }
        note_dependencies(&mut context, &dependencies, first_of_dependencies);
        let of_dependencies = dependencies.len().div_ceil(query.deps_per_page.max(1));
        let last = first_of_dependencies - 1 + of_dependencies;
        context.pages_left = count(last.saturating_sub(wanted));
        return context;
    }
    let each = query.deps_per_page.max(1);
    let passed = (wanted - first_of_dependencies).saturating_mul(each);
    let after = dependencies.get(passed.saturating_add(each)..).unwrap_or_default();
    let left = after.len();
    note_dependencies(&mut context, after, wanted + 1);
    let notes = std::mem::take(&mut context.omitted);
    let mut found: Vec<Finding> =
        dependencies.into_iter().skip(passed).take(each).flatten().collect();
    let fitting = pack(&found, query.max_tokens).first().map_or(0, |rows| rows.end);
    let cut = found.len() - fitting;
    found.truncate(fitting);
    context.findings = found;
    if cut > 0 {
        context.omitted.push(format!(
            "{cut} findings on these dependencies do not fit the page; ask for fewer dependencies \
             a page, or for the dependency itself"
        ));
    }
    context.omitted.extend(notes);
    context.pages_left = count(left.div_ceil(each));
    context
}

fn count(pages: usize) -> u32 {
    u32::try_from(pages).unwrap_or(u32::MAX)
}

/// Most dependencies that are named.
const MAX_NAMED: usize = 5;

fn note_dependencies(context: &mut LocalContext, left: &[Vec<Finding>], page: usize) {
    if left.is_empty() {
        return;
    }
    let names = left.iter().filter_map(|findings| findings.first());
    let mut names: Vec<&str> =
        names.take(MAX_NAMED).map(|finding| finding.entity.as_str()).collect();
    let more = left.len().saturating_sub(names.len());
    let more = format!("{more} more");
    if left.len() > names.len() {
        names.push(&more);
    }
    context.omitted.push(format!(
        "changes and events of {} are left for page {page} and later",
        names.join(", ")
    ));
}

fn everything(own: Vec<Finding>, dependencies: Vec<Vec<Finding>>) -> LocalContext {
    let mut findings: Vec<Finding> =
        own.into_iter().chain(dependencies.into_iter().flatten()).collect();
    let cut = findings.len().saturating_sub(MAX_FINDINGS_AT_ONCE);
    findings.truncate(MAX_FINDINGS_AT_ONCE);
    let mut context = LocalContext { findings, ..LocalContext::default() };
    if cut > 0 {
        context.omitted.push(format!("{cut} findings are left out; ask for single pages"));
    }
    context
}

/// Cuts findings into pages that fit both bounds, in order, at least one finding on each.
fn pack(findings: &[Finding], max_tokens: usize) -> Vec<Range<usize>> {
    let mut pages: Vec<Range<usize>> = Vec::new();
    let mut room = 0_usize;
    for (at, finding) in findings.iter().enumerate() {
        let tokens = tokens(finding);
        match pages.last_mut() {
            Some(page) if page.len() < PAGE_FINDINGS && tokens <= room => {
                page.end = at + 1;
                room -= tokens;
            }
            _ => {
                pages.push(at..at + 1);
                room = max_tokens.saturating_sub(tokens);
            }
        }
    }
    pages
}

/// About how many tokens a finding is.
fn tokens(finding: &Finding) -> usize {
    serde_json::to_vec(finding).map_or(0, |bytes| bytes.len().div_ceil(BYTES_PER_TOKEN))
}
