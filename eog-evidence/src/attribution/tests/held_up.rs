//! Slow calls that fill up what holds the requests of their caller.

use super::*;

/// `web` answers many times as slowly; its calls to `store` take longer, and of its pool more is used.
struct Pool {
    /// What a call takes in the end, of 20 ms before.
    call: f64,
    /// How much of the pool is used, before and after.
    used: [f64; 2],
    /// The step at which it fills.
    from: usize,
    /// The step at which twice as many requests come; none at the end of the window.
    asked: usize,
}

impl Pool {
    /// Each request is held 100 + 130 ms in place of 100 ms: 2.3 times 40 % is 92 %.
    fn filled() -> Self {
        Self { call: 150.0, used: [0.4, 0.95], from: 4, asked: 10 }
    }

    fn world(&self) -> World {
        let [before, after] = self.used;
        let (mut values, mut requests) = ([before; 10], [50.0; 10]);
        values[self.from..].fill(after);
        requests[self.asked..].fill(100.0);
        let mut world = World::default()
            .calls("web>store")
            .alert("web", Signal::Latency, 15)
            .latency("web", 100.0, 3_000.0)
            .sees("web", "store", 20.0, self.call)
            .latency("store", 20.0, 20.0)
            .measured("web", Signal::Traffic, 50.0, requests)
            .measured("web", Signal::Saturation, before, values);
        let pool = world.series.get_mut(&id("web")).unwrap().last_mut().unwrap();
        (pool.unit, pool.metric) = ("ratio".into(), "pool in use".into());
        world
    }

    fn of(&self, entity: &str) -> String {
        self.world().of(entity)
    }
}

#[test]
fn what_waits_in_front_of_a_pool_is_owed_to_the_calls_that_fill_it() {
    assert_eq!(Pool::filled().of("web"), "own, store 100");
    let store = Pool::filled().world().findings("store");
    let note = store.iter().find(|one| one.signal == Signal::Saturation).unwrap();
    let said = "calls to store hold each request of web 2.3 times as long: pool in use of web is \
                95 % in use (normally 40 %); requests wait there because of these calls";
    assert_eq!(note.excerpt, said);
    let part = Pool::filled().world().part_of("store").unwrap().0;
    assert_eq!(part, 100, "however little the calls take of what web lost");
}

#[test]
fn what_the_calls_do_not_fill_is_the_callers_own() {
    let own = |pool: Pool, why: &str| assert!(!pool.of("web").contains("store 100"), "{why}");
    own(Pool { call: 50.0, ..Pool::filled() }, "1.3 times 40 % leaves room");
    own(Pool { used: [0.4, 0.7], ..Pool::filled() }, "there is room");
    own(Pool { used: [0.1, 0.95], ..Pool::filled() }, "2.3 times 10 % leaves room");
    own(Pool { from: 1, ..Pool::filled() }, "it was full before the calls were slow");
    own(Pool { asked: 2, ..Pool::filled() }, "more is asked since before");
}
