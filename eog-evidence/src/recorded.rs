//! Which part of a recording was recorded: rates count over that time alone.

use eog_core::{Timestamp, Window};
use jiff::SignedDuration;

/// Nothing at all for longer than this is a hole: as long as Prometheus waits before it takes a
/// series for stale.
const STALE: SignedDuration = SignedDuration::from_mins(5);

/// What comes in steps must miss this many of them.
const MISSED: i32 = 3;

/// The times within a recording at which nothing was recorded, in time order, from the times of
/// all records. A hole is longer than 5 minutes and than 3 times the usual distance between
/// records (its median).
///
/// ```
/// use eog_core::Timestamp;
/// use eog_evidence::{holes, recorded_seconds};
/// use eog_core::Window;
/// let minute = |m: i64| Timestamp::from_second(m * 60).unwrap();
/// let times: Vec<_> = (0..30).chain(50..60).map(minute).collect();
/// let holes = holes(times);
/// assert_eq!(holes, [Window::new(minute(29), minute(50))?]);
/// let hour = Window::new(minute(0), minute(60))?;
/// assert_eq!(recorded_seconds(hour, &holes), 39.0 * 60.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn holes(times: impl IntoIterator<Item = Timestamp>) -> Vec<Window> {
    let mut times: Vec<Timestamp> = times.into_iter().collect();
    if !times.is_sorted() {
        times.sort_unstable();
    }
    times.dedup();
    let step = |pair: &[Timestamp]| match *pair {
        [from, to] => to.duration_since(from),
        _ => SignedDuration::ZERO,
    };
    let mut steps: Vec<SignedDuration> = times.windows(2).map(step).collect();
    let middle = steps.len() / 2;
    if steps.is_empty() {
        return Vec::new();
    }
    let (_, usual, _) = steps.select_nth_unstable(middle);
    let longest = STALE.max(*usual * MISSED);
    let missing = times.windows(2).filter(|pair| step(pair) > longest);
    missing.filter_map(|pair| Window::new(*pair.first()?, *pair.last()?).ok()).collect()
}

/// The seconds of a window without those that lie in holes.
pub fn recorded_seconds(window: Window, holes: &[Window]) -> f64 {
    let length = |from: Timestamp, to: Timestamp| to.duration_since(from).as_secs_f64().max(0.0);
    let missing = holes
        .iter()
        .map(|hole| length(hole.start().max(window.start()), hole.end().min(window.end())));
    length(window.start(), window.end()) - missing.sum::<f64>()
}
