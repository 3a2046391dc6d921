//! Systems: who there is, who calls whom, how much work it is, and on which node it is done.

use eog::EntityId;
use eog_simulate::{RandomSeed, Stream};

use super::names::Names;

/// What a part does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    /// Sends the load.
    Clients,
    /// Answers requests, and calls others for it.
    Serving,
    /// Answers requests alone: a database or a cache.
    Store,
    /// Holds messages until workers take them.
    Queue,
    /// Takes messages, and calls others for it.
    Worker,
    /// Belongs to somebody else: nothing is measured there.
    Outside,
    /// Runs other parts.
    Node,
}

/// A part of a system.
#[derive(Clone, Debug)]
pub(super) struct Part {
    pub(super) name: EntityId,
    pub(super) role: Role,
    /// Time of its own for a request, in milliseconds.
    pub(super) work: f64,
    /// How many times its usual load it could take at its usual times.
    pub(super) headroom: f64,
    /// The share of requests that fail always.
    pub(super) errors: f64,
    /// The node that it runs on.
    pub(super) node: Option<usize>,
    /// Whether there are alerts on it.
    pub(super) watched: bool,
}

/// One part uses another.
#[derive(Clone, Copy, Debug)]
pub(super) struct Link {
    pub(super) from: usize,
    pub(super) to: usize,
    /// Calls for each request.
    pub(super) share: f64,
    /// Whether a request fails when the call does.
    pub(super) needed: bool,
    /// When the caller gives up, in milliseconds.
    pub(super) timeout: f64,
    /// Whether messages are taken out, not put in.
    pub(super) takes: bool,
}

/// A system. Callers come before those that they call.
#[derive(Clone, Debug)]
pub(super) struct System {
    pub(super) parts: Vec<Part>,
    pub(super) links: Vec<Link>,
    /// Requests from outside a second.
    pub(super) load: f64,
}

impl System {
    /// The parts of some roles.
    pub(super) fn having(&self, roles: &[Role]) -> Vec<usize> {
        (0..self.parts.len()).filter(|at| roles.contains(&self.parts[*at].role)).collect()
    }

    fn add(&mut self, name: EntityId, role: Role, draw: &mut Stream) -> usize {
        let work = match role {
            Role::Store | Role::Queue => 1.0 + 6.0 * draw.share(),
            Role::Worker | Role::Outside => 20.0 + 100.0 * draw.share(),
            _ => 4.0 + 40.0 * draw.share(),
        };
        self.parts.push(Part {
            name,
            role,
            work,
            headroom: 1.7 + 2.0 * draw.share(),
            errors: if draw.chance(0.5) { 0.004 * draw.share() } else { 0.0 },
            node: None,
            watched: false,
        });
        self.parts.len() - 1
    }

    fn link(&mut self, from: usize, to: usize, draw: &mut Stream) {
        let share = [0.3, 0.6, 1.0, 1.0, 2.0][draw.position(5)];
        let needed = draw.chance(0.85);
        let timeout = 400.0 + 2_600.0 * draw.share();
        self.links.push(Link { from, to, share, needed, timeout, takes: false });
    }

    /// Places parts on new nodes.
    fn place(&mut self, names: &mut Names, count: usize, draw: &mut Stream) {
        let first = self.parts.len();
        for number in 0..count {
            let name = names.fresh(&format!("-host-{number}"), draw);
            self.add(name, Role::Node, draw);
        }
        for part in &mut self.parts[..first] {
            if !matches!(part.role, Role::Clients | Role::Outside) {
                part.node = Some(first + draw.position(count));
            }
        }
    }
}

/// Services in layers, with stores and outside services.
pub(super) fn services(seed: RandomSeed) -> System {
    let mut draw = seed.stream("system");
    let mut names = Names::default();
    let load = 15.0 + 60.0 * draw.share();
    let mut system = System { parts: Vec::new(), links: Vec::new(), load };
    let clients = names.fresh("-users", &mut draw);
    system.add(clients, Role::Clients, &mut draw);
    let mut above = vec![0];
    let mut all: Vec<usize> = Vec::new();
    let layers = draw.between(3, 4);
    for layer in 0..layers {
        let count = if layer == 0 { draw.between(1, 2) } else { draw.between(2, 6) };
        let mut here = Vec::new();
        for _ in 0..count {
            let ending = ["", "-svc", "-api", "-srv"][draw.position(4)];
            let name = names.fresh(ending, &mut draw);
            let at = system.add(name, Role::Serving, &mut draw);
            let caller = above[draw.position(above.len())];
            system.link(caller, at, &mut draw);
            // Some are called by several, also from higher up.
            if layer > 0 && draw.chance(0.4) {
                let other = all[draw.position(all.len())];
                if other != caller && !here.contains(&other) {
                    system.link(other, at, &mut draw);
                }
            }
            system.parts[at].watched = layer == 0 || draw.chance(0.5);
            here.push(at);
        }
        all.extend(&here);
        above = here;
    }
    for (role, count, ending) in
        [(Role::Store, draw.between(2, 4), "-db"), (Role::Outside, draw.between(1, 3), "-ext")]
    {
        for _ in 0..count {
            let name = names.fresh(ending, &mut draw);
            let at = system.add(name, role, &mut draw);
            for _ in 0..draw.between(1, 2) {
                let caller = all[draw.position(all.len())];
                if !system.links.iter().any(|link| (link.from, link.to) == (caller, at)) {
                    system.link(caller, at, &mut draw);
                }
            }
        }
    }
    let nodes = draw.between(3, 5) as usize;
    system.place(&mut names, nodes, &mut draw);
    for link in system.links.iter_mut().filter(|link| link.from == 0) {
        (link.share, link.needed) = (1.0, true);
    }
    system
}

/// Web, API, queue, workers and database, with a few services beside them.
pub(super) fn pipeline(seed: RandomSeed) -> System {
    let mut draw = seed.stream("system");
    let mut names = Names::default();
    let load = 10.0 + 40.0 * draw.share();
    let mut system = System { parts: Vec::new(), links: Vec::new(), load };
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
        let (share, needed, timeout) = (1.0, true, 30_000.0);
        system.links.push(Link { from: worker, to: queue, share, needed, timeout, takes: true });
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
