//! Services in layers, with stores and outside services.

use eog_simulate::RandomSeed;

use crate::generated::names::Names;
use crate::generated::system::{Role, System};

/// Services in layers, with stores and outside services.
pub(in crate::generated) fn system(seed: RandomSeed) -> System {
    let mut draw = seed.stream("system");
    let mut names = Names::default();
    let load = 15.0 + 60.0 * draw.share();
    let mut system = System::new(load);
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
