//! How many evaluations the recommended configuration and the paper's need on the same incident.

mod world;

use eog_core::controller::Order;
use eog_core::{Config, Controller};

fn main() {
    let priority = Config { order: Order::Priority, ..Config::default() };
    for entities in [100, 1_000, 10_000] {
        for (name, config) in [
            ("default", Config::default()),
            ("default, by priority", priority.clone()),
            ("paper", Config::paper()),
        ] {
            let config = world::unlimited(config);
            let mut controller = Controller::new(config, world::incident(entities));
            world::drive(&mut controller, u64::MAX, world::blame_callees);
            let spent = controller.spent();
            println!(
                "{entities} entities, {name}: {} evaluations, {} policy calls",
                spent.evaluations, spent.hops
            );
        }
    }
}
