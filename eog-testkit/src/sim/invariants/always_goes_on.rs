//! What a process left behind can be opened and resumed, and every life comes to an end.

use super::{Checked, Finding};
use crate::sim::simulation::history::{End, History};

/// A process gives up only when its disk fails or a call outside the loop does; none hangs; the
/// last one of each life ends by itself.
pub(super) fn check(history: &History) -> Checked {
    for life in history.lives() {
        for (number, process) in life.processes.iter().enumerate() {
            let expected = "a process that goes on where the last one ended";
            match &process.end {
                End::GaveUp(why)
                    if !process.disk_fault && !why.contains("fails as the seed says") =>
                {
                    return Err(Finding::in_process(life, number, expected, why));
                }
                End::Hung => {
                    let found = "it neither ended nor went on";
                    return Err(Finding::in_process(life, number, expected, found));
                }
                End::GaveUp(_) | End::Crashed | End::Finished { .. } => {}
            }
        }
        let count = life.processes.len();
        if life.last().is_none() {
            let found = format!("{count} processes, and the last did not");
            return Err(Finding::of(life, "a life that ends by itself", found));
        }
        if let Err(why) = &life.left {
            return Err(Finding::of(life, "files that can be opened at the end", why));
        }
    }
    Ok(())
}
