//! Signals beside somebody who should read and does not.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::incident::{EVALUATIONS, HEALTHY, Incident};

/// Longest time that anything may take on a slow machine.
const PATIENCE: Duration = Duration::from_secs(60);

/// What a pipe holds on Linux; where it holds more, what is written does not stall at once.
const PIPE: usize = 64 * 1024;

#[test]
fn a_second_signal_ends_a_run_whose_reader_has_stalled() {
    let incident = Incident::judged_by(HEALTHY);
    let (_reader, mut writer) = std::io::pipe().unwrap();
    writer.write_all(&[b' '; PIPE]).unwrap();
    let mut child = incident.investigate(&[]).stdout(writer).stderr(Stdio::null()).spawn().unwrap();
    let began = Instant::now();
    let calls = || std::fs::read_to_string(incident.path("policy.sh.calls")).unwrap_or_default();
    while calls().lines().count() < EVALUATIONS {
        assert!(began.elapsed() < PATIENCE, "it does not get that far");
        std::thread::sleep(Duration::from_millis(20));
    }
    // All is judged; what is left is the text that nobody reads.
    std::thread::sleep(Duration::from_secs(2));
    assert!(child.try_wait().unwrap().is_none(), "it waits for its reader");
    let began = Instant::now();
    loop {
        // Fails once it has ended.
        let _ = Command::new("kill").args(["-INT", &child.id().to_string()]).status();
        if let Some(status) = child.try_wait().unwrap() {
            assert_eq!(status.code(), Some(130));
            break;
        }
        assert!(began.elapsed() < PATIENCE, "signals do not end it");
        std::thread::sleep(Duration::from_millis(100));
    }
}
