//! `eog mcp serve`, the real binary, as clients drive it: over standard input and output and over
//! HTTP, by the Rust SDK and by SDKs that nobody here wrote.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod configured;
mod flooding;
mod http;
mod interop;
mod schemas;
mod stdio;
#[cfg(unix)]
mod stopping;
mod support;
mod tokens;
