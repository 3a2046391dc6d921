//! Runs of the real binary: their pace, their side file, their forks.

mod beside;
mod controllers;
mod explain;
mod fork;
pub(crate) mod incident;
mod judge;
mod onward;
mod outputs;
mod pace;
mod signals;
mod verify;
