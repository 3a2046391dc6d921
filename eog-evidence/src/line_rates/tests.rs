use super::*;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(second).unwrap()
}

fn window(start: i64, end: i64) -> Window {
    Window::new(at(start), at(end)).unwrap()
}

/// An hour is usual, the next half hour is of interest.
fn compared() -> ComparedTimes<'static> {
    let (before, after) = (window(0, 3600), window(3600, 5400));
    ComparedTimes { before: before.into(), after, until: at(5400), holes: &[] }
}

/// Every so many seconds, from one second on until another.
fn every(step: usize, from: i64, to: i64) -> Vec<Timestamp> {
    (from..to).step_by(step).map(at).collect()
}

fn rates(kinds: &[Vec<Timestamp>], of_all: bool) -> Vec<LineRate> {
    let kinds: Vec<&[Timestamp]> = kinds.iter().map(Vec::as_slice).collect();
    line_rates(&kinds, &compared(), of_all)
}

fn changes(kinds: &[Vec<Timestamp>], of_all: bool) -> Vec<Option<RateChange>> {
    rates(kinds, of_all).iter().map(|rate| rate.change).collect()
}

#[test]
fn what_differs_by_more_than_chance_is_found() {
    let both = |a: Vec<Timestamp>, b: Vec<Timestamp>| [a, b].concat();
    let cases = [
        ("as usual", every(60, 0, 5400), None),
        ("a third more", both(every(60, 0, 3600), every(45, 3600, 5400)), None),
        (
            "thrice as often",
            both(every(60, 0, 3600), every(20, 3600, 5400)),
            Some(RateChange::Risen),
        ),
        ("a third", both(every(20, 0, 3600), every(60, 3600, 5400)), Some(RateChange::Fallen)),
        ("never before", every(60, 4000, 5400), Some(RateChange::New)),
        ("never before, for a minute", every(6, 4000, 4060), Some(RateChange::New)),
        ("never before, three times", every(600, 4000, 5400), None),
        ("never before, once", vec![at(4000)], None),
        ("never before, at once", vec![at(4000); 200], None),
        ("stays away", every(60, 0, 4201), Some(RateChange::Vanished(at(4200)))),
        ("stays away for a short time", every(60, 0, 5200), None),
        ("rare", every(1800, 0, 4000), None),
        ("at the beginning alone", every(1, 0, 90), None),
        ("away before", every(10, 0, 1800), None),
        (
            "in bursts",
            [20, 1500, 2900, 4300, 5000].into_iter().flat_map(|s| every(1, s, s + 15)).collect(),
            None,
        ),
        ("nothing", vec![], None),
    ];
    for (what, times, expected) in cases {
        assert_eq!(changes(&[times], false), [expected], "{what}");
    }
}

#[test]
fn a_usual_time_of_several_periods_counts_without_what_lies_between() {
    let before = [window(0, 1800), window(20_000, 21_800)].into_iter().collect();
    let compared = ComparedTimes { before, ..compared() };
    let more_between = [every(60, 0, 5400), every(1, 10_000, 19_000), every(60, 20_000, 21_800)];
    let rates = line_rates(&[&more_between.concat()], &compared, false);
    assert_eq!((rates[0].observed, rates[0].expected, rates[0].change), (30, 30.0, None));
}

#[test]
fn lines_and_expected_lines_are_counted() {
    let found =
        rates(&[every(60, 0, 4201), [every(60, 0, 3600), every(20, 3600, 5400)].concat()], false);
    assert_eq!((found[0].observed, found[0].expected), (0, 20.0));
    assert_eq!((found[1].observed, found[1].expected), (90, 30.0));
}

#[test]
fn a_common_volume_is_no_difference() {
    let with = |step: usize, step_after: usize| {
        [every(step, 0, 3600), every(step_after, 3600, 5400)].concat()
    };
    // Requests come three times as often, a job and a heartbeat as usual.
    let doubled = [with(30, 10), with(15, 5), with(60, 20), with(45, 15), with(6, 2), with(20, 20)];
    assert_eq!(changes(&doubled, true), [None; 6]);
    assert_eq!(changes(&doubled, false)[..5], [Some(RateChange::Risen); 5]);
    // One of them alone comes no more.
    let mut one_away = doubled.to_vec();
    one_away.push(every(30, 0, 3600));
    assert_eq!(changes(&one_away, true)[6], Some(RateChange::Vanished(at(3570))));
    // All are away: that is the volume.
    let silent: Vec<_> = [10, 20, 30, 40, 50].map(|step| every(step, 0, 3600)).into();
    assert_eq!(changes(&silent, true), [None; 5]);
}

#[test]
fn what_stays_away_when_nothing_is_recorded_is_not_missed() {
    let times = every(60, 0, 4201);
    let compared = ComparedTimes { until: at(4260), ..compared() };
    assert_eq!(line_rates(&[&times], &compared, false)[0].change, None);
    let holes = [window(4210, 5390)];
    let compared = ComparedTimes { until: at(5400), holes: &holes, ..compared };
    assert_eq!(line_rates(&[&times], &compared, false)[0].change, None);
}

#[test]
fn many_kinds_that_differ_by_chance_are_not_found() {
    // A Poisson process by inversion, with numbers that look random (an LCG).
    let mut state = 7_u64;
    let mut draw = || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 11) as f64 / (1_u64 << 53) as f64
    };
    let kinds: Vec<Vec<Timestamp>> = (0..300)
        .map(|kind| {
            let mean = 20.0 + 3.0 * f64::from(kind);
            let mut time = 0.0;
            std::iter::from_fn(|| {
                time -= mean * libm::log(1.0 - draw());
                (time < 5400.0).then(|| at(time as i64))
            })
            .collect()
        })
        .collect();
    for of_all in [false, true] {
        let found = changes(&kinds, of_all).into_iter().flatten().count();
        assert!(found <= 1, "{found}");
    }
}

#[test]
fn tails_are_those_of_the_binomial() {
    let cases = [
        (10.0, 10.0, 0.5, 0.000_976_562_5),
        (8.0, 10.0, 0.5, 0.054_687_5),
        (60.0, 100.0, 0.5, 0.028_443_966_820_490_4),
        (3.0, 20.0, 0.1, 0.323_073_194_811_194),
    ];
    for (part, all, share, expected) in cases {
        let found = upper_tail(part, all, share);
        assert!((found - expected).abs() < 1e-9, "{part} of {all}: {found}");
    }
}
