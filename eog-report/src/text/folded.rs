//! How an incident spread, without those that only pass an effect on.

use eog_core::{Diagnosis, EntityId, EvidenceKind};

use crate::tree::{Branch, tree};

/// One line of the folded tree.
#[derive(Clone, Debug)]
pub(super) struct Hop<'d> {
    /// The line.
    pub(super) branch: Branch<'d>,
    /// The entities that pass the effect on between the line above and this one.
    pub(super) via: Vec<&'d EntityId>,
}

impl Hop<'_> {
    /// Whether nothing was measured on it.
    pub(super) fn passes_on(&self, diagnosis: &Diagnosis) -> bool {
        shows_nothing(diagnosis, self.branch.entity)
    }
}

/// The lines of the tree. A line whose entity shows nothing of its own, and leads to exactly one other,
/// is folded into that one.
pub(super) fn folded(diagnosis: &Diagnosis) -> Vec<Hop<'_>> {
    let rows = tree(diagnosis);
    let mut hops: Vec<Hop<'_>> = Vec::new();
    // The levels that were folded away above the current line, and their entities.
    let mut gone: Vec<usize> = Vec::new();
    let mut via: Vec<&EntityId> = Vec::new();
    for (position, row) in rows.iter().enumerate() {
        let depth = row.more.len();
        gone.retain(|&level| level < depth);
        let mut branch = row.clone();
        for &level in gone.iter().rev() {
            branch.more.remove(level);
        }
        let children = rows[position + 1..].iter().take_while(|next| next.more.len() > depth);
        let is_single = children.filter(|next| next.more.len() == depth + 1).count() == 1;
        let is_carrier = depth > 0 && row.alerts.is_empty() && !row.repeated;
        if is_carrier && is_single && shows_nothing(diagnosis, row.entity) {
            via.push(row.entity);
            gone.push(depth);
            continue;
        }
        hops.push(Hop { via: std::mem::take(&mut via), branch });
    }
    hops
}

/// Whether the belief about an entity rests on no measurement, log, span, event or alert.
fn shows_nothing(diagnosis: &Diagnosis, entity: &EntityId) -> bool {
    let Some(belief) = diagnosis.belief(entity) else { return true };
    let cited = diagnosis.cited(belief);
    cited.iter().all(|one| {
        one.entity != *entity || matches!(one.kind, EvidenceKind::Note | EvidenceKind::Change)
    })
}
