//! A child process and all that it starts, as one thing that ends.

use std::collections::BTreeSet;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tokio::process::{Child, Command};

/// The groups that were not ended yet, by their leaders; nothing once all were ended for good. Locked
/// while one is started, so that [`end_all`] misses none.
static GROUPS: Mutex<Option<BTreeSet<u32>>> = Mutex::new(Some(BTreeSet::new()));

/// The processes that a program and its children form. On Unix all of them are killed when this goes
/// out of scope, so that none outlives what it was started for; elsewhere that is left to
/// [`Command::kill_on_drop`].
///
/// A process that leaves the group (`setsid`, a daemon) is found on Linux all the same, by the variable
/// `EOG_PROCESS_GROUP` of its environment, or as a child of one that is. One that also clears its environment and leaves its
/// parent survives, as does elsewhere one that leaves the group.
#[derive(Debug)]
pub struct ProcessGroup {
    leader: Option<u32>,
    mark: String,
}

impl ProcessGroup {
    /// Starts a program as the leader of a group of its own.
    ///
    /// # Errors
    /// Why the program cannot be started: after [`end_all`] none can.
    pub fn spawn(command: &mut Command) -> io::Result<(Child, Self)> {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let mark = format!("{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        // The full stop ends the number: a mark is no prefix of another.
        command.env(MARK, format!("{mark}."));
        #[cfg(unix)]
        command.process_group(0);
        let mut groups = groups();
        let Some(groups) = &mut *groups else {
            return Err(io::Error::other("this process is ending"));
        };
        let child = command.spawn()?;
        groups.extend(child.id());
        let group = Self { leader: child.id(), mark };
        Ok((child, group))
    }
}

/// The variable by which processes of a group are known.
const MARK: &str = "EOG_PROCESS_GROUP";

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        if let Some(leader) = self.leader {
            if let Some(groups) = &mut *groups() {
                groups.remove(&leader);
            }
            kill(leader);
        }
        #[cfg(target_os = "linux")]
        strays::kill(|process| process.has(MARK, &format!("{}.", self.mark)));
        #[cfg(not(target_os = "linux"))]
        let _ = &self.mark;
    }
}

/// Kills every group of this process and lets no further one begin, for a program that ends without
/// anything going out of scope.
pub fn end_all() {
    groups().take().into_iter().flatten().for_each(kill);
    #[cfg(target_os = "linux")]
    strays::kill(|process| process.has(MARK, &format!("{}-", std::process::id())));
}

fn groups() -> MutexGuard<'static, Option<BTreeSet<u32>>> {
    GROUPS.lock().unwrap_or_else(PoisonError::into_inner)
}

fn kill(leader: u32) {
    #[cfg(unix)]
    if let Some(leader) = i32::try_from(leader).ok().and_then(rustix::process::Pid::from_raw) {
        // Fails when all have ended already, which is what is wanted.
        let _ = rustix::process::kill_process_group(leader, rustix::process::Signal::KILL);
    }
    #[cfg(not(unix))]
    let _ = leader;
}

/// Processes that left the group in which they were started.
#[cfg(target_os = "linux")]
mod strays {
    use std::collections::BTreeSet;
    use std::fs;

    use rustix::process::{Pid, Signal, kill_process};

    /// How often processes are listed again, for those started meanwhile.
    const ROUNDS: usize = 20;

    /// A process as the system lists it.
    pub(super) struct Process {
        id: u32,
        parent: u32,
    }

    impl Process {
        /// Whether its environment, as it was when its program began, has a variable that begins with this value.
        pub(super) fn has(&self, name: &str, value: &str) -> bool {
            let wanted = format!("{name}={value}");
            let environment = fs::read(format!("/proc/{}/environ", self.id)).unwrap_or_default();
            environment.split(|byte| *byte == 0).any(|one| one.starts_with(wanted.as_bytes()))
        }
    }

    /// Kills the processes that are meant and all that come from them, until there are none.
    pub(super) fn kill(is_meant: impl Fn(&Process) -> bool) {
        for _ in 0..ROUNDS {
            let all = all();
            let mut found: BTreeSet<u32> =
                all.iter().filter(|it| is_meant(it)).map(|it| it.id).collect();
            // Children may have smaller numbers than their parents.
            let mut known = 0;
            while known < found.len() {
                known = found.len();
                let more = all.iter().filter(|it| found.contains(&it.parent)).map(|it| it.id);
                found.extend(more.collect::<Vec<_>>());
            }
            found.remove(&std::process::id());
            if found.is_empty() {
                return;
            }
            for id in found {
                let Some(id) = i32::try_from(id).ok().and_then(Pid::from_raw) else { continue };
                let _ = kill_process(id, Signal::KILL);
            }
        }
    }

    /// Every process that has not ended.
    fn all() -> Vec<Process> {
        let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
        entries
            .filter_map(|entry| {
                let id = entry.file_name().to_str()?.parse().ok()?;
                let stat = fs::read_to_string(entry.path().join("stat")).ok()?;
                // The name, in brackets, may hold anything.
                let mut fields = stat.rsplit_once(')')?.1.split_whitespace();
                let state = fields.next()?;
                let parent = fields.next()?.parse().ok()?;
                (!matches!(state, "Z" | "X")).then_some(Process { id, parent })
            })
            .collect()
    }
}

#[cfg(all(test, unix))]
mod tests {
    use std::process::Stdio;
    use std::time::Duration;

    use tokio::io::AsyncReadExt;

    use super::*;

    /// In one test, since after [`end_all`] this process starts nothing any more.
    #[tokio::test]
    async fn all_groups_end_with_what_they_started() {
        #[cfg(target_os = "linux")]
        strays_end_with_their_group().await;
        let mut command = Command::new("sh");
        // The pipe stays open as long as one of the two has it.
        command.args(["-c", "sleep 3600 & echo started; wait"]).stdout(Stdio::piped());
        let (mut child, group) = ProcessGroup::spawn(&mut command).unwrap();
        let mut output = child.stdout.take().unwrap();
        let mut said = [0; 8];
        output.read_exact(&mut said).await.unwrap();
        end_all();
        let mut rest = Vec::new();
        let rest = tokio::time::timeout(Duration::from_secs(30), output.read_to_end(&mut rest));
        rest.await.expect("both are killed").unwrap();
        assert!(ProcessGroup::spawn(&mut Command::new("true")).is_err(), "none begins any more");
        drop(group);
    }

    /// One that leaves the group and its parent ends with the group, before and after its parent ends.
    #[cfg(target_os = "linux")]
    #[expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]
    async fn strays_end_with_their_group() {
        for script in [
            "setsid sleep 3600 & echo started; wait",
            "(setsid sh -c 'sleep 3600 & sleep 3600' &); echo started",
        ] {
            let mut command = Command::new("sh");
            command.args(["-c", script]).stdout(Stdio::piped());
            let (mut child, group) = ProcessGroup::spawn(&mut command).unwrap();
            let mut output = child.stdout.take().unwrap();
            let mut said = [0; 8];
            output.read_exact(&mut said).await.unwrap();
            tokio::time::sleep(Duration::from_millis(200)).await;
            drop(group);
            let mut rest = Vec::new();
            let rest = tokio::time::timeout(Duration::from_secs(30), output.read_to_end(&mut rest));
            rest.await.expect(script).unwrap();
        }
    }
}
