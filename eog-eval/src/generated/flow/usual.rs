//! What is usual for each part: load, holding time, and the places that are enough for it.

use crate::generated::system::{LinkKind, Role, System};

/// What is usual for each part.
pub(super) struct Usual {
    /// Requests a second.
    pub(super) load: Vec<f64>,
    /// Places of its pool.
    pub(super) places: Vec<f64>,
}

impl Usual {
    /// Enough places for the usual load at the usual times, and some headroom.
    pub(super) fn of(system: &System) -> Self {
        let load = load(system);
        let mut hold = vec![0.0; system.parts.len()];
        for (number, part) in system.parts.iter().enumerate().rev() {
            let waited: f64 = system
                .calls_of(number)
                .map(|link| {
                    let is_queue = system.parts[link.to].role == Role::Queue;
                    let time = if is_queue { 2.0 } else { 1.4 * hold[link.to] };
                    link.share * (time + 2.0 * link.network)
                })
                .sum();
            hold[number] = part.work + waited;
        }
        let pools = system.parts.iter().enumerate();
        let places = pools
            .map(|(at, part)| {
                // A job has as many places as it needs to be done in its time.
                let headroom = if part.role == Role::Step { 1.0 } else { part.headroom };
                let spare = part.spare.unwrap_or(1.0);
                (load[at] * hold[at] / 1_000.0 * headroom * spare).max(0.05)
            })
            .collect();
        Self { load, places }
    }
}

fn load(system: &System) -> Vec<f64> {
    let mut load = vec![0.0; system.parts.len()];
    for (number, part) in system.parts.iter().enumerate() {
        match part.role {
            Role::Clients => load[number] = system.load,
            Role::Worker => {
                let queue = system.queue_of(number).unwrap_or(0);
                load[number] = load[queue] / system.takers(queue).count().max(1) as f64;
            }
            Role::Step => {
                load[number] = part.job.map_or(0.0, |job| job.items / job.usual);
            }
            _ => {}
        }
        for link in system.links.iter().filter(|link| link.from == number) {
            if link.kind == LinkKind::Calls {
                load[link.to] += load[number] * link.share;
            }
        }
    }
    load
}
