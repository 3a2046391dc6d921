//! The nodes of the cluster, by the files that `.ci/nats` made.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::lab::until;

/// All nodes. Those that a test ends are started again when this is dropped.
pub(crate) struct Nodes {
    folder: PathBuf,
    stopped: Option<u32>,
}

impl Nodes {
    pub(crate) fn known() -> Option<Self> {
        Some(Self { folder: std::env::var_os("EOG_NATS_NODES")?.into(), stopped: None })
    }

    pub(crate) fn kill(&mut self, node: u32) {
        let pid = std::fs::read_to_string(self.folder.join(format!("{node}.pid"))).unwrap();
        assert!(Command::new("kill").args(["-KILL", pid.trim()]).status().unwrap().success());
        self.stopped = Some(node);
    }

    /// Starts the node again, which outlives the test.
    pub(crate) fn start_again(&mut self) {
        let Some(node) = self.stopped.take() else { return };
        let file = |ending: &str| self.folder.join(format!("{node}.{ending}"));
        let started = Command::new("nats-server")
            .args(["-c", file("conf").to_str().unwrap(), "-l", file("log").to_str().unwrap()])
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn();
        // It is ended by `.ci/nats`.
        drop(started.unwrap());
    }

    /// Waits until a node says that it has all that the others have.
    pub(crate) fn wait(&self, node: u32) {
        let conf = std::fs::read_to_string(self.folder.join(format!("{node}.conf"))).unwrap();
        let monitor = conf.lines().find_map(|line| line.strip_prefix("http: ")).unwrap();
        until(|| is_healthy(monitor).then_some(()));
    }
}

/// What its monitoring says.
fn is_healthy(monitor: &str) -> bool {
    let ask = || {
        let mut stream = TcpStream::connect(monitor)?;
        stream.set_read_timeout(Some(Duration::from_secs(2)))?;
        stream.write_all(b"GET /healthz HTTP/1.0\r\n\r\n")?;
        let mut answer = String::new();
        stream.read_to_string(&mut answer)?;
        std::io::Result::Ok(answer)
    };
    ask().is_ok_and(|answer| answer.split(' ').nth(1) == Some("200"))
}

impl Drop for Nodes {
    fn drop(&mut self) {
        self.start_again();
    }
}
