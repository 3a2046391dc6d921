//! Causes of services and pipelines as they were from the beginning.

use eog_simulate::{RandomSeed, Stream};

use super::{Effect, Trouble};
use crate::generated::Kind;
use crate::generated::names;
use crate::generated::system::{LinkKind, Role, System};

/// The share of incidents of services that no change caused.
const WITHOUT_CHANGE: f64 = 0.3;

/// Draws the cause of an incident.
pub(in crate::generated) fn draw(kind: Kind, system: &System, seed: RandomSeed) -> Trouble {
    let mut draw = seed.stream("trouble");
    let at = 2_100.0 + (900.0 * draw.share()).floor();
    let one = |roles: &[Role], draw: &mut Stream| {
        let parts = system.having(roles);
        parts.get(draw.position(parts.len())).copied().unwrap_or(0)
    };
    let quick = |draw: &mut Stream| (5.0 + 40.0 * draw.share(), 1.0 + 20.0 * draw.share());
    let (delay, ramp) = quick(&mut draw);
    let base = Trouble {
        part: 0,
        at,
        delay,
        ramp,
        effect: Effect::Leak,
        change: None,
        group: "",
        says: "internal error",
    };
    let many = |draw: &mut Stream| 4.0 + 10.0 * draw.share();
    if kind == Kind::Pipeline {
        return match draw.below(10) {
            0..7 => Trouble {
                part: system
                    .links
                    .iter()
                    .find(|link| {
                        system.parts[link.from].role == Role::Worker && link.kind == LinkKind::Calls
                    })
                    .map_or(0, |link| link.to),
                ramp: 1.0 + 400.0 * draw.share(),
                effect: Effect::Slower(8.0 + 40.0 * draw.share()),
                change: Some(names::migration(&mut draw)),
                group: "migration",
                ..base
            },
            7 | 8 => Trouble {
                part: one(&[Role::Worker], &mut draw),
                effect: Effect::Slower(many(&mut draw)),
                change: Some(names::deploy(&mut draw)),
                group: "worker",
                ..base
            },
            _ => Trouble {
                part: one(&[Role::Serving], &mut draw),
                effect: Effect::Errors(0.15 + 0.5 * draw.share()),
                change: Some(names::deploy(&mut draw)),
                group: "deploy",
                ..base
            },
        };
    }
    if draw.chance(WITHOUT_CHANGE) {
        return match draw.below(4) {
            0 => Trouble {
                part: one(&[Role::Outside], &mut draw),
                effect: if draw.chance(0.6) {
                    Effect::Errors(0.4 + 0.6 * draw.share())
                } else {
                    Effect::Slower(20.0 + 60.0 * draw.share())
                },
                group: "outside",
                ..base
            },
            1 => Trouble {
                part: one(&[Role::Serving, Role::Store], &mut draw),
                delay: 0.0,
                ramp: 1.0 + 300.0 * draw.share(),
                effect: Effect::Certificate,
                group: "certificate",
                ..base
            },
            2 => Trouble {
                part: 0,
                ramp: 1.0 + 200.0 * draw.share(),
                effect: Effect::Load(3.0 + 4.0 * draw.share()),
                group: "surge",
                ..base
            },
            _ => Trouble {
                part: one(&[Role::Node], &mut draw),
                ramp: 1.0 + 120.0 * draw.share(),
                effect: Effect::SickNode(many(&mut draw)),
                group: "node",
                ..base
            },
        };
    }
    match draw.below(6) {
        0 => Trouble {
            part: one(&[Role::Serving], &mut draw),
            effect: Effect::Errors(0.1 + 0.6 * draw.share()),
            change: Some(names::deploy(&mut draw)),
            group: "deploy, errors",
            ..base
        },
        1 => Trouble {
            part: one(&[Role::Serving], &mut draw),
            effect: Effect::Slower(many(&mut draw)),
            change: Some(names::deploy(&mut draw)),
            group: "deploy, slow",
            ..base
        },
        2 => Trouble {
            part: one(&[Role::Serving], &mut draw),
            ramp: 30.0 + 270.0 * draw.share(),
            effect: if draw.chance(0.5) {
                Effect::Errors(0.1 + 0.6 * draw.share())
            } else {
                Effect::Slower(many(&mut draw))
            },
            change: Some(names::flag(&mut draw)),
            group: "flag",
            ..base
        },
        3 => Trouble {
            part: one(&[Role::Serving], &mut draw),
            delay: 60.0 + 120.0 * draw.share(),
            ramp: 300.0 + 500.0 * draw.share(),
            effect: Effect::Leak,
            change: Some(names::deploy(&mut draw)),
            group: "leak",
            ..base
        },
        4 => Trouble {
            part: one(&[Role::Serving, Role::Store], &mut draw),
            effect: Effect::SmallerPool(4.0 + 8.0 * draw.share()),
            change: Some(names::edit(&mut draw)),
            group: "pool",
            ..base
        },
        _ => {
            let callers: Vec<usize> = system
                .links
                .iter()
                .filter(|link| system.parts[link.to].role == Role::Store)
                .map(|link| link.from)
                .collect();
            Trouble {
                part: callers.get(draw.position(callers.len())).copied().unwrap_or(1),
                ramp: 120.0 + 480.0 * draw.share(),
                effect: Effect::MoreCalls(5.0 + 10.0 * draw.share()),
                change: Some(names::edit(&mut draw)),
                group: "cache",
                ..base
            }
        }
    }
}
