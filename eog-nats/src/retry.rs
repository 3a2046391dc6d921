//! Attempts that change nothing when they are repeated.

use crate::{NatsError, Trouble};

/// Repeats something until it succeeds, is known to fail whenever it is repeated, or `wait` says that there
/// were enough attempts. It is given the number of the last one, from 0. `diagnose` says then why attempts
/// fail.
pub(crate) fn persist<T>(
    wait: impl Fn(u32) -> bool,
    diagnose: impl FnOnce(Trouble) -> NatsError,
    mut what: impl FnMut() -> Result<T, Trouble>,
) -> Result<T, NatsError> {
    let mut attempt = 0;
    loop {
        match what() {
            Ok(done) => return Ok(done),
            Err(Trouble::Lasting(error)) => return Err(error),
            Err(trouble) if !wait(attempt) => return Err(diagnose(trouble)),
            Err(Trouble::Passing(_)) => attempt += 1,
        }
    }
}
