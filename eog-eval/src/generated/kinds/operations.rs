//! What parts can be asked to do, and which calls each of it makes.

use eog_simulate::{RandomSeed, Stream};

use crate::generated::system::{LinkKind, Operation, Role, System};

const VERBS: [&str; 4] = ["GET", "POST", "PUT", "DELETE"];

const NOUNS: [&str; 12] = [
    "orders", "items", "users", "quotes", "invoices", "sessions", "labels", "routes", "offers",
    "reports", "tokens", "images",
];

/// One operation of a caller calls one of a callee.
#[derive(Clone, Copy, Debug)]
pub(in crate::generated) struct Use {
    /// The operation of the caller.
    pub(in crate::generated) from: usize,
    /// The operation of the callee.
    pub(in crate::generated) to: usize,
    /// Calls for each request.
    pub(in crate::generated) calls: f64,
}

/// The uses of each link, in the order of the links.
pub(in crate::generated) struct Operations {
    pub(in crate::generated) uses: Vec<Vec<Use>>,
}

/// Gives parts operations, and links the uses that lead to their shares.
pub(in crate::generated) fn assign(system: &mut System, seed: RandomSeed) -> Operations {
    let mut draw = seed.stream("operations");
    let count = system.parts.len();
    for number in 0..count {
        let group = system.parts[number].group;
        system.parts[number].operations = match group {
            Some(group) => system.parts[group].operations.clone(),
            None => named(system, number, &mut draw),
        };
    }
    let mut uses: Vec<Vec<Use>> = Vec::new();
    for at in 0..system.links.len() {
        let link = system.links[at];
        let alike = system.links[..at].iter().position(|other| {
            let groups = [other.from, link.from].map(|part| system.parts[part].group);
            other.to == link.to && groups[0].is_some() && groups[0] == groups[1]
        });
        uses.push(match alike {
            // Instances of one application make the same calls.
            Some(other) => uses[other].clone(),
            None if link.kind == LinkKind::Calls => drawn(system, at, &mut draw),
            None => Vec::new(),
        });
    }
    weigh(system, &uses);
    Operations { uses }
}

fn named(system: &System, number: usize, draw: &mut Stream) -> Vec<Operation> {
    let part = &system.parts[number];
    let count = match part.role {
        Role::Serving | Role::Group => draw.between(1, 4) as usize,
        Role::Store => 2,
        _ => 1,
    };
    let nouns = draw.sample(NOUNS.len(), count);
    let name = |at: usize, draw: &mut Stream| match part.role {
        Role::Store => ["SELECT", "UPDATE"][at % 2].to_owned(),
        Role::Queue => "publish".to_owned(),
        Role::Worker => "process".to_owned(),
        Role::Step => "run".to_owned(),
        _ => {
            let verb = draw.pick(&VERBS).copied().unwrap_or_default();
            format!("{verb} /{}", NOUNS[nouns[at]])
        }
    };
    let operation = |at| Operation { name: name(at, draw), weight: 0.0 };
    (0..count).map(operation).collect()
}

fn drawn(system: &System, at: usize, draw: &mut Stream) -> Vec<Use> {
    let link = system.links[at];
    let [from, to] = [link.from, link.to].map(|part| &system.parts[part]);
    let same = to.group == Some(link.from);
    if same || from.role == Role::Clients {
        let one = |from| Use { from, to: from, calls: link.share };
        return (0..to.operations.len()).map(one).collect();
    }
    let count = from.operations.len();
    // Some operations do without the call, but not all of them.
    let always = draw.position(count);
    let mut uses = Vec::new();
    for from in 0..count {
        let target = draw.position(to.operations.len());
        if from == always || draw.chance(0.65) {
            uses.push(Use { from, to: target, calls: link.share });
        }
    }
    uses
}

/// Weighs operations by how often they are called, and sets what share of requests makes each call.
fn weigh(system: &mut System, uses: &[Vec<Use>]) {
    let count = system.parts.len();
    let mut flows: Vec<Vec<f64>> =
        system.parts.iter().map(|part| vec![0.0; part.operations.len()]).collect();
    for number in 0..count {
        let role = system.parts[number].role;
        let starts = matches!(role, Role::Clients | Role::Worker | Role::Step);
        if starts {
            flows[number] = vec![1.0; flows[number].len()];
        }
        let all: f64 = flows[number].iter().sum();
        for (operation, flow) in system.parts[number].operations.iter_mut().zip(&flows[number]) {
            operation.weight = flow / all.max(1e-9);
        }
        for (link, uses) in system.links.iter_mut().zip(uses) {
            if link.from != number || link.kind != LinkKind::Calls {
                continue;
            }
            if role == Role::Clients {
                // People use the operations of an entry unevenly.
                for (at, one) in uses.iter().enumerate() {
                    flows[link.to][one.to] += one.calls / (at + 1) as f64;
                }
                continue;
            }
            let mut calls = 0.0;
            for one in uses {
                let flow = flows[number][one.from] * one.calls;
                flows[link.to][one.to] += flow;
                calls += flow;
            }
            link.share = calls / all.max(1e-9);
        }
    }
}
