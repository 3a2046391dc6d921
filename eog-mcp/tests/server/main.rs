//! The server as clients see it, in one process: over a pair of pipes and over HTTP, with a policy
//! that waits where a test says so.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod asking;
mod canary;
mod cancelling;
mod controllers;
mod http;
mod many;
mod quotas;
mod support;
mod suspects;
mod tasks;
