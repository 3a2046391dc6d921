//! A scheduler, and jobs that run in steps over stores, every few minutes or once a night.

use eog_simulate::RandomSeed;

use super::builder::Builder;
use crate::generated::system::{Job, LinkKind, Role, System};

pub(in crate::generated) fn system(seed: RandomSeed) -> System {
    let mut build = Builder::new(seed, [1.0, 1.0]);
    let size = build.size().max(7);
    let feed = build.add("-feed", Role::Clients);
    let scheduler = build.add("-scheduler", Role::Scheduler);
    let (mut left, mut steps) = ((size * 3 / 5).max(3), Vec::new());
    while left > 0 {
        let count = build.between(2, 6).min(left);
        left -= count;
        steps.extend(job(&mut build, [feed, scheduler], count));
    }
    let services = build.between(0, size / 12);
    let services = build.add_many(services, "-svc", Role::Serving);
    let stores = build.between(1, 1 + size / 8);
    let stores = build.add_many(stores, "-db", Role::Store);
    let outside = build.between(1, 1 + size / 30);
    let outside = build.add_many(outside, "-ext", Role::Outside);
    for &step in &steps {
        for _ in 0..build.between(1, 2) {
            let store = build.one(&stores);
            build.need(step, store);
        }
    }
    for &one in services.iter().chain(&outside) {
        for _ in 0..2 {
            let step = build.one(&steps);
            build.need(step, one);
        }
    }
    for &service in &services {
        let store = build.one(&stores);
        build.need(service, store);
    }
    let nodes = build.between(1, 1 + size / 10);
    build.on_nodes(nodes)
}

/// A job of so many steps. The alerts of a job are on its last step, and on some others.
fn job(build: &mut Builder, [feed, scheduler]: [usize; 2], count: usize) -> Vec<usize> {
    // Every 5 to 30 minutes, or once, in the night, which is late in the recording.
    let is_nightly = build.draw.chance(0.15);
    let period: f64 = [300.0, 600.0, 900.0, 900.0, 1_800.0][build.draw.position(5)];
    let period: f64 = if is_nightly { 86_400.0 } else { period };
    let phase = if is_nightly { 6_600.0 } else { -period };
    let phase = phase + (period.min(1_800.0) * build.draw.share()).round();
    let length = period.min(1_800.0) * (0.25 + 0.35 * build.draw.share());
    let items = (200.0 + 4_000.0 * build.draw.share()).round();
    let (usual, mut due, mut above) = (length / count as f64, 0.0, scheduler);
    let mut steps = Vec::new();
    for number in 0..count {
        let ending = ["-extract", "-load", "-merge", "-report"][build.draw.position(4)];
        let step = build.add(ending, Role::Step);
        // Twice the usual time, and half a minute, is late.
        due += 2.0 * usual + 30.0;
        let first = number == 0;
        if first {
            build.system.join(feed, step, LinkKind::Then);
        }
        build.system.join(above, step, LinkKind::Then);
        let watched = number + 1 == count || build.draw.chance(0.4);
        let part = &mut build.system.parts[step];
        part.job = Some(Job { period, phase, items, usual, due, first });
        part.watched = watched;
        above = step;
        steps.push(step);
    }
    steps
}
