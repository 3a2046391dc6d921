//! Which entities account for what, on small graphs.

use std::cell::RefCell;
use std::collections::BTreeMap;

use eog_core::evidence::{Peer, PeerRole, Trend};
use eog_core::incident::EffectDirection;
use eog_core::{EvidenceKind, Topology, Window};

use super::*;
use crate::spans::SpanRecord;

mod demand;
mod held_up;
mod replicas;
mod shared;
mod unanswered;

fn id(name: &str) -> EntityId {
    EntityId::new(name).unwrap()
}

/// Twenty steps of a minute: half of them baseline.
fn at(minute: i64) -> Timestamp {
    Timestamp::from_second(minute * 60).unwrap()
}

fn alert(entity: &str, signal: Signal, minute: i64) -> Anomaly {
    Anomaly::new("alert", id(entity), signal, at(minute))
}

/// A world of series and events, and what is found of each entity.
#[derive(Default)]
struct World {
    topology: Topology,
    series: BTreeMap<EntityId, Vec<Series>>,
    events: BTreeMap<EntityId, Vec<EventRecord>>,
    alerts: Vec<Anomaly>,
    spans: Vec<SpanRecord>,
    /// Callers whose calls are recorded to fail, with their callees.
    failing: Vec<(EntityId, EntityId)>,
    /// What the last context said of where to check first.
    hints: RefCell<Vec<String>>,
}

impl World {
    /// What a caller measured of its calls to a callee.
    fn sees(mut self, caller: &str, callee: &str, before: f64, after: f64) -> Self {
        self = self.measured(caller, Signal::Latency, before, shifted(before, after));
        let series = self.series.get_mut(&id(caller)).unwrap().last_mut().unwrap();
        series.peer = Some(Peer { entity: id(callee), role: PeerRole::Callee });
        series.metric = "call time".into();
        self
    }

    /// Twenty requests a minute, each of so many milliseconds before and after trouble began; with a callee the calls
    /// to it, else what the entity served.
    fn traced(mut self, entity: &str, callee: Option<&str>, before: f64, after: f64) -> Self {
        let span = |request: i64| SpanRecord {
            time: Timestamp::from_second(request * 3).unwrap(),
            entity: id(entity),
            duration_ms: (request % 5) as f64 * 0.1
                + if request < 14 * 20 { before } else { after },
            failed: Some(false),
            peer: callee.map(|callee| Peer { entity: id(callee), role: PeerRole::Callee }),
            operation: None,
            ids: None,
        };
        self.spans.extend((0..20 * 20).map(span));
        self
    }

    fn calls(mut self, edges: &str) -> Self {
        for edge in edges.split(", ") {
            let (caller, callee) = edge.split_once('>').unwrap();
            let (caller, callee) = (id(caller), id(callee));
            self.topology.connect(&caller, "calls", &callee, EffectDirection::TargetToSource);
        }
        self
    }

    /// Effects without demand.
    fn influences(mut self, edge: &str) -> Self {
        let (cause, effect) = edge.split_once('>').unwrap();
        let to_target = EffectDirection::SourceToTarget;
        self.topology.connect(&id(cause), "influences", &id(effect), to_target);
        self
    }

    fn alert(mut self, entity: &str, signal: Signal, minute: i64) -> Self {
        self.alerts.push(alert(entity, signal, minute));
        self
    }

    /// A series that is `before` in the baseline and takes the given values in the window.
    fn measured(mut self, entity: &str, signal: Signal, before: f64, window: [f64; 10]) -> Self {
        let unit = match signal {
            Signal::Latency => "ms",
            Signal::Availability => "percent",
            _ => "",
        };
        let wobble = |minute: i64| 1.0 + 0.01 * ((minute % 3) - 1) as f64;
        let normal = (0..10).map(|minute| {
            let steady = matches!(signal, Signal::Availability | Signal::Other);
            (at(minute), if steady { before } else { before * wobble(minute) })
        });
        let window = (10..20).zip(window).map(|(minute, value)| (at(minute), value));
        self.series.entry(id(entity)).or_default().push(Series {
            entity: id(entity),
            kind: EvidenceKind::Metric,
            metric: format!("{signal:?}").to_lowercase(),
            signal,
            unit: unit.into(),
            peer: None,
            points: normal.chain(window).filter(|(_, value)| value.is_finite()).collect(),
        });
        self
    }

    fn latency(self, entity: &str, before: f64, after: f64) -> Self {
        self.measured(entity, Signal::Latency, before, shifted(before, after))
    }

    fn requests(self, entity: &str, count: f64) -> Self {
        self.measured(entity, Signal::Traffic, count, [count; 10])
    }

    fn event(mut self, entity: &str, reason: &str, minutes: &[i64]) -> Self {
        let events = minutes.iter().map(|minute| EventRecord {
            time: at(*minute),
            entity: id(entity),
            reason: reason.into(),
            signal: Signal::Other,
            message: String::new(),
            peer: None,
        });
        self.events.entry(id(entity)).or_default().extend(events);
        self
    }

    /// What an entity can account for of what alerts show, in percent: itself, and with its replicas.
    fn part_of(&self, entity: &str) -> Option<(i64, Option<i64>)> {
        let findings = self.findings(entity);
        let is_part = |finding: &&Finding| {
            finding.kind == EvidenceKind::Note
                && finding.trend == Trend::Steady
                && finding.peer.is_none()
        };
        let part = findings.iter().find(is_part)?.quantity.as_ref()?;
        let percent = |share: f64| (share * 100.0).round() as i64;
        Some((percent(part.observed), part.baseline.map(percent)))
    }

    fn findings(&self, entity: &str) -> Vec<Finding> {
        self.attribute(|attribution| attribution.findings(&id(entity)))
    }

    /// Whether a change of an entity cannot be the cause.
    fn cleared(&self, entity: &str) -> bool {
        self.attribute(|attribution| attribution.is_cleared(&id(entity)))
    }

    fn attribute<T>(&self, ask: impl FnOnce(&Attribution<'_>) -> T) -> T {
        self.attribute_within(10..20, ask)
    }

    /// With another window, and all before as baseline.
    fn attribute_within<T>(
        &self,
        window: std::ops::Range<i64>,
        ask: impl FnOnce(&Attribution<'_>) -> T,
    ) -> T {
        let fails = |caller: &EntityId, callee: &EntityId| {
            self.failing.contains(&(caller.clone(), callee.clone()))
        };
        let measured = |entity: &EntityId| {
            let series = self.series.get(entity);
            let events = self.events.get(entity);
            (series.is_some() || events.is_some()).then(|| Measured {
                series: series.into_iter().flatten().collect(),
                events: events.map_or(&[], Vec::as_slice),
            })
        };
        let (start, end) = (at(window.start), at(window.end));
        let mut periods = Periods::new(Window::new(start, end).unwrap());
        periods.baseline = Window::new(at(0), start).ok().into();
        let calls = Calls::of(self.spans.iter());
        let ways = Ways::new(&self.topology, std::iter::empty());
        let asked = Asked::new(&self.alerts, self.series.values().flatten(), ways.has_demand())
            .with_traced(&self.alerts, &calls);
        let attribution = Attribution {
            joined: &BTreeMap::new(),
            ways: &ways,
            anomalies: &self.alerts,
            periods,
            asked: &asked,
            measured: &measured,
            calls_fail: &fails,
            books: &Books::default(),
            calls: Some(&calls),
            sources: Sources::BUNDLE,
        };
        ask(&attribution)
    }

    /// The findings of an entity in short: `own`, `name 80` for a share in percent, `rest 20`, `part 10`
    /// of what alerts show, `name x5` for a callee that is called five times as often.
    fn of(&self, entity: &str) -> String {
        let mut findings = self.findings(entity);
        // Where to check first gives no share; it has tests of its own.
        let is_hint =
            |finding: &Finding| finding.kind == EvidenceKind::Note && finding.quantity.is_none();
        self.hints.replace(
            findings.iter().filter(|one| is_hint(one)).map(|one| one.excerpt.clone()).collect(),
        );
        findings.retain(|finding| !is_hint(finding));
        let words = findings.iter().map(|finding| {
            let share = finding.quantity.as_ref().map_or(0.0, |quantity| quantity.observed);
            match (&finding.peer, finding.kind) {
                (Some(peer), _) if finding.signal == Signal::Traffic => {
                    let sign = if finding.trend == Trend::Falling { "only " } else { "" };
                    format!("{} {sign}x{share:.1}", peer.entity)
                }
                (Some(peer), EvidenceKind::Metric) => format!("calls {}", peer.entity),
                (None, EvidenceKind::Note) if finding.trend == Trend::Steady => {
                    format!("part {:.0}", share * 100.0)
                }
                (Some(peer), _) => format!("{} {:.0}", peer.entity, share * 100.0),
                (None, EvidenceKind::Note) => format!("rest {:.0}", share * 100.0),
                (None, _) => "own".into(),
            }
        });
        words.collect::<Vec<_>>().join(", ")
    }
}

/// Four steps as before, then six of another value.
fn shifted(before: f64, after: f64) -> [f64; 10] {
    let mut values = [before; 10];
    values[4..].fill(after);
    values
}

/// `web` calls `db` twice a request and `log` once; `db` takes 20 ms longer.
fn shop() -> World {
    World::default()
        .calls("web>db, web>log")
        .alert("web", Signal::Latency, 15)
        .latency("web", 100.0, 140.0)
        .requests("web", 50.0)
        .latency("db", 10.0, 30.0)
        .requests("db", 100.0)
        .latency("log", 1.0, 1.0)
        .requests("log", 50.0)
}

#[test]
fn time_adds_up_along_calls() {
    assert_eq!(shop().of("web"), "own, db 100, rest 0");
    assert_eq!(shop().of("db"), "own, rest 100, part 100");
    assert_eq!(shop().of("log"), "part 0");
    // The greatest relative shift accounts for next to nothing when it is hardly ever called.
    let odd = shop().calls("web>odd").latency("odd", 1.0, 100.0).requests("odd", 0.5);
    assert_eq!(odd.of("web"), "own, db 100, odd 2, rest 0");
    // Without counts of calls, what one call takes is compared.
    let mut uncounted = shop();
    for series in uncounted.series.values_mut() {
        series.retain(|series| series.signal != Signal::Traffic);
    }
    assert_eq!(uncounted.of("web"), "own, db 50, rest 50");
}

#[test]
fn who_has_little_of_what_an_alert_shows_has_no_part_in_it() {
    // 20 ms twice a request of the 40 ms; 2 ms once; and behind both of them.
    let world = shop().calls("db>disk").latency("disk", 1.0, 6.0).requests("disk", 100.0);
    assert_eq!(world.of("disk"), "own, rest 100, part 25");
    // Not while an entity on the way to the alert, or another alert there, is not measured.
    let silent = shop().alert("web", Signal::Saturation, 15);
    assert_eq!(silent.of("log"), "");
    let unmeasured = shop().calls("web>hidden");
    assert_eq!(unmeasured.of("hidden"), "");
    // The time that `web` loses is unknown: an entity that takes far longer may be all of it.
    let unknown = |after: f64| {
        World::default()
            .calls("web>db")
            .alert("web", Signal::Errors, 15)
            .alert("web", Signal::Latency, 15)
            .measured("web", Signal::Errors, 0.0, shifted(0.0, 20.0))
            .latency("web", 100.0, 100.0)
            .requests("web", 50.0)
            .measured("db", Signal::Errors, 0.0, [0.0; 10])
            .latency("db", 10.0, after)
            .requests("db", 50.0)
    };
    assert!(unknown(12.0).of("db").ends_with("part 0"), "{}", unknown(12.0).of("db"));
    assert!(!unknown(40.0).of("db").contains("part"), "{}", unknown(40.0).of("db"));
    // An alert elsewhere says nothing of entities whose effects do not reach it.
    let beside = shop().calls("other>side").latency("side", 1.0, 9.0).requests("side", 50.0);
    assert_eq!(beside.of("side"), "own, rest 100");
}

#[test]
fn failures_come_of_lost_time_only_if_enough_time_was_lost() {
    let failing = |latency: f64| {
        World::default()
            .calls("web>db")
            .alert("web", Signal::Errors, 15)
            .measured("web", Signal::Errors, 0.0, shifted(0.0, 20.0))
            .latency("web", 100.0, latency)
            .requests("web", 50.0)
            .measured("db", Signal::Errors, 0.0, [0.0; 10])
            .latency("db", 50.0, latency - 50.0)
            .requests("db", 50.0)
    };
    // 20 of 50 requests fail, that usually take 100 ms: at least 40 ms more for each in the mean.
    assert_eq!(failing(120.0).of("db"), "part 0");
    assert_eq!(failing(150.0).of("db"), "part 100");
}

#[test]
fn a_callee_that_is_called_more_often_for_each_request_is_noted() {
    let calls = |entity: &str, after: f64| {
        shop().measured(entity, Signal::Traffic, 100.0, shifted(100.0, after))
    };
    let more = |after: f64| {
        let mut world = calls("db", after);
        world.series.get_mut(&id("db")).unwrap().retain(|series| {
            series.signal != Signal::Traffic || series.points.last().unwrap().1 != 100.0
        });
        world.of("web")
    };
    assert!(more(500.0).ends_with(", db x5.0"), "{}", more(500.0));
    assert!(!more(140.0).contains('x'), "{}", more(140.0));
}

#[test]
fn what_is_not_measured_may_hold_the_rest() {
    assert_eq!(shop().calls("web>hidden").of("web"), "own, db 100");
    // It passes on what it is given.
    let behind = shop().calls("web>hidden, hidden>slow");
    let behind = behind.latency("slow", 10.0, 20.0).requests("slow", 50.0);
    assert_eq!(behind.of("web"), "own, db 100, slow 25");
    // What is never called, or was never called before, is known to account for nothing.
    let idle = shop().calls("web>idle").requests("idle", 0.0);
    assert_eq!(idle.of("web"), "own, db 100, rest 0");
    let mut fresh = shop().calls("web>fresh").latency("fresh", 1.0, 500.0);
    for series in fresh.series.get_mut(&id("fresh")).unwrap() {
        series.points.retain(|(time, _)| *time >= at(14));
    }
    assert_eq!(fresh.of("web"), "own, db 100, rest 0");
}

#[test]
fn at_most_what_is_there_at_the_time_is_accounted_for() {
    let mut burst = [10.0; 10];
    burst[4..6].fill(500.0);
    let world = World::default()
        .calls("web>db")
        .alert("web", Signal::Latency, 15)
        .latency("web", 100.0, 140.0)
        .measured("db", Signal::Latency, 10.0, burst);
    assert_eq!(world.of("web"), "own, db 33, rest 67");
}

#[test]
fn an_effect_does_not_precede_its_cause() {
    let mut late = [10.0; 10];
    late[8..].fill(500.0);
    let world = World::default()
        .calls("web>db")
        .alert("web", Signal::Latency, 15)
        .latency("web", 100.0, 140.0)
        .measured("db", Signal::Latency, 10.0, late);
    assert_eq!(world.of("web"), "own, db 0, rest 100");
}

#[test]
fn the_lateness_of_a_run_is_not_the_time_of_a_request() {
    // `late` is measured at more times than `latency`, and is nought as a rule.
    let mut world = shop();
    let late =
        Series { metric: "late".into(), unit: "s".into(), ..world.series[&id("web")][0].clone() };
    let half = |minute: i64| Timestamp::from_second(minute * 30).unwrap();
    let points = (0..40).map(|minute| (half(minute), if minute < 30 { 0.0 } else { 90.0 }));
    let late = Series { points: points.collect(), ..late };
    world.series.get_mut(&id("web")).unwrap().insert(0, late);
    assert_eq!(world.of("web"), shop().of("web"));
}

#[test]
fn an_order_counts_only_where_it_would_be_seen() {
    // Both fail at once and more and more; of what `db` measures, which varies by 10, the first is chance.
    let rising = |noise: f64| {
        let mut failed = [noise; 10];
        failed[3..].copy_from_slice(&[10.0, 15.0, 20.0, 100.0, 100.0, 100.0, 100.0]);
        failed
    };
    let mut world = World::default()
        .calls("web>db")
        .alert("web", Signal::Errors, 15)
        .measured("web", Signal::Errors, 0.0, rising(0.0))
        .measured("db", Signal::Errors, 0.0, rising(0.0));
    let noisy = &mut world.series.get_mut(&id("db")).unwrap()[0];
    for (place, point) in noisy.points.iter_mut().enumerate().take(10) {
        point.1 = [0.0, 5.0, 10.0, 5.0, 0.0][place % 5];
    }
    assert_eq!(world.of("web"), "own, db 92, rest 8");
}

#[test]
fn what_was_there_before_the_trouble_is_not_counted() {
    // The level drifted between the baseline and the window; the alert is from later.
    let drifted = shop().calls("web>slow").measured("slow", Signal::Latency, 10.0, [50.0; 10]);
    assert_eq!(drifted.requests("slow", 50.0).of("web"), "own, db 100, rest 0");
}

#[test]
fn failed_requests_add_up_whatever_they_are_measured_by() {
    let mut failing = [100.0; 10];
    failing[4..].fill(90.0);
    let world = World::default()
        .calls("web>db")
        .alert("web", Signal::Availability, 15)
        .measured("web", Signal::Availability, 100.0, failing)
        .requests("web", 50.0)
        .measured("db", Signal::Errors, 0.0, shifted(0.0, 5.0));
    assert_eq!(world.of("web"), "own, db 100, rest 0");
    // One bad step is chance.
    let mut once = [100.0; 10];
    once[5] = 0.0;
    let quiet = World::default()
        .calls("web>db")
        .alert("web", Signal::Availability, 15)
        .measured("db", Signal::Availability, 100.0, once)
        .requests("db", 50.0);
    assert_eq!(quiet.of("db"), "");
}

#[test]
fn calls_as_their_caller_measured_them_show_what_the_callee_does_not() {
    // `db` measures its own work, which is as usual; `web` waits for it all the same.
    let far = |others: f64| {
        World::default()
            .calls("web>db, web>log, web>ads")
            .alert("web", Signal::Latency, 15)
            .latency("web", 100.0, 140.0)
            .latency("db", 10.0, 10.0)
            .latency("log", 1.0, 1.0)
            .latency("ads", 1.0, 1.0)
            .sees("web", "db", 12.0, 50.0)
            .sees("web", "log", 2.0, 2.0 + others)
            .sees("web", "ads", 2.0, 2.0 + others)
    };
    assert_eq!(far(0.0).of("web"), "own, db 100, rest 0");
    assert_eq!(far(0.0).of("db"), "own, rest 100, part 95");
    // Where calls to all of them are slow, it is the caller that is late.
    assert_eq!(far(38.0).of("web"), "own, rest 100");
    assert_eq!(far(38.0).of("db"), "part 0");
}

#[test]
fn slow_calls_are_noted_where_requests_are_too_rough_to_show_them() {
    let mut rough = [100.0; 10];
    rough.iter_mut().step_by(2).for_each(|value| *value = 300.0);
    let world = World::default()
        .calls("web>shop, shop>db")
        .alert("web", Signal::Latency, 15)
        .latency("web", 100.0, 140.0)
        .measured("shop", Signal::Latency, 100.0, rough)
        .latency("db", 10.0, 10.0)
        .sees("shop", "db", 12.0, 50.0);
    assert_eq!(world.of("shop"), "db 0, calls db");
}

#[test]
fn traced_requests_separate_self_time_from_time_on_the_way() {
    let world = |[web, calls, db]: [(f64, f64); 3]| {
        World::default()
            .calls("web>db")
            .alert("web", Signal::Latency, 15)
            .traced("web", None, web.0, web.1)
            .traced("web", Some("db"), calls.0, calls.1)
            .traced("db", None, db.0, db.1)
    };
    let (web, calls, db) = ((50.0, 150.0), (10.0, 110.0), (8.0, 8.0));
    let of = |times: [(f64, f64); 3]| [world(times).of("web"), world(times).of("db")];
    let own = "own, rest 100, part 100";
    assert_eq!(of([web, (10.0, 10.0), db]), ["own, db 0, rest 100", "part 0"], "its own work");
    assert_eq!(of([web, calls, (8.0, 108.0)]), ["own, db 100", own], "the callee's");
    assert_eq!(of([web, calls, db]), ["own, db 100", own], "on the way");
    assert_eq!(of([(50.0, 50.0), (10.0, 10.0), db]), ["", ""], "as usual");
}

#[test]
fn who_calls_others_less_often_for_each_request_is_noted() {
    let world = |after: f64| {
        World::default()
            .calls("web>shop, shop>mail")
            .alert("web", Signal::Latency, 14)
            .latency("web", 100.0, 140.0)
            .requests("shop", 50.0)
            .measured("mail", Signal::Traffic, 50.0, shifted(50.0, after))
    };
    assert_eq!(world(0.0).of("shop"), "mail only x0.0");
    assert_eq!(world(40.0).of("shop"), "", "less than a third fewer");
    // With another caller nothing is known of this one.
    assert_eq!(world(0.0).calls("other>mail").of("shop"), "");
}

#[test]
fn the_entity_hit_hardest_upstream_is_checked_first() {
    let world = shop().calls("db>disk, log>host").latency("host", 1.0, 50.0);
    world.of("web");
    let hints = world.hints.borrow();
    assert_eq!(hints[0], "host: latency 50 ms (normally 1); path: host > log > web");
    assert_eq!(hints[0], hints[1], "once for itself, once for who is on the way");
    assert_eq!(hints[2], "db: latency 30 ms (normally 10); path: db > web");
    assert_eq!(hints.len(), 3);
}

fn is_sure(hint: &Finding) -> bool {
    hint.trend == Trend::Rising
}

#[test]
fn what_alone_can_be_behind_all_that_is_slow_is_checked_first() {
    // `app` is hit harder, by what it waits for; `web` shows nothing, since it does much else.
    let world = |calls: &str| {
        World::default()
            .calls(calls)
            .alert("web", Signal::Latency, 15)
            .latency("web", 100.0, 100.0)
            .latency("app", 10.0, 100.0)
            .latency("db", 5.0, 20.0)
    };
    let hints = |calls: &str| {
        let findings = world(calls).findings("web");
        let hints = findings.iter().filter(|note| note.quantity.is_none() && note.peer.is_some());
        let hints = hints.map(|note| {
            let sure = if is_sure(note) { "surely " } else { "" };
            format!("{sure}{}", note.excerpt.split(':').next().unwrap())
        });
        hints.collect::<Vec<_>>()
    };
    // Each with the one that is on the way.
    assert_eq!(hints("web>app, app>db"), ["surely db", "surely db", "app"]);
    // Two that have nothing to do with each other: among many, one is always slower than ever.
    assert_eq!(hints("web>app, web>db"), ["app", "db"]);
    assert_eq!(hints("web>app, app>db, db>app"), ["app", "db", "db"], "not distinguished");
    // One alone that hardly any request meets is not what was noticed, nor one that was as usual until then.
    let alone = |requests: f64, after: [f64; 10]| {
        let world = World::default().calls("web>db").alert("web", Signal::Latency, 15);
        let world = world.latency("web", 100.0, 100.0).requests("web", 1_000.0);
        let world = world.measured("db", Signal::Latency, 5.0, after).requests("db", requests);
        world.findings("web").iter().any(|note| note.quantity.is_none() && is_sure(note))
    };
    let late = [5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0, 20.0, 20.0, 20.0];
    assert!(alone(50.0, shifted(5.0, 20.0)));
    assert!(!alone(49.0, shifted(5.0, 20.0)));
    assert!(!alone(50.0, late));
}

/// `pump` and `valve` influence `tank`, which raises the alarm; `tank` influences `pump` too.
fn machine() -> World {
    World::default()
        .calls("alarm>tank, tank>pump, tank>valve, pump>tank")
        .alert("alarm", Signal::Other, 16)
        .measured("tank", Signal::Other, 1.0, shifted(1.0, 0.0))
        .measured("valve", Signal::Other, 1.0, [1.0; 10])
        .event("pump", "running", &[0, 3, 6, 9, 11])
        .event("pump", "fault", &[13])
}

#[test]
fn where_nothing_adds_up_early_deviations_are_shown() {
    let world = machine();
    let all = ["alarm", "tank", "pump", "valve"].map(|entity| world.of(entity));
    assert_eq!(all, ["", "rest 100", "own", ""]);
    // The record of the alarm itself is no cause of it.
    let mut rung = [0.0; 10];
    rung[6..].fill(1.0);
    assert_eq!(world.measured("alarm", Signal::Other, 0.0, rung).of("alarm"), "");
}

#[test]
fn what_is_recorded_when_it_changes_holds_its_value() {
    let world = |values: &[(i64, f64)]| {
        let mut world = World::default().calls("alarm>tank").alert("alarm", Signal::Other, 19);
        world.series.entry(id("tank")).or_default().push(Series {
            entity: id("tank"),
            kind: EvidenceKind::Metric,
            metric: "level".into(),
            signal: Signal::Other,
            unit: "l".into(),
            peer: None,
            points: values.iter().map(|(minute, value)| (at(*minute), *value)).collect(),
        });
        world.of("tank")
    };
    // One record is a lasting shift; a broken number that is merely new is not.
    let usual = [(0, 20.5), (1, 20.7), (4, 20.6), (5, 20.5), (9, 20.8)];
    let then = |last| world(&[&usual[..], &[(13, last)]].concat());
    assert_eq!(then(35.5), "rest 100");
    assert_eq!(then(20.9), "");
    assert_eq!(world(&[(0, 20.5), (13, 20.6)]), "");
    assert_eq!(world(&[(0, 20.5), (13, 35.5)]), "rest 100");
}

#[test]
fn a_record_of_the_alarms_alone_makes_no_account() {
    let mut world = machine().measured("alarm", Signal::Availability, 100.0, shifted(100.0, 0.0));
    world.alerts = vec![alert("alarm", Signal::Availability, 16)];
    assert_eq!(world.of("tank"), "rest 100");
}

#[test]
fn what_hangs_or_repeats_deviates_too() {
    let points = (0..10).map(|minute| (at(minute), (minute % 2) as f64));
    let mut hanging = World::default().calls("alarm>switch").alert("alarm", Signal::Other, 19);
    hanging.series.entry(id("switch")).or_default().push(Series {
        entity: id("switch"),
        kind: EvidenceKind::Metric,
        metric: "on".into(),
        signal: Signal::Other,
        unit: String::new(),
        peer: None,
        points: (10..12).map(|minute| (at(minute), (minute % 2) as f64)).chain(points).collect(),
    });
    for series in hanging.series.values_mut().flatten() {
        series.points.sort_by_key(|point| point.0);
    }
    // From minute 11 on it stays on, where it moved every minute. In the baseline it was seen to be
    // switched off four times, one too few to know how long it stays on.
    assert_eq!(hanging.of("switch"), "");
    for series in hanging.series.values_mut().flatten() {
        let halves = (0..20).map(|half| {
            let time = Timestamp::from_second(half * 30).unwrap();
            (time, (half % 2) as f64)
        });
        series.points = halves.chain([(at(10), 0.0), (at(11), 1.0)]).collect();
    }
    assert_eq!(hanging.of("switch"), "rest 100");

    let minutes: Vec<i64> = (10..20).collect();
    let few = World::default().calls("alarm>relay").alert("alarm", Signal::Other, 19);
    let few = few.event("relay", "click", &[1, 5]).event("relay", "click", &[11, 15]);
    assert_eq!(few.of("relay"), "");
    let often = few.event("relay", "click", &minutes);
    assert_eq!(often.of("relay"), "own");
}

#[test]
fn alerts_of_other_kinds_ask_for_all_that_adds_up() {
    let world = World::default()
        .calls("worker>db")
        .influences("worker>queue")
        .alert("queue", Signal::Saturation, 18)
        .measured("queue", Signal::Saturation, 5.0, shifted(5.0, 900.0))
        .latency("worker", 50.0, 250.0)
        .requests("worker", 40.0)
        .latency("db", 5.0, 205.0)
        .requests("db", 40.0);
    assert_eq!(world.of("worker"), "own, db 100, rest 0");
    assert_eq!(world.of("db"), "own, rest 100");
    assert_eq!(world.of("queue"), "", "it is on no account");
    let hint = world.hints.borrow()[0].clone();
    assert!(hint.starts_with("db: latency 205 ms (normally 5"), "{hint}");

    // Without calls nothing adds up, whatever the series are called: early deviations are shown.
    let plant = World::default()
        .influences("press>belt")
        .alert("belt", Signal::Saturation, 18)
        .measured("belt", Signal::Other, 5.0, shifted(5.0, 900.0))
        .measured("press", Signal::Other, 5.0, shifted(5.0, 900.0))
        .latency("press", 50.0, 250.0);
    assert_eq!(plant.of("belt"), "rest 100");
}

#[test]
fn spans_that_are_missing_show_nothing() {
    // The callee hangs: it measures as many requests as before, and leaves no span of them.
    let world = |after: f64| {
        let mut world = World::default()
            .calls("web>db")
            .alert("web", Signal::Latency, 15)
            .traced("web", None, 50.0, 150.0)
            .traced("web", Some("db"), 10.0, 10.0)
            .traced("db", None, 8.0, 8.0)
            .latency("web", 50.0, 150.0)
            .requests("web", 20.0)
            .latency("db", 8.0, 108.0)
            .measured("db", Signal::Traffic, 20.0, shifted(20.0, after));
        let begun = at(14);
        world.spans.retain(|span| span.entity != id("db") || span.time < begun);
        world
    };
    assert_eq!(world(20.0).of("web"), "own, db 100, rest 0", "by what was measured");
    assert_eq!(world(1.0).of("web"), "own, db 0, rest 100", "it is hardly asked any more");
}

#[test]
fn replicas_count_together() {
    // Twelve instances, each of which fails a twelfth of what the service fails, since one store does.
    let mut world = World::default()
        .alert("shop", Signal::Errors, 15)
        .measured("shop", Signal::Errors, 0.0, shifted(0.0, 120.0))
        .latency("shop", 100.0, 100.0)
        .requests("shop", 600.0)
        .measured("store", Signal::Errors, 0.0, shifted(0.0, 120.0))
        .requests("store", 600.0);
    for number in 0..12 {
        let name = format!("shop-{number}");
        world = world
            .influences(&format!("{name}>shop"))
            .calls(&format!("{name}>store"))
            .measured(&name, Signal::Errors, 0.0, shifted(0.0, 10.0))
            .requests(&name, 50.0);
    }
    let shop = world.of("shop");
    assert_eq!(shop, "own, store 100, rest 0", "none of them alone accounts for it");
    let part = world.part_of("shop-3");
    assert_eq!(part, Some((8, Some(100))), "its own, and that of all");
    assert_eq!(world.part_of("store"), Some((100, None)));
}

/// Three rest on a node, of which one works more than the others do; the node has no callers.
struct Node {
    /// What the node uses in the end of a tenth before, and what each guest does.
    node: f64,
    guests: [f64; 3],
    /// How many times its usual requests the first guest has, and from which step on.
    asked: f64,
    asked_from: usize,
    /// The step at which the first guest begins to use more.
    from: usize,
    metric: &'static str,
}

impl Node {
    fn crowded() -> Self {
        let guests = [0.9, 0.15, 0.15];
        Self { node: 0.95, guests, asked: 1.0, asked_from: 4, from: 4, metric: "cpu" }
    }

    /// The note at the node and at each guest: who, and which part in percent. Each says since when the guest takes it up.
    fn notes(&self) -> [Option<(String, i64)>; 3] {
        let mut requests = [100.0; 10];
        requests[self.asked_from..].fill(100.0 * self.asked);
        let mut world = World::default()
            .calls("web>two")
            .influences("node>one")
            .influences("node>two")
            .influences("node>three")
            .alert("web", Signal::Latency, 15)
            .latency("web", 100.0, 180.0)
            .latency("two", 10.0, 90.0)
            .measured("one", Signal::Traffic, 100.0, requests);
        let uses = |world: World, entity: &str, metric: &str, after: f64, from: usize| {
            let mut values = [0.1; 10];
            values[from..].fill(after);
            let mut world = world.measured(entity, Signal::Saturation, 0.1, values);
            let series = world.series.get_mut(&id(entity)).unwrap().last_mut().unwrap();
            (series.unit, series.metric) = ("ratio".into(), metric.into());
            world
        };
        world = uses(world, "node", "cpu", self.node, 4);
        world = uses(world, "one", self.metric, self.guests[0], self.from);
        world = uses(world, "two", "cpu", self.guests[1], 4);
        world = uses(world, "three", "cpu", self.guests[2], 4);
        // What waits fills other resources, and those most of all.
        world = uses(world, "two", "pool", 1.0, 4);
        ["node", "one", "two"].map(|entity| {
            let findings = world.findings(entity);
            let mut notes = findings.into_iter().filter(|finding| {
                (finding.kind, finding.signal) == (EvidenceKind::Note, Signal::Saturation)
                    && finding.quantity.is_some()
            });
            let note = notes.next()?;
            assert_eq!(notes.next(), None, "{entity}");
            assert!(note.onset.is_some(), "{entity}");
            let peer = note.peer.as_ref()?;
            let role =
                if entity == "node" { PeerRole::Mentioned } else { PeerRole::NextDownstream };
            assert_eq!(peer.role, role, "{entity}");
            let part = note.quantity.as_ref()?.observed;
            Some((peer.entity.to_string(), (100.0 * part).round() as i64))
        })
    }
}

#[test]
fn of_all_that_rest_on_a_full_node_the_one_that_takes_it_up_is_noted() {
    let notes = Node::crowded().notes();
    assert_eq!(notes, [Some(("one".into(), 89)), Some(("node".into(), 89)), None]);
    // A resource of its own is no part of the node's.
    assert_eq!(Node { metric: "pool", ..Node::crowded() }.notes(), [None, None, None]);
}

#[test]
fn requests_that_come_after_a_node_was_taken_up_are_its_effect() {
    // A caller without an answer asks again.
    let notes = Node { asked: 8.0, asked_from: 5, ..Node::crowded() }.notes();
    assert_eq!(notes, [Some(("one".into(), 89)), Some(("node".into(), 89)), None]);
}

#[test]
fn none_takes_up_a_node() {
    let no_notes = |node: Node, why: &str| assert_eq!(node.notes(), [None, None, None], "{why}");
    assert!(Node { node: 0.65, ..Node::crowded() }.notes()[0].is_some(), "one of its processors");
    no_notes(Node { node: 0.55, ..Node::crowded() }, "that has room");
    no_notes(Node { guests: [0.9, 0.9, 0.9], ..Node::crowded() }, "that all take more of");
    no_notes(Node { guests: [0.6, 0.15, 0.15], ..Node::crowded() }, "who does not use nearly all");
    no_notes(Node { asked: 8.0, ..Node::crowded() }, "who is asked for as much more");
    no_notes(Node { asked: 5.5, ..Node::crowded() }, "who is asked for most of what it uses more");
    no_notes(Node { from: 8, ..Node::crowded() }, "before it does so");
}
