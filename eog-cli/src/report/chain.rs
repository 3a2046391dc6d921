//! The causal chain as a tree: from each origin along the claims to the alerts.

use std::collections::BTreeSet;

use eog::{Claim, EntityId};

use super::model::Report;

/// One line of the tree.
pub(super) struct Line<'r> {
    /// The branches drawn before the entity.
    pub(super) branches: String,
    /// The branches drawn before further lines about the entity.
    pub(super) continued: String,
    /// The entity.
    pub(super) entity: &'r EntityId,
    /// The claim that leads here; none at a root.
    pub(super) claim: Option<&'r Claim>,
    /// The alerts on the entity.
    pub(super) alerts: Vec<&'r str>,
    /// Whether the entity stands further up already, with what follows from it.
    pub(super) repeated: bool,
}

/// The lines of the tree, origins first. Each entity is unfolded once, so cycles end.
pub(super) fn tree(report: &Report) -> Vec<Line<'_>> {
    let mut tree = Tree { report, unfolded: BTreeSet::new(), lines: Vec::new() };
    for origin in report.causes().flat_map(|group| &group.origins) {
        tree.unfold(origin);
    }
    tree.lines
}

struct Tree<'r> {
    report: &'r Report,
    unfolded: BTreeSet<&'r EntityId>,
    lines: Vec<Line<'r>>,
}

/// A line still to be drawn: its entity, the claim that leads there, and for each level above
/// whether more follows at that level.
type Pending<'r> = (&'r EntityId, Option<&'r Claim>, Vec<bool>);

impl<'r> Tree<'r> {
    fn unfold(&mut self, root: &'r EntityId) {
        let mut pending: Vec<Pending<'r>> = vec![(root, None, Vec::new())];
        while let Some((entity, claim, more)) = pending.pop() {
            let repeated = !self.unfolded.insert(entity);
            self.lines.push(Line {
                branches: branches(&more, false),
                continued: branches(&more, true),
                entity,
                claim,
                alerts: alerts(self.report, entity),
                repeated,
            });
            if repeated {
                continue;
            }
            let effects: Vec<&Claim> =
                self.report.causal.iter().filter(|claim| claim.cause == *entity).collect();
            for (position, claim) in effects.iter().enumerate().rev() {
                let mut more = more.clone();
                more.push(position + 1 < effects.len());
                pending.push((&claim.effect, Some(claim), more));
            }
        }
    }
}

fn alerts<'r>(report: &'r Report, entity: &EntityId) -> Vec<&'r str> {
    let on_entity = report.anomalies.iter().filter(|anomaly| anomaly.entity == *entity);
    on_entity.map(|anomaly| anomaly.name.as_str()).collect()
}

/// The lines that hold the tree together, for an entity's first line or the ones below it.
fn branches(more: &[bool], continued: bool) -> String {
    let mut text = String::new();
    for (level, follows) in more.iter().enumerate() {
        text.push_str(match (level + 1 == more.len() && !continued, follows) {
            (true, true) => "├─ ",
            (true, false) => "└─ ",
            (false, true) => "│  ",
            (false, false) => "   ",
        });
    }
    text
}
