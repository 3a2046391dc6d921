//! Faults of running services, none of which is a change on record: what chaos tests inject.

use eog_simulate::{RandomSeed, Stream};

use super::drawn::{base, pick};
use super::{Effect, Trouble, Wrong};
use crate::generated::system::{Role, System};

/// The kinds of faults, as likely as each other.
const FAULTS: [fn(&System, &mut Stream) -> Option<Trouble>; 4] =
    [contention, delay, exception, wrong_return];

/// A fault of a system that begins at a time.
pub(in crate::generated) fn draw(system: &System, at: f64, seed: RandomSeed) -> Option<Trouble> {
    let mut draw = seed.stream("trouble");
    let fault = FAULTS[draw.position(FAULTS.len())];
    let trouble = fault(system, &mut draw)?;
    Some(Trouble { at, delay: 0.0, ramp: 1.0, ..trouble })
}

/// One service that is called, not the gateway, which is the first.
fn service(system: &System, draw: &mut Stream) -> Option<usize> {
    let all = system.having(&[Role::Serving]);
    let called: Vec<usize> = all.into_iter().skip(1).collect();
    draw.pick(&called).copied()
}

/// Another process takes the processor: hardly slower where there are others left, up to 5.25 times.
fn contention(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = service(system, draw)?;
    let effect = Effect::Contended(1.05 * 5_f64.powf(draw.share()));
    Some(Trouble { effect, group: "cpu contention", ..base(part, draw) })
}

/// All that it sends and gets is late.
fn delay(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = service(system, draw)?;
    let effect = Effect::Delay(20.0 * 15_f64.powf(draw.share()), draw.chance(0.7));
    Some(Trouble { effect, group: "network delay", ..base(part, draw) })
}

/// One of the operations, or each, throws.
fn exception(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = if draw.chance(0.8) {
        service(system, draw)?
    } else {
        pick(system, &[Role::Group, Role::Serving], draw)?
    };
    let operations = &system.parts[part].operations;
    let which = draw.position(operations.len());
    let is_rare = operations.get(which).is_none_or(|one| one.weight < 0.1);
    let effect = match is_rare || draw.chance(0.4) {
        true => Effect::Errors(0.3 + 0.7 * draw.share()),
        false => Effect::OperationErrors(which, 0.5 + 0.5 * draw.share()),
    };
    let says = ["NullPointerException: element is null", "IllegalStateException: no such entry"];
    let says = says[draw.position(says.len())];
    Some(Trouble { effect, group: "exception", says, ..base(part, draw) })
}

/// It answers, but not what was asked for.
fn wrong_return(system: &System, draw: &mut Stream) -> Option<Trouble> {
    let part = service(system, draw)?;
    let wrong = Wrong {
        share: 0.5 + 0.5 * draw.share(),
        is_early: draw.chance(0.5),
        is_noticed: draw.chance(0.5),
    };
    let group = "wrong return";
    Some(Trouble { effect: Effect::Wrong(wrong), group, ..base(part, draw) })
}
