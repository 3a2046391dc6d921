//! Deep chains of calls: 6 to 12 hops, thin fan-out, some of them over a queue.

use eog_simulate::RandomSeed;

use super::builder::Builder;
use crate::generated::system::{Role, System};

/// The fewest and the most services in a row.
const HOPS: [usize; 2] = [6, 12];

pub(in crate::generated) fn system(seed: RandomSeed) -> System {
    let mut build = Builder::new(seed, [4.0, 24.0]);
    let size = build.size().max(12);
    let clients = build.add("-users", Role::Clients);
    let gate = build.add("-gate", Role::Serving);
    build.need(clients, gate);
    build.system.parts[gate].spare = Some(30.0);
    // A fifth of the parts are stores, outside services and nodes.
    let mut left = size * 4 / 5;
    let mut all = Vec::new();
    while left >= HOPS[0] || all.is_empty() {
        let hops = build.between(HOPS[0], HOPS[1].min(left.max(HOPS[0])));
        left = left.saturating_sub(hops);
        all.extend(chain(&mut build, gate, hops));
    }
    let stores = build.between(1, 1 + size / 12);
    let stores = build.add_many(stores, "-db", Role::Store);
    let outside = build.between(1, 1 + size / 30);
    let outside = build.add_many(outside, "-ext", Role::Outside);
    for &store in &stores {
        for _ in 0..build.between(1, 3) {
            let caller = build.one(&all);
            build.call(caller, store);
        }
    }
    // Chains end at a store, and some have a helper beside the way.
    for &caller in &all {
        let ends = build.system.calls_of(caller).next().is_none();
        if ends || build.draw.chance(0.15) {
            let store = build.one(&stores);
            build.need(caller, store);
        }
    }
    for &one in &outside {
        let caller = build.one(&all);
        build.call(caller, one);
    }
    build.system.parts[gate].watched = true;
    for &part in &all {
        build.system.parts[part].watched = build.draw.chance(0.25);
    }
    let nodes = build.between(1, 1 + size / 10);
    build.on_nodes(nodes)
}

/// A chain behind the gate: services, and in some chains a queue with workers on the way.
fn chain(build: &mut Builder, gate: usize, hops: usize) -> Vec<usize> {
    let handover = build.draw.chance(0.35).then(|| build.between(2, hops - 2));
    let (mut parts, mut above) = (Vec::new(), gate);
    for hop in 0..hops {
        if handover == Some(hop) {
            let queue = build.add("-queue", Role::Queue);
            build.need(above, queue);
            build.system.parts[queue].watched = true;
            let worker = build.add("-worker", Role::Worker);
            build.system.take(worker, queue);
            parts.push(worker);
            above = worker;
            continue;
        }
        let ending = ["", "-svc", "-api"][build.draw.position(3)];
        let one = build.add(ending, Role::Serving);
        build.need(above, one);
        parts.push(one);
        if hop > 0 && build.draw.chance(0.2) {
            let helper = build.add("-lookup", Role::Serving);
            build.call(one, helper);
            parts.push(helper);
        }
        above = one;
    }
    parts
}
