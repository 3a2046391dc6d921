//! The client against real servers: our own, those of others, and one that misbehaves.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod interop;
mod misbehaving;
mod support;
mod web;
mod whole;
