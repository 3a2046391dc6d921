//! How an incident spread, as a tree: from each origin along the claims to the alerts.

use std::collections::{BTreeMap, BTreeSet};

use eog_core::{Claim, Diagnosis, EntityId};

/// One line of the tree.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Branch<'d> {
    /// For each level above, whether more follows at that level. Empty at a root.
    pub more: Vec<bool>,
    /// The entity.
    pub entity: &'d EntityId,
    /// The claim that leads here; none at a root.
    pub claim: Option<&'d Claim>,
    /// The alerts on the entity.
    pub alerts: Vec<&'d str>,
    /// Those of them that no cause explains, such as because they began before it.
    pub open: Vec<&'d str>,
    /// Whether the entity is in the tree further up already, with its effects.
    pub repeated: bool,
}

impl Branch<'_> {
    /// The alerts, and behind them those that no cause explains.
    pub(crate) fn alerts_in_words(&self) -> String {
        let (open, explained): (Vec<&str>, Vec<&str>) =
            self.alerts.iter().partition(|name| self.open.contains(name));
        let explained = explained.join(", ");
        match open.as_slice() {
            [] => explained,
            open if explained.is_empty() => format!("not explained: {}", open.join(", ")),
            open => format!("{explained}; not explained: {}", open.join(", ")),
        }
    }
}

/// The lines of the tree, origins first. Each entity is unfolded once, so cycles end.
pub fn tree(diagnosis: &Diagnosis) -> Vec<Branch<'_>> {
    let mut effects: BTreeMap<&EntityId, Vec<&Claim>> = BTreeMap::new();
    for claim in &diagnosis.causal {
        effects.entry(&claim.cause).or_default().push(claim);
    }
    let unexplained = diagnosis.conclusion.unexplained.iter();
    let mut open: BTreeMap<&EntityId, Vec<&str>> = BTreeMap::new();
    for anomaly in unexplained.filter_map(|&position| diagnosis.anomalies.get(position)) {
        open.entry(&anomaly.entity).or_default().push(&anomaly.name);
    }
    let mut tree = Tree { effects, alerts: alerts(diagnosis), open, ..Tree::default() };
    for origin in diagnosis.causes().flat_map(|group| &group.origins) {
        tree.unfold(origin);
    }
    tree.lines
}

/// The names of the alerts on each entity.
pub(crate) fn alerts(diagnosis: &Diagnosis) -> BTreeMap<&EntityId, Vec<&str>> {
    let mut alerts: BTreeMap<&EntityId, Vec<&str>> = BTreeMap::new();
    for anomaly in &diagnosis.anomalies {
        alerts.entry(&anomaly.entity).or_default().push(&anomaly.name);
    }
    alerts
}

#[derive(Default)]
struct Tree<'d> {
    effects: BTreeMap<&'d EntityId, Vec<&'d Claim>>,
    alerts: BTreeMap<&'d EntityId, Vec<&'d str>>,
    open: BTreeMap<&'d EntityId, Vec<&'d str>>,
    unfolded: BTreeSet<&'d EntityId>,
    lines: Vec<Branch<'d>>,
}

/// A line still to be drawn: its entity, the claim that leads there, and for each level above
/// whether more follows at that level.
type Pending<'d> = (&'d EntityId, Option<&'d Claim>, Vec<bool>);

impl<'d> Tree<'d> {
    fn unfold(&mut self, root: &'d EntityId) {
        let mut pending: Vec<Pending<'d>> = vec![(root, None, Vec::new())];
        while let Some((entity, claim, more)) = pending.pop() {
            let repeated = !self.unfolded.insert(entity);
            if !repeated {
                let effects = self.effects.get(entity).map_or(&[][..], Vec::as_slice);
                for (position, claim) in effects.iter().enumerate().rev() {
                    let mut more = more.clone();
                    more.push(position + 1 < effects.len());
                    pending.push((&claim.effect, Some(claim), more));
                }
            }
            let alerts = self.alerts.get(entity).cloned().unwrap_or_default();
            let open = self.open.get(entity).cloned().unwrap_or_default();
            self.lines.push(Branch { more, entity, claim, alerts, open, repeated });
        }
    }
}

impl Branch<'_> {
    /// The lines that hold the tree together, before the entity.
    pub fn lead(&self) -> String {
        self.drawn(false)
    }

    /// The same, before further lines about the entity.
    pub fn continued(&self) -> String {
        self.drawn(true)
    }

    fn drawn(&self, continued: bool) -> String {
        let mut text = String::new();
        for (level, follows) in self.more.iter().enumerate() {
            text.push_str(match (level + 1 == self.more.len() && !continued, follows) {
                (true, true) => "├─ ",
                (true, false) => "└─ ",
                (false, true) => "│  ",
                (false, false) => "   ",
            });
        }
        text
    }
}
