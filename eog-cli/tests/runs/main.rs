//! Runs of the real binary: their pace, their side file, their forks.

#![cfg(unix)]
#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod beside;
#[path = "../common/mod.rs"]
mod common;
mod controllers;
mod explain;
mod fork;
mod incident;
mod judge;
mod onward;
mod outputs;
mod pace;
mod signals;

use std::path::{Path, PathBuf};

/// The incident that ships with the project.
fn flash_sale() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/flash-sale")
}
