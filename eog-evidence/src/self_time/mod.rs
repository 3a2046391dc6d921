//! Self time: who adds how much to the time and the failures of traced requests.
//!
//! What a request takes is what the entity works by itself (*self time*), and what it waits for its calls; what a call
//! takes is what the callee works, and time on the way. All of these are means over requests, before and after
//! trouble began, so they add up: what a request takes longer is the sum of what each part takes longer. Failures
//! are counted in the same way: failed where the work is done, or on the way.
//!
//! - [`traced`]: spans, wherever they were recorded; [`calls`]: by who served and who made them.
//! - [`trees`]: traces as trees: of calls that overlap the part that is waited for (the critical path), where an error
//!   began, calls that were made again, messages that waited.
//! - [`courses`]: who had what of the requests that alerts are about, along their critical paths.
//! - [`requests`]: each with the calls that it made; [`skipped`]: callees that they leave out.
//! - [`roads`]: how long calls are on the way.
//! - [`endings`]: after whose answer requests end that went on before.
//! - [`operations`]: the same for each operation of an entity; retries and waiting.
//! - [`split`]: when trouble began.
//! - [`excess`]: what is more than before, beyond chance.
//! - [`ends`]: whether time on the way belongs to the caller or to the callee.
//! - [`book`]: what one entity has too much of, and who accounts for it.

mod book;
mod calls;
mod courses;
mod endings;
mod ends;
mod excess;
mod numbers;
mod operations;
mod requests;
mod roads;
mod skipped;
mod split;
#[cfg(test)]
mod tests;
mod traced;
mod trees;

pub(crate) use book::{Book, Books, Counted};
pub(crate) use calls::Calls;
pub(crate) use courses::{Course, Part};
pub(crate) use endings::Ending;
pub(crate) use ends::{Way, belongs_to};
pub(crate) use operations::{Detail, What};
pub(crate) use requests::End;
pub use traced::{SpanPlace, TracedSpan};
