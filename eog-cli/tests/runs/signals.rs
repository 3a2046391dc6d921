//! Signals while the reader of standard error does not read.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use super::incident::{EVALUATIONS, HEALTHY, Incident};
use crate::common::until;

/// What a pipe holds on Linux; where it holds more, what is written does not stall at once.
const PIPE: usize = 64 * 1024;

#[test]
fn a_second_signal_ends_a_run_whose_reader_has_stalled() {
    let incident = Incident::judged_by(HEALTHY);
    let (_reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b' '; PIPE]).unwrap();
    let mut child = incident.investigate(&[]).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    until("all is judged", || incident.calls() >= EVALUATIONS);
    // All is judged; what is left is the text, which is not read.
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "it waits for its reader");
    let mut ended = None;
    until("signals end it", || {
        // Fails once it has ended.
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        ended = child.try_wait().unwrap();
        ended.is_some()
    });
    assert_eq!(ended.unwrap().code(), Some(130));
}
