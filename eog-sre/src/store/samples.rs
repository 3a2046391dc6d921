//! The samples of one series: times and values.

use std::ops::Range;

use eog_core::{Timestamp, Window};

use super::{Times, cell};

/// Values with their times, in time order.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Samples {
    pub(crate) at: Times,
    pub(crate) value: Vec<f64>,
}

impl Samples {
    /// Adds a value at the end; `at` in nanoseconds since 1970.
    pub(crate) fn push(&mut self, at: i64, value: f64) {
        self.at.0.push(at);
        self.value.push(value);
    }

    /// Adds all of another series at the end.
    pub(crate) fn extend(&mut self, other: &Self) {
        self.at.0.extend_from_slice(&other.at.0);
        self.value.extend_from_slice(&other.value);
    }

    /// Sorts by time and value, and takes exact repeats out.
    pub(crate) fn tidy(&mut self) {
        let rows = || self.at.0.iter().copied().zip(self.value.iter().copied());
        let is_tidy = rows().zip(rows().skip(1)).all(|(one, next)| one.0 < next.0);
        if !is_tidy {
            let mut sorted: Vec<(i64, f64)> = rows().collect();
            sorted.sort_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)));
            sorted.dedup();
            (self.at.0, self.value) = sorted.into_iter().unzip();
        }
        self.at.0.shrink_to_fit();
        self.value.shrink_to_fit();
    }

    /// One sample by its row.
    pub(crate) fn get(&self, row: usize) -> (Timestamp, f64) {
        (self.at.get(row), cell(&self.value, row))
    }

    /// All samples.
    pub(crate) fn iter(&self) -> impl DoubleEndedIterator<Item = (Timestamp, f64)> {
        self.rows(0..self.at.len())
    }

    /// Some samples.
    fn rows(&self, rows: Range<usize>) -> impl DoubleEndedIterator<Item = (Timestamp, f64)> {
        rows.map(|row| self.get(row))
    }

    /// The samples within a window.
    pub(crate) fn within(
        &self,
        window: Window,
    ) -> impl DoubleEndedIterator<Item = (Timestamp, f64)> {
        self.rows(self.at.rows(window))
    }

    /// The values within a window.
    pub(crate) fn values(&self, window: Window) -> &[f64] {
        self.value.get(self.at.rows(window)).unwrap_or_default()
    }

    /// Each sample with the next.
    pub(crate) fn steps(&self) -> impl Iterator<Item = [(Timestamp, f64); 2]> {
        (1..self.at.len()).map(|row| [self.get(row - 1), self.get(row)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_sorted_and_exact_repeats_taken_out() {
        let mut samples = Samples::default();
        for (at, value) in [(2, 1.0), (1, 5.0), (2, 0.5), (2, 1.0)] {
            samples.push(at, value);
        }
        samples.tidy();
        assert_eq!(
            (samples.at.0.clone(), samples.value.clone()),
            (vec![1, 2, 2], vec![5.0, 0.5, 1.0])
        );
        assert_eq!(samples.steps().count(), 2);
        let all = Window::new(Timestamp::MIN, Timestamp::MAX).unwrap();
        assert_eq!(samples.values(all), [5.0, 0.5, 1.0]);
    }
}
