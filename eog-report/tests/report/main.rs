//! Reports of whole investigations: every form, the narrative by rules, hostile texts.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod entries;
mod forms;
mod golden;
mod hostile;
mod incidents;
mod markdown;
mod rules;
mod searches;
