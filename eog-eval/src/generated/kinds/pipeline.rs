//! Web, API, queue, workers and database.

use eog_simulate::{RandomSeed, Stream};

use crate::generated::names::Names;
use crate::generated::system::{Role, System};

/// Web, API, queue, workers and database, with a few services beside them.
pub(in crate::generated) fn system(seed: RandomSeed) -> System {
    let mut draw = seed.stream("system");
    let mut names = Names::default();
    let load = 10.0 + 40.0 * draw.share();
    let mut system = System::new(load);
    let mut add = |system: &mut System, ending: &str, role: Role, draw: &mut Stream| {
        let name = names.fresh(ending, draw);
        system.add(name, role, draw)
    };
    let clients = add(&mut system, "-users", Role::Clients, &mut draw);
    let web = add(&mut system, "-web", Role::Serving, &mut draw);
    let api = add(&mut system, "-api", Role::Serving, &mut draw);
    let beside: Vec<usize> = (0..draw.between(0, 2))
        .map(|_| add(&mut system, "-svc", Role::Serving, &mut draw))
        .collect();
    let queues: Vec<usize> = (0..draw.between(1, 2))
        .map(|_| add(&mut system, "-queue", Role::Queue, &mut draw))
        .collect();
    let mut workers = Vec::new();
    for &queue in &queues {
        for _ in 0..draw.between(1, 3) {
            workers.push((queue, add(&mut system, "-worker", Role::Worker, &mut draw)));
        }
    }
    let database = add(&mut system, "-db", Role::Store, &mut draw);
    let bucket = draw.chance(0.5).then(|| add(&mut system, "-files", Role::Store, &mut draw));
    system.link(clients, web, &mut draw);
    system.link(web, api, &mut draw);
    system.link(api, database, &mut draw);
    for other in beside {
        system.link(web, other, &mut draw);
    }
    for &queue in &queues {
        system.link(api, queue, &mut draw);
    }
    for &(queue, worker) in &workers {
        system.take(worker, queue);
        system.link(worker, database, &mut draw);
        if let Some(bucket) = bucket.filter(|_| draw.chance(0.5)) {
            system.link(worker, bucket, &mut draw);
        }
    }
    for link in &mut system.links {
        link.needed |= link.to == database || link.from == clients || link.from == web;
        if link.from == clients || link.from == web {
            link.share = 1.0;
        }
    }
    for (at, part) in system.parts.iter_mut().enumerate() {
        part.watched = at == web || part.role == Role::Queue || (at == api && draw.chance(0.5));
    }
    system
}
