//! Work is counted in tests, so that they can bound it without a clock.

#[cfg(test)]
std::thread_local! {
    static TAKEN: std::cell::Cell<usize> = const { std::cell::Cell::new(0) };
}

/// Counts steps of a search; nothing outside of tests.
#[inline]
pub(crate) fn took(_steps: usize) {
    #[cfg(test)]
    TAKEN.set(TAKEN.get() + _steps);
}

/// How many steps something takes on this thread.
#[cfg(test)]
pub(crate) fn counted<T>(work: impl FnOnce() -> T) -> (usize, T) {
    let before = TAKEN.get();
    let done = work();
    (TAKEN.get() - before, done)
}
