//! Some forty services behind a gateway with a dozen callees; some run as two or three replicas.

use eog_simulate::RandomSeed;

use super::builder::Builder;
use crate::generated::system::{Link, Role, System};

/// The share of services behind the first row that run as replicas.
const REPLICATED: f64 = 0.15;

/// The share of calls whose failure the caller does without.
const TOLERATED: f64 = 0.35;

/// The share of services behind the first row that have a store of their own.
const STORED: f64 = 0.3;

/// The share of systems whose nodes are known.
const NODES_KNOWN: f64 = 0.4;

/// A service: who is called, and who makes its calls, which are its replicas where it has some.
struct Service {
    entry: usize,
    makers: Vec<usize>,
}

pub(in crate::generated) fn system(seed: RandomSeed) -> System {
    let mut build = Builder::new(seed, [1.0, 8.0]);
    let clients = build.add("-users", Role::Clients);
    let gate = build.add("-gateway", Role::Serving);
    build.need(clients, gate);
    let part = &mut build.system.parts[gate];
    (part.spare, part.watched, part.errors) = (Some(30.0), true, 0.0);
    let gate = [Service { entry: gate, makers: vec![gate] }];
    let (count, behind, last) = (build.between(10, 14), build.between(11, 15), build.between(6, 9));
    let front = row(&mut build, count, 0.0);
    for service in &front {
        // A request is for one or two of them.
        call(&mut build, &gate[0], service, |share| 0.06 + 0.14 * share);
    }
    let middle = row(&mut build, behind, REPLICATED);
    connect(&mut build, &front, &middle, [1, 3]);
    let back = row(&mut build, last, REPLICATED);
    connect(&mut build, &middle, &back, [0, 2]);
    for service in middle.iter().chain(&back) {
        if build.draw.chance(STORED) {
            let store = build.add("-db", Role::Store);
            let store = Service { entry: store, makers: vec![store] };
            call(&mut build, service, &store, |share| 0.5 + 1.5 * share);
        }
    }
    if build.draw.chance(NODES_KNOWN) {
        let nodes = build.between(3, 6);
        return build.on_nodes(nodes);
    }
    build.system
}

fn row(build: &mut Builder, count: usize, replicated: f64) -> Vec<Service> {
    (0..count)
        .map(|_| {
            if !build.draw.chance(replicated) {
                let one = build.add("-service", Role::Serving);
                return Service { entry: one, makers: vec![one] };
            }
            let group = build.add("-service", Role::Group);
            let instances = build.between(2, 3);
            let instances = build.add_many(instances, "-replica", Role::Serving);
            let first = build.system.parts[instances[0]].clone();
            for &instance in &instances {
                let part = &mut build.system.parts[instance];
                part.group = Some(group);
                (part.work, part.headroom, part.errors) =
                    (first.work, first.headroom, first.errors);
                (part.parallel, part.spare) = (first.parallel, first.spare);
                build.need(group, instance);
            }
            for link in build.system.links.iter_mut().filter(|link| link.from == group) {
                (link.share, link.network) = (1.0 / instances.len() as f64, 0.0);
            }
            // The service itself is nothing but its replicas.
            let part = &mut build.system.parts[group];
            (part.work, part.headroom, part.errors) = (0.01, 50.0, 0.0);
            Service { entry: group, makers: instances }
        })
        .collect()
}

/// Lets each of those in front call some of those behind; none behind is left without a caller.
fn connect(build: &mut Builder, front: &[Service], behind: &[Service], [least, most]: [usize; 2]) {
    let often = |share: f64| [0.3, 0.6, 1.0, 1.0, 2.0][(5.0 * share) as usize];
    for from in front {
        for _ in 0..build.between(least, most) {
            let to = build.draw.position(behind.len());
            call(build, from, &behind[to], often);
        }
    }
    for to in behind {
        if !build.system.links.iter().any(|link| link.to == to.entry) {
            let from = build.draw.position(front.len());
            call(build, &front[from], to, often);
        }
    }
}

fn call(build: &mut Builder, from: &Service, to: &Service, often: impl Fn(f64) -> f64) {
    let Some((&first, others)) = from.makers.split_first() else { return };
    let before = build.system.links.len();
    build.call(first, to.entry);
    let share = often(build.draw.share());
    let needed = !build.draw.chance(TOLERATED);
    let Some(link) = build.system.links.get_mut(before) else { return };
    (link.share, link.needed) = (share, needed);
    let link = *link;
    build.system.links.extend(others.iter().map(|&from| Link { from, ..link }));
}
