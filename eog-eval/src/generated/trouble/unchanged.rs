//! Causes that are no change of anything on record.

use eog_simulate::Stream;

use super::drawn::{Fault, base, many, pick};
use super::{Effect, Trouble};
use crate::generated::system::{Role, System};

/// All of them, as likely as each other where a system can have them.
pub(super) const FAULTS: [Fault; 14] = [
    outside,
    certificate,
    node,
    disk,
    neighbour,
    network,
    surge,
    bad_data,
    data_growth,
    lock,
    stuck,
    pool_leak,
    one_operation,
    memory_leak,
];

/// Parts that are an application's own.
const OWN: [Role; 4] = [Role::Serving, Role::Group, Role::Worker, Role::Step];

fn outside(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Outside], draw)?;
    let effect = match draw.below(3) {
        0 => Effect::Waits(20.0 + 60.0 * draw.share()),
        1 => Effect::Unreachable(0.5 + 0.5 * draw.share()),
        _ => Effect::Errors(0.4 + 0.6 * draw.share()),
    };
    Some(Trouble { effect, group: "outside", ..base(part, draw) })
}

fn certificate(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Store, Role::Group], draw)?;
    let says = "x509: certificate has expired or is not yet valid";
    let (effect, ramp) = (Effect::Unreachable(0.97), 1.0 + 300.0 * draw.share());
    let group = "certificate";
    Some(Trouble { effect, ramp, delay: 0.0, group, says, ..base(part, draw) })
}

fn node(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Node], draw)?;
    let (effect, ramp) = (Effect::SickNode(many(draw)), 1.0 + 120.0 * draw.share());
    Some(Trouble { effect, ramp, group: "node", ..base(part, draw) })
}

fn disk(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Store], draw)?;
    let effect = Effect::FullDisk(0.4 + 0.5 * draw.share());
    let (ramp, says) = (300.0 + 900.0 * draw.share(), "no space left on device");
    Some(Trouble { effect, ramp, group: "disk", says, ..base(part, draw) })
}

fn neighbour(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Store, Role::Worker, Role::Step], draw)?;
    let beside = system.parts.iter().filter(|one| one.node == system.parts[part].node).count();
    let effect = Effect::Neighbour(many(draw));
    (beside > 1).then(|| Trouble { effect, group: "neighbour", ..base(part, draw) })
}

fn network(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Store, Role::Group], draw)?;
    let effect = Effect::Delay(60.0 + 500.0 * draw.share(), draw.chance(0.5));
    Some(Trouble { effect, group: "network", ..base(part, draw) })
}

fn surge(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Clients], draw)?;
    let (effect, ramp) = (Effect::Load(3.0 + 4.0 * draw.share()), 1.0 + 200.0 * draw.share());
    Some(Trouble { effect, ramp, group: "surge", ..base(part, draw) })
}

fn bad_data(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &OWN, draw)?;
    let effect = Effect::Errors(0.15 + 0.5 * draw.share());
    let says = "ValueError: cannot parse field 'amount' as a number";
    Some(Trouble { effect, group: "bad data", says, ..base(part, draw) })
}

fn data_growth(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Store], draw)?;
    let (effect, ramp) = (Effect::Slower(5.0 + 15.0 * draw.share()), 600.0 + 900.0 * draw.share());
    Some(Trouble { effect, ramp, group: "data growth", ..base(part, draw) })
}

fn lock(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Store], draw)?;
    let effect = Effect::Waits(8.0 + 30.0 * draw.share());
    let says = "deadlock detected: lock wait time-out exceeded";
    Some(Trouble { effect, group: "lock", says, ..base(part, draw) })
}

fn stuck(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Worker, Role::Step], draw)?;
    let (effect, ramp) = (Effect::Stuck, 1.0);
    Some(Trouble { effect, ramp, group: "stuck", ..base(part, draw) })
}

fn pool_leak(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Group, Role::Worker], draw)?;
    let effect = Effect::HeldPlaces(0.9 + 0.09 * draw.share());
    let (ramp, says) = (400.0 + 900.0 * draw.share(), "no free connection in the pool");
    Some(Trouble { effect, ramp, group: "pool leak", says, ..base(part, draw) })
}

fn one_operation(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Group], draw)?;
    let operations = &system.parts[part].operations;
    let which = draw.position(operations.len());
    let is_one_of_many = operations.len() > 1 && operations.get(which)?.weight > 0.1;
    let effect = Effect::OperationErrors(which, 0.5 + 0.5 * draw.share());
    let says = "NullPointerException: element is null";
    let group = "one operation";
    is_one_of_many.then(|| Trouble { effect, group, says, ..base(part, draw) })
}

fn memory_leak(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Store], draw)?;
    let (effect, ramp) = (Effect::Leak, 300.0 + 500.0 * draw.share());
    Some(Trouble { effect, ramp, group: "memory", ..base(part, draw) })
}
