//! At which places of the tree something shifted.

use super::requests::{Compared, ShiftKind};
use super::tree::PathTree;

/// The nodes where paths are critical, worst first, each with what shifted there.
///
/// Errors and latency count where no service further on shows the same; requests that stopped,
/// where the caller's did not stop too. That requests are new is no fault.
pub(super) fn critical_nodes(
    tree: &PathTree,
    compared: impl Fn(usize) -> Option<Compared>,
) -> Vec<(usize, Vec<ShiftKind>)> {
    let judged: Vec<Option<Compared>> = (0..tree.nodes.len()).map(compared).collect();
    let shifted = |node: usize, kind: ShiftKind| {
        let found = judged.get(node).and_then(Option::as_ref);
        found.is_some_and(|found| found.shifts.contains(&kind))
    };
    // Children stand behind their parents, so one walk from behind sees all that is below.
    let mut below = vec![[false; 2]; tree.nodes.len()];
    let deep = [ShiftKind::Errors, ShiftKind::Latency];
    for (at, node) in tree.nodes.iter().enumerate().skip(1).rev() {
        let own = below.get(at).copied().unwrap_or_default();
        if let Some(above) = below.get_mut(node.parent) {
            for (slot, (kind, seen)) in above.iter_mut().zip(deep.into_iter().zip(own)) {
                *slot |= seen || shifted(at, kind);
            }
        }
    }
    let mut critical: Vec<(usize, Vec<ShiftKind>, f64)> = Vec::new();
    for (at, node) in tree.nodes.iter().enumerate().skip(1) {
        let Some(own) = judged.get(at).and_then(Option::as_ref) else { continue };
        let below = below.get(at).copied().unwrap_or_default();
        let counts = |kind: &ShiftKind| match kind {
            ShiftKind::Errors => !below[0],
            ShiftKind::Latency => !below[1],
            ShiftKind::Gone => !shifted(node.parent, ShiftKind::Gone),
            ShiftKind::New => false,
        };
        let shifts: Vec<ShiftKind> = own.shifts.iter().copied().filter(counts).collect();
        if !shifts.is_empty() {
            let strength = Compared { shifts: shifts.clone(), ..own.clone() }.strength();
            critical.push((at, shifts, strength));
        }
    }
    critical.sort_by(|a, b| b.2.total_cmp(&a.2).then(a.0.cmp(&b.0)));
    critical.into_iter().map(|(at, shifts, _)| (at, shifts)).collect()
}
