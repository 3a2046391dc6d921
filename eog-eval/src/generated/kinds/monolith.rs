//! One large application with a proxy in front, one database, a cache and a few outside services;
//! its instances run on nodes.

use eog_simulate::RandomSeed;

use super::builder::Builder;
use crate::generated::system::{Role, System};

pub(in crate::generated) fn system(seed: RandomSeed) -> System {
    let mut build = Builder::new(seed, [6.0, 30.0]);
    let size = build.size().max(8);
    let clients = build.add("-users", Role::Clients);
    let proxy = build.add("-proxy", Role::Serving);
    build.need(clients, proxy);
    build.system.parts[proxy].spare = Some(30.0);
    let app = build.add("-app", Role::Group);
    build.need(proxy, app);
    let instances = build.between(2, (size * 2 / 3).max(2));
    let instances = build.add_many(instances, "-app-instance", Role::Serving);
    let queue = build.draw.chance(0.4).then(|| build.add("-jobs", Role::Queue));
    let workers = build.between(1, 2);
    let workers = queue.map(|_| build.add_many(workers, "-worker", Role::Worker));
    let database = build.add("-db", Role::Store);
    let cache = build.add("-cache", Role::Store);
    let outside = build.between(1, 4);
    let outside = build.add_many(outside, "-ext", Role::Outside);
    for &instance in &instances {
        build.need(app, instance);
    }
    // Instances are alike: what one has the others have.
    let (work, headroom) = (20.0 + 60.0 * build.draw.share(), 1.7 + 2.0 * build.draw.share());
    let errors = 0.003 * build.draw.share();
    let parallel = build.draw.chance(0.3);
    let spare = build.system.parts[instances[0]].spare;
    for &instance in &instances {
        let part = &mut build.system.parts[instance];
        part.group = Some(app);
        (part.work, part.headroom, part.errors) = (work, headroom, errors);
        (part.parallel, part.spare) = (parallel, spare);
    }
    let part = &mut build.system.parts[app];
    // The application itself is nothing but its instances.
    (part.work, part.headroom, part.errors) = (0.01, 50.0, 0.0);
    let callees: Vec<usize> = [cache, database].into_iter().chain(outside).chain(queue).collect();
    for callee in callees {
        let first = build.system.links.len();
        build.call(instances[0], callee);
        let Some(link) = build.system.links.get(first).copied() else { continue };
        for &instance in &instances[1..] {
            build.system.links.push(crate::generated::system::Link { from: instance, ..link });
        }
    }
    for link in &mut build.system.links {
        link.needed |= link.to == database;
        link.needed &= link.to != cache;
        if link.from == app {
            (link.share, link.network) = (1.0 / instances.len() as f64, 0.0);
        }
    }
    for (&worker, queue) in workers.iter().flatten().zip(queue.into_iter().cycle()) {
        build.system.take(worker, queue);
        build.need(worker, database);
        build.system.parts[queue].watched = true;
    }
    build.system.parts[proxy].watched = true;
    build.system.parts[app].watched = build.draw.chance(0.5);
    let nodes = build.between(1, 1 + size / 8);
    build.on_nodes(nodes)
}
