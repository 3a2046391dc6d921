//! What goes wrong: one cause, its course, and whether it is a change.

use eog_simulate::{RandomSeed, Stream};

use super::Kind;
use super::names::{self, Words};
use super::system::{Role, System};

/// What a cause does to a part, from nothing at first to all of it at full strength.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Effect {
    /// This share of its requests fails.
    Errors(f64),
    /// Its own work takes so many times as long.
    Slower(f64),
    /// Its pool has so many times fewer places.
    SmallerPool(f64),
    /// It calls stores so many times as often.
    MoreCalls(f64),
    /// Its memory fills; when it is full it is slow, and is killed again and again.
    Leak,
    /// It sends so many times the load.
    Load(f64),
    /// All that runs on it takes so many times as long.
    SickNode(f64),
    /// Nobody can connect to it any more.
    Certificate,
}

/// The cause of an incident.
pub(super) struct Trouble {
    pub(super) part: usize,
    /// When it begins: when the change is made, in seconds.
    pub(super) at: f64,
    /// Seconds until it shows at all.
    pub(super) delay: f64,
    /// Seconds from then on until it has its full strength.
    pub(super) ramp: f64,
    pub(super) effect: Effect,
    /// The change, if it is one.
    pub(super) change: Option<Words>,
    /// What kind of cause it is, for reports.
    pub(super) group: &'static str,
}

impl Trouble {
    /// How much of its effect there is at a time, from 0 to 1.
    pub(super) fn strength(&self, at: f64) -> f64 {
        let since = at - self.at - self.delay;
        if since < 0.0 { 0.0 } else { ((since + 1.0) / self.ramp.max(1.0)).min(1.0) }
    }
}

/// The share of incidents of services that no change caused.
const WITHOUT_CHANGE: f64 = 0.3;

/// Draws the cause of an incident.
pub(super) fn draw(kind: Kind, system: &System, seed: RandomSeed) -> Trouble {
    let mut draw = seed.stream("trouble");
    let at = 2_100.0 + (900.0 * draw.share()).floor();
    let one = |roles: &[Role], draw: &mut Stream| {
        let parts = system.having(roles);
        parts.get(draw.position(parts.len())).copied().unwrap_or(0)
    };
    let quick = |draw: &mut Stream| (5.0 + 40.0 * draw.share(), 1.0 + 20.0 * draw.share());
    let (delay, ramp) = quick(&mut draw);
    let base = Trouble { part: 0, at, delay, ramp, effect: Effect::Leak, change: None, group: "" };
    let many = |draw: &mut Stream| 4.0 + 10.0 * draw.share();
    if kind == Kind::Pipeline {
        return match draw.below(10) {
            0..7 => Trouble {
                part: system
                    .links
                    .iter()
                    .find(|link| system.parts[link.from].role == Role::Worker && !link.takes)
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
