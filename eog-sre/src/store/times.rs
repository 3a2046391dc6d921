//! A column of times.

use std::ops::Range;

use eog_core::{Timestamp, Window};

use super::cell;

/// Nanoseconds since 1970 of a time between 1678 and 2261; nothing for others.
pub(crate) fn nanoseconds(at: Timestamp) -> Option<i64> {
    i64::try_from(at.as_nanosecond()).ok()
}

/// Times in order, as nanoseconds since 1970.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Times(pub(crate) Vec<i64>);

impl Times {
    /// How many there are.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }

    /// The time of a row; 1970 where there is none.
    pub(crate) fn get(&self, row: usize) -> Timestamp {
        Timestamp::from_nanosecond(i128::from(cell(&self.0, row))).unwrap_or_default()
    }

    /// The first and the last time.
    pub(crate) fn extent(&self) -> Option<(Timestamp, Timestamp)> {
        Some((self.get(0), self.get(self.len().checked_sub(1)?)))
    }

    /// The rows within a window.
    pub(crate) fn rows(&self, window: Window) -> Range<usize> {
        let place = |time| {
            let time = bound(time);
            self.0.partition_point(|at| *at < time)
        };
        place(window.start())..place(window.end())
    }

    /// Those of some rows, which are in order, that lie within a window.
    pub(crate) fn among<'a>(&self, rows: &'a [u32], window: Window) -> &'a [u32] {
        rows.get(self.places(rows, window)).unwrap_or_default()
    }

    /// Where among some rows, which are in order, those within a window are.
    pub(crate) fn places(&self, rows: &[u32], window: Window) -> Range<usize> {
        let place = |time| {
            let time = bound(time);
            rows.partition_point(|row| cell(&self.0, *row as usize) < time)
        };
        place(window.start())..place(window.end())
    }
}

/// A time to compare with; one that no row can have lies beyond all rows.
fn bound(time: Timestamp) -> i64 {
    let beyond = if time < Timestamp::UNIX_EPOCH { i64::MIN } else { i64::MAX };
    nanoseconds(time).unwrap_or(beyond)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_holds_its_start_and_not_its_end() {
        let at = |second| Timestamp::from_second(second).unwrap();
        let times = Times([10, 20, 20, 30].map(|s| s * 1_000_000_000).to_vec());
        let rows = |start, end| times.rows(Window::new(start, end).unwrap());
        assert_eq!(rows(at(10), at(30)), 0..3);
        assert_eq!(rows(at(11), at(20)), 1..1);
        assert_eq!(rows(Timestamp::MIN, Timestamp::MAX), 0..4);
        let window = Window::new(at(20), at(31)).unwrap();
        assert_eq!(times.among(&[0, 2, 3], window), [2, 3]);
        assert_eq!(times.extent(), Some((at(10), at(30))));
        assert_eq!(nanoseconds(Timestamp::MAX), None);
    }
}
