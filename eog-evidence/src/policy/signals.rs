//! Which kind of trouble plausibly leads to which.

use eog_core::evidence::Signal;

/// Whether trouble of one kind plausibly shows as trouble of another.
///
/// | from | to | because |
/// |---|---|---|
/// | latency | anything | calls and probes time out, what waits holds resources |
/// | errors | anything but latency | what fails is tried again; but failing is commonly faster than answering, and who waits for a time-out suffers from latency |
/// | exhaustion, saturation, availability | anything | who has nothing left waits, refuses and fails |
/// | anything else | anything | not known |
pub(super) fn leads_to(from: Signal, to: Signal) -> bool {
    !matches!((from, to), (Signal::Errors, Signal::Latency))
}
