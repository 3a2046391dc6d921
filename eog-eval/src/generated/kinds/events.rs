//! Event-driven: producers, topics, consumers that write to stores and emit further events, and
//! a queue of dead letters.

use eog_simulate::RandomSeed;

use super::builder::Builder;
use crate::generated::system::{LinkKind, Role, System};

pub(in crate::generated) fn system(seed: RandomSeed) -> System {
    let mut build = Builder::new(seed, [4.0, 24.0]);
    let size = build.size().max(7);
    let clients = build.add("-users", Role::Clients);
    let producers = build.between(1, 1 + size / 12);
    let producers = build.add_many(producers, "-api", Role::Serving);
    for &producer in &producers {
        build.need(clients, producer);
    }
    for link in &mut build.system.links {
        link.share = 1.0 / producers.len() as f64;
    }
    let (mut emitters, mut consumers, mut queues) = (producers.clone(), Vec::new(), Vec::new());
    // Stages: each has topics that the stage before fills, and consumers that may fill the next.
    let mut left = (size * 3 / 5).max(2);
    while left >= 2 && queues.len() < 14 {
        let (mut stage, topics) = (Vec::new(), build.between(1, 3).min(left / 2));
        for _ in 0..topics {
            let ending = ["-topic", "-queue"][build.draw.position(2)];
            let queue = build.add(ending, Role::Queue);
            let emitter = build.one(&emitters);
            build.call(emitter, queue);
            if build.draw.chance(0.3) {
                let other = build.one(&emitters);
                build.call(other, queue);
            }
            build.system.parts[queue].watched = true;
            queues.push(queue);
            left = left.saturating_sub(1);
            for _ in 0..build.between(1, 3).min(left.max(1)) {
                let worker = build.add("-consumer", Role::Worker);
                build.system.take(worker, queue);
                build.system.parts[worker].headroom += 0.8;
                stage.push(worker);
                left = left.saturating_sub(1);
            }
        }
        consumers.extend(&stage);
        emitters = stage;
    }
    let rejected = build.add("-dead-letters", Role::Queue);
    build.system.parts[rejected].watched = true;
    for &consumer in &consumers {
        build.system.join(consumer, rejected, LinkKind::DeadLetters);
    }
    let helpers = build.between(0, size / 10);
    let helpers = build.add_many(helpers, "-svc", Role::Serving);
    let stores = build.between(1, 1 + size / 10);
    let stores = build.add_many(stores, "-db", Role::Store);
    let outside = build.between(1, 1 + size / 30);
    let outside = build.add_many(outside, "-ext", Role::Outside);
    for &consumer in &consumers {
        let store = build.one(&stores);
        build.need(consumer, store);
        if build.draw.chance(0.4) && !helpers.is_empty() {
            let helper = build.one(&helpers);
            build.call(consumer, helper);
        }
    }
    let callers = [producers.clone(), consumers, helpers.clone()].concat();
    for &one in stores.iter().chain(&outside) {
        let caller = build.one(&callers);
        build.call(caller, one);
    }
    for &helper in &helpers {
        let caller = build.one(&producers);
        build.call(caller, helper);
    }
    for &part in producers.iter().chain(&helpers) {
        build.system.parts[part].watched = build.draw.chance(0.6);
    }
    let nodes = build.between(1, 1 + size / 10);
    build.on_nodes(nodes)
}
