//! How an incident spread, as a tree at a terminal.

use eog_core::{Belief, Claim, Diagnosis, EntityId};

use super::folded::{Hop, folded};
use super::left;
use crate::clean::{clean, clean_to};
use crate::page::{DIM, PLAIN, Page, RED};
use crate::report::Report;
use crate::tree::{Branch, tree};

/// Characters shown of each half of a claim.
const MAX_WORDS: usize = 140;
/// Lines shown of the whole tree, and of the folded one.
const MAX_LINES: (usize, usize) = (40, 15);
/// Names shown of entities that pass an effect on.
const MAX_VIA: usize = 6;
/// The name of lines of a tree.
const ENTITIES: (&str, &str) = ("entity", "entities");

/// Every claim with both of its halves.
pub(super) fn full(page: &mut Page, report: &Report) {
    let branches = tree(&report.diagnosis);
    for branch in branches.iter().take(MAX_LINES.0) {
        let below = entity(page, branch);
        if let Some(claim) = branch.claim.filter(|_| !branch.repeated) {
            let seen = format!("seen as {}", clean_to(&claim.observed, MAX_WORDS));
            let line = match is_above(claim, &report.diagnosis) {
                true => seen,
                false => format!("because {}; {seen}", clean_to(&claim.condition, MAX_WORDS)),
            };
            page.paragraph(&below, &below, DIM, &line);
        }
    }
    left(page, branches.len(), MAX_LINES.0, ENTITIES);
}

/// Without entities that only pass an effect on, and without what the causes say above it.
pub(super) fn brief(page: &mut Page, report: &Report) {
    let hops = folded(&report.diagnosis);
    for hop in hops.iter().take(MAX_LINES.1) {
        let below = entity(page, &hop.branch);
        if hop.branch.repeated {
            continue;
        }
        if !hop.via.is_empty() {
            page.paragraph(&below, &below, DIM, &via(&hop.via));
        }
        if let Some(claim) = hop.branch.claim {
            why(page, &below, claim, hop, &report.diagnosis);
        }
    }
    left(page, hops.len(), MAX_LINES.1, ENTITIES);
}

/// The line of an entity with its alerts; returns the lead of further lines about it.
fn entity(page: &mut Page, branch: &Branch<'_>) -> String {
    let alerts = match branch.alerts.as_slice() {
        [] => String::new(),
        _ => format!("  {RED}⚠ {}{RED:#}", clean(&branch.alerts_in_words())),
    };
    let again = if branch.repeated { "  (see above)" } else { "" };
    let below = format!("  {}", branch.continued());
    let entity = format!("{}{alerts}{again}", clean(branch.entity.as_str()));
    page.paragraph(&format!("  {}", branch.lead()), &below, PLAIN, &entity);
    below
}

/// The entities that pass an effect on.
fn via(names: &[&EntityId]) -> String {
    let shown: Vec<_> = names.iter().take(MAX_VIA).map(|name| clean(name.as_str())).collect();
    let rest = match names.len().saturating_sub(MAX_VIA) {
        0 => String::new(),
        rest => format!(" > … {rest} more"),
    };
    format!("via {}{rest}", shown.join(" > "))
}

fn why(page: &mut Page, below: &str, claim: &Claim, hop: &Hop<'_>, diagnosis: &Diagnosis) {
    // The link of a passing entity to the next one shows nothing of the harm.
    if hop.via.is_empty() && !claim.condition.is_empty() && !is_above(claim, diagnosis) {
        page.paragraph(below, below, DIM, &clean_to(&claim.condition, MAX_WORDS));
    }
    let is_seen = hop.branch.alerts.is_empty() && !hop.passes_on(diagnosis);
    if is_seen && !claim.observed.is_empty() {
        let seen = format!("seen as {}", clean_to(&claim.observed, MAX_WORDS));
        page.paragraph(below, below, DIM, &seen);
    }
}

/// Whether the condition of a claim is the sentence that stands with its cause already.
fn is_above(claim: &Claim, diagnosis: &Diagnosis) -> bool {
    let is_said = |belief: &Belief| belief.summary.trim() == claim.condition.trim();
    let belief = diagnosis.belief(&claim.cause).filter(|belief| is_said(belief));
    belief.is_some() && diagnosis.cause_of(&claim.cause).is_some()
}
