//! From a seed to an incident: draws until one raises an alert.

use eog_simulate::RandomSeed;

use super::flow::{self, Timing};
use super::record;
use super::system::LinkKind;
use super::trouble::{self, Trouble, drawn::Plan};
use super::{Generated, Kind, kinds};

/// How many draws are made until an incident raises an alert.
const ATTEMPTS: u64 = 150;

/// Services behind a gateway: a short recording with a fault near its end.
pub(super) fn gateway(seed: RandomSeed) -> Option<Generated> {
    let mut system = Kind::Gateway.system(seed);
    let operations = kinds::assign(&mut system, seed);
    let mut draw = seed.stream("timing");
    let before = (900.0 + 2_100.0 * draw.share()).floor();
    let length = before + (180.0 + 300.0 * draw.share()).floor();
    let trouble = trouble::injected::draw(&system, before, seed)?;
    let timing = Timing { length, usual: before / 2.0 };
    let course = flow::run(&system, std::slice::from_ref(&trouble), timing, seed);
    record::gateway::record(&system, &operations, &trouble, &course, seed)
}

/// Any other kind of system, with everything that can happen to it.
pub(super) fn whole(kind: Kind, without_changes: bool, seed: RandomSeed) -> Option<Generated> {
    let seed = if without_changes { seed.child("without changes") } else { seed };
    let plan = Plan::draw(kind, without_changes, seed);
    (0..ATTEMPTS).find_map(|attempt| {
        let seed = seed.child(&format!("attempt {attempt}"));
        let (mut system, timing) = (kind.system(seed), kind.timing());
        let mut draw = seed.stream("network");
        for link in &mut system.links {
            if link.kind == LinkKind::Calls && link.network == 0.0 {
                link.network = 0.2 + 1.5 * draw.share();
            }
        }
        let operations = kinds::assign(&mut system, seed);
        let troubles = plan.troubles(&system, timing, attempt, seed)?;
        let first_alert = |troubles: &[Trouble]| {
            let course = flow::run(&system, troubles, timing, seed);
            record::whole::first_alert(&system, &course, seed)
        };
        // Each cause raises an alert, alone, and only after it began; nothing else does.
        for trouble in &troubles {
            let alert = first_alert(std::slice::from_ref(trouble))?;
            if alert <= trouble.shows() {
                return None;
            }
        }
        if first_alert(&[]).is_some() {
            return None;
        }
        let course = flow::run(&system, &troubles, timing, seed);
        record::whole::record(&system, &operations, &troubles, &course, seed)
    })
}
