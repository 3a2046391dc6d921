//! The phases of an investigation: what each is given, what it answers, and when that is usable.

mod alerts;
mod bootstrap;
mod classify;
mod filter;
mod filter_changes;
mod filter_events;
mod select_window;

pub(crate) use alerts::is_golden;
pub use bootstrap::{Candidate, ChooseSeeds, Ignored, SeedsAnswer, SeedsInput, Strength};
pub(crate) use bootstrap::{MAX_CANDIDATES, SeedFacts};
pub use classify::ClassifyEvidence;
pub use filter::{FilterAnswer, FilterInput, Part, Relevant};
pub(crate) use filter::{Frame, ItemLine};
pub use filter_changes::FilterChanges;
pub use filter_events::FilterEvents;
pub use select_window::{SelectWindow, WindowAnswer, WindowInput};
