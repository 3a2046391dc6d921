//! Results told as narratives: by rules, by honest models, by lying ones, and by none.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod asking;
mod golden;
mod guessing;
mod lying;
mod making;
mod rules;
