//! Tests of models behind a scripted server, as one binary.

mod answers;
mod cassette;
mod config;
mod endless;
mod limits;
mod pace;
mod recorded;
mod support;
mod wire;
