//! Commands on streams of their own.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::common::{FLASH_SALE, Run, json_of, read, signal};

/// How long a test waits for what must come.
pub(crate) const PATIENCE: Duration = Duration::from_secs(120);

/// A folder, and a prefix on the cluster.
pub(crate) struct Lab {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) url: String,
    pub(crate) prefix: String,
    /// Tests that end nodes and tests that need them do not go together.
    _alone: MutexGuard<'static, ()>,
}

/// A process that ends with the test.
pub(crate) struct Running(pub(crate) Child);

impl Running {
    pub(crate) fn start(command: &mut Command) -> Self {
        Self(command.spawn().unwrap())
    }

    /// Ends it as a person does, and gives its code.
    pub(crate) fn interrupt(mut self) -> Option<i32> {
        signal("-INT", &self.0);
        self.0.wait().unwrap().code()
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

impl Lab {
    /// None where there is no cluster.
    pub(crate) fn new() -> Option<Self> {
        static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
        let Ok(url) = std::env::var("EOG_NATS_URL") else {
            eprintln!("skipped: EOG_NATS_URL names no cluster; .ci/nats starts one");
            return None;
        };
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("c{}-{count}", std::process::id());
        Some(Self { folder: tempfile::tempdir().unwrap(), url, prefix, _alone: alone })
    }

    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A command that knows the cluster, and nothing of the person who runs the tests.
    pub(crate) fn eog(&self, arguments: &[&str]) -> Command {
        let built = std::env::var_os("CARGO_BIN_EXE_eog");
        let mut eog = Command::new(built.unwrap_or(env!("CARGO_BIN_EXE_eog").into()));
        eog.current_dir(self.folder.path()).args(arguments).stdin(Stdio::null());
        eog.env_clear().env("HOME", self.folder.path()).env("PATH", "/usr/bin:/bin");
        eog.env("EOG_NATS_URL", &self.url).env("EOG_NATS_PREFIX", &self.prefix);
        eog
    }

    pub(crate) fn run(&self, arguments: &[&str]) -> Run {
        run(&mut self.eog(arguments))
    }

    /// A command that must end well.
    pub(crate) fn done(&self, arguments: &[&str]) -> String {
        self.run(arguments).exits(0).out
    }

    /// Submits the shipped example.
    pub(crate) fn submit(&self, id: &str, arguments: &[&str]) {
        let path = flash_sale();
        let fixed = ["submit", path.to_str().unwrap(), "--id", id, "--nats-silence", "3"];
        assert_eq!(self.done(&[&fixed, arguments].concat()), format!("{id}\n"));
    }

    /// What `eog list` says of an investigation.
    pub(crate) fn listed(&self, id: &str) -> Value {
        let all = json_of(&self.done(&["list", "--format", "json"]));
        let all = all.as_array().unwrap();
        all.iter().find(|one| one["id"] == id).cloned().unwrap_or_default()
    }

    /// Waits until it stands so.
    pub(crate) fn wait(&self, id: &str, status: &str) -> Value {
        until(|| {
            let listed = self.listed(id);
            (listed["status"] == status).then_some(listed)
        })
    }

    /// The journal on the cluster, and the side file.
    pub(crate) fn fetch(&self, id: &str) -> (Vec<u8>, String) {
        let out = self.path(&format!("fetched-{id}"));
        self.done(&["fetch", id, "--out", out.to_str().unwrap()]);
        (std::fs::read(out.join("journal")).unwrap(), read(out.join("journal.side.jsonl")))
    }

    /// The journal of an undisturbed run of `eog investigate`.
    pub(crate) fn undisturbed(&self, path: &Path, arguments: &[&str]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let journal = folder.path().join("journal");
        let fixed = ["investigate", path.to_str().unwrap(), "--journal", journal.to_str().unwrap()];
        let run = self.run(&[&fixed, arguments].concat());
        assert!(matches!(run.code, Some(0 | 3)), "{run:?}");
        std::fs::read(journal).unwrap()
    }
}

pub(crate) fn run(command: &mut Command) -> Run {
    Run::of(command)
}

pub(crate) fn flash_sale() -> PathBuf {
    Path::new(FLASH_SALE).canonicalize().unwrap()
}

/// Waits until something is so.
pub(crate) fn until<T>(mut is_so: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(Instant::now() < end, "it never came");
        std::thread::sleep(Duration::from_millis(200));
    }
}
