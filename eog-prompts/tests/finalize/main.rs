//! Results written as narratives by honest models, by lying ones, and by none.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod asking;
mod golden;
mod guessing;
#[path = "../../../eog-report/tests/report/incidents.rs"]
mod incidents;
mod lying;
mod making;
