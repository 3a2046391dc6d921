//! Naive models of the algorithm, written for clarity: plain lists, everything looked up anew at
//! every step. They share nothing with the engine but the vocabulary.

mod history;
pub(crate) mod paper;
pub(crate) mod recommended;

pub(crate) use history::History;
