//! How an incident spread, without those that only pass an effect on.

use eog_core::{Claim, Diagnosis, EntityId, EvidenceKind};

use crate::tree::{Branch, tree};

/// One line of the folded tree.
#[derive(Clone, Debug)]
pub(crate) struct Hop<'d> {
    branch: Branch<'d>,
    /// Who passes the effect on between the line above and this one.
    pub(crate) via: Vec<&'d EntityId>,
    /// The entity.
    pub(crate) entity: &'d EntityId,
    /// The claim that leads here; none at a root.
    pub(crate) claim: Option<&'d Claim>,
    /// The alerts on it.
    pub(crate) alerts: Vec<&'d str>,
    /// Whether it stands further up already.
    pub(crate) repeated: bool,
}

impl Hop<'_> {
    /// The lines that hold the tree together, before the entity.
    pub(crate) fn lead(&self) -> String {
        self.branch.lead()
    }

    /// The same, before further lines about the entity.
    pub(crate) fn continued(&self) -> String {
        self.branch.continued()
    }

    /// The alerts, each with a remark where no cause explains it.
    pub(crate) fn alerts_in_words(&self) -> String {
        self.branch.alerts_in_words()
    }

    /// Whether nothing was measured on it.
    pub(crate) fn passes_on(&self, diagnosis: &Diagnosis) -> bool {
        shows_nothing(diagnosis, self.entity)
    }
}

/// The lines of the tree. A line whose entity shows nothing of its own, and leads to exactly one other,
/// is folded into that one.
pub(crate) fn folded(diagnosis: &Diagnosis) -> Vec<Hop<'_>> {
    let rows = tree(diagnosis);
    let mut hops: Vec<Hop<'_>> = Vec::new();
    // The levels that were folded away above the line at hand, and who stood there.
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
        hops.push(Hop {
            via: std::mem::take(&mut via),
            entity: row.entity,
            claim: row.claim,
            alerts: row.alerts.clone(),
            repeated: row.repeated,
            branch,
        });
    }
    hops
}

/// Whether what is believed of an entity rests on no measurement, log, span, event or alert.
fn shows_nothing(diagnosis: &Diagnosis, entity: &EntityId) -> bool {
    let Some(belief) = diagnosis.belief(entity) else { return true };
    let cited = diagnosis.cited(belief);
    cited.iter().all(|one| {
        one.entity != *entity || matches!(one.kind, EvidenceKind::Note | EvidenceKind::Change)
    })
}
