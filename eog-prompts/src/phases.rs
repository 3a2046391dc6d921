//! The questions of an investigation, each with its typed input and answer.

pub(crate) mod finalize;
