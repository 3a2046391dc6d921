//! `eog mcp serve`, the real binary, as clients drive it: over standard input and output and over HTTP, by the Rust
//! SDK and by third-party SDKs.

mod closing;
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
