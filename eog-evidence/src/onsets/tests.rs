use super::*;
use crate::series::Periods;
use crate::shift::find_shift;
use eog_core::Window;
use eog_core::evidence::Trend;

/// Seconds, with a fraction.
fn at(seconds: f64) -> Timestamp {
    Timestamp::from_nanosecond((seconds * 1e9) as i128).unwrap()
}

fn ends(onset: Onset) -> (f64, f64) {
    let seconds = |at: Timestamp| at.as_nanosecond() as f64 / 1e9;
    (seconds(onset.earliest()), seconds(onset.latest()))
}

/// Requests every second: `.` is good, `x` bad.
fn share(text: &str) -> Option<(f64, f64)> {
    let requests: Vec<(Timestamp, bool)> =
        (0..).zip(text.chars()).map(|(s, c)| (at(f64::from(s)), c == 'x')).collect();
    share_onset(&requests).map(ends)
}

#[test]
fn bad_requests_begin_after_the_last_good_one() {
    // Each request is bad from 200 on: nothing else explains it.
    let text = ".".repeat(200) + &"x".repeat(30);
    assert_eq!(share(&text), Some((199.0, 200.0)));
    // One bad request long before is no onset.
    let mut noisy = text.clone();
    noisy.replace_range(5..6, "x");
    assert_eq!(share(&noisy), Some((199.0, 200.0)));
    // What is over again began all the same.
    assert_eq!(share(&(text + &".".repeat(60))), Some((199.0, 200.0)));
}

#[test]
fn rare_bad_requests_leave_the_beginning_open() {
    // A third is bad: with probability (2/3)^9 = 2.6 %, nine good ones lie before the first bad.
    let (earliest, latest) = share(&(".".repeat(400) + &"x..".repeat(30))).unwrap();
    assert_eq!(latest, 400.0);
    assert!((388.0..=394.0).contains(&earliest), "{earliest}");
}

#[test]
fn a_share_that_never_rises_has_no_onset() {
    for text in ["", "x", "xxxx", "....", "xx.."] {
        assert_eq!(share(text), None, "{text:?}");
    }
}

fn rate(times: &[f64], end: f64, trend: Trend) -> Option<(f64, f64)> {
    let times: Vec<Timestamp> = times.iter().copied().map(at).collect();
    rate_onset(&times, Window::new(at(0.0), at(end)).unwrap(), trend).map(ends)
}

#[test]
fn new_lines_began_before_the_first_by_what_chance_allows() {
    // Once: one line has no rate that could have risen.
    assert_eq!(rate(&[500.0], 1000.0, Trend::Rising), None);
    // 31 lines, one each 10 s: 97.5 % of the waits for a first one are shorter than
    // 300 · (0.025^(-1/29.5) - 1) = 40 s.
    let lines: Vec<f64> = (0..31).map(|n| 500.0 + 10.0 * f64::from(n)).collect();
    let (earliest, latest) = rate(&lines, 1000.0, Trend::Rising).unwrap();
    assert_eq!(latest, 500.0);
    assert!((450.0..=470.0).contains(&earliest), "{earliest}");
    // The same when nothing follows for long.
    assert_eq!(rate(&lines, 9000.0, Trend::Rising), Some((earliest, latest)));
    assert_eq!(rate(&[], 1000.0, Trend::Rising), None);
    assert_eq!(rate(&lines, 1000.0, Trend::Steady), None);
}

#[test]
fn a_surge_is_distinguished_from_the_usual_rate() {
    // One each 60 s, from 1200 on one each 2 s.
    let usual = (0..20).map(|n| 60.0 * f64::from(n) + 30.0);
    let lines: Vec<f64> = usual.chain((0..200).map(|n| 1200.0 + 2.0 * f64::from(n))).collect();
    let (earliest, latest) = rate(&lines, 1600.0, Trend::Rising).unwrap();
    assert!((1170.0..=1200.0).contains(&earliest), "{earliest}");
    assert!((1200.0..=1206.0).contains(&latest), "{latest}");
}

#[test]
fn what_falls_silent_ended_after_its_last_time() {
    let lines: Vec<f64> = (0..100).map(|n| 10.0 * f64::from(n)).collect();
    let (earliest, latest) = rate(&lines, 3000.0, Trend::Falling).unwrap();
    assert!((970.0..=990.0).contains(&earliest), "{earliest}");
    assert!((1000.0..=1060.0).contains(&latest), "{latest}");
}

/// The onset of the shift from a minute on, in minutes.
fn level(values: &[f64], split: usize) -> Option<(f64, f64)> {
    let minute = |n: usize| at(60.0 * n as f64);
    let points: Vec<(Timestamp, f64)> =
        values.iter().enumerate().map(|(n, value)| (minute(n), *value)).collect();
    let periods = Periods::new(Window::new(minute(split), minute(values.len())).unwrap());
    let (earliest, latest) = ends(level_onset(&points, &find_shift(&points, "ms", &periods)?)?);
    Some((earliest / 60.0, latest / 60.0))
}

#[test]
fn a_step_lies_between_the_last_usual_samples_and_the_first_other() {
    // The last usual sample may hold a part of the change.
    let noisy: Vec<f64> = (0..30).map(|n| [100.0, 102.0, 98.0, 101.0, 99.0][n % 5]).collect();
    for height in [150.0, 50.0] {
        let values = [noisy.clone(), vec![height; 10]].concat();
        assert_eq!(level(&values, 20), Some((28.0, 30.0)), "to {height}");
    }
    // Equal values have no spread.
    assert_eq!(level(&[vec![0.0; 30], vec![3.0; 10]].concat(), 20), Some((28.0, 30.0)));
    // Where samples are missing, all of the gap is open: none was seen to be usual in it.
    let mut values = [noisy.clone(), vec![150.0; 10]].concat();
    values[28..30].fill(f64::NAN);
    assert_eq!(level(&values, 20), Some((26.0, 30.0)));
    // The window of the incident starts at minute 35, and began before.
    let values = [noisy[..25].to_vec(), vec![150.0; 20]].concat();
    assert_eq!(level(&values, 35), Some((23.0, 25.0)));
}

#[test]
fn a_ramp_begins_where_it_leaves_the_usual() {
    // From minute 30 on 1 more each minute: beyond the limit of 10 from minute 41 on.
    let noise = |n: usize| [0.0, 0.4, -0.4, 0.2, -0.2][n % 5];
    let values: Vec<f64> = (0..60).map(|n| 100.0 + (n as f64 - 30.0).max(0.0) + noise(n)).collect();
    let (earliest, latest) = level(&values, 25).unwrap();
    assert!(earliest <= 30.0 && 30.0 <= latest, "{earliest} to {latest}");
    assert!(earliest >= 27.0 && latest <= 33.0, "{earliest} to {latest}");
}

/// Numbers that look random, the same on each run (Vigna's SplitMix64).
struct Draw(u64);

impl Draw {
    fn share(&mut self) -> f64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((z ^ (z >> 31)) >> 11) as f64 / (1_u64 << 53) as f64
    }

    fn wait(&mut self, rate: f64) -> f64 {
        -libm::log(1.0 - self.share()) / rate
    }

    fn normal(&mut self) -> f64 {
        (-2.0 * libm::log(1.0 - self.share())).sqrt()
            * libm::cos(std::f64::consts::TAU * self.share())
    }

    /// Times in an hour at one rate until `change`, then at another.
    fn times(&mut self, change: f64, (old, new): (f64, f64)) -> Vec<f64> {
        let mut times = Vec::new();
        let mut now = 0.0;
        loop {
            let next = now + self.wait(if now < change { old } else { new });
            // The rate changes while nothing happens.
            now = if now < change && next > change { change } else { next };
            if now >= 3600.0 {
                return times;
            }
            if now == next {
                times.push(now);
            }
        }
    }
}

/// How many of the intervals hold the true onset, of all that there are.
fn coverage(mut one: impl FnMut(&mut Draw, f64) -> Option<(f64, f64)>) -> (usize, usize) {
    let mut draw = Draw(17);
    let mut counts = (0, 0);
    for _ in 0..600 {
        let truth = 900.0 + 1800.0 * draw.share();
        if let Some((earliest, latest)) = one(&mut draw, truth) {
            counts.0 += usize::from(earliest <= truth && truth <= latest);
            counts.1 += 1;
        }
    }
    counts
}

#[track_caller]
fn assert_covers((hits, all): (usize, usize), fewest: usize) {
    assert!(all >= fewest, "only {all} have an interval");
    assert!(100 * hits >= 93 * all, "{hits} of {all}");
}

#[test]
fn intervals_of_bad_requests_hold_the_truth() {
    for (rate, usual, then) in
        [(0.2, 0.0, 1.0), (0.2, 0.01, 0.3), (0.1, 0.02, 0.2), (2.0, 0.05, 0.5), (1.0, 0.0, 0.05)]
    {
        let one = |draw: &mut Draw, truth: f64| {
            let times = draw.times(truth, (rate, rate));
            let bad =
                |draw: &mut Draw, time| draw.share() < if time < truth { usual } else { then };
            let requests: Vec<(Timestamp, bool)> =
                times.into_iter().map(|time| (at(time), bad(draw, time))).collect();
            share_onset(&requests).map(ends)
        };
        assert_covers(coverage(one), 590);
    }
}

#[test]
fn intervals_of_bursts_hold_the_truth_as_well() {
    // Before the change 2 % of the minutes are bad, after it 60 %, each for most of its requests.
    // Requests that are taken as independent hold the truth in far fewer.
    let one = |draw: &mut Draw, truth: f64| {
        let mut requests = Vec::new();
        for minute in 0..60 {
            let luck = draw.share();
            for time in (0..30).map(|n| f64::from(60 * minute + 2 * n)) {
                let is_burst = luck < if time < truth { 0.02 } else { 0.6 };
                requests.push((at(time), is_burst && draw.share() < 0.7));
            }
        }
        share_onset(&requests).map(ends)
    };
    let (hits, all) = coverage(one);
    assert!(all >= 590 && 100 * hits >= 80 * all, "{hits} of {all}");
}

#[test]
fn intervals_of_rates_hold_the_truth() {
    for rates in [(0.0, 0.02), (0.0, 0.5), (0.02, 0.1), (0.1, 0.5)] {
        let one =
            |draw: &mut Draw, truth: f64| rate(&draw.times(truth, rates), 3600.0, Trend::Rising);
        assert_covers(coverage(one), 590);
        let one = |draw: &mut Draw, truth: f64| {
            rate(&draw.times(truth, (rates.1, rates.0)), 3600.0, Trend::Falling)
        };
        assert_covers(coverage(one), 590);
    }
}

#[test]
fn intervals_of_levels_hold_the_truth() {
    // Height of a step in standard deviations, or of a ramp at the end of it after ten minutes.
    for (height, ramp) in [(6.0, 0.0), (20.0, 0.0), (8.0, 600.0), (30.0, 600.0)] {
        let one = |draw: &mut Draw, truth: f64| {
            let course = |time: f64| match ramp > 0.0 {
                true => height * ((time - truth) / ramp).clamp(0.0, 1.0),
                false if time > truth => height,
                false => 0.0,
            };
            let points: Vec<(Timestamp, f64)> = (0..240)
                .map(|n| 15.0 * f64::from(n))
                .map(|time| (at(time), 10.0 + course(time) + draw.normal()))
                .collect();
            let periods = Periods::new(Window::new(at(600.0), at(3600.0)).unwrap());
            let shift = find_shift(&points, "ms", &periods)?;
            level_onset(&points, &shift).map(ends)
        };
        assert_covers(coverage(one), 550);
    }
}
