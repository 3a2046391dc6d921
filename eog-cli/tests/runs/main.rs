//! Runs of the real binary: their pace, their side file, their forks.

mod beside;
use crate::common;
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
