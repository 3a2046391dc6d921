//! What causes do to the parts of a system at a time.

use super::STEP;
use crate::generated::system::{Role, System};
use crate::generated::trouble::{Effect, Trouble, Wrong};

/// What is different about a part.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strain {
    /// The share of requests that fails.
    pub(super) errors: f64,
    /// The operation of which a share of requests fails, and that share.
    pub(super) operation: Option<(usize, f64)>,
    /// How many times as long its work takes, on the processor.
    pub(super) slower: f64,
    /// How many times as long its work takes, for want of a processor.
    pub(super) starved: f64,
    /// How many times as long its work takes, for waiting.
    pub(super) waits: f64,
    /// How many times fewer places there are.
    pub(super) fewer: f64,
    /// The share of places that is held for nothing.
    pub(super) held: f64,
    /// How many times as often it calls stores.
    pub(super) store_calls: f64,
    /// How many times the load it sends.
    pub(super) load: f64,
    /// What a node itself is busy with.
    pub(super) busy: f64,
    /// What else its processor is busy with.
    pub(super) cpu: f64,
    /// How much of the free memory is filled, and whether that kills it now.
    pub(super) leaked: f64,
    pub(super) killed: bool,
    /// How much of the free disk is filled.
    pub(super) disk: f64,
    /// The share of callers that cannot connect.
    pub(super) unreachable: f64,
    /// More time on the network to it and from it, in milliseconds.
    pub(super) delay_to: f64,
    pub(super) delay_from: f64,
    /// How much of its capacity is gone.
    pub(super) stuck: f64,
    /// What is wrong with its answers.
    pub(super) wrong: Option<Wrong>,
}

impl Default for Strain {
    fn default() -> Self {
        Self {
            errors: 0.0,
            operation: None,
            slower: 1.0,
            starved: 1.0,
            waits: 1.0,
            fewer: 1.0,
            held: 0.0,
            store_calls: 1.0,
            load: 1.0,
            busy: 0.0,
            cpu: 0.0,
            leaked: 0.0,
            killed: false,
            disk: 0.0,
            unreachable: 0.0,
            delay_to: 0.0,
            delay_from: 0.0,
            stuck: 0.0,
            wrong: None,
        }
    }
}

/// The strains of all parts, step by step.
pub(super) struct Strains<'a> {
    system: &'a System,
    troubles: &'a [Trouble],
    /// How far the memory is filled that each of them fills.
    leaked: Vec<f64>,
}

impl<'a> Strains<'a> {
    pub(super) fn new(system: &'a System, troubles: &'a [Trouble]) -> Self {
        Self { system, troubles, leaked: vec![0.0; troubles.len()] }
    }

    /// The strains of the next step.
    pub(super) fn next(&mut self, now: f64) -> Vec<Strain> {
        let mut all = vec![Strain::default(); self.system.parts.len()];
        for (trouble, leaked) in self.troubles.iter().zip(&mut self.leaked) {
            let strength = trouble.strength(now);
            if trouble.effect == Effect::Leak {
                let more = (*leaked + strength * STEP / 240.0).min(1.0);
                *leaked = if *leaked >= 1.0 { 0.3 } else { more };
            }
            for part in bearers(self.system, trouble.part) {
                let spare = self.system.parts[part].spare.unwrap_or(1.0);
                let cause = Cause { effect: trouble.effect, strength, leaked: *leaked, spare };
                cause.apply(&mut all[part]);
            }
            // What befalls a node or is done to it befalls what runs on it.
            let shared = match trouble.effect {
                Effect::SickNode(times) => Some((Some(trouble.part), times)),
                Effect::Neighbour(times) => Some((self.system.parts[trouble.part].node, times)),
                _ => None,
            };
            let Some((Some(node), times)) = shared else { continue };
            for (number, part) in self.system.parts.iter().enumerate() {
                if part.node == Some(node) && number != trouble.part {
                    all[number].starved *= 1.0 + (times - 1.0) * strength;
                }
            }
            if node != trouble.part {
                all[node].busy = 0.6 * strength;
            }
        }
        all
    }
}

/// The parts that bear what is done to one: the instances of an application, else the part itself.
fn bearers(system: &System, part: usize) -> Vec<usize> {
    let parts = &system.parts;
    if parts[part].role != Role::Group {
        return vec![part];
    }
    (0..parts.len()).filter(|number| parts[*number].group == Some(part)).collect()
}

/// What a cause does to one part now.
struct Cause {
    effect: Effect,
    strength: f64,
    leaked: f64,
    /// How many times the places that it needs the part has.
    spare: f64,
}

impl Cause {
    fn apply(&self, on: &mut Strain) {
        let &Self { effect, strength, leaked, spare } = self;
        let times = |full: f64| 1.0 + (full - 1.0) * strength;
        match effect {
            Effect::Errors(share) => on.errors += share * strength,
            Effect::OperationErrors(which, share) => on.operation = Some((which, share * strength)),
            Effect::Slower(full) => on.slower *= times(full),
            Effect::Waits(full) => on.waits *= times(full),
            Effect::SmallerPool(full) => on.fewer *= times(full * spare),
            Effect::HeldPlaces(share) => on.held = (1.0 - (1.0 - share) / spare) * strength,
            Effect::MoreCalls(full) => on.store_calls *= times(full),
            Effect::Leak => {
                on.leaked = leaked;
                on.killed = leaked >= 1.0;
                on.slower *= 1.0 + 5.0 * ((leaked - 0.6).max(0.0) / 0.4);
                on.errors += if on.killed { 0.6 } else { 0.0 };
            }
            Effect::FullDisk(share) => {
                on.disk = strength;
                on.errors += if strength >= 1.0 { share } else { 0.0 };
            }
            Effect::Load(full) => on.load *= times(full),
            Effect::SickNode(full) => on.busy = (full - 1.0) * strength / full,
            Effect::Neighbour(_) => on.cpu = 0.85 * strength,
            Effect::Contended(full) => {
                on.starved *= times(full);
                on.cpu = 0.95 * strength;
            }
            Effect::Wrong(wrong) => {
                on.wrong = Some(Wrong { share: wrong.share * strength, ..wrong });
            }
            Effect::Unreachable(share) => on.unreachable = share * strength,
            Effect::Delay(millis, is_both) => {
                on.delay_to += millis * strength;
                on.delay_from += if is_both { millis * strength } else { 0.0 };
            }
            Effect::Stuck => on.stuck = strength,
        }
    }
}
