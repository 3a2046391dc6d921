//! A policy that knows the truth and is wrong at a stated rate, which falls with what neighbours
//! tell it: a model of a language model, and not one.
//!
//! [`NoisyOracle`] answers questions about a [`TruthGraph`](crate::truth::TruthGraph). What it gets
//! right is what [`TruthPolicy`](crate::truth::TruthPolicy) says; how often it does not is
//! [`OracleRates`].
//!
//! # The rate of errors
//!
//! ```text
//! e(n) = e₀ · rⁿ, never below the floor nor above the ceiling; n = right − wrong messages
//! ```
//!
//! With an empty inbox the rate is e₀. Each message that says the truth about the entity multiplies
//! it by r, each that says an untruth divides it by r: wrong neighbours mislead as much as right
//! ones help. Most messages do neither. What a message says about an entity:
//!
//! | message | it says | counts +1 | counts −1 |
//! |---|---|---|---|
//! | claims that the entity is the cause of something | it fails | if so | if it is healthy |
//! | from a callee: `Healthy`, with evidence | that callee is no cause | if the callee is healthy | if it is a cause of the entity's trouble |
//! | from a callee: `Symptom` or `Origin` | that callee may be the cause | if it is | if it is healthy |
//! | anything else | nothing | | |
//!
//! The paper's §4.4 is such a case: a database that ran out of memory looks like an origin until
//! a neighbour says what it saw.
//!
//! # The kinds of errors
//!
//! | the entity is | swapped | missed | deferred |
//! |---|---|---|---|
//! | an origin | `Symptom` of an innocent callee | `Healthy` | `Defer` |
//! | affected | `Origin` | `Healthy` | `Defer` |
//! | healthy | `Origin` | `Symptom` of an innocent callee | `Defer` |
//!
//! Without an innocent callee to blame it defers. A wrong answer cites evidence as a right one
//! does, or the contract checks would catch it. Who defers proposes the first two callees that its
//! evidence names.
//!
//! # Stateless
//!
//! Whether and how an answer is wrong hangs on seed, entity, the content of the inbox (senders, labels
//! and claimed edges, not their words) and the notice of a second look alone. Equal questions get
//! equal answers; another inbox or notice is another question, and may be answered wrongly though the
//! first was not. So to be asked again is a second chance in itself, whether or not anything was
//! learnt. To tell the two apart,
//! set [`OracleRates::stubborn`], which hangs the draw on seed and entity alone, or
//! [`OracleRates::shrink`] to 1, with which messages tell nothing; with both, no message ever
//! corrects an error.

mod bearing;
mod policy;
mod rates;

pub use policy::NoisyOracle;
pub use rates::OracleRates;
