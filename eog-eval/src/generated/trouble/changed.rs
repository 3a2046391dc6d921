//! Causes that are changes on record.

use eog_simulate::Stream;

use super::drawn::{Fault, base, many, pick};
use super::{Effect, Trouble};
use crate::generated::names;
use crate::generated::system::{Role, System};

/// All of them, as likely as each other where a system can have them.
pub(super) const FAULTS: [Fault; 9] = [
    deploy_errors,
    deploy_slow,
    deploy_operation,
    deploy_leak,
    flag,
    pool,
    cache,
    migration,
    policy,
];

/// Parts that are deployed.
const OWN: [Role; 4] = [Role::Serving, Role::Group, Role::Worker, Role::Step];

fn deploy_errors(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &OWN, draw)?;
    let effect = Effect::Errors(0.12 + 0.6 * draw.share());
    let change = Some(names::deploy(draw));
    Some(Trouble { effect, change, group: "deploy, errors", ..base(part, draw) })
}

fn deploy_slow(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &OWN, draw)?;
    let times = many(draw);
    let effect = if draw.chance(0.5) { Effect::Slower(times) } else { Effect::Waits(times) };
    let change = Some(names::deploy(draw));
    Some(Trouble { effect, change, group: "deploy, slow", ..base(part, draw) })
}

fn deploy_operation(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Group], draw)?;
    let operations = &system.parts[part].operations;
    let which = draw.position(operations.len());
    let is_one_of_many = operations.len() > 1 && operations.get(which)?.weight > 0.1;
    let effect = Effect::OperationErrors(which, 0.5 + 0.5 * draw.share());
    let change = Some(names::deploy(draw));
    let group = "deploy, one operation";
    is_one_of_many.then(|| Trouble { effect, change, group, ..base(part, draw) })
}

fn deploy_leak(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Group, Role::Worker], draw)?;
    let change = Some(names::deploy(draw));
    let (effect, says) = if draw.chance(0.5) {
        (Effect::Leak, "internal error")
    } else {
        (Effect::HeldPlaces(0.9 + 0.09 * draw.share()), "no free connection in the pool")
    };
    let (delay, ramp) = (60.0 + 120.0 * draw.share(), 300.0 + 600.0 * draw.share());
    Some(Trouble { effect, change, delay, ramp, group: "leak", says, ..base(part, draw) })
}

fn flag(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &OWN, draw)?;
    let effect = if draw.chance(0.5) {
        Effect::Errors(0.12 + 0.6 * draw.share())
    } else {
        Effect::Slower(many(draw))
    };
    let (change, ramp) = (Some(names::flag(draw)), 30.0 + 270.0 * draw.share());
    Some(Trouble { effect, change, ramp, group: "flag", ..base(part, draw) })
}

fn pool(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Group, Role::Store, Role::Worker], draw)?;
    let effect = Effect::SmallerPool(4.0 + 8.0 * draw.share());
    let (change, says) = (Some(names::edit(draw)), "no free connection in the pool");
    Some(Trouble { effect, change, group: "pool", says, ..base(part, draw) })
}

fn cache(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &OWN, draw)?;
    let mut calls = system.calls_of(part);
    let calls_store = calls.any(|link| system.parts[link.to].role == Role::Store);
    let effect = Effect::MoreCalls(5.0 + 10.0 * draw.share());
    let (change, ramp) = (Some(names::edit(draw)), 120.0 + 480.0 * draw.share());
    calls_store.then(|| Trouble { effect, change, ramp, group: "cache", ..base(part, draw) })
}

pub(super) fn migration(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Store], draw)?;
    let effect = Effect::Slower(8.0 + 30.0 * draw.share());
    let (change, ramp) = (Some(names::migration(draw)), 1.0 + 400.0 * draw.share());
    Some(Trouble { effect, change, ramp, group: "migration", ..base(part, draw) })
}

/// A rule of the network that keeps callers away.
fn policy(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = pick(system, &[Role::Serving, Role::Store, Role::Group], draw)?;
    let effect = Effect::Unreachable(0.4 + 0.6 * draw.share());
    let (change, says) = (Some(names::edit(draw)), "connection refused");
    Some(Trouble { effect, change, group: "network policy", says, ..base(part, draw) })
}
